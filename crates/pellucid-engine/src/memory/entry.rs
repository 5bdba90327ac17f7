//! What strategies work on: the entries of a chat.

use serde::Deserialize;
use serde::Serialize;

/// One entry of a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: String,
    /// The id of the message it was made from, or a word for what it is.
    pub memo: Option<String>,
    /// Whose line it is, in examples.
    pub name: Option<String>,
    /// Whether it may be left out when everything is counted once more.
    pub is_removable: bool,
    /// Pictures that come with it, in tokens.
    pub attachments: Vec<f64>,
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// We.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Function,
}

impl Role {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Function => "function",
        }
    }
}

impl Entry {
    /// An entry without a memo.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
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
        Self::new(Role::System, content).with_memo(memo)
    }

    pub(super) fn has_memo(&self, memo: &str) -> bool {
        self.memo.as_deref() == Some(memo)
    }

    /// Whether it belongs to an example of how to talk.
    pub(super) fn is_example(&self) -> bool {
        self.has_memo(super::NEW_CHAT_EXAMPLE)
            || matches!(self.name.as_deref(), Some("example_user" | "example_assistant"))
    }

    /// `role: content`.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.role.word(), self.content)
    }
}
