//! The corpus of the fuzz targets: files that broke something once, or could have.

#![expect(clippy::disallowed_methods, reason = "tests may read files, the engine may not")]

#[path = "../../../../fuzz/checks/front_matter.rs"]
mod front_matter;
#[path = "../../../../fuzz/checks/mention.rs"]
mod mention;
#[path = "../../../../fuzz/checks/pack.rs"]
mod pack;
#[path = "../../../../fuzz/checks/template.rs"]
mod template;

use crate::facts;
use crate::session_id;

#[track_caller]
fn check_corpus(target: &str, check: impl Fn(&[u8])) {
    let folder = format!("{}/../../fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "no files for {target}");
    for file in files {
        check(&std::fs::read(file).unwrap());
    }
}

#[test]
fn templates_are_read_or_refused() {
    check_corpus("template", template::check);
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
