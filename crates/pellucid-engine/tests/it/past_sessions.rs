//! Memories of past sessions: the request about one of them, in every pack and on every wire.

use pellucid_engine::fragment::concat;
use pellucid_engine::memories::extraction;
use pellucid_engine::memories::files;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::WireApi;
use serde_json::Value;

use crate::facts;
use crate::requests::wire;
use crate::transcripts::POLICY;

#[test]
fn a_session_is_asked_about_without_tools_and_with_a_schema() {
    let items = [Item::text("user", "Count the files.")];
    let session = extraction::ExtractionSource { path: "/h/s.jsonl", cwd: "/w", items: &items };
    for pack in Pack::builtin_names().into_iter().map(|name| Pack::builtin(name).unwrap()) {
        for &api in WireApi::ALL {
            let settings = WireSettings { wire: api, output_schema: Some(extraction::schema()), ..wire() };
            let frame = Frame::for_question(&pack, &facts(), &extraction::instructions(&pack), &settings);
            let mut transcript = Transcript::new(ItemIds::Hidden, POLICY);
            let text = extraction::input(&pack, &session, None);
            transcript.record_draft(&Draft::text("memory_source", "user", text));
            let request = frame.request(&mut transcript);
            let body: Value = serde_json::from_slice(&request.body()).unwrap();
            let place = format!("{} {api}: {body:#}", pack.name);
            assert!(body["tools"].as_array().is_none_or(Vec::is_empty), "{place}");
            assert!(body.to_string().contains("\"rollout_slug\":{\"type\":[\"string\",\"null\"]}"), "{place}");
            assert!(body.to_string().contains("Count the files."), "{place}");
            let report = Report::new(&frame, transcript.rendered(), Vec::new(), Vec::new());
            assert_eq!(report.bytes(), request.len(), "{place}");
        }
        assert!(concat(&files::prompt(&pack, "/h/memories")).contains("/h/memories"), "{}", pack.name);
    }
}
