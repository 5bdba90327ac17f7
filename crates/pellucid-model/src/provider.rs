//! Addresses that are known without a configuration.
//!
//! Not here: the providers themselves (`pellucid-config`), and how a provider becomes an address ([`crate::endpoint`]).

use pellucid_protocol::provider::LMSTUDIO_PORT;
use pellucid_protocol::provider::OLLAMA_PORT;

/// The address of a provider that names none.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The same for providers of the Messages wire.
pub const MESSAGES_BASE_URL: &str = "https://api.anthropic.com/v1";

/// The ports where local servers listen unless told otherwise, with how they are started.
pub const LOCAL_SERVERS: [(u16, &str, &str); 2] =
    [(OLLAMA_PORT, "Ollama", "ollama serve"), (LMSTUDIO_PORT, "LM Studio", "lms server start")];

pub(crate) fn non_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}
