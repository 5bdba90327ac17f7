//! `completion`: scripts that complete words in a shell, and the answers that these scripts ask the program for.
//!
//! A script is a few lines that run the program with [`ASKED`] in the environment at every press of Tab. So what is completed
//! is that of the installed version, with the sessions and packs that are there. Nothing is written and no server is asked.

mod values;

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::args::Args;
use crate::print;
use crate::start::ProgramFailure;

/// The variable by which a script asks; its value is the name of the shell.
const ASKED: &str = "PELLUCID_COMPLETE";

/// Prints what can follow the typed words, if a script asks for that.
pub fn answer_if_asked() -> Option<ExitCode> {
    let shell = std::env::var_os(ASKED)?;
    let shells = Shells::builtins();
    // Another value is none of a script: the program runs as usual.
    let shell = shells.completer(shell.to_str()?)?;
    let words = std::env::args_os().skip_while(|it| it != "--").skip(1).collect();
    let mut command = values::completed(Args::command());
    command.build();
    let mut answer = Vec::new();
    let here = std::env::current_dir().ok();
    let made = shell.write_complete(&mut command, words, here.as_deref(), &mut answer);
    // A message on standard error would be drawn into the line that a person types.
    let is_good = made.is_ok() && print::data(&answer).is_ok();
    Some(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the script of a shell.
pub fn print_script(shell: Shell) -> Result<ExitCode, ProgramFailure> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let name = shell.to_string();
    let shell = shells.completer(&name).ok_or_else(|| ProgramFailure::new(format!("no script is known for {name}")))?;
    shell
        .write_registration(ASKED, "pellucid", "pellucid", "pellucid", &mut script)
        .map_err(|error| ProgramFailure::new(format!("could not make the script: {error}")))?;
    print::data(&script)?;
    Ok(ExitCode::SUCCESS)
}
