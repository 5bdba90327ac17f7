//! Finds a session file: by id, or the newest of a folder.
//!
//! This does not need the index: the newest file is found by the times of all and the first lines of a few.

use std::path::Path;
use std::path::PathBuf;

use crate::summary;
use crate::walk;
use crate::walk::SessionPlace;

/// The conditions that a session has to fulfil.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionFilter<'a> {
    /// Only sessions that worked in this folder.
    pub cwd: Option<&'a Path>,
    /// Only sessions of this provider.
    pub provider: Option<&'a str>,
}

/// The file of the session with this id.
pub fn by_id(home: &Path, id: &str) -> Option<PathBuf> {
    walk::by_id(home, SessionPlace::Live, id)
}

/// The file of a session that may be archived.
pub fn anywhere(home: &Path, id: &str) -> Option<PathBuf> {
    by_id(home, id).or_else(|| walk::by_id(home, SessionPlace::Archived, id))
}

/// The file that was written last among those that are wanted and not archived.
pub fn newest(home: &Path, wanted: SessionFilter<'_>) -> Option<PathBuf> {
    newest_in(home, SessionPlace::Live, wanted)
}

/// The file of a place that was written last among those that are wanted.
pub fn newest_in(home: &Path, place: SessionPlace, wanted: SessionFilter<'_>) -> Option<PathBuf> {
    let mut files = walk::walk(home, place);
    files.sort_unstable_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.relative.cmp(&a.relative)));
    let real = wanted.cwd.and_then(|cwd| cwd.canonicalize().ok());
    let is_wanted = |path: &PathBuf| {
        if wanted.cwd.is_none() && wanted.provider.is_none() {
            return true;
        }
        let Some(head) = summary::head(path) else {
            return false;
        };
        wanted.provider.is_none_or(|provider| head.model_provider.as_deref() == Some(provider))
            && wanted.cwd.is_none_or(|cwd| is_same_folder(Path::new(&head.cwd), cwd, real.as_deref()))
    };
    files.into_iter().map(|file| home.join(file.relative)).find(is_wanted)
}

fn is_same_folder(a: &Path, b: &Path, real_b: Option<&Path>) -> bool {
    a == b || real_b.is_some_and(|b| a == b || a.canonicalize().is_ok_and(|a| a == b))
}

#[cfg(test)]
mod tests;
