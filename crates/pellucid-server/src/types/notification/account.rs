//! Notifications about accounts, sign-ins and apps.

use pellucid_protocol::word_enum;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::types::app::AppInfo;
use crate::types::usage::RateLimitSnapshot;

word_enum! {
    /// How requests to the provider are authenticated.
    AuthMode {
        /// An API key.
        ApiKey = "apikey",
        /// A ChatGPT sign-in that Pellucid stores.
        Chatgpt = "chatgpt",
        /// ChatGPT tokens that the client manages.
        ChatgptAuthTokens = "chatgptAuthTokens",
    }
}

/// The account changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccountUpdatedNotification {
    /// How requests are authenticated; `null` if no account is logged in.
    pub auth_mode: Option<AuthMode>,
}

/// The account's rate limits changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccountRateLimitsUpdatedNotification {
    pub rate_limits: RateLimitSnapshot,
}

/// A sign-in ended, successfully or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AccountLoginCompletedNotification {
    /// The id of the sign-in; `null` if the sign-in had none, as with a key.
    pub login_id: Option<String>,
    pub success: bool,
    /// Why the sign-in failed.
    pub error: Option<String>,
}

/// Part of the list of apps is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppListUpdatedNotification {
    /// The list of apps so far.
    pub data: Vec<AppInfo>,
}

/// A sign-in at an MCP server ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginCompletedNotification {
    /// The server's name in the configuration.
    pub name: String,
    pub success: bool,
    /// Why the sign-in failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The account changed. For clients of protocol version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuthStatusChangeNotification {
    /// How requests are authenticated; `null` if no account is logged in.
    pub auth_method: Option<AuthMode>,
}

/// A ChatGPT sign-in ended. For clients of protocol version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LoginChatGptCompleteNotification {
    pub login_id: String,
    pub success: bool,
    /// Why the sign-in failed.
    pub error: Option<String>,
}
