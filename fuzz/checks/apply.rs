//! Any text is applied as a patch to a folder with links, a folder with a file's name and a repository: all of it or
//! nothing, and nothing outside of the folder or in its `.git` changes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

use pellucid_patch::PatchFolder;
use pellucid_patch::Writable;
use pellucid_protocol::protected::GitAccess;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(top) = tempfile::tempdir() else { return };
    let work = top.path().join("work");
    if prepare(top.path()).is_err() {
        return;
    }
    let seen = || [top.path().join("outside"), work.join(".git")].map(|folder| state(&folder));
    let (before, all_before) = (seen(), state(&work));
    let writable = Writable::In(vec![PatchFolder {
        path: work.clone(),
        identity: None,
        protected: Vec::new(),
        git: GitAccess::Protected,
    }]);
    let applied = pellucid_patch::run(text, &work, &writable);
    assert_eq!(seen(), before, "{applied:?}");
    if applied.is_err() {
        assert_eq!(state(&work), all_before, "{applied:?}");
    }
    let names: Vec<_> =
        fs::read_dir(top.path()).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

fn prepare(top: &Path) -> io::Result<()> {
    let (work, outside) = (top.join("work"), top.join("outside"));
    for folder in [work.join(".git/hooks"), work.join("d/e"), outside.join("in")] {
        fs::create_dir_all(folder)?;
    }
    for (path, text) in [
        (work.join("a"), "1\n2\n3\n"),
        (work.join("d/b"), "1\n"),
        (work.join(".git/config"), "1\n"),
        (work.join(".git/hooks/h"), "1\n"),
        (outside.join("a"), "1\n"),
        (outside.join("in/a"), "1\n"),
    ] {
        fs::write(path, text)?;
    }
    symlink("../outside", work.join("l"))?;
    symlink("../outside/a", work.join("f"))?;
    symlink(".git", work.join("g"))?;
    symlink("d", work.join("i"))?;
    symlink("o", work.join("o"))?;
    symlink("../outside/new", work.join("n"))
}

/// Everything in a folder: kinds, rights and contents.
fn state(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            let content = if metadata.is_symlink() {
                format!("link {:?}", fs::read_link(&path))
            } else if metadata.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else {
                format!("file {:?}", fs::read(&path))
            };
            found.insert(path, format!("{:o} {content}", metadata.permissions().mode()));
        }
    }
    found
}
