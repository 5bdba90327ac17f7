//! `pack`: the user's prompt packs. Which one is used, and commands to see and make them.
//!
//! Not here: what a pack means (`pellucid-engine`) and how its folder is read
//! (`pellucid-workspace`).

mod check;
mod import;
mod list;
mod new;
#[cfg(test)]
mod reference;
mod show;
mod sources;
pub mod table;
mod used;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::home;
use pellucid_engine::pack::Pack;
use pellucid_workspace::pack_files;
use pellucid_workspace::pack_files::PackFilesError;
use serde_json::Value;

use crate::args::pack::PackArgs;
use crate::args::pack::PackCommand;
use crate::args::shared::Shared;
use crate::print;
use crate::screen::StandardStream;
use crate::screen::Writer;
use crate::start::ProgramFailure;
use crate::style;

pub fn run(shared: &Shared, args: &PackArgs) -> Result<ExitCode, ProgramFailure> {
    match &args.command {
        PackCommand::List { json } => list::run(shared, *json),
        PackCommand::Show { slot, json } => show::run(shared, slot.as_deref(), *json),
        PackCommand::New { name, from, instructions } => {
            let out = &mut Writer::new(StandardStream::Out);
            new::run(&home_folder()?, name, from, instructions.as_deref(), out)
        }
        PackCommand::Check { pack, json } => check::run(&home_folder()?, &as_typed(pack), *json),
        PackCommand::Import(args) => import::run(shared, args, &mut Writer::new(StandardStream::Out)),
        PackCommand::Use { pack } => used::run(&home_folder()?, &as_typed(pack)),
    }
}

/// Loads the pack that the configuration names, and says what in it nothing reads.
pub fn selected(config: &Config) -> Result<Pack, ProgramFailure> {
    let pack = pack_files::load(&config.prompt.pack, &config.folders.home).map_err(|error| failure(&error))?;
    for unknown in pack.unknown_files() {
        style::line(&format!("warning: {unknown}"));
    }
    Ok(pack)
}

/// Refuses the name or folder of a pack that does not exist, as wrong usage.
pub fn check_typed(pack: &str) -> Result<(), ProgramFailure> {
    match pack_files::load(&as_typed(pack), &home_folder()?) {
        Err(error @ PackFilesError::Unknown { .. }) => Err(ProgramFailure::usage(failure(&error).text())),
        Err(error @ PackFilesError::Read { .. }) if !Path::new(&as_typed(pack)).exists() => {
            Err(ProgramFailure::usage(failure(&error).text()))
        }
        _ => Ok(()),
    }
}

/// A pack argument: a relative path starts at the current folder.
pub fn as_typed(pack: &str) -> String {
    if !pack_files::is_path(pack) || pack.starts_with('~') {
        return pack.to_owned();
    }
    let absolute = std::path::absolute(pack).unwrap_or_else(|_| PathBuf::from(pack));
    pellucid_files::normal(&absolute).to_string_lossy().into_owned()
}

fn home_folder() -> Result<PathBuf, ProgramFailure> {
    home::find(&Env::process())
        .map_err(|error| ProgramFailure::new(format!("the home folder cannot be found: {error}")))
}

/// The error with its cause, and what to try.
fn failure(error: &PackFilesError) -> ProgramFailure {
    let mut text = format!("{error}");
    if let Some(cause) = error.source() {
        text += &format!(": {cause}");
    }
    match error {
        PackFilesError::Unknown { name, .. } if Path::new(name).is_dir() => {
            text += &format!("\nhint: for the folder {name}, write ./{name}");
        }
        PackFilesError::Read { path, .. } if !path.exists() => {
            text +=
                "\nhint: a pack is a folder with a `pack.toml`; `pellucid pack list` shows the packs that have a name";
        }
        PackFilesError::Pack(error) => {
            let folder = Path::new(error.file()).parent().filter(|folder| folder.is_absolute());
            if folder.is_some() {
                text += "\nhint: `pellucid pack check` says everything that is wrong with a pack";
            }
        }
        _ => {}
    }
    ProgramFailure::new(text)
}

fn print(text: &str) -> Result<(), ProgramFailure> {
    print::out(text)
}

fn print_to(out: &mut dyn Write, text: &str) -> Result<(), ProgramFailure> {
    print::to(out, text)
}

fn print_json(value: &Value) -> Result<(), ProgramFailure> {
    print::json(json_text(value).as_bytes())
}

fn json_text(value: &Value) -> String {
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Args;

    #[test]
    fn the_pack_can_stand_before_and_after_the_command() {
        for line in
            ["pellucid --pack mine pack list", "pellucid pack list --pack mine", "pellucid prompt --pack mine hi"]
        {
            let args = Args::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(args.shared.pack.as_deref(), Some("mine"), "{line}");
        }
    }

    #[test]
    fn a_name_stays_a_name_and_a_path_becomes_absolute() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(as_typed("mine"), "mine");
        assert_eq!(as_typed("~/mine"), "~/mine");
        assert_eq!(as_typed("./a/../b"), here.join("b").to_string_lossy());
        assert_eq!(as_typed("a/b"), here.join("a/b").to_string_lossy());
    }
}
