//! `sessions export`: a session that may leave the machine.
//!
//! Texts that look like secrets are blanked, except with `--no-redact`. An export into a folder is a complete home
//! folder, so every command that reads sessions can read it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_files::Folder;
use pellucid_files::make_private_folder;
use pellucid_store::name;
use pellucid_store::redact::Redactor;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::entry::StoredText;
use pellucid_store::requests::parts::PartStore;
use serde_json::Value;

use super::file;
use super::print;
use super::print_json;
use crate::args::ExportArgs;
use crate::start::ProgramFailure;
use crate::style;

/// How long a session, or what was sent of it, may be to be exported.
const SESSION_BYTES_MAX: u64 = 4 << 30;

/// How names of variables end that hold secrets.
const SECRET_NAMES: [&str; 6] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASS", "_CREDENTIALS"];

pub fn run(home: &Path, args: &ExportArgs) -> Result<ExitCode, ProgramFailure> {
    let path = file(home, &args.session)?;
    let redactor = (!args.no_redact).then(|| Redactor::new(secrets(home)));
    let mut export = Export { redactor, n_blanks: 0 };
    let failed = |path: &Path, error: &io::Error| ProgramFailure::new(format!("{}: {error}", path.display()));
    let session = pellucid_files::read_text(&path, SESSION_BYTES_MAX).map_err(|error| failed(&path, &error))?;
    let session = export.lines(&session);
    match &args.to {
        None => print_json(&session)?,
        Some(to) => {
            export.write(home, &path, &session, to).map_err(|(path, error)| failed(&path, &error))?;
            print(&format!("{}\n", to.display()))?
        }
    };
    if export.redactor.is_some() {
        style::line(&format!(
            "{} secrets redacted. Only known patterns are detected: review the export before you share it",
            export.n_blanks
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The secrets that this machine knows: variables by their names, and the key of the login.
fn secrets(home: &Path) -> Vec<String> {
    let is_secret = |name: &str| SECRET_NAMES.iter().any(|end| name.to_ascii_uppercase().ends_with(end));
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let mut secrets: Vec<String> =
        variables.filter(|(name, _)| is_secret(name)).filter_map(|(_, value)| value.into_string().ok()).collect();
    let login = pellucid_files::read_text(&home.join("auth.json"), pellucid_files::TEXT_BYTES_MAX).ok();
    let login = login.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    collect_texts(&login.unwrap_or_default(), &mut secrets);
    secrets
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() >= 20 => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(table) => table.values().for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}

/// An export under way.
struct Export {
    redactor: Option<Redactor>,
    n_blanks: usize,
}

impl Export {
    /// The lines of a file, with secrets blanked. Lines that are not JSON are blanked as text.
    fn lines(&mut self, text: &str) -> String {
        let lines = text.split_inclusive('\n').map(|line| self.line(line));
        lines.collect()
    }

    fn line(&mut self, line: &str) -> String {
        let Some(redactor) = &self.redactor else {
            return line.to_owned();
        };
        let end = if line.ends_with('\n') { "\n" } else { "" };
        let n_before = self.n_blanks;
        let blanked = match serde_json::from_str::<Value>(line) {
            Ok(mut value) => {
                self.n_blanks += redactor.value(&mut value);
                format!("{value}{end}")
            }
            Err(_) => {
                let (text, n) = redactor.text(line);
                self.n_blanks += n;
                text
            }
        };
        // A line without a secret keeps its bytes.
        if self.n_blanks == n_before { line.to_owned() } else { blanked }
    }

    /// Writes a home folder with this session alone.
    fn write(&mut self, home: &Path, path: &Path, session: &str, to: &Path) -> Result<(), (PathBuf, io::Error)> {
        let folder = make_private_folder(to).and_then(|()| Folder::open(to, None));
        let folder = folder.map_err(|error| (to.to_owned(), error))?;
        let put = |path: &Path, text: &str| put(&folder, to, path, text);
        // A file outside of the home folder goes to the top.
        let relative = path.strip_prefix(home).ok().or(path.file_name().map(Path::new)).unwrap_or(path);
        put(&to.join(relative), session)?;
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (Some(from), Some(into)) = (name::requests_path(home, file_name), name::requests_path(to, file_name))
        else {
            return Ok(());
        };
        let Ok(text) = pellucid_files::read_text(&from, SESSION_BYTES_MAX) else {
            return Ok(());
        };
        put(&into, &self.lines(&text))?;
        let chain = Chain::read(&from).map_err(|error| (from, error))?;
        let (old, new) = (PartStore::new(home), PartStore::new(to));
        for sha256 in parts_of(&chain) {
            if let Ok(text) = pellucid_files::read_text(&old.path(&sha256), SESSION_BYTES_MAX) {
                let text = match &self.redactor {
                    Some(redactor) => {
                        let (text, n) = redactor.text(&text);
                        self.n_blanks += n;
                        text
                    }
                    None => text,
                };
                put(&new.path(&sha256), &text)?;
            }
        }
        Ok(())
    }
}

/// The long texts that a record refers to.
fn parts_of(chain: &Chain) -> BTreeSet<String> {
    let kept = |piece: &StoredPiece| match &piece.text {
        StoredText::Kept { sha256, .. } => Some(sha256.clone()),
        StoredText::Here { .. } => None,
    };
    chain.pieces().into_iter().filter_map(kept).collect()
}

/// Writes a private file (0600) below the folder of the export, because it holds a whole conversation.
fn put(folder: &Folder, to: &Path, path: &Path, text: &str) -> Result<(), (PathBuf, io::Error)> {
    let below = path.strip_prefix(to).unwrap_or(path);
    folder.write_private(below, text.as_bytes()).map_err(|error| (path.to_owned(), error))
}
