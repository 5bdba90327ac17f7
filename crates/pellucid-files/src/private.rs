//! Folders and files that no other user of the machine can read, whatever the user's `umask` is.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use crate::Folder;

/// Makes a folder and those above it that are missing, open to this user alone. Existing folders are not changed.
///
/// # Errors
/// As the system says.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a new file that this user alone can read and write.
///
/// # Errors
/// As the system says, above all when there is something of this name.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a file that this user alone can read and write, or empties an existing one. A link is not followed: a link
/// that a command left there would make the agent empty any file.
///
/// # Errors
/// As the system says, and when there is a link or anything else that is no regular file.
pub fn create_or_empty_private(path: &Path) -> io::Result<File> {
    match create_private(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result,
    }
    let (folder, name) = parts(path)?;
    let file = Folder::open(folder, None)?.open_file_to_overwrite(name)?;
    file.set_len(0)?;
    Ok(file)
}

/// Opens a file to add to it. One that is new is for this user alone.
///
/// # Errors
/// As the system says.
pub fn append_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes a file in one step and for this user alone: a concurrent reader sees all of the bytes or the old content.
/// The folder has to exist.
///
/// # Errors
/// The error of the operating system. Then the file is unchanged.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = parts(path)?;
    Folder::open(folder, None)?.write_private(Path::new(name), bytes)
}

/// The folder of a path and the name in it.
fn parts(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder, path.file_name().ok_or(io::ErrorKind::IsADirectory)?))
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_emptied_but_not_through_a_link() {
        let top = tempfile::tempdir().unwrap();
        let (file, link) = (top.path().join("file"), top.path().join("link"));
        create_or_empty_private(&file).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(create_or_empty_private(&link).unwrap_err().to_string(), "it is a link");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
        create_or_empty_private(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
    }

    #[test]
    fn nobody_else_can_look() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("a/b");
        make_private_folder(&folder).unwrap();
        make_private_folder(&folder).unwrap();
        let file = folder.join("f");
        create_private(&file).unwrap();
        assert_eq!(create_private(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        write_private(&file, b"new").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        append_private(&file).unwrap().write_all(b"er").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"newer");
        drop(append_private(&folder.join("g")).unwrap());
        assert!(write_private(&folder.join("no/h"), b"").is_err());
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "no draft is left");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(
            [mode(&top.path().join("a")), mode(&folder), mode(&file), mode(&folder.join("g"))],
            [0o700, 0o700, 0o600, 0o600]
        );
    }
}
