//! What was found on disk when standing texts were looked for.
//!
//! Texts and hashes arrive ready, so that a decision about files that did not change costs nothing.

use std::sync::Arc;

use sha1::Digest;
use sha1::Sha1;

use super::MISSING;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::utf16;

/// Everything that a decision looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// The instructions.
    pub instructions: Found,
    /// Which file the instructions would be in, if the product's own stand in for it.
    pub instructions_wanted: Option<String>,
    /// The rules.
    pub rules: Found,
    /// The soul, where there is one.
    pub soul: Option<Text>,
    /// The skills.
    pub skills: Vec<Skill>,
    /// Where the workspace's state would be, if it is not initialised.
    pub uninitialised: Option<String>,
}

/// What was found of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Found {
    /// The layout has no such file.
    #[default]
    NotWanted,
    /// Its text.
    Text(Text),
    /// It is not there.
    Missing {
        /// Where it would be.
        path: String,
    },
    /// It is there and cannot be read.
    Unreadable {
        /// Where it is.
        path: String,
        /// Why not.
        error: String,
    },
    /// It is not UTF-8.
    Corrupt {
        /// Where it is.
        path: String,
    },
}

/// Which of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// The instructions.
    Instructions,
    /// The rules.
    Rules,
}

impl FileRole {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Rules => "rules",
        }
    }
}

/// A text with its hash. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Where it came from.
    pub origin: TextOrigin,
    /// The whole text.
    pub text: Arc<str>,
    /// Its SHA-1, in hexadecimal digits.
    pub hash: Arc<str>,
}

/// Where a text came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextOrigin {
    /// A file of the pack.
    Pack(Arc<str>),
    /// A file on disk.
    Disk(Arc<str>),
}

/// A skill that the model can ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where it lies.
    pub source: String,
    /// Its whole file.
    pub text: Arc<str>,
}

impl Text {
    /// A text of a file on disk.
    pub fn on_disk(path: &str, text: &str) -> Self {
        Self { origin: TextOrigin::Disk(path.into()), text: text.into(), hash: sha1(text).into() }
    }

    /// A text of the pack.
    pub fn in_pack(file: &Arc<str>, text: &str) -> Self {
        Self { origin: TextOrigin::Pack(file.clone()), text: text.into(), hash: sha1(text).into() }
    }

    /// Whether it says nothing.
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

impl Found {
    /// The text, if it was found.
    pub fn text(&self) -> Option<&Text> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it hashes to.
    pub fn hash(&self) -> &str {
        self.text().map_or(MISSING, |text| &text.hash)
    }

    /// Where it is or would be.
    pub fn path(&self) -> &str {
        match self {
            Self::NotWanted => "",
            Self::Text(Text { origin: TextOrigin::Pack(path) | TextOrigin::Disk(path), .. }) => path,
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
pub(super) fn skills_hash(skills: &[Skill]) -> String {
    let row = |skill: &Skill| serde_json::json!({ "name": skill.name, "description": skill.description, "source": skill.source });
    sha1(&serde_json::Value::Array(skills.iter().map(row).collect()).to_string())
}
