//! Folders by their paths, where the system has no handles for their entries. Paths are checked before each use,
//! which does not help against a process that is fast enough.

use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use super::Access;
use crate::FileIdentity;
use crate::FileKind;
use crate::FileStatus;

#[derive(Debug)]
pub struct Handle {
    path: PathBuf,
}

impl Handle {
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        if path.is_dir() { Ok(Self { path }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub fn below(&self, path: &Path) -> io::Result<Self> {
        let mut folder = self.path.clone();
        for part in path.components() {
            folder.push(part);
            match FileStatus::from(&fs::symlink_metadata(&folder)?).kind {
                FileKind::Folder => {}
                FileKind::Link => return Err(io::Error::other("a folder on the way there is a link")),
                FileKind::File | FileKind::Other => return Err(io::ErrorKind::NotADirectory.into()),
            }
        }
        Ok(Self { path: folder })
    }

    pub fn identity(&self) -> io::Result<FileIdentity> {
        FileIdentity::of(&self.path)
    }

    fn at(&self, name: &OsStr) -> io::Result<PathBuf> {
        if fs::symlink_metadata(&self.path)?.is_dir() {
            Ok(self.path.join(name))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    pub fn make_folder(&self, name: &OsStr, _: u32) -> io::Result<()> {
        fs::create_dir(self.at(name)?)
    }

    pub fn create(&self, name: &OsStr, _: u32) -> io::Result<File> {
        File::options().write(true).create_new(true).open(self.at(name)?)
    }

    pub fn open_file(&self, name: &OsStr, access: Access) -> io::Result<File> {
        let mut options = File::options();
        match access {
            Access::Read => options.read(true),
            Access::Write => options.write(true),
        };
        options.open(self.at(name)?)
    }

    pub fn status(&self, name: &OsStr) -> io::Result<FileStatus> {
        fs::symlink_metadata(self.at(name)?).map(|metadata| FileStatus::from(&metadata))
    }

    pub fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        let is_read_only = fs::symlink_metadata(self.at(name)?)?.permissions().readonly();
        if is_read_only { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }

    pub fn rename(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> io::Result<()> {
        fs::rename(self.at(name)?, into.at(new_name)?)
    }

    pub fn rename_to_free(&self, name: &OsStr, into: &Self, new_name: &OsStr) -> io::Result<()> {
        match into.status(new_name) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => self.rename(name, into, new_name),
        }
    }

    pub fn exchange(&self, _: &OsStr, _: &Self, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.at(name)?)
    }

    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_dir(self.at(name)?)
    }

    pub fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let path = self.at(name)?;
        let mut permissions = fs::metadata(&path)?.permissions();
        permissions.set_readonly(mode & 0o222 == 0);
        fs::set_permissions(path, permissions)
    }

    pub fn make_link(&self, _: &OsStr, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        fs::read_link(self.at(name)?)
    }
}
