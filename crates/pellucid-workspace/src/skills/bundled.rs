//! Skills that a pack brings along: they are written into the folder of the program's skills.
//!
//! The folder `HOME/skills/.system` is written as a whole and marked with a fingerprint of what was written. A folder
//! without that mark was not written by Pellucid and is left alone.
//!
//! Not here: finding skills there, which goes as everywhere else.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use pellucid_files::Folder;
use sha2::Digest;
use sha2::Sha256;

use crate::pack_files;
use crate::pack_files::PackPlace;

/// The folder with skills in a pack.
pub const FOLDER: &str = "bundled_skills";

/// The file that holds the fingerprint.
const MARKER: &str = ".pellucid-bundled-skills.marker";

/// Larger files, and more of them, are not what a pack brings along.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
const FILES_MAX: usize = 2_000;
const DEPTH_MAX: usize = 8;

/// Files by their paths from a folder, with slashes.
pub type BundledFiles = BTreeMap<String, Vec<u8>>;

/// Puts the skills of a pack into place; those that another pack left there are gone then.
///
/// # Errors
/// If something cannot be read or written.
pub fn install(pack: &str, home: &Path) -> io::Result<()> {
    let files = match pack_files::find(pack, home) {
        Ok(PackPlace::Folder(folder)) => read(&folder.join(FOLDER))?,
        Ok(PackPlace::BuiltIn(_)) | Err(_) => BundledFiles::new(),
    };
    let skills = home.join(super::FOLDER);
    let system = skills.join(super::SYSTEM_FOLDER);
    let marked = pellucid_files::read_text(&system.join(MARKER), pellucid_files::TEXT_BYTES_MAX).ok();
    let print = fingerprint(&files);
    let is_ours = marked.is_some();
    if marked.as_deref() == Some(print.as_str()) || !is_ours && (files.is_empty() || system.exists()) {
        return Ok(());
    }
    if is_ours {
        fs::remove_dir_all(&system)?;
    }
    if files.is_empty() {
        return Ok(());
    }
    // Processes that start at the same time see all of it or nothing.
    let fresh = skills.join(format!("{}-{}", super::SYSTEM_FOLDER, std::process::id()));
    write(&fresh, &files)?;
    pellucid_files::write_private(&fresh.join(MARKER), print.as_bytes())?;
    if let Err(error) = fs::rename(&fresh, &system) {
        fs::remove_dir_all(&fresh)?;
        // Another process was faster.
        return if system.exists() { Ok(()) } else { Err(error) };
    }
    Ok(())
}

/// Reads a folder; a missing folder has no files. Links, and names that begin with a dot, are skipped.
///
/// # Errors
/// If something cannot be read, or there is too much.
pub fn read(folder: &Path) -> io::Result<BundledFiles> {
    let mut files = BundledFiles::new();
    if folder.is_dir() {
        read_into(folder, "", &mut files)?;
    }
    Ok(files)
}

fn read_into(folder: &Path, prefix: &str, files: &mut BundledFiles) -> io::Result<()> {
    let refused = |what: &str| Err(io::Error::other(format!("{}: {what}", folder.display())));
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            return refused("a name is not UTF-8");
        };
        let kind = entry.file_type()?;
        if name.starts_with('.') || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            if prefix.matches('/').count() >= DEPTH_MAX {
                return refused("too many folders inside each other");
            }
            read_into(&entry.path(), &format!("{prefix}{name}/"), files)?;
        } else if entry.metadata()?.len() > FILE_BYTES_MAX || files.len() >= FILES_MAX {
            return refused("too many or too large files");
        } else {
            files.insert(format!("{prefix}{name}"), pellucid_files::read(&entry.path(), FILE_BYTES_MAX)?);
        }
    }
    Ok(())
}

/// Writes files into a folder, which is created if it does not exist.
///
/// # Errors
/// If something cannot be written.
pub fn write(folder: &Path, files: &BundledFiles) -> io::Result<()> {
    pellucid_files::make_private_folder(folder)?;
    let held = Folder::open(folder, None)?;
    files.iter().try_for_each(|(name, bytes)| held.write_private(Path::new(name), bytes))
}

fn fingerprint(files: &BundledFiles) -> String {
    let mut hash = Sha256::new();
    for (name, bytes) in files {
        for part in [name.as_bytes(), bytes] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A home folder with two packs that bring a skill each.
    fn home() -> TempDir {
        let home = TempDir::new().unwrap();
        for (pack, skill) in [("one", "sail"), ("two", "row")] {
            let folder = home.path().join("packs").join(pack).join(FOLDER).join(skill);
            fs::create_dir_all(folder.join("assets")).unwrap();
            fs::write(folder.join("SKILL.md"), skill).unwrap();
            fs::write(folder.join("assets/icon.png"), b"\xff").unwrap();
            fs::write(folder.join(".hidden"), "no").unwrap();
        }
        home
    }

    #[track_caller]
    fn check_system(home: &Path, expected: &[&str]) {
        let files = read(&home.join("skills/.system")).unwrap();
        assert_eq!(files.keys().map(String::as_str).collect::<Vec<_>>(), expected);
        let beside = fs::read_dir(home.join("skills")).into_iter().flatten().count();
        assert!(beside <= 1, "nothing is left beside it");
    }

    #[test]
    fn each_pack_has_its_own_and_the_built_in_ones_none() {
        let home = home();
        let home = home.path();
        install("codex", home).unwrap();
        check_system(home, &[]);
        for _ in 0..2 {
            install("one", home).unwrap();
            check_system(home, &["sail/SKILL.md", "sail/assets/icon.png"]);
        }
        install("two", home).unwrap();
        check_system(home, &["row/SKILL.md", "row/assets/icon.png"]);
        install("codex", home).unwrap();
        check_system(home, &[]);
    }

    #[test]
    fn what_a_pack_changes_is_written_anew() {
        let home = home();
        let home = home.path();
        install("one", home).unwrap();
        fs::write(home.join("packs/one").join(FOLDER).join("sail/SKILL.md"), "new").unwrap();
        install("one", home).unwrap();
        assert_eq!(fs::read_to_string(home.join("skills/.system/sail/SKILL.md")).unwrap(), "new");
    }

    #[test]
    fn what_somebody_else_put_there_is_left_alone() {
        let home = home();
        let home = home.path();
        fs::create_dir_all(home.join("skills/.system/theirs")).unwrap();
        fs::write(home.join("skills/.system/theirs/SKILL.md"), "theirs").unwrap();
        for pack in ["one", "codex"] {
            install(pack, home).unwrap();
            check_system(home, &["theirs/SKILL.md"]);
        }
    }
}
