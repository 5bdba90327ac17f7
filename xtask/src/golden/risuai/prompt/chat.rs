//! The entries of a chat: examples, the opening, the first message, the messages.

use pellucid_engine::memory::entry::{ChatEntry, ChatRole, EntryPart};

use crate::golden::risuai::chats::{NEW_CHAT, NEW_CHAT_EXAMPLE};

/// The text of the entry that opens a chat.
const START: &str = "[Start a new chat]";

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage {
    /// The role of the message.
    pub role: ChatRole,
    /// The text of the message.
    pub content: String,
    /// The id of the message.
    pub id: String,
    /// Whether the message is sent.
    pub state: MessageState,
}

/// Whether a message counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageState {
    /// The message is sent.
    #[default]
    Used,
    /// The message is left out.
    Disabled,
    /// The message and all before it are left out.
    AllBefore,
}

/// The entries of a chat, oldest first. `first` is what the model begins with.
pub fn chat(example: Vec<ChatEntry>, first: Option<&str>, messages: &[ChatMessage]) -> Vec<ChatEntry> {
    let mut entries = example;
    let opening = ChatEntry::new(ChatRole::System, START).with_memo(NEW_CHAT);
    entries.push(ChatEntry { part: EntryPart::Opening, ..opening });
    let cut = messages.iter().rposition(|message| message.state == MessageState::AllBefore);
    if cut.is_none() {
        entries.extend(first.map(|first| ChatEntry::new(ChatRole::Assistant, first)));
    }
    let used = messages.iter().skip(cut.map_or(0, |cut| cut + 1));
    for message in used.filter(|message| message.state == MessageState::Used) {
        entries.push(ChatEntry::new(message.role, &*message.content).with_memo(&*message.id));
    }
    entries
}

/// The entries of an example: blocks that begin with `<START>`, lines that begin with who speaks.
pub fn example(text: &str, user: &str, character: &str) -> Vec<ChatEntry> {
    let mut entries: Vec<ChatEntry> = Vec::new();
    let speaker = |line: &str| {
        let (who, said) = line.split_once(':')?;
        let who = who.trim();
        let (role, name) = if who == "{{user}}" || who == "<USER>" || who == user {
            (ChatRole::User, "example_user")
        } else if who == "{{char}}" || who == "<BOT>" || who == character {
            (ChatRole::Assistant, "example_assistant")
        } else {
            return None;
        };
        Some((role, name, said.trim().to_owned()))
    };
    for line in text.lines() {
        if line.trim().eq_ignore_ascii_case("<start>") {
            let block = ChatEntry::new(ChatRole::System, START).with_memo(NEW_CHAT_EXAMPLE);
            entries.push(ChatEntry { part: EntryPart::Example, ..block });
        } else if let Some((role, name, said)) = speaker(line) {
            let mut entry = ChatEntry::new(role, said);
            entry.name = Some(name.to_owned());
            entry.part = EntryPart::Example;
            entries.push(entry);
        } else if let Some(last) = entries.last_mut().filter(|last| last.name.is_some()) {
            last.content.push('\n');
            last.content.push_str(line);
        }
    }
    entries
}
