//! Shorter names for places near the folder that the process stands in.
//!
//! The system looks up every folder of a name, for each file anew. In a deep project most of the
//! time goes there: the same file, named from where the process stands, is a step or two away.

use std::borrow::Cow;
use std::env;
use std::path::Path;
use std::path::PathBuf;

/// The folder that the process stands in, by its real name.
#[derive(Debug)]
pub(crate) struct Here {
    path: Option<PathBuf>,
}

impl Here {
    /// Asks the system.
    pub(crate) fn find() -> Self {
        Self { path: env::current_dir().ok() }
    }

    /// Whether it is this folder, spelled like this. Such a name is the real one.
    pub(crate) fn is(&self, folder: &Path) -> bool {
        self.path.as_ref().is_some_and(|here| here.as_os_str() == folder.as_os_str())
    }

    /// The name of a place with the fewest steps. It leads there for as long as the process stays.
    pub(crate) fn name<'a>(&self, place: &'a Path) -> Cow<'a, Path> {
        let near = self.path.as_ref().and_then(|here| relative(here, place));
        near.map_or(Cow::Borrowed(place), Cow::Owned)
    }
}

/// The way from one folder to a place, if it is shorter than the place's whole name.
#[cfg(unix)]
fn relative(here: &Path, place: &Path) -> Option<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let (here, place) = (here.as_os_str().as_bytes(), place.as_os_str().as_bytes());
    let n_steps = |path: &[u8]| path.iter().filter(|byte| **byte == b'/').count();
    if here.len() < 2 || here.first() != Some(&b'/') || place.first() != Some(&b'/') {
        return None;
    }
    let same = here.iter().zip(place).take_while(|(a, b)| a == b).count();
    let ends = |path: &[u8]| path.get(same).is_none_or(|byte| *byte == b'/');
    // Where the last folder ends that both are in.
    let shared = if ends(here) && ends(place) { same } else { here[..same].iter().rposition(|byte| *byte == b'/')? };
    let down = &place[shared..];
    let down = &down[down.iter().take_while(|byte| **byte == b'/').count()..];
    let n_up = n_steps(&here[shared..]);
    if down.is_empty() || n_up + n_steps(down) + 1 >= n_steps(place) {
        return None;
    }
    let mut name = b"../".repeat(n_up);
    name.extend_from_slice(down);
    Some(PathBuf::from(OsStr::from_bytes(&name)))
}

#[cfg(not(unix))]
fn relative(_here: &Path, _place: &Path) -> Option<PathBuf> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_name_is_taken() {
        for (here, place, near) in [
            ("/a/b", "/a/b/AGENTS.md", Some("AGENTS.md")),
            ("/a/b", "/a/b//AGENTS.md", Some("AGENTS.md")),
            ("/a/b/c", "/a/b/.agents/skills", Some("../.agents/skills")),
            ("/a/b/c", "/a/b/cd/x", Some("../cd/x")),
            ("/a/b/cd", "/a/b/c/x", Some("../c/x")),
            ("/a/b/c/d", "/a/x", None),
            ("/a/b", "/c", None),
            ("/a/b", "/a/b", None),
            ("/", "/a", None),
            ("/a/b", "c", None),
        ] {
            assert_eq!(relative(here.as_ref(), place.as_ref()).as_deref(), near.map(Path::new), "{here} {place}");
        }
    }

    #[test]
    fn a_near_name_leads_to_the_same_file() {
        let here = Here::find();
        let root = env::current_dir().unwrap();
        assert!(here.is(&root));
        for place in root.ancestors().map(|folder| folder.join("Cargo.toml")).chain([root.join("src/lib.rs")]) {
            assert_eq!(here.name(&place).exists(), place.exists(), "{}", place.display());
        }
    }
}
