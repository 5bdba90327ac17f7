//! Nothing is written outside while another process swaps the folders of a patch for links.

use std::fmt::Write;
use std::path::Path;
use std::path::PathBuf;

use pellucid_patch::Reader;
use pellucid_patch::Writable;
use pellucid_patch::files::Disk;
use pellucid_patch::parse;
use pellucid_patch::run;
use pellucid_patch::verify;
use pellucid_testkit::Swapper;
use pellucid_testkit::n_race_rounds;

use crate::Tree;
use crate::folder_with;
use crate::read_tree;

const N_FOLDERS: usize = 4;
/// Files whose turn comes first, so that there is time between resolving paths and writing.
const N_FIRST: usize = 100;
const N_FILES: usize = 5;

/// The files of every folder, and of the folder outside as well, so that a patch fits there too.
fn files_in(folder: &str) -> impl Iterator<Item = (String, Vec<u8>)> + '_ {
    let changed = (0..N_FILES).map(|n| format!("e{n}"));
    let names = changed.chain(["deleted".to_owned(), "moved".to_owned()]);
    names.map(move |name| (format!("{folder}/{name}"), b"1\n".to_vec()))
}

fn folder(n: usize) -> String {
    format!("w/deep/d{n}")
}

fn world() -> Tree {
    let inside = (0..N_FOLDERS).map(folder).flat_map(|folder| files_in(&folder).collect::<Vec<_>>());
    inside.chain(files_in("out")).collect()
}

/// Every kind of hunk in every folder that is swapped.
fn every_kind() -> String {
    let mut body = String::new();
    for n in 0..N_FOLDERS {
        let at = format!("deep/d{n}");
        let next = format!("deep/d{}", (n + 1) % N_FOLDERS);
        for n in 0..N_FILES {
            write!(body, "*** Add File: {at}/n{n}\n+x\n*** Update File: {at}/e{n}\n-1\n+x\n").unwrap();
        }
        write!(body, "*** Add File: {at}/new/deeper/f\n+x\n*** Delete File: {at}/deleted\n").unwrap();
        write!(body, "*** Update File: {at}/moved\n*** Move to: {next}/elsewhere\n-1\n+x\n").unwrap();
    }
    whole(&body)
}

/// Only files that are written whole: nothing about them has to be what was read.
fn only_added() -> String {
    let mut body = String::new();
    for n in 0..N_FOLDERS {
        for n_file in 0..N_FILES {
            write!(body, "*** Add File: deep/d{n}/e{n_file}\n+x\n*** Add File: deep/d{n}/n{n_file}\n+x\n").unwrap();
        }
    }
    whole(&body)
}

fn whole(body: &str) -> String {
    let first: String = (0..N_FIRST).map(|n| format!("*** Add File: a/n{n}\n+x\n")).collect();
    format!("*** Begin Patch\n{first}{body}*** End Patch\n")
}

/// As the program does it, which holds no texts.
fn as_program(patch: &str, root: &Path, writable: &Writable) -> Result<(), String> {
    run(patch, root, writable).map(drop).map_err(|failure| failure.to_string())
}

/// As the tool does it, which looks before a person is asked.
fn as_tool(patch: &str, root: &Path, writable: &Writable) -> Result<(), String> {
    let parsed = parse(patch).unwrap();
    let verified = verify(&parsed, root, &Disk, Reader::Model).map_err(|error| error.to_string())?;
    verified.check_writable(writable).map_err(|error| error.to_string())?;
    verified.apply(writable).map_err(|error| error.to_string())
}

/// How it went, if nothing is wrong.
#[track_caller]
fn check_race(patch: &str) -> String {
    let before = world();
    let after = {
        let folder = folder_with(&before);
        run(patch, &folder.path().join("w"), &Writable::Everywhere).unwrap();
        read_tree(folder.path())
    };
    let (mut n_applied, mut n_refused, mut n_swaps) = (0, 0, 0);
    let (mut outside, mut inside) = (Vec::new(), Vec::new());
    for round in 0..n_race_rounds() {
        let top = folder_with(&before);
        let root = top.path().canonicalize().unwrap();
        let folders: Vec<PathBuf> = (0..N_FOLDERS).map(|n| root.join(folder(n))).collect();
        let apply = if round.is_multiple_of(2) { as_program } else { as_tool };
        let swapper = Swapper::start(&folders, &root.join("out"));
        let outcome = apply(patch, &root.join("w"), &Writable::folder(root.join("w")));
        n_swaps += swapper.stop();
        let found = read_tree(&root);
        let expected = if outcome.is_ok() { &after } else { &before };
        let mut differing: Vec<_> = differing(&found, expected).cloned().collect();
        if found.keys().any(|path| path.contains(".made/")) {
            // For a moment there was no folder, so the patch made one. It is right there and not where it is looked for.
            differing.retain(|path| path.starts_with("out/") || path.ends_with(".tmp"));
        }
        if differing.iter().any(|path| path.starts_with("out/")) {
            outside.push((round, outcome, differing));
        } else if !differing.is_empty() {
            inside.push((round, outcome, differing));
        } else {
            *if outcome.is_ok() { &mut n_applied } else { &mut n_refused } += 1;
        }
    }
    let (n_outside, n_inside) = (outside.len(), inside.len());
    let counts = format!(
        "{n_applied} applied, {n_refused} refused, {n_swaps} swaps; {n_outside} wrong outside, {n_inside} inside"
    );
    assert!(outside.is_empty(), "{counts}: {outside:?}");
    assert!(inside.is_empty(), "{counts}; all or nothing, and nothing left behind: {inside:?}");
    counts
}

#[test]
fn race_of_every_change_against_folders_that_become_links() {
    println!("{}", check_race(&every_kind()));
}

#[test]
fn race_of_new_files_against_folders_that_become_links() {
    println!("{}", check_race(&only_added()));
}

/// Paths that are in one of two trees only, or differ.
fn differing<'a>(one: &'a Tree, other: &'a Tree) -> impl Iterator<Item = &'a String> {
    let changed = one.iter().filter(|(path, bytes)| other.get(*path) != Some(*bytes)).map(|(path, _)| path);
    changed.chain(other.keys().filter(|path| !one.contains_key(*path)))
}
