//! Undoes a compaction, and restores turns that were removed.
//!
//! A session file is only appended to. To undo a compaction, Pellucid appends the history as it would be without the
//! compaction, in a line that replaces everything before it: every program that reads such files continues from there.
//! The line is marked as an undoing, so that the next undo reaches further back.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use pellucid_protocol::event::EventMessage;
use pellucid_store::record::Compacted;
use pellucid_store::record::Record;

/// What the line of an undoing says where that of a compaction has the summary.
pub(crate) const UNDONE: &str = "pellucid: the last compaction was undone";

/// What the line of a redo says where that of a compaction has the summary.
pub(crate) const REDONE: &str = "pellucid: the turns that were removed last are back";

/// The lines without the last removal of turns. Absent if there is none, if a turn followed it, or if the turns are back
/// already.
pub(crate) fn without_last_roll_back(records: &[Record]) -> Option<Vec<Record>> {
    let is_removal = |record: &Record| matches!(record, Record::EventMsg(EventMessage::ThreadRolledBack { .. }));
    let at = records.iter().rposition(is_removal)?;
    let (before, after) = (&records[..at], &records[at + 1..]);
    let is_newer =
        |record: &Record| matches!(record, Record::EventMsg(EventMessage::UserMessage { .. }) | Record::Compacted(_));
    (!after.iter().any(is_newer)).then(|| before.iter().chain(after).cloned().collect())
}

/// Which line has the last compaction that was not undone. Absent if there is none.
pub(crate) fn last_compaction(records: &[Record]) -> Option<usize> {
    standing_compactions(records).0.pop()
}

/// The lines without the last compaction that was not undone yet, and without a turn that did
/// nothing else. Absent if there is none.
pub(crate) fn without_last_compaction(records: &[Record]) -> Option<Vec<Record>> {
    let (mut compactions, mut gone) = standing_compactions(records);
    gone.extend(extent(records, compactions.pop()?));
    let left = records.iter().enumerate().filter(|(n, _)| !gone.contains(n));
    Some(left.map(|(_, record)| record.clone()).collect())
}

/// The lines of compactions that count, and the lines that do not count because a compaction was undone.
fn standing_compactions(records: &[Record]) -> (Vec<usize>, BTreeSet<usize>) {
    let mut compactions = Vec::new();
    let mut gone = BTreeSet::new();
    for (n, record) in records.iter().enumerate() {
        match record {
            Record::Compacted(Compacted { message, .. }) if message == UNDONE => {
                gone.insert(n);
                gone.extend(compactions.pop().into_iter().flat_map(|at| extent(records, at)));
            }
            // The line holds the whole history, so undoing what is before it would change nothing.
            Record::Compacted(Compacted { message, .. }) if message == REDONE => compactions.clear(),
            Record::Compacted(_) => compactions.push(n),
            _ => {}
        }
    }
    (compactions, gone)
}

/// What a compaction wrote: its line, or the whole turn if a person said nothing in it.
fn extent(records: &[Record], at: usize) -> RangeInclusive<usize> {
    let event = |record: &Record| match record {
        Record::EventMsg(EventMessage::TaskStarted { .. }) => Some(Edge::Start),
        Record::EventMsg(EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. }) => Some(Edge::End),
        _ => None,
    };
    let start = records[..at].iter().rposition(|record| event(record).is_some());
    let start = start.filter(|n| event(&records[*n]) == Some(Edge::Start));
    let end = records[at..].iter().position(|record| event(record).is_some()).map(|n| at + n);
    let end = end.filter(|n| event(&records[*n]) == Some(Edge::End));
    let is_said = |record: &Record| matches!(record, Record::EventMsg(EventMessage::UserMessage { .. }));
    match (start, end) {
        (Some(start), Some(end)) if !records[start..=end].iter().any(is_said) => start..=end,
        _ => at..=at,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Edge {
    Start,
    End,
}

#[cfg(test)]
mod tests {
    use pellucid_store::read;

    use super::*;

    /// What is left, a word for each line.
    #[track_caller]
    fn check_left(lines: &str, expected: Option<&str>) {
        let records: Vec<Record> = lines.split_whitespace().map(record).collect();
        let shown = |record: &Record| match record {
            Record::Compacted(compacted) => compacted.message.clone(),
            Record::ResponseItem(item) => {
                serde_json::to_value(item).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
            }
            Record::EventMsg(EventMessage::TaskStarted { .. }) => "start".to_owned(),
            Record::EventMsg(EventMessage::TaskComplete { .. }) => "end".to_owned(),
            _ => "said".to_owned(),
        };
        let left = without_last_compaction(&records).map(|left| left.iter().map(shown).collect::<Vec<_>>().join(" "));
        assert_eq!(left.as_deref(), expected);
    }

    /// The line that a word means.
    fn record(word: &str) -> Record {
        let (kind, payload) = match word {
                    "start" => ("event_msg", r#"{"type":"task_started","turn_id":"t","model_context_window":null,"collaboration_mode_kind":"default"}"#.to_owned()),
                    "end" => ("event_msg", r#"{"type":"task_complete","turn_id":"t","last_agent_message":null}"#.to_owned()),
                    "said" => ("event_msg", r#"{"type":"user_message","message":"m"}"#.to_owned()),
                    "gone" => ("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#.to_owned()),
                    "redo" => ("compacted", format!(r#"{{"message":"{REDONE}","replacement_history":[]}}"#)),
                    "undo" => ("compacted", format!(r#"{{"message":"{UNDONE}","replacement_history":[]}}"#)),
                    word if word.starts_with('C') => ("compacted", format!(r#"{{"message":"{word}"}}"#)),
                    word => ("response_item", format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{word}"}}]}}"#)),
        };
        let line = format!("{{\"timestamp\":\"t\",\"type\":\"{kind}\",\"payload\":{payload}}}\n");
        let (mut records, set_aside) = read::parse(line.as_bytes());
        assert!(set_aside.is_empty(), "{set_aside:?}");
        records.remove(0)
    }

    #[test]
    fn the_last_compaction_goes_and_what_came_after_stays() {
        check_left("a b", None);
        check_left("a C1 b", Some("a b"));
        check_left("a C1 b C2 c", Some("a C1 b c"));
    }

    #[test]
    fn a_turn_that_only_compacts_goes_as_a_whole() {
        check_left("start said a end start context C1 end", Some("start said a end"));
        check_left("start update C1 said a end", Some("start update said a end"));
        check_left("start said a C1 b", Some("start said a b"));
    }

    #[test]
    fn a_compaction_before_a_redo_stays() {
        check_left("a C1 b redo c", None);
        check_left("a C1 b redo c C2 d", Some("a C1 b pellucid: the turns that were removed last are back c d"));
    }

    #[test]
    fn only_the_last_removal_of_turns_goes() {
        let is_back = |words: &str| {
            let records: Vec<Record> = words.split_whitespace().map(record).collect();
            without_last_roll_back(&records).map(|left| left.len())
        };
        assert_eq!(is_back("said a"), None);
        assert_eq!(is_back("said a gone"), Some(2));
        assert_eq!(is_back("said a gone said b gone"), Some(5));
        assert_eq!(is_back("said a gone said b"), None);
        assert_eq!(is_back("said a gone redo"), None);
    }

    #[test]
    fn the_last_compaction_is_the_last_that_is_not_undone() {
        let last = |words: &str| {
            let records: Vec<Record> = words.split_whitespace().map(record).collect();
            last_compaction(&records)
        };
        assert_eq!((last("a b"), last("a C1 b C2 c"), last("a C1 b C2 undo c")), (None, Some(3), Some(1)));
        assert_eq!((last("a C1 undo"), last("a C1 redo")), (None, None));
    }

    #[test]
    fn the_next_undoing_reaches_further_back() {
        check_left("a C1 undo", None);
        check_left("a C1 b C2 undo c", Some("a b c"));
        check_left("a C1 undo b C2 c", Some("a b c"));
    }
}
