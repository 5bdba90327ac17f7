//! The corpus of the fuzz targets: files that broke something once, or could have.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]

#[path = "../../../fuzz/checks/rules.rs"]
mod rules;
#[path = "../../../fuzz/checks/shell.rs"]
mod shell;

use std::fs;

#[track_caller]
fn check_corpus(target: &str, check: impl Fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "no files for {target}");
    for file in files {
        check(&fs::read(file).unwrap());
    }
}

#[test]
fn scripts_are_taken_apart_or_stay_whole() {
    check_corpus("shell", shell::check);
}

#[test]
fn rules_are_read_or_refused() {
    check_corpus("rules", rules::check);
}
