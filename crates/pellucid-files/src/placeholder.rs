//! Empty folders that keep a name from being taken while commands run.
//!
//! A folder that does not exist cannot be made read-only. So a sandbox makes an empty one, keeps it read-only, and
//! removes it afterwards. Until then code that looks for settings ignores it: it counts as missing. It is recognised
//! by its mode, which no folder has by accident: the bit that keeps others from removing entries, in a folder in
//! which no others can.
//!
//! Not here: making and removing them, which the sandbox does.

use std::fs::Metadata;
use std::path::Path;

/// The mode of a placeholder.
pub const PLACEHOLDER_MODE: u32 = 0o1755;

/// Whether there is a placeholder, and nothing but that. Links are not followed.
pub fn is_placeholder(path: &Path) -> bool {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return false };
    has_its_mode(&metadata) && std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(unix)]
fn has_its_mode(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // The user's `umask` may have taken rights of others away, and takes nothing else. A folder whose group is handed
    // down hands that mark down as well.
    let is_marked = metadata.mode() & 0o5000 == PLACEHOLDER_MODE & 0o5000;
    let is_for_others = metadata.mode() & 0o022 != 0;
    metadata.is_dir() && is_marked && !is_for_others && metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn has_its_mode(_: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_an_empty_folder_of_that_mode_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".codex");
        assert!(!is_placeholder(&path));
        fs::create_dir(&path).unwrap();
        assert!(!is_placeholder(&path), "another process made an empty folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(PLACEHOLDER_MODE)).unwrap();
        assert!(is_placeholder(&path));
        fs::set_permissions(&path, fs::Permissions::from_mode(PLACEHOLDER_MODE | 0o2000)).unwrap();
        assert!(is_placeholder(&path), "in a folder that hands its group down");
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        assert!(!is_placeholder(&folder.path().join("link")));
        fs::write(path.join("config.toml"), "").unwrap();
        assert!(!is_placeholder(&path), "it was used");
    }
}
