//! The built-in providers.
//!
//! Not here: those of the configuration, and how a provider becomes an address ([`crate::endpoint`]).

use pellucid_protocol::provider::LMSTUDIO_PORT;
use pellucid_protocol::provider::OLLAMA_PORT;

/// The address of a provider whose settings have none.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The address of a provider of the Messages wire whose settings have none.
pub const MESSAGES_BASE_URL: &str = "https://api.anthropic.com/v1";

/// The default ports of local servers, with their names and the commands that start them.
pub const LOCAL_SERVERS: [(u16, &str, &str); 2] =
    [(OLLAMA_PORT, "Ollama", "ollama serve"), (LMSTUDIO_PORT, "LM Studio", "lms server start")];

pub(crate) fn non_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}
