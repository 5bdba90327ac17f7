//! A capsule: one HTML file that a person can open and that `pellucid capsule open` turns into a home folder.
//!
//! The data is JSON, compressed with gzip, as base64 in a block that no browser runs. The page has no script and may load
//! nothing. What a capsule contains may be prepared by an attacker, so sizes are bounded and paths are checked.

#[cfg(test)]
mod tests;

mod blanker;
mod content;
mod filler;
mod page;
mod tokens;

use std::collections::BTreeMap;
use std::io::Read;
use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::GzBuilder;
use flate2::read::GzDecoder;
use memchr::memmem;
use serde::Deserialize;
use serde::Serialize;

pub use self::content::SessionTexts;
pub use self::page::CapsulePage;
pub use self::page::CapsuleRow;
pub use self::page::Utterance;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.capsule/1";

/// The beginning and the end of the block with the data.
const BLOCK_BEGIN: &str = "<script type=\"application/octet-stream\" id=\"pellucid-capsule\">\n";
const BLOCK_END: &str = "\n</script>";

/// How many characters a line of the block has.
const LINE_CHARS: usize = 120;

/// How many bytes the data may have when it is unpacked.
const BYTES_MAX: u64 = 4 << 30;

/// The folders of a home folder that a capsule may have files in.
const FOLDERS: [&str; 4] = ["sessions", "archived_sessions", "requests", "session_state"];

/// The data of a capsule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capsule {
    /// The name and version of the form.
    pub schema: String,
    /// The version of the program that made the capsule.
    pub program: String,
    /// The system that it was made on.
    pub system: CapsuleSystem,
    /// The id of the session.
    pub session: String,
    /// The last request that the capsule has; absent if it has all of them.
    pub request: Option<usize>,
    /// What was blanked: `secrets`, `content` or `none`.
    pub redact: String,
    /// How many texts were blanked.
    pub blanks: usize,
    /// The names of the keys of the configuration, without their values.
    pub config_keys: Vec<String>,
    /// The files of the home folder, by their paths in it.
    pub files: BTreeMap<String, String>,
}

/// The kind of system that a capsule was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapsuleSystem {
    /// The operating system.
    pub os: String,
    /// The kind of processor.
    pub arch: String,
}

/// Why a file is not a capsule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CapsuleError {
    /// The file has no block with data.
    #[error("it is not a capsule: it has no block `pellucid-capsule`")]
    NoBlock,
    /// The data cannot be unpacked.
    #[error("its data is damaged: {0}")]
    Damaged(String),
    /// The data is of a later version.
    #[error("its data has the form `{0}`, and this program reads `{SCHEMA}`")]
    Form(String),
    /// A path would not be inside the home folder.
    #[error("it has a file that does not belong into a home folder: {0}")]
    Path(String),
}

impl Capsule {
    /// The file: a page for people, and the data.
    pub fn to_html(&self, page: &CapsulePage) -> Result<String, CapsuleError> {
        let damaged = |error: &dyn std::fmt::Display| CapsuleError::Damaged(error.to_string());
        // Without a time, so that the same session gives the same bytes.
        let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        let json = serde_json::to_vec(self).map_err(|error| damaged(&error))?;
        packed.write_all(&json).map_err(|error| damaged(&error))?;
        let packed = packed.finish().map_err(|error| damaged(&error))?;
        let text = BASE64_STANDARD.encode(packed);
        let mut block = String::with_capacity(text.len() + text.len() / LINE_CHARS + 200);
        block += BLOCK_BEGIN;
        let lines: Vec<&str> =
            text.as_bytes().chunks(LINE_CHARS).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        block += &lines.join("\n");
        block += BLOCK_END;
        Ok(page.to_html(self, &block))
    }

    /// Reads the data of a file back.
    ///
    /// # Errors
    /// When the file is no capsule, is damaged or of a later version, or has a path outside of a home folder.
    pub fn from_html(html: &[u8]) -> Result<Self, CapsuleError> {
        let start = memmem::rfind(html, BLOCK_BEGIN.as_bytes()).ok_or(CapsuleError::NoBlock)? + BLOCK_BEGIN.len();
        let end = memmem::find(&html[start..], BLOCK_END.as_bytes()).ok_or(CapsuleError::NoBlock)? + start;
        let text: Vec<u8> = html[start..end].iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let damaged = |error: &dyn std::fmt::Display| CapsuleError::Damaged(error.to_string());
        let packed = BASE64_STANDARD.decode(text).map_err(|error| damaged(&error))?;
        let mut json = Vec::new();
        let n = GzDecoder::new(packed.as_slice()).take(BYTES_MAX).read_to_end(&mut json);
        if n.map_err(|error| damaged(&error))? as u64 == BYTES_MAX {
            return Err(damaged(&"it is too large"));
        }
        let form: Form = serde_json::from_slice(&json).map_err(|error| damaged(&error))?;
        if form.schema != SCHEMA {
            return Err(CapsuleError::Form(form.schema));
        }
        let capsule: Self = serde_json::from_slice(&json).map_err(|error| damaged(&error))?;
        match capsule.files.keys().find(|path| !is_inside(path)) {
            Some(path) => Err(CapsuleError::Path(path.clone())),
            None => Ok(capsule),
        }
    }
}

#[derive(Deserialize)]
struct Form {
    schema: String,
}

/// Whether a path leads into a folder of sessions or records.
fn is_inside(path: &str) -> bool {
    let steps: Vec<&str> = path.split('/').collect();
    let is_plain = |step: &&str| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !step.is_empty() && !step.starts_with('.') && step.chars().all(is_name)
    };
    steps.len() > 1 && steps.iter().all(is_plain) && FOLDERS.contains(&steps[0])
}

/// The names of the keys of a configuration file, with those of the tables above them. Values are left out.
pub fn config_keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    if let Ok(table) = text.parse::<toml::Table>() {
        add_keys("", &table, &mut keys);
    }
    keys.sort_unstable();
    keys
}

/// The names of the keys and tables at the top of a configuration file, all of which are the program's.
pub fn config_tables(text: &str) -> Vec<String> {
    let mut names: Vec<String> = text.parse::<toml::Table>().unwrap_or_default().keys().cloned().collect();
    names.sort_unstable();
    names
}

/// Below these keys the names themselves are the user's: paths of projects, names of variables and headers.
const OWN_NAMES: [&str; 4] = ["projects", "env", "set", "http_headers"];

fn add_keys(above: &str, table: &toml::Table, keys: &mut Vec<String>) {
    for (key, value) in table {
        let name = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        match value {
            toml::Value::Table(_) if OWN_NAMES.contains(&key.as_str()) => keys.push(name),
            toml::Value::Table(table) => add_keys(&name, table, keys),
            _ => keys.push(name),
        }
    }
}
