//! What comes by standard input: a prompt, items to inject, and the answer to a question.

mod decode;

use std::io::IsTerminal;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use pellucid_config::config::PromptSettings;

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

/// Adds the files of `--inject`. For `-`, standard input is read now: facts are gathered again later, and it can be read once.
///
/// # Errors
/// When `-` is given twice, or standard input is no text.
pub fn inject(files: &[PathBuf], prompt: &mut PromptSettings) -> Result<(), ProgramFailure> {
    for file in files {
        if file != Path::new("-") {
            prompt.inject.push(std::path::absolute(file).unwrap_or_else(|_| file.clone()));
            continue;
        }
        if prompt.inject_input.is_some() {
            return Err(ProgramFailure::usage("`--inject -` reads standard input, and can be given once"));
        }
        let mut text = String::new();
        let n_read = std::io::stdin().take(pellucid_files::TEXT_BYTES_MAX + 1).read_to_string(&mut text);
        let why = match n_read {
            Ok(n_bytes) if n_bytes as u64 > pellucid_files::TEXT_BYTES_MAX => {
                format!("it has more than {} bytes", pellucid_files::TEXT_BYTES_MAX)
            }
            Ok(_) => {
                prompt.inject_input = Some(text.into());
                continue;
            }
            Err(error) => error.to_string(),
        };
        return Err(ProgramFailure::new(format!(
            "the items of `--inject -` cannot be read from standard input: {why}"
        )));
    }
    Ok(())
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
