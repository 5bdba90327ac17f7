//! The corpus of the fuzz targets: files that broke something once, or could have.

#[path = "../../../fuzz/checks/redact.rs"]
mod redact;
#[path = "../../../fuzz/checks/rollout.rs"]
mod rollout;

use pellucid_testkit::check_corpus;

#[test]
fn any_text_is_gone_through_for_secrets() {
    check_corpus("redact", redact::check);
}

#[test]
fn any_file_is_read_as_a_session() {
    check_corpus("rollout", rollout::check);
}
