//! What clients are told of accounts and of what belongs to them.

use pellucid_protocol::word_enum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::types::app::AppInfo;
use crate::types::usage::RateLimitSnapshot;

word_enum! {
    /// How an account is known.
    AuthMode {
        /// By a key.
        ApiKey = "apikey",
        /// By a sign-in of ours.
        Chatgpt = "chatgpt",
        /// By tokens that the client keeps.
        ChatgptAuthTokens = "chatgptAuthTokens",
    }
}

/// Another account is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountUpdatedNotification {
    /// How it is known; absent when there is none.
    pub auth_mode: Option<AuthMode>,
}

/// New limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountRateLimitsUpdatedNotification {
    /// The limits.
    pub rate_limits: RateLimitSnapshot,
}

/// A sign-in is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountLoginCompletedNotification {
    /// Which.
    pub login_id: Option<String>,
    /// Whether it worked.
    pub success: bool,
    /// Why not.
    pub error: Option<String>,
}

/// Part of a list of connectors is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppListUpdatedNotification {
    /// The list so far.
    pub data: Vec<AppInfo>,
}

/// A sign-in at another server is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerOauthLoginCompletedNotification {
    /// That server.
    pub name: String,
    /// Whether it worked.
    pub success: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Another account is used, for clients of the first version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthStatusChangeNotification {
    /// How it is known; absent when there is none.
    pub auth_method: Option<AuthMode>,
}

/// A sign-in is over, for clients of the first version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginChatGptCompleteNotification {
    /// Which.
    pub login_id: String,
    /// Whether it worked.
    pub success: bool,
    /// Why not.
    pub error: Option<String>,
}
