//! The handshake: `initialize` introduces a client, and must be its first request.

use pellucid_agent::codex_version::CODEX_VERSION;
use pellucid_agent::codex_version::CodexVersion;
use pellucid_agent::codex_version::NEWEST_CODEX_VERSION;
use pellucid_agent::identity::ClientIdentity;
use pellucid_agent::identity::VERSION;
use pellucid_protocol::context_event;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use serde::de::IgnoredAny;

use crate::call::MethodCall;
use crate::connection::Hello;
use crate::methods::warnings::config_warnings;
use crate::rpc;
use crate::rpc::RpcError;
use crate::surface::Surface;
use crate::types::notification::ServerNotification;

/// The parameters of `initialize`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The client's name and version.
    pub client_info: ClientInfo,
    /// What the client supports and wants.
    #[serde(default)]
    pub capabilities: Option<InitializeCapabilities>,
}

/// The name and version of a client.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// The client's name; requests to models carry it.
    pub name: String,
    /// The client's name for people.
    #[serde(default)]
    pub title: Option<String>,
    pub version: String,
}

/// What a client supports and wants.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeCapabilities {
    /// The client uses the experimental API.
    pub experimental_api: bool,
    /// The client wants context events: what requests to models are made of. An extension of Pellucid, so the
    /// protocol's schema lacks it.
    #[cfg_attr(test, schemars(skip))]
    pub context_events: bool,
    /// Methods of the notifications that the client does not want.
    pub opt_out_notification_methods: Option<Vec<String>>,
    /// A capability that 0.104.0 does not know. Only clients of today name it.
    #[cfg_attr(test, schemars(skip))]
    pub request_attestation: Option<IgnoredAny>,
    /// Another capability that 0.104.0 does not know.
    #[cfg_attr(test, schemars(skip))]
    pub mcp_server_openai_form_elicitation: Option<IgnoredAny>,
    /// Another capability that 0.104.0 does not know.
    #[cfg_attr(test, schemars(skip))]
    pub extensions: Option<IgnoredAny>,
    /// Another capability that 0.104.0 does not know.
    #[cfg_attr(test, schemars(skip))]
    pub explicit_gateway_oauth: Option<IgnoredAny>,
}

impl InitializeCapabilities {
    /// Whether the client names a capability that 0.104.0 does not know.
    fn has_new(&self) -> bool {
        let Self {
            request_attestation, mcp_server_openai_form_elicitation, extensions, explicit_gateway_oauth, ..
        } = self;
        [request_attestation, mcp_server_openai_form_elicitation, extensions, explicit_gateway_oauth]
            .iter()
            .any(|capability| capability.is_some())
    }
}

/// The result of `initialize`.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InitializeResponse {
    /// The `User-Agent` of requests to models.
    pub user_agent: String,
    /// The version of context events, for a client that asked for them. An extension of Pellucid.
    #[cfg_attr(test, schemars(skip))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_events_version: Option<u32>,
}

/// Handles `initialize`: keeps what the client says about itself.
pub async fn initialize(call: MethodCall<InitializeResponse>, params: InitializeParams) -> Result<(), RpcError> {
    if call.connection.hello().is_some() {
        return Err(RpcError::invalid("Already initialized"));
    }
    let ClientInfo { name, version, .. } = &params.client_info;
    let is_header_value = name.bytes().all(|byte| byte == b'\t' || (byte >= 0x20 && byte != 0x7f));
    if !is_header_value {
        let message = format!("Invalid clientInfo.name: '{name}'. Must be a valid HTTP header value.");
        return Err(RpcError::invalid(message));
    }
    let capabilities = params.capabilities.unwrap_or_default();
    let has_context_events = capabilities.context_events;
    if has_context_events && !capabilities.experimental_api {
        return Err(RpcError::invalid("capabilities.contextEvents requires experimentalApi capability"));
    }
    let identity = call.server.introduce(ClientIdentity::of_client(name, version, &call.server.ground.env));
    let chosen = CodexVersion::chosen(&call.server.ground.env);
    let surface = Surface::of(chosen, name, version, capabilities.has_new());
    let of_surface = match surface {
        Surface::Classic => CODEX_VERSION,
        Surface::Newest => NEWEST_CODEX_VERSION,
    };
    // Clients look here for the protocol's version, which is the version of the Codex CLI that defines it.
    let protocol_version = chosen.unwrap_or(of_surface);
    let user_agent = identity.user_agent.replacen(&format!("/{VERSION} "), &format!("/{protocol_version} "), 1);
    call.connection.introduce(Hello {
        name: name.clone(),
        surface,
        is_surface_chosen: chosen.is_some(),
        is_experimental: capabilities.experimental_api,
        has_context_events,
        opted_out: capabilities.opt_out_notification_methods.into_iter().flatten().collect(),
    });
    let context_events_version = has_context_events.then_some(context_event::SCHEMA_VERSION);
    call.answer(&InitializeResponse { user_agent, context_events_version }).await;
    for warning in config_warnings(&call.server).await {
        let warning = ServerNotification::from(warning);
        call.connection.notify(warning.method(), rpc::encode(&warning)).await;
    }
    Ok(())
}
