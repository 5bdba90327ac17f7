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
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::StoredPiece;
use pellucid_store::requests::entry::StoredText;
use pellucid_store::requests::parts::PartStore;
use serde_json::Value;

use super::print;
use super::print_json;
use crate::args::sessions::ExportArgs;
use crate::start::ProgramFailure;
use crate::stored;
use crate::style;
use crate::style::counted;

/// How long a session, or what was sent of it, may be to be exported.
const SESSION_BYTES_MAX: u64 = 4 << 30;

/// How names of variables end that hold secrets.
const SECRET_NAMES: [&str; 6] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASS", "_CREDENTIALS"];

pub fn run(home: &Path, args: &ExportArgs) -> Result<ExitCode, ProgramFailure> {
    let (_, path) = stored::meant(home, &args.of)?;
    let mut export = Export::new(home, !args.no_redact);
    let failed = |(path, error): (PathBuf, io::Error)| ProgramFailure::new(format!("{}: {error}", path.display()));
    match &args.to {
        None => {
            let session = export.session(&path, None).map_err(failed)?;
            print_json(&session)?
        }
        Some(to) => {
            let files = export.files(home, &path, None).map_err(failed)?;
            write(to, &files).map_err(failed)?;
            print(&format!("{}\n", to.display()))?
        }
    };
    if !args.no_redact {
        style::line(&redacted_line(export.n_blanks()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The line about what was blanked, for people.
pub fn redacted_line(n_blanks: usize) -> String {
    let secrets = counted(n_blanks, "secret");
    format!("note: {secrets} redacted; only known patterns are detected, so review the export before you share it")
}

/// The secret members of the login of an MCP server.
const TOKEN_MEMBERS: [&str; 3] = ["access_token", "refresh_token", "client_secret"];

/// The secrets that this machine knows: variables by their names, the key of the login, and tokens of MCP servers.
pub fn secrets(home: &Path) -> Vec<String> {
    let is_secret = |name: &str| SECRET_NAMES.iter().any(|end| name.to_ascii_uppercase().ends_with(end));
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let mut secrets: Vec<String> =
        variables.filter(|(name, _)| is_secret(name)).filter_map(|(_, value)| value.into_string().ok()).collect();
    let login = pellucid_files::read_text(&home.join("auth.json"), pellucid_files::TEXT_BYTES_MAX).ok();
    let login = login.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    collect_texts(&login.unwrap_or_default(), &mut secrets);
    let tokens = pellucid_files::read_text(&home.join(".credentials.json"), pellucid_files::TEXT_BYTES_MAX).ok();
    let tokens = tokens.and_then(|text| serde_json::from_str::<Value>(&text).ok()).unwrap_or_default();
    for entry in tokens.as_object().into_iter().flat_map(|logins| logins.values()) {
        let texts = TOKEN_MEMBERS.iter().filter_map(|member| entry.get(member));
        texts.for_each(|text| collect_texts(text, &mut secrets));
    }
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

/// The last request that an export has.
pub struct Cut {
    /// How many bytes of the session file came before the request.
    pub session_bytes: u64,
    /// The digest of the request's body.
    pub body: String,
    /// The turn that sent the request.
    pub turn: String,
}

impl Cut {
    /// The lines of a record up to the request.
    fn record<'t>(&self, text: &'t str) -> &'t str {
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            let is_last = serde_json::from_str::<ChainLink>(line).is_ok_and(|link| match &link.entry {
                LogEntry::Request(it) => it.at == self.session_bytes && it.body == self.body && it.turn == self.turn,
                _ => false,
            });
            if is_last {
                break;
            }
        }
        &text[..end]
    }
}

/// An export under way.
pub struct Export {
    redactor: Option<Redactor>,
    n_blanks: usize,
}

impl Export {
    /// An export that blanks secrets, or nothing.
    pub fn new(home: &Path, is_redacted: bool) -> Self {
        Self { redactor: is_redacted.then(|| Redactor::new(secrets(home))), n_blanks: 0 }
    }

    /// How many texts were blanked so far.
    pub fn n_blanks(&self) -> usize {
        self.n_blanks
    }

    /// A text, with secrets blanked.
    pub fn text(&mut self, text: String) -> String {
        match &self.redactor {
            Some(redactor) => {
                let (text, n) = redactor.text(&text);
                self.n_blanks += n;
                text
            }
            None => text,
        }
    }

    /// The lines of a file, with secrets blanked. Lines that are not JSON are blanked as text.
    pub fn lines(&mut self, text: &str) -> String {
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

    /// The session file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn session(&mut self, path: &Path, cut: Option<&Cut>) -> Result<String, (PathBuf, io::Error)> {
        let text = pellucid_files::read_text(path, SESSION_BYTES_MAX).map_err(|error| (path.to_owned(), error))?;
        let end = cut.and_then(|cut| usize::try_from(cut.session_bytes).ok()).unwrap_or(text.len());
        Ok(self.lines(text.get(..end).unwrap_or(&text)))
    }

    /// The files of a home folder with this session alone, by their paths in it.
    pub fn files(
        &mut self,
        home: &Path,
        path: &Path,
        cut: Option<&Cut>,
    ) -> Result<Vec<(PathBuf, String)>, (PathBuf, io::Error)> {
        // A file outside of the home folder goes to the top.
        let relative = path.strip_prefix(home).ok().or(path.file_name().map(Path::new)).unwrap_or(path);
        let mut files = vec![(relative.to_owned(), self.session(path, cut)?)];
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (Some(from), Some(into)) =
            (name::requests_path(home, file_name), name::requests_path(Path::new(""), file_name))
        else {
            return Ok(files);
        };
        let Ok(text) = pellucid_files::read_text(&from, SESSION_BYTES_MAX) else {
            return Ok(files);
        };
        let text = cut.map_or(text.as_str(), |cut| cut.record(&text));
        files.push((into, self.lines(text)));
        let (old, new) = (PartStore::new(home), PartStore::new(Path::new("")));
        for sha256 in parts_of(text) {
            if let Ok(text) = pellucid_files::read_text(&old.path(&sha256), SESSION_BYTES_MAX) {
                files.push((new.path(&sha256), self.text(text)));
            }
        }
        Ok(files)
    }
}

/// The long texts that a record refers to.
fn parts_of(record: &str) -> BTreeSet<String> {
    let kept = |piece: &StoredPiece| match &piece.text {
        StoredText::Kept { sha256, .. } => Some(sha256.clone()),
        StoredText::Here { .. } => None,
    };
    let links = record.lines().filter_map(|line| serde_json::from_str::<ChainLink>(line).ok());
    links.flat_map(|link| link.entry.pieces().into_iter().filter_map(kept).collect::<Vec<_>>()).collect()
}

/// Writes private files (0600) into a folder, because they hold a whole conversation.
fn write(to: &Path, files: &[(PathBuf, String)]) -> Result<(), (PathBuf, io::Error)> {
    let folder = make_private_folder(to).and_then(|()| Folder::open(to, None));
    let folder = folder.map_err(|error| (to.to_owned(), error))?;
    for (path, text) in files {
        folder.write_private(path, text.as_bytes()).map_err(|error| (to.join(path), error))?;
    }
    Ok(())
}
