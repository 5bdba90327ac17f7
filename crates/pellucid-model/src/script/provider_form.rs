//! A script's description of the provider that it replaces: the settings that decide what is sent and how often it is
//! retried. Addresses and keys are not part of it.

use pellucid_protocol::provider::Provider;
use serde::Deserialize;
use serde::Serialize;

/// The name of the provider if the script does not describe it.
const NAME: &str = "Scripted";

/// An address by which an endpoint that stores responses is recognised. Nothing is ever sent there.
const AZURE_ADDRESS: &str = "https://openai.azure.invalid";

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table about the provider")]
pub(crate) struct ProviderForm {
    /// The exact name `OpenAI` turns on that service's special behaviour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// How often an interrupted reply is retried.
    #[serde(default)]
    stream_max_retries: u64,
    /// Whether the provider stores responses and requires item ids.
    #[serde(default, skip_serializing_if = "is_false")]
    azure: bool,
    /// Whether requests may go over a WebSocket, which changes the events about retries.
    #[serde(default, skip_serializing_if = "is_false")]
    supports_websockets: bool,
}

impl ProviderForm {
    pub(crate) fn of(provider: &Provider) -> Self {
        Self {
            name: Some(provider.name.clone()),
            stream_max_retries: provider.stream_retries(),
            azure: provider.is_azure(),
            supports_websockets: provider.supports_websockets,
        }
    }

    pub(crate) fn provider(&self) -> Provider {
        Provider {
            name: self.name.clone().unwrap_or_else(|| NAME.to_owned()),
            base_url: self.azure.then(|| AZURE_ADDRESS.to_owned()),
            stream_max_retries: Some(self.stream_max_retries),
            supports_websockets: self.supports_websockets,
            ..Provider::default()
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}
