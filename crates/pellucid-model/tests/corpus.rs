//! The corpus of the fuzz targets: files that broke something once, or could have.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]

#[path = "../../../fuzz/checks/chat.rs"]
mod chat;
#[path = "../../../fuzz/checks/messages.rs"]
mod messages;
#[path = "../../../fuzz/checks/script.rs"]
mod script;
#[path = "../../../fuzz/checks/stream.rs"]
mod stream;

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
fn scripts_are_refused_or_played() {
    check_corpus("script", script::check);
}

#[test]
fn streams_of_the_other_wires_are_read_to_their_end() {
    check_corpus("chat", chat::check);
    check_corpus("messages", messages::check);
}

#[test]
fn streams_are_read_to_their_end() {
    check_corpus("stream", stream::check);
}
