//! What the model has been shown in the session: files with their lines, and outputs that were cut.

use std::collections::BTreeMap;
use std::path::Path;

use pellucid_agent::session::SessionCopy;
use pellucid_answers::panel::ContextPanel;
use pellucid_answers::seen::SeenState;
use pellucid_answers::seen::ShownText;
use pellucid_answers::seen::seen;
use pellucid_exec::summary::summary;
use pellucid_files::TEXT_BYTES_MAX;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::parsed_command::ParsedCommand;
use serde_json::Value;

use super::Ground;
use crate::context::outputs;
use crate::style::number;
use crate::style::number_of;
use crate::undo::Stored;

/// The line before the output of a command.
const OUTPUT: &str = "Output:\n";

impl Ground {
    /// What the model has been shown, as lines for a page.
    pub(super) fn seen(&self, copy: SessionCopy) -> Result<String, String> {
        let items = copy.items();
        let mut shown = self.instructions(copy)?;
        shown.extend(self.reads(&items));
        let stored = self.stored().ok().and_then(|file| Stored::of_file(self.home.clone(), file.path).ok());
        let current = |path: &str| pellucid_files::read_text(Path::new(path), TEXT_BYTES_MAX).ok();
        let is_as_patched =
            |path: &str, now: &str| stored.as_ref().is_some_and(|stored| stored.is_as_patched(Path::new(path), now));
        let mut text = "Files\n".to_owned();
        let seen = seen(&shown, current, is_as_patched);
        if seen.is_empty() {
            text += "  the model was shown no file\n";
        }
        for one in &seen {
            let lines = match one.lines {
                Some((first, last)) if first == last => format!(":{first}"),
                Some((first, last)) => format!(":{first}-{last}"),
                None => String::new(),
            };
            let mark = if matches!(one.state, SeenState::Old | SeenState::Gone) { "!" } else { " " };
            text += &format!("{mark} {}{lines}  {}  ({})\n", self.path(&one.path), one.state.as_str(), one.by);
        }
        text += "\nOutputs\n";
        text += &self.outputs(&items);
        Ok(text)
    }

    /// The texts of instruction files and skills in the next request.
    fn instructions(&self, copy: SessionCopy) -> Result<Vec<ShownText>, String> {
        let coming = copy.next(None, &[])?;
        let (report, body) = (&coming.next.report, coming.next.request.body());
        let panel = ContextPanel::of(report, &coming.next.request, coming.session.reading_order());
        let rows = panel.groups.iter().flat_map(|group| &group.rows);
        let of_file = rows.filter(|row| matches!(row.source, "file" | "skill"));
        Ok(of_file
            .map(|row| ShownText {
                path: row.origin.to_string(),
                by: row.part.to_string(),
                text: body.get(row.start..row.start + row.bytes).and_then(unescaped),
            })
            .collect())
    }

    /// The texts of files that calls showed.
    fn reads(&self, items: &[Item]) -> Vec<ShownText> {
        let outputs: BTreeMap<&str, String> = items.iter().filter_map(output).collect();
        let mut shown = Vec::new();
        for (id, argv, folder) in items.iter().filter_map(|item| command(item, &self.folder)) {
            let Some(output) = outputs.get(id) else { continue };
            let parts = summary(&argv);
            let is_alone = parts.len() == 1;
            for part in &parts {
                if let ParsedCommand::Read { cmd, path, .. } = part {
                    let text = is_alone.then(|| after_head(output).to_owned());
                    let path = folder.join(path).to_string_lossy().into_owned();
                    shown.push(ShownText { path, by: cmd.clone(), text });
                }
            }
        }
        shown
    }

    /// How much of each output of a command the model was sent.
    fn outputs(&self, items: &[Item]) -> String {
        let cut = outputs::read_from(&self.home, &self.session_id).unwrap_or_default();
        let sent: BTreeMap<&str, String> = items.iter().filter_map(output).collect();
        let mut text = String::new();
        for (id, argv, _) in items.iter().filter_map(|item| command(item, &self.folder)) {
            let Some(output) = sent.get(id) else { continue };
            let part = match cut.iter().find(|cut| cut.call == id) {
                Some(cut) => format!("! {} of {} bytes", number(output.len()), number_of(cut.bytes)),
                None => format!("  all of it, {} bytes", number(output.len())),
            };
            text += &format!("{part}  {}\n", argv.last().map_or("", |word| word.lines().next().unwrap_or_default()));
        }
        if text.is_empty() { "  the model was shown no output of a command\n".to_owned() } else { text }
    }
}

/// The text of a part of a JSON text.
fn unescaped(bytes: &[u8]) -> Option<String> {
    let quoted = [b"\"", bytes, b"\""].concat();
    serde_json::from_slice(&quoted).ok()
}

/// The output of a command without the lines before it.
fn after_head(output: &str) -> &str {
    output.split_once(OUTPUT).map_or(output, |(_, text)| text)
}

/// The id of the call that an item answers, and the text of the answer.
fn output(item: &Item) -> Option<(&str, String)> {
    match item {
        Item::FunctionCallOutput { call_id, output: ToolOutput::Text(text) } => Some((call_id, text.clone())),
        Item::FunctionCallOutput { call_id, output: ToolOutput::Parts(parts) } => {
            let text = parts.iter().filter_map(|part| match part {
                ContentPart::InputText { text } | ContentPart::OutputText { text } => Some(text.as_str()),
                ContentPart::InputImage { .. } => None,
            });
            Some((call_id, text.collect()))
        }
        _ => None,
    }
}

/// The id of a call that runs a command, its words, and the folder that it runs in.
fn command<'a>(item: &'a Item, folder: &Path) -> Option<(&'a str, Vec<String>, std::path::PathBuf)> {
    let (id, argv, workdir) = match item {
        Item::FunctionCall { call_id, arguments, .. } => {
            let parsed: Value = serde_json::from_str(arguments).ok()?;
            let script = |text: &str| vec!["bash".to_owned(), "-lc".to_owned(), text.to_owned()];
            let argv = match (&parsed["command"], &parsed["cmd"]) {
                (Value::Array(words), _) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                (Value::String(text), _) | (_, Value::String(text)) => script(text),
                _ => return None,
            };
            (call_id.as_str(), argv, parsed["workdir"].as_str().map(str::to_owned))
        }
        Item::LocalShellCall { call_id: Some(id), action: LocalShellAction::Exec { command, .. }, .. } => {
            (id.as_str(), command.clone(), None)
        }
        _ => return None,
    };
    let folder = workdir.map_or_else(|| folder.to_owned(), |workdir| folder.join(workdir));
    Some((id, argv, folder))
}

#[cfg(test)]
mod tests {
    use pellucid_tui::look::report::LookAnswer;
    use pellucid_tui::look::report::LookCall;
    use serde_json::json;

    use crate::tui::look::tests::Desk;
    use crate::tui::look::tests::Talk;
    use crate::tui::look::tests::answer;
    use crate::tui::look::tests::draft;

    async fn page(talk: &mut Talk<'_>) -> Vec<String> {
        match talk.answer(LookCall::Seen).await {
            LookAnswer::Page { lines, .. } => lines.into_iter().filter(|line| line.contains("(cat a)")).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_file_that_was_shown_is_old_once_it_changed() {
        let mut desk = Desk::new("codex", "responses");
        desk.config.push("sandbox_mode=\"danger-full-access\"".to_owned());
        desk.config.push("approval_policy=\"never\"".to_owned());
        desk.files.write("work/a", "1\n2\n3\n");
        let mut talk = desk.open(None).await;
        let arguments = json!({ "cmd": "cat a", "login": false }).to_string();
        let call = json!({ "type": "function_call", "id": "fc", "call_id": "c1", "name": "exec_command", "arguments": arguments });
        talk.say(&draft("look"), vec![call, answer("Seen.")]).await;
        assert_eq!(page(&mut talk).await, ["  a:1-3  current  (cat a)"]);
        desk.files.write("work/a", "1\nzwei\n3\n");
        assert_eq!(page(&mut talk).await, ["! a  old: the file changed since  (cat a)"]);
        std::fs::remove_file(desk.files.path("work").join("a")).unwrap();
        assert_eq!(page(&mut talk).await, ["! a  old: the file is gone  (cat a)"]);
        talk.end().await;
    }
}
