//! What a session file says between its items: the settings of turns, and summaries.
//!
//! One pass through the file finds both. A file that has grown is read from where the last pass ended, so a survey can be
//! kept as long as the file only grows.

use std::collections::BTreeSet;

use pellucid_store::lines::Line;
use pellucid_store::read::LineReading;
use pellucid_store::read::ReadError;
use pellucid_store::read::RecordKind;
use pellucid_store::read::SessionFile;
use pellucid_store::read::read_line;
use pellucid_store::read::split;
use pellucid_store::record::Record;
use serde::Deserialize;
use serde::Serialize;

use super::history;
use crate::compact::is_redo;
use crate::compact::is_undo;

/// What a session file says between its items.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSurvey {
    /// The offset behind the last whole line that was read.
    upto: u64,
    /// The turns whose settings the file has, each with the offset behind its line.
    turns: Vec<(u64, String)>,
    summaries: Vec<SummaryLine>,
    /// How many of both are on whole lines. A line without an end may still be written, and is read again.
    n_whole: (usize, usize),
}

/// A line that puts something in place of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SummaryLine {
    pub start: u64,
    pub end: u64,
    pub what: SummaryWhat,
}

/// What a line puts in place of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SummaryWhat {
    /// A summary of what was said.
    Summary,
    /// The history before the last summary.
    Undo,
    /// The history after a summary that was undone.
    Redo,
}

impl FileSurvey {
    /// Goes through a session file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(file: &SessionFile) -> Result<Self, ReadError> {
        let mut survey = Self::default();
        survey.extend(file)?;
        Ok(survey)
    }

    /// Goes through what was added to the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn extend(&mut self, file: &SessionFile) -> Result<(), ReadError> {
        self.extend_with(file, &mut |_| {})
    }

    /// The same; `each` gets every line that is read.
    pub(super) fn extend_with(&mut self, file: &SessionFile, each: &mut dyn FnMut(&Line<'_>)) -> Result<(), ReadError> {
        self.turns.truncate(self.n_whole.0);
        self.summaries.truncate(self.n_whole.1);
        let mut lines = history::forwards(file, self.upto)?;
        while let Some(line) = lines.next_line().map_err(|error| ReadError::io(&file.path, error))? {
            each(&line);
            let is_wanted = match split(line.bytes) {
                Some((kind, _)) => matches!(kind, RecordKind::TurnContext | RecordKind::Compacted),
                None => true,
            };
            if is_wanted && let LineReading::Record(record) = read_line(line.bytes) {
                match record {
                    Record::TurnContext(turn) => self.turns.push((line.end, turn.turn_id.unwrap_or_default())),
                    Record::Compacted(compacted) => {
                        let what = if is_undo(&compacted) {
                            SummaryWhat::Undo
                        } else if is_redo(&compacted) {
                            SummaryWhat::Redo
                        } else {
                            SummaryWhat::Summary
                        };
                        self.summaries.push(SummaryLine { start: line.start, end: line.end, what });
                    }
                    Record::SessionMeta(_) | Record::ResponseItem(_) | Record::EventMsg(_) => {}
                }
            }
            if line.is_whole {
                self.upto = line.end;
                self.n_whole = (self.turns.len(), self.summaries.len());
            }
        }
        Ok(())
    }

    /// The offset behind the last whole line that was read.
    pub fn upto(&self) -> u64 {
        self.upto
    }

    /// Whether the file speaks of a turn that is known neither by its place nor by its id.
    pub(super) fn has_other(&self, places: &BTreeSet<u64>, turns: &BTreeSet<&str>) -> bool {
        self.turns.iter().any(|(end, turn)| !places.contains(end) && !turns.contains(turn.as_str()))
    }

    /// The lines that put something in place of the history, from an offset on.
    pub(super) fn summaries(&self, from: u64) -> impl Iterator<Item = &SummaryLine> {
        self.summaries.iter().filter(move |line| line.start >= from)
    }
}

#[cfg(test)]
mod tests {
    use pellucid_store::read;
    use pellucid_testkit::Workspace;

    use super::*;

    const META: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"i","timestamp":"t","cwd":"/p","originator":"o","cli_version":"1"}}"#;

    fn turn(id: &str) -> String {
        format!(
            r#"{{"timestamp":"t","type":"turn_context","payload":{{"turn_id":"{id}","cwd":"/p","approval_policy":"never","sandbox_policy":{{"type":"read-only"}},"model":"m","summary":"auto"}}}}"#
        )
    }

    const SUMMARY: &str = r#"{"timestamp":"t","type":"compacted","payload":{"message":"a summary"}}"#;

    #[test]
    fn a_survey_that_is_extended_is_the_survey_of_the_whole() {
        let files = Workspace::empty();
        let item =
            r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[]}}"#;
        // Keys in another order are read too.
        let odd = turn("three").replacen("\"timestamp\":\"t\",", "", 1);
        let text = [META, &turn("one"), item, SUMMARY, &turn("two"), item, &odd, SUMMARY, "torn"].join("\n");
        let path = files.write("session.jsonl", format!("{META}\n"));
        let file = read::open(&path).unwrap();
        let mut grown = FileSurvey::default();
        for n in 0..=text.len() {
            files.write("session.jsonl", &text.as_bytes()[..n]);
            grown.extend(&file).unwrap();
            assert_eq!(grown, FileSurvey::read(&file).unwrap(), "{n}");
        }
        assert_eq!((grown.turns.len(), grown.summaries.len()), (3, 2));
        assert_eq!(grown.upto(), (text.len() - "torn".len()) as u64);
        let turns = ["one", "two", "three"].into();
        assert!(!grown.has_other(&BTreeSet::new(), &turns));
        assert!(grown.has_other(&BTreeSet::new(), &["one"].into()));
        let places = grown.turns.iter().map(|(end, _)| *end).collect();
        assert!(!grown.has_other(&places, &BTreeSet::new()));
        let second = grown.summaries[1].start;
        assert_eq!(grown.summaries(second).count(), 1);
    }
}
