//! A prompt from standard input, and the answer to a question.

mod decode;

use std::io::IsTerminal;
use std::io::Read;

use crate::start::ProgramFailure;
use crate::style;

/// The prompt: the argument, or standard input if the argument is `-` or missing.
///
/// # Errors
/// No prompt, or one that is not text.
pub fn prompt(argument: Option<String>) -> Result<String, ProgramFailure> {
    match argument.as_deref() {
        Some("-") => {}
        Some(_) => {
            if is_pipe() {
                style::note("standard input is not read, because a prompt was given");
            }
            return Ok(argument.unwrap_or_default());
        }
        None if std::io::stdin().is_terminal() => {
            return Err(ProgramFailure::new(
                "No prompt provided. Either specify one as an argument or pipe the prompt into stdin.",
            ));
        }
        None => style::line("Reading prompt from stdin..."),
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes).map_err(|error| error.to_string());
    let text = read
        .and_then(|_n_bytes| decode::decode(&bytes))
        .map_err(|why| ProgramFailure::new(format!("Failed to read prompt from stdin: {why}")))?;
    if text.trim().is_empty() {
        return Err(ProgramFailure::new("No prompt provided via stdin."));
    }
    Ok(text)
}

/// Whether standard input is a pipe: a person or a program may expect that it is read.
fn is_pipe() -> bool {
    let status = rustix::fs::fstat(std::io::stdin());
    status.is_ok_and(|status| rustix::fs::FileType::from_raw_mode(status.st_mode) == rustix::fs::FileType::Fifo)
}

/// Asks at the terminal for a yes.
///
/// # Errors
/// When there is no terminal, with this message, or the answer cannot be read.
pub fn confirm(question: &str, no_terminal: &str) -> Result<bool, ProgramFailure> {
    if !std::io::stdin().is_terminal() {
        return Err(ProgramFailure::new(no_terminal));
    }
    style::part(&format!("{question} [y/N] "));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| ProgramFailure::new(format!("the answer cannot be read: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
