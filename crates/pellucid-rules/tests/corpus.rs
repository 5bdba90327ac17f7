//! The corpus of the fuzz target: rules files that once caused a failure, or could.

#[path = "../../../fuzz/checks/rules.rs"]
mod rules;

use pellucid_testkit::check_corpus;

#[test]
fn rules_are_read_or_refused() {
    check_corpus("rules", rules::check);
}
