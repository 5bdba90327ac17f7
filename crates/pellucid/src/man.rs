//! `man`: pages of the manual, made from the same types that read the command line.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::Args;
use crate::args::man::ManArgs;
use crate::print;
use crate::start::ProgramFailure;

pub fn run(args: &ManArgs) -> Result<ExitCode, ProgramFailure> {
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    match &args.to {
        Some(folder) => write_all(&program, folder)?,
        None => print::data(&page(named(&program, &args.path)?).map_err(|error| unwritten("the page", &error))?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn unwritten(what: impl std::fmt::Display, error: &io::Error) -> ProgramFailure {
    ProgramFailure::new(format!("could not write {what}: {error}"))
}

/// The command that the words lead to.
fn named<'a>(program: &'a Command, path: &[String]) -> Result<&'a Command, ProgramFailure> {
    path.iter().try_fold(program, |command, word| {
        command.find_subcommand(word).ok_or_else(|| {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let (name, known) = (command.get_bin_name().unwrap_or_default(), known.join(", "));
            let hint = if known.is_empty() { "it has no commands".to_owned() } else { format!("it has {known}") };
            ProgramFailure::usage(format!("`{name}` has no command `{word}`\nhint: {hint}"))
        })
    })
}

/// A page is called like the words of its command, joined by `-`.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let path = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let version = format!("pellucid {}", env!("CARGO_PKG_VERSION"));
    let named = command.clone().version(env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    // The date of a page would differ from build to build.
    Man::new(named).title(title(path)).date("").source(version).manual("Pellucid").render(&mut text)?;
    Ok(text)
}

fn title(path: &str) -> String {
    path.replace(' ', "-")
}

fn write_all(command: &Command, folder: &Path) -> Result<(), ProgramFailure> {
    let path = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let file = folder.join(format!("{}.1", title(path)));
    page(command).and_then(|text| std::fs::write(&file, text)).map_err(|error| unwritten(file.display(), &error))?;
    command.get_subcommands().filter(|it| !it.is_hide_set()).try_for_each(|it| write_all(it, folder))
}
