//! `mcpServerStatus/list`, `config/mcpServer/reload`, `mcpServer/oauth/login`, `feedback/upload`.
//!
//! MCP servers are started to list what they offer, and stopped afterwards: threads start their servers themselves.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pellucid_agent::mcp_login;
use pellucid_agent::mcp_login::Begun;
use pellucid_agent::mcp_login::McpLoginError;
use pellucid_protocol::mcp;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::NoParams;
use super::current;
use super::paging::page;
use super::thread::parse_id;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::types::notification::McpServerOauthLoginCompletedNotification;
use crate::types::notification::ServerNotification;

/// How long a sign-in may take, in seconds, unless the client says otherwise.
const LOGIN_PATIENCE: u64 = 300;

/// The longest time for a sign-in, in seconds.
const LOGIN_PATIENCE_MAX: u64 = 3600;

/// The parameters of `mcpServerStatus/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ListMcpServerStatusParams {
    /// The `nextCursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
    /// The largest number of servers in a page.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// The result of `mcpServerStatus/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListMcpServerStatusResponse {
    /// The servers, by name.
    pub data: Vec<McpServerStatus>,
    /// The cursor of the next page; `null` after the last one.
    pub next_cursor: Option<String>,
}

/// An MCP server of the configuration and what it offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct McpServerStatus {
    pub name: String,
    /// The server's tools, by name.
    pub tools: BTreeMap<String, Value>,
    /// The resources that the server offers.
    pub resources: Vec<Value>,
    /// The resource templates that the server offers.
    pub resource_templates: Vec<Value>,
    /// How requests to the server are authenticated.
    pub auth_status: McpAuthStatus,
}

/// How requests to an MCP server are authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum McpAuthStatus {
    /// The server offers no sign-in.
    Unsupported,
    /// The server offers a sign-in, which has not happened.
    NotLoggedIn,
    /// A token of the configuration.
    BearerToken,
    /// An OAuth sign-in.
    OAuth,
}

/// The result of `config/mcpServer/reload`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct McpServerRefreshResponse {}

/// The parameters of `mcpServer/oauth/login`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginParams {
    pub name: String,
    /// The OAuth scopes to request.
    #[serde(default)]
    pub scopes: Option<Vec<String>>,
    /// How long to wait for the user, in seconds.
    #[serde(default)]
    pub timeout_secs: Option<i64>,
}

/// The result of `mcpServer/oauth/login`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginResponse {
    /// The page on which the user signs in.
    pub authorization_url: String,
}

/// The parameters of `feedback/upload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackUploadParams {
    /// The kind of feedback.
    pub classification: String,
    /// The feedback in the user's words.
    #[serde(default)]
    pub reason: Option<String>,
    /// The thread that the feedback is about.
    #[serde(default)]
    pub thread_id: Option<String>,
    /// Whether logs are sent too.
    pub include_logs: bool,
}

/// The result of `feedback/upload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FeedbackUploadResponse {
    /// The id under which the feedback is stored.
    pub thread_id: String,
}

/// Handles `mcpServerStatus/list`.
///
/// # Errors
/// When the cursor is not one that this method returned, or the configuration cannot be used.
pub async fn status_list(
    server: &Server,
    params: ListMcpServerStatusParams,
) -> Result<ListMcpServerStatusResponse, RpcError> {
    let config = current(server, None)?;
    let mut offers: BTreeMap<String, mcp::McpServerStatus> = BTreeMap::new();
    for offer in pellucid_agent::mcp::status(&config, &server.ground.env).await {
        offers.insert(offer.name.clone(), offer);
    }
    let servers = config.session_servers();
    let listed = servers.keys().map(|name| McpServerStatus::of(name, offers.remove(name)));
    let page = page(listed.collect(), params.cursor.as_deref(), params.limit, "MCP servers")?;
    Ok(ListMcpServerStatusResponse { data: page.entries, next_cursor: page.next_cursor })
}

/// Handles `config/mcpServer/reload`: every thread uses the servers of the configuration from its next turn on. A
/// configuration that cannot be used changes no thread.
///
/// # Errors
/// When the configuration cannot be used.
pub async fn reload(server: &Server, _params: NoParams) -> Result<McpServerRefreshResponse, RpcError> {
    current(server, None)?;
    let mut changes = Vec::new();
    for id in server.loaded_ids() {
        // A thread may have ended meanwhile.
        let Ok(thread) = server.loaded(&id) else { continue };
        let config = current(server, Some(Path::new(&thread.settings.cwd)))?;
        changes.push((thread, config.tools.mcp_servers));
    }
    for (thread, servers) in changes {
        thread.use_servers(servers);
    }
    Ok(McpServerRefreshResponse {})
}

/// Handles `mcpServer/oauth/login`. The client opens the address of the response; all clients are notified of the end.
///
/// # Errors
/// When the server has no login, or the authorization server refuses this program.
pub async fn oauth_login(
    server: &Arc<Server>,
    params: McpServerOauthLoginParams,
) -> Result<McpServerOauthLoginResponse, RpcError> {
    let McpServerOauthLoginParams { name, scopes, timeout_secs } = params;
    let config = current(server, None)?;
    let begun = mcp_login::begin(&config, &server.ground.env, &name, &scopes.unwrap_or_default()).await;
    let attempt = match begun.map_err(|error| refusal(&error))? {
        Begun::Waiting(attempt) => attempt,
        Begun::Complete => {
            let text = format!("the MCP server '{name}' needs no browser: `grant = \"client_credentials\"`");
            return Err(RpcError::invalid(text));
        }
    };
    let authorization_url = attempt.url().to_owned();
    let seconds = timeout_secs.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(LOGIN_PATIENCE).max(1);
    let limit = Duration::from_secs(seconds.min(LOGIN_PATIENCE_MAX));
    let told = Arc::downgrade(server);
    server.tasks.spawn("waiting for a sign-in at an MCP server", async move {
        let finished = attempt.finish_within(limit, None, |_| {}).await;
        let error = finished.err().map(|error| error.to_string());
        let ended = McpServerOauthLoginCompletedNotification { name, success: error.is_none(), error };
        if let Some(server) = told.upgrade() {
            server.notify_all(&ServerNotification::McpServerOauthLoginCompleted(ended)).await;
        }
    });
    Ok(McpServerOauthLoginResponse { authorization_url })
}

fn refusal(error: &McpLoginError) -> RpcError {
    match error {
        McpLoginError::Unknown(_) | McpLoginError::NoKeyring { .. } => RpcError::invalid(error.to_string()),
        McpLoginError::Program(_) => {
            RpcError::invalid("OAuth login is only supported for streamable HTTP servers.".to_owned())
        }
        McpLoginError::Failed { .. } | McpLoginError::NotForgotten { .. } => RpcError::internal(error.to_string()),
    }
}

/// Handles `feedback/upload`.
///
/// # Errors
/// Always: nothing is ever sent.
pub async fn feedback_upload(
    server: &Server,
    params: FeedbackUploadParams,
) -> Result<FeedbackUploadResponse, RpcError> {
    if !current(server, None)?.records.feedback {
        return Err(RpcError::invalid("sending feedback is disabled by configuration"));
    }
    if let Some(id) = &params.thread_id {
        parse_id(id)?;
    }
    Err(RpcError::invalid(
        "nothing was sent: this program sends no feedback; session files are in `sessions` of its home folder",
    ))
}

impl McpServerStatus {
    /// What is known of a server; nothing if the server is switched off.
    fn of(name: &str, offer: Option<mcp::McpServerStatus>) -> Self {
        let name = name.to_owned();
        let Some(offer) = offer else {
            let (tools, resources, resource_templates) = (BTreeMap::new(), Vec::new(), Vec::new());
            return Self { name, tools, resources, resource_templates, auth_status: McpAuthStatus::Unsupported };
        };
        // Every tool was read from JSON and can be written as JSON.
        let tools = offer.tools.into_iter().filter_map(|(name, tool)| Some((name, serde_json::to_value(tool).ok()?)));
        Self {
            name,
            tools: tools.collect(),
            resources: offer.resources,
            resource_templates: offer.resource_templates,
            auth_status: offer.auth_status.into(),
        }
    }
}

impl From<mcp::McpAuthStatus> for McpAuthStatus {
    fn from(status: mcp::McpAuthStatus) -> Self {
        match status {
            mcp::McpAuthStatus::Unsupported => Self::Unsupported,
            mcp::McpAuthStatus::NotLoggedIn => Self::NotLoggedIn,
            mcp::McpAuthStatus::BearerToken => Self::BearerToken,
            mcp::McpAuthStatus::OAuth => Self::OAuth,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::methods::fixture::world;

    const SERVERS: &str = r#"
[mcp_servers.b]
url = "http://127.0.0.1:9/x"
bearer_token_env_var = "TOKEN"
[mcp_servers.a]
command = "true"
[mcp_servers.c]
url = "http://127.0.0.1:9/y"
"#;

    #[tokio::test]
    async fn servers_that_do_not_start_are_listed_too() {
        let world = world(&[("home/config.toml", SERVERS)], &[]);
        let listed = status_list(&world.server, ListMcpServerStatusParams::default()).await;
        let listed: Vec<_> = listed.unwrap().data.into_iter().map(|it| (it.name, it.auth_status)).collect();
        expect![[r#"[("a", Unsupported), ("b", BearerToken), ("c", Unsupported)]"#]].assert_eq(&format!("{listed:?}"));
        let one = ListMcpServerStatusParams { cursor: Some("1".to_owned()), limit: Some(1) };
        expect![[r#"
            {
              "data": [
                {
                  "name": "b",
                  "tools": {},
                  "resources": [],
                  "resourceTemplates": [],
                  "authStatus": "bearerToken"
                }
              ],
              "nextCursor": "2"
            }"#]]
        .assert_eq(&world.answer(status_list(&world.server, one).await));
        expect!["{}"].assert_eq(&world.answer(reload(&world.server, NoParams {}).await));
    }

    #[tokio::test]
    async fn a_sign_in_is_refused_by_reason() {
        let world = world(&[("home/config.toml", SERVERS)], &[]);
        let login = async |name: &str| {
            let params = McpServerOauthLoginParams { name: name.to_owned(), scopes: None, timeout_secs: None };
            world.answer(oauth_login(&world.server, params).await)
        };
        expect!["-32600: No MCP server named 'nope' found."].assert_eq(&login("nope").await);
        expect!["-32600: OAuth login is only supported for streamable HTTP servers."].assert_eq(&login("a").await);
        let unreachable = login("c").await;
        assert!(unreachable.starts_with("-32603: failed to login to MCP server 'c': "), "{unreachable}");
    }

    #[tokio::test]
    async fn feedback_stays_here() {
        let params = || serde_json::from_value(json!({"classification": "bug", "includeLogs": false})).unwrap();
        let open = world(&[], &[]);
        expect!["-32600: nothing was sent: this program sends no feedback; session files are in `sessions` of its home folder"].assert_eq(&open.answer(feedback_upload(&open.server, params()).await));
        let closed = world(&[], &["feedback.enabled=false"]);
        expect!["-32600: sending feedback is disabled by configuration"]
            .assert_eq(&closed.answer(feedback_upload(&closed.server, params()).await));
    }
}
