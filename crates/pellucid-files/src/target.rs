//! A file that a person named before commands ran, and that is written when they have.
//!
//! A command can put a link at that name, or in place of a folder on the way, and have the agent write where it may
//! not itself. So where the name leads is noted at the beginning.

use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use crate::FileIdentity;
use crate::FileStatus;
use crate::Folder;

/// The mode of a new file, narrowed by the user's `umask`.
const MODE: u32 = 0o666;

/// The file that a name leads to, noted before it is written.
#[derive(Debug)]
pub struct NameTarget {
    /// The nearest folder that existed.
    folder: Folder,
    /// The way from it.
    below: PathBuf,
    /// The entry at the name if it was a link or not a regular file: a user may well mean `/dev/stdout`.
    special: Option<(PathBuf, FileIdentity)>,
}

impl NameTarget {
    /// Notes where a path leads now. Nothing is made or changed.
    ///
    /// # Errors
    /// As the system says.
    pub fn note(path: &Path) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let is_plain = fs::symlink_metadata(&path).map_or(true, |metadata| metadata.is_file());
        let special = match fs::metadata(&path) {
            Ok(metadata) if !is_plain => Some((path.clone(), FileIdentity::from(&metadata))),
            _ => None,
        };
        let mut found = Err(io::ErrorKind::NotFound.into());
        for above in path.ancestors().skip(1) {
            found = Folder::open(above, None).map(|folder| (folder, above));
            if found.is_ok() {
                break;
            }
        }
        let (folder, above) = found?;
        let below = path.strip_prefix(above).unwrap_or(&path).to_owned();
        Ok(Self { folder, below, special })
    }

    /// Finds out whether it could be written now, without changing the file. Devices and pipes are not opened,
    /// because opening can have effects.
    ///
    /// # Errors
    /// Why it could not.
    pub fn check(&self) -> io::Result<()> {
        if let Some((path, _)) = &self.special {
            let metadata = fs::metadata(path)?;
            if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            return if metadata.is_file() { File::options().write(true).open(path).map(drop) } else { Ok(()) };
        }
        let (folder, name) = self.place()?;
        match folder.open_file_to_overwrite(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (name, _) = folder.create_temporary(MODE)?;
                folder.remove_file(&name)
            }
            opened => opened.map(drop),
        }
    }

    /// Writes it: a new file, or over what is in the old one. Whatever is at the name now, a link is not followed that
    /// was not there when it was noted.
    ///
    /// # Errors
    /// As the system says, and when the name leads elsewhere by now.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = match &self.special {
            Some((path, identity)) => open_special(path, *identity)?,
            None => self.open()?,
        };
        file.write_all(bytes)
    }

    /// The folder that it is in, and its name there.
    fn place(&self) -> io::Result<(Folder, &OsStr)> {
        let name = self.below.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        Ok((self.folder.folder(self.below.parent().unwrap_or(Path::new("")))?, name))
    }

    fn open(&self) -> io::Result<File> {
        let (folder, name) = self.place()?;
        match folder.open_file_to_overwrite(name) {
            Ok(file) => file.set_len(0).map(|()| file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => folder.create(name, MODE),
            Err(error) => Err(error),
        }
    }
}

fn open_special(path: &Path, identity: FileIdentity) -> io::Result<File> {
    let moved = || io::Error::other("it leads elsewhere than when it was named");
    // Opening something else could do something.
    if FileIdentity::of(path)? != identity {
        return Err(moved());
    }
    let file = File::options().write(true).open(path)?;
    let status = FileStatus::of(&file)?;
    if status.identity != identity {
        return Err(moved());
    }
    if status.kind == crate::FileKind::File {
        file.set_len(0)?;
    }
    Ok(file)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Checks the files `w/out.txt`, `w/sub/out.txt` and `secret` after a change between noting and writing, and the
    /// error.
    #[track_caller]
    fn check(named: &str, before: impl Fn(&Path), meanwhile: impl Fn(&Path), expected: [&str; 4]) {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("w")).unwrap();
        fs::write(top.path().join("secret"), "secret").unwrap();
        before(top.path());
        let target = NameTarget::note(&top.path().join(named)).unwrap();
        meanwhile(top.path());
        let said = target.write(b"new").map_or_else(|error| error.to_string(), |()| "written".into());
        let text = |path: &str| fs::read_to_string(top.path().join(path)).unwrap_or("-".into());
        let found = [text("w/out.txt"), text("w/sub/out.txt"), text("secret"), said];
        assert_eq!(found.each_ref().map(String::as_str), expected);
    }

    #[test]
    fn a_file_is_made_or_written_over() {
        check("w/out.txt", |_| (), |_| (), ["new", "-", "secret", "written"]);
        let old = |top: &Path| fs::write(top.join("w/out.txt"), "something longer").unwrap();
        check("w/out.txt", old, |_| (), ["new", "-", "secret", "written"]);
        check(
            "w/sub/out.txt",
            |_| (),
            |top| fs::create_dir(top.join("w/sub")).unwrap(),
            ["-", "new", "secret", "written"],
        );
        check("w/sub/out.txt", |_| (), |_| (), ["-", "-", "secret", "No such file or directory (os error 2)"]);
    }

    #[test]
    fn a_link_that_a_person_made_is_followed() {
        let link = |top: &Path| symlink("../secret", top.join("w/out.txt")).unwrap();
        check("w/out.txt", link, |_| (), ["new", "-", "new", "written"]);
        NameTarget::note(Path::new("/dev/null")).unwrap().write(b"x").unwrap();
    }

    #[test]
    fn a_link_that_appeared_is_not_followed() {
        let link = |top: &Path| {
            let _ = fs::remove_file(top.join("w/out.txt"));
            symlink("../secret", top.join("w/out.txt")).unwrap();
        };
        check("w/out.txt", |_| (), link, ["secret", "-", "secret", "it is a link"]);
        let old = |top: &Path| fs::write(top.join("w/out.txt"), "old").unwrap();
        check("w/out.txt", old, link, ["secret", "-", "secret", "it is a link"]);
        let own = |top: &Path| {
            fs::write(top.join("own"), "own").unwrap();
            symlink("../own", top.join("w/out.txt")).unwrap();
        };
        check("w/out.txt", own, link, ["secret", "-", "secret", "it leads elsewhere than when it was named"]);
        let folder = |top: &Path| {
            fs::create_dir(top.join("other")).unwrap();
            symlink("../other", top.join("w/sub")).unwrap();
        };
        check("w/sub/out.txt", |_| (), folder, ["-", "-", "secret", "a folder on the way there is a link"]);
    }
}
