//! Where a patch may write, and where a path really leads.
//!
//! A path is judged twice: by its text with `..` taken back, and by where links lead it. So neither
//! `..`, nor an absolute path, nor a link inside the workspace that points out of it gets past.
//!
//! Not here: a sandbox. Whoever can swap a folder for a link between this check and the write is
//! only stopped by one.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::fs::Metadata;
use std::io;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use crate::verify::normal;

/// As many links as Linux follows before it calls a path a loop.
const N_LINKS_MAX: usize = 40;

/// Where writing is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writable {
    /// Wherever the system allows it.
    Everywhere,
    /// In these folders; in none if there are none.
    In(Vec<Root>),
}

/// A folder that may be written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The folder, absolute.
    pub path: PathBuf,
    /// What in it may not be written all the same, absolute.
    pub protected: Vec<PathBuf>,
}

impl Writable {
    /// This folder and everything in it.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self::In(vec![Root { path: path.into(), protected: Vec::new() }])
    }

    /// Whether a file at this absolute path may be written.
    pub fn allows(&self, path: &Path) -> bool {
        let mut resolver = Resolver::default();
        let path = normal(path);
        resolver.resolve(&path).is_ok_and(|real| self.allows_resolved(&path, &real, &mut resolver))
    }

    /// The same if it is known where the path leads.
    pub(crate) fn allows_resolved(&self, path: &Path, real: &Path, resolver: &mut Resolver) -> bool {
        let Self::In(roots) = self else {
            return true;
        };
        let mut is_in = |folder: &Path| resolver.resolve(folder).is_ok_and(|folder| real.starts_with(folder));
        // Of nested roots the innermost decides, so that a protected folder is not opened by a wider
        // root, and can be opened by naming it.
        let innermost = roots.iter().filter(|root| is_in(&root.path)).max_by_key(|root| root.path.components().count());
        innermost.is_some_and(|root| !root.protected.iter().any(|folder| path.starts_with(folder) || is_in(folder)))
    }
}

/// Follows links, and remembers where folders lead.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    folders: HashMap<PathBuf, PathBuf>,
}

impl Resolver {
    /// Where an absolute path leads when every link in it is followed, whether or not anything is there.
    pub fn resolve(&mut self, path: &Path) -> io::Result<PathBuf> {
        self.resolve_and_look(path).map(|(real, _)| real)
    }

    /// The same, with what is known about the file there if that had to be looked at.
    pub fn resolve_and_look(&mut self, path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
        let real = self.resolve_last(path)?;
        match fs::symlink_metadata(&real) {
            Ok(metadata) if metadata.is_symlink() => Ok((follow(&real)?, None)),
            found => Ok((real, found.ok())),
        }
    }

    /// The same, but if the path itself is a link it leads to that link.
    pub fn resolve_last(&mut self, path: &Path) -> io::Result<PathBuf> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return follow(path);
        };
        if let Some(real) = self.folders.get(folder) {
            return Ok(real.join(name));
        }
        let real = follow(folder)?;
        let whole = real.join(name);
        self.folders.insert(folder.to_owned(), real);
        Ok(whole)
    }
}

/// Follows links one by one, because the path's end may be missing.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::new();
    let mut pending: Vec<OsString> = parts(path);
    let mut n_links = 0;
    while let Some(part) = pending.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match fs::read_link(&next) {
            Ok(target) => {
                n_links += 1;
                if n_links > N_LINKS_MAX {
                    return Err(io::Error::other("too many links"));
                }
                if target.is_absolute() {
                    real.clear();
                }
                pending.extend(parts(&target));
            }
            // No link: a file, a folder or nothing.
            Err(_) => real = next,
        }
    }
    Ok(real)
}

/// The parts of a path, the first last.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev().filter(|part| !matches!(part, Component::CurDir));
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests;
