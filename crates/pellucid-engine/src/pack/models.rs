//! `models.json` of a pack: texts for particular models, in the shape of the upstream catalogue.
//!
//! Only the texts are read. What a model can do is the model catalogue's say.

use pellucid_protocol::model::ModelMessages;
use serde::Deserialize;

use super::PackError;
use super::PackFile;
use crate::file_version::FileVersion;

/// The entries of `models.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelEntries {
    entries: Vec<ModelEntry>,
}

/// The texts of a pack for one model, or for all models whose names begin with the entry's name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ModelEntry {
    /// The model, or the beginning of its name.
    pub slug: String,
    /// The base instructions for the model.
    #[serde(default)]
    pub base_instructions: Option<String>,
    /// The base instructions with a placeholder for the tone.
    #[serde(default)]
    pub model_messages: Option<ModelMessages>,
    /// The description in model pickers.
    #[serde(default)]
    pub description: Option<String>,
    /// The descriptions of reasoning levels in model pickers.
    #[serde(default)]
    pub supported_reasoning_levels: Vec<LevelText>,
    /// The file of the entry.
    #[serde(skip)]
    pub file: FileVersion,
}

/// The description of a reasoning level in model pickers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct LevelText {
    /// The level, by its name.
    pub effort: String,
    /// The description, on one line.
    #[serde(default)]
    pub description: String,
}

#[derive(Deserialize)]
struct Raw {
    models: Vec<ModelEntry>,
}

impl ModelEntries {
    pub(super) fn parse(file: &PackFile) -> Result<Self, PackError> {
        let mut raw: Raw = serde_json::from_str(&file.text).map_err(|error| PackError::Syntax {
            file: file.shown.to_string(),
            line: error.line(),
            column: error.column(),
            message: message(&error),
        })?;
        for entry in &mut raw.models {
            entry.file = file.shown.clone();
        }
        Ok(Self { entries: raw.models })
    }

    /// The entry of just this name.
    pub(super) fn named(&self, slug: &str) -> Option<&ModelEntry> {
        self.entries.iter().find(|entry| entry.slug == slug)
    }

    /// The entry with the longest name that begins the model's.
    pub(super) fn find(&self, slug: &str) -> Option<&ModelEntry> {
        let fits = |entry: &&ModelEntry| slug.starts_with(&entry.slug);
        self.entries.iter().filter(fits).max_by_key(|entry| entry.slug.len())
    }
}

/// The parser's message without the position, which the error already has.
fn message(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    whole.split(" at line ").next().unwrap_or(&whole).to_owned()
}
