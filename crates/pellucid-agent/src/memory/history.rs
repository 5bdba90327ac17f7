//! The whole conversation, as the entries that strategies work on.
//!
//! A message of a person or the model is an entry. Tool calls and their outputs are one entry as long as an output is
//! missing, so that no window ever splits them. The id of an entry depends on its bytes and on how often the same bytes
//! came before; it is the same after a session was closed and opened again.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use pellucid_engine::boundary;
use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Origin;
use pellucid_engine::memory::entry::ChatEntry;
use pellucid_engine::memory::entry::ChatRole;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use sha2::Digest;
use sha2::Sha256;

/// How many characters of a hash are an id.
const ID_CHARS: usize = 16;

/// Something that was said, as it was recorded.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    /// A message with the origins of its text.
    Draft(Draft),
    /// An item of the model or a tool.
    Item(Item, Origin),
    /// An item that was read back, with the origins of its bytes, and the one for when they do not fit.
    Restored(Item, Origin, Arc<[Span]>),
}

/// The whole conversation of a session.
#[derive(Debug, Clone, Default)]
pub struct History {
    said: Vec<Said>,
    /// How often the same bytes were said.
    n_said: BTreeMap<Vec<u8>, u64>,
}

#[derive(Debug, Clone)]
struct Said {
    kept: Kept,
    item: Item,
    id: String,
}

impl History {
    pub(crate) fn push(&mut self, kept: Kept) {
        let item = match &kept {
            Kept::Draft(draft) => draft.item(),
            Kept::Item(item, _) | Kept::Restored(item, ..) => item.clone(),
        };
        let bytes = serde_json::to_vec(&item).unwrap_or_default();
        let n = self.n_said.entry(Sha256::digest(&bytes).to_vec()).or_default();
        let id = id(*n, &bytes);
        *n += 1;
        self.said.push(Said { kept, item, id });
    }

    /// The conversation of a session file, without the messages of the layout.
    pub fn restored(items: &[Item]) -> Self {
        let mut history = Self::default();
        for item in items {
            history.push_restored(item, &Origin::Model, Arc::default());
        }
        history
    }

    pub(crate) fn push_restored(&mut self, item: &Item, origin: &Origin, spans: Arc<[Span]>) {
        if !is_layout(item) {
            self.push(Kept::Restored(item.clone(), origin.clone(), spans));
        }
    }

    pub(crate) fn roll_back(&mut self, n_turns: usize) {
        let is_turn = |said: &Said| boundary::begins_user_turn(&said.item);
        let beginnings: Vec<usize> =
            self.said.iter().enumerate().filter(|(_, said)| is_turn(said)).map(|(n, _)| n).collect();
        if let Some(cut) = boundary::cut_position(&beginnings, n_turns) {
            self.said.truncate(cut);
            let said = std::mem::take(self).said;
            said.into_iter().for_each(|said| self.push(said.kept));
        }
    }

    /// The entries, oldest first, each with the items that it is made of.
    pub fn entries(&self) -> Vec<(ChatEntry, Range<usize>)> {
        let mut entries: Vec<(ChatEntry, Range<usize>)> = Vec::new();
        let mut start = 0;
        let mut n_open = 0_usize;
        for (n, said) in self.said.iter().enumerate() {
            match kind(&said.item) {
                Kind::Message(role) => {
                    self.close(start..n, &mut entries);
                    // An unanswered call before a message is never answered.
                    n_open = 0;
                    entries.push((self.entry(role, n..n + 1), n..n + 1));
                    start = n + 1;
                }
                // Thoughts belong to what follows them.
                Kind::Thought => {}
                Kind::Call => n_open += 1,
                Kind::Output => {
                    n_open = n_open.saturating_sub(1);
                    if n_open == 0 {
                        self.close(start..n + 1, &mut entries);
                        start = n + 1;
                    }
                }
            }
        }
        self.close(start..self.said.len(), &mut entries);
        entries
    }

    fn close(&self, range: Range<usize>, entries: &mut Vec<(ChatEntry, Range<usize>)>) {
        if !range.is_empty() {
            entries.push((self.entry(ChatRole::Function, range.clone()), range));
        }
    }

    fn entry(&self, role: ChatRole, range: Range<usize>) -> ChatEntry {
        let id = self.said[range.start].id.clone();
        let texts: Vec<String> =
            self.said[range].iter().map(|said| text(&said.item)).filter(|it| !it.is_empty()).collect();
        ChatEntry::new(role, texts.join("\n")).with_memo(id)
    }

    /// Records what was said from an entry on.
    pub(crate) fn record_from(&self, first: usize, transcript: &mut Transcript) {
        let entries = self.entries();
        let start = entries.get(first).map_or(self.said.len(), |(_, range)| range.start);
        for said in &self.said[start..] {
            match &said.kept {
                Kept::Draft(draft) => transcript.record_draft(draft),
                Kept::Item(item, origin) => transcript.record(item, origin),
                Kept::Restored(item, origin, spans) => transcript.record_with(item, spans, origin),
            }
        }
    }
}

/// Whether an item is a message of the layout, which is recorded again.
fn is_layout(item: &Item) -> bool {
    const BEGINNINGS: [&str; 3] = ["# AGENTS.md instructions for ", "<user_instructions>", "<environment_context>"];
    match item {
        Item::Message { role, content, .. } => {
            let first = content.iter().find_map(|part| match part {
                ContentPart::InputText { text } => Some(text.as_str()),
                ContentPart::OutputText { .. } | ContentPart::InputImage { .. } => None,
            });
            let is_ours = || first.is_some_and(|text| BEGINNINGS.iter().any(|start| text.starts_with(start)));
            matches!(role.as_str(), "developer" | "system") || (role == "user" && is_ours())
        }
        _ => false,
    }
}

enum Kind {
    Message(ChatRole),
    Thought,
    Call,
    Output,
}

fn kind(item: &Item) -> Kind {
    match item {
        Item::Message { role, .. } => Kind::Message(match role.as_str() {
            "assistant" => ChatRole::Assistant,
            "user" => ChatRole::User,
            _ => ChatRole::System,
        }),
        Item::FunctionCall { .. } | Item::CustomToolCall { .. } | Item::LocalShellCall { .. } => Kind::Call,
        Item::FunctionCallOutput { .. } | Item::CustomToolCallOutput { .. } => Kind::Output,
        _ => Kind::Thought,
    }
}

/// The text of an item.
fn text(item: &Item) -> String {
    let parts = |parts: &[ContentPart]| {
        let text = |part: &ContentPart| match part {
            ContentPart::InputText { text } | ContentPart::OutputText { text } => Some(text.clone()),
            ContentPart::InputImage { .. } => None,
        };
        parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    };
    match item {
        Item::Message { content, .. } => parts(content),
        Item::FunctionCall { name, arguments, .. } => format!("{name} {arguments}"),
        Item::CustomToolCall { name, input, .. } => format!("{name} {input}"),
        Item::FunctionCallOutput { output, .. } => match output {
            ToolOutput::Text(text) => text.clone(),
            ToolOutput::Parts(all) => parts(all),
        },
        Item::CustomToolCallOutput { output, .. } => output.clone(),
        Item::LocalShellCall { .. } => serde_json::to_string(item).unwrap_or_default(),
        _ => String::new(),
    }
}

fn id(n_before: u64, bytes: &[u8]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(n_before.to_le_bytes());
    hasher.update(bytes);
    let hex = hasher.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    hex[..ID_CHARS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Item {
        Item::FunctionCall { id: None, name: "shell".to_owned(), arguments: "{}".to_owned(), call_id: id.to_owned() }
    }

    fn output(id: &str) -> Item {
        Item::FunctionCallOutput { call_id: id.to_owned(), output: ToolOutput::Text("out".to_owned()) }
    }

    #[track_caller]
    fn check(items: &[Item], expected: &[(&str, Range<usize>)]) {
        let history = History::restored(items);
        let entries = history.entries();
        let found: Vec<_> = entries.iter().map(|(entry, range)| (entry.role.word(), range.clone())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn calls_and_their_outputs_are_never_split() {
        let (user, model) = (Item::text("user", "hi"), Item::text("assistant", "ok"));
        check(
            &[user.clone(), call("1"), call("2"), output("1"), output("2"), call("3"), output("3"), model],
            &[("user", 0..1), ("function", 1..5), ("function", 5..7), ("assistant", 7..8)],
        );
        check(&[user.clone(), call("1"), user], &[("user", 0..1), ("function", 1..2), ("user", 2..3)]);
    }

    #[test]
    fn what_the_layout_says_is_no_part_of_a_conversation() {
        let context = Item::text("user", "<environment_context>x");
        check(&[Item::text("developer", "x"), context, Item::text("user", "hi")], &[("user", 0..1)]);
    }

    #[test]
    fn the_same_words_have_ids_of_their_own() {
        let items = [Item::text("user", "hi"), Item::text("user", "hi")];
        let memos = |items: &[Item]| {
            History::restored(items).entries().into_iter().filter_map(|(entry, _)| entry.memo).collect::<Vec<_>>()
        };
        let all = memos(&items);
        assert_ne!(all[0], all[1]);
        assert_eq!(all, memos(&items));
    }
}
