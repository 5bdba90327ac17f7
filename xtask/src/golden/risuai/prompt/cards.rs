//! The cards of a template.

use super::Prompt;
use pellucid_engine::memory::chat_markup;
use pellucid_engine::memory::entry::{ChatEntry, ChatRole, EntryPart};
use pellucid_engine::utf16;

/// The placeholder in a card's text for its content.
const SLOT: &str = "{{slot}}";

/// A start that means everything.
const EVERYTHING: i64 = -1000;

/// A card of a template.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// The content of the card.
    pub kind: CardKind,
    /// A text around what it shows.
    pub inner: Option<String>,
}

/// The content of a card.
#[derive(Debug, Clone, PartialEq)]
pub enum CardKind {
    /// A text that the card itself carries.
    Plain {
        /// The role of the message.
        role: ChatRole,
        /// The text of the message.
        text: String,
    },
    /// A text that is a list of messages.
    ChatMarkup {
        /// The list of messages in chat markup.
        text: String,
    },
    /// The description of the user.
    Persona,
    /// The description of the character.
    Description,
    /// The note of the author.
    AuthorNote {
        /// The text in place of an empty note.
        default: String,
    },
    /// The entries of the lore book.
    Lorebook,
    /// The entries after all others.
    PostEverything,
    /// The memory that was recalled.
    Memory,
    /// A range of the chat.
    Chat {
        /// The index of the first message; from the end when negative.
        start: i64,
        /// The index after the last message.
        end: RangeEnd,
        /// Whether the messages keep their roles even when the chat is rewritten as system messages.
        is_original: bool,
    },
}

/// The end of a range of the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// The end of the chat.
    End,
    /// Here; from the end when negative.
    At(i64),
}

impl Card {
    /// A card without a text around what it shows.
    pub fn new(kind: CardKind) -> Self {
        Self { kind, inner: None }
    }

    /// The card's text with the content inserted.
    pub(super) fn filled(&self, content: &str) -> String {
        match self.inner.as_deref().filter(|inner| !inner.is_empty()) {
            Some(inner) => inner.replace(SLOT, content),
            None => content.to_owned(),
        }
    }

    /// The messages of the card's range of the chat.
    pub(super) fn chat(&self, chat: &[ChatEntry], chat_as_system: bool) -> Vec<ChatEntry> {
        let CardKind::Chat { start, end, is_original } = self.kind else {
            return Vec::new();
        };
        let n = i64::try_from(chat.len()).unwrap_or(i64::MAX);
        let place = |at: i64| if at < 0 { (n + at).max(0) } else { at.min(n) };
        let (start, end) = match (start, end) {
            (EVERYTHING, _) => (0, n),
            (start, RangeEnd::End) => (place(start), n),
            (start, RangeEnd::At(end)) => (place(start), place(end)),
        };
        let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
        let entries = chat.get(range).unwrap_or_default().iter().cloned();
        if chat_as_system && !is_original { entries.map(as_system).collect() } else { entries.collect() }
    }
}

impl Prompt {
    /// The entries of a card that shows neither chat nor memory.
    pub(super) fn card_entries(&self, card: &Card) -> Vec<ChatEntry> {
        let system = |text: String| vec![ChatEntry::new(ChatRole::System, text)];
        match &card.kind {
            CardKind::Plain { role, text } => vec![ChatEntry::new(*role, &**text)],
            CardKind::ChatMarkup { text } => {
                let messages = chat_markup::parse(text).unwrap_or_default();
                messages.into_iter().map(|message| ChatEntry::new(message.role, message.content)).collect()
            }
            CardKind::Persona => self.persona.iter().flat_map(|text| system(card.filled(text))).collect(),
            CardKind::Description => system(card.filled(&self.description)),
            CardKind::AuthorNote { default } => {
                let note = self.author_note.as_deref().filter(|note| !utf16::is_blank(note));
                match note.or(Some(default.as_str()).filter(|text| !text.is_empty())) {
                    Some(note) => system(card.filled(note)),
                    None => Vec::new(),
                }
            }
            CardKind::Lorebook => {
                let filled = |entry: &ChatEntry| ChatEntry { content: card.filled(&entry.content), ..entry.clone() };
                self.lore.iter().map(filled).collect()
            }
            CardKind::PostEverything => {
                let filled = |entry: &ChatEntry| ChatEntry { content: card.filled(&entry.content), ..entry.clone() };
                let mut entries: Vec<ChatEntry> = self.post_everything.iter().map(filled).collect();
                if !self.post_end.is_empty() {
                    entries.push(ChatEntry::new(ChatRole::System, &*self.post_end));
                }
                entries
            }
            CardKind::Memory | CardKind::Chat { .. } => Vec::new(),
        }
    }
}

/// An entry rewritten as a system message.
fn as_system(entry: ChatEntry) -> ChatEntry {
    if !matches!(entry.role, ChatRole::User | ChatRole::Assistant) {
        return entry;
    }
    let speaker = entry.name.as_deref().unwrap_or(entry.role.word());
    let content = format!("{speaker}: {}", entry.content);
    ChatEntry { role: ChatRole::System, content, memo: None, name: None, part: EntryPart::Message, ..entry }
}
