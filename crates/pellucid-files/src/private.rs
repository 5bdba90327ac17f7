//! Folders and files that nobody else on the machine can read, whatever the user's `umask` is.

use std::fs::File;
use std::io;
use std::path::Path;

/// Makes a folder and those above it that are missing, open to this user alone. Folders that are there stay as they
/// are.
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

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn nobody_else_can_look() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("a/b");
        make_private_folder(&folder).unwrap();
        make_private_folder(&folder).unwrap();
        let file = folder.join("f");
        create_private(&file).unwrap();
        assert_eq!(create_private(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!([mode(&top.path().join("a")), mode(&folder), mode(&file)], [0o700, 0o700, 0o600]);
    }
}
