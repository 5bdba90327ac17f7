//! Apps (connectors) of a ChatGPT account, as `app/list` and its notification describe them.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// An app of an account. `null` marks what the account's service does not say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppInfo {
    pub id: String,
    pub name: String,
    /// A sentence that describes the app.
    pub description: Option<String>,
    /// The address of the app's logo.
    pub logo_url: Option<String>,
    /// The address of the logo for dark backgrounds.
    pub logo_url_dark: Option<String>,
    /// The channel through which the app is distributed.
    pub distribution_channel: Option<String>,
    pub branding: Option<AppBranding>,
    /// The app's entry in the service's directory.
    pub app_metadata: Option<AppMetadata>,
    pub labels: Option<BTreeMap<String, String>>,
    /// The page from which the app can be installed.
    pub install_url: Option<String>,
    /// Whether the account may use the app.
    #[serde(default)]
    pub is_accessible: bool,
    /// Whether the configuration allows the app.
    #[serde(default = "yes")]
    pub is_enabled: bool,
}

fn yes() -> bool {
    true
}

/// The developer of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppBranding {
    /// The category of the app.
    pub category: Option<String>,
    pub developer: Option<String>,
    pub website: Option<String>,
    /// The address of the developer's privacy policy.
    pub privacy_policy: Option<String>,
    /// The address of the developer's terms of service.
    pub terms_of_service: Option<String>,
    /// Whether a search in the directory finds the app.
    pub is_discoverable_app: bool,
}

/// The entry of an app in the service's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppMetadata {
    /// The state of the service's review of the app.
    pub review: Option<AppReview>,
    /// The categories under which the directory lists the app.
    pub categories: Option<Vec<String>>,
    pub sub_categories: Option<Vec<String>>,
    pub seo_description: Option<String>,
    /// Screenshots of the app.
    pub screenshots: Option<Vec<AppScreenshot>>,
    pub developer: Option<String>,
    pub version: Option<String>,
    /// The id of that version.
    pub version_id: Option<String>,
    /// The release notes of that version.
    pub version_notes: Option<String>,
    /// The kind of app, if the provider made it.
    pub first_party_type: Option<String>,
    /// Whether an app of the provider must be installed before it is used.
    pub first_party_requires_install: Option<bool>,
    /// Whether a prompt field offers the app before it is linked.
    pub show_in_composer_when_unlinked: Option<bool>,
}

/// The state of the service's review of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppReview {
    pub status: String,
}

/// A screenshot of an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppScreenshot {
    /// The address of the image.
    pub url: Option<String>,
    /// The id of the image's file at the service.
    #[serde(alias = "file_id")]
    pub file_id: Option<String>,
    /// The prompt that the screenshot answers.
    #[serde(alias = "user_prompt")]
    pub user_prompt: String,
}
