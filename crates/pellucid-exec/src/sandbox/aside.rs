//! Moves files that a backend could not prevent from being made or replaced out of the way before they are read.
//!
//! Landlock cannot deny a name that does not exist, and a mount cannot keep a link in its place. Nor does a mount
//! keep a placeholder in its place: a process outside that removes it, such as a user who tidies up, removes the
//! mount with it. So a file that is at such a name after a command, and was not before, is moved into a private
//! folder below the home folder, where nothing is read, and the user gets a message. If this process dies before
//! that, a file there records which names were missing when its commands ran, and the next process handles it.
//!
//! Files that the user puts into a placeholder are the user's: commands see something else there. Any other file that
//! the user makes meanwhile cannot be distinguished from a command's. It is moved as well, and not lost.
//!
//! Not here: what must not be made (`protected`), and when is looked.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_files::is_placeholder;
use serde::Deserialize;
use serde::Serialize;

#[cfg(target_os = "linux")]
use super::helper::missing;
#[cfg(target_os = "linux")]
use super::helper::missing::HeldPlaceholder;
#[cfg(target_os = "linux")]
use super::helper::missing::Made;

/// The folder below the home folder.
const FOLDER: &str = "put-aside";

/// How the files begin that say what a process has to look after.
const PENDING: &str = "pending-";

/// The file holds a few paths; a longer file is not read.
const PENDING_BYTES_MAX: u64 = 1 << 20;

/// Something that was put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// The original path of the file.
    pub was: PathBuf,
    /// The new path, or why the file could not be moved.
    pub now: Result<PathBuf, String>,
}

const WHY: &str = "appeared or was replaced while a command ran, and would be read without a sandbox";

impl std::fmt::Display for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let was = self.was.display();
        match &self.now {
            Ok(now) => write!(f, "{was} {WHY}; it is now {}, and you can move it back if it is yours", now.display()),
            Err(why) => {
                write!(f, "{was} {WHY}; it could not be moved away ({why}): look at it before you continue")
            }
        }
    }
}

/// The state of a name before commands ran.
#[derive(Debug)]
enum Before {
    Nothing,
    Link(PathBuf),
    /// A placeholder over which something is mounted for commands.
    #[cfg(target_os = "linux")]
    Covered(HeldPlaceholder),
}

/// Looks after the names that the commands of a session can take.
#[derive(Debug)]
pub struct Watch {
    home: PathBuf,
    names: Mutex<BTreeMap<PathBuf, Before>>,
    /// The file that says so to others.
    file: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Pending {
    missing: Vec<PathBuf>,
    #[serde(default)]
    links: Vec<(PathBuf, PathBuf)>,
}

impl Watch {
    /// Nothing is looked after yet.
    pub fn new(home: &Path) -> Self {
        let name = format!("{PENDING}{}-{}.json", this_process(), uuid::Uuid::new_v4());
        Self { home: home.to_owned(), names: Mutex::default(), file: home.join(FOLDER).join(name) }
    }

    /// Notes the state of names before a command runs. An earlier note about a name is kept.
    pub fn note(&self, missing: &[PathBuf], links: &[PathBuf]) {
        if missing.is_empty() && links.is_empty() {
            return;
        }
        let mut names = self.names();
        let mut has_new = false;
        // A command can make what looks like a placeholder, so one is as good as nothing.
        for path in missing.iter().filter(|path| fs::symlink_metadata(path).is_err() || is_placeholder(path)) {
            has_new |= !names.contains_key(path);
            names.entry(path.clone()).or_insert(Before::Nothing);
        }
        for path in links {
            if let Ok(target) = fs::read_link(path) {
                has_new |= !names.contains_key(path);
                names.entry(path.clone()).or_insert(Before::Link(target));
            }
        }
        if has_new {
            let mut pending = Pending::default();
            for (path, before) in names.iter() {
                match before {
                    Before::Nothing => pending.missing.push(path.clone()),
                    Before::Link(target) => pending.links.push((path.clone(), target.clone())),
                    // The placeholder is removed with its command.
                    #[cfg(target_os = "linux")]
                    Before::Covered(_) => {}
                }
            }
            // Without the file, what a killed process leaves is not looked after; the rest is.
            let _ = write(&self.file, &pending);
        }
    }

    /// The same for names over which something is mounted. They are held, so that it is known which placeholder is ours;
    /// who mounts holds them too.
    #[cfg(target_os = "linux")]
    pub fn note_covered(&self, missing: &[PathBuf]) {
        let mut names = self.names();
        for path in missing {
            let is_known = names.contains_key(path);
            if is_known && fs::symlink_metadata(path).is_ok() {
                continue;
            }
            // A placeholder that was removed since is made again. One that another process has just made stays
            // suspect.
            if let Ok(Made::Held(held)) = missing::hold(path)
                && (held.is_new || !is_known)
            {
                names.insert(path.clone(), Before::Covered(held));
            }
        }
    }

    /// Puts aside what is at a name and was not before.
    pub fn put_aside(&self) -> Vec<Aside> {
        let names = self.names();
        let changed = names.iter().filter(|(path, before)| has_changed(path, before));
        let aside = changed.map(|(path, _)| move_away(&self.home, path)).collect();
        #[cfg(target_os = "linux")]
        for before in names.values() {
            if let Before::Covered(held) = before {
                held.let_go();
            }
        }
        aside
    }

    /// The same for the last time: nothing runs any more.
    pub fn finish(&self) -> Vec<Aside> {
        let aside = self.put_aside();
        if aside.iter().all(|it| it.now.is_ok()) {
            self.names().clear();
            let _ = fs::remove_file(&self.file);
        }
        aside
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Before>> {
        // Every change under the lock is done in one step.
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks after what commands of other processes made, above all of those that have died since. To be called before
/// anything of a project is read.
pub fn recover(home: &Path) -> Vec<Aside> {
    let Ok(entries) = fs::read_dir(home.join(FOLDER)) else { return Vec::new() };
    let mut aside = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(|name| name.strip_prefix(PENDING)) else { continue };
        let text = pellucid_files::read_text(&entry.path(), PENDING_BYTES_MAX).unwrap_or_default();
        let Pending { missing, links } = serde_json::from_str(&text).unwrap_or_default();
        let missing = missing.into_iter().map(|path| (path, Before::Nothing));
        let links = links.into_iter().map(|(path, target)| (path, Before::Link(target)));
        let changed = missing.chain(links).filter(|(path, before)| has_changed(path, before));
        let moved: Vec<_> = changed.map(|(path, _)| move_away(home, &path)).collect();
        if moved.iter().all(|it| it.now.is_ok()) && !is_running(owner) {
            let _ = fs::remove_file(entry.path());
        }
        aside.extend(moved);
    }
    aside
}

fn has_changed(path: &Path, before: &Before) -> bool {
    match (before, fs::symlink_metadata(path)) {
        (_, Err(_)) => false,
        (Before::Nothing, Ok(_)) => !is_placeholder(path),
        (Before::Link(target), Ok(_)) => fs::read_link(path).ok().as_ref() != Some(target),
        #[cfg(target_os = "linux")]
        (Before::Covered(held), Ok(_)) => !is_placeholder(path) && !held.is_in_place(),
    }
}

fn write(path: &Path, pending: &Pending) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        pellucid_files::make_private_folder(folder)?;
    }
    let _ = fs::remove_file(path);
    pellucid_files::create_private(path)?.write_all(&serde_json::to_vec(pending)?)
}

/// Moves something to where nothing reads it, whatever it is: it is neither opened nor followed.
fn move_away(home: &Path, path: &Path) -> Aside {
    let moved = moved(home, path).map_err(|error| error.to_string());
    Aside { was: path.to_owned(), now: moved }
}

fn moved(home: &Path, path: &Path) -> io::Result<PathBuf> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let held = open(parent)?;
    let id = uuid::Uuid::new_v4().to_string();
    let folder = home.join(FOLDER).join(&id);
    pellucid_files::make_private_folder(&folder)?;
    let place = open(&fs::canonicalize(&folder)?)?;
    match rustix::fs::renameat(&held, name, &place, name) {
        Ok(()) => Ok(folder.join(name)),
        // On another disk it stays beside, under a name that nothing reads.
        Err(rustix::io::Errno::XDEV) => {
            let _ = fs::remove_dir(&folder);
            let mut beside = OsString::from(name);
            beside.push(format!(".put-aside-{id}"));
            rustix::fs::renameat(&held, name, &held, &beside)?;
            Ok(parent.join(beside))
        }
        Err(error) => Err(error.into()),
    }
}

/// A folder whose path has no links.
#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(super::helper::handles::open(path)?)
}

#[cfg(not(target_os = "linux"))]
fn open(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::OFlags;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?)
}

/// This process, by its number and when it began: numbers are used again.
fn this_process() -> String {
    let id = std::process::id();
    format!("{id}-{}", began(&id.to_string()).unwrap_or_default())
}

/// Whether the process that a file is named after is still there.
fn is_running(owner: &str) -> bool {
    let mut parts = owner.split('-');
    let (Some(id), Some(time)) = (parts.next(), parts.next()) else { return false };
    id.bytes().all(|byte| byte.is_ascii_digit()) && began(id).is_some_and(|it| it == time)
}

/// The start time of a process, in the unit of the system; `None` if it does not exist.
fn began(id: &str) -> Option<String> {
    let stat = pellucid_files::read_text(Path::new(&format!("/proc/{id}/stat")), 4096).ok()?;
    // The name before may hold anything, so fields are counted from its closing bracket.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;

    use super::*;

    fn top() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(top.join("work")).unwrap();
        (folder, top)
    }

    #[test]
    fn what_appeared_is_moved_and_what_was_there_stays() {
        let (_folder, top) = top();
        let (codex, agents) = (top.join("work/.codex"), top.join("work/.agents"));
        fs::create_dir(&agents).unwrap();
        let watch = Watch::new(&top.join("home"));
        watch.note(&[codex.clone(), agents.clone()], &[]);
        assert_eq!(watch.put_aside(), []);
        fs::create_dir(&codex).unwrap();
        fs::write(codex.join("config.toml"), "notify = []").unwrap();
        // Noting the file again does not make it an original one.
        watch.note(&[], &[]);
        let aside = watch.put_aside();
        let [Aside { was, now: Ok(now) }] = aside.as_slice() else { panic!("{aside:?}") };
        assert_eq!(*was, codex);
        assert!(now.starts_with(top.join("home/put-aside")) && now.join("config.toml").is_file());
        assert!(!codex.exists() && agents.exists());
        assert_eq!(watch.finish(), []);
    }

    #[test]
    fn what_looks_like_a_placeholder_is_looked_after() {
        let (_folder, top) = top();
        let (home, codex) = (top.join("home"), top.join("work/.codex"));
        fs::create_dir(&codex).unwrap();
        fs::set_permissions(&codex, fs::Permissions::from_mode(pellucid_files::PLACEHOLDER_MODE)).unwrap();
        let watch = Watch::new(&home);
        watch.note(std::slice::from_ref(&codex), &[]);
        assert_eq!(watch.put_aside(), []);
        fs::write(codex.join("config.toml"), "").unwrap();
        assert_eq!(watch.put_aside().len(), 1);
    }

    #[test]
    fn what_is_put_into_a_placeholder_stays_and_what_is_put_in_its_place_does_not() {
        let (_folder, top) = top();
        let (home, codex) = (top.join("home"), top.join("work/.codex"));
        let watch = Watch::new(&home);
        watch.note_covered(std::slice::from_ref(&codex));
        assert!(is_placeholder(&codex));
        fs::write(codex.join("config.toml"), "").unwrap();
        assert_eq!(watch.put_aside(), []);
        assert!(codex.join("config.toml").is_file());
        fs::remove_dir_all(&codex).unwrap();
        fs::create_dir(&codex).unwrap();
        // A command cannot have the file noted as an original one.
        watch.note_covered(std::slice::from_ref(&codex));
        assert_eq!(watch.put_aside().len(), 1);
        // No file is left behind once there is nothing to keep.
        watch.note_covered(std::slice::from_ref(&codex));
        assert!(is_placeholder(&codex));
        assert_eq!(watch.finish(), []);
        assert!(!codex.exists());
    }

    #[test]
    fn a_link_that_was_replaced_is_noticed() {
        let (_folder, top) = top();
        let (link, other) = (top.join("work/.codex"), top.join("work/other"));
        symlink("real", &link).unwrap();
        let watch = Watch::new(&top.join("home"));
        watch.note(&[], std::slice::from_ref(&link));
        assert_eq!(watch.put_aside(), []);
        fs::remove_file(&link).unwrap();
        symlink(&other, &link).unwrap();
        fs::create_dir(&other).unwrap();
        let file = pellucid_files::read_text(&watch.file, PENDING_BYTES_MAX).unwrap();
        assert_eq!(watch.put_aside().len(), 1);
        assert!(!link.is_symlink() && other.is_dir());
        // The next process knows what the link was.
        symlink(&other, &link).unwrap();
        fs::write(watch.file.with_file_name(format!("{PENDING}1-1-x.json")), file).unwrap();
        assert_eq!(recover(&top.join("home")).len(), 1);
        symlink("real", &link).unwrap();
        assert_eq!(recover(&top.join("home")), []);
    }

    #[test]
    fn the_next_process_looks_after_what_a_dead_one_left() {
        let (_folder, top) = top();
        let (home, codex) = (top.join("home"), top.join("work/.codex"));
        let watch = Watch::new(&home);
        watch.note(std::slice::from_ref(&codex), &[]);
        symlink("/etc", &codex).unwrap();
        assert_eq!(recover(&home).len(), 1, "others are about to read it");
        assert!(!codex.is_symlink() && watch.file.is_file());
        symlink("/etc", &codex).unwrap();
        let dead = home.join(FOLDER).join(format!("{PENDING}1-1-x.json"));
        fs::rename(&watch.file, dead).unwrap();
        assert_eq!(recover(&home).len(), 1);
        assert!(!codex.is_symlink());
        assert_eq!(recover(&home), []);
        assert_eq!(recover(&top.join("nowhere")), []);
    }
}
