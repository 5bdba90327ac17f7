//! The files that sources need, and the result of reading them.
//!
//! The engine names paths and reads no files; the caller fills in [`InjectionRead`]. A file of which only beginning and end
//! can be used need not be read into memory whole: see [`FileText::Ends`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cut::ends;
use crate::cut::ends::KeptEnds;
use crate::file_chunks::of_file;
use crate::file_version::FileVersion;
use crate::fragment::Fragment;

/// The files that a source needs.
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
    /// The absolute path of the file.
    pub path: String,
    /// The part of the file that can be used.
    pub keep: ReadExtent,
}

/// How much of a file can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadExtent {
    /// The whole file is kept.
    Whole,
    /// If it is longer than this, only so many bytes at either end.
    Ends {
        /// The number of bytes kept at each end.
        bytes: usize,
        /// Whether the length of the whole text has to be known.
        counts: Counts,
    },
}

/// Whether the length of a file's text has to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// The limit has, so the whole file is counted.
    Text,
    /// The limit has not, so the file need not be counted.
    Nothing,
}

/// Documents that are wanted: from the nearest folder above with a marker, down to the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoWanted {
    /// The folder to climb from, absolute.
    pub start: String,
    /// Names of entries that mark the top folder.
    pub markers: Vec<String>,
    /// File names to look for in each folder, in order.
    pub names: Vec<String>,
    /// Whether only the first of the names counts in a folder.
    pub first_only: bool,
}

/// The files that were read for a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InjectionRead {
    /// The files, by their absolute paths.
    pub files: BTreeMap<String, FileRead>,
    /// The documents of the repository.
    pub repo: RepoRead,
    /// What reading them cost.
    pub measured: ReadCost,
}

/// What reading the files of a source cost, as the program that read them measured it. No two costs differ, because the same
/// files make the same items however long they took to read.
#[derive(Debug, Clone, Default)]
pub struct ReadCost {
    /// How long reading took, if that was measured.
    pub duration: Option<Duration>,
    /// What is known of each file, by its path.
    pub files: BTreeMap<String, FileCost>,
}

impl PartialEq for ReadCost {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ReadCost {}

/// What reading a file cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileCost {
    /// How many bytes of the file were kept in memory.
    pub bytes_read: u64,
    /// When the file was changed last, in milliseconds since 1970.
    pub mtime: Option<u64>,
}

/// Documents that were found, from the top folder down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepoRead {
    /// The documents, each with its path from the top folder.
    pub documents: Vec<(String, FileRead)>,
}

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRead {
    /// The file was read.
    Text(FileText),
    /// The file does not exist.
    Missing,
    /// The file exists but cannot be read.
    Failed {
        /// The error of the operating system.
        error: String,
    },
}

/// The content of a file, whole or its two ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileText {
    /// The whole content of the file.
    Whole {
        /// The path of the file, with its hash.
        path: FileVersion,
        /// The bytes of the file.
        bytes: Vec<u8>,
    },
    /// The beginning and the end of a long file.
    Ends {
        /// The path of the file, with its hash.
        path: FileVersion,
        /// The first bytes of the file.
        head: Vec<u8>,
        /// The last bytes of the file, from the beginning of a character.
        tail: Vec<u8>,
        /// The number of bytes of the file.
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

    /// How many bytes of the file are in memory.
    pub fn bytes_read(&self) -> u64 {
        match self {
            Self::Whole { bytes, .. } => bytes.len() as u64,
            Self::Ends { head, tail, .. } => (head.len() + tail.len()) as u64,
        }
    }

    /// The path of the file, with its hash if that is known.
    pub fn path(&self) -> &FileVersion {
        match self {
            Self::Whole { path, .. } | Self::Ends { path, .. } => path,
        }
    }

    /// The text in fragments; of a file whose middle was not read, the beginning.
    pub fn fragments(&self) -> Vec<Fragment> {
        match self {
            Self::Whole { path, bytes } => of_file(path, bytes, 0, bytes.len() as u64),
            Self::Ends { path, head, size, .. } => of_file(path, head, 0, *size),
        }
    }

    /// Beginning and end within a budget of bytes, with a marker between them, and what was kept if the file was cut.
    pub fn cut(&self, max: i64, marker: &str) -> (Vec<Fragment>, Option<KeptEnds>) {
        match self {
            Self::Whole { .. } => ends::cut_of(self.fragments(), Some(max), marker),
            Self::Ends { path, head, tail, size, .. } => {
                let max = usize::try_from(max).unwrap_or(0);
                let marker = if marker.is_empty() { ends::DEFAULT_MARKER } else { marker };
                let first = of_file(path, head, 0, *size);
                if marker.len() >= max {
                    let kept = ends::head_of(&first, max);
                    let ends = KeptEnds { head: ends::length(&kept), ..KeptEnds::default() };
                    return (kept, Some(ends));
                }
                let rest = max - marker.len();
                let last = of_file(path, tail, size - tail.len() as u64, *size);
                let (mut kept, last) = (ends::head_of(&first, rest / 2), ends::tail_of(&last, rest - rest / 2));
                let ends = KeptEnds { head: ends::length(&kept), tail: ends::length(&last), marker: marker.len() };
                kept.push(Fragment::layout(marker));
                kept.extend(last);
                (kept, Some(ends))
            }
        }
    }
}
