//! A capsule: one HTML file that a person can open and that `pellucid capsule open` turns into a home folder.
//!
//! The data is JSON, compressed with gzip, as base64 in a block that no browser runs. What a capsule contains may be prepared by an
//! attacker, so sizes are bounded and paths are checked.
//!
//! Not here: the page around the data, which is the one of `pellucid inspect`.

#[cfg(test)]
mod tests;

mod blanker;
mod content;
mod filler;
mod script;
mod tokens;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;
use std::io::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::GzBuilder;
use flate2::read::GzDecoder;
use memchr::memmem;
use pellucid_store::name;
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::de;
use serde::de::MapAccess;
use serde::de::Visitor;

pub use self::content::SessionTexts;
pub use self::script::script;

/// The name and version of the form.
pub const SCHEMA: &str = "pellucid.capsule/1";

/// The beginning and the end of the block with the data.
const BLOCK_BEGIN: &str = "<script type=\"application/octet-stream\" id=\"pellucid-capsule\">\n";
const BLOCK_END: &str = "\n</script>";

/// Between the speed of writing and the size: 10 MB are packed in a fraction of a second.
const LEVEL: u32 = 5;

/// How many characters a line of the block has.
const LINE_CHARS: usize = 120;

/// How many bytes the data may have when it is unpacked.
const BYTES_MAX: u64 = 512 << 20;

/// How many files a capsule may have, and how many characters the path of one.
const FILES_MAX: usize = 100_000;
const PATH_CHARS_MAX: usize = 400;

/// The folders of a home folder that a capsule may have files in.
const FOLDERS: [&str; 6] = ["sessions", "archived_sessions", "requests", "session_state", "packs", "edits"];

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
    /// Settings that decide about requests and are words: the pack, the model, its effort.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The files of the home folder, by their paths in it.
    #[serde(deserialize_with = "unique_files")]
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
    /// Two paths are one file on some systems, or one is a folder of the other.
    #[error("it has two files for one path: {0}")]
    TwoFiles(String),
    /// The data is longer than a capsule may be.
    #[error("its data has more than {0} bytes")]
    TooLarge(u64),
    /// The capsule has more files than a session needs.
    #[error("it has {0} files, and a capsule has at most {FILES_MAX}")]
    TooManyFiles(usize),
    /// The session has no id, or none of the files is its session file.
    #[error("it has no session file of the session `{0}`")]
    Session(String),
}

impl Capsule {
    /// The block with the data. It is the last one of the file: what comes before may have a text that looks like it.
    ///
    /// # Errors
    /// When the data could not be read back.
    pub fn to_block(&self) -> Result<String, CapsuleError> {
        let damaged = |error: &dyn fmt::Display| CapsuleError::Damaged(error.to_string());
        // Without a time, so that the same session gives the same bytes.
        let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(LEVEL));
        self.check()?;
        let json = serde_json::to_vec(self).map_err(|error| damaged(&error))?;
        if json.len() as u64 > BYTES_MAX {
            return Err(CapsuleError::TooLarge(BYTES_MAX));
        }
        packed.write_all(&json).map_err(|error| damaged(&error))?;
        let packed = packed.finish().map_err(|error| damaged(&error))?;
        let text = BASE64_STANDARD.encode(packed);
        let mut block = String::with_capacity(text.len() + text.len() / LINE_CHARS + 200);
        block += BLOCK_BEGIN;
        let lines: Vec<&str> =
            text.as_bytes().chunks(LINE_CHARS).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        block += &lines.join("\n");
        block += BLOCK_END;
        Ok(block)
    }

    /// Reads the data of a file back.
    ///
    /// # Errors
    /// When the file is no capsule, is damaged or of a later version, or has a path outside of a home folder.
    pub fn from_html(html: &[u8]) -> Result<Self, CapsuleError> {
        Self::from_html_within(html, BYTES_MAX)
    }

    /// The same for data of at most so many bytes.
    fn from_html_within(html: &[u8], n_bytes_max: u64) -> Result<Self, CapsuleError> {
        let start = memmem::rfind(html, BLOCK_BEGIN.as_bytes()).ok_or(CapsuleError::NoBlock)? + BLOCK_BEGIN.len();
        let end = memmem::find(&html[start..], BLOCK_END.as_bytes()).ok_or(CapsuleError::NoBlock)? + start;
        let text: Vec<u8> = html[start..end].iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let damaged = |error: &dyn fmt::Display| CapsuleError::Damaged(error.to_string());
        let packed = BASE64_STANDARD.decode(text).map_err(|error| damaged(&error))?;
        let mut json = Vec::new();
        let n = GzDecoder::new(packed.as_slice()).take(n_bytes_max + 1).read_to_end(&mut json);
        if n.map_err(|error| damaged(&error))? as u64 > n_bytes_max {
            return Err(CapsuleError::TooLarge(n_bytes_max));
        }
        let form: Form = serde_json::from_slice(&json).map_err(|error| damaged(&error))?;
        if form.schema != SCHEMA {
            return Err(CapsuleError::Form(form.schema));
        }
        let capsule: Self = serde_json::from_slice(&json).map_err(|error| damaged(&error))?;
        capsule.check()?;
        Ok(capsule)
    }

    /// The path of the session file.
    pub fn session_path(&self) -> Option<&str> {
        let is_meant = |path: &&String| {
            let is_session = path.starts_with("sessions/") || path.starts_with("archived_sessions/");
            is_session && path.rsplit('/').next().and_then(name::session_id) == Some(&self.session)
        };
        self.files.keys().find(is_meant).map(String::as_str)
    }

    /// Whether the files can be written into an empty folder, and one of them is the session.
    fn check(&self) -> Result<(), CapsuleError> {
        if self.files.len() > FILES_MAX {
            return Err(CapsuleError::TooManyFiles(self.files.len()));
        }
        let mut seen = BTreeSet::new();
        for path in self.files.keys() {
            if !is_inside(path) {
                return Err(CapsuleError::Path(path.chars().take(PATH_CHARS_MAX).collect()));
            }
            // Some systems do not distinguish upper and lower case.
            if !seen.insert(path.to_ascii_lowercase()) {
                return Err(CapsuleError::TwoFiles(path.clone()));
            }
        }
        for path in &seen {
            let mut above = path.as_str();
            while let Some((folder, _)) = above.rsplit_once('/') {
                if seen.contains(folder) {
                    return Err(CapsuleError::TwoFiles(folder.to_owned()));
                }
                above = folder;
            }
        }
        match self.session_path() {
            Some(_) => Ok(()),
            None => Err(CapsuleError::Session(self.session.chars().take(PATH_CHARS_MAX).collect())),
        }
    }
}

/// Reads files by their paths. A path that is there twice is refused: readers of JSON do not agree which one counts.
fn unique_files<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    struct Files;
    impl<'de> Visitor<'de> for Files {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("files by their paths")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut files = BTreeMap::new();
            while let Some((path, text)) = map.next_entry::<String, String>()? {
                if files.contains_key(&path) {
                    return Err(de::Error::custom(format!("the file {path} is there twice")));
                }
                files.insert(path, text);
            }
            Ok(files)
        }
    }
    deserializer.deserialize_map(Files)
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
    path.len() <= PATH_CHARS_MAX && steps.len() > 1 && steps.iter().all(is_plain) && FOLDERS.contains(&steps[0])
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

/// The keys of the settings that a capsule has with their values.
const SETTINGS: [&str; 7] = [
    "pack",
    "model",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "model_verbosity",
    "personality",
    "prompt_mode",
];

/// The settings of a configuration file that are words of the program or names of models.
pub fn settings(config: &str) -> BTreeMap<String, String> {
    let table = config.parse::<toml::Table>().unwrap_or_default();
    let value = |key: &str| Some((key.to_owned(), table.get(key)?.as_str().filter(|value| is_name(value))?.to_owned()));
    SETTINGS.into_iter().filter_map(value).collect()
}

/// The pack that a configuration file selects, by its name or its folder.
pub fn config_pack(config: &str) -> Option<String> {
    config.parse::<toml::Table>().ok()?.get("pack")?.as_str().map(str::to_owned)
}

impl Capsule {
    /// A configuration file with the settings. Other keys and values are left out, whatever the capsule has.
    pub fn config(&self) -> String {
        let known = self.settings.iter().filter(|(key, value)| SETTINGS.contains(&key.as_str()) && is_name(value));
        known.map(|(key, value)| format!("{key} = \"{value}\"\n")).collect()
    }
}

/// Whether a text is a word or a name, which can be neither a path nor a command.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.len() <= 80 && !text.starts_with('.') && text.bytes().all(is_plain)
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
