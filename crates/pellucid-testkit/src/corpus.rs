//! The files of a fuzz target: inputs that once caused a failure, or could.

use std::fs;
use std::path::Path;

/// Runs the check of a fuzz target on every file of its corpus.
///
/// # Panics
/// If the corpus has no files, and where the check does.
#[track_caller]
pub fn check_corpus(target: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(folder).expect("the target has a corpus");
    let files: Vec<_> = files.map(|entry| entry.expect("the corpus can be listed").path()).collect();
    assert!(!files.is_empty(), "no files for {target}");
    for file in files {
        check(&fs::read(file).expect("a file of the corpus can be read"));
    }
}
