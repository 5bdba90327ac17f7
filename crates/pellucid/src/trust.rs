//! `trust`: what a project's configuration may reach, shown to a person and accepted by them.
//!
//! The accepted values are those that were shown: no file is read a second time.
//!
//! - `instructions`: instruction files, shown and accepted in the same way

mod instructions;

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_config::LoadOptions;
use pellucid_config::accepted;
use pellucid_config::accepted::Accepted;
use pellucid_config::guard::Acceptance;
use pellucid_config::guard::Guarded;
use pellucid_config::guard::GuardedValue;
use pellucid_config::layers::LayerSource;
use pellucid_config::layers::Layers;
use pellucid_config::value::Data;
use pellucid_config::value::Value;
use pellucid_config::value::segments;

use crate::args::shared::Shared;
use crate::args::trust::TrustAcceptArgs;
use crate::args::trust::TrustArgs;
use crate::args::trust::TrustCommand;
use crate::environment;
use crate::print;
use crate::screen::name;
use crate::start;
use crate::start::ProgramFailure;
use crate::stdin;
use crate::style;

/// Parts of names whose values are secret.
const SECRET_NAMES: [&str; 7] = ["key", "token", "secret", "pass", "auth", "credential", "cookie"];

/// Parts of names whose values say what is run or read, however secret the rest of the name sounds (`GIT_ASKPASS`).
const SHOWN_NAMES: [&str; 7] = ["askpass", "command", "cmd", "exec", "program", "file", "path"];

/// Tables whose keys the user chooses and whose values may be secret.
const OPEN_TABLES: [&str; 5] = ["env", "http_headers", "headers", "query_params", "set"];

pub fn run(shared: &Shared, args: &TrustArgs) -> Result<ExitCode, ProgramFailure> {
    let home = start::find_home()?;
    match &args.command {
        TrustCommand::Accept(args) if args.instructions => {
            instructions::accept(shared, &home, &project_folder(&args.path)?, args.yes)
        }
        TrustCommand::Accept(args) => accept(shared, &home, args),
        TrustCommand::List => list(&home),
        TrustCommand::Revoke(args) => revoke(&home, &args.path),
    }
}

fn accept(shared: &Shared, home: &Path, args: &TrustAcceptArgs) -> Result<ExitCode, ProgramFailure> {
    let mut options = LoadOptions::new(project_folder(&args.path)?, home.to_owned(), environment::with_dotenv(home));
    options.overrides = start::overrides(shared)?;
    let load = |options: &LoadOptions| {
        pellucid_config::load_layers(options).map_err(|error| ProgramFailure::new(error.report()))
    };
    let layers = load(&options)?;
    let mut found: Vec<Guarded> = layers.iter().filter_map(|layer| layer.guarded().cloned()).collect();
    for role in role_files(&layers) {
        let of_role = load(&LoadOptions { role_file: Some(role), ..options.clone() })?;
        found.extend(of_role.iter().filter(|it| it.source == LayerSource::Role).filter_map(|it| it.guarded().cloned()));
    }
    let unused: Vec<_> = layers.iter().filter_map(|layer| layer.file.as_ref().zip(layer.disabled.as_ref())).collect();
    for (file, reason) in &unused {
        style::line(&format!("warning: {} is not used at all: {reason}", file.display()));
    }
    if let Some(problem) = layers.accepted_problem() {
        return Err(ProgramFailure::new(problem));
    }
    let root = layers.project_root();
    let open: Vec<&Guarded> = found.iter().filter(|it| it.standing != Acceptance::Accepted).collect();
    if open.is_empty() {
        return nothing_to_accept(root, found.len(), unused.len());
    }
    let text: String = open.iter().map(|guarded| shown(guarded, root)).collect();
    print::out(&text)?;
    if !args.yes && !ask("Accept these values?")? {
        style::line("Nothing was accepted.");
        return Ok(ExitCode::FAILURE);
    }
    accepted::accept(home, &open).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let files = style::counted(open.len(), "file");
    print::out(&format!("Accepted {files}. Any change of these values has to be accepted again.\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn nothing_to_accept(root: &Path, n_accepted: usize, n_unused: usize) -> Result<ExitCode, ProgramFailure> {
    let root = root.display();
    if n_unused > 0 && n_accepted == 0 {
        return Err(ProgramFailure::new(format!("the project {root} is not trusted, so there is nothing to accept")));
    }
    print::out(&match n_accepted {
        0 => format!("No configuration file of {root} has anything that must be accepted.\n"),
        n => format!("All of it is accepted already ({} of {root}).\n", style::counted(n, "file")),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The folder whose project is meant.
fn project_folder(path: &Path) -> Result<PathBuf, ProgramFailure> {
    let absolute = absolute(path)?;
    let metadata = std::fs::metadata(&absolute)
        .map_err(|error| ProgramFailure::new(format!("the project {} cannot be read: {error}", path.display())))?;
    if metadata.is_dir() && absolute.file_name().is_none_or(|name| name != ".codex") {
        return Ok(absolute);
    }
    // A file of the project's own folder, or that folder.
    let folder = if metadata.is_dir() { Some(absolute.as_path()) } else { absolute.parent() };
    Ok(folder.and_then(Path::parent).unwrap_or(&absolute).to_owned())
}

fn absolute(path: &Path) -> Result<PathBuf, ProgramFailure> {
    let current = std::env::current_dir()
        .map_err(|error| ProgramFailure::new(format!("the working directory cannot be read: {error}")))?;
    Ok(pellucid_files::normal(&current.join(path)))
}

/// The files of roles that any layer names and that exist.
fn role_files(layers: &Layers) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for layer in layers.iter().filter(|layer| layer.is_enabled()) {
        let roles = layer.table.get("agents").and_then(Value::as_table);
        for role in roles.iter().flat_map(|roles| roles.iter()) {
            let file = role.value.as_table().and_then(|role| role.get("config_file")).and_then(Value::as_str);
            files.extend(file.map(PathBuf::from).filter(|file| file.is_file()));
        }
    }
    files
}

/// The guarded values of a file as text, for the user to accept or refuse.
fn shown(guarded: &Guarded, root: &Path) -> String {
    let state = match guarded.standing {
        Acceptance::New => "not accepted yet",
        Acceptance::Changed => "changed since it was accepted",
        Acceptance::Accepted => "accepted",
    };
    let mut text = format!("{} ({state})\n", name(&guarded.file.to_string_lossy()));
    for value in &guarded.values {
        text += &format!("  {} = {}\n", name(&value.key), value_text(value));
    }
    for file in named_files(guarded, root) {
        let file = file.to_string_lossy();
        text += &format!("  note: {} is in the project: a change of that file changes what is used\n", name(&file));
    }
    text + &format!("  SHA-256 {}\n\n", guarded.digest)
}

/// A value on one line. What is accepted is seen in full: only the value of a token or of a variable or header with such a
/// name is left out, since a text that merely looks like a secret may be a part of a program.
fn value_text(value: &GuardedValue) -> String {
    match &value.value.data {
        Data::String(text) if is_secret(&value.key) => {
            format!("(a secret of {})", style::counted(text.chars().count(), "character"))
        }
        _ => value.value.to_json().to_string(),
    }
}

fn is_secret(key: &str) -> bool {
    let names: Vec<&str> = segments(key).collect();
    let last = names.last().copied().unwrap_or_default().to_lowercase();
    let is_open = names.iter().rev().nth(1).is_some_and(|table| OPEN_TABLES.contains(table));
    let has = |parts: &[&str]| parts.iter().any(|part| last.contains(part));
    matches!(last.as_str(), "experimental_bearer_token" | "bearer_token")
        || (is_open && has(&SECRET_NAMES) && !has(&SHOWN_NAMES))
}

/// Files of the project that the values name.
fn named_files(guarded: &Guarded, root: &Path) -> BTreeSet<PathBuf> {
    let folder = guarded.file.parent().unwrap_or(root);
    let mut texts = Vec::new();
    guarded.values.iter().for_each(|value| collect_texts(&value.value, &mut texts));
    let places = texts.iter().flat_map(|text| [root.join(text), folder.join(text)]);
    places
        .map(|place| pellucid_files::normal(&place))
        .filter(|place| place.starts_with(root) && place.is_file())
        .collect()
}

fn collect_texts<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match &value.data {
        Data::String(text) => texts.push(text),
        Data::List(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Data::Table(table) => table.iter().for_each(|entry| collect_texts(&entry.value, texts)),
        _ => {}
    }
}

/// Asks at the terminal for a yes.
fn ask(question: &str) -> Result<bool, ProgramFailure> {
    let no_terminal = "there is no terminal to ask on, so nothing was accepted; \
                       use a terminal, or add --yes to accept what is shown";
    stdin::confirm(question, no_terminal)
}

fn list(home: &Path) -> Result<ExitCode, ProgramFailure> {
    let accepted = Accepted::read(home).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    let mut text = String::new();
    for (file, digest) in accepted.iter() {
        let state = match accepted::standing_now(file, digest) {
            Some(Acceptance::Accepted) => "as accepted",
            Some(_) => "changed: does not count",
            None => "gone",
        };
        text += &format!("{}  {state}  {digest}\n", name(&file.to_string_lossy()));
    }
    text += &instructions::list(&accepted);
    if text.is_empty() {
        "Nothing was accepted yet.\n".clone_into(&mut text);
    }
    print::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn revoke(home: &Path, path: &Path) -> Result<ExitCode, ProgramFailure> {
    let absolute = absolute(path)?;
    let real = absolute.canonicalize().unwrap_or(absolute);
    let revoked = accepted::revoke(home, &real).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    if revoked.is_empty() {
        let real = real.display();
        let hint = "`pellucid trust list` shows what was accepted";
        return Err(ProgramFailure::with_hint(&format!("nothing was accepted of {real}"), hint));
    }
    let lines: String = revoked.iter().map(|file| format!("{} does not count any more\n", file.display())).collect();
    print::out(&lines)?;
    Ok(ExitCode::SUCCESS)
}
