//! Values that only this machine knows: sessions, packs, models. And features.
//!
//! An argument is recognised by the name of its value in the help, so an argument that is added later is completed too.

use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;

use clap::Arg;
use clap::Command;
use clap_complete::ArgValueCompleter;
use clap_complete::CompletionCandidate;
use pellucid_agent::gather;
use pellucid_answers::schemas;
use pellucid_config::Env;
use pellucid_engine::pack::Pack;
use pellucid_engine::visible::visible;
use pellucid_protocol::feature::Feature;
use pellucid_store::names;
use pellucid_workspace::pack_files;

use crate::stored;

/// The most sessions that are offered, the newest first.
const SESSIONS_MAX: usize = 50;

/// A value, and a line about it.
type Offered = (String, Option<String>);

/// The values of one kind in a home folder.
type Source = fn(&Path) -> Vec<Offered>;

/// Adds values to every argument of a command and its commands whose kind is known.
pub fn completed(command: Command) -> Command {
    let is_schema = command.get_name() == "schema";
    command
        .mut_args(|arg| match source(&arg).or_else(|| (is_schema && arg.get_id() == "name").then_some(schema_names)) {
            Some(source) => arg.add(ArgValueCompleter::new(move |typed: &OsStr| candidates(source, typed))),
            None => arg,
        })
        .mut_subcommands(completed)
}

/// Where the values of an argument come from, if they are of a kind that is known.
fn source(arg: &Arg) -> Option<Source> {
    let names = arg.get_value_names().unwrap_or_default();
    let name = match names.first() {
        Some(name) => name.to_string(),
        None => arg.get_id().as_str().to_uppercase(),
    };
    let word = name.split(['#', '[', '|', '=']).next().unwrap_or_default();
    match word {
        _ if !arg.get_action().takes_values() => None,
        "SESSION" | "SESSIONS" => Some(sessions),
        "REF" => Some(requests),
        "PACK" | "NAME_OR_DIR" => Some(packs),
        "MODEL" => Some(models),
        "FEATURE" => Some(features),
        _ => None,
    }
}

/// The values that begin with what is typed. A value that a terminal or a shell could take for something else is left out.
fn candidates(source: Source, typed: &OsStr) -> Vec<CompletionCandidate> {
    let (Ok(home), Some(typed)) = (home(), typed.to_str()) else {
        return Vec::new();
    };
    let is_plain =
        |value: &str| !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || "-_.:/#@".contains(c));
    source(&home)
        .into_iter()
        .filter(|(value, _)| value.starts_with(typed) && is_plain(value) && !value.starts_with('-'))
        .enumerate()
        .map(|(order, (value, about))| {
            let about = about.map(|it| visible(&it).replace('\n', " "));
            CompletionCandidate::new(value).help(about.map(Into::into)).display_order(Some(order))
        })
        .collect()
}

fn home() -> Result<PathBuf, pellucid_config::home::HomeError> {
    pellucid_config::home::find(&Env::process())
}

/// Names that people gave, then ids.
fn sessions(home: &Path) -> Vec<Offered> {
    let ids = stored::ids(home);
    let names = names::all(home);
    let name_of = |id: &str| names.get(id).cloned();
    let newest = || ids.iter().take(SESSIONS_MAX);
    let named = newest().filter_map(|id| Some((name_of(id)?, Some(id.clone()))));
    named.chain(newest().map(|id| (id.clone(), name_of(id)))).collect()
}

/// Names of requests: those of new sessions, then sessions.
fn requests(home: &Path) -> Vec<Offered> {
    let now = ("now".to_owned(), Some("the first request of a new session here".to_owned()));
    std::iter::once(now).chain(sessions(home)).collect()
}

fn packs(home: &Path) -> Vec<Offered> {
    let built_in = Pack::builtin_names().into_iter().map(|name| (name.to_owned(), Some("in the program".to_owned())));
    let users = pack_files::users(home).into_iter().map(|(name, folder)| (name, Some(folder.display().to_string())));
    built_in.chain(users).collect()
}

fn models(home: &Path) -> Vec<Offered> {
    gather::catalogue(home).models().iter().map(|model| (model.slug.clone(), model.description.clone())).collect()
}

fn features(_: &Path) -> Vec<Offered> {
    Feature::ALL.iter().map(|it| (it.key().to_owned(), Some(it.stage().as_str().to_owned()))).collect()
}

fn schema_names(_: &Path) -> Vec<Offered> {
    schemas::all().map(|it| (it.name.to_owned(), Some(format!("pellucid {}", it.command)))).collect()
}
