//! Files of a work tree, read and written by handles: never through a link, even if folders are swapped meanwhile.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::path::PathBuf;

use pellucid_files::FileKind;
use pellucid_files::Folder;

use crate::objects::BLOB_BYTES_MAX;
use crate::objects::Mode;

/// The entry at a path.
#[derive(Debug)]
pub(crate) enum There {
    /// A file, open to be read.
    File(File, Mode),
    /// A link, with where it leads.
    Link(Vec<u8>),
    /// A folder, a pipe, a device.
    Other,
    /// The path does not exist.
    Nothing,
}

/// Looks at a path below a folder.
pub(crate) fn look(root: &Folder, path: &Path) -> io::Result<There> {
    let (folder, name) = match place(root, path) {
        Ok(place) => place,
        Err(error) if is_nothing(&error) => return Ok(There::Nothing),
        Err(error) => return Err(error),
    };
    match folder.status(&name) {
        Ok(status) => match status.kind {
            FileKind::File => {
                let file = folder.open_file(&name)?;
                let mode = if status.mode & 0o111 == 0 { Mode::File } else { Mode::Program };
                Ok(There::File(file, mode))
            }
            FileKind::Link => Ok(There::Link(folder.read_link(&name)?.into_os_string().into_vec())),
            FileKind::Folder | FileKind::Other => Ok(There::Other),
        },
        Err(error) if is_nothing(&error) => Ok(There::Nothing),
        Err(error) => Err(error),
    }
}

/// The bytes of a file or a link with its mode, if there is one of them.
pub(crate) fn read(root: &Folder, path: &Path) -> io::Result<Option<(Vec<u8>, Mode)>> {
    match look(root, path)? {
        There::File(file, mode) => Ok(Some((read_whole(file)?, mode))),
        There::Link(target) => Ok(Some((target, Mode::Link))),
        There::Other | There::Nothing => Ok(None),
    }
}

fn read_whole(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(BLOB_BYTES_MAX).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == BLOB_BYTES_MAX { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Puts a file or a link at a path. An existing entry is replaced, unless it is a folder. A file keeps its
/// permissions, except whether it is executable.
pub(crate) fn put(root: &Folder, path: &Path, bytes: &[u8], mode: Mode) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = root.make_folders(path.parent().unwrap_or(Path::new("")), 0o777)?;
    let before = folder.status(name).ok();
    if mode == Mode::Link {
        if before.is_some() {
            folder.remove_file(name)?;
        }
        return folder.make_link(name, &PathBuf::from(OsStr::from_bytes(bytes)));
    }
    let standard = if mode == Mode::Program { 0o777 } else { 0o666 };
    folder.write(Path::new(name), bytes, standard)?;
    if let Some(before) = before.filter(|before| before.kind == FileKind::File) {
        let readable = (before.mode & 0o444) >> 2;
        let permissions = if mode == Mode::Program { before.mode | readable } else { before.mode & !0o111 };
        folder.set_mode(name, permissions & 0o777)?;
    }
    Ok(())
}

/// Removes a file or a link, and the folders that are empty without it.
pub(crate) fn remove(root: &Folder, path: &Path) -> io::Result<()> {
    let (folder, name) = place(root, path)?;
    folder.remove_file(&name)?;
    let mut above = path.parent();
    while let Some(empty) = above.filter(|it| !it.as_os_str().is_empty()) {
        // A folder with something else in it stays.
        let removed = place(root, empty).and_then(|(folder, name)| folder.remove_folder(&name));
        if removed.is_err() {
            break;
        }
        above = empty.parent();
    }
    Ok(())
}

fn place(root: &Folder, path: &Path) -> io::Result<(Folder, OsString)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((root.folder(path.parent().unwrap_or(Path::new("")))?, name.to_owned()))
}

/// Whether there is nothing at a path, or something in the way to it that is no folder.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
