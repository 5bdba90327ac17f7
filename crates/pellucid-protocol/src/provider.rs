//! A model provider, as the configuration describes it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;

use crate::secret::Secret;
use crate::settings::word_enum;

/// The port of Ollama, unless it is configured otherwise.
pub const OLLAMA_PORT: u16 = 11434;

/// The port of LM Studio, unless it is configured otherwise.
pub const LMSTUDIO_PORT: u16 = 1234;

/// How a model provider is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// The name for people. The exact name `OpenAI` turns on that service's special behaviour.
    pub name: String,
    /// The address without the path of the API.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The environment variable with the key.
    #[serde(default)]
    pub env_key: Option<String>,
    /// A hint for a user who has not set the variable.
    #[serde(default)]
    pub env_key_instructions: Option<String>,
    /// A key in the configuration itself.
    #[serde(default)]
    pub experimental_bearer_token: Option<Secret>,
    /// The API format of the provider.
    #[serde(default)]
    pub wire_api: WireApi,
    /// The role of developer messages in the Chat Completions API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_developer_role: Option<DeveloperRole>,
    /// The output token limit, for APIs that require one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The order in which the model reads a request, if it differs from the API's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_order: Option<Vec<ReadSection>>,
    /// For how many seconds the provider's cache keeps a request, if it differs from the API's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_seconds: Option<u64>,
    /// Query parameters that are appended to every address.
    #[serde(default)]
    pub query_params: Option<BTreeMap<String, String>>,
    /// Headers of every request.
    #[serde(default)]
    pub http_headers: Option<BTreeMap<String, String>>,
    /// Headers whose values come from environment variables.
    #[serde(default)]
    pub env_http_headers: Option<BTreeMap<String, String>>,
    /// How often a request is retried before its stream begins.
    #[serde(default)]
    pub request_max_retries: Option<u64>,
    /// How often an interrupted stream is retried.
    #[serde(default)]
    pub stream_max_retries: Option<u64>,
    /// How long a stream may be silent, in milliseconds.
    #[serde(default)]
    pub stream_idle_timeout_ms: Option<u64>,
    /// Whether an OpenAI login is needed.
    #[serde(default)]
    pub requires_openai_auth: bool,
    /// Whether the WebSocket transport is available.
    #[serde(default)]
    pub supports_websockets: bool,
}

word_enum! {
    /// The API format of a provider.
    #[derive(Default)]
    WireApi {
        /// The Responses API of OpenAI.
        #[default]
        Responses = "responses",
        /// The Chat Completions API.
        Chat = "chat",
        /// The Messages API of Anthropic.
        Messages = "messages",
    }
}

word_enum! {
    /// The role of developer messages where the API or its server lacks the role `developer`.
    #[derive(Default)]
    DeveloperRole {
        /// The role `developer`: the API has it.
        #[default]
        Developer = "developer",
        /// The role `system`.
        System = "system",
        /// The role `user`, in a marked text.
        User = "user",
    }
}

word_enum! {
    /// A section of a request that a model reads.
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
    /// The order in which models behind this API read a request. Sections that are not listed are not read as text.
    pub const fn reading_order(self) -> &'static [ReadSection] {
        match self {
            Self::Responses => {
                &[ReadSection::Schema, ReadSection::Tools, ReadSection::Instructions, ReadSection::Items]
            }
            Self::Chat | Self::Messages => &[ReadSection::Tools, ReadSection::Instructions, ReadSection::Items],
        }
    }

    /// For how many seconds the caches of this API's providers keep a request; `None` if the providers differ.
    pub const fn cache_seconds(self) -> Option<u64> {
        match self {
            Self::Responses | Self::Messages => Some(300),
            Self::Chat => None,
        }
    }
}

impl Provider {
    /// The order in which the provider's models read a request.
    pub fn reading_order(&self) -> &[ReadSection] {
        self.cache_order.as_deref().unwrap_or_else(|| self.wire_api.reading_order())
    }

    /// How long the provider's cache keeps a request, if that is known.
    pub fn cache_kept(&self) -> Option<Duration> {
        self.cache_seconds.or(self.wire_api.cache_seconds()).map(Duration::from_secs)
    }

    /// The number of retries before a stream begins, with default and upper limit.
    pub fn request_retries(&self) -> u64 {
        self.request_max_retries.unwrap_or(4).min(100)
    }

    /// The number of retries of an interrupted stream, with default and upper limit.
    pub fn stream_retries(&self) -> u64 {
        self.stream_max_retries.unwrap_or(5).min(100)
    }

    /// How long a stream may be silent, with default.
    pub fn idle_timeout_ms(&self) -> u64 {
        self.stream_idle_timeout_ms.unwrap_or(300_000)
    }

    /// Whether this is an Azure endpoint, which stores responses and requires item ids.
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
