//! The patches of a session file, by turn.
//!
//! A patch counts if its output says that it was applied. It may have come through the tool for patches or
//! through a command that is nothing but a patch.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use pellucid_exec::script;
use pellucid_exec::script::PatchIn;
use pellucid_patch::is_patch_text;
use pellucid_patch::normal;
use pellucid_patch::parse;
use pellucid_patch::parse::Hunk;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use pellucid_protocol::item::ToolOutput;
use pellucid_store::read::RecordedSession;
use pellucid_store::record::Record;
use serde_json::Value;

use super::Places;

const TOOL: &str = "apply_patch";

/// A patch that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The call that applied the patch.
    pub call: String,
    /// The folder that relative paths of the patch start at.
    pub cwd: PathBuf,
    pub text: String,
}

impl Applied {
    /// The absolute paths that the patch names.
    pub fn paths(&self) -> Vec<PathBuf> {
        let Ok(patch) = parse(&self.text) else { return Vec::new() };
        let named = patch.hunks.iter().flat_map(|hunk| match hunk {
            Hunk::Add { path, .. } | Hunk::Delete { path } => vec![*path],
            Hunk::Update { path, move_to, .. } => std::iter::once(*path).chain(*move_to).collect(),
        });
        named.map(|path| normal(&self.cwd.join(path))).collect()
    }
}

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
                let patch = call(item).filter(|call| done.contains(call.id)).and_then(|call| call.patch(&cwd));
                patches.extend(patch.map(|patch| (at, patch)));
            }
            _ => {}
        }
    }
    patches
}

/// Whether a call does nothing but apply a patch.
pub fn is_patch_call(item: &Item) -> bool {
    call(item).is_some_and(|call| call.patch(Path::new("/")).is_some())
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

/// A call that may have applied a patch.
struct Call<'a> {
    id: &'a str,
    what: What,
}

enum What {
    Patch(String),
    Command { argv: Vec<String>, workdir: Option<String> },
}

fn call(item: &Item) -> Option<Call<'_>> {
    let (id, what) = match item {
        Item::CustomToolCall { name, call_id, input, .. } if name == TOOL => (call_id, What::Patch(input.clone())),
        Item::FunctionCall { name, call_id, arguments, .. } => {
            let arguments: Value = serde_json::from_str(arguments).ok()?;
            let text = |name: &str| arguments[name].as_str().map(str::to_owned);
            let what = if name == TOOL {
                What::Patch(text("input")?)
            } else {
                let script = text("command").or_else(|| text("cmd"));
                let argv = match script {
                    Some(script) => vec!["bash".to_owned(), "-lc".to_owned(), script],
                    None => serde_json::from_value(arguments["command"].clone()).ok()?,
                };
                What::Command { argv, workdir: text("workdir") }
            };
            (call_id, what)
        }
        Item::LocalShellCall {
            call_id: Some(call_id),
            action: LocalShellAction::Exec { command, working_directory, .. },
            ..
        } => (call_id, What::Command { argv: command.clone(), workdir: working_directory.clone() }),
        _ => return None,
    };
    Some(Call { id, what })
}

impl Call<'_> {
    fn patch(self, cwd: &Path) -> Option<Applied> {
        match self.what {
            What::Patch(text) => Some(Applied { call: self.id.to_owned(), cwd: cwd.to_owned(), text }),
            What::Command { argv, workdir } => {
                let Some(PatchIn::Call(call)) = script::patch_in(&argv, is_patch_text) else {
                    return None;
                };
                let cwd = workdir.map_or_else(|| cwd.to_owned(), |folder| cwd.join(folder));
                let cwd = call.cd.map_or_else(|| cwd.clone(), |folder| cwd.join(folder));
                Some(Applied { call: self.id.to_owned(), cwd, text: call.body })
            }
        }
    }
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
