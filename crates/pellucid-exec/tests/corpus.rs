//! The corpus of the fuzz targets: files that broke something once, or could have.

#[path = "../../../fuzz/checks/shell.rs"]
mod shell;

use pellucid_testkit::check_corpus;

#[test]
fn scripts_are_taken_apart_or_stay_whole() {
    check_corpus("shell", shell::check);
}
