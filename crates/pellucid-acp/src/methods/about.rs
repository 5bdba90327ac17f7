//! `initialize`, and logins.

use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::AgentAuthCapabilities;
use agent_client_protocol::v1::schema::AgentCapabilities;
use agent_client_protocol::v1::schema::AuthMethod;
use agent_client_protocol::v1::schema::AuthMethodAgent;
use agent_client_protocol::v1::schema::AuthenticateRequest;
use agent_client_protocol::v1::schema::AuthenticateResponse;
use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::ErrorCode;
use agent_client_protocol::v1::schema::Implementation;
use agent_client_protocol::v1::schema::InitializeRequest;
use agent_client_protocol::v1::schema::InitializeResponse;
use agent_client_protocol::v1::schema::LogoutCapabilities;
use agent_client_protocol::v1::schema::LogoutResponse;
use agent_client_protocol::v1::schema::McpCapabilities;
use agent_client_protocol::v1::schema::PromptCapabilities;
use agent_client_protocol::v1::schema::SessionAdditionalDirectoriesCapabilities;
use agent_client_protocol::v1::schema::SessionArchiveCapabilities;
use agent_client_protocol::v1::schema::SessionCapabilities;
use agent_client_protocol::v1::schema::SessionCloseCapabilities;
use agent_client_protocol::v1::schema::SessionDeleteCapabilities;
use agent_client_protocol::v1::schema::SessionForkCapabilities;
use agent_client_protocol::v1::schema::SessionListCapabilities;
use agent_client_protocol::v1::schema::SessionResumeCapabilities;
use agent_client_protocol::v1::schema::SessionTitleCapabilities;
use pellucid_agent::identity::VERSION;
use pellucid_agent::login;
use pellucid_config::Config;
use pellucid_config::HarnessOverrides;
use serde_json::Value;
use serde_json::json;

use super::value;
use crate::server::AcpServer;
use crate::view;
use crate::wire::failed;
use crate::wire::invalid;
use crate::wire::refusal;

/// The login by a key that the program finds by itself.
const KEY: &str = "api-key";

/// Handles `initialize`. Version 1 is spoken, whatever version the client asks for.
pub fn initialize(server: &Arc<AcpServer>, hello: &InitializeRequest) -> Result<Value, Error> {
    server.introduce(hello)?;
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .title(SessionTitleCapabilities::new())
        .archive(SessionArchiveCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions)
        .auth(AgentAuthCapabilities::new().logout(LogoutCapabilities::new()));
    let answer = InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(auth_methods(server))
        .agent_info(Implementation::new("pellucid", VERSION).title("Pellucid".to_owned()))
        .meta(view::meta(json!({ "requests": { "digest": "sha256", "replay": "pellucid replay SESSION" } })));
    value(&answer)
}

/// The ways to log in; none if no login is needed.
fn auth_methods(server: &AcpServer) -> Vec<AuthMethod> {
    // A configuration that cannot be read is reported when a session is opened.
    let Ok(config) = config(server) else { return Vec::new() };
    if has_key(server, &config) {
        return Vec::new();
    }
    vec![AuthMethod::Agent(AuthMethodAgent::new(KEY, "API key").description(how(&config)))]
}

fn config(server: &AcpServer) -> Result<Config, Error> {
    let config = server.ground.config(None, Vec::new(), HarnessOverrides::default());
    let (config, _) = config.map_err(|error| failed(error.report()))?;
    Ok(config)
}

/// Whether requests can be sent without another login.
fn has_key(server: &AcpServer, config: &Config) -> bool {
    let env = &server.ground.env;
    let provider = &config.model.provider;
    let configured = provider.env_key.as_deref().and_then(|name| env.text(name)).is_some_and(|key| !key.is_empty());
    server.ground.script.is_some()
        || configured
        || (provider.env_key.is_none() && !provider.requires_openai_auth)
        || login::session_key(config, env).is_some()
}

/// How a key is given.
fn how(config: &Config) -> String {
    let variable = config.model.provider.env_key.as_deref().unwrap_or("OPENAI_API_KEY");
    format!("Set the variable {variable} for this agent, or run `pellucid login --with-api-key`.")
}

/// Handles `authenticate`: looks for a key again.
pub fn authenticate(server: &Arc<AcpServer>, asked: &AuthenticateRequest) -> Result<Value, Error> {
    if *asked.method_id.0 != *KEY {
        return Err(invalid(format!("there is no login {}; there is: {KEY}", asked.method_id)));
    }
    let config = config(server)?;
    if has_key(server, &config) {
        return value(&AuthenticateResponse::new());
    }
    Err(refusal(ErrorCode::AuthRequired, format!("there is no API key. {}", how(&config))))
}

/// Handles `logout`: removes the stored login.
pub fn log_out(server: &Arc<AcpServer>) -> Result<Value, Error> {
    let config = config(server)?;
    login::log_out(&config).map_err(|error| failed(error.to_string()))?;
    value(&LogoutResponse::new())
}
