//! Patches on a real disk.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves")]

mod cases;
mod corpus;
mod guard;
#[cfg(unix)]
mod race;
mod reference;
mod trees;
mod vectors;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pellucid_patch::Writable;
use pellucid_patch::run;
use tempfile::TempDir;

/// Files by path; a link is where it leads.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// The output of a program and the files it left.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
    pub tree: Tree,
}

pub fn folder_with(tree: &Tree) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in tree {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

pub fn read_tree(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if path.is_symlink() {
                tree.insert(name, fs::read_link(path).unwrap().into_os_string().into_encoded_bytes());
            } else if path.is_dir() {
                folders.push(path);
            } else {
                tree.insert(name, fs::read(path).unwrap());
            }
        }
    }
    tree
}

/// The expected output of our program and the resulting files.
pub fn ours(files: &Tree, patch: &str) -> Outcome {
    let folder = folder_with(files);
    let result = run(patch, folder.path(), &Writable::Everywhere);
    let tree = read_tree(folder.path());
    match result {
        Ok(summary) => Outcome { status: 0, stdout: summary.to_string(), stderr: String::new(), tree },
        Err(failure) => Outcome { status: 1, stdout: String::new(), stderr: format!("{failure}\n"), tree },
    }
}
