//! The record of a tool call: when, on which grounds, who was asked, in which sandbox, how it ended.
//!
//! Most calls of a session have the same grounds and the same sandbox. A process writes each description once, with a
//! number, and names it by that number from then on.

use std::collections::BTreeMap;

use pellucid_protocol::call_record::CallAnswer;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::call_record::HeldSandbox;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::entry::ChainLink;
use super::entry::LogEntry;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallEntry {
    /// How many bytes the session file had by then.
    pub at: u64,
    /// The id of the call.
    pub call: String,
    /// The name of the tool; empty for a command that a person typed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The turn that made it.
    pub turn: String,
    /// The call whose tool made this one, if a tool did. The session file does not have such calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The time at which the call began.
    pub began_at: String,
    /// The time at which the call ended.
    pub ended_at: String,
    /// How the call ended: answered, refused, failed.
    pub outcome: CallOutcome,
    /// Why it was done, or not: the engine's `CallGrounds`.
    pub grounds: DescribedOnce<Value>,
    /// The questions for approval that it led to, answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<CallAnswer>,
    /// The processes that the call ran, one for each attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
}

/// An attempt to run something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The sandbox that confined the process.
    pub sandbox: DescribedOnce<HeldSandbox>,
    /// The exit code of the process, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the sandbox seems to have stopped the process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

/// A description, or the number of one that an earlier line of the same process has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedOnce<T> {
    /// The number that later lines name.
    pub id: u64,
    /// The description, where it is written first.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub is: Option<T>,
}

fn none<T>() -> Option<T> {
    None
}

/// The descriptions that a process has written.
#[derive(Debug)]
pub struct Descriptions<T> {
    written: Vec<T>,
}

impl<T> Default for Descriptions<T> {
    fn default() -> Self {
        Self { written: Vec::new() }
    }
}

impl<T: Clone + PartialEq> Descriptions<T> {
    /// How many are compared. A session with more writes the further ones each time.
    const MAX: usize = 256;

    /// A description as the next line has it.
    pub fn describe(&mut self, what: T) -> DescribedOnce<T> {
        if let Some(id) = self.written.iter().position(|written| *written == what) {
            return DescribedOnce { id: id as u64, is: None };
        }
        let id = self.written.len() as u64;
        if self.written.len() < Self::MAX {
            self.written.push(what.clone());
        }
        DescribedOnce { id, is: Some(what) }
    }
}

/// A call with its descriptions.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribedCall<'a> {
    /// The number of its line.
    pub line: u64,
    /// The call as its line has it.
    pub call: &'a CallEntry,
    /// The reasons for allowing or refusing the call; absent if the line that describes them is gone.
    pub grounds: Option<&'a Value>,
    /// The sandbox of each attempt; absent likewise.
    pub sandboxes: Vec<Option<&'a HeldSandbox>>,
}

/// The calls of a record, in order.
pub fn calls(links: &[ChainLink]) -> Vec<DescribedCall<'_>> {
    let (mut grounds, mut sandboxes) = (BTreeMap::new(), BTreeMap::new());
    let mut calls = Vec::new();
    for link in links {
        match &link.entry {
            // Another process counts from the beginning.
            LogEntry::Opened(_) => {
                grounds.clear();
                sandboxes.clear();
            }
            LogEntry::Call(call) => calls.push(DescribedCall {
                line: link.n,
                call,
                grounds: found(&mut grounds, &call.grounds),
                sandboxes: call.runs.iter().map(|run| found(&mut sandboxes, &run.sandbox)).collect(),
            }),
            _ => {}
        }
    }
    calls
}

fn found<'a, T>(known: &mut BTreeMap<u64, &'a T>, described: &'a DescribedOnce<T>) -> Option<&'a T> {
    if let Some(is) = &described.is {
        known.insert(described.id, is);
    }
    known.get(&described.id).copied()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_descriptions_are_written_once() {
        let mut descriptions = Descriptions::default();
        let written: Vec<DescribedOnce<Value>> =
            ["a", "b", "a"].map(|word| descriptions.describe(json!({ "decision": word }))).into();
        assert_eq!(
            serde_json::to_string(&written).unwrap(),
            r#"[{"id":0,"is":{"decision":"a"}},{"id":1,"is":{"decision":"b"}},{"id":0}]"#
        );
        assert_eq!(serde_json::from_str::<Vec<DescribedOnce<Value>>>(r#"[{"id":0,"later":1}]"#).unwrap()[0].is, None);
    }

    #[test]
    fn more_descriptions_than_are_compared_are_written_each_time() {
        let mut descriptions = Descriptions::default();
        for n in 0..2 * Descriptions::<usize>::MAX {
            assert_eq!(descriptions.describe(n).is, Some(n));
        }
        assert_eq!(descriptions.describe(0).is, None);
        let further = Descriptions::<usize>::MAX;
        assert_eq!(descriptions.describe(further).is, Some(further));
    }
}
