//! `permissionProfile/list`: the sandbox modes under the names that clients of today have for them.

use pellucid_config::LoadOptions;
use pellucid_protocol::settings::SandboxMode;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::config;
use super::paging::page;
use crate::rpc::RpcError;
use crate::server::Server;

/// The profiles: what commands may do in each, and the sandbox mode that it is.
const PROFILES: &[(&str, SandboxMode)] = &[
    (":read-only", SandboxMode::ReadOnly),
    (":workspace", SandboxMode::WorkspaceWrite),
    (":danger-full-access", SandboxMode::DangerFullAccess),
];

/// The parameters of `permissionProfile/list`.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PermissionProfileListParams {
    /// The `nextCursor` of the page before.
    pub cursor: Option<String>,
    /// The largest number of profiles in a page; by default all.
    pub limit: Option<u32>,
    /// The folder whose configuration counts.
    pub cwd: Option<String>,
}

/// A page of profiles.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfileListResponse {
    pub data: Vec<PermissionProfileSummary>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
}

/// A permission profile that a client can choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PermissionProfileSummary {
    pub id: String,
    /// The profile's description; the built-in profiles have none.
    pub description: Option<String>,
    /// Whether the administrator allows the profile.
    pub allowed: bool,
}

/// Lists the permission profiles.
pub async fn list(
    server: &Server,
    params: PermissionProfileListParams,
) -> Result<PermissionProfileListResponse, RpcError> {
    let options: LoadOptions = config::options(&server.ground, params.cwd.as_deref());
    let requirements = pellucid_config::load_requirements(&options).map_err(|error| config::unreadable(&error))?;
    let profiles = PROFILES.iter().map(|(id, mode)| PermissionProfileSummary {
        id: (*id).to_owned(),
        description: None,
        allowed: requirements.sandbox_modes.as_ref().is_none_or(|allowed| allowed.values().contains(mode)),
    });
    let page = page(profiles.collect(), params.cursor.as_deref(), params.limit, "profiles")?;
    Ok(PermissionProfileListResponse { data: page.entries, next_cursor: page.next_cursor })
}
