//! The transcript of a session file: what was said and done before, drawn once when the session is resumed.
//!
//! A session file has events of messages, and items of calls with their outputs. Files with more detail have events of calls
//! too; such a call is shown by its event only.

use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use pellucid_protocol::event::AbortReason;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::PlanUpdate;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use pellucid_protocol::item::ToolOutput;
use ratatui_core::text::Line;
use serde_json::Value;

use super::CellCanvas;
use super::TranscriptCell;
use super::agents::agent_notice;
use super::command::CommandCell;
use super::command::CommandState;
use super::notice::NoticeCell;
use super::notice::NoticeKind;
use super::patch::PatchCell;
use super::plan::PlanCell;
use super::plan::ProposedPlanCell;
use super::reasoning::ReasoningCell;
use super::reply::ReplyCell;
use super::review::ReviewCell;
use super::tool::ToolCell;
use super::transcript::ShownReasoning;
use super::transcript::Transcript;
use super::user::UserCell;

/// One entry of a session file, in the order of the file.
#[derive(Debug, Clone, Copy)]
pub enum StoredEntry<'a> {
    /// An event of the session.
    Event(&'a EventMessage),
    /// An item of the conversation.
    Item(&'a Item),
}

impl Transcript {
    /// Adds what a session file has, and returns all of it as lines for the scrollback.
    pub fn restore(&mut self, entries: &[StoredEntry<'_>], canvas: &CellCanvas) -> Vec<Line<'static>> {
        let mut reader = StoredReader {
            folder: self.folder().map(Path::to_path_buf),
            reasoning: self.reasoning(),
            cells: Vec::new(),
            calls: HashMap::new(),
            with_events: entries.iter().filter_map(StoredEntry::call_of_event).collect(),
            review: None,
        };
        for entry in entries {
            match entry {
                StoredEntry::Event(event) => reader.event(event),
                StoredEntry::Item(item) => reader.item(item),
            }
        }
        self.add_finished(reader.cells, canvas)
    }
}

impl<'a> StoredEntry<'a> {
    fn call_of_event(&self) -> Option<&'a str> {
        match self {
            Self::Event(EventMessage::ExecCommandEnd(end)) => Some(&end.begin.call_id),
            Self::Event(EventMessage::PatchApplyEnd(end)) => Some(&end.call_id),
            Self::Event(EventMessage::McpToolCallEnd(end)) => Some(&end.call_id),
            Self::Event(EventMessage::ViewImageToolCall { call_id, .. }) => Some(call_id),
            _ => None,
        }
    }
}

struct StoredReader<'a> {
    folder: Option<std::path::PathBuf>,
    reasoning: ShownReasoning,
    cells: Vec<TranscriptCell>,
    /// Calls whose output has not come: the place of the cell and the call.
    calls: HashMap<String, (usize, &'a Item)>,
    with_events: HashSet<&'a str>,
    review: Option<String>,
}

impl<'a> StoredReader<'a> {
    fn event(&mut self, event: &EventMessage) {
        let folder = self.folder.as_deref();
        let cell = match event {
            EventMessage::UserMessage { message, images, local_images, .. } => {
                TranscriptCell::User(UserCell::new(message, images.len() + local_images.len()))
            }
            EventMessage::AgentMessage { message } => {
                if self.review.take().is_some_and(|review| review == *message) {
                    return;
                }
                TranscriptCell::Reply(ReplyCell { markdown: message.clone() })
            }
            EventMessage::AgentReasoning { text } if self.reasoning == ShownReasoning::Summary => {
                return self.thought(text);
            }
            EventMessage::AgentReasoningRawContent { text } if self.reasoning == ShownReasoning::Raw => {
                return self.thought(text);
            }
            EventMessage::ItemCompleted { item: TurnItem::Plan { text, .. }, .. } => {
                TranscriptCell::ProposedPlan(ProposedPlanCell { markdown: text.clone() })
            }
            EventMessage::ExecCommandEnd(end) => TranscriptCell::Command(CommandCell::ended(end)),
            EventMessage::PatchApplyEnd(end) => TranscriptCell::Patch(PatchCell::new(end, folder)),
            EventMessage::McpToolCallEnd(end) => TranscriptCell::Tool(ToolCell::mcp_ended(end)),
            EventMessage::ViewImageToolCall { path, .. } => TranscriptCell::Tool(ToolCell::image(path, folder)),
            EventMessage::EnteredReviewMode { target, user_facing_hint } => {
                TranscriptCell::Review(ReviewCell::began(target, user_facing_hint.as_deref()))
            }
            EventMessage::ExitedReviewMode { review_output } => {
                self.review = Some(pellucid_engine::review::render(review_output.as_ref()));
                TranscriptCell::Review(ReviewCell::Ended(review_output.clone()))
            }
            EventMessage::ContextCompacted => note(NoticeKind::Info, "The context was compacted"),
            EventMessage::TurnAborted { reason: AbortReason::Interrupted, .. } => {
                note(NoticeKind::Error, "The turn was interrupted")
            }
            EventMessage::ThreadRolledBack { num_turns } => return self.roll_back(*num_turns),
            EventMessage::Error { .. } | EventMessage::UndoCompleted { .. } => {
                self.cells.extend(NoticeCell::of(event).into_iter().map(TranscriptCell::Notice));
                return;
            }
            other => match agent_notice(other) {
                Some(notice) => TranscriptCell::Notice(notice),
                None => return,
            },
        };
        self.cells.push(cell);
    }

    fn thought(&mut self, text: &str) {
        self.cells.extend(ReasoningCell::new([text]).map(TranscriptCell::Reasoning));
    }

    fn roll_back(&mut self, turns: usize) {
        let messages = self.cells.iter().enumerate().rev().filter(|(_, cell)| matches!(cell, TranscriptCell::User(_)));
        if let Some((at, _)) = messages.take(turns).last() {
            self.cells.truncate(at);
            // An output that comes later must not complete a cell of another turn.
            self.calls.retain(|_, (place, _)| *place < at);
        }
    }

    fn item(&mut self, item: &'a Item) {
        match item {
            Item::FunctionCall { call_id, .. } | Item::CustomToolCall { call_id, .. } => self.call(call_id, item),
            Item::LocalShellCall { call_id: Some(call_id), .. } => self.call(call_id, item),
            Item::FunctionCallOutput { call_id, output } => self.output(call_id, &output_text(output)),
            Item::CustomToolCallOutput { call_id, output } => self.output(call_id, output),
            Item::WebSearchCall { action: Some(action), .. } => {
                self.cells.push(TranscriptCell::Tool(ToolCell::searched("", action)));
            }
            _ => {}
        }
    }

    /// A call takes its place in the order; its output completes the cell.
    fn call(&mut self, call_id: &str, item: &'a Item) {
        if self.with_events.contains(call_id) {
            return;
        }
        if let Some(cell) = called(item, None, self.folder.as_deref()) {
            self.calls.insert(call_id.to_owned(), (self.cells.len(), item));
            self.cells.push(cell);
        }
    }

    fn output(&mut self, call_id: &str, output: &str) {
        let Some((at, item)) = self.calls.remove(call_id) else {
            return;
        };
        let cell = called(item, Some(output), self.folder.as_deref());
        if let (Some(place), Some(cell)) = (self.cells.get_mut(at), cell) {
            *place = cell;
        }
    }
}

fn note(kind: NoticeKind, text: &str) -> TranscriptCell {
    TranscriptCell::Notice(NoticeCell::new(kind, text))
}

/// The cell of a call, with its output if there is one.
fn called(item: &Item, output: Option<&str>, folder: Option<&Path>) -> Option<TranscriptCell> {
    let (name, arguments) = match item {
        Item::FunctionCall { name, arguments, .. } => (name.as_str(), arguments.as_str()),
        Item::CustomToolCall { name, input, .. } if name == "apply_patch" => return patched(input, output),
        Item::CustomToolCall { name, input, .. } => (name.as_str(), input.as_str()),
        Item::LocalShellCall { action: LocalShellAction::Exec { command, .. }, .. } => {
            return Some(ran(command, output));
        }
        _ => return None,
    };
    let values: Value = serde_json::from_str(arguments).unwrap_or_default();
    let text = |key: &str| values.get(key).and_then(Value::as_str);
    match name {
        "shell_command" | "exec_command" | "shell" | "container.exec" | "local_shell" => {
            let key = if name == "exec_command" { "cmd" } else { "command" };
            let command = match values.get(key) {
                Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                Some(Value::String(script)) => ["sh", "-c", script].map(str::to_owned).to_vec(),
                _ => return None,
            };
            Some(ran(&command, output))
        }
        "apply_patch" => patched(text("input").unwrap_or_default(), output),
        "update_plan" => {
            let plan: PlanUpdate = serde_json::from_value(values).ok()?;
            Some(TranscriptCell::Plan(PlanCell { plan }))
        }
        "view_image" => Some(TranscriptCell::Tool(ToolCell::image(Path::new(text("path")?), folder))),
        "write_stdin" => text("chars").filter(|it| !it.is_empty()).map(|it| TranscriptCell::Tool(ToolCell::input(it))),
        _ => Some(TranscriptCell::Tool(ToolCell::stored(name, arguments, output.unwrap_or_default()))),
    }
}

/// What the model gets as the output of a command that the person refused.
const REJECTED: &str = "exec command rejected by user";

fn ran(command: &[String], output: Option<&str>) -> TranscriptCell {
    let Some(output) = output else {
        let cell = CommandCell::stored(command, 0, Duration::ZERO, "");
        return TranscriptCell::Command(cell.left(CommandState::Interrupted));
    };
    // What the model gets as the output of a command that did not run to its end.
    let left = match output.trim_end() {
        REJECTED => Some(CommandState::Declined),
        text if text.starts_with("Wall time: ") && text.ends_with("\naborted by user") => {
            Some(CommandState::Interrupted)
        }
        _ => None,
    };
    if let Some(state) = left {
        return TranscriptCell::Command(CommandCell::stored(command, 0, Duration::ZERO, "").left(state));
    }
    let (code, text) = result(output);
    TranscriptCell::Command(CommandCell::stored(command, code.unwrap_or(0), Duration::ZERO, &text))
}

/// A patch was applied if its output says so; every other text is a reason why it was not.
fn patched(patch: &str, output: Option<&str>) -> Option<TranscriptCell> {
    let failure = match output.map(result) {
        Some((Some(0), _)) => None,
        Some((None, text)) if text.starts_with("Success.") => None,
        Some((_, text)) => Some(text),
        None => Some("the patch was interrupted".to_owned()),
    };
    PatchCell::stored(patch, failure.as_deref()).map(TranscriptCell::Patch)
}

/// The exit code, if there is one, and the text of an output, from the forms in which the model receives it.
fn result(output: &str) -> (Option<i32>, String) {
    if let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(output)
        && let Some(text) = fields.get("output").and_then(Value::as_str)
    {
        let code = fields.get("metadata").and_then(|it| it.get("exit_code")).and_then(Value::as_i64);
        return (code.and_then(|it| i32::try_from(it).ok()), text.to_owned());
    }
    let (head, text) = match output.split_once("\nOutput:\n") {
        Some((head, text)) if head.lines().count() <= 8 => (head, text),
        _ => ("", output),
    };
    let code = head.lines().find_map(|line| {
        line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "))?.trim().parse().ok()
    });
    (code, text.to_owned())
}

fn output_text(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Text(text) => text.clone(),
        ToolOutput::Parts(parts) => {
            let text = |part: &ContentPart| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => text.clone(),
                ContentPart::InputImage { .. } => "<image>".to_owned(),
            };
            parts.iter().map(text).collect::<Vec<_>>().join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;
    use crate::cells::transcript::TranscriptOptions;

    enum Stored {
        Event(EventMessage),
        Item(Item),
    }

    fn event(json: Value) -> Stored {
        Stored::Event(serde_json::from_value(json).unwrap())
    }

    fn item(json: Value) -> Stored {
        Stored::Item(serde_json::from_value(json).unwrap())
    }

    fn call(name: &str, arguments: &Value, id: &str) -> Stored {
        item(json!({ "type": "function_call", "name": name, "arguments": arguments.to_string(), "call_id": id }))
    }

    fn output(id: &str, text: &str) -> Stored {
        item(json!({ "type": "function_call_output", "call_id": id, "output": text }))
    }

    #[track_caller]
    fn check_restored(stored: &[Stored], expected: &Expect) {
        let entries: Vec<StoredEntry<'_>> = stored
            .iter()
            .map(|it| match it {
                Stored::Event(event) => StoredEntry::Event(event),
                Stored::Item(item) => StoredEntry::Item(item),
            })
            .collect();
        let mut transcript = Transcript::new(TranscriptOptions::default());
        expected.assert_eq(&shown(&transcript.restore(&entries, &CANVAS(60))));
    }

    #[test]
    fn messages_commands_and_patches_are_shown_in_order() {
        let patch = "*** Begin Patch\n*** Add File: b.txt\n+bee\n*** End Patch";
        check_restored(
            &[
                event(json!({ "type": "user_message", "message": "remember me", "images": null })),
                event(json!({ "type": "agent_reasoning", "text": "**Thinking**\n\nOf it." })),
                item(
                    json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I will." }] }),
                ),
                event(json!({ "type": "agent_message", "message": "I will." })),
                call("shell_command", &json!({ "command": "echo a; exit 3" }), "1"),
                call("exec_command", &json!({ "cmd": "ls" }), "2"),
                output("2", "Chunk ID: x\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nsrc\n"),
                output("1", "Exit code: 3\nWall time: 0.1 seconds\nOutput:\na\n"),
                item(json!({ "type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "3" })),
                item(
                    json!({ "type": "custom_tool_call_output", "call_id": "3", "output": "{\"output\":\"Success.\",\"metadata\":{\"exit_code\":0}}" }),
                ),
                call("update_plan", &json!({ "plan": [{ "step": "one", "status": "completed" }] }), "4"),
                output("4", "Plan updated"),
                call("mcp__echoer__echo", &json!({ "a": 1 }), "5"),
                output("5", "pong"),
                call("shell", &json!({ "command": ["sleep", "9"] }), "6"),
                event(json!({ "type": "turn_aborted", "reason": "interrupted" })),
            ],
            &expect![[r#"
                › remember me|
                |
                • Of it.|
                |
                • I will.|
                |
                • Ran echo a; exit 3 (exit code 3)|
                  └ a|
                |
                • Ran ls|
                  └ src|
                |
                • Added b.txt (+1 -0)|
                      +bee|
                |
                • Updated plan|
                  └ ✔ one|
                |
                • Called echoer.echo({"a":1})|
                  └ pong|
                |
                • Interrupted sleep 9|
                |
                ■ The turn was interrupted|
            "#]],
        );
    }

    #[test]
    fn what_was_not_done_is_not_shown_as_done() {
        let patch = |id: &str| {
            let input = "*** Begin Patch\n*** Add File: b.txt\n+bee\n*** End Patch";
            item(json!({ "type": "custom_tool_call", "name": "apply_patch", "input": input, "call_id": id }))
        };
        let answer =
            |id: &str, text: &str| item(json!({ "type": "custom_tool_call_output", "call_id": id, "output": text }));
        check_restored(
            &[
                patch("1"),
                answer("1", "apply_patch verification failed: Failed to find expected lines"),
                patch("2"),
                answer("2", "aborted by user after 0.1s"),
                patch("3"),
                answer("3", "{\"output\":\"no room\",\"metadata\":{\"exit_code\":1}}"),
                call("shell_command", &json!({ "command": "sleep 9" }), "4"),
                output("4", "Wall time: 3.9 seconds\naborted by user"),
                call("shell_command", &json!({ "command": "rm x" }), "5"),
                output("5", "exec command rejected by user"),
            ],
            &expect![[r#"
                • Could not apply a patch: 1 file (+1 -0)|
                  └ Add b.txt (+1 -0)|
                      +bee|
                  └ apply_patch verification failed: Failed to find expected|
                     lines|
                |
                • Could not apply a patch: 1 file (+1 -0)|
                  └ Add b.txt (+1 -0)|
                      +bee|
                  └ aborted by user after 0.1s|
                |
                • Could not apply a patch: 1 file (+1 -0)|
                  └ Add b.txt (+1 -0)|
                      +bee|
                  └ no room|
                |
                • Interrupted sleep 9|
                |
                • Did not run rm x|
            "#]],
        );
    }

    #[test]
    fn turns_that_were_rolled_back_are_not_shown() {
        check_restored(
            &[
                event(json!({ "type": "user_message", "message": "one" })),
                event(json!({ "type": "agent_message", "message": "first" })),
                event(json!({ "type": "user_message", "message": "two" })),
                event(json!({ "type": "agent_message", "message": "second" })),
                event(json!({ "type": "thread_rolled_back", "num_turns": 1 })),
                event(json!({ "type": "user_message", "message": "three" })),
            ],
            &expect![[r#"
                › one|
                |
                • first|
                |
                › three|
            "#]],
        );
    }

    #[test]
    fn a_call_with_an_event_is_shown_once() {
        check_restored(
            &[
                call("shell_command", &json!({ "command": "true" }), "1"),
                event(json!({
                    "type": "exec_command_end", "call_id": "1", "turn_id": "t", "command": ["bash", "-lc", "true"], "cwd": "/w",
                    "parsed_cmd": [], "source": "agent", "stdout": "", "stderr": "", "aggregated_output": "said\n", "exit_code": 0,
                    "duration": { "secs": 0, "nanos": 0 }, "formatted_output": "", "status": "completed"
                })),
                output("1", "Exit code: 0\nWall time: 0 seconds\nOutput:\nsaid\n"),
            ],
            &expect![[r#"
                • Ran true|
                  └ said|
            "#]],
        );
    }
}
