//! The file of a recording. Each reply is written when it is over, so that a crash loses only the reply that was coming
//! in.

use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_protocol::provider::Provider;
use serde_json::Value;
use serde_json::json;

use crate::script::ProviderForm;

/// A file that replies are written to. Clones are the same file.
#[derive(Debug, Clone)]
pub struct Tape {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    file: File,
    path: PathBuf,
    format: Format,
    n_replies: usize,
    /// The first error; nothing is written after it.
    broken: Option<io::Error>,
}

/// Why a recording is incomplete.
#[expect(missing_docs, reason = "the messages of the variants name the fields")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TapeError {
    /// The file cannot be created.
    #[error("could not create {path}: {source}")]
    Create { path: PathBuf, source: io::Error },
    /// A reply could not be written, and no later one was.
    #[error("{path} ends after {n_replies} replies: {source}")]
    Write {
        path: PathBuf,
        /// How many replies the file contains.
        n_replies: usize,
        source: io::Error,
    },
}

/// The format of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Toml,
    JsonLines,
}

impl Tape {
    /// Begins a recording in a new file, or in place of an old one. The format is JSON Lines if the name ends in
    /// `.jsonl`, else TOML. Only the owner can read the file, because a model's replies may be private.
    ///
    /// # Errors
    ///
    /// When the file cannot be created.
    pub fn create(path: &Path, provider: &Provider) -> Result<Self, TapeError> {
        let failed = |source| TapeError::Create { path: path.to_owned(), source };
        let format = match path.extension() {
            Some(extension) if extension == "jsonl" => Format::JsonLines,
            _ => Format::Toml,
        };
        let mut file = pellucid_files::create_or_empty_private(path).map_err(failed)?;
        file.write_all(format.head(provider).as_bytes()).map_err(failed)?;
        let shared = Shared { file, path: path.to_owned(), format, n_replies: 0, broken: None };
        Ok(Self { shared: Arc::new(Mutex::new(shared)) })
    }

    /// Writes a reply to the file.
    pub(super) fn write(&self, reply: &Value) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.broken.is_some() {
            return;
        }
        let text = shared.format.reply(reply);
        match shared.file.write_all(text.as_bytes()) {
            Ok(()) => shared.n_replies += 1,
            Err(error) => shared.broken = Some(error),
        }
    }

    /// Reports, once, that the recording is incomplete.
    ///
    /// # Errors
    ///
    /// When a reply could not be written.
    pub fn finish(&self) -> Result<(), TapeError> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        match shared.broken.take() {
            Some(source) => Err(TapeError::Write { path: shared.path.clone(), n_replies: shared.n_replies, source }),
            None => Ok(()),
        }
    }
}

impl Format {
    fn head(self, provider: &Provider) -> String {
        let provider = json!(ProviderForm::of(provider));
        match self {
            Self::JsonLines => format!("{}\n", json!({ "provider": provider })),
            Self::Toml => {
                let mut text = "[provider]\n".to_owned();
                for (key, value) in provider.as_object().into_iter().flatten() {
                    text.push_str(&format!("{key} = {}\n", toml_text(value)));
                }
                text
            }
        }
    }

    pub(super) fn reply(self, reply: &Value) -> String {
        match self {
            Self::JsonLines => format!("{reply}\n"),
            Self::Toml => {
                let mut text = "\n[[reply]]\n".to_owned();
                for (key, value) in reply.as_object().into_iter().flatten() {
                    match value.as_array() {
                        Some(list) => {
                            text.push_str(&format!("{key} = [\n"));
                            for value in list {
                                text.push_str(&format!("  {},\n", toml_text(value)));
                            }
                            text.push_str("]\n");
                        }
                        None => text.push_str(&format!("{key} = {}\n", toml_text(value))),
                    }
                }
                text
            }
        }
    }
}

/// A value as TOML on one line.
fn toml_text(value: &Value) -> String {
    toml_value(value).map(|value| value.to_string()).unwrap_or_default()
}

/// The TOML form of a value. Absent values have none, and numbers are cut to the range of TOML.
fn toml_value(value: &Value) -> Option<toml::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => toml::Value::Boolean(*flag),
        Value::Number(number) => match (number.as_i64(), number.is_u64()) {
            (Some(number), _) => toml::Value::Integer(number),
            (None, true) => toml::Value::Integer(i64::MAX),
            (None, false) => toml::Value::Float(number.as_f64()?),
        },
        Value::String(text) => toml::Value::String(text.clone()),
        Value::Array(list) => toml::Value::Array(list.iter().filter_map(toml_value).collect()),
        Value::Object(table) => {
            let entries = table.iter().filter_map(|(key, value)| Some((key.clone(), toml_value(value)?)));
            toml::Value::Table(entries.collect())
        }
    })
}
