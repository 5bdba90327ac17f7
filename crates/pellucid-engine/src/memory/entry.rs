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
    /// The id of the message it was made from, or a word for what it is.
    pub memo: Option<String>,
    /// The name of the speaker, in examples.
    pub name: Option<String>,
    /// Whether it may be left out when everything is counted once more.
    pub is_removable: bool,
    /// The tokens of each attached image.
    pub attachments: Vec<f64>,
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
        Self { role, content: content.into(), memo: None, name: None, is_removable: false, attachments: Vec::new() }
    }

    /// The same with a memo.
    #[must_use]
    pub fn with_memo(mut self, memo: impl Into<String>) -> Self {
        self.memo = Some(memo.into());
        self
    }

    /// A system entry with a memory.
    pub(super) fn memory(content: impl Into<String>, memo: &str) -> Self {
        Self::new(ChatRole::System, content).with_memo(memo)
    }

    pub(super) fn has_memo(&self, memo: &str) -> bool {
        self.memo.as_deref() == Some(memo)
    }

    /// Whether it belongs to an example of how to talk.
    pub(super) fn is_example(&self) -> bool {
        self.has_memo(super::NEW_CHAT_EXAMPLE)
            || matches!(self.name.as_deref(), Some("example_user" | "example_assistant"))
    }

    /// The entry as `role: content`.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.role.word(), self.content)
    }
}
