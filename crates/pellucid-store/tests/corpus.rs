//! The corpus of the fuzz targets: files that broke something once, or could have.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]

#[path = "../../../fuzz/checks/redact.rs"]
mod redact;
#[path = "../../../fuzz/checks/rollout.rs"]
mod rollout;

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
fn any_text_is_gone_through_for_secrets() {
    check_corpus("redact", redact::check);
}

#[test]
fn any_file_is_read_as_a_session() {
    check_corpus("rollout", rollout::check);
}
