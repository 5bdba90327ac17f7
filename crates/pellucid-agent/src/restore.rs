//! Restores a session from its file, so that it can be continued or copied.
//!
//! Only the lines that still count are read: a summary that carries its own history makes everything before it
//! unnecessary, so the file is first searched from its end (`start`). From there lines are read one by one; most items go
//! into the transcript with the bytes that they have in the file.

mod start;

use std::collections::BTreeSet;
use std::sync::Arc;

use pellucid_engine::assemble::LayoutMessage;
use pellucid_engine::compaction;
use pellucid_engine::continuity::Cause;
use pellucid_engine::fragment::Origin;
use pellucid_engine::origins::Origins;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::transcript::View;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_protocol::usage::TokenUsageInfo;
use pellucid_store::lines::Forwards;
use pellucid_store::lines::Line;
use pellucid_store::read::LineReading;
use pellucid_store::read::ReadError;
use pellucid_store::read::RecordKind;
use pellucid_store::read::SessionFile;
use pellucid_store::read::read_line;
use pellucid_store::read::split;
use pellucid_store::record::Compacted;
use pellucid_store::record::Record;
use serde::Deserialize;

use self::start::Start;
use crate::ghost;

/// After how many bytes of items the transcript settles.
const SETTLE_BYTES: usize = 1024 * 1024;

/// How a history is restored.
#[derive(Debug, Clone, Copy)]
pub struct RestoreOptions<'a> {
    /// Whether items carry the ids that the server gave them.
    pub ids: ItemIds,
    /// How output of tools is cut.
    pub truncation: TruncationPolicy,
    /// How requests will show items, if that is known.
    pub view: Option<View>,
    /// The text that every summary begins with.
    pub summary_prefix: &'a str,
    /// The context's items, for summaries that do not carry a history.
    pub context: &'a [Item],
    /// The messages of these items, where it is known what they were made from.
    pub context_messages: &'a [LayoutMessage],
    /// Where items came from, as far as that was kept.
    pub origins: &'a Origins,
}

/// What is restored of a session.
#[derive(Debug)]
pub struct Restored {
    /// The history of the session.
    pub transcript: Transcript,
    /// The model of its last request.
    pub model: Option<String>,
    /// The last token figures of the session.
    pub usage: Option<TokenUsageInfo>,
    /// The base instructions that the session began with.
    pub instructions: Option<String>,
    /// Whether a summary was put together with the context.
    pub has_used_context: bool,
    /// Lines that could not be read.
    pub set_aside: SetAside,
    /// Snapshots that the work tree was brought back to.
    pub undone: BTreeSet<String>,
    /// What became of the history since the last request, if something did.
    pub cause: Option<Cause>,
}

/// Lines that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetAside {
    /// The numbers of the lines, from one, or their offsets where the file was not read from its start.
    pub places: Vec<u64>,
    /// Whether the places are offsets.
    pub are_offsets: bool,
}

/// Restores a session from the first bytes of a file.
///
/// # Errors
/// When the file cannot be read.
pub fn restore(file: &SessionFile, upto: u64, rules: &RestoreOptions<'_>) -> Result<Restored, ReadError> {
    let opened = pellucid_files::open(&file.path).and_then(|file| Start::find(file, upto, rules.summary_prefix));
    let start = opened.map_err(|source| ReadError::io(&file.path, source))?;
    restore_from(file, start, upto, rules)
}

fn restore_from(
    file: &SessionFile,
    start: Start,
    upto: u64,
    rules: &RestoreOptions<'_>,
) -> Result<Restored, ReadError> {
    let failed = |source| ReadError::io(&file.path, source);
    let opened = pellucid_files::open(&file.path).and_then(|file| Forwards::new(file, start.offset, upto));
    let mut lines = opened.map_err(failed)?;
    let mut fold = Fold::new(file, rules, start);
    while let Some(line) = lines.next_line().map_err(failed)? {
        fold.line(&line);
    }
    Ok(fold.finish())
}

/// Restores a session from some lines of a file.
pub fn restore_records(file: &SessionFile, records: Vec<Record>, rules: &RestoreOptions<'_>) -> Restored {
    let mut fold = Fold::new(file, rules, Start::default());
    for record in records {
        fold.record(record, &Line { bytes: &[], start: 0, end: 0, is_whole: true });
    }
    fold.finish()
}

/// Adds lines to what is restored, one by one.
struct Fold<'a> {
    rules: &'a RestoreOptions<'a>,
    restored: Restored,
    origin: Origin,
    part: Arc<str>,
    /// The last settings and figures, not parsed yet.
    turn: Option<Vec<u8>>,
    figures: Option<Vec<u8>>,
    n_lines: u64,
    unsettled: usize,
}

impl<'a> Fold<'a> {
    fn new(file: &SessionFile, rules: &'a RestoreOptions<'a>, start: Start) -> Self {
        let origin = Origin::Recorded { path: file.path.to_string_lossy().as_ref().into() };
        let restored = Restored {
            transcript: Transcript::new(rules.ids, rules.truncation),
            model: None,
            usage: None,
            instructions: file.meta.base_instructions.as_ref().map(|instructions| instructions.text.clone()),
            has_used_context: false,
            set_aside: SetAside { places: Vec::new(), are_offsets: start.offset > 0 },
            undone: BTreeSet::new(),
            cause: None,
        };
        let part = origin.kind().into();
        Self { rules, restored, origin, part, turn: start.turn, figures: start.figures, n_lines: 0, unsettled: 0 }
    }

    fn line(&mut self, line: &Line<'_>) {
        self.n_lines += 1;
        match split(line.bytes) {
            Some((RecordKind::ResponseItem, payload))
                if self.restored.transcript.record_ready_again(
                    payload,
                    &self.part,
                    self.rules.origins,
                    line.start,
                    &self.origin,
                ) =>
            {
                self.settle(payload.len());
            }
            Some((RecordKind::TurnContext, payload)) if is_object(payload) => {
                self.restored.cause = None;
                keep(&mut self.turn, payload);
            }
            Some((RecordKind::EventMsg, payload)) if is_figures(payload) => keep(&mut self.figures, payload),
            _ if line.is_blank() => {}
            _ => match read_line(line.bytes) {
                LineReading::Record(record) => self.record(record, line),
                LineReading::Passed => {}
                LineReading::SetAside => {
                    let set_aside = &mut self.restored.set_aside;
                    set_aside.places.push(if set_aside.are_offsets { line.start } else { self.n_lines });
                }
            },
        }
    }

    fn record(&mut self, record: Record, line: &Line<'_>) {
        let (origins, at) = (self.rules.origins, line.start);
        let restored = &mut self.restored;
        match record {
            Record::SessionMeta(meta) => {
                let text = meta.base_instructions.map(|instructions| instructions.text);
                restored.instructions = restored.instructions.take().or(text);
            }
            Record::ResponseItem(item) => {
                restored.transcript.record_again(&item, origins, at, &self.origin);
                self.settle(line.bytes.len());
            }
            Record::Compacted(Compacted { replacement_history: Some(items), .. }) => self.replace(&items, at),
            Record::Compacted(Compacted { message, replacement_history: None }) => {
                // Nothing else of the history stays with a summary.
                let items: Vec<Item> = restored.transcript.messages_and_snapshots().collect();
                restored.has_used_context = true;
                let RestoreOptions { summary_prefix, context, .. } = self.rules;
                self.replace(&compaction::restored(&items, summary_prefix, context, &message), at);
                self.restored.transcript.attribute_context(self.rules.context_messages);
            }
            Record::TurnContext(turn) => {
                restored.cause = None;
                keep(&mut self.turn, &pellucid_engine::encode::to_json(&turn));
            }
            Record::EventMsg(EventMessage::ThreadRolledBack { num_turns }) => {
                restored.cause = Some(Cause::RollBack);
                restored.transcript.roll_back(num_turns);
            }
            Record::EventMsg(EventMessage::UndoCompleted { success: true, .. }) => {
                let last = ghost::last_snapshot(&restored.transcript, &restored.undone);
                restored.undone.extend(last.map(|commit| commit.id));
            }
            Record::EventMsg(EventMessage::TokenCount { info: Some(info), .. }) => {
                self.figures = None;
                restored.usage = Some(info);
            }
            Record::EventMsg(_) => {}
        }
    }

    fn replace(&mut self, items: &[Item], at: u64) {
        self.restored.cause = Some(Cause::Compaction);
        let transcript = &mut self.restored.transcript;
        transcript.clear();
        for item in items {
            transcript.record_again(item, self.rules.origins, at, &self.origin);
        }
    }

    /// Lets the transcript settle now and then, so that a long history is not held twice.
    fn settle(&mut self, n_bytes: usize) {
        self.unsettled += n_bytes;
        // A call of many bytes waits for its output, and settles with it.
        if let Some(view) = self.rules.view
            && self.unsettled >= SETTLE_BYTES
            && self.restored.transcript.settle(view)
        {
            self.unsettled = 0;
        }
    }

    fn finish(self) -> Restored {
        let Self { mut restored, turn, figures, .. } = self;
        if restored.cause != Some(Cause::RollBack) {
            restored.transcript.forget_roll_back();
        }
        restored.model = turn.and_then(|turn| model_of(&turn));
        if let Some(figures) = figures {
            restored.usage = usage_of(&figures).or(restored.usage);
        }
        restored
    }
}

/// Whether bytes look like a JSON object. They are parsed later, and then a mistake shows.
fn is_object(payload: &[u8]) -> bool {
    payload.starts_with(b"{") && payload.ends_with(b"}")
}

/// Whether an event has token figures.
fn is_figures(payload: &[u8]) -> bool {
    payload.starts_with(b"{\"type\":\"token_count\",\"info\":{") && payload.ends_with(b"}")
}

fn keep(place: &mut Option<Vec<u8>>, payload: &[u8]) {
    let kept = place.get_or_insert_default();
    kept.clear();
    kept.extend_from_slice(payload);
}

fn model_of(turn: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Turn {
        model: String,
    }
    serde_json::from_slice::<Turn>(turn).ok().map(|turn| turn.model)
}

fn usage_of(figures: &[u8]) -> Option<TokenUsageInfo> {
    #[derive(Deserialize)]
    struct Figures {
        info: Option<TokenUsageInfo>,
    }
    serde_json::from_slice::<Figures>(figures).ok().and_then(|figures| figures.info)
}

#[cfg(test)]
mod tests {
    use pellucid_protocol::settings::TruncationMode;
    use pellucid_store::read;
    use pellucid_testkit::Workspace;
    use proptest::prelude::*;

    use super::*;

    /// The line of a session file for a kind and a size.
    fn line(n: usize, (kind, size): (u8, usize)) -> String {
        let line =
            |kind: &str, payload: &str| format!("{{\"timestamp\":\"t\",\"type\":\"{kind}\",\"payload\":{payload}}}\n");
        let item = |item: &Item| line("response_item", &serde_json::to_string(item).unwrap());
        let usage = format!(
            r#"{{"input_tokens":{n},"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":{n}}}"#
        );
        match kind {
            0..=3 => item(&Item::text("user", format!("{n} {}", "x".repeat(size)))),
            4 | 5 => item(&Item::text("assistant", format!("answer {n}"))),
            6 => item(&Item::text("user", format!("<environment_context>{n}"))),
            7 => line("compacted", &format!(r#"{{"message":"PREFIX\nsummary {n}"}}"#)),
            8 => line(
                "compacted",
                &format!(
                    r#"{{"message":"","replacement_history":[{{"type":"message","role":"user","content":[{{"type":"input_text","text":"history {n}"}}]}}]}}"#
                ),
            ),
            9 => line("event_msg", &format!(r#"{{"type":"thread_rolled_back","num_turns":{}}}"#, size % 3 + 1)),
            10 => line(
                "turn_context",
                &format!(
                    r#"{{"cwd":"/p","approval_policy":"never","sandbox_policy":{{"type":"read-only"}},"model":"m{n}","summary":"auto"}}"#
                ),
            ),
            11 => line(
                "event_msg",
                &format!(
                    r#"{{"type":"token_count","info":{{"total_token_usage":{usage},"last_token_usage":{usage},"model_context_window":null}},"rate_limits":null}}"#
                ),
            ),
            12 => format!("{}{}", item(&call(n)), item(&output(n, size))),
            _ => "{\"timestamp\":\"torn\n".to_owned(),
        }
    }

    fn call(n: usize) -> Item {
        let (name, arguments) = ("shell".to_owned(), "{}".to_owned());
        Item::FunctionCall { id: None, name, arguments, call_id: format!("c{n}") }
    }

    fn output(n: usize, size: usize) -> Item {
        let output = pellucid_protocol::item::ToolOutput::Text("y".repeat(size));
        Item::FunctionCallOutput { call_id: format!("c{n}"), output }
    }

    #[test]
    fn a_long_call_settles_with_its_output() {
        let files = Workspace::empty();
        let meta = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"i","timestamp":"t","cwd":"/p","originator":"o","cli_version":"1"}}"#;
        let file = read::open(&files.write("session.jsonl", format!("{meta}\n"))).unwrap();
        let rules = RestoreOptions {
            ids: ItemIds::Hidden,
            truncation: TruncationPolicy { mode: TruncationMode::Tokens, limit: 10_000 },
            view: Some(View::default()),
            summary_prefix: "PREFIX",
            context: &[],
            context_messages: &[],
            origins: &Origins::default(),
        };
        let mut fold = Fold::new(&file, &rules, Start::default());
        let item = |item: &Item| {
            format!(r#"{{"timestamp":"t","type":"response_item","payload":{}}}"#, serde_json::to_string(item).unwrap())
        };
        let long = Item::FunctionCall {
            id: None,
            name: "shell".to_owned(),
            arguments: "x".repeat(SETTLE_BYTES),
            call_id: "c1".to_owned(),
        };
        for (item, is_settled) in [(item(&long), false), (item(&output(1, 3)), true)] {
            fold.line(&Line { bytes: item.as_bytes(), start: 0, end: item.len() as u64, is_whole: true });
            assert_eq!(fold.unsettled == 0, is_settled);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn what_is_restored_from_the_end_is_what_the_whole_file_says(
            // Files in which settings stand far from the end are another test's.
            lines in prop::collection::vec((0_u8..14, prop_oneof![4 => Just(3_usize), 1 => Just(30_000), 1 => Just(90_000)]), 0..30)
                .prop_filter("short", |lines| lines.iter().map(|(_, size)| size).sum::<usize>() < 1_000_000),
        ) {
            let files = Workspace::empty();
            let mut text = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"i","timestamp":"t","cwd":"/p","originator":"o","cli_version":"1","base_instructions":{"text":"base"}}}"#.to_owned() + "\n";
            text.extend(lines.iter().enumerate().map(|(n, it)| line(n, *it)));
            let file = read::open(&files.write("session.jsonl", &text)).unwrap();
            let context = [Item::text("developer", "context")];
            let rules = RestoreOptions {
                ids: ItemIds::Hidden,
                truncation: TruncationPolicy { mode: TruncationMode::Tokens, limit: 10_000 },
                view: Some(View::default()),
                summary_prefix: "PREFIX",
                context: &context,
                context_messages: &[],
                origins: &Origins::default(),
            };
            let upto = text.len() as u64;
            let mut quick = restore(&file, upto, &rules).unwrap();
            let mut whole = restore_from(&file, Start::default(), upto, &rules).unwrap();
            let items = |restored: &Restored| restored.transcript.items().collect::<Vec<Item>>();
            prop_assert_eq!(items(&quick), items(&whole));
            prop_assert_eq!(&quick.model, &whole.model);
            prop_assert_eq!(&quick.usage, &whole.usage);
            prop_assert_eq!(&quick.instructions, &whole.instructions);
            prop_assert_eq!(quick.transcript.tokens(), whole.transcript.tokens());
            let view = View::default();
            prop_assert_eq!(quick.transcript.view(view).concat(), whole.transcript.view(view).concat());
        }
    }
}
