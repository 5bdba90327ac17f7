//! From where on a session file has to be read.
//!
//! The file is searched from its end. The first summary that carries a history ends the search: nothing before it counts.
//! A summary without a history also needs the messages of people before it, as many as it keeps, so the search continues
//! until that many were found behind an earlier summary. A file in which nothing is found soon is read from its start,
//! because then most of it counts.
//!
//! The last settings and token figures count wherever they are. Every request writes them, so they are near the end. If
//! they are not, only the session's first requests wrote them, and they are looked for among the first lines.

use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;

use pellucid_engine::compaction;
use pellucid_engine::compaction::USER_TOKENS_MAX;
use pellucid_protocol::item::Item;
use pellucid_store::lines::Backwards;
use pellucid_store::read::LineReading;
use pellucid_store::read::RecordKind;
use pellucid_store::read::read_line;
use pellucid_store::read::split;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::is_figures;

/// How many bytes are searched. No model's window holds half of them.
const SEARCH_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How far behind a summary the last settings and figures are looked for.
const BEHIND_BYTES_MAX: u64 = 1024 * 1024;

/// How much of the first lines is looked at for them.
const FRONT_BYTES_MAX: u64 = 1024 * 1024;

/// Where reading starts, and what counts of the lines before it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Start {
    pub offset: u64,
    /// The payload of the last settings.
    pub turn: Option<Vec<u8>>,
    /// The payload of the last token figures.
    pub figures: Option<Vec<u8>>,
}

/// What the search has found so far.
#[derive(Debug, Default)]
struct Search {
    start: Start,
    is_found: bool,
    /// What people said before the last summary, in tokens; absent before that is seen.
    said: Option<usize>,
    /// Turns were removed, so messages of people may not count.
    has_rollback: bool,
}

impl Start {
    /// Searches the first bytes of a file from their end.
    pub fn find(mut file: impl Read + Seek, upto: u64, summary_prefix: &str) -> io::Result<Self> {
        let mut lines = Backwards::new(&mut file, upto);
        let mut search = Search::default();
        while let Some(line) = lines.next_line()? {
            let is_usual = search.line(line.bytes, line.start, summary_prefix);
            if !is_usual || upto - line.start > SEARCH_BYTES_MAX {
                return Ok(Self::default());
            }
            let start = &search.start;
            if search.is_found && start.turn.is_some() && start.figures.is_some() {
                return Ok(search.start);
            }
            if search.is_found && start.offset - line.start > BEHIND_BYTES_MAX {
                search.start.look_in_front(&mut file, line_limit(search.start.offset))?;
                return Ok(search.start);
            }
        }
        Ok(if search.is_found { search.start } else { Self::default() })
    }

    /// Takes settings and figures that were not found from the first lines of the file: the last ones there.
    fn look_in_front(&mut self, file: &mut (impl Read + Seek), limit: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(0))?;
        let mut front = Vec::new();
        file.take(limit).read_to_end(&mut front)?;
        let lines = || front.split(|byte| *byte == b'\n').rev().filter_map(split);
        let last = |is_meant: fn(RecordKind, &[u8]) -> bool| {
            lines().find(|(kind, payload)| is_meant(*kind, payload)).map(|(_, payload)| payload.to_vec())
        };
        self.turn = self.turn.take().or_else(|| last(|kind, _| kind == RecordKind::TurnContext));
        self.figures =
            self.figures.take().or_else(|| last(|kind, payload| kind == RecordKind::EventMsg && is_figures(payload)));
        Ok(())
    }
}

/// How much of a file is looked at before this offset.
fn line_limit(offset: u64) -> u64 {
    offset.min(FRONT_BYTES_MAX)
}

impl Search {
    /// Looks at a line. Gives whether it is written as usual, or is no line at all.
    fn line(&mut self, bytes: &[u8], offset: u64, summary_prefix: &str) -> bool {
        let Some((kind, payload)) = split(bytes) else {
            return read_line(bytes) == LineReading::SetAside;
        };
        match kind {
            RecordKind::TurnContext if self.start.turn.is_none() => self.start.turn = Some(payload.to_vec()),
            RecordKind::EventMsg if is_figures(payload) => {
                self.start.figures.get_or_insert_with(|| payload.to_vec());
            }
            RecordKind::EventMsg => self.has_rollback |= payload.starts_with(b"{\"type\":\"thread_rolled_back\""),
            RecordKind::Compacted if !self.is_found => self.summary(payload, offset),
            RecordKind::ResponseItem if !self.is_found => self.item(payload, summary_prefix),
            _ => {}
        }
        true
    }

    fn summary(&mut self, payload: &[u8], offset: u64) {
        #[derive(Deserialize)]
        struct Summary {
            #[serde(default)]
            replacement_history: Option<IgnoredAny>,
        }
        let Ok(summary) = serde_json::from_slice::<Summary>(payload) else {
            return;
        };
        let has_history = summary.replacement_history.is_some();
        let is_enough = self.said.is_some_and(|said| said >= USER_TOKENS_MAX) && !self.has_rollback;
        if has_history || is_enough {
            self.start.offset = offset;
            self.is_found = true;
        }
        self.said.get_or_insert(0);
    }

    fn item(&mut self, payload: &[u8], summary_prefix: &str) {
        let Some(said) = &mut self.said else {
            return;
        };
        if payload.starts_with(b"{\"type\":\"message\",\"role\":\"user\"")
            && let Ok(item) = serde_json::from_slice::<Item>(payload)
        {
            *said += compaction::kept_tokens(&item, summary_prefix);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    /// Lines: `U bytes` what a person says, `S` a summary, `H` one with a history, `T` settings,
    /// `N` figures, `R` a rollback, `X` something torn, `O` an odd order of keys.
    #[track_caller]
    fn check_start(lines: &str, expected: &Expect) {
        let mut text = String::new();
        let mut offsets = Vec::new();
        for line in lines.split(", ") {
            offsets.push(text.len() as u64);
            let (kind, payload) = match line.split_once(' ').unwrap_or((line, "0")) {
                ("U", n) => {
                    let said = "x".repeat(n.parse().unwrap());
                    ("response_item", serde_json::to_string(&Item::text("user", said)).unwrap())
                }
                ("S", _) => ("compacted", r#"{"message":"s"}"#.to_owned()),
                ("H", _) => ("compacted", r#"{"message":"s","replacement_history":[]}"#.to_owned()),
                ("T", _) => ("turn_context", "{}".to_owned()),
                ("N", _) => ("event_msg", r#"{"type":"token_count","info":{},"rate_limits":null}"#.to_owned()),
                ("R", _) => ("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#.to_owned()),
                ("X", _) => {
                    text += "{\"timestamp\":\"\n";
                    continue;
                }
                ("O", _) => {
                    text += "{\"type\":\"compacted\",\"payload\":{\"message\":\"\"},\"timestamp\":\"\"}\n";
                    continue;
                }
                other => panic!("{other:?}"),
            };
            text += &format!("{{\"timestamp\":\"t\",\"type\":\"{kind}\",\"payload\":{payload}}}\n");
        }
        let start = Start::find(Cursor::new(&text), text.len() as u64, "prefix").unwrap();
        let at = offsets.iter().position(|offset| *offset == start.offset).unwrap();
        expected.assert_eq(&format!("line {at}"));
    }

    #[test]
    fn a_summary_with_a_history_is_enough() {
        check_start("T, N, U 9, H, U 9, H, U 9, T, N", &expect!["line 5"]);
        check_start("T, N, U 9, H, U 9, S, U 9, T, N", &expect!["line 3"]);
        check_start("T, N, H, U 9, X", &expect!["line 2"]);
        check_start("T, U 9, U 9, N", &expect!["line 0"]);
    }

    #[test]
    fn a_summary_without_one_needs_what_people_said() {
        check_start("T, N, U 9, S, U 9, S, U 9, S", &expect!["line 0"]);
        check_start("T, N, U 9, S, U 40000, U 40000, S, U 9, S, U 9", &expect!["line 3"]);
        check_start("T, N, U 9, S, U 40000, U 40000, S, R, U 9, S, U 9", &expect!["line 0"]);
        check_start("T, N, U 9, S, U 80000, S", &expect!["line 3"]);
        check_start("T, N, U 9, S, U 79000, S", &expect!["line 0"]);
    }

    #[test]
    fn settings_that_are_far_away_are_found_among_the_first_lines() {
        let filler = "U 300000, U 300000, U 300000, U 300000";
        check_start(&format!("T, N, {filler}, {filler}, H, U 9"), &expect!["line 10"]);
        let line =
            |kind: &str, payload: &str| format!("{{\"timestamp\":\"t\",\"type\":\"{kind}\",\"payload\":{payload}}}\n");
        let said = serde_json::to_string(&Item::text("user", "x".repeat(900_000))).unwrap();
        let mut text = line("turn_context", "{\"x\":1}");
        text += &line("response_item", &said).repeat(2);
        text += &line("compacted", r#"{"message":"s","replacement_history":[]}"#);
        let start = Start::find(Cursor::new(&text), text.len() as u64, "prefix").unwrap();
        assert_eq!(start.turn.as_deref(), Some(&b"{\"x\":1}"[..]));
        assert_eq!(start.figures, None);
    }

    #[test]
    fn what_is_written_in_another_way_is_read_from_the_start() {
        check_start("T, N, H, O, U 9", &expect!["line 0"]);
    }
}
