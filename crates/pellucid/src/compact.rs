//! `compact`: a stored session's history becomes a summary, or shows what that would do, or takes
//! it back.

mod edit;

use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::reshape::Reshaped;
use pellucid_answers::compaction::CompactionAnswer;
use pellucid_answers::compaction::HistoryItem;
use pellucid_answers::compaction::summary_of;
use pellucid_protocol::operation::Operation;
use pellucid_store::read;
use pellucid_store::read::SessionFile;

use crate::args::compact::CompactArgs;
use crate::args::shared::Shared;
use crate::compact::edit::Editor;
use crate::exec;
use crate::exec::Show;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::Opening;
use crate::start::Persistence;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;
use crate::style::counted;

pub fn run(shared: &Shared, args: &CompactArgs) -> Result<ExitCode, ProgramFailure> {
    let which = args.which();
    let start = Start::new(shared, &args.start)?;
    let editor = args.edit.then(|| Editor::find(&start.env)).transpose()?;
    let file = start.existing(&which)?;
    start.make_ready()?;
    let home = start.config.folders.home.clone();
    let given = match (&args.summary, &editor) {
        (Some(file), _) => Some(summary_file(file)?),
        (None, Some(_)) => match asked_for(shared, args, &file)? {
            Some(summary) => Some(summary),
            None => return Ok(ExitCode::FAILURE),
        },
        (None, None) => None,
    };
    let asks_model = !args.undo && given.is_none();
    let keep = match (args.dry_run, asks_model) {
        (false, _) => Persistence::File,
        (true, true) => Persistence::Requests,
        (true, false) => Persistence::Nothing,
    };
    let mut session = start.session(Opening::Resumed { file: Box::new(file.clone()), keep })?;
    let before = (session.items(), session.tokens());
    let mut code = ExitCode::SUCCESS;
    if args.undo {
        let loaded = read::read(&file.path).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        let undone = session.undo_compaction(&file, &loaded.records);
        undone.map_err(|error| ProgramFailure::new(format!("{error}")))?;
    } else if let Some(given) = given {
        let summary = match &editor {
            Some(editor) => editor.edit(&given, &home)?,
            None => given,
        };
        session.compact_with(&summary);
    } else {
        let outcome;
        (session, outcome) = exec::run_operation(session, Operation::Compact, &mut Show::Trouble)?;
        code = outcome.code();
    }
    if let Some(failure) = session.file_failure() {
        return Err(ProgramFailure::new(format!("the session file cannot be written: {failure}")));
    }
    if code == ExitCode::SUCCESS {
        let reshaped = Reshaped::since(before, &session);
        let answer = match args.undo {
            true => CompactionAnswer::of_undone(&reshaped.before, &reshaped.after, reshaped.tokens),
            false => answer(&reshaped),
        };
        let text = if args.json { format!("{:#}\n", answer.to_json()) } else { text(&answer) };
        print::report(&text, OutputFormat::of(args.json))?;
        if args.dry_run {
            style::note(&dry_run_note(&file.meta.id, args.edit && args.summary.is_none() || asks_model));
        }
    }
    Ok(code)
}

/// The note printed after a dry run: what was not written, and whether a request was recorded.
fn dry_run_note(id: &str, has_asked: bool) -> String {
    let what = "dry run: the history is unchanged";
    if has_asked {
        format!("{what}; the request for the summary is in the record (`pellucid replay {id}`)")
    } else {
        format!("{what}, nothing was written")
    }
}

/// Asks the model for a summary and writes nothing but the record of that request. Absent if the model sent no
/// summary; the reason was printed.
fn asked_for(shared: &Shared, args: &CompactArgs, file: &SessionFile) -> Result<Option<String>, ProgramFailure> {
    let opening = Opening::Resumed { file: Box::new(file.clone()), keep: Persistence::Requests };
    let session = Start::new(shared, &args.start)?.session(opening)?;
    let (session, outcome) = exec::run_operation(session, Operation::Compact, &mut Show::Trouble)?;
    if outcome.code() != ExitCode::SUCCESS {
        return Ok(None);
    }
    let summary = session.last_summary().ok_or_else(|| {
        ProgramFailure::new("--edit: the provider's summary is sealed; pass another one with --summary")
    })?;
    Ok(Some(summary))
}

fn summary_file(file: &Path) -> Result<String, ProgramFailure> {
    let shown = file.display();
    let text = pellucid_files::read_given(file, pellucid_files::TEXT_BYTES_MAX)
        .map_err(|error| ProgramFailure::new(format!("the summary {shown} cannot be read: {error}")))?;
    if text.trim().is_empty() {
        return Err(ProgramFailure::new(format!("the summary {shown} is blank")));
    }
    Ok(text.trim_end().to_owned())
}

/// What a compaction did, or would do.
pub fn answer(reshaped: &Reshaped) -> CompactionAnswer {
    let Reshaped { before, after, tokens, message, .. } = reshaped;
    CompactionAnswer::of(before, after, *tokens, message.clone().or_else(|| summary_of(after)))
}

/// An item of the history in one line: its place, its tokens, what it is, and how it begins.
pub fn item_line(item: &HistoryItem) -> String {
    let tokens = style::number(item.tokens);
    format!("{:>5}  {tokens:>8}  {}  {}", item.number, item.name(), item.words()).trim_end().to_owned()
}

fn text(answer: &CompactionAnswer) -> String {
    let (before, after) = answer.tokens;
    let mut text = format!("{} tokens before, {} after\n", style::number(before), style::number(after));
    text += &format!("\nReplaced, of the history now {} long:\n", counted(answer.n_after, "item"));
    text.extend(answer.replaced.iter().map(|item| item_line(item) + "\n"));
    if !answer.kept.is_empty() {
        text += "\nKept:\n";
        text.extend(answer.kept.iter().map(|item| item_line(item) + "\n"));
    }
    if let Some(summary) = &answer.summary {
        text += &format!("\nSummary:\n{summary}\n");
    }
    for (kind, list) in answer.lost() {
        let title = kind[..1].to_uppercase() + &kind[1..];
        text += &format!("\n{title} missing from the summary:\n");
        text.extend(list.iter().map(|it| format!("  {it}\n")));
    }
    text
}
