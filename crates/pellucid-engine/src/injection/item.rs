//! Items: a text to inject, with its target, order and modes.

use pellucid_protocol::settings::PromptMode;
use serde_json::Map;
use serde_json::Value;

use super::report::Truncation;
use super::scalar;
use crate::cut::ends;
use crate::fragment::Fragment;
use crate::fragment::concat;

/// The version of the rules. The second version has mode `none`, one file for each folder, ratios, configurable
/// markers and insertion without escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The rules of the reference.
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

/// The part of the request that an item is inserted into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemTarget {
    /// A section of the system prompt.
    SystemSection,
    /// A message before the history.
    PreambleMessage,
}

impl ItemTarget {
    /// The word for the target in configuration and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemSection => "system_section",
            Self::PreambleMessage => "preamble_message",
        }
    }
}

/// The role of a message before the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreambleRole {
    /// The message has role `user`.
    User,
    /// The message has role `assistant`.
    Assistant,
}

impl PreambleRole {
    /// The word for the role in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A text to inject.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectionItem {
    /// The part of the request that the item is inserted into.
    pub target: ItemTarget,
    /// The role of a message; absent for other targets.
    pub role: Option<PreambleRole>,
    /// The position among the items of the same target.
    pub order: i64,
    /// The modes in which the item is used.
    pub modes: Vec<PromptMode>,
    /// Whether variables in it are filled; only for sections.
    pub fills_variables: bool,
    /// The text of the item.
    pub content: Vec<Fragment>,
    /// The id that the caller gave.
    pub id: Option<Value>,
    /// The values that the caller attached.
    pub metadata: Map<String, Value>,
}

/// Why something is no item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ItemError {
    /// A target that does not exist.
    #[error("target must be one of [:system_section, :preamble_message] (got {0})")]
    UnknownTarget(String),
    /// A message without a role.
    #[error("preamble_message requires role")]
    NoRole,
    /// A message with a role that is not allowed.
    #[error("role must be one of [:user, :assistant] (got {0})")]
    UnknownRole(String),
    /// A value of the wrong type.
    #[error("`{0}` is of the wrong type")]
    Type(&'static str),
    /// A preset that no built-in pack has.
    #[error("no built-in pack `{name}` has files to begin with; known: {}", known.join(", "))]
    UnknownPreset {
        /// The name of the preset.
        name: String,
        /// The names of the built-in packs that have such files.
        known: Vec<&'static str>,
    },
}

impl InjectionItem {
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
            Some("system_section") => ItemTarget::SystemSection,
            Some("preamble_message") => ItemTarget::PreambleMessage,
            Some(_) => return Err(ItemError::UnknownTarget(scalar::inspect(field("target")))),
            None => return Err(ItemError::Type("target")),
        };
        let role = match (target, field("role")) {
            (ItemTarget::SystemSection, _) => None,
            (ItemTarget::PreambleMessage, Value::Null | Value::Bool(false)) => return Err(ItemError::NoRole),
            (ItemTarget::PreambleMessage, role) => match role.as_str() {
                Some("user") => Some(PreambleRole::User),
                Some("assistant") => Some(PreambleRole::Assistant),
                Some(_) => return Err(ItemError::UnknownRole(scalar::inspect(role))),
                None => return Err(ItemError::Type("role")),
            },
        };
        Ok(Self {
            target,
            role,
            order: scalar::int(field("order")).unwrap_or(0),
            modes: modes_or_both(field("prompt_modes"), version)?,
            fills_variables: target == ItemTarget::SystemSection && scalar::is_true(fields.get("substitute_variables")),
            content,
            id: fields.get("id").filter(|id| !id.is_null()).cloned(),
            metadata: fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default(),
        })
    }

    /// Whether the item is used in a mode.
    pub fn is_in(&self, mode: PromptMode) -> bool {
        self.modes.contains(&mode)
    }

    /// The text without its origins.
    pub fn text(&self) -> String {
        concat(&self.content)
    }

    /// Keeps at most so many bytes of its text, with the default marker. Absent if nothing had to be cut.
    pub(super) fn cut(&mut self, max: &Value) -> Option<Truncation> {
        let (content, max) = (std::mem::take(&mut self.content), scalar::int(max));
        let (content, kept) = ends::cut_of(content, max, ends::DEFAULT_MARKER);
        self.content = content;
        kept.map(|kept| Truncation::of_ends(kept, max))
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
