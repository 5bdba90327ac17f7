//! The entries of a chat, which strategies work on.

use serde::Deserialize;
use serde::Serialize;

/// One message of a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatEntry {
    /// The role of the message.
    pub role: ChatRole,
    /// The text of the message.
    pub content: String,
    /// The id of the message it was made from.
    pub memo: Option<String>,
    /// The name of the speaker, in examples.
    pub name: Option<String>,
    /// What the entry is, besides a message.
    pub part: EntryPart,
    /// Whether it may be left out when everything is counted once more.
    pub is_removable: bool,
    /// The tokens of each attached image.
    pub attachments: Vec<f64>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EntryPart {
    /// A message of the chat.
    #[default]
    Message,
    /// The entry that opens the chat, behind examples.
    Opening,
    /// A part of an example of how to talk.
    Example,
    /// The entry is a memory of the chat.
    Memory,
    /// Fragments of the past.
    Fragments,
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// The message has role `system`.
    System,
    /// The message has role `user`.
    User,
    /// The message has role `assistant`.
    Assistant,
    /// The message has role `function`.
    Function,
}

impl ChatRole {
    /// The word for the role in requests.
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Function => "function",
        }
    }
}

impl ChatEntry {
    /// An entry without a memo.
    pub fn new(role: ChatRole, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            memo: None,
            name: None,
            part: EntryPart::Message,
            is_removable: false,
            attachments: Vec::new(),
        }
    }

    /// The same with a memo.
    #[must_use]
    pub fn with_memo(mut self, memo: impl Into<String>) -> Self {
        self.memo = Some(memo.into());
        self
    }

    /// A system entry with a memory.
    pub(super) fn memory(content: impl Into<String>, part: EntryPart) -> Self {
        Self { part, ..Self::new(ChatRole::System, content) }
    }

    /// Whether the entry is what a strategy remembered.
    pub fn is_memory(&self) -> bool {
        matches!(self.part, EntryPart::Memory | EntryPart::Fragments)
    }

    pub(super) fn has_memo(&self, memo: &str) -> bool {
        self.memo.as_deref() == Some(memo)
    }

    /// The entry as `role: content`.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.role.word(), self.content)
    }
}
