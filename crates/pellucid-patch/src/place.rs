//! The folders of a patch's files, held from the moment when the patch was checked until it is written.
//!
//! A command that continues in the background can exchange a folder for a link at any time. So every folder is opened
//! once, from its root and never through a link, and files are reached by that handle and their name. What was moved
//! away meanwhile is noticed before the patch counts as applied.
//!
//! Not here: what may be written (`writable`), and writing (`replace`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::rc::Rc;
use std::rc::Weak;

use pellucid_files::FileIdentity;
use pellucid_files::FileStatus;
use pellucid_files::Folder;

use crate::apply::PatchApplyError;
use crate::writable::Limits;
use crate::writable::RealRoot;

/// As many folders as are open at once. Systems let a process open 256 files or more.
const N_OPEN_MAX: usize = 128;

/// A folder that stays the same one, whatever its path leads to later.
#[derive(Debug)]
pub struct HeldFolder {
    /// The real path of the folder.
    path: PathBuf,
    base: Rc<Folder>,
    below: PathBuf,
    identity: FileIdentity,
    /// Absent while others are open instead.
    handle: RefCell<Option<Rc<Folder>>>,
    open: Rc<Open>,
}

impl HeldFolder {
    /// The handle of the folder. If it had to be closed, it is opened again in the same way and must be the same
    /// folder.
    pub fn folder(self: &Rc<Self>) -> io::Result<Rc<Folder>> {
        if let Some(handle) = &*self.handle.borrow() {
            return Ok(Rc::clone(handle));
        }
        let handle = Rc::new(self.open_again()?);
        self.keep(Rc::clone(&handle));
        Ok(handle)
    }

    fn open_again(&self) -> io::Result<Folder> {
        let folder = self.base.folder(&self.below)?;
        if folder.identity()? == self.identity {
            Ok(folder)
        } else {
            Err(io::Error::other("it is another folder than before"))
        }
    }

    fn keep(self: &Rc<Self>, handle: Rc<Folder>) {
        *self.handle.borrow_mut() = Some(handle);
        let mut open = self.open.held.borrow_mut();
        open.push_back(Rc::downgrade(self));
        if open.len() > N_OPEN_MAX
            && let Some(oldest) = open.pop_front().and_then(|held| held.upgrade())
        {
            oldest.handle.borrow_mut().take();
        }
    }

    /// The path of an entry, for messages.
    pub fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    fn moved(&self) -> PatchApplyError {
        PatchApplyError::Moved { path: self.path.clone() }
    }
}

/// The folders that are open, the oldest first.
#[derive(Debug, Default)]
struct Open {
    held: RefCell<VecDeque<Weak<HeldFolder>>>,
}

/// A name in a folder that is held.
#[derive(Debug, Clone)]
pub struct HeldName {
    pub folder: Rc<HeldFolder>,
    pub name: OsString,
}

impl HeldName {
    /// The status of the entry, if there is one. Links are not followed.
    pub fn status(&self) -> io::Result<Option<FileStatus>> {
        match self.folder.folder()?.status(&self.name) {
            Ok(status) => Ok(Some(status)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path_of(&self.name)
    }
}

/// The folders of a patch.
#[derive(Debug)]
pub struct HeldFolders<'a> {
    limits: &'a Limits<'a>,
    /// The folders that roots lead to, opened.
    bases: HashMap<PathBuf, Rc<Folder>>,
    /// Folders by where they are; nothing for those that were missing.
    folders: HashMap<PathBuf, Option<Rc<HeldFolder>>>,
    open: Rc<Open>,
}

impl<'a> HeldFolders<'a> {
    pub fn new(limits: &'a Limits<'a>) -> Self {
        Self { limits, bases: HashMap::new(), folders: HashMap::new(), open: Rc::default() }
    }

    /// Holds the folder of a file, by where it leads. Nothing if that is missing, or is no folder.
    pub fn place(&mut self, real: &Path) -> Result<Option<HeldName>, PatchApplyError> {
        let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else {
            return Ok(None);
        };
        let held = match self.folders.get(folder) {
            Some(held) => held.clone(),
            None => self.hold(folder)?,
        };
        Ok(held.map(|folder| HeldName { folder, name: name.to_owned() }))
    }

    /// Holds a folder, if it exists now.
    pub fn hold(&mut self, folder: &Path) -> Result<Option<Rc<HeldFolder>>, PatchApplyError> {
        if let Some(Some(held)) = self.folders.get(folder) {
            return Ok(Some(Rc::clone(held)));
        }
        let (base, below) = self.base(folder)?;
        let held = match base.folder(&below) {
            Ok(handle) => Some(self.held(folder, base, below, handle)?),
            Err(error) if is_missing(&error) => None,
            Err(error) => {
                // The first part of the way that does not lead on is the one to name.
                let top = folder.ancestors().nth(below.components().count()).unwrap_or(folder);
                let mut ways: Vec<_> = below.ancestors().collect();
                ways.reverse();
                let first = ways.into_iter().find(|way| base.folder(way).is_err()).unwrap_or(&below);
                return Err(unreachable(&top.join(first), error));
            }
        };
        self.folders.insert(folder.to_owned(), held.clone());
        Ok(held)
    }

    /// Makes a folder in one that is held, and holds it.
    pub fn make(&mut self, parent: &Rc<HeldFolder>, name: &OsStr) -> io::Result<Rc<HeldFolder>> {
        /// Narrowed by the user's `umask`.
        const MODE: u32 = 0o777;
        let handle = parent.folder()?;
        handle.make_folder(name, MODE)?;
        let made = handle.folder(Path::new(name))?;
        let (path, below) = (parent.path.join(name), parent.below.join(name));
        let base = Rc::clone(&parent.base);
        let held = self.held(&path, base, below, made).map_err(|_| io::Error::other("it is gone again"))?;
        self.folders.insert(path, Some(Rc::clone(&held)));
        Ok(held)
    }

    fn held(
        &self,
        path: &Path,
        base: Rc<Folder>,
        below: PathBuf,
        handle: Folder,
    ) -> Result<Rc<HeldFolder>, PatchApplyError> {
        let identity = handle.identity().map_err(|error| unreachable(path, error))?;
        let (path, open) = (path.to_owned(), Rc::clone(&self.open));
        let held = Rc::new(HeldFolder { path, base, below, identity, handle: RefCell::default(), open });
        held.keep(Rc::new(handle));
        Ok(held)
    }

    /// The handle from which a folder is opened, and the path from there: its writable root, or the root of the file
    /// system if the writable root is missing or does not exist yet.
    fn base(&mut self, folder: &Path) -> Result<(Rc<Folder>, PathBuf), PatchApplyError> {
        let limits = self.limits;
        if let Some(root) = limits.root_of(folder)
            && let Some(base) = self.root(root)?
        {
            let below = folder.strip_prefix(&root.real).unwrap_or(folder).to_owned();
            return Ok((base, below));
        }
        let top = folder.ancestors().last().unwrap_or(folder);
        let below = folder.strip_prefix(top).unwrap_or(folder).to_owned();
        Ok((self.top(top)?, below))
    }

    fn root(&mut self, root: &RealRoot<'_>) -> Result<Option<Rc<Folder>>, PatchApplyError> {
        if let Some(base) = self.bases.get(&root.real) {
            return Ok(Some(Rc::clone(base)));
        }
        let top = root.real.ancestors().last().unwrap_or(&root.real);
        let below = root.real.strip_prefix(top).unwrap_or(&root.real);
        let base = match self.top(top)?.folder(below) {
            Ok(base) => Rc::new(base),
            // A noted identity means that the root existed.
            Err(error) if is_missing(&error) && root.root.identity.is_none() => return Ok(None),
            Err(error) => return Err(unreachable(&root.real, error)),
        };
        let is_same = |expected| base.identity().is_ok_and(|found| found == expected);
        if !root.root.identity.is_none_or(is_same) {
            return Err(PatchApplyError::Moved { path: root.root.path.clone() });
        }
        self.bases.insert(root.real.clone(), Rc::clone(&base));
        Ok(Some(base))
    }

    fn top(&mut self, top: &Path) -> Result<Rc<Folder>, PatchApplyError> {
        if let Some(base) = self.bases.get(top) {
            return Ok(Rc::clone(base));
        }
        let base = Rc::new(Folder::open(top, None).map_err(|error| unreachable(top, error))?);
        self.bases.insert(top.to_owned(), Rc::clone(&base));
        Ok(base)
    }

    /// Whether every folder is still where it was found. Files that were written into a folder that was moved are not
    /// where the patch says.
    pub fn check(&self) -> Result<(), PatchApplyError> {
        let moved = self.folders.values().flatten().filter(|held| held.open_again().is_err());
        // With one all those in it are gone.
        moved.min_by_key(|held| held.path.components().count()).map_or(Ok(()), |held| Err(held.moved()))
    }
}

/// The error for a folder that could be resolved a moment ago. If it is a link now, the error says so.
fn unreachable(folder: &Path, source: io::Error) -> PatchApplyError {
    match source.kind() {
        io::ErrorKind::Other => PatchApplyError::Moved { path: folder.to_owned() },
        _ => PatchApplyError::Write { path: folder.to_owned(), source: Some(source) },
    }
}

pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
