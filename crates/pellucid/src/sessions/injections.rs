//! `sessions show --injections`: the files whose texts were put before inputs of a session, by its record.

use std::collections::BTreeMap;

use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::InjectionEntry;
use serde::Serialize;

use crate::style::counted;

/// How many digits of a hash people see.
const HASH_DIGITS: usize = 8;

/// A file that was put before an input, with the request that was the first to have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedInjection<'a> {
    /// The number of the request in its session, from 1; `null` if the turn ended before it sent one.
    pub request: Option<usize>,
    /// The id of the turn.
    pub turn_id: &'a str,
    /// When the line of the record was written.
    pub timestamp: &'a str,
    /// The file, and what became of it.
    #[serde(flatten)]
    pub entry: &'a InjectionEntry,
}

/// The injections of a record, in their order. `numbers` has the numbers of requests by the lines of the record.
pub fn recorded<'a>(requests: &'a Chain, numbers: &BTreeMap<u64, usize>) -> Vec<RecordedInjection<'a>> {
    let of_line = |link: &'a pellucid_store::requests::entry::ChainLink| {
        let (request, timestamp) = (numbers.get(&link.n).copied(), link.timestamp.as_str());
        let turn_id = link.entry.turn().unwrap_or_default();
        link.entry.injections().iter().map(move |entry| RecordedInjection { request, turn_id, timestamp, entry })
    };
    requests.links.iter().flat_map(of_line).collect()
}

/// The injections for people: a head for each input, and a line for each file.
pub fn text(injections: &[RecordedInjection<'_>]) -> String {
    if injections.is_empty() {
        return "no injection is recorded\n".to_owned();
    }
    let width = |of: fn(&InjectionEntry) -> usize| injections.iter().map(|it| of(it.entry)).max().unwrap_or_default();
    let (items, paths) = (width(|it| it.item_id.chars().count()), width(|it| it.path.chars().count()));
    let mut text = String::new();
    for input in injections.chunk_by(|a, b| (a.turn_id, a.entry.turn) == (b.turn_id, b.entry.turn)) {
        let request = input[0].request.map_or_else(|| "not sent".to_owned(), |number| format!("request {number}"));
        let entry = input[0].entry;
        text += &format!("turn {}, {request}, {}\n", entry.turn, entry.channel);
        for InjectionEntry { item_id, path, hash, bytes_after, outcome, reason, chosen_by, .. } in
            input.iter().map(|it| it.entry)
        {
            let hash = hash.get(..HASH_DIGITS).unwrap_or(hash);
            let bytes = counted(usize::try_from(*bytes_after).unwrap_or(usize::MAX), "byte");
            let outcome = if outcome == "injected" { String::new() } else { format!(", {outcome}") };
            let chosen = chosen_by.as_ref().map_or_else(String::new, |setting| format!(" (by {setting})"));
            text += &format!("  {item_id:items$}  {path:paths$}  {hash:8}  {bytes:>11}  {reason}{chosen}{outcome}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::Value;
    use serde_json::json;

    use super::*;

    fn entry(item_id: &str, hash: &str, outcome: &str, turn: u64) -> Value {
        json!({
            "item_id": item_id, "path": format!("/w/{item_id}.md"), "hash": hash, "bytes_before": 2, "bytes_after": 1,
            "outcome": outcome, "reason": "initial", "turn": turn, "channel": "exec",
        })
    }

    #[track_caller]
    fn check_text(entries: &[(Option<usize>, Value)], expected: &Expect) {
        let read =
            |it: &(Option<usize>, Value)| (it.0, serde_json::from_value::<InjectionEntry>(it.1.clone()).unwrap());
        let entries: Vec<_> = entries.iter().map(read).collect();
        let shown = |it: &(Option<usize>, InjectionEntry)| (it.0, it.1.turn.to_string());
        let turns: Vec<_> = entries.iter().map(shown).collect();
        let rows: Vec<_> = entries
            .iter()
            .zip(&turns)
            .map(|((request, entry), (_, turn))| RecordedInjection {
                request: *request,
                turn_id: turn,
                timestamp: "",
                entry,
            })
            .collect();
        expected.assert_eq(&text(&rows));
    }

    #[test]
    fn files_are_listed_below_the_input_that_they_were_put_before() {
        check_text(&[], &expect!["no injection is recorded\n"]);
        let mut phase = entry("phase", "0123456789", "injected", 3);
        (phase["chosen_by"], phase["reason"]) = (json!("workspace"), json!("phase-review"));
        check_text(
            &[
                (Some(1), entry("instructions", "0123456789", "injected", 0)),
                (Some(1), entry("rules", "missing", "missing", 0)),
                (None, phase),
            ],
            &expect![[r#"
                turn 0, request 1, exec
                  instructions  /w/instructions.md  01234567       1 byte  initial
                  rules         /w/rules.md         missing        1 byte  initial, missing
                turn 3, not sent, exec
                  phase         /w/phase.md         01234567       1 byte  phase-review (by workspace)
            "#]],
        );
    }
}
