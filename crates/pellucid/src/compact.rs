//! `compact`: a stored session's history becomes a summary, or shows what that would do, or takes
//! it back.

mod edit;

use std::path::Path;
use std::process::ExitCode;

use pellucid_agent::session::Session;
use pellucid_engine::loss::Loss;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::Operation;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use serde_json::Value;
use serde_json::json;

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
use crate::style::thousands;

pub fn run(shared: &Shared, args: &CompactArgs) -> Result<ExitCode, ProgramFailure> {
    let which = args.which();
    let start = Start::new(shared, &args.turn)?;
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
    let (items, tokens) = (session.items(), session.tokens());
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
        let outcome = Outcome::new(args, &items, tokens, &session);
        let text = if args.json { format!("{:#}\n", outcome.json()) } else { outcome.text() };
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
    let session = Start::new(shared, &args.turn)?.session(opening)?;
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

/// The result of a compaction, or of a dry run.
struct Outcome {
    tokens: (usize, usize),
    /// The items that went, with their places in the history, from one.
    replaced: Vec<(usize, Item)>,
    n_after: usize,
    summary: Option<String>,
    loss: Loss,
}

impl Outcome {
    fn new(args: &CompactArgs, before: &[Item], tokens_before: usize, session: &Session) -> Self {
        let after = session.items();
        let is_gone = |item: &Item| !after.contains(item);
        let replaced = before.iter().enumerate().filter(|(_, item)| is_gone(item));
        Self {
            tokens: (tokens_before, session.tokens()),
            replaced: replaced.map(|(n, item)| (n + 1, item.clone())).collect(),
            n_after: after.len(),
            summary: (!args.undo).then(|| session.last_summary_message().or_else(|| summary(&after))).flatten(),
            loss: if args.undo { Loss::default() } else { Loss::of(before, &after) },
        }
    }

    fn json(&self) -> Value {
        let replaced = self.replaced.iter().map(|(n, item)| {
            let value = serde_json::to_value(item).unwrap_or_default();
            json!({
                "item": n,
                "type": value["type"],
                "role": value.get("role"),
                "call_id": value.get("call_id"),
                "tokens": tokens_of_bytes(value.to_string().len()),
            })
        });
        json!({
            "tokens_before": self.tokens.0,
            "tokens_after": self.tokens.1,
            "items_after": self.n_after,
            "replaced": replaced.collect::<Vec<_>>(),
            "summary": self.summary,
            "lost": {
                "paths": self.loss.paths,
                "identifiers": self.loss.identifiers,
                "open_tasks": self.loss.open_tasks,
                "constraints": self.loss.constraints,
            },
        })
    }

    fn text(&self) -> String {
        let count = |tokens: usize| thousands(i64::try_from(tokens).unwrap_or(i64::MAX));
        let mut text = format!("{} tokens before, {} after\n", count(self.tokens.0), count(self.tokens.1));
        text += &format!("\nReplaced, of the history now {} long:\n", counted(self.n_after, "item"));
        for (n, item) in &self.replaced {
            let value = serde_json::to_value(item).unwrap_or_default();
            let tokens = count(tokens_of_bytes(value.to_string().len()));
            let word = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
            let who = [word("type"), word("role"), word("name"), word("call_id")].join(" ");
            text += &format!("{n:>5}  {tokens:>8}  {}\n", who.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        if let Some(summary) = &self.summary {
            text += &format!("\nSummary:\n{summary}\n");
        }
        let Loss { paths, identifiers, open_tasks, constraints } = &self.loss;
        let lists = [("Paths", paths), ("Names", identifiers), ("Open tasks", open_tasks), ("Demands", constraints)];
        for (title, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            text += &format!("\n{title} missing from the summary:\n");
            text.extend(list.iter().map(|it| format!("  {it}\n")));
        }
        text
    }
}

/// The last message of role `user`, which holds the summary. A provider's is sealed.
fn summary(items: &[Item]) -> Option<String> {
    if items.iter().any(|item| matches!(item, Item::Compaction { .. })) {
        return None;
    }
    items.iter().rev().find_map(|item| match item {
        Item::Message { role, content, .. } if role == "user" => content.iter().find_map(|part| match part {
            ContentPart::InputText { text } => Some(text.clone()),
            _ => None,
        }),
        _ => None,
    })
}
