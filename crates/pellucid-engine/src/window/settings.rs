//! The settings of the window strategy and of injection, as one document, checked in order.

use serde_json::Map;
use serde_json::Value;

use super::WindowLimits;
use super::summary;
use crate::injection;
use crate::injection::scalar;

/// How many results a search in memory has when nothing usable is said.
const SEARCH_LIMIT: i64 = 5;

/// The settings of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// The beginning of the system prompt, if it is set.
    pub system_prompt: Option<String>,
    /// How much may be said.
    pub limits: WindowLimits,
    /// How many results a search in memory has.
    pub search_limit: i64,
    /// How many tokens a summary has at most.
    pub summary_tokens: i64,
    /// The sources of items.
    pub sources: Vec<injection::ItemSource>,
}

/// The parts of an agent besides its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowServices {
    /// Whether there is a model provider.
    pub provider: bool,
    /// Whether the counter, if there is one, can count messages and tools.
    pub counter: Interface,
    /// Whether the text store, if there is one, can be asked.
    pub text_store: Interface,
}

/// Whether something that is given can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// The part can be used, or is not given.
    Usable,
    /// The part lacks a needed method.
    Lacking,
}

/// Why settings are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The version is not supported.
    #[error("config version must be 1 (got {0})")]
    Version(String),
    /// No model provider is given.
    #[error("provider is required")]
    NoProvider,
    /// The context window is missing or invalid.
    #[error("context_window must be a positive Integer (got {0})")]
    Window(String),
    /// The reserve is missing or invalid.
    #[error("reserved_output_tokens must be a non-negative Integer (got {0})")]
    Reserved(String),
    /// A reserve that leaves nothing.
    #[error(
        "reserved_output_tokens must be less than context_window (got reserved_output_tokens={reserved}, context_window={window})"
    )]
    ReservedTooLarge {
        /// The reserve, in tokens.
        reserved: i64,
        /// The window, in tokens.
        window: i64,
    },
    /// A counter that cannot count.
    #[error("token_counter must respond to #count_messages and #count_tools")]
    Counter,
    /// The named value is not a positive number.
    #[error("{0} must be a positive Integer")]
    NotPositive(&'static str),
    /// A store that cannot be asked.
    #[error("prompt_injection_text_store must respond to #fetch(key:) (got <object>)")]
    TextStore,
}

impl AgentSettings {
    /// Reads a document of version 1.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(document: &Value, given: WindowServices) -> Result<Self, SettingsError> {
        let nothing = Map::new();
        let group = |name: &str| document.get(name).and_then(Value::as_object).unwrap_or(&nothing);
        let set = |value: Option<&Value>| value.filter(|it| !it.is_null()).cloned();
        let version = document.get("version").unwrap_or(&Value::Null);
        if version.as_i64() != Some(1) {
            return Err(SettingsError::Version(scalar::inspect(version)));
        }
        if !given.provider {
            return Err(SettingsError::NoProvider);
        }
        let budget = group("token_budget");
        let window = match set(budget.get("context_window")) {
            None => None,
            Some(window) => match window.as_i64() {
                Some(tokens) if tokens > 0 => Some(tokens),
                _ => return Err(SettingsError::Window(scalar::inspect(&window))),
            },
        };
        let reserved = set(budget.get("reserved_output_tokens")).unwrap_or_else(|| 0.into());
        let reserved = match reserved.as_i64() {
            Some(tokens) if tokens >= 0 => tokens,
            _ => return Err(SettingsError::Reserved(scalar::inspect(&reserved))),
        };
        if let Some(window) = window.filter(|window| reserved >= *window) {
            return Err(SettingsError::ReservedTooLarge { reserved, window });
        }
        if given.counter == Interface::Lacking {
            return Err(SettingsError::Counter);
        }
        let management = group("context_management");
        let positive = |name: &'static str| match set(management.get(name)) {
            None => Ok(None),
            Some(value) => match scalar::int(&value) {
                Some(n) if n > 0 => Ok(Some(n)),
                _ => Err(SettingsError::NotPositive(name)),
            },
        };
        let search_limit = positive("memory_search_limit")?;
        let summary_tokens = positive("summary_max_output_tokens")?;
        if given.text_store == Interface::Lacking {
            return Err(SettingsError::TextStore);
        }
        let sources = group("prompt_injections").get("sources").unwrap_or(&Value::Null);
        Ok(Self {
            system_prompt: set(group("identity").get("system_prompt")).map(|it| scalar::text(&it).into_owned()),
            limits: WindowLimits {
                window,
                reserved,
                compacts: set(management.get("auto_compact")).is_none_or(|it| it == Value::Bool(true)),
            },
            search_limit: search_limit.unwrap_or(SEARCH_LIMIT),
            summary_tokens: summary::output_tokens(summary_tokens),
            sources: injection::sources(sources),
        })
    }
}
