//! Where models are reached: one provider, as the configuration describes it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;

use crate::secret::Secret;
use crate::settings::word_enum;

/// Where Ollama listens unless it is told otherwise.
pub const OLLAMA_PORT: u16 = 11434;

/// Where LM Studio listens unless it is told otherwise.
pub const LMSTUDIO_PORT: u16 = 1234;

/// A model provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// The name for people. `OpenAI` exactly switches that service's own ways on.
    pub name: String,
    /// The address without the wire's own path.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The variable that holds the key.
    #[serde(default)]
    pub env_key: Option<String>,
    /// What to tell a person who has not set it.
    #[serde(default)]
    pub env_key_instructions: Option<String>,
    /// A key written into the configuration.
    #[serde(default)]
    pub experimental_bearer_token: Option<Secret>,
    /// The wire.
    #[serde(default)]
    pub wire_api: WireApi,
    /// The role of our own messages on the Chat Completions wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_developer_role: Option<DeveloperRole>,
    /// How many tokens an answer may have, for wires that must be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The order in which the model reads a request, where it is not the wire's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_order: Option<Vec<ReadSection>>,
    /// For how many seconds the provider keeps what it has read, where that is not the wire's own figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_seconds: Option<u64>,
    /// Parameters appended to every address.
    #[serde(default)]
    pub query_params: Option<BTreeMap<String, String>>,
    /// Headers of every request.
    #[serde(default)]
    pub http_headers: Option<BTreeMap<String, String>>,
    /// Headers whose value is in a variable.
    #[serde(default)]
    pub env_http_headers: Option<BTreeMap<String, String>>,
    /// How often a request is sent again before a stream begins.
    #[serde(default)]
    pub request_max_retries: Option<u64>,
    /// How often a broken stream is asked for again.
    #[serde(default)]
    pub stream_max_retries: Option<u64>,
    /// How long a stream may be silent.
    #[serde(default)]
    pub stream_idle_timeout_ms: Option<u64>,
    /// Whether a login is needed.
    #[serde(default)]
    pub requires_openai_auth: bool,
    /// Whether the WebSocket transport is there.
    #[serde(default)]
    pub supports_websockets: bool,
}

word_enum! {
    /// How a provider is spoken to.
    #[derive(Default)]
    WireApi {
        /// The Responses wire.
        #[default]
        Responses = "responses",
        /// The Chat Completions wire.
        Chat = "chat",
        /// The Messages wire of Anthropic.
        Messages = "messages",
    }
}

word_enum! {
    /// Who speaks where a wire, or the server behind it, does not know the developer's role.
    #[derive(Default)]
    DeveloperRole {
        /// The developer: the wire knows.
        #[default]
        Developer = "developer",
        /// The system.
        System = "system",
        /// The user, in a marked text.
        User = "user",
    }
}

word_enum! {
    /// What a model reads of a request.
    ReadSection {
        /// The schema of the answer.
        Schema = "schema",
        /// The tools, one by one.
        Tools = "tools",
        /// The instructions, or the system message.
        Instructions = "instructions",
        /// The conversation: items, or messages.
        Items = "items",
        /// Effort, verbosity and all other settings.
        Settings = "settings",
    }
}

impl WireApi {
    /// The order in which models behind this wire read a request. What is not named is not read as text.
    pub const fn reading_order(self) -> &'static [ReadSection] {
        match self {
            Self::Responses => {
                &[ReadSection::Schema, ReadSection::Tools, ReadSection::Instructions, ReadSection::Items]
            }
            Self::Chat | Self::Messages => &[ReadSection::Tools, ReadSection::Instructions, ReadSection::Items],
        }
    }

    /// For how many seconds providers of this wire keep what they have read; absent where they differ.
    pub const fn cache_seconds(self) -> Option<u64> {
        match self {
            Self::Responses | Self::Messages => Some(300),
            Self::Chat => None,
        }
    }
}

impl Provider {
    /// The order in which its models read a request.
    pub fn reading_order(&self) -> &[ReadSection] {
        self.cache_order.as_deref().unwrap_or_else(|| self.wire_api.reading_order())
    }

    /// How long it keeps what it has read, where that is known.
    pub fn cache_kept(&self) -> Option<Duration> {
        self.cache_seconds.or(self.wire_api.cache_seconds()).map(Duration::from_secs)
    }

    /// Retries before a stream begins, with default and cap.
    pub fn request_retries(&self) -> u64 {
        self.request_max_retries.unwrap_or(4).min(100)
    }

    /// Retries of a broken stream, with default and cap.
    pub fn stream_retries(&self) -> u64 {
        self.stream_max_retries.unwrap_or(5).min(100)
    }

    /// How long a stream may be silent, with default.
    pub fn idle_timeout_ms(&self) -> u64 {
        self.stream_idle_timeout_ms.unwrap_or(300_000)
    }

    /// Whether this is an Azure endpoint, which stores responses and wants item ids.
    pub fn is_azure(&self) -> bool {
        const MARKS: [&str; 6] = [
            "openai.azure.",
            "cognitiveservices.azure.",
            "aoai.azure.",
            "azure-api.",
            "azurefd.",
            "windows.net/openai",
        ];
        self.name.eq_ignore_ascii_case("azure")
            || self.base_url.as_deref().is_some_and(|url| {
                let url = url.to_ascii_lowercase();
                MARKS.iter().any(|mark| url.contains(mark))
            })
    }
}
