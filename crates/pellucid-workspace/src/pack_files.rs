//! Packs on disk: finds, reads and writes the folders that users' packs are.
//!
//! A pack is named by its folder: `HOME/packs/NAME`, or any folder by its path. Names of built-in packs come first.
//!
//! Not here: what the files mean. The engine checks them.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::pack::LAYOUT;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackError;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::pack::slots;
use pellucid_files::Folder;

use crate::skills::bundled;

/// The folder with the user's packs, in the home folder.
pub const FOLDER: &str = "packs";

/// Larger files are no texts for a model.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
const FILES_MAX: usize = 2_000;
const DEPTH_MAX: usize = 8;

/// The place of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackPlace {
    /// Built into the program, under this name.
    BuiltIn(String),
    /// A folder on disk.
    Folder(PathBuf),
}

/// Why a pack cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackFilesError {
    /// No pack has this name.
    #[error("there is no pack `{name}`; known: {}", known.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names of all packs.
        known: Vec<String>,
    },
    /// A folder or file cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("could not write {}", path.display())]
    Write {
        /// The path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file or its name is not UTF-8.
    #[error("{} is not UTF-8; the files of a pack are texts", path.display())]
    NotUtf8 {
        /// The path of the file.
        path: PathBuf,
    },
    /// A file is too large.
    #[error("{} has {size} bytes; a file of a pack has at most {FILE_BYTES_MAX}", path.display())]
    TooLarge {
        /// The path of the file.
        path: PathBuf,
        /// The number of bytes of the file.
        size: u64,
    },
    /// The folder has too many files.
    #[error("{} has more than {FILES_MAX} files, or folders more than {DEPTH_MAX} deep; is this a pack?", path.display())]
    TooMany {
        /// The path of the folder.
        path: PathBuf,
    },
    /// Nothing in the folder belongs to a pack.
    #[error("{} is not a pack: it has neither {LAYOUT} nor the file of a slot", path.display())]
    NoPack {
        /// The path of the folder.
        path: PathBuf,
    },
    /// Something in the pack is wrong.
    #[error(transparent)]
    Pack(#[from] PackError),
}

/// Finds a pack by its name or its folder.
///
/// # Errors
/// If there is no such pack.
pub fn find(name_or_folder: &str, home: &Path) -> Result<PackPlace, PackFilesError> {
    if is_path(name_or_folder) {
        return Ok(PackPlace::Folder(PathBuf::from(name_or_folder)));
    }
    if Pack::builtin_names().contains(&name_or_folder) {
        return Ok(PackPlace::BuiltIn(name_or_folder.to_owned()));
    }
    let folder = home.join(FOLDER).join(name_or_folder);
    if !name_or_folder.is_empty() && folder.is_dir() {
        return Ok(PackPlace::Folder(folder));
    }
    let mut known: Vec<String> = Pack::builtin_names().into_iter().map(str::to_owned).collect();
    known.extend(users(home).into_iter().map(|(name, _)| name));
    Err(PackFilesError::Unknown { name: name_or_folder.to_owned(), known })
}

/// Whether a text names a folder rather than a pack.
pub fn is_path(text: &str) -> bool {
    text.contains(['/', '\\']) || text.starts_with(['.', '~']) || Path::new(text).is_absolute()
}

/// The user's packs by name, with their folders.
pub fn users(home: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(home.join(FOLDER)).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.path().is_dir()).filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        (!name.starts_with('.')).then(|| (name, entry.path()))
    });
    let mut packs: Vec<_> = named.collect();
    packs.sort();
    packs
}

/// Finds and loads a pack.
///
/// # Errors
/// If there is no such pack, or it is invalid.
pub fn load(name_or_folder: &str, home: &Path) -> Result<Pack, PackFilesError> {
    match find(name_or_folder, home)? {
        PackPlace::BuiltIn(name) => Pack::builtin(&name).ok_or_else(|| PackFilesError::Unknown {
            name,
            known: Pack::builtin_names().into_iter().map(str::to_owned).collect(),
        }),
        PackPlace::Folder(folder) => Ok(Pack::load_user(&read(&folder)?, &folder.to_string_lossy())?),
    }
}

/// Reads the files of a pack. Entries whose names begin with a dot are passed over.
///
/// # Errors
/// If something cannot be read, is not a text, or is too large.
pub fn read(folder: &Path) -> Result<PackFiles, PackFilesError> {
    let mut files = PackFiles::new();
    read_folder(folder, folder, "", &mut files)?;
    let is_ours = |name: &str| name == LAYOUT || name == slots::MODELS || name.starts_with("tools/");
    let is_slot = |name: &str| slots::SLOTS.iter().any(|slot| slot.file() == name);
    if !files.keys().any(|name| is_ours(name) || is_slot(name)) {
        return Err(PackFilesError::NoPack { path: folder.to_owned() });
    }
    Ok(files)
}

fn read_folder(root: &Path, folder: &Path, prefix: &str, files: &mut PackFiles) -> Result<(), PackFilesError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| PackFilesError::Read { path, source }
    };
    if prefix.matches('/').count() > DEPTH_MAX {
        return Err(PackFilesError::TooMany { path: root.to_owned() });
    }
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        let not_utf8 = || PackFilesError::NotUtf8 { path: path.clone() };
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(not_utf8)?;
        // The skills that a pack brings along need not be texts.
        if name.starts_with('.') || prefix.is_empty() && name == bundled::FOLDER {
            continue;
        }
        let metadata = fs::metadata(&path).map_err(failed(&path))?;
        if metadata.is_dir() {
            read_folder(root, &path, &format!("{prefix}{name}/"), files)?;
            continue;
        }
        if metadata.len() > FILE_BYTES_MAX {
            return Err(PackFilesError::TooLarge { path, size: metadata.len() });
        }
        let text = String::from_utf8(pellucid_files::read(&path, FILE_BYTES_MAX).map_err(failed(&path))?)
            .map_err(|_| not_utf8())?;
        files.insert(format!("{prefix}{name}"), text);
        if files.len() > FILES_MAX {
            return Err(PackFilesError::TooMany { path: root.to_owned() });
        }
    }
    Ok(())
}

/// Writes files into a folder, which is created if it does not exist.
///
/// # Errors
/// If something cannot be written.
pub fn write(folder: &Path, files: &PackFiles) -> Result<(), PackFilesError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| PackFilesError::Write { path, source }
    };
    let held = pellucid_files::make_private_folder(folder)
        .and_then(|()| Folder::open(folder, None))
        .map_err(failed(folder))?;
    for (name, text) in files {
        held.write_private(Path::new(name), text.as_bytes()).map_err(failed(&folder.join(name)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use expect_test::Expect;
    use expect_test::expect;
    use tempfile::TempDir;

    use super::*;

    /// A home folder with these files, each `name: text`.
    fn home(files: &[(&str, &[u8])]) -> TempDir {
        let home = TempDir::new().unwrap();
        for (name, bytes) in files {
            let path = home.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        home
    }

    #[track_caller]
    fn check_load(files: &[(&str, &[u8])], name: &str, expected: &Expect) {
        let home = home(files);
        let builtin = Pack::builtin_names();
        let at = |text: String| {
            let quoted: Vec<_> = builtin.iter().map(|name| format!("`{name}`")).collect();
            let text = text.replace(&*home.path().to_string_lossy(), "$HOME");
            text.replace(&format!("known: {}", builtin.join(", ")), "known: $BUILTIN")
                .replace(&format!("known: {}", quoted.join(", ")), "known: $BUILTIN")
        };
        let actual = match load(&name.replace("$HOME", &home.path().to_string_lossy()), home.path()) {
            Ok(pack) => {
                let texts = pack.slot_texts();
                let own = texts.iter().filter(|slot| slot.is_users);
                let own: String =
                    own.map(|slot| format!("{} from {}\n", slot.name, slot.origin.as_deref().unwrap())).collect();
                let unknown: String = pack.unknown_files().iter().map(|it| format!("warning: {it}\n")).collect();
                at(format!("pack {}\n{own}{unknown}", pack.name))
            }
            Err(error) => {
                let cause = error.source().map_or_else(String::new, |source| format!(": {source}"));
                at(format!("error: {error}{cause}"))
            }
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn a_built_in_pack_is_found_by_its_name() {
        check_load(&[], "codex", &expect!["pack codex\n"]);
    }

    #[test]
    fn a_users_pack_is_found_by_its_name_and_by_its_folder() {
        let files: &[(&str, &[u8])] = &[
            ("packs/mine/pack.toml", b"name = 'mine'\nfrom = 'codex'\n"),
            ("packs/mine/turn/aborted.md", b"Stopped."),
            ("packs/mine/.git/HEAD", b"\xff"),
            ("packs/mine/README.md", b"About."),
        ];
        let found = expect![[r#"
            pack mine
            turn/aborted from $HOME/packs/mine/turn/aborted.md
        "#]];
        check_load(files, "mine", &found);
        check_load(files, "$HOME/packs/mine", &found);
    }

    #[test]
    fn a_folder_of_texts_needs_no_layout() {
        check_load(
            &[("words/tools/update_plan.plan.status.md", b"One of three.")],
            "$HOME/words",
            &expect![[r#"
            pack words
            tools/update_plan.plan.status from $HOME/words/tools/update_plan.plan.status.md
        "#]],
        );
    }

    #[test]
    fn what_nothing_reads_is_a_warning_with_what_was_meant() {
        let files: &[(&str, &[u8])] = &[
            ("words/turn/abort.md", b"x"),
            ("words/tools/update_plan.plan.state.md", b"x"),
            ("words/tools/view_image.md", b"Look."),
            ("words/something/else/entirely.txt", b"x"),
        ];
        check_load(
            files,
            "$HOME/words",
            &expect![[r#"
            pack words
            tools/view_image from $HOME/words/tools/view_image.md
            warning: $HOME/words/something/else/entirely.txt: no slot has this name, so nothing reads the file; `pellucid pack show` lists the slots
            warning: $HOME/words/tools/update_plan.plan.state.md: no slot has this name, so nothing reads the file; did you mean tools/update_plan.plan.status.md?
            warning: $HOME/words/turn/abort.md: no slot has this name, so nothing reads the file; did you mean turn/aborted.md?
        "#]],
        );
    }

    #[test]
    fn bad_packs_are_refused_by_file() {
        check_load(
            &[("packs/mine/pack.toml", b"name = 'mine'\n")],
            "theirs",
            &expect!["error: there is no pack `theirs`; known: $BUILTIN, mine"],
        );
        check_load(&[], "", &expect!["error: there is no pack ``; known: $BUILTIN"]);
        check_load(
            &[],
            "$HOME/nowhere",
            &expect!["error: could not read $HOME/nowhere: No such file or directory (os error 2)"],
        );
        check_load(
            &[("words/notes.txt", b"x")],
            "$HOME/words",
            &expect!["error: $HOME/words is not a pack: it has neither pack.toml nor the file of a slot"],
        );
        check_load(
            &[("words/turn/aborted.md", b"caf\xe9")],
            "$HOME/words",
            &expect!["error: $HOME/words/turn/aborted.md is not UTF-8; the files of a pack are texts"],
        );
        check_load(
            &[("words/turn/aborted.md", &[b'x'; 4_194_305])],
            "$HOME/words",
            &expect!["error: $HOME/words/turn/aborted.md has 4194305 bytes; a file of a pack has at most 4194304"],
        );
        check_load(
            &[("words/a/b/c/d/e/f/g/h/i/j.md", b"x")],
            "$HOME/words",
            &expect!["error: $HOME/words has more than 2000 files, or folders more than 8 deep; is this a pack?"],
        );
        check_load(
            &[("words/pack.toml", b"name = 'words'\nfrom = 'kodex'\n")],
            "$HOME/words",
            &expect!["error: $HOME/words/pack.toml:2: unknown pack `kodex`; known: $BUILTIN"],
        );
    }

    #[test]
    fn what_is_written_can_be_read() {
        let home = home(&[]);
        let files =
            PackFiles::from([("a/b.md".to_owned(), "x".to_owned()), ("pack.toml".to_owned(), "name = 'x'".to_owned())]);
        let folder = home.path().join("packs/x");
        write(&folder, &files).unwrap();
        assert_eq!(read(&folder).unwrap(), files);
        assert_eq!(users(home.path()), [("x".to_owned(), folder)]);
    }
}
