//! What is set for a window, by a layout, a configuration or a caller, and settings of an agent as one document.
//!
//! All of them are checked in the same way, with the same words.

use serde_json::Map;
use serde_json::Value;

use crate::injection::scalar;

/// How many results a search in memory has when a document says nothing usable.
const SEARCH_LIMIT: i64 = 5;

/// What is set for a window; what is absent is as beneath.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WindowKeys {
    /// The window in tokens; absent for the model's.
    pub context_window: Option<i64>,
    /// The tokens that are reserved for the answer.
    pub reserved_output_tokens: Option<i64>,
    /// How many tokens a summary has at most.
    pub summary_max_output_tokens: Option<i64>,
    /// How many recalled texts are used at most.
    pub memory_search_limit: Option<i64>,
    /// Whether a summary is made of dropped turns.
    pub summarise: Option<bool>,
}

/// Why settings are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The version is not supported.
    #[error("config version must be 1 (got {0})")]
    Version(String),
    /// The context window is not a positive number.
    #[error("context_window must be a positive Integer (got {0})")]
    Window(String),
    /// The reserve is negative or no number.
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
    /// The named value is not a positive number.
    #[error("{0} must be a positive Integer")]
    NotPositive(&'static str),
}

impl WindowKeys {
    /// These settings over those beneath.
    #[must_use]
    pub fn over(self, beneath: Self) -> Self {
        Self {
            context_window: self.context_window.or(beneath.context_window),
            reserved_output_tokens: self.reserved_output_tokens.or(beneath.reserved_output_tokens),
            summary_max_output_tokens: self.summary_max_output_tokens.or(beneath.summary_max_output_tokens),
            memory_search_limit: self.memory_search_limit.or(beneath.memory_search_limit),
            summarise: self.summarise.or(beneath.summarise),
        }
    }

    /// The tokens that are kept free for the answer.
    pub fn reserved(&self) -> i64 {
        self.reserved_output_tokens.unwrap_or(0)
    }

    /// Checks that the reserve leaves something of a window.
    ///
    /// # Errors
    /// If it leaves nothing.
    pub fn check(&self, window: Option<i64>) -> Result<(), SettingsError> {
        let reserved = self.reserved();
        match self.context_window.or(window).filter(|window| reserved >= *window) {
            Some(window) => Err(SettingsError::ReservedTooLarge { reserved, window }),
            None => Ok(()),
        }
    }

    /// Reads window and reserve of loosely typed fields.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn read_budget(fields: &Map<String, Value>) -> Result<Self, SettingsError> {
        let context_window = match given(fields, "context_window") {
            None => None,
            Some(window) => match window.as_i64() {
                Some(tokens) if tokens > 0 => Some(tokens),
                _ => return Err(SettingsError::Window(scalar::inspect(window))),
            },
        };
        let reserved_output_tokens = match given(fields, "reserved_output_tokens") {
            None => None,
            Some(reserved) => match reserved.as_i64() {
                Some(tokens) if tokens >= 0 => Some(tokens),
                _ => return Err(SettingsError::Reserved(scalar::inspect(reserved))),
            },
        };
        let keys = Self { context_window, reserved_output_tokens, ..Self::default() };
        keys.check(None)?;
        Ok(keys)
    }

    /// Reads the limits of searches and summaries of loosely typed fields.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn read_limits(fields: &Map<String, Value>) -> Result<Self, SettingsError> {
        let positive = |name: &'static str| match given(fields, name) {
            None => Ok(None),
            Some(value) => match scalar::int(value) {
                Some(n) if n > 0 => Ok(Some(n)),
                _ => Err(SettingsError::NotPositive(name)),
            },
        };
        Ok(Self {
            memory_search_limit: positive("memory_search_limit")?,
            summary_max_output_tokens: positive("summary_max_output_tokens")?,
            ..Self::default()
        })
    }
}

/// The settings of an agent, as one document. Its groups are read one by one.
#[derive(Debug, Clone, Copy)]
pub struct SettingsDocument<'a> {
    document: &'a Map<String, Value>,
}

/// Settings of the document for which the program around the engine has its own.
const UNUSED: [(&str, &[&str]); 3] =
    [("llm", &["model", "options"]), ("execution", &["max_turns"]), ("identity", &["name", "description"])];

impl<'a> SettingsDocument<'a> {
    /// The groups that a document may have.
    pub const GROUPS: [&'static str; 7] =
        ["version", "identity", "llm", "execution", "token_budget", "context_management", "prompt_injections"];

    /// Takes a document of version 1.
    ///
    /// # Errors
    /// If it has another version.
    pub fn new(document: &'a Map<String, Value>) -> Result<Self, SettingsError> {
        let version = document.get("version").unwrap_or(&Value::Null);
        if version.as_i64() != Some(1) {
            return Err(SettingsError::Version(scalar::inspect(version)));
        }
        Ok(Self { document })
    }

    /// Window and reserve.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn budget(&self) -> Result<WindowKeys, SettingsError> {
        WindowKeys::read_budget(self.group("token_budget").unwrap_or(&Map::new()))
    }

    /// The limits of searches and summaries, and whether there are summaries.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn management(&self) -> Result<WindowKeys, SettingsError> {
        let nothing = Map::new();
        let fields = self.group("context_management").unwrap_or(&nothing);
        let limits = WindowKeys::read_limits(fields)?;
        Ok(WindowKeys {
            memory_search_limit: limits.memory_search_limit.or(Some(SEARCH_LIMIT)),
            summarise: Some(given(fields, "auto_compact").is_none_or(|it| *it == Value::Bool(true))),
            ..limits
        })
    }

    /// Everything that is set for the window.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn window(&self) -> Result<WindowKeys, SettingsError> {
        let budget = self.budget()?;
        Ok(budget.over(self.management()?))
    }

    /// The beginning of the system prompt, if it is set.
    pub fn system_prompt(&self) -> Option<String> {
        let prompt = given(self.group("identity")?, "system_prompt")?;
        Some(scalar::text(prompt).into_owned())
    }

    /// The sources of items, if they are set.
    pub fn sources(&self) -> Option<&'a Value> {
        self.group("prompt_injections")?.get("sources")
    }

    /// The settings of the document that this program takes from its own configuration.
    pub fn unused(&self) -> Vec<String> {
        let of_group = |(group, names): (&str, &'static [&'static str])| {
            let fields = self.group(group)?;
            let is_set = |name: &&&str| given(fields, name).is_some();
            Some(names.iter().filter(is_set).map(|name| format!("{group}.{name}")).collect::<Vec<_>>())
        };
        UNUSED.into_iter().filter_map(of_group).flatten().collect()
    }

    fn group(&self, name: &str) -> Option<&'a Map<String, Value>> {
        self.document.get(name).and_then(Value::as_object)
    }
}

fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}
