//! Changes of the list of files, made after the session's filter and before the budgets.
//!
//! A change puts the text of another file in the place of a file, leaves a file out or adds one. The session's filter is not
//! applied again afterwards, so a change may add a file that the session would not see otherwise. A change that cannot be
//! made is passed over and reported.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::BootstrapFile;
use super::FileSetLayout;

/// The changes that a layout or a configuration asks for: swaps first, then what is left out, then what is added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FileChangeKeys {
    /// For names of files, the paths of the files whose texts they get.
    pub swap: BTreeMap<String, String>,
    /// The names of files that are left out.
    pub leave_out: Vec<String>,
    /// The paths of files that are added at the end.
    pub add: Vec<String>,
}

impl FileChangeKeys {
    /// These changes, then those of `later`. For one name the later swap counts.
    #[must_use]
    pub fn then(mut self, later: &Self) -> Self {
        self.swap.extend(later.swap.clone());
        self.leave_out.extend(later.leave_out.iter().cloned());
        self.add.extend(later.add.iter().cloned());
        self
    }
}

/// A change of the list, with the texts that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileListChange {
    /// Every file of this name gets the text of another file and keeps its own path.
    Swap {
        /// The name of the files whose text is swapped.
        name: String,
        /// The file that the text comes from.
        by: Box<BootstrapFile>,
    },
    /// Every file of this name is left out.
    LeaveOut {
        /// The name of the files.
        name: String,
    },
    /// A file is added at the end.
    Add(Box<BootstrapFile>),
    /// The change cannot be made.
    Failed {
        /// The file that the change is about.
        what: String,
        /// Why the change cannot be made.
        reason: String,
    },
}

/// A file that was left out by a change, or a change that was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeNote {
    /// The file that the change is about.
    pub what: String,
    /// Why the change was not made; absent for a file that was left out.
    pub reason: Option<String>,
}

/// Makes the changes, in their order.
pub fn changed(mut files: Vec<BootstrapFile>, changes: &[FileListChange]) -> (Vec<BootstrapFile>, Vec<ChangeNote>) {
    let mut notes = Vec::new();
    for change in changes {
        match change {
            FileListChange::Swap { name, by } => {
                let mut named = files.iter_mut().filter(|file| file.name == *name).peekable();
                if named.peek().is_none() {
                    let reason = Some(format!("no file of that name is here, so {} takes no place", by.path));
                    notes.push(ChangeNote { what: name.clone(), reason });
                }
                for file in named {
                    let (name, path) = (file.name.clone(), file.path.clone());
                    *file = BootstrapFile { name, path, text_of: Some(by.path.clone()), ..(**by).clone() };
                }
            }
            FileListChange::LeaveOut { name } => {
                let gone = files.iter().filter(|file| file.name == *name);
                notes.extend(gone.map(|file| ChangeNote { what: file.path.clone(), reason: None }));
                files.retain(|file| file.name != *name);
            }
            FileListChange::Add(file) => files.push((**file).clone()),
            FileListChange::Failed { what, reason } => {
                notes.push(ChangeNote { what: what.clone(), reason: Some(reason.clone()) });
            }
        }
    }
    (files, notes)
}

impl FileSetLayout {
    /// The files of a session with further ones. If there are any, the session's filter holds for all of them.
    #[must_use]
    pub fn with_extra(
        &self,
        files: Vec<BootstrapFile>,
        extra: Vec<BootstrapFile>,
        is_minimal: bool,
    ) -> Vec<BootstrapFile> {
        if extra.is_empty() { files } else { self.for_session(files.into_iter().chain(extra).collect(), is_minimal) }
    }
}
