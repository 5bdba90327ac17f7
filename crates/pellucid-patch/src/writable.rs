//! The paths that a patch may write, and the resolution of links.
//!
//! A path is judged twice: by its text with `..` taken back, and by where links lead it. So neither
//! `..`, nor an absolute path, nor a link inside the workspace that points out of it gets past.
//!
//! Not here: holding what was judged, so that it is still the same when it is written (`place`).

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::FileIdentity;
use pellucid_protocol::protected::GitAccess;
use pellucid_protocol::protected::is_at_or_below;

use crate::verify::normal;

/// As many links as Linux follows before it calls a path a loop.
const N_LINKS_MAX: usize = 40;

/// The places where writing is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writable {
    /// Wherever the system allows it.
    Everywhere,
    /// In these folders; nowhere if the list is empty.
    In(Vec<PatchFolder>),
    /// These files, by where links led when a person agreed to it ([`crate::VerifiedPatch::targets`]). A link that leads
    /// elsewhere since leads out.
    Only(Vec<PathBuf>),
}

/// A folder that may be written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFolder {
    /// The absolute path of the folder.
    pub path: PathBuf,
    /// The identity of the folder, if it was noted: another folder at its path is refused.
    pub identity: Option<FileIdentity>,
    /// Absolute paths below it that may not be written, whether or not they exist.
    pub protected: Vec<PathBuf>,
    /// Whether anything may be written that has a `.git` in its path below the folder.
    pub git: GitAccess,
}

impl Writable {
    /// This folder and everything in it.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self::In(vec![PatchFolder {
            path: path.into(),
            identity: None,
            protected: Vec::new(),
            git: GitAccess::Writable,
        }])
    }

    /// Whether a file at this absolute path may be written.
    pub fn allows(&self, path: &Path) -> bool {
        let mut resolver = Resolver::default();
        let path = normal(path);
        let limits = Limits::new(self, &mut resolver);
        resolver.resolve(&path).is_ok_and(|real| limits.allows(&path, &real))
    }
}

/// The same with links followed, once for a whole patch.
#[derive(Debug)]
pub(crate) struct Limits<'a> {
    writable: &'a Writable,
    /// The roots with links followed; empty without limits.
    roots: Vec<RealRoot<'a>>,
}

/// A root by where it leads.
#[derive(Debug)]
pub(crate) struct RealRoot<'a> {
    pub root: &'a PatchFolder,
    /// The path with links followed.
    pub real: PathBuf,
    /// The protected paths with links followed.
    protected: Vec<PathBuf>,
}

impl<'a> Limits<'a> {
    pub fn new(writable: &'a Writable, resolver: &mut Resolver) -> Self {
        let mut roots = Vec::new();
        if let Writable::In(all) = writable {
            for root in all {
                let Ok(real) = resolver.resolve(&root.path) else {
                    continue;
                };
                let protected = root.protected.iter().filter_map(|path| resolver.resolve(path).ok());
                // A folder that is named as a root is not protected.
                let protected = protected.filter(|path| !real.starts_with(path)).collect();
                roots.push(RealRoot { root, real, protected });
            }
        }
        Self { writable, roots }
    }

    /// Whether a file may be written that is named like this and leads there.
    pub fn allows(&self, path: &Path, real: &Path) -> bool {
        match self.writable {
            Writable::Everywhere => true,
            Writable::Only(files) => files.iter().any(|file| file == real),
            Writable::In(_) => self.root_of(real).is_some_and(|root| root.allows(path, real)),
        }
    }

    /// The root of a path. Of nested roots the innermost decides, so that a protected folder is not opened by a wider
    /// root, and can be opened by naming it.
    pub fn root_of(&self, real: &Path) -> Option<&RealRoot<'a>> {
        let around = self.roots.iter().filter(|root| real.starts_with(&root.real));
        around.max_by_key(|root| root.real.components().count())
    }

    /// Whether writing is limited at all.
    pub fn is_limited(&self) -> bool {
        !matches!(self.writable, Writable::Everywhere)
    }
}

impl RealRoot<'_> {
    fn allows(&self, path: &Path, real: &Path) -> bool {
        let is_in = |folder: &PathBuf| is_at_or_below(path, folder) || is_at_or_below(real, folder);
        if self.root.protected.iter().any(is_in) || self.protected.iter().any(is_in) {
            return false;
        }
        let lets_write =
            |path: &Path, root: &Path| path.strip_prefix(root).map_or(true, |below| self.root.git.lets_write(below));
        lets_write(path, &self.root.path) && lets_write(real, &self.real)
    }
}

/// Follows links, and remembers where folders lead.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    folders: HashMap<PathBuf, PathBuf>,
}

impl Resolver {
    /// The path with every link followed, whether or not the file exists.
    pub fn resolve(&mut self, path: &Path) -> io::Result<PathBuf> {
        let real = self.resolve_last(path)?;
        match fs::symlink_metadata(&real) {
            Ok(metadata) if metadata.is_symlink() => follow(&real),
            _ => Ok(real),
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
pub(crate) fn follow(path: &Path) -> io::Result<PathBuf> {
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
