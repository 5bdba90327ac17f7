//! `undo` and `redo`: goes back to the files or the conversation before a turn, and takes that back.
//!
//! - `past`: the turns of a session, and the calls whose effects stay
//! - `plan`: what would be written

mod past;
mod plan;

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use pellucid_agent::calls::Calls;
use pellucid_files::RealDisk;
use pellucid_protocol::event::EventMessage;
use pellucid_store::opened;
use pellucid_store::read;
use pellucid_store::read::RecordedSession;
use pellucid_store::record::Record;
use pellucid_tools::edits::EditLine;
use pellucid_tools::edits::EditLog;
use pellucid_tools::edits::UndoneEdits;
use pellucid_tools::edits::UndoneFile;
use pellucid_tools::edits::digest;
use serde_json::Value;
use serde_json::json;

pub use self::past::LastingEffect;
use self::past::PastTurn;
use self::past::lasting_effects;
use self::past::turns;
pub use self::plan::KeptFile;
use self::plan::PastPatch;
pub use self::plan::UndoPlan;
use crate::apply;
use crate::args::session_ref::SessionRef;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::args::undo::RedoArgs;
use crate::args::undo::UndoArgs;
use crate::print;
use crate::screen::OutputFormat;
use crate::sessions;
use crate::start::Opening;
use crate::start::Persistence;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::start::Which;
use crate::stored;
use crate::style;
use crate::style::counted;

/// The status for wrong usage.
const USAGE: u8 = 2;

pub fn undo(shared: &Shared, args: &UndoArgs) -> Result<ExitCode, ProgramFailure> {
    let stored = Stored::open(&args.of)?;
    let (takes_files, takes_turns) = (!args.conversation, args.conversation || args.both);
    let turns = turns(&stored.loaded);
    let patches = stored.patches(&turns);
    let Some(from) = stored.first_turn(args, &turns, &patches)? else {
        style::line(&format!(
            "error: there is no turn {}; the session has {}",
            args.turn.unwrap_or_default(),
            counted(turns.len(), "turn")
        ));
        return Ok(ExitCode::from(USAGE));
    };
    let undone: Vec<&PastTurn> = turns.iter().filter(|turn| turn.number >= from).collect();
    let n_messages = if takes_turns { removable(&undone)? } else { 0 };
    let way = stored.way_back(&turns, &patches, from, takes_files);
    let plan = &way.plan;
    let is_refused = !plan.kept.is_empty() && !args.skip_changed;
    let outcome = Outcome {
        session: &stored.loaded.meta.id,
        from,
        n_messages,
        plan,
        effects: &way.effects,
        state: match (args.dry_run, is_refused) {
            (true, _) => State::DryRun,
            (false, true) => State::Refused,
            (false, false) => State::Done,
        },
    };
    if outcome.state == State::Done {
        if takes_files {
            stored.may_write_files("undo")?;
        }
        stored.go_back(&way, n_messages)?;
        if n_messages > 0 {
            stored.remove_turns(shared, n_messages)?;
        }
    }
    let text = if args.json { format!("{}\n", outcome.json()) } else { outcome.text() };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(if way.plan.kept.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub fn redo(shared: &Shared, args: &RedoArgs) -> Result<ExitCode, ProgramFailure> {
    let stored = Stored::open(&args.of)?;
    let Some(last) = stored.last_undone() else {
        return Err(ProgramFailure::new("nothing was undone in this session that could be done again"));
    };
    if !args.dry_run {
        stored.go_forth(&last)?;
        if last.turns > 0 {
            stored.put_turns_back(shared)?;
        }
    }
    let paths: Vec<&Path> = last.files.iter().map(|file| file.path.as_path()).collect();
    let text = if args.json {
        let json = json!({
            "schema": "pellucid.redo/1",
            "session": stored.loaded.meta.id,
            "dry_run": args.dry_run,
            "files": paths,
            "messages": last.turns,
        });
        format!("{json}\n")
    } else {
        let verb = if args.dry_run { "would be done again" } else { "is done again" };
        let mut text = format!("The last undo of session {} is taken back, so this {verb}:\n", stored.loaded.meta.id);
        text.extend(paths.iter().map(|path| format!("  {}\n", path.display())));
        if last.turns > 0 {
            text += &format!("  {} of the conversation\n", counted(last.turns, "message"));
        }
        text
    };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(ExitCode::SUCCESS)
}

/// What going back to before a turn does to files, and what stays.
pub struct WayBack {
    /// The number of the first turn that is undone.
    pub from: usize,
    /// What would be written, and what is kept.
    pub plan: UndoPlan,
    /// The calls whose effects stay.
    pub effects: Vec<LastingEffect>,
    /// The calls that are undone.
    calls: BTreeSet<String>,
}

/// What is known of a turn.
pub struct TurnFacts {
    /// The number of the turn, from one.
    pub number: usize,
    /// What the person said first in it.
    pub message: Option<String>,
    /// The files that its patches changed.
    pub files: Vec<PathBuf>,
}

/// The undos that were not taken back, the newest last.
fn undone_now(lines: &[EditLine]) -> Vec<UndoneEdits> {
    let mut undone = Vec::new();
    for line in lines {
        match line {
            EditLine::Undo(edits) => undone.push(edits.clone()),
            EditLine::Redo => drop(undone.pop()),
            EditLine::Patch(_) => {}
        }
    }
    undone
}

/// How many messages are removed with these turns.
fn removable(turns: &[&PastTurn]) -> Result<usize, ProgramFailure> {
    if let Some(turn) = turns.iter().find(|turn| turn.is_summarised) {
        let text = format!("turn {} was summarised, so it cannot be removed from the conversation", turn.number);
        return Err(ProgramFailure::with_hint(&text, "undo the summary first: pellucid compact SESSION --undo"));
    }
    let n_messages = turns.iter().filter(|turn| !turn.is_gone).map(|turn| turn.n_messages).sum();
    if n_messages == 0 {
        return Err(ProgramFailure::new("these turns are not in the conversation any more"));
    }
    Ok(n_messages)
}

/// A patch with its name among those of the session.
struct NamedPatch {
    /// The number of the turn.
    turn: usize,
    name: String,
    patch: PastPatch,
}

/// A stored session, with what it kept of its patches.
pub struct Stored {
    home: PathBuf,
    path: PathBuf,
    loaded: RecordedSession,
    log: Arc<EditLog>,
    lines: Vec<EditLine>,
}

impl Stored {
    fn open(of: &SessionRef) -> Result<Self, ProgramFailure> {
        let home = sessions::home()?;
        let (_, path) = stored::meant(&home, of)?;
        Self::of_file(home, path)
    }

    /// The session of a file.
    pub fn of_file(home: PathBuf, path: PathBuf) -> Result<Self, ProgramFailure> {
        let loaded = read::read(&path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        let log = EditLog::of(RealDisk::shared(), &home, &loaded.meta.id);
        let lines = log.read().map_err(|error| {
            ProgramFailure::new(format!("what patches of session {} did cannot be read: {error}", loaded.meta.id))
        })?;
        Ok(Self { home, path, loaded, log, lines })
    }

    /// What is known of the turn with this id; absent if the file has no such turn of a person.
    pub fn turn(&self, id: &str) -> Option<TurnFacts> {
        let turn = turns(&self.loaded).into_iter().find(|turn| turn.id == id)?;
        let records = &self.loaded.records[turn.records.clone()];
        let message = records.iter().find_map(|record| match record {
            Record::EventMsg(EventMessage::UserMessage { message, .. }) => Some(message.clone()),
            _ => None,
        });
        let mut files = BTreeSet::new();
        for (at, applied) in apply::turns::all(&self.loaded) {
            if turn.records.contains(&at) {
                files.extend(applied.paths());
            }
        }
        Some(TurnFacts { number: turn.number, message, files: files.into_iter().collect() })
    }

    /// Whether a file has the text that the last patch of the session left in it.
    pub fn is_as_patched(&self, path: &Path, now: &str) -> bool {
        let last = self.lines.iter().rev().find_map(|line| match line {
            EditLine::Patch(edits) => edits.files.iter().find(|file| file.path == path),
            EditLine::Undo(_) | EditLine::Redo => None,
        });
        last.is_some_and(|file| file.after.as_deref() == Some(digest(now).as_str()))
    }

    /// What going back by so many messages of the person does to files. A turn of which only some messages are taken back
    /// counts as a whole.
    ///
    /// # Errors
    /// The session has fewer messages.
    pub fn way_back_by(&self, n_messages: usize) -> Result<WayBack, ProgramFailure> {
        let turns = turns(&self.loaded);
        let mut left = n_messages;
        let mut from = None;
        for turn in turns.iter().rev().filter(|turn| !turn.is_gone) {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(turn.n_messages);
            from = Some(turn.number);
        }
        let from = from.ok_or_else(|| ProgramFailure::new("the session has no turn that could be undone"))?;
        Ok(self.way_back(&turns, &self.patches(&turns), from, true))
    }

    /// What going back to before a turn does to files.
    fn way_back(&self, turns: &[PastTurn], patches: &[NamedPatch], from: usize, takes_files: bool) -> WayBack {
        let undone: Vec<&PastTurn> = turns.iter().filter(|turn| turn.number >= from).collect();
        let chosen: Vec<&NamedPatch> = patches.iter().filter(|patch| takes_files && patch.turn >= from).collect();
        let steps: Vec<PastPatch> = chosen.iter().map(|patch| patch.patch.clone()).collect();
        let calls = Calls::read(&self.home, &self.path).map(|calls| calls.calls).unwrap_or_default();
        WayBack {
            from,
            plan: UndoPlan::of(&steps, Path::new(&self.loaded.meta.cwd)),
            effects: if takes_files { lasting_effects(&self.loaded, &undone, &calls) } else { Vec::new() },
            // The calls of files that are kept count as undone too: what is left of them is not the session's any more.
            calls: chosen.iter().map(|patch| patch.name.clone()).collect(),
        }
    }

    /// Writes the files of a way back, and notes it together with the messages that are taken back.
    pub fn go_back(&self, way: &WayBack, n_messages: usize) -> Result<(), ProgramFailure> {
        let files = way.plan.exchanges();
        plan::write(&files).map_err(|error| ProgramFailure::new(format!("{error}; nothing was undone")))?;
        self.note(&EditLine::Undo(UndoneEdits { calls: way.calls.clone(), files, turns: n_messages }))
    }

    /// The last undo that was not taken back.
    pub fn last_undone(&self) -> Option<UndoneEdits> {
        undone_now(&self.lines).pop()
    }

    /// Writes the files again that an undo changed, and notes it.
    pub fn go_forth(&self, last: &UndoneEdits) -> Result<(), ProgramFailure> {
        let exchanged = |file: &UndoneFile| UndoneFile {
            replaced: file.written.clone(),
            written: file.replaced.clone(),
            ..file.clone()
        };
        let files: Vec<UndoneFile> = last.files.iter().map(exchanged).collect();
        if !files.is_empty() {
            self.may_write_files("redo")?;
        }
        plan::write(&files).map_err(|error| ProgramFailure::new(format!("{error}; nothing was done again")))?;
        self.note(&EditLine::Redo)
    }

    /// Refuses to write files for a session that came in a capsule: its paths are those of another computer.
    pub fn may_write_files(&self, command: &str) -> Result<(), ProgramFailure> {
        if !opened::is_marked(&self.home) {
            return Ok(());
        }
        let id = &self.loaded.meta.id;
        let hint = format!(
            "`pellucid {command} {id} --dry-run` lists the files; `pellucid apply {id}` applies what the last turn changed to \
             the folder that you are in"
        );
        Err(ProgramFailure::with_hint(opened::FOREIGN_PATHS, &hint))
    }

    /// The patches that are not undone, in the order in which they were applied.
    fn patches(&self, turns: &[PastTurn]) -> Vec<NamedPatch> {
        let undone: BTreeSet<String> = undone_now(&self.lines).into_iter().flat_map(|edits| edits.calls).collect();
        let name = |turn: &str, call: &str| format!("{turn} {call}");
        let mut patches: Vec<NamedPatch> = Vec::new();
        for (at, applied) in apply::turns::all(&self.loaded) {
            let Some(turn) = turns.iter().find(|turn| turn.records.contains(&at)) else { continue };
            let kept = self.lines.iter().filter_map(|line| match line {
                EditLine::Patch(edits) if edits.turn == turn.id && edits.call == applied.call => Some(edits),
                _ => None,
            });
            let name = name(&turn.id, &applied.call);
            // A call that was made again, as after an approval, has several lines.
            let kept: Vec<PastPatch> = kept.cloned().map(PastPatch::Kept).collect();
            let found = if kept.is_empty() { vec![PastPatch::Text(applied)] } else { kept };
            patches.extend(found.into_iter().map(|patch| NamedPatch { turn: turn.number, name: name.clone(), patch }));
        }
        patches.retain(|patch| !undone.contains(&patch.name));
        patches
    }

    /// The first turn that is undone; absent if there is no turn of the number that was given.
    ///
    /// # Errors
    /// When nothing is left to undo.
    fn first_turn(
        &self,
        args: &UndoArgs,
        turns: &[PastTurn],
        patches: &[NamedPatch],
    ) -> Result<Option<usize>, ProgramFailure> {
        if let Some(number) = args.turn {
            return Ok(Some(number).filter(|number| *number <= turns.len()));
        }
        let last = if args.conversation || args.both {
            turns.iter().rev().find(|turn| !turn.is_gone).map(|turn| turn.number)
        } else {
            patches.last().map(|patch| patch.turn)
        };
        let id = &self.loaded.meta.id;
        last.map(Some).ok_or_else(|| ProgramFailure::new(format!("session {id} has nothing that could be undone")))
    }

    fn note(&self, line: &EditLine) -> Result<(), ProgramFailure> {
        self.log.add(line).map_err(|error| {
            ProgramFailure::new(format!("the files were written, but that was not noted for a later undo: {error}"))
        })
    }

    fn remove_turns(&self, shared: &Shared, n_messages: usize) -> Result<(), ProgramFailure> {
        let start = Start::new(shared, &StartArgs::default())?;
        let file = start.existing_of_any(&Which::Id(self.loaded.meta.id.clone()))?;
        let mut session = start.session(Opening::Resumed { file: Box::new(file), keep: Persistence::File })?;
        session.remove_turns(n_messages);
        written(session.file_failure())
    }

    fn put_turns_back(&self, shared: &Shared) -> Result<(), ProgramFailure> {
        let start = Start::new(shared, &StartArgs::default())?;
        let file = start.existing_of_any(&Which::Id(self.loaded.meta.id.clone()))?;
        let mut session = start.session(Opening::Resumed { file: Box::new(file.clone()), keep: Persistence::File })?;
        let done = session.redo_turns(&file, &self.loaded.records);
        done.map_err(|error| ProgramFailure::new(format!("the files are done again, but {error}")))?;
        written(session.file_failure())
    }
}

fn written(failure: Option<&str>) -> Result<(), ProgramFailure> {
    match failure {
        Some(failure) => Err(ProgramFailure::new(format!("the session file cannot be written: {failure}"))),
        None => Ok(()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    DryRun,
    Refused,
    Done,
}

/// What came of an undo.
struct Outcome<'a> {
    session: &'a str,
    from: usize,
    n_messages: usize,
    plan: &'a UndoPlan,
    effects: &'a [LastingEffect],
    state: State,
}

impl Outcome<'_> {
    fn json(&self) -> Value {
        let files: Vec<Value> = self
            .plan
            .files
            .iter()
            .map(|file| json!({"path": file.path, "action": file.action(), "exact": file.is_exact}))
            .collect();
        json!({
            "schema": "pellucid.undo/1",
            "session": self.session,
            "from_turn": self.from,
            "state": match self.state {
                State::DryRun => "dry_run",
                State::Refused => "refused",
                State::Done => "done",
            },
            "files": files,
            "kept": self.plan.kept,
            "lasting_effects": self.effects,
            "messages": self.n_messages,
        })
    }

    fn text(&self) -> String {
        let Self { session, from, plan, .. } = self;
        let mut text = match self.state {
            State::DryRun => format!("This would go back to before turn {from} of session {session}:\n"),
            State::Refused => format!(
                "Nothing was undone, because files changed since. To go back to before turn {from} of session {session}:\n"
            ),
            State::Done => format!("Back to before turn {from} of session {session}:\n"),
        };
        for file in &plan.files {
            let note = if file.is_exact { "" } else { " (rebuilt from the lines of the patch)" };
            text += &format!("  {:8}{}{note}\n", file.action(), file.path.display());
        }
        if self.n_messages > 0 {
            text += &format!("  remove  {} and what followed\n", counted(self.n_messages, "message"));
        }
        if plan.files.is_empty() && self.n_messages == 0 {
            text += "  no file changes\n";
        }
        if !plan.kept.is_empty() {
            text += "\nFiles that stay as they are:\n";
            text.extend(plan.kept.iter().map(|KeptFile { path, reason }| format!("  {}: {reason}\n", path.display())));
            if self.state == State::Refused {
                text += "hint: --skip-changed undoes the other files\n";
            }
        }
        if !self.effects.is_empty() {
            text += "\nNot undone, because only patches are:\n";
            let line = |it: &LastingEffect| format!("  turn {}  {}  {}\n", it.turn, it.tool, it.what);
            text.extend(self.effects.iter().map(line));
        }
        text
    }
}
