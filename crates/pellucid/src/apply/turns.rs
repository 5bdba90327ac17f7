//! The patches of a session file, by turn.
//!
//! A patch counts if its output says that it was applied. It may have come through the tool for patches or
//! through a command that is nothing but a patch.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pellucid_agent::patches::Applied;
use pellucid_agent::patches::patch_of;
use pellucid_patch::parse;
use pellucid_patch::parse::Hunk;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_store::read::RecordedSession;
use pellucid_store::record::Record;
use serde_json::Value;

use super::Places;

/// The patches of each turn that applied any, in order.
pub fn applied(loaded: &RecordedSession) -> Vec<Vec<Applied>> {
    let mut patches = all(loaded).into_iter().peekable();
    let mut turns = vec![Vec::new()];
    for (at, record) in loaded.records.iter().enumerate() {
        if let Record::EventMsg(EventMessage::TaskStarted { .. }) = record {
            turns.push(Vec::new());
        }
        while let (Some((_, patch)), Some(turn)) = (patches.next_if(|(of, _)| *of == at), turns.last_mut()) {
            turn.push(patch);
        }
    }
    turns.retain(|turn| !turn.is_empty());
    turns
}

/// Every patch that was applied, with the place of its call among the records.
pub fn all(loaded: &RecordedSession) -> Vec<(usize, Applied)> {
    let done: BTreeSet<&str> = loaded.records.iter().filter_map(done_call).collect();
    let mut cwd = PathBuf::from(&loaded.meta.cwd);
    let mut patches = Vec::new();
    for (at, record) in loaded.records.iter().enumerate() {
        match record {
            Record::TurnContext(context) => cwd = PathBuf::from(&context.cwd),
            Record::ResponseItem(item) => {
                let patch = patch_of(item, &cwd).filter(|patch| done.contains(patch.call.as_str()));
                patches.extend(patch.map(|patch| (at, patch)));
            }
            _ => {}
        }
    }
    patches
}

/// Every path that patches touch, here. Absent if one is outside, or a text is no patch.
pub(super) fn paths<'a>(patches: impl IntoIterator<Item = &'a Applied>, places: &Places) -> Option<BTreeSet<PathBuf>> {
    let mut paths = BTreeSet::new();
    for patch in patches {
        for hunk in &parse(&patch.text).ok()?.hunks {
            let (path, target) = written(hunk);
            for path in [Some(path), target].into_iter().flatten() {
                paths.insert(places.here(&patch.cwd, path)?);
            }
        }
    }
    Some(paths)
}

/// The paths of a hunk: the file, and its new name.
pub fn written<'a>(hunk: &Hunk<'a>) -> (&'a str, Option<&'a str>) {
    match hunk {
        Hunk::Add { path, .. } | Hunk::Delete { path } => (path, None),
        Hunk::Update { path, move_to, .. } => (path, *move_to),
    }
}

/// The call that an output says was done.
fn done_call(record: &Record) -> Option<&str> {
    let (call_id, output) = match record {
        Record::ResponseItem(Item::CustomToolCallOutput { call_id, output }) => (call_id, output),
        Record::ResponseItem(Item::FunctionCallOutput { call_id, output: ToolOutput::Text(output) }) => {
            (call_id, output)
        }
        _ => return None,
    };
    let answer: Value = serde_json::from_str(output).ok()?;
    (answer["metadata"]["exit_code"] == 0).then_some(call_id)
}

#[cfg(test)]
mod tests {
    use pellucid_store::read;
    use serde_json::json;

    use super::*;

    /// A session file of these lines: `turn`, a patch that was applied, `!` and one that failed, `in:` and a
    /// folder that is worked in from there on, `$` and the body of a patch that a command applied in `sub`.
    fn session(lines: &[&str]) -> Vec<String> {
        let mut text = String::new();
        let mut line = |kind: &str, payload: Value| {
            text += &json!({"timestamp": "t", "type": kind, "payload": payload}).to_string();
            text.push('\n');
        };
        line("session_meta", json!({"id": "a", "timestamp": "t", "cwd": "/w", "originator": "o", "cli_version": "v"}));
        for (n, word) in lines.iter().enumerate() {
            let id = format!("c{n}");
            let status = i32::from(word.starts_with('!'));
            let output = json!({"output": "", "metadata": {"exit_code": status}}).to_string();
            if *word == "turn" {
                line(
                    "event_msg",
                    json!({"type": "task_started", "turn_id": "t", "model_context_window": null, "collaboration_mode_kind": "default"}),
                );
            } else if let Some(folder) = word.strip_prefix("in:") {
                line(
                    "turn_context",
                    json!({"cwd": folder, "approval_policy": "never", "sandbox_policy": {"type": "danger-full-access"}, "model": "m", "summary": "auto"}),
                );
            } else if let Some(body) = word.strip_prefix('$') {
                let script = format!("cd sub && apply_patch <<'EOF'\n{body}\nEOF\n");
                let arguments = json!({"command": script, "workdir": "in"}).to_string();
                line(
                    "response_item",
                    json!({"type": "function_call", "name": "shell_command", "arguments": arguments, "call_id": id}),
                );
                line("response_item", json!({"type": "function_call_output", "call_id": id, "output": output}));
            } else {
                line(
                    "response_item",
                    json!({"type": "custom_tool_call", "call_id": id, "name": "apply_patch", "input": word}),
                );
                line("response_item", json!({"type": "custom_tool_call_output", "call_id": id, "output": output}));
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, text).unwrap();
        let loaded = read::read(&path).unwrap();
        assert!(loaded.set_aside.is_empty(), "{:?}", loaded.set_aside);
        let shown = |patch: &Applied| format!("{} {}", patch.cwd.display(), patch.text.replace('\n', "|"));
        applied(&loaded).iter().map(|turn| turn.iter().map(shown).collect::<Vec<_>>().join(", ")).collect()
    }

    #[test]
    fn turns_that_applied_something_count() {
        assert_eq!(session(&["turn", "a", "turn", "b", "!c", "in:/v", "d", "turn", "!e"]), ["/w a", "/w b, /v d"]);
        assert_eq!(session(&["turn", "!a"]), Vec::<String>::new());
    }

    #[test]
    fn patches_that_came_through_a_command_count() {
        assert_eq!(session(&["turn", "$*** Begin Patch"]), ["/w/in/sub *** Begin Patch"]);
    }
}
