//! The turns of a session file, and what their calls did besides patches.

use std::ops::Range;

use pellucid_agent::calls::RecordedCall;
use pellucid_agent::compact;
use pellucid_engine::boundary;
use pellucid_protocol::call_record::CallOutcome;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use pellucid_store::read::RecordedSession;
use pellucid_store::record::Record;
use serde::Serialize;
use serde_json::Value;

/// Tools that change nothing outside of the session.
const HARMLESS: [&str; 12] = [
    "apply_patch",
    "find_tools",
    "grep_files",
    "list_dir",
    "list_mcp_resource_templates",
    "list_mcp_resources",
    "read_file",
    "read_mcp_resource",
    "request_user_input",
    "update_plan",
    "view_image",
    "wait",
];

/// How many characters of a command are shown.
const COMMAND_CHARS: usize = 120;

/// A turn of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTurn {
    /// The number of the turn, from one; turns that were removed from the conversation keep theirs.
    pub number: usize,
    /// The turn's id; a number for a file without ids.
    pub id: String,
    /// How many messages of the person it has in the history.
    pub n_messages: usize,
    /// Whether the turn was removed from the conversation.
    pub is_gone: bool,
    /// Whether a later summary took its place, so that it cannot be removed any more.
    pub is_summarised: bool,
    /// The places of its records.
    pub records: Range<usize>,
}

/// The turns of a session in which a person said something.
pub fn turns(loaded: &RecordedSession) -> Vec<PastTurn> {
    let mut turns: Vec<PastTurn> = Vec::new();
    let mut opened: Option<(usize, String)> = None;
    let mut is_open = false;
    let mut removed: Vec<usize> = Vec::new();
    // The turns that each summary took the place of.
    let mut summarised: Vec<Vec<usize>> = Vec::new();
    for (at, record) in loaded.records.iter().enumerate() {
        match record {
            Record::EventMsg(EventMessage::TaskStarted { turn_id, .. }) => {
                opened = Some((at, turn_id.to_string()));
                is_open = false;
            }
            Record::ResponseItem(item) if boundary::begins_user_turn(item) => {
                if !is_open || opened.is_some() {
                    let number = turns.len() + 1;
                    let (start, id) = opened.take().unwrap_or_else(|| (at, format!("#{number}")));
                    let (is_gone, is_summarised) = (false, false);
                    turns.push(PastTurn { number, id, n_messages: 0, is_gone, is_summarised, records: start..at });
                    is_open = true;
                }
                if let Some(turn) = turns.last_mut() {
                    turn.n_messages += 1;
                }
            }
            Record::EventMsg(EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. }) => is_open = false,
            Record::EventMsg(EventMessage::ThreadRolledBack { num_turns }) => removed = remove(&mut turns, *num_turns),
            Record::Compacted(line) if compact::is_redo(line) => {
                removed.drain(..).for_each(|at| turns[at].is_gone = false);
            }
            Record::Compacted(line) if compact::is_undo(line) => {
                let back = summarised.pop().unwrap_or_default();
                back.into_iter().for_each(|at: usize| turns[at].is_summarised = false);
            }
            Record::Compacted(_) => {
                let new = turns.iter_mut().enumerate().filter(|(_, turn)| !turn.is_summarised);
                summarised.push(
                    new.map(|(at, turn)| {
                        turn.is_summarised = true;
                        at
                    })
                    .collect(),
                );
            }
            _ => {}
        }
        if let Some(turn) = turns.last_mut().filter(|_| opened.is_none()) {
            turn.records.end = at + 1;
        }
    }
    turns
}

/// Marks the turns of the last messages as removed. Gives their places.
fn remove(turns: &mut [PastTurn], n_messages: usize) -> Vec<usize> {
    let mut left = n_messages;
    let mut removed = Vec::new();
    for (at, turn) in turns.iter_mut().enumerate().rev().filter(|(_, turn)| !turn.is_gone) {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(turn.n_messages);
        turn.is_gone = true;
        removed.push(at);
    }
    removed
}

/// A call whose effects stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastingEffect {
    /// The number of the turn.
    pub turn: usize,
    /// The tool that was called.
    pub tool: String,
    /// The command, or the arguments.
    pub what: String,
}

/// The calls of these turns that may have changed something and cannot be undone. Commands that are known to only read are
/// left out, as far as the record says so.
pub fn lasting_effects(loaded: &RecordedSession, turns: &[&PastTurn], calls: &[RecordedCall]) -> Vec<LastingEffect> {
    let mut effects = Vec::new();
    for turn in turns {
        for record in loaded.records.get(turn.records.clone()).unwrap_or_default() {
            let Record::ResponseItem(item) = record else { continue };
            let Some((id, tool, what)) = called(item) else { continue };
            let known = calls.iter().find(|call| call.call == id && call.turn == turn.id);
            if !HARMLESS.contains(&tool) && !known.is_some_and(only_reads) && !is_patch(item) {
                effects.push(LastingEffect { turn: turn.number, tool: tool.to_owned(), what });
            }
        }
    }
    effects
}

/// Whether a command does nothing but apply a patch, which is undone as a patch.
fn is_patch(item: &Item) -> bool {
    pellucid_agent::patches::is_patch_call(item)
}

/// The id, the tool and the text of a call.
fn called(item: &Item) -> Option<(&str, &str, String)> {
    match item {
        Item::FunctionCall { name, call_id, arguments, .. } => {
            let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
            let command = match &parsed["command"] {
                Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
                Value::String(command) => Some(command.clone()),
                _ => parsed["cmd"].as_str().map(str::to_owned),
            };
            Some((call_id, name, shown(&command.unwrap_or_else(|| arguments.clone()))))
        }
        Item::CustomToolCall { name, call_id, input, .. } => Some((call_id, name, shown(input))),
        Item::LocalShellCall { call_id: Some(id), action: LocalShellAction::Exec { command, .. }, .. } => {
            Some((id, "local_shell", shown(&command.join(" "))))
        }
        _ => None,
    }
}

/// A text in one line of bounded length.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= COMMAND_CHARS {
        return line;
    }
    format!("{}…", line.chars().take(COMMAND_CHARS).collect::<String>())
}

/// Whether the record says that every part of a command is known to only read, or that it was refused.
fn only_reads(call: &RecordedCall) -> bool {
    let grounds = call.grounds.as_ref();
    let parts = grounds.and_then(|it| it["parts"].as_array()).filter(|parts| !parts.is_empty());
    parts.is_some_and(|parts| parts.iter().all(|part| part["heuristic"] == "known_safe"))
        || call.outcome == CallOutcome::Refused
}

#[cfg(test)]
mod tests {
    use pellucid_store::read;
    use serde_json::json;

    use super::*;

    /// The turns of a session file with these lines, in short.
    #[track_caller]
    fn check_turns(words: &str, expected: &str) {
        let mut text = json!({"timestamp": "t", "type": "session_meta", "payload": {"id": "a", "timestamp": "t", "cwd": "/w", "originator": "o", "cli_version": "v"}}).to_string();
        for (n, word) in words.split_whitespace().enumerate() {
            let (kind, payload) = match word {
                "start" => (
                    "event_msg",
                    json!({"type": "task_started", "turn_id": format!("t{n}"), "model_context_window": null, "collaboration_mode_kind": "default"}),
                ),
                "end" => ("event_msg", json!({"type": "task_complete", "turn_id": "t", "last_agent_message": null})),
                "said" => (
                    "response_item",
                    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
                ),
                "gone" => ("event_msg", json!({"type": "thread_rolled_back", "num_turns": 1})),
                word => ("compacted", json!({"message": word.replace('_', " "), "replacement_history": []})),
            };
            text += &format!("\n{}", json!({"timestamp": "t", "type": kind, "payload": payload}));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, text + "\n").unwrap();
        let loaded = read::read(&path).unwrap();
        assert!(loaded.set_aside.is_empty(), "{:?}", loaded.set_aside);
        let shown = |turn: &PastTurn| {
            let gone = if turn.is_gone { " gone" } else { "" };
            let summarised = if turn.is_summarised { " summarised" } else { "" };
            format!("{}:{}x{}{gone}{summarised}", turn.number, turn.id, turn.n_messages)
        };
        assert_eq!(turns(&loaded).iter().map(shown).collect::<Vec<_>>().join(", "), expected);
    }

    #[test]
    fn turns_are_counted_by_what_a_person_said() {
        check_turns("start said end start said end", "1:t0x1, 2:t3x1");
        check_turns("start said said end", "1:t0x2");
        check_turns("start end start said end", "1:t2x1");
        check_turns("said end said end", "1:#1x1, 2:#2x1");
    }

    #[test]
    fn removed_turns_keep_their_numbers_until_they_are_back() {
        check_turns("start said end start said end gone", "1:t0x1, 2:t3x1 gone");
        check_turns("start said end start said end gone gone", "1:t0x1 gone, 2:t3x1 gone");
        check_turns(
            "start said end gone pellucid:_the_turns_that_were_removed_last_are_back start said end",
            "1:t0x1, 2:t5x1",
        );
        check_turns("start said end summary start said end", "1:t0x1 summarised, 2:t4x1");
        let undone = "pellucid:_the_last_compaction_was_undone";
        check_turns(&format!("start said end summary {undone} start said end"), "1:t0x1, 2:t5x1");
        check_turns(&format!("start said end summary start said end summary {undone}"), "1:t0x1 summarised, 2:t4x1");
    }
}
