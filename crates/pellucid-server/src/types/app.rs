//! Connectors of an account.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// A connector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its picture.
    pub logo_url: Option<String>,
    /// Its picture on dark ground.
    pub logo_url_dark: Option<String>,
    /// How it is given out.
    pub distribution_channel: Option<String>,
    /// Who makes it.
    pub branding: Option<AppBranding>,
    /// What its shop says of it.
    pub app_metadata: Option<AppMetadata>,
    /// Marks.
    pub labels: Option<BTreeMap<String, String>>,
    /// Where it can be had.
    pub install_url: Option<String>,
    /// Whether the account has it.
    #[serde(default)]
    pub is_accessible: bool,
    /// Whether the configuration allows it.
    #[serde(default = "yes")]
    pub is_enabled: bool,
}

fn yes() -> bool {
    true
}

/// Who makes a connector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppBranding {
    /// Of which kind it is.
    pub category: Option<String>,
    /// Who.
    pub developer: Option<String>,
    /// Where they are.
    pub website: Option<String>,
    /// What they do with what they learn.
    pub privacy_policy: Option<String>,
    /// What one agrees to.
    pub terms_of_service: Option<String>,
    /// Whether it can be found by searching.
    pub is_discoverable_app: bool,
}

/// What its shop says of a connector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppMetadata {
    /// What became of its inspection.
    pub review: Option<AppReview>,
    /// Of which kinds it is.
    pub categories: Option<Vec<String>>,
    /// More precisely.
    pub sub_categories: Option<Vec<String>>,
    /// For searching.
    pub seo_description: Option<String>,
    /// What it looks like.
    pub screenshots: Option<Vec<AppScreenshot>>,
    /// Who makes it.
    pub developer: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The id of that version.
    pub version_id: Option<String>,
    /// What is new in it.
    pub version_notes: Option<String>,
    /// Which kind of the provider's own.
    pub first_party_type: Option<String>,
    /// Whether one of the provider's own must be asked for.
    pub first_party_requires_install: Option<bool>,
    /// Whether a composer shows it before it is linked.
    pub show_in_composer_when_unlinked: Option<bool>,
}

/// What became of an inspection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppReview {
    /// In a word.
    pub status: String,
}

/// What a connector looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppScreenshot {
    /// Where the picture is.
    pub url: Option<String>,
    /// Its file.
    #[serde(alias = "file_id")]
    pub file_id: Option<String>,
    /// What was asked in it.
    #[serde(alias = "user_prompt")]
    pub user_prompt: String,
}
