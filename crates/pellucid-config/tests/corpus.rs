//! The corpus of the fuzz target: configuration files that once caused a failure, or could.

#[path = "../../../fuzz/checks/config.rs"]
mod config;

use pellucid_testkit::check_corpus;

#[test]
fn configurations_are_read_or_refused() {
    check_corpus("config", config::check);
}
