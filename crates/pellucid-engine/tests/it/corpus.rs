//! The corpus of the fuzz targets: files that once caused a failure, or could.

#[path = "../../../../fuzz/checks/computed.rs"]
mod computed;
#[path = "../../../../fuzz/checks/front_matter.rs"]
mod front_matter;
#[path = "../../../../fuzz/checks/mention.rs"]
mod mention;
#[path = "../../../../fuzz/checks/pack.rs"]
mod pack;
#[path = "../../../../fuzz/checks/template.rs"]
mod template;

use pellucid_testkit::check_corpus;

use crate::facts;
use crate::session_id;

#[test]
fn templates_are_read_or_refused() {
    check_corpus("template", template::check);
}

#[test]
fn templates_that_compute_end_and_keep_the_bytes_of_files() {
    check_corpus("computed", |data| computed::check(data, &facts()));
}

#[test]
fn packs_are_refused_or_make_requests() {
    check_corpus("pack", |data| pack::check(data, &facts(), &session_id()));
}

#[test]
fn heads_are_read_or_refused() {
    check_corpus("front_matter", front_matter::check);
}

#[test]
fn mentions_are_what_the_text_says() {
    check_corpus("mention", mention::check);
}
