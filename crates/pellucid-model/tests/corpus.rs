//! The corpus of the fuzz targets: files that broke something once, or could have.

#[path = "../../../fuzz/checks/chat.rs"]
mod chat;
#[path = "../../../fuzz/checks/messages.rs"]
mod messages;
#[path = "../../../fuzz/checks/script.rs"]
mod script;
#[path = "../../../fuzz/checks/stream.rs"]
mod stream;

use pellucid_testkit::check_corpus;

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
