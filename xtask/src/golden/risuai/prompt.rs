//! The list of messages that Risuai itself sends, which the vectors have: the chat, and the texts around it.
//!
//! Prompt parts are counted before the chat, the chat is made to fit, then everything is laid out,
//! by a template of cards or in the order of the pack `risuai`, and counted once more. What is still too much is
//! taken from the chat.
//!
//! Pellucid lays out conversations by slots. It shares with this list the window, the memory, their texts
//! and the order of the parts.

mod cards;
mod chat;

pub use self::cards::Card;
pub use self::cards::CardKind;
pub use self::cards::RangeEnd;
pub use self::chat::ChatMessage;
pub use self::chat::MessageState;
pub use self::chat::chat;
pub use self::chat::example;

use pellucid_engine::fragment::{Fragment, concat};
use pellucid_engine::memory::MemoryFailure;
use pellucid_engine::memory::count::EntryCounter;
use pellucid_engine::memory::entry::{ChatEntry, ChatRole};
use pellucid_engine::pack::Pack;
use pellucid_engine::utf16;

use super::toy::texts;

/// The texts around a chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    /// The id of the model.
    pub model: String,
    /// The main prompt, without a template.
    pub main: String,
    /// The jailbreak, without a template.
    pub jailbreak: Option<String>,
    /// The description of the character that the model plays.
    pub description: String,
    /// The description of the user.
    pub persona: Option<String>,
    /// The note at the end.
    pub global_note: String,
    /// The author's note, which comes near the end.
    pub author_note: Option<String>,
    /// The active entries of the lore book.
    pub lore: Vec<ChatEntry>,
    /// Lore with a place in the chat.
    pub deep_lore: Vec<Deep>,
    /// The entries after all others.
    pub post_everything: Vec<ChatEntry>,
    /// The text after those entries, with a template.
    pub post_end: String,
    /// The character's prompt with a place in the list.
    pub depth_prompt: Option<DepthPrompt>,
    /// The cards of the template; absent for the usual order.
    pub template: Option<Vec<Card>>,
    /// Whether the chat is rewritten as system messages, with a template.
    pub chat_as_system: bool,
}

/// An entry with a place in the chat.
#[derive(Debug, Clone, PartialEq)]
pub struct Deep {
    /// The entry to insert.
    pub entry: ChatEntry,
    /// The number of messages between the entry and the end that `from` names.
    pub depth: usize,
    /// The end of the chat that the depth is counted from.
    pub from: DepthFrom,
}

/// The end of the chat that a depth is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepthFrom {
    /// From the start of the chat.
    Start,
    /// The depth is counted from the last message.
    End,
}

/// The character's prompt with a place in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepthPrompt {
    /// The number of messages after the prompt.
    pub depth: usize,
    /// The text of the prompt.
    pub text: String,
}

impl Prompt {
    /// The tokens of the texts around the chat, as far as the first count knows them.
    pub fn tokens(&self, count: &EntryCounter<'_>) -> f64 {
        let parts = match &self.template {
            Some(_) => self.cards().iter().flat_map(|card| self.card_entries(card)).collect(),
            None => self.parts(),
        };
        let deep = self.deep_lore.iter().map(|deep| count.entry(&deep.entry)).sum::<f64>();
        count.entries(&parts) + deep
    }

    /// Every part, without a template. Some parts are sent even when they are empty.
    fn parts(&self) -> Vec<ChatEntry> {
        let mut parts = vec![ChatEntry::new(ChatRole::System, &*self.main)];
        parts.extend(self.jailbreak.iter().map(|text| ChatEntry::new(ChatRole::System, &**text)));
        parts.extend(self.lore.iter().cloned());
        parts.push(ChatEntry::new(ChatRole::System, &*self.global_note));
        parts.extend(self.author_note.iter().map(|text| ChatEntry::new(ChatRole::System, &**text)));
        parts.push(ChatEntry::new(ChatRole::System, &*self.description));
        parts.extend(self.post_everything.iter().cloned());
        parts.extend(self.persona.iter().map(|text| ChatEntry::new(ChatRole::System, &**text)));
        parts
    }

    /// The cards of the template, with one for what comes after everything.
    fn cards(&self) -> Vec<Card> {
        let mut cards = self.template.clone().unwrap_or_default();
        let has_end = cards.iter().any(|card| card.kind == CardKind::PostEverything);
        if !has_end {
            cards.push(Card::new(CardKind::PostEverything));
        }
        cards
    }

    /// Lays the messages out and counts them once more.
    ///
    /// # Errors
    /// When they do not fit and nothing more may go.
    pub fn lay_out(
        &self,
        chat: Vec<ChatEntry>,
        max: f64,
        count: &EntryCounter<'_>,
    ) -> Result<Vec<ChatEntry>, MemoryFailure> {
        let has_card = self.template.iter().flatten().any(|card| card.kind == CardKind::Memory);
        let (mut chat, last) = match self.template {
            Some(_) => (chat, None),
            None => split_last(chat),
        };
        let mut memories = Vec::new();
        let mut kept = Vec::new();
        for mut entry in chat.drain(..) {
            if !entry.is_memory() {
                entry.is_removable = true;
                kept.push(entry);
            } else if has_card {
                memories.push(entry);
            } else {
                entry.content = concat(&texts().previous(Fragment::layout(entry.content.as_str())));
                kept.push(entry);
            }
        }
        let mut chat: Vec<ChatEntry> = kept.into_iter().filter(is_worth).collect();
        for Deep { entry, depth, from } in &self.deep_lore {
            let at = match from {
                DepthFrom::Start => (*depth).min(chat.len()),
                DepthFrom::End => chat.len().saturating_sub(*depth),
            };
            chat.insert(at, entry.clone());
        }
        let mut list = List { messages: Vec::new(), merges: merges(&self.model) };
        match &self.template {
            Some(_) => self.by_cards(&chat, &memories, &mut list),
            None => self.by_order(chat, last, &mut list),
        }
        let mut messages = list.messages;
        for message in &mut messages {
            message.content = utf16::trim(&message.content).to_owned();
        }
        if let Some(DepthPrompt { depth, text }) = &self.depth_prompt {
            messages.insert(messages.len().saturating_sub(*depth), ChatEntry::new(ChatRole::System, &**text));
        }
        recheck(messages, max, count)
    }

    /// Lays the messages out in the order of the parts that the pack has.
    fn by_order(&self, mut chat: Vec<ChatEntry>, last: Option<ChatEntry>, list: &mut List) {
        let system = |text: &str| ChatEntry::new(ChatRole::System, text);
        chat.extend(last);
        for part in order() {
            match part.as_str() {
                "main" => list.push(system(&self.main)),
                "description" => list.push(system(&self.description)),
                "persona" => list.extend(self.persona.iter().map(|text| system(text))),
                "chat" => list.extend(std::mem::take(&mut chat)),
                "jailbreak" => list.extend(self.jailbreak.iter().map(|text| system(text))),
                "lorebook" => list.extend(self.lore.iter().cloned()),
                "global_note" => list.push(system(&self.global_note)),
                "author_note" => list.extend(self.author_note.iter().map(|text| system(text))),
                "post_everything" => list.extend(self.post_everything.iter().cloned()),
                // Its place is counted in the whole list, see `lay_out`.
                "depth_prompt" => {}
                other => panic!("the pack has a part `{other}` that Risuai has not"),
            }
        }
    }

    fn by_cards(&self, chat: &[ChatEntry], memories: &[ChatEntry], list: &mut List) {
        for card in self.cards() {
            match &card.kind {
                CardKind::Chat { .. } => list.extend(card.chat(chat, self.chat_as_system)),
                CardKind::Memory => {
                    for memory in memories {
                        list.push(ChatEntry { content: card.filled(&memory.content), ..memory.clone() });
                    }
                }
                _ => list.extend(self.card_entries(&card)),
            }
        }
    }
}

/// The parts in the order of the pack: those before the conversation, the conversation, and those behind it.
fn order() -> Vec<String> {
    let pack = Pack::builtin("risuai").expect("the pack is built in");
    let parts = |is_placed: bool| {
        let slots = pack.layout.slots.iter().filter(move |slot| slot.depth.is_some() == is_placed);
        let files = slots.flat_map(|slot| &slot.parts).filter_map(|part| part.file.as_deref());
        let names = files.filter_map(|file| file.strip_prefix("parts/")?.strip_suffix(".jinja"));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    [vec!["main".to_owned()], parts(false), vec!["chat".to_owned()], parts(true)].concat()
}

/// The newest entry by itself.
fn split_last(mut chat: Vec<ChatEntry>) -> (Vec<ChatEntry>, Option<ChatEntry>) {
    let last = chat.pop();
    (chat, last)
}

fn is_worth(entry: &ChatEntry) -> bool {
    !utf16::is_blank(&entry.content) || !entry.attachments.is_empty()
}

/// Whether messages of ours that follow each other become one.
fn merges(model: &str) -> bool {
    model.starts_with("gpt") || model.starts_with("claude") || matches!(model, "openrouter" | "reverse_proxy")
}

/// Messages as they are put one after the other.
struct List {
    messages: Vec<ChatEntry>,
    merges: bool,
}

impl List {
    fn push(&mut self, entry: ChatEntry) {
        if !is_worth(&entry) {
            return;
        }
        if self.merges
            && entry.role == ChatRole::System
            && let Some(before) = self.messages.last_mut()
            && before.role == ChatRole::System
            && before.memo == entry.memo
            && before.part == entry.part
            && before.name == entry.name
        {
            before.content = format!("{}\n\n{}", before.content, entry.content);
            return;
        }
        self.messages.push(entry);
    }

    fn extend(&mut self, entries: impl IntoIterator<Item = ChatEntry>) {
        for entry in entries {
            self.push(entry);
        }
    }
}

/// Counts everything once more and takes from the chat what is too much.
fn recheck(mut messages: Vec<ChatEntry>, max: f64, count: &EntryCounter<'_>) -> Result<Vec<ChatEntry>, MemoryFailure> {
    let mut tokens = count.entries(&messages);
    let mut at = 0;
    while tokens > max {
        let Some(message) = messages.get_mut(at) else {
            return Err(MemoryFailure::new("too_many_tokens_recheck", vec![tokens], tokens));
        };
        if message.is_removable {
            tokens -= count.entry(message);
            message.content.clear();
        }
        at += 1;
    }
    messages.retain(|message| !message.content.is_empty() || !message.attachments.is_empty());
    // Names distinguish examples from the chat until everything is counted; no name is sent.
    for message in &mut messages {
        message.name = None;
    }
    Ok(messages)
}
