//! `configRequirements/read`: what an administrator allows.

use pellucid_config::requirements;
use pellucid_config::requirements::Requirements;
use pellucid_config::requirements::Residency;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::WebSearchMode;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::options;
use super::unreadable;
use crate::methods::NoParams;
use crate::rpc::RpcError;
use crate::server::Server;

/// The result of `configRequirements/read`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigRequirementsReadResponse {
    /// The administrator's requirements; `null` if there are none.
    pub requirements: Option<ConfigRequirements>,
}

/// What an administrator allows. `null` allows everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ConfigRequirements {
    /// The approval policies that may be set.
    pub allowed_approval_policies: Option<Vec<ApprovalPolicy>>,
    /// The sandbox modes that may be set.
    pub allowed_sandbox_modes: Option<Vec<SandboxMode>>,
    /// The web search modes that may be set.
    pub allowed_web_search_modes: Option<Vec<WebSearchMode>>,
    /// The region in which the provider must keep data.
    pub enforce_residency: Option<ResidencyRequirement>,
    /// The administrator's settings for network access.
    pub network: Option<NetworkRequirements>,
}

/// The region in which the provider must keep data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ResidencyRequirement {
    /// The United States.
    Us,
}

/// The administrator's settings for network access.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkRequirements {
    /// Whether the network proxy runs.
    pub enabled: Option<bool>,
    /// The proxy's port for HTTP.
    pub http_port: Option<u16>,
    /// The proxy's port for SOCKS.
    pub socks_port: Option<u16>,
    /// Whether the proxy may use another proxy.
    pub allow_upstream_proxy: Option<bool>,
    /// Whether other machines may use the proxy.
    pub dangerously_allow_non_loopback_proxy: Option<bool>,
    /// Whether other machines may control the proxy.
    pub dangerously_allow_non_loopback_admin: Option<bool>,
    /// The domains that commands may reach.
    pub allowed_domains: Option<Vec<String>>,
    /// The domains that commands may not reach.
    pub denied_domains: Option<Vec<String>>,
    /// The Unix sockets that commands may use.
    pub allow_unix_sockets: Option<Vec<String>>,
    /// Whether commands may listen on local ports.
    pub allow_local_binding: Option<bool>,
}

/// Handles `configRequirements/read`.
///
/// # Errors
/// When a file cannot be used.
pub async fn config_requirements_read(
    server: &Server,
    _params: NoParams,
) -> Result<ConfigRequirementsReadResponse, RpcError> {
    let requirements =
        pellucid_config::load_requirements(&options(&server.ground, None)).map_err(|error| unreadable(&error))?;
    Ok(ConfigRequirementsReadResponse { requirements: shown(requirements) })
}

fn shown(requirements: Requirements) -> Option<ConfigRequirements> {
    if requirements == Requirements::default() {
        return None;
    }
    Some(ConfigRequirements {
        allowed_approval_policies: requirements.approval_policies.map(|allowed| allowed.values().to_vec()),
        allowed_sandbox_modes: requirements.sandbox_modes.map(|allowed| allowed.values().to_vec()),
        allowed_web_search_modes: requirements.web_search_modes.map(|allowed| allowed.values().to_vec()),
        enforce_residency: requirements.residency.map(|Residency::Us| ResidencyRequirement::Us),
        network: requirements.network.map(of_network),
    })
}

/// The same fields in the spelling of the protocol. A field that is added does not compile until it is here too.
fn of_network(network: requirements::ManagedNetwork) -> NetworkRequirements {
    let requirements::ManagedNetwork {
        enabled,
        http_port,
        socks_port,
        allow_upstream_proxy,
        dangerously_allow_non_loopback_proxy,
        dangerously_allow_non_loopback_admin,
        allowed_domains,
        denied_domains,
        allow_unix_sockets,
        allow_local_binding,
    } = network;
    NetworkRequirements {
        enabled,
        http_port,
        socks_port,
        allow_upstream_proxy,
        dangerously_allow_non_loopback_proxy,
        dangerously_allow_non_loopback_admin,
        allowed_domains,
        denied_domains,
        allow_unix_sockets,
        allow_local_binding,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn nothing_required_is_null() {
        assert_eq!(shown(Requirements::default()), None);
    }

    #[test]
    fn what_is_left_open_is_null() {
        let requirements = Requirements { residency: Some(Residency::Us), ..Requirements::default() };
        let shown = serde_json::to_string(&shown(requirements)).unwrap();
        expect![[r#"{"allowedApprovalPolicies":null,"allowedSandboxModes":null,"allowedWebSearchModes":null,"enforceResidency":"us","network":null}"#]].assert_eq(&shown);
    }
}
