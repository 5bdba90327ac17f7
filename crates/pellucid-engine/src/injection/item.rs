//! Items: a text to inject, with its target, order and modes.

use pellucid_protocol::settings::PromptMode;
use serde_json::Map;
use serde_json::Value;

use super::scalar;
use crate::cut::ends;
use crate::fragment::Fragment;
use crate::fragment::concat;

/// Which rules apply. The second version knows mode `none`, one file for each folder, ratios,
/// markers of its own and insertion without escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// As the reference does it.
    One,
    /// With what the reference lacks.
    Two,
}

impl Version {
    /// The version that a source asks for.
    pub fn of(spec: &Map<String, Value>) -> Self {
        if spec.get("version").and_then(scalar::int) == Some(2) { Self::Two } else { Self::One }
    }
}

/// Where an item goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A section of the system prompt.
    SystemSection,
    /// A message before the history.
    PreambleMessage,
}

impl Target {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemSection => "system_section",
            Self::PreambleMessage => "preamble_message",
        }
    }
}

/// Who says a message before the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A text to inject.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Where it goes.
    pub target: Target,
    /// Who says it; only for messages, and always there.
    pub role: Option<Role>,
    /// Its place among the others of its target.
    pub order: i64,
    /// When it is there.
    pub modes: Vec<PromptMode>,
    /// Whether variables in it are filled; only for sections.
    pub fills_variables: bool,
    /// The text.
    pub content: Vec<Fragment>,
    /// What the caller calls it.
    pub id: Option<Value>,
    /// What the caller says of it.
    pub metadata: Map<String, Value>,
}

/// Why something is no item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// A target that does not exist.
    #[error("target must be one of [:system_section, :preamble_message] (got {0})")]
    UnknownTarget(String),
    /// A message that nobody says.
    #[error("preamble_message requires role")]
    NoRole,
    /// A message that somebody else says.
    #[error("role must be one of [:user, :assistant] (got {0})")]
    UnknownRole(String),
    /// A value of the wrong type.
    #[error("`{0}` is of the wrong type")]
    Type(&'static str),
}

impl Item {
    /// Makes an item of loosely typed fields. Its content is the caller's, named by `place`.
    ///
    /// # Errors
    /// If target, role or modes cannot be used.
    pub fn from_fields(fields: &Map<String, Value>, version: Version, place: &str) -> Result<Self, ItemError> {
        let content = scalar::text(fields.get("content").unwrap_or(&Value::Null));
        let content = vec![Fragment::provided(place, content.as_ref())];
        Self::with_content(fields, version, content)
    }

    /// The same with a content that is already at hand.
    ///
    /// # Errors
    /// If target, role or modes cannot be used.
    pub fn with_content(
        fields: &Map<String, Value>,
        version: Version,
        content: Vec<Fragment>,
    ) -> Result<Self, ItemError> {
        let field = |name: &str| fields.get(name).unwrap_or(&Value::Null);
        let target = match field("target").as_str() {
            Some("system_section") => Target::SystemSection,
            Some("preamble_message") => Target::PreambleMessage,
            Some(_) => return Err(ItemError::UnknownTarget(scalar::inspect(field("target")))),
            None => return Err(ItemError::Type("target")),
        };
        let role = match (target, field("role")) {
            (Target::SystemSection, _) => None,
            (Target::PreambleMessage, Value::Null | Value::Bool(false)) => return Err(ItemError::NoRole),
            (Target::PreambleMessage, role) => match role.as_str() {
                Some("user") => Some(Role::User),
                Some("assistant") => Some(Role::Assistant),
                Some(_) => return Err(ItemError::UnknownRole(scalar::inspect(role))),
                None => return Err(ItemError::Type("role")),
            },
        };
        Ok(Self {
            target,
            role,
            order: scalar::int(field("order")).unwrap_or(0),
            modes: modes_or_both(field("prompt_modes"), version)?,
            fills_variables: target == Target::SystemSection && scalar::is_true(fields.get("substitute_variables")),
            content,
            id: fields.get("id").filter(|id| !id.is_null()).cloned(),
            metadata: fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default(),
        })
    }

    /// Whether it is there in a mode.
    pub fn is_in(&self, mode: PromptMode) -> bool {
        self.modes.contains(&mode)
    }

    /// Its text.
    pub fn text(&self) -> String {
        concat(&self.content)
    }

    /// Keeps at most so many bytes of its text, with the default marker.
    pub(super) fn cut(&mut self, max: &Value) {
        let content = std::mem::take(&mut self.content);
        self.content = ends::head_marker_tail_of(content, scalar::int(max), ends::DEFAULT_MARKER);
    }
}

/// The modes of a list; unknown ones are dropped, and nothing left means full and minimal.
///
/// # Errors
/// If there is something in it that is no text.
pub(super) fn modes_or_both(value: &Value, version: Version) -> Result<Vec<PromptMode>, ItemError> {
    let modes = modes(value, version)?;
    Ok(if modes.is_empty() { vec![PromptMode::Full, PromptMode::Minimal] } else { modes })
}

/// The modes of a list, each once; unknown ones are dropped.
///
/// # Errors
/// If there is something in it that is no text.
pub(super) fn modes(value: &Value, version: Version) -> Result<Vec<PromptMode>, ItemError> {
    let mut modes = Vec::new();
    for word in scalar::list(value) {
        let word = word.as_str().ok_or(ItemError::Type("prompt_modes"))?;
        let mode = PromptMode::from_word(word).filter(|mode| version == Version::Two || *mode != PromptMode::None);
        modes.extend(mode.filter(|mode| !modes.contains(mode)));
    }
    Ok(modes)
}
