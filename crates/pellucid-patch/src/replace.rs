//! Replaces one file at a time: written beside its place, then renamed into it.
//!
//! A concurrent reader sees the old text or the new, never half of one. Mode and owner are kept; a second name of the
//! same file (a hard link) keeps the old text. Where the system can, the two are exchanged in one step, and the old
//! file is kept beside until it is not needed any more. Where no file can be made beside it, or it cannot be renamed
//! into place, the file is overwritten in place.
//!
//! Not here: several files (`apply`), and how folders are held (`place`).

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;

use pellucid_files::FileIdentity;
use pellucid_files::FileStatus;
use pellucid_files::Folder;

use crate::place::HeldName;
use crate::text::PatchedText;

/// The content to write.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    Text(&'a PatchedText),
    Bytes(&'a [u8]),
}

impl Content<'_> {
    fn write_to(&self, file: &mut File) -> io::Result<()> {
        match self {
            Self::Text(text) => text.write_to(file),
            Self::Bytes(bytes) => file.write_all(bytes),
        }
    }
}

/// The file whose mode and owner a new file gets.
#[derive(Debug, Clone, Copy)]
pub enum Like<'a> {
    /// The defaults of a new file.
    New,
    /// The file that was moved: its mode.
    Moved(&'a FileStatus),
    /// The file that it replaces: its mode and its owner.
    Replaced(&'a FileStatus),
}

/// A new text of a file that is not at its place yet. It is removed again if it never gets there.
#[derive(Debug)]
pub struct Staged {
    target: HeldName,
    /// The name of the temporary file with the text, if there is one.
    temporary: Option<OsString>,
}

impl Staged {
    /// Writes a text beside `target`.
    pub fn new(target: &HeldName, content: &Content<'_>, like: Like<'_>) -> io::Result<Self> {
        #[cfg(test)]
        if !HAS_ROOM.get() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut staged = Self { target: target.clone(), temporary: None };
        let (name, mut file) = target.folder.folder()?.create_temporary(first_mode(like))?;
        staged.temporary = Some(name);
        content.write_to(&mut file)?;
        resemble(&file, like)?;
        Ok(staged)
    }

    /// Changes places with the file at its place, and says where that one is now. Where the system cannot
    /// do that, nothing has happened.
    pub fn exchange(mut self) -> Result<HeldName, Self> {
        let folder = &self.target.folder;
        let is_done =
            |name: &OsString| folder.folder().is_ok_and(|folder| exchange(&folder, name, &self.target.name).is_ok());
        match self.temporary.take_if(|name| is_done(name)) {
            Some(name) => Ok(HeldName { folder: self.target.folder.clone(), name }),
            None => Err(self),
        }
    }

    /// Renames it over what is at its place. One that does not get there is still beside it.
    pub fn commit(mut self) -> Result<(), (io::Error, Self)> {
        let renamed = self.rename(Folder::rename);
        renamed.map_err(|error| (error, self))
    }

    /// Renames it into its place if the place is free.
    pub fn commit_new(mut self) -> io::Result<()> {
        self.rename(Folder::rename_to_free)
    }

    fn rename(
        &mut self,
        rename: fn(&Folder, &std::ffi::OsStr, &Folder, &std::ffi::OsStr) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(name) = &self.temporary else {
            return Ok(());
        };
        let folder = self.target.folder.folder()?;
        rename(&folder, name, &folder, &self.target.name)?;
        self.temporary = None;
        Ok(())
    }

    /// The content of the temporary file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let name = self.temporary.clone().ok_or(io::ErrorKind::NotFound)?;
        read(&HeldName { folder: self.target.folder.clone(), name })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(name) = &self.temporary {
            // A file that cannot be removed is left.
            let _ = self.target.folder.folder().and_then(|folder| folder.remove_file(name));
        }
    }
}

/// The content of a file.
pub fn read(place: &HeldName) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    place.folder.folder()?.open_file(&place.name)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Undoes an exchange, whatever kind of file it is.
pub fn put_back(aside: &HeldName, place: &HeldName) -> io::Result<()> {
    let folder = place.folder.folder()?;
    match exchange(&folder, &aside.name, &place.name) {
        Ok(()) => folder.remove_file(&aside.name),
        // The file that it was exchanged with was removed.
        Err(_) => folder.rename(&aside.name, &folder, &place.name),
    }
}

#[cfg(test)]
thread_local! {
    /// Whether this thread's files can change places.
    pub static HAS_EXCHANGE: std::cell::Cell<bool> = const { std::cell::Cell::new(true) };
    /// Whether this thread's files can be made beside others.
    pub static HAS_ROOM: std::cell::Cell<bool> = const { std::cell::Cell::new(true) };
}

/// A rename over another file makes some file systems write the new text to the disk at once, because
/// many programs count on that; an exchange does not.
fn exchange(folder: &Folder, one: &OsString, other: &OsString) -> io::Result<()> {
    #[cfg(test)]
    if !HAS_EXCHANGE.get() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    folder.exchange(one, folder, other)
}

/// Renames a file to an unused name beside it, and returns that name.
pub fn put_aside(place: &HeldName) -> io::Result<HeldName> {
    let name = place.folder.folder()?.rename_to_temporary(&place.name)?;
    Ok(HeldName { folder: place.folder.clone(), name })
}

/// The file that is overwritten in place.
#[derive(Debug, Clone, Copy)]
pub struct Overwritten {
    /// The file that was seen there.
    pub identity: FileIdentity,
    /// Whether its other names may be in folders that may not be written.
    pub is_limited: bool,
}

/// Opens a file that cannot be replaced. Nothing in it is changed by that.
pub fn open_to_overwrite(place: &HeldName, expected: Overwritten) -> io::Result<File> {
    let file = place.folder.folder()?.open_file_to_overwrite(&place.name)?;
    let found = FileStatus::of(&file)?;
    if found.identity != expected.identity {
        return Err(io::Error::other("it is another file than before"));
    }
    if found.n_names > 1 && expected.is_limited {
        return Err(io::Error::other("it has another name, which may be outside of what may be written"));
    }
    Ok(file)
}

/// Overwrites a file in place.
pub fn overwrite(mut file: File, content: &Content<'_>) -> io::Result<()> {
    file.set_len(0)?;
    content.write_to(&mut file)
}

/// A user who may not read the original file may not read the temporary one either.
#[cfg(unix)]
fn first_mode(like: Like<'_>) -> u32 {
    /// Asked once: the system has to be asked each time.
    static GROUP: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| rustix::process::getegid().as_raw());

    match like {
        Like::New => 0o666,
        // Group permissions are meant for the group of that file alone.
        Like::Moved(other) | Like::Replaced(other) => other.mode & if other.group == *GROUP { 0o777 } else { 0o707 },
    }
}

#[cfg(not(unix))]
fn first_mode(_: Like<'_>) -> u32 {
    0o666
}

#[cfg(unix)]
fn resemble(file: &File, like: Like<'_>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let (other, mode) = match like {
        Like::New => return Ok(()),
        // Whatever runs as its owner is not made a second time elsewhere.
        Like::Moved(other) => (other, other.mode & 0o777),
        Like::Replaced(other) => (other, other.mode),
    };
    let own = FileStatus::of(file)?;
    let is_mine = (own.owner, own.group) == (other.owner, other.group);
    if !is_mine && matches!(like, Like::Replaced(_)) {
        std::os::unix::fs::fchown(file, Some(other.owner), Some(other.group))?;
    }
    if own.mode != mode {
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn resemble(file: &File, like: Like<'_>) -> io::Result<()> {
    let (Like::Moved(other) | Like::Replaced(other)) = like else {
        return Ok(());
    };
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(other.mode & 0o222 == 0);
    file.set_permissions(permissions)
}
