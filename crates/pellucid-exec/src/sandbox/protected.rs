//! The paths that stay read-only under a writable root: folders of the repository, of agents and of this program.
//!
//! Writing there would reach beyond the command: a hook or a filter of git's configuration, an agent's settings or
//! skills run later, without a sandbox. Where agents look for their folders, a missing one must stay missing.
//!
//! - `repositories`: git's folders, and those of repositories further down that are known
//!
//! Not here: enforcing it. A backend does, and the check of patches does for itself.

mod repositories;

use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::is_placeholder;
use pellucid_protocol::protected::AGENT_FOLDERS;
use pellucid_protocol::protected::GIT;

/// Whether `.git` and the folders of agents stay read-only under writable roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protection {
    /// The names are protected, at any cost.
    #[default]
    On,
    /// The names are not protected.
    Off,
}

/// The agent's folders and the user, from which the protected paths follow.
#[derive(Debug, Clone, Default)]
pub struct ProtectionBasis {
    /// Whether folders of the project are protected.
    pub protection: Protection,
    /// The working folder of the session.
    pub cwd: PathBuf,
    /// The top folder of its project.
    pub project_root: PathBuf,
    /// The home folders of this program. They are protected always.
    pub homes: Vec<PathBuf>,
}

/// The protected paths below writable roots. No component of a path is a link, except the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Protected {
    /// The protected paths that exist.
    pub there: Vec<PathBuf>,
    /// Folders that do not exist and must not be made.
    pub missing: Vec<PathBuf>,
    /// Names above that are links. What they lead to is protected; a mount cannot keep the link itself in its place.
    pub links: Vec<PathBuf>,
}

impl Protected {
    /// All names that a patch may not touch.
    pub fn names(&self) -> Vec<PathBuf> {
        [&self.there, &self.missing, &self.links].into_iter().flatten().cloned().collect()
    }

    /// Adds a name that must not change.
    fn add(&mut self, path: &Path) {
        match std::fs::symlink_metadata(path) {
            Err(error) if is_missing(&error) => self.missing.push(path.to_owned()),
            // A path that this user cannot inspect cannot be changed by a command either.
            Err(_) => {}
            Ok(_) if is_placeholder(path) => self.missing.push(path.to_owned()),
            Ok(metadata) if metadata.is_symlink() => {
                self.links.push(path.to_owned());
                self.add_target(path);
            }
            Ok(_) => self.there.push(path.to_owned()),
        }
    }

    /// Looks at a name only if something is there.
    fn add_existing(&mut self, path: &Path) {
        if path.symlink_metadata().is_ok() {
            self.add(path);
        }
    }

    /// Protects what a link leads to, or would lead to.
    fn add_target(&mut self, link: &Path) {
        match std::fs::canonicalize(link) {
            Ok(target) => self.there.push(target),
            Err(_) => {
                let named = std::fs::read_link(link).ok().and_then(|text| Some(link.parent()?.join(text)));
                self.missing.extend(named.as_deref().and_then(first_missing));
            }
        }
    }

    /// Keeps the paths below roots, each once.
    fn below(mut self, roots: &[PathBuf]) -> Self {
        for list in [&mut self.there, &mut self.missing, &mut self.links] {
            let mut seen = Vec::new();
            list.retain(|path| {
                let is_new = roots.iter().any(|root| path.starts_with(root)) && !seen.contains(path);
                seen.push(path.clone());
                is_new
            });
        }
        // A path inside of something read-only cannot be made, unless a root is between the two.
        let there = &self.there;
        self.missing.retain(|path| {
            let is_open =
                |it: &Path| roots.iter().any(|root| root != it && root.starts_with(it) && path.starts_with(root));
            !there.iter().any(|it| path.starts_with(it) && !is_open(it))
        });
        self
    }
}

/// Whether this is the name of a folder of agents: the next one to come there would be read.
pub fn is_of_agents(path: &Path) -> bool {
    path.file_name().is_some_and(|name| AGENT_FOLDERS.iter().any(|it| name == *it))
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// How far repositories below the top one are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nested {
    /// Configuration and hooks of known nested repositories are protected.
    Known,
    /// Not at all: around what Landlock spares no file can be made, which would end all work in them.
    Not,
}

/// The protected paths below these roots, whose paths have no links.
pub fn find(roots: &[PathBuf], ground: &ProtectionBasis, nested: Nested) -> Protected {
    let mut found = Protected::default();
    for home in &ground.homes {
        add_home(home, &mut found);
    }
    if ground.protection == Protection::Off {
        return found.below(roots);
    }
    for root in roots {
        repositories::add(root, &mut found);
        // A root with a repository is a project, in which a user may start this program as well.
        let is_project = root.join(GIT).symlink_metadata().is_ok();
        for name in AGENT_FOLDERS {
            if is_project {
                found.add(&root.join(name));
            } else {
                found.add_existing(&root.join(name));
            }
        }
    }
    for folder in project_folders(ground) {
        for name in AGENT_FOLDERS {
            found.add(&folder.join(name));
        }
        if nested == Nested::Known && !roots.contains(&folder) {
            repositories::add_parts(&folder.join(GIT), &mut found);
        }
        if nested == Nested::Known {
            repositories::add_known(&folder, &mut found);
        }
    }
    found.below(roots)
}

/// The home folder, or the first folder on the way to it that is missing.
fn add_home(home: &Path, found: &mut Protected) {
    match std::fs::canonicalize(home) {
        Ok(real) => {
            // The link by which it is reached would lead elsewhere.
            if real != home && home.is_symlink() {
                found.links.push(home.to_owned());
            }
            found.add(&real);
        }
        Err(_) => found.missing.extend(first_missing(home)),
    }
}

/// The outermost missing part of a path, whose parent is free of links.
fn first_missing(path: &Path) -> Option<PathBuf> {
    let mut names = path.ancestors().zip(path.ancestors().skip(1));
    names.find_map(|(path, parent)| Some(std::fs::canonicalize(parent).ok()?.join(path.file_name()?)))
}

/// The folders whose settings hold for the session: from the working folder up to the top of its project.
fn project_folders(ground: &ProtectionBasis) -> Vec<PathBuf> {
    let Ok(cwd) = std::fs::canonicalize(&ground.cwd) else { return Vec::new() };
    let top = std::fs::canonicalize(&ground.project_root).ok();
    let is_top = |folder: &Path| top.as_deref() == Some(folder) || folder.join(GIT).symlink_metadata().is_ok();
    match cwd.ancestors().position(is_top) {
        Some(at) => cwd.ancestors().take(at + 1).map(Path::to_owned).collect(),
        None => vec![cwd],
    }
}

#[cfg(test)]
#[path = "protected/tests.rs"]
mod tests;
