//! What sources want to have read, and what was found.
//!
//! The engine names paths and does not follow them; whoever may look at a disk fills in [`Read`].
//! A file of which only beginning and end can be used need not be read into memory whole: see
//! [`FileText::Ends`].

use std::collections::BTreeMap;

use crate::cut::ends;
use crate::file_chunks::of_file;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;

/// What a source wants to have read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wants {
    /// Files, by their absolute paths.
    pub files: Vec<FileWanted>,
    /// Documents along a path of folders.
    pub repo: Option<RepoWanted>,
}

/// A file that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWanted {
    /// Its absolute path.
    pub path: String,
    /// How much of it can be used.
    pub keep: Keep,
}

/// How much of a file can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All of it.
    Whole,
    /// If it is longer than this, only so many bytes at either end.
    Ends {
        /// So many.
        bytes: usize,
        /// Whether the length of the whole text has to be known.
        counts: Counts,
    },
}

/// Whether the length of a file's text has to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// It has, so all of the file is looked at.
    Text,
    /// It has not.
    Nothing,
}

/// Documents that are wanted: from the nearest folder above with a marker, down to the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoWanted {
    /// The folder to climb from, absolute.
    pub start: String,
    /// What the top folder contains.
    pub markers: Vec<String>,
    /// File names to look for in each folder, in order.
    pub names: Vec<String>,
    /// Whether only the first of the names counts in a folder.
    pub first_only: bool,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// The files, by their absolute paths.
    pub files: BTreeMap<String, FileRead>,
    /// The documents.
    pub repo: RepoRead,
}

/// Documents that were found, from the top folder down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepoRead {
    /// Each with its path from the top folder.
    pub documents: Vec<(String, FileRead)>,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRead {
    /// It was read.
    Text(FileText),
    /// There is no such file.
    Missing,
    /// It is there but cannot be read.
    Failed {
        /// Why not.
        error: String,
    },
}

/// A file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileText {
    /// All of it.
    Whole {
        /// Where it lies.
        path: FileVersion,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// Its ends.
    Ends {
        /// Where it lies.
        path: FileVersion,
        /// Its first bytes.
        head: Vec<u8>,
        /// Its last bytes, from where a character begins.
        tail: Vec<u8>,
        /// How many bytes it has.
        size: u64,
        /// How many bytes its text has, once what is no UTF-8 is replaced; if that was counted.
        text_bytes: u64,
        /// How many UTF-16 units its text has, if that was counted.
        units: u64,
    },
}

impl FileText {
    /// A file that was read whole.
    pub fn whole(path: impl AsRef<str>, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::Whole { path: FileVersion::of(path.as_ref(), &bytes), bytes }
    }

    /// How many bytes the file has.
    pub fn size(&self) -> u64 {
        match self {
            Self::Whole { bytes, .. } => bytes.len() as u64,
            Self::Ends { size, .. } => *size,
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &FileVersion {
        match self {
            Self::Whole { path, .. } | Self::Ends { path, .. } => path,
        }
    }

    /// Its text; of a file whose middle was not read, the beginning.
    pub fn fragments(&self) -> Vec<Fragment> {
        match self {
            Self::Whole { path, bytes } => of_file(path, bytes, 0, bytes.len() as u64),
            Self::Ends { path, head, size, .. } => of_file(path, head, 0, *size),
        }
    }

    /// Beginning and end within a budget of bytes, with a marker between them.
    pub fn cut(&self, max: i64, marker: &str) -> Vec<Fragment> {
        match self {
            Self::Whole { .. } => ends::head_marker_tail_of(self.fragments(), Some(max), marker),
            Self::Ends { path, head, tail, size, .. } => {
                let max = usize::try_from(max).unwrap_or(0);
                let marker = if marker.is_empty() { ends::DEFAULT_MARKER } else { marker };
                let first = of_file(path, head, 0, *size);
                if marker.len() >= max {
                    return ends::head_of(&first, max);
                }
                let rest = max - marker.len();
                let last = of_file(path, tail, size - tail.len() as u64, *size);
                let mut kept = ends::head_of(&first, rest / 2);
                kept.push(Fragment::layout(marker));
                kept.extend(ends::tail_of(&last, rest - rest / 2));
                kept
            }
        }
    }
}
