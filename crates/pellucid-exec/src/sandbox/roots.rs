//! The folders in which commands may write, in the state in which the user allowed them.
//!
//! A command can replace files where it may write: a root of the next command that was a folder, or was missing,
//! becomes a link to another folder. So names are resolved once, and from then on a root is that same folder. A root
//! whose name leads elsewhere is refused, and a root that was missing stays without rights.
//!
//! Not here: which folders those are (the workspace says), and that the helper looks again (`helper/handles.rs`).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_files::FileIdentity;

/// A folder in which commands may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WritableFolder {
    /// The path of the folder, without links.
    pub path: PathBuf,
    /// The device and inode of the folder.
    pub identity: FileIdentity,
}

impl WritableFolder {
    /// The folder that a name leads to now. Links are followed.
    ///
    /// # Errors
    /// As the system says, above all that there is nothing.
    pub fn find(name: &Path) -> io::Result<Self> {
        let path = std::fs::canonicalize(name)?;
        let identity = FileIdentity::from(&std::fs::symlink_metadata(&path)?);
        Ok(Self { path, identity })
    }

    /// A folder that this very process has just made. Only the way to it may have links.
    fn made(name: &Path) -> io::Result<Self> {
        let (Some(parent), Some(last)) = (name.parent(), name.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let path = std::fs::canonicalize(parent)?.join(last);
        let metadata = std::fs::symlink_metadata(&path)?;
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path, identity: FileIdentity::from(&metadata) })
    }
}

const ADVICE: &str =
    "so the command was not run; put that folder back, or start a new session if you changed it yourself";

/// A root that is not what it was. The command is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the writable root {} is not the folder that it was when this session began ({}), {ADVICE}",
    name.display(), what(now.as_deref())
)]
pub struct RootChanged {
    /// The name of the root.
    pub name: PathBuf,
    /// The path that the name leads to now, if it is another one.
    pub now: Option<PathBuf>,
}

fn what(now: Option<&Path>) -> String {
    now.map_or_else(|| "another is in its place".to_owned(), |now| format!("it leads to {} now", now.display()))
}

/// The state of a name when it was first seen.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pin {
    There(WritableFolder),
    /// The name was missing, or was a link that a command may have made.
    NoRights,
}

/// The roots of a session and of those that it started.
#[derive(Debug, Default)]
pub struct Roots {
    pins: Mutex<BTreeMap<PathBuf, Pin>>,
}

impl Roots {
    /// Resolves names that are not known yet. To be called when a person decides on them, before commands run.
    pub fn pin(&self, names: &[PathBuf]) {
        let mut pins = self.pins();
        let unknown: Vec<_> = names.iter().filter(|name| !pins.contains_key(*name)).collect();
        if unknown.is_empty() {
            return;
        }
        let all: Vec<WritableFolder> = names.iter().filter_map(|name| WritableFolder::find(name).ok()).collect();
        for name in unknown {
            let pin = match WritableFolder::find(name) {
                Ok(root) if !leads_through_link_in(name, &root, &all) => Pin::There(root),
                _ => Pin::NoRights,
            };
            pins.insert(name.clone(), pin);
        }
    }

    /// The same when a person has just decided on other names than before: those that are new are resolved again.
    pub fn decide(&self, before: &[PathBuf], names: &[PathBuf]) {
        self.pins().retain(|name, _| before.contains(name) || !names.contains(name));
        self.pin(names);
    }

    /// Takes a folder in that this process has just made.
    ///
    /// # Errors
    /// Fails if the folder does not exist, or something else is there.
    pub fn made(&self, name: &Path) -> io::Result<()> {
        let root = WritableFolder::made(name)?;
        self.pins().insert(name.to_owned(), Pin::There(root));
        Ok(())
    }

    /// The roots behind names, each once. Those that are gone, or never were there, are left out.
    ///
    /// # Errors
    /// Fails if a root leads to another folder than before.
    pub fn hold(&self, names: &[PathBuf]) -> Result<Vec<WritableFolder>, RootChanged> {
        self.pin(names);
        let pins = self.pins();
        let mut held: Vec<WritableFolder> = Vec::new();
        for name in names {
            let Some(Pin::There(root)) = pins.get(name) else { continue };
            match WritableFolder::find(name) {
                Ok(now) if now == *root => {}
                Ok(now) => {
                    let now = Some(now.path).filter(|now| *now != root.path);
                    return Err(RootChanged { name: name.clone(), now });
                }
                Err(_) => continue,
            }
            if !held.contains(root) {
                held.push(root.clone());
            }
        }
        Ok(held)
    }

    fn pins(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Pin>> {
        // Every change under the lock is done in one step.
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a link on the way to a root is in a folder where commands may write, so that a command of an earlier
/// session may have made it.
fn leads_through_link_in(name: &Path, root: &WritableFolder, all: &[WritableFolder]) -> bool {
    if root.path == name {
        return false;
    }
    let links = name.ancestors().filter(|path| path.is_symlink());
    let folders = links.filter_map(|link| std::fs::canonicalize(link.parent()?).ok());
    folders.into_iter().any(|folder| all.iter().any(|it| it.path != root.path && folder.starts_with(&it.path)))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Checks which roots are held after a change, below a folder with `work` (a root), `outside` and further files.
    #[track_caller]
    fn check(names: &[&str], before: impl Fn(&Path), after: impl Fn(&Path), expected: Result<&[&str], &str>) {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        for name in ["work", "outside"] {
            fs::create_dir(top.join(name)).unwrap();
        }
        before(&top);
        let names: Vec<_> = names.iter().map(|name| top.join(name)).collect();
        let roots = Roots::default();
        roots.pin(&names);
        after(&top);
        let held = roots.hold(&names);
        let shown = held.map_err(|error| error.to_string().replace(top.to_str().unwrap(), "$R"));
        let shown = shown.map(|held| {
            held.iter().map(|it| it.path.strip_prefix(&top).unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>()
        });
        match (shown, expected) {
            (Ok(held), Ok(expected)) => assert_eq!(held, expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn what_stays_is_held_once() {
        check(&["work", "work", "work/."], |_| (), |_| (), Ok(&["work"]));
    }

    #[test]
    fn what_was_missing_gets_no_rights() {
        let link = |top: &Path| symlink(top.join("outside"), top.join("work/cache")).unwrap();
        check(&["work", "work/cache"], |_| (), link, Ok(&["work"]));
        check(&["work", "work/cache"], |_| (), |top| fs::create_dir(top.join("work/cache")).unwrap(), Ok(&["work"]));
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        let link = |top: &Path| {
            fs::rename(top.join("work"), top.join("moved")).unwrap();
            symlink(top.join("outside"), top.join("work")).unwrap();
        };
        check(
            &["work"],
            |_| (),
            link,
            Err("root $R/work is not the folder that it was when this session began (it leads to $R/outside now)"),
        );
        let another = |top: &Path| {
            fs::rename(top.join("work"), top.join("moved")).unwrap();
            fs::create_dir(top.join("work")).unwrap();
        };
        check(&["work"], |_| (), another, Err("(another is in its place)"));
        check(&["work"], |_| (), |top| fs::remove_dir(top.join("work")).unwrap(), Ok(&[]));
    }

    #[test]
    fn a_link_that_a_command_may_have_left_is_not_followed() {
        let inside = |top: &Path| symlink(top.join("outside"), top.join("work/cache")).unwrap();
        check(&["work", "work/cache"], inside, |_| (), Ok(&["work"]));
        check(&["work/cache"], inside, |_| (), Ok(&["outside"]));
        let beside = |top: &Path| symlink(top.join("outside"), top.join("link")).unwrap();
        check(&["work", "link"], beside, |_| (), Ok(&["work", "outside"]));
    }

    #[test]
    fn a_person_decides_anew_and_the_agent_makes_folders() {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        let name = top.join("later");
        let roots = Roots::default();
        roots.pin(std::slice::from_ref(&name));
        fs::create_dir(&name).unwrap();
        assert_eq!(roots.hold(std::slice::from_ref(&name)), Ok(Vec::new()));
        roots.decide(std::slice::from_ref(&name), std::slice::from_ref(&name));
        assert_eq!(roots.hold(std::slice::from_ref(&name)), Ok(Vec::new()), "nothing new was decided");
        roots.decide(&[], std::slice::from_ref(&name));
        assert_eq!(roots.hold(std::slice::from_ref(&name)).unwrap().len(), 1);
        let link = top.join("link");
        symlink(&name, &link).unwrap();
        assert!(roots.made(&link).is_err());
        roots.made(&name).unwrap();
    }
}
