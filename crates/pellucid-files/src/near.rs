//! Shorter names for places near the working folder of the process.
//!
//! The system looks up every folder of a path again for each file. In a deep project that takes most of the time:
//! relative to the working folder, the same file is a step or two away.

use std::borrow::Cow;
use std::env;
use std::path::Path;
use std::path::PathBuf;

/// The working folder of the process, by its real name.
#[derive(Debug)]
pub struct WorkingFolder {
    path: Option<PathBuf>,
    n_steps: usize,
}

impl WorkingFolder {
    /// Asks the system for the working folder.
    pub fn find() -> Self {
        Self::at(env::current_dir().ok())
    }

    fn at(path: Option<PathBuf>) -> Self {
        let n_steps = path.as_ref().map_or(0, |path| n_steps(path.as_os_str().as_encoded_bytes()));
        Self { path, n_steps }
    }

    /// Whether it is this folder, spelled like this. Such a name is the real one.
    pub fn is(&self, folder: &Path) -> bool {
        self.path.as_ref().is_some_and(|here| here.as_os_str() == folder.as_os_str())
    }

    /// A name for a folder, valid while the working folder stays the same: upward if the working folder is below and
    /// that is shorter. An empty name is the working folder itself.
    pub fn reach<'a>(&self, folder: &'a Path) -> Cow<'a, Path> {
        match self.n_up(folder) {
            Some(n_up) if 2 * n_up < self.n_steps => Cow::Owned(PathBuf::from("../".repeat(n_up))),
            _ => Cow::Borrowed(folder),
        }
    }

    /// How many steps it is up to a folder.
    fn n_up(&self, folder: &Path) -> Option<usize> {
        let below = self.path.as_ref()?.as_os_str().as_encoded_bytes();
        let below = below.strip_prefix(folder.as_os_str().as_encoded_bytes())?;
        (below.is_empty() || below.starts_with(b"/")).then(|| n_steps(below))
    }
}

fn n_steps(path: &[u8]) -> usize {
    path.iter().filter(|byte| **byte == b'/').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_name_is_taken() {
        for (here, folder, reach) in [
            ("/a/b/c", "/a/b/c", ""),
            ("/a/b/c", "/a/b", "../"),
            ("/a/b/c", "/a", "/a"),
            ("/a/b/cd", "/a/b/c", "/a/b/c"),
            ("/a/b", "/c", "/c"),
            ("/", "/", ""),
        ] {
            assert_eq!(
                WorkingFolder::at(Some(here.into())).reach(folder.as_ref()).as_ref(),
                Path::new(reach),
                "{here} {folder}"
            );
        }
    }

    #[test]
    fn a_near_name_leads_to_the_same_folder() {
        let here = WorkingFolder::find();
        let root = env::current_dir().unwrap();
        assert!(here.is(&root));
        for folder in root.ancestors() {
            let (near, far) = (here.reach(folder).join("Cargo.toml"), folder.join("Cargo.toml"));
            assert_eq!(near.exists(), far.exists(), "{}", far.display());
        }
    }
}
