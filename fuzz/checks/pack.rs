//! Any `pack.toml` is a layout or is refused, and with one that is not refused, assembly and the
//! request that follows cannot fail.
//!
//! The text stands among the files of the codex pack, so that what it names can be there.

use pellucid_engine::assemble::assemble;
use pellucid_engine::facts::Facts;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::id::SessionId;

pub fn check(data: &[u8], facts: &Facts, session_id: &SessionId) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut files = Pack::builtin_files("codex").expect("it is built in");
    files.insert("pack.toml".to_owned(), text.to_owned());
    let pack = match Pack::load(&files) {
        Ok(pack) => pack,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let context = assemble(&pack, facts);
    let wire = WireSettings::new(session_id.clone());
    let frame = Frame::new(&pack, facts, &context.instructions, &wire);
    let mut transcript = Transcript::new(ItemIds::Hidden, facts.settings.model.truncation_policy);
    for message in context.messages {
        transcript.record_draft(&Draft::from(message));
    }
    let body = frame.request(&mut transcript).body();
    let report = Report::new(&frame, transcript.rendered(), context.omissions, Vec::new());
    assert_eq!(report.bytes(), body.len());
    let value: serde_json::Value = serde_json::from_slice(&body).expect("a request is JSON");
    assert!(value["input"].is_array());
}
