//! A summary in the person's editor, before it is stored.

use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Env;
use pellucid_exec::foreground;

use crate::start::ProgramFailure;

/// Environment variables with the editor's command; the first that is set counts.
const EDITORS: [&str; 2] = ["VISUAL", "EDITOR"];

/// The command of the user's editor.
#[derive(Debug)]
pub struct Editor {
    command: String,
}

impl Editor {
    /// The editor that the environment names.
    ///
    /// # Errors
    /// Fails if no editor is set or the program does not exist, so that the error comes before a model is paid for a
    /// summary.
    pub fn find(env: &Env) -> Result<Self, ProgramFailure> {
        let command = EDITORS.iter().find_map(|name| env.text(name)).filter(|editor| !editor.trim().is_empty());
        let command = command.ok_or_else(|| ProgramFailure::new("--edit: set VISUAL or EDITOR to your editor"))?;
        if let Some(program) = plain_program(&command).filter(|program| !is_there(program, env)) {
            return Err(ProgramFailure::new(format!(
                "--edit: the editor `{program}` was not found; set VISUAL or EDITOR to your editor"
            )));
        }
        Ok(Self { command })
    }

    /// Opens a text in the editor and returns the changed text.
    pub fn edit(&self, text: &str, folder: &Path) -> Result<String, ProgramFailure> {
        edit(text, &self.command, folder)
    }
}

/// The program that a command starts; absent if the command needs a shell to be understood.
fn plain_program(command: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    command.split_whitespace().next().filter(|word| word.chars().all(is_plain))
}

fn is_there(program: &str, env: &Env) -> bool {
    if program.contains('/') {
        return Path::new(program).exists();
    }
    let folders = env.var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).exists())
}

fn edit(text: &str, editor: &str, folder: &Path) -> Result<String, ProgramFailure> {
    let file = Draft::write(folder, text)?;
    // An editor may be given with arguments, which only a shell takes apart.
    let status = foreground::run_script(&format!("{editor} \"$1\""), file.path.as_os_str());
    let status =
        status.map_err(|error| ProgramFailure::new(format!("the editor `{editor}` cannot be run: {error}")))?;
    if !status.success() {
        let ended = status.code().map_or_else(|| "by a signal".to_owned(), |code| format!("with status {code}"));
        return Err(ProgramFailure::new(format!("the editor `{editor}` ended {ended}; nothing was changed")));
    }
    let text = pellucid_files::read_text(&file.path, pellucid_files::TEXT_BYTES_MAX).map_err(|error| {
        ProgramFailure::new(format!("the edited summary cannot be read: {error}; nothing was changed"))
    })?;
    if text.trim().is_empty() {
        return Err(ProgramFailure::new("the edited summary is blank; nothing was changed"));
    }
    Ok(text.trim_end().to_owned())
}

/// The file that is edited; it goes when this does.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn write(folder: &Path, text: &str) -> Result<Self, ProgramFailure> {
        let path = folder.join(format!("summary-{}.md", std::process::id()));
        let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let draft = Self { path };
        written
            .and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()))
            .map_err(|error| ProgramFailure::new(format!("{}: {error}", draft.path.display())))?;
        Ok(draft)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // The file may be gone already.
        let _ = fs::remove_file(&self.path);
    }
}
