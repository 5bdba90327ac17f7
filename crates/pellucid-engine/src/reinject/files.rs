//! The standing texts that were found on disk.
//!
//! Texts and hashes arrive ready, so that a decision about files that did not change costs nothing.

use std::sync::Arc;

use serde::Deserialize;
use sha1::Digest;
use sha1::Sha1;

use super::MISSING;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::not_utf8::NotUtf8;
use crate::not_utf8::TextEnd;
use crate::utf16;

/// Everything that a decision looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InjectionInput {
    /// The file of instructions.
    pub instructions: FoundFile,
    /// The path of the missing instruction file, if the built-in instructions replace it.
    pub instructions_wanted: Option<String>,
    /// The file of rules.
    pub rules: FoundFile,
    /// The soul, if the workspace has one.
    pub soul: Option<HashedText>,
    /// The skills of the workspace.
    pub skills: Vec<StandingSkill>,
    /// The path of the workspace's missing state file, if the workspace is not initialised.
    pub uninitialised: Option<String>,
    /// Skills that cannot be used, and why not.
    pub unusable_skills: Vec<(String, String)>,
}

/// The result of reading one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FoundFile {
    /// The layout has no such file.
    #[default]
    NotWanted,
    /// The file was read.
    Text(HashedText),
    /// The file does not exist.
    Missing {
        /// The path where the file was looked for.
        path: String,
    },
    /// The file exists and cannot be read.
    Unreadable {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        error: String,
    },
    /// The file is not UTF-8.
    Corrupt {
        /// The path of the file.
        path: String,
    },
}

/// The two files that go before an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// The file of instructions.
    Instructions,
    /// The file of rules.
    Rules,
}

impl FileRole {
    /// What was found of the file.
    pub(super) fn of(self, files: &InjectionInput) -> &FoundFile {
        match self {
            Self::Instructions => &files.instructions,
            Self::Rules => &files.rules,
        }
    }

    /// The word for the file in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Rules => "rules",
        }
    }
}

/// A text with its hash. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedText {
    /// The origin of the text.
    pub origin: TextOrigin,
    /// The whole text of the file.
    pub text: Arc<str>,
    /// The SHA-1 of the text, in hexadecimal digits.
    pub hash: Arc<str>,
    /// The bytes of the file that are not UTF-8; U+FFFD replaces them.
    pub not_utf8: Option<NotUtf8>,
}

/// The origin of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextOrigin {
    /// A file of the pack.
    Pack(FileVersion),
    /// A file on disk.
    Disk(FileVersion),
}

/// A skill that the model can ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingSkill {
    /// The name of the skill.
    pub name: String,
    /// The description of the skill.
    pub description: String,
    /// The path of the skill's file.
    pub source: String,
    /// The whole text of the file.
    pub text: Arc<str>,
}

impl HashedText {
    /// A text of a file on disk.
    pub fn on_disk(path: &str, text: &str) -> Self {
        Self {
            origin: TextOrigin::Disk(FileVersion::of(path, text.as_bytes())),
            text: text.into(),
            hash: sha1(text).into(),
            not_utf8: None,
        }
    }

    /// The text of a file on disk that may hold bytes which are not UTF-8.
    pub fn read(path: &str, bytes: &[u8]) -> Self {
        let not_utf8 = NotUtf8::find(bytes, TextEnd::OfFile);
        let text = String::from_utf8_lossy(bytes);
        let origin = TextOrigin::Disk(FileVersion::of(path, bytes));
        Self { origin, hash: sha1(&text).into(), text: text.into(), not_utf8 }
    }

    /// A text of the pack.
    pub fn in_pack(file: &FileVersion, text: &str) -> Self {
        Self { origin: TextOrigin::Pack(file.clone()), text: text.into(), hash: sha1(text).into(), not_utf8: None }
    }

    /// Whether the text is blank.
    pub fn is_blank(&self) -> bool {
        utf16::is_blank(&self.text)
    }

    /// The trimmed text as a fragment.
    pub(super) fn trimmed(&self) -> Fragment {
        let trimmed = utf16::trim(&self.text);
        let origin = match &self.origin {
            TextOrigin::Pack(file) => Origin::Pack { file: file.clone() },
            TextOrigin::Disk(path) => {
                let start = trimmed.as_ptr() as usize - self.text.as_ptr() as usize;
                let end = (start + trimmed.len()) as u64;
                // White space at the end is no loss, so nothing counts as cut.
                Origin::File { path: path.clone(), range: start as u64..end, size: end }
            }
        };
        Fragment { origin, text: trimmed.to_owned() }
    }
}

impl InjectionInput {
    /// The files on disk that were found.
    pub fn on_disk(&self) -> impl Iterator<Item = &FileVersion> {
        let texts = [&self.instructions, &self.rules].into_iter().filter_map(|found| found.text());
        texts.chain(&self.soul).filter_map(|text| match &text.origin {
            TextOrigin::Disk(path) => Some(path),
            TextOrigin::Pack(_) => None,
        })
    }

    /// The omissions for files that exist and that the model does not see, or sees changed.
    pub fn omissions(&self, slot: &str) -> Vec<Omission> {
        let unusable = |error: &str| Why::Unusable { error: error.to_owned() };
        let of_text = |text: &HashedText| match &text.origin {
            TextOrigin::Disk(path) => Some((path.to_string(), Why::NotUtf8(text.not_utf8?))),
            TextOrigin::Pack(_) => None,
        };
        let of_found = |found: &FoundFile| match found {
            FoundFile::NotWanted | FoundFile::Missing { .. } => None,
            FoundFile::Text(text) => of_text(text),
            FoundFile::Unreadable { path, error } => Some((path.clone(), unusable(error))),
            FoundFile::Corrupt { path } => Some((path.clone(), unusable("it is not UTF-8"))),
        };
        let found = [&self.instructions, &self.rules].into_iter().filter_map(of_found);
        let soul = self.soul.iter().filter_map(of_text);
        let skills = self.unusable_skills.iter().map(|(path, error)| (path.clone(), unusable(error)));
        let omission = |(what, why)| Omission { slot: slot.into(), what, why };
        found.chain(soul).chain(skills).map(omission).collect()
    }
}

impl FoundFile {
    /// The text, if it was found.
    pub fn text(&self) -> Option<&HashedText> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The hash of the content, or `missing`.
    pub fn hash(&self) -> &str {
        self.text().map_or(MISSING, |text| &text.hash)
    }

    /// The path of the file, whether it exists or not.
    pub fn path(&self) -> &str {
        match self {
            Self::NotWanted => "",
            Self::Text(HashedText { origin: TextOrigin::Pack(path) | TextOrigin::Disk(path), .. }) => path,
            Self::Missing { path } | Self::Unreadable { path, .. } | Self::Corrupt { path } => path,
        }
    }
}

/// The SHA-1 of a text, in hexadecimal digits.
pub fn sha1(text: &str) -> String {
    use std::fmt::Write;
    Sha1::digest(text.as_bytes()).iter().fold(String::with_capacity(40), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The SHA-1 of the list of skills, which changes when a skill comes, goes or says something else.
pub(super) fn skills_hash(skills: &[StandingSkill]) -> String {
    let row = |skill: &StandingSkill| serde_json::json!({ "name": skill.name, "description": skill.description, "source": skill.source });
    sha1(&serde_json::Value::Array(skills.iter().map(row).collect()).to_string())
}
