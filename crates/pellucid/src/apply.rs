//! `apply`: what a session's last patches changed, once more in this folder.
//!
//! A session file holds the patches that the model applied, not the files before and after. They are
//! found by their own context, so they fit a tree that has moved on, and need no git.

use std::collections::BTreeSet;
use std::env;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_patch::Writable;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_store::find;
use pellucid_store::find::Wanted;
use pellucid_store::read;
use pellucid_store::record::Record;
use serde_json::Value;

use crate::args::ApplyArgs;
use crate::sessions;
use crate::start::Failure;

pub fn run(args: &ApplyArgs) -> Result<ExitCode, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("Error: {error}"));
    let cwd = env::current_dir().map_err(|error| failed(&format!("there is no working directory: {error}")))?;
    let path = session_file(args, &cwd)?;
    let loaded = read::read(&path).map_err(|error| failed(&error))?;
    let patches = last_patches(&loaded.records);
    if patches.is_empty() {
        return Err(failed(&format!("the session {} has applied no patch", loaded.meta.id)));
    }
    let mut out = std::io::stdout().lock();
    for (n, patch) in patches.iter().enumerate() {
        match pellucid_patch::run(patch, &cwd, &Writable::folder(&cwd)) {
            // The files are written; a reader who left changes nothing about that.
            Ok(summary) => _ = out.write_all(summary.to_string().as_bytes()),
            Err(failure) => {
                let text = failure.to_string();
                let text = text.trim_end();
                return Err(failed(&format!("patch {} of {} does not fit here: {text}", n + 1, patches.len())));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn session_file(args: &ApplyArgs, cwd: &Path) -> Result<PathBuf, Failure> {
    let home = sessions::home()?;
    match &args.session {
        Some(session) => sessions::file(&home, session),
        None => find::newest(&home, Wanted { cwd: Some(cwd), provider: None }).ok_or_else(|| {
            Failure::new("Error: no session has worked in this folder; name one (`pellucid sessions list` shows them)")
        }),
    }
}

/// The patches of the last turn that applied any, in order. Patches that failed do not count.
fn last_patches(records: &[Record]) -> Vec<String> {
    let applied: BTreeSet<&str> = records.iter().filter_map(applied_call).collect();
    let (mut last, mut turn) = (Vec::new(), Vec::new());
    for record in records {
        match record {
            Record::EventMsg(EventMessage::TaskStarted { .. }) if !turn.is_empty() => last = std::mem::take(&mut turn),
            Record::ResponseItem(item) => turn.extend(patch(item, &applied)),
            _ => {}
        }
    }
    if turn.is_empty() { last } else { turn }
}

/// The call that an output says was done.
fn applied_call(record: &Record) -> Option<&str> {
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

/// The patch of a call that was done.
fn patch(item: &Item, applied: &BTreeSet<&str>) -> Option<String> {
    match item {
        Item::CustomToolCall { name, call_id, input, .. }
            if name == "apply_patch" && applied.contains(call_id.as_str()) =>
        {
            Some(input.clone())
        }
        Item::FunctionCall { name, call_id, arguments, .. }
            if name == "apply_patch" && applied.contains(call_id.as_str()) =>
        {
            let arguments: Value = serde_json::from_str(arguments).ok()?;
            Some(arguments["input"].as_str()?.to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The patches that are found, where a word is a patch that was applied and `!word` one that failed.
    #[track_caller]
    fn check_last(turns: &[&str], expected: &str) {
        let mut text = String::new();
        let mut line = |kind: &str, payload: Value| {
            text += &serde_json::json!({"timestamp": "t", "type": kind, "payload": payload}).to_string();
            text.push('\n');
        };
        for turn in turns {
            line(
                "event_msg",
                serde_json::json!({"type": "task_started", "turn_id": "t", "model_context_window": null, "collaboration_mode_kind": "default"}),
            );
            for word in turn.split_whitespace() {
                let exit_code = i32::from(word.starts_with('!'));
                let output = serde_json::json!({"output": "", "metadata": {"exit_code": exit_code}}).to_string();
                line(
                    "response_item",
                    serde_json::json!({"type": "custom_tool_call", "call_id": word, "name": "apply_patch", "input": word}),
                );
                line(
                    "response_item",
                    serde_json::json!({"type": "custom_tool_call_output", "call_id": word, "output": output}),
                );
            }
        }
        let (records, set_aside) = read::parse(text.as_bytes());
        assert!(set_aside.is_empty(), "{set_aside:?}");
        assert_eq!(last_patches(&records).join(" "), expected);
    }

    #[test]
    fn the_last_turn_that_changed_something_counts() {
        check_last(&["a", "b c", ""], "b c");
        check_last(&["a !b", "!c"], "a");
        check_last(&["", "!a"], "");
    }
}
