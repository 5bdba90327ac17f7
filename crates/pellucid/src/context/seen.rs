//! What the model has been shown in a session: files with their lines, and outputs that were cut. `context seen` and the
//! terminal client show the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_agent::session::TurnPreview;
use pellucid_answers::panel::ContextPanel;
use pellucid_answers::seen::SeenState;
use pellucid_answers::seen::SeenText;
use pellucid_answers::seen::ShownText;
use pellucid_answers::seen::seen;
use pellucid_exec::summary::summary;
use pellucid_files::TEXT_BYTES_MAX;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::parsed_command::ParsedCommand;
use pellucid_protocol::provider::ReadSection;
use pellucid_store::sessions::LocalSessions;
use pellucid_store::sessions::Sessions;
use serde_json::Value;
use serde_json::json;

use crate::args::seen::ContextSeenArgs;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::capsule;
use crate::context::outputs;
use crate::fit;
use crate::print;
use crate::request;
use crate::request::Coming;
use crate::request::RequestRefusal;
use crate::start;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style::number;
use crate::style::number_of;
use crate::undo::Stored;

/// The line before the output of a command.
const OUTPUT: &str = "Output:\n";

/// The name of the form of the answer for programs.
const FORM: &str = "pellucid.seen/1";

/// Runs `context seen`.
pub fn run(shared: &Shared, args: &ContextSeenArgs) -> Result<ExitCode, ProgramFailure> {
    match answer(shared, args) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(refusal) => Ok(refusal.show_of_question()),
    }
}

fn answer(shared: &Shared, args: &ContextSeenArgs) -> Result<(), RequestRefusal> {
    let home = start::find_home()?;
    if let Some(session) = &args.of.or_last().session {
        capsule::refuse_next(session)?;
    }
    let (id, path) = stored::meant(&home, &args.of.or_last())?;
    let folder = LocalSessions::new(&home).summary(&id).map(|summary| PathBuf::from(summary.cwd)).ok();
    let folder = folder.filter(|folder| folder.is_dir());
    let place = StartArgs { cd: folder.clone(), ..StartArgs::default() };
    let Coming { mut session, next, .. } = request::next_of(shared, &place, &id)?;
    let items = session.copy().items();
    let place = SeenPlace { home: home.clone(), folder: folder.unwrap_or_default(), session: id };
    let stored = Stored::of_file(home, path).ok();
    let shown = place.collect(&items, &next, session.reading_order(), stored.as_ref());
    match args.json {
        true => Ok(print::json_line(&shown.to_json(&place.session))?),
        false => Ok(print::out(&shown.to_text(&place.folder))?),
    }
}

/// Where a session works and is kept.
#[derive(Debug)]
pub struct SeenPlace {
    /// The folder with sessions.
    pub home: PathBuf,
    /// The folder that commands of the session run in.
    pub folder: PathBuf,
    /// The id of the session.
    pub session: String,
}

/// What the model has been shown.
#[derive(Debug)]
pub struct Seen {
    files: Vec<SeenText>,
    outputs: Vec<SeenOutput>,
}

/// How much of the output of a command the model was sent.
#[derive(Debug)]
struct SeenOutput {
    call: String,
    command: String,
    sent: usize,
    /// How many bytes the output had; absent if all of it was sent.
    bytes: Option<u64>,
}

impl SeenPlace {
    /// Gathers what the model has been shown: instructions of the next request, and what the calls of the history showed.
    pub fn collect(&self, items: &[Item], next: &TurnPreview, order: &[ReadSection], stored: Option<&Stored>) -> Seen {
        let mut shown = instructions(next, order);
        shown.extend(self.reads(items));
        let current = |path: &str| pellucid_files::read_text(Path::new(path), TEXT_BYTES_MAX).ok();
        let is_as_patched =
            |path: &str, now: &str| stored.is_some_and(|stored| stored.is_as_patched(Path::new(path), now));
        Seen { files: seen(&shown, current, is_as_patched), outputs: self.outputs(items) }
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

    fn outputs(&self, items: &[Item]) -> Vec<SeenOutput> {
        let cut = outputs::read_from(&self.home, &self.session).unwrap_or_default();
        let sent: BTreeMap<&str, String> = items.iter().filter_map(output).collect();
        let commands = items.iter().filter_map(|item| command(item, &self.folder));
        let seen = commands.filter_map(|(id, argv, _)| {
            let command = argv.last().map_or("", |word| word.lines().next().unwrap_or_default()).to_owned();
            let bytes = cut.iter().find(|cut| cut.call == id).map(|cut| cut.bytes);
            Some(SeenOutput { call: id.to_owned(), command, sent: sent.get(id)?.len(), bytes })
        });
        seen.collect()
    }
}

impl Seen {
    /// The answer for people; what is not current or not whole has a mark before it. Paths are from `folder` on.
    pub fn to_text(&self, folder: &Path) -> String {
        let mut text = "Files\n".to_owned();
        if self.files.is_empty() {
            text += "  the model was shown no file\n";
        }
        for one in &self.files {
            let lines = match one.lines {
                Some((first, last)) if first == last => format!(":{first}"),
                Some((first, last)) => format!(":{first}-{last}"),
                None => String::new(),
            };
            let mark = if matches!(one.state, SeenState::Old | SeenState::Gone) { "!" } else { " " };
            let path = fit::relative(&one.path, folder, fit::user_folder().as_deref());
            text += &format!("{mark} {path}{lines}  {}  ({})\n", one.state.as_str(), one.by);
        }
        text += "\nOutputs\n";
        if self.outputs.is_empty() {
            text += "  the model was shown no output of a command\n";
        }
        for one in &self.outputs {
            let part = match one.bytes {
                Some(bytes) => format!("! {} of {} bytes", number(one.sent), number_of(bytes)),
                None => format!("  all of it, {} bytes", number(one.sent)),
            };
            text += &format!("{part}  {}\n", one.command);
        }
        text
    }

    /// What the model was shown of each file below `folder`, in a few words; the text that was shown last counts.
    pub fn by_file(&self, folder: &Path) -> BTreeMap<String, String> {
        let files = self.files.iter().filter_map(|one| {
            let path = Path::new(&one.path).strip_prefix(folder).ok()?.to_string_lossy().into_owned();
            let words = match (one.state, one.lines) {
                (SeenState::Current, Some((first, last))) if first == last => format!("seen: line {first}"),
                (SeenState::Current, Some((first, last))) => format!("seen: lines {first}-{last}"),
                (SeenState::Current | SeenState::Unknown, _) => "seen".to_owned(),
                (SeenState::Patched, _) => format!("seen: {}", one.state.as_str()),
                (SeenState::Old | SeenState::Gone, _) => format!("seen, but {}", one.state.as_str()),
            };
            Some((path, words))
        });
        files.collect()
    }

    fn to_json(&self, session: &str) -> Value {
        let file =
            |one: &SeenText| json!({ "path": one.path, "by": one.by, "lines": one.lines, "state": one.state.name() });
        let output = |one: &SeenOutput| json!({ "call": one.call, "command": one.command, "sent_bytes": one.sent, "whole_bytes": one.bytes });
        json!({
            "schema": FORM,
            "session": session,
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
            "outputs": self.outputs.iter().map(output).collect::<Vec<_>>(),
        })
    }
}

/// The texts of instruction files and skills in the next request.
fn instructions(next: &TurnPreview, order: &[ReadSection]) -> Vec<ShownText> {
    let body = next.request.body();
    let panel = ContextPanel::of(&next.report, &next.request, order);
    let rows = panel.groups.iter().flat_map(|group| &group.rows);
    let of_file = rows.filter(|row| matches!(row.source, "file" | "skill"));
    of_file
        .map(|row| ShownText {
            path: row.origin.to_string(),
            by: row.part.to_string(),
            text: body.get(row.start..row.start + row.bytes).and_then(unescaped),
        })
        .collect()
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
fn command<'a>(item: &'a Item, folder: &Path) -> Option<(&'a str, Vec<String>, PathBuf)> {
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
