//! Finding `SKILL.md` files below a folder, level by level.
//!
//! The search has limits in depth and number of folders, takes no hidden entries, and enters linked
//! folders by their real path, each once. Entries come in the order of their names, so that a
//! search that meets its limit finds the same on every machine.
//!
//! A level with many folders is shared out among threads: the time goes into waiting for the
//! system, folder by folder, and nothing may be sent before it is spent.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::num::NonZero;
use std::path::Path;
use std::path::PathBuf;
use std::thread;

use pellucid_engine::skills::Skill;
use pellucid_engine::skills::SkillFault;
use pellucid_engine::skills::SkillOwner;
use pellucid_engine::skills::SkillProblem;
use pellucid_files::WorkingFolder;
use rustix::fs::AtFlags;
use rustix::fs::Dir;
use rustix::fs::FileType;
use rustix::fs::Mode;
use rustix::fs::OFlags;

use super::SkillRoot;
use super::read::Reader;
use super::shown;

/// The maximum depth of a folder below its root.
const DEPTH_MAX: usize = 6;

/// How many folders below one root are entered, the root among them.
const FOLDERS_MAX: usize = 2000;

/// The number of folders for which a separate thread pays off.
const FOLDERS_PER_THREAD: usize = 64;

/// The maximum number of threads.
const THREADS_MAX: usize = 8;

/// Collects what it finds below one root after another.
#[derive(Debug, Default)]
pub(super) struct Finder {
    skills: Vec<Skill>,
    problems: Vec<SkillProblem>,
}

/// The folders to enter below one root, level after level.
struct Folders {
    all: Vec<PathBuf>,
    /// The same, as soon as a link was met. Before that none can come twice.
    known: Option<HashSet<PathBuf>>,
    is_full: bool,
}

impl Folders {
    fn push(&mut self, Way { path, is_link }: Way) {
        if self.all.len() >= FOLDERS_MAX {
            self.is_full = true;
            return;
        }
        if is_link && self.known.is_none() {
            self.known = Some(self.all.iter().cloned().collect());
        }
        if self.known.as_mut().is_none_or(|known| known.insert(path.clone())) {
            self.all.push(path);
        }
    }
}

/// The content of one folder.
#[derive(Debug, Default)]
struct Look {
    skill: Option<Skill>,
    problems: Vec<SkillProblem>,
    folders: Vec<Way>,
}

/// A way to a further folder.
#[derive(Debug)]
struct Way {
    /// The real path of the folder.
    path: PathBuf,
    is_link: bool,
}

impl Finder {
    /// The skills and problems that were found.
    pub(super) fn finish(self) -> (Vec<Skill>, Vec<SkillProblem>) {
        (self.skills, self.problems)
    }

    /// Searches a folder of skills. A missing folder, or a file, has none.
    pub(super) fn search(&mut self, root: &SkillRoot, here: &WorkingFolder) {
        // Listing comes first, because most roots do not exist and this is the cheapest way to find out.
        let folder = match Folder::open(&near_name(&root.path, here)) {
            Ok(folder) => folder,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return,
            Err(error) => return self.problems.push(folder_problem(&root.path, &error)),
        };
        let path = match fs::canonicalize(&root.path) {
            Ok(path) => path,
            Err(error) => return self.problems.push(folder_problem(&root.path, &error)),
        };
        let mut looks = vec![look_at(&path, folder, root.scope, &mut Reader::default())];
        let mut folders = Folders { all: vec![path], known: None, is_full: false };
        for _ in 0..DEPTH_MAX {
            let level = folders.all.len();
            self.take(looks, &mut folders);
            looks = look(&folders.all[level..], root.scope);
        }
        self.take(looks.into_iter().map(|look| Look { folders: Vec::new(), ..look }), &mut folders);
        if folders.is_full {
            let fault = SkillFault::TooManyFolders { max: FOLDERS_MAX };
            self.problems.push(SkillProblem { path: shown(&root.path), fault });
        }
    }

    fn take(&mut self, looks: impl IntoIterator<Item = Look>, folders: &mut Folders) {
        for look in looks {
            self.skills.extend(look.skill);
            self.problems.extend(look.problems);
            look.folders.into_iter().for_each(|folder| folders.push(folder));
        }
    }
}

/// Looks at the folders of a level, by several threads if they are many. The order is kept.
fn look(level: &[PathBuf], scope: SkillOwner) -> Vec<Look> {
    let one_by_one = |folders: &[PathBuf]| {
        let mut reader = Reader::default();
        let look = |path: &PathBuf| match Folder::open(path) {
            Ok(folder) => look_at(path, folder, scope, &mut reader),
            Err(error) => Look { problems: vec![folder_problem(path, &error)], ..Look::default() },
        };
        folders.iter().map(look).collect::<Vec<_>>()
    };
    let n_shares = level.len() / FOLDERS_PER_THREAD;
    if n_shares < 2 {
        return one_by_one(level);
    }
    let n_threads = thread::available_parallelism().map_or(1, NonZero::get).min(n_shares).min(THREADS_MAX);
    let mut shares = level.chunks(level.len().div_ceil(n_threads));
    let own = shares.next().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> = shares.map(|share| scope.spawn(|| one_by_one(share))).collect();
        let mut looks = one_by_one(own);
        for other in others {
            looks.extend(other.join().expect("looking at folders does not panic"));
        }
        looks
    })
}

fn look_at(path: &Path, folder: Folder, scope: SkillOwner, reader: &mut Reader) -> Look {
    let mut look = Look::default();
    let mut has_skill = false;
    let mut has_metadata = false;
    for Entry { name, kind } in folder.entries {
        has_metadata |= name == Reader::METADATA_FOLDER;
        if kind.is_file() {
            has_skill = true;
        } else if kind.is_dir() {
            look.folders.push(Way { path: path.join(name), is_link: false });
        } else if kind.is_symlink() && scope != SkillOwner::System {
            let link = path.join(name);
            match fs::canonicalize(&link) {
                Ok(target) if target.is_dir() => look.folders.push(Way { path: target, is_link: true }),
                Ok(_) => {}
                Err(error) => look.problems.push(folder_problem(&link, &error)),
            }
        }
    }
    if has_skill {
        match reader.skill(path, &folder.handle, scope) {
            Ok(mut skill) => {
                if has_metadata {
                    skill.metadata = reader.metadata(path).unwrap_or_else(|problem| {
                        look.problems.push(problem);
                        None
                    });
                }
                look.skill = Some(skill);
            }
            // The program's own skills are not the user's to repair.
            Err(_) if scope == SkillOwner::System => {}
            Err(problem) => look.problems.push(problem),
        }
    }
    look
}

/// A short name for a folder of skills: most are two levels below the working folder.
fn near_name<'a>(path: &'a Path, here: &WorkingFolder) -> Cow<'a, Path> {
    let near = || {
        let (outer, name) = (path.parent()?, path.file_name()?);
        match here.reach(outer.parent()?) {
            Cow::Owned(reach) => Some(reach.join(outer.file_name()?).join(name)),
            Cow::Borrowed(_) => None,
        }
    };
    near().map_or(Cow::Borrowed(path), Cow::Owned)
}

fn folder_problem(path: &Path, error: &io::Error) -> SkillProblem {
    SkillProblem { path: shown(path), fault: SkillFault::Folder { error: error.to_string() } }
}

/// Something in a folder.
struct Entry {
    name: String,
    /// The kind of the entry, links not followed.
    kind: FileType,
}

/// A folder that is open, so that a file in it is found without looking up the whole path again.
struct Folder {
    handle: Dir,
    /// The entries that may matter, by name. Left out are hidden entries, names that are not text, and files other
    /// than a skill's.
    entries: Vec<Entry>,
}

impl Folder {
    fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut handle = Dir::new(rustix::fs::open(path, flags, Mode::empty())?)?;
        let mut entries = Vec::new();
        while let Some(Ok(entry)) = handle.next() {
            let Ok(name) = entry.file_name().to_str() else { continue };
            // The listing has the kind on most file systems, which saves a call.
            let kind = match entry.file_type() {
                FileType::Unknown => match rustix::fs::statat(handle.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                },
                kind => kind,
            };
            if !name.starts_with('.') && (!kind.is_file() || name == Reader::FILE) {
                entries.push(Entry { name: name.to_owned(), kind });
            }
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { handle, entries })
    }
}
