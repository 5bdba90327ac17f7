//! Items as they are recorded: passed over, cut, with their ids, by their bytes, and taken back.

use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::TruncationMode;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::assemble::LayoutMessage;
use crate::fragment::Fragment;

const WIDE: TruncationPolicy = TruncationPolicy { mode: TruncationMode::Bytes, limit: 1_000_000 };

fn item(json: Value) -> Item {
    serde_json::from_value(json).unwrap()
}

/// An item of each kind that a model may see.
fn every_item() -> Vec<Item> {
    [
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hi \"there\"\n" }] }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "é" }], "phase": "final_answer" }),
        json!({ "type": "message", "role": "developer", "content": [] }),
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_image", "image_url": "data:," }] }),
        json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "s" }], "content": null, "encrypted_content": "e" }),
        json!({ "type": "reasoning", "summary": [], "content": [{ "type": "reasoning_text", "text": "t" }], "encrypted_content": null }),
        json!({ "type": "function_call", "name": "shell", "arguments": "{\"a\":1}", "call_id": "c1" }),
        json!({ "type": "function_call_output", "call_id": "c1", "output": "out\t" }),
        json!({ "type": "function_call", "name": "view", "arguments": "", "call_id": "c2" }),
        json!({ "type": "function_call_output", "call_id": "c2", "output": [{ "type": "input_text", "text": "x" }] }),
        json!({ "type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": "*** Begin\n" }),
        json!({ "type": "custom_tool_call_output", "call_id": "c3", "output": "done" }),
        json!({ "type": "local_shell_call", "call_id": "c4", "status": "completed", "action": { "type": "exec", "command": ["ls"] } }),
        json!({ "type": "function_call_output", "call_id": "c4", "output": "" }),
        json!({ "type": "web_search_call", "status": "completed", "action": { "type": "search", "query": "q" } }),
        json!({ "type": "compaction", "encrypted_content": "e" }),
    ]
    .map(item)
    .into()
}

fn recorded(items: &[Item]) -> Transcript {
    let mut transcript = Transcript::new(ItemIds::Hidden, WIDE);
    for item in items {
        transcript.record(item, &Origin::Model);
    }
    transcript
}

fn body(transcript: &mut Transcript) -> String {
    String::from_utf8(transcript.view(View::default()).concat()).unwrap()
}

#[test]
fn items_of_a_kind_are_read_back_without_the_others() {
    let snapshot = item(
        json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "a", "parent": null, "preexisting_untracked_files": [], "preexisting_untracked_dirs": [] } }),
    );
    let items: Vec<Item> = every_item().into_iter().chain([snapshot.clone()]).collect();
    let mut transcript = recorded(&items);
    let messages: Vec<Item> = items.iter().filter(|item| matches!(item, Item::Message { .. })).cloned().collect();
    for _ in 0..2 {
        assert_eq!(transcript.messages().collect::<Vec<_>>(), messages);
        assert_eq!(transcript.snapshots().collect::<Vec<_>>(), std::slice::from_ref(&snapshot));
        body(&mut transcript);
    }
}

#[test]
fn every_kind_of_item_is_read_back_as_it_was_recorded() {
    let items = every_item();
    let mut transcript = recorded(&items);
    assert_eq!(transcript.items().collect::<Vec<_>>(), items);
    let first = body(&mut transcript);
    // What is rendered is held once, and still read back.
    assert_eq!(transcript.items().collect::<Vec<_>>(), items);
    assert_eq!(transcript.n_items(), items.len());
    let parsed: Vec<Item> = serde_json::from_str(&format!("[{first}]")).unwrap();
    assert_eq!(parsed, items);
    assert_eq!(body(&mut transcript), first, "a second look changes nothing");
    assert_eq!(transcript.shown_len(), first.len());
}

#[test]
fn what_no_model_may_see_again_is_passed_over() {
    let other = item(json!({ "type": "telepathy", "thought": 1 }));
    let transcript = recorded(&[Item::text("system", "x"), other]);
    assert_eq!((transcript.n_items(), transcript.tokens()), (0, 0));
}

#[test]
fn an_item_is_recorded_by_its_bytes_only_if_they_are_what_would_be_written() {
    let part: Arc<str> = "history".into();
    for item in every_item() {
        let bytes = serde_json::to_vec(&item).unwrap();
        let mut ready = Transcript::new(ItemIds::Hidden, WIDE);
        if !ready.record_ready(&bytes, &part, &Origin::Model) {
            assert_eq!(ready.n_items(), 0);
            continue;
        }
        let mut parsed = recorded(std::slice::from_ref(&item));
        assert_eq!(ready.items().collect::<Vec<_>>(), std::slice::from_ref(&item));
        assert_eq!(ready.tokens(), parsed.tokens(), "{item:?}");
        assert_eq!(body(&mut ready), body(&mut parsed));
        // A byte more, a byte less or another byte is not what would be written, or is another item.
        for cut in 0..bytes.len() {
            assert!(
                !ready.record_ready(&bytes[..cut], &part, &Origin::Model),
                "{}",
                String::from_utf8_lossy(&bytes[..cut])
            );
        }
        assert!(!ready.record_ready(&[bytes.as_slice(), b" "].concat(), &part, &Origin::Model));
        let spaced = String::from_utf8(bytes).unwrap().replacen("\":", "\": ", 1);
        assert!(!ready.record_ready(spaced.as_bytes(), &part, &Origin::Model));
    }
}

proptest! {
    /// Whatever bytes are taken as ready are the very bytes that recording the parsed item would write.
    #[test]
    fn ready_bytes_are_those_of_the_parsed_item(output in any::<String>(), id in "[a-z\"\\\\]{0,6}", is_custom: bool) {
        let kind = if is_custom { "custom_tool_call_output" } else { "function_call_output" };
        let written = json!({ "type": kind, "call_id": id, "output": output }).to_string();
        let mut ready = Transcript::new(ItemIds::Hidden, WIDE);
        if ready.record_ready(written.as_bytes(), &"history".into(), &Origin::Model) {
            let parsed: Item = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(serde_json::to_string(&parsed).unwrap(), written);
            prop_assert_eq!(ready.items().collect::<Vec<_>>(), vec![parsed]);
        }
    }
}

#[test]
fn outputs_are_cut_when_they_are_recorded_and_by_the_policy_of_that_moment() {
    let long = "x".repeat(1000);
    let output = |id: &str| item(json!({ "type": "function_call_output", "call_id": id, "output": long }));
    let mut transcript = Transcript::new(ItemIds::Hidden, TruncationPolicy { mode: TruncationMode::Bytes, limit: 100 });
    transcript.record(&output("a"), &Origin::Model);
    transcript.set_truncation(WIDE);
    assert_eq!(transcript.truncation(), WIDE);
    transcript.record(&output("b"), &Origin::Model);
    let lens: Vec<usize> = transcript
        .items()
        .map(|item| match item {
            Item::FunctionCallOutput { output: pellucid_protocol::item::ToolOutput::Text(text), .. } => text.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(lens[0] < 200 && lens[1] == 1000, "{lens:?}");
    let bytes = serde_json::to_vec(&output("c")).unwrap();
    transcript.set_truncation(TruncationPolicy { mode: TruncationMode::Bytes, limit: 100 });
    assert!(!transcript.record_ready(&bytes, &"history".into(), &Origin::Model), "what has to be cut is not ready");
}

#[test]
fn ids_of_the_server_are_sent_as_the_last_key_or_hidden() {
    let call = item(json!({ "type": "function_call", "id": "fc_1", "name": "n", "arguments": "{}", "call_id": "c" }));
    let plain = item(json!({ "type": "function_call", "name": "n", "arguments": "{}", "call_id": "c" }));
    let written = |ids, item: &Item| {
        let mut transcript = Transcript::new(ids, WIDE);
        transcript.record(item, &Origin::Model);
        assert_eq!(transcript.ids(), ids);
        transcript.record(&json_output("c"), &Origin::Model);
        body(&mut transcript).split_once("},{").unwrap().0.to_owned()
    };
    let bare = r#"{"type":"function_call","name":"n","arguments":"{}","call_id":"c""#;
    assert_eq!(written(ItemIds::Hidden, &call), bare);
    assert_eq!(written(ItemIds::Sent, &call), format!("{bare},\"id\":\"fc_1\""));
    assert_eq!(written(ItemIds::Sent, &plain), bare);
}

fn json_output(id: &str) -> Item {
    item(json!({ "type": "function_call_output", "call_id": id, "output": "o" }))
}

#[test]
fn a_history_with_an_open_call_is_not_settled() {
    let call = item(json!({ "type": "function_call", "name": "n", "arguments": "{}", "call_id": "c" }));
    let mut transcript = recorded(&[Item::text("user", "hi"), call]);
    transcript.settle(View::default());
    assert_eq!(transcript.shown_len(), 0);
    transcript.record(&json_output("c"), &Origin::Model);
    transcript.settle(View::default());
    assert!(transcript.shown_len() > 0);
    assert_eq!(transcript.rendered().len(), 3);
}

#[test]
fn a_roll_back_tells_once_how_much_it_left() {
    let said = |text: &str| Item::text("user", text);
    let mut transcript =
        recorded(&[said("one"), Item::text("assistant", "1"), said("two"), Item::text("assistant", "2")]);
    let whole = body(&mut transcript);
    assert_eq!((transcript.take_left(), transcript.take_divergence()), (None, None));
    assert!(transcript.roll_back(1));
    transcript.record(&said("other"), &Origin::User);
    let now = body(&mut transcript);
    let left = whole
        .find(",{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"two")
        .unwrap();
    assert_eq!(transcript.take_left(), Some(left));
    assert_eq!(transcript.take_left(), None);
    let Divergence { kept, of } = transcript.take_divergence().unwrap();
    assert_eq!((&whole[..kept], of), (&now[..kept], whole.len()));
    assert!(kept >= left);
    assert_eq!(transcript.take_divergence(), None);
    assert!(!transcript.roll_back(0));
    assert!(transcript.roll_back(99));
    assert!(!transcript.roll_back(1), "nothing of a person is left");
    assert_eq!(transcript.n_items(), 0);
    transcript.forget_roll_back();
    assert_eq!((body(&mut transcript), transcript.take_left()), (String::new(), None));
}

#[test]
fn a_cleared_history_has_no_figures() {
    let mut transcript = recorded(&every_item());
    assert!(transcript.tokens() > 0);
    body(&mut transcript);
    transcript.clear();
    assert_eq!((transcript.n_items(), transcript.tokens(), transcript.shown_len()), (0, 0, 0));
    transcript.record(&Item::text("user", "again"), &Origin::User);
    assert_eq!(transcript.tokens(), recorded(&[Item::text("user", "again")]).tokens());
}

#[test]
fn tokens_that_the_server_does_not_know_came_after_its_last_item() {
    let thought = item(json!({ "type": "reasoning", "summary": [], "encrypted_content": "x".repeat(2000) }));
    let said = |text: &str| Item::text("user", text);
    let tokens = |items: &[Item], by| recorded(items).tokens_unreported(by);
    let one = recorded(&[said("one more thing")]).tokens();
    assert_eq!(tokens(&[said("one more thing")], ReasoningCounted::ByServer), 0, "the model said nothing yet");
    let after = [Item::text("assistant", "x"), said("one more thing")];
    assert_eq!(tokens(&after, ReasoningCounted::ByServer), one);
    let with_thought = [thought.clone(), Item::text("assistant", "x"), said("one more thing")];
    assert_eq!(tokens(&with_thought, ReasoningCounted::ByServer), one);
    let sealed = recorded(std::slice::from_ref(&thought)).tokens();
    assert_eq!(tokens(&with_thought, ReasoningCounted::ByUs), one + sealed);
}

#[test]
fn the_same_items_in_another_view_are_the_same_items() {
    let mut transcript = recorded(&every_item());
    let responses = body(&mut transcript);
    for &wire in WireApi::ALL {
        let view = View { wire, ..View::default() };
        let bytes = transcript.view(view).concat();
        assert!(!bytes.is_empty());
        let rows: usize = transcript.rendered().iter().map(Rendered::len).sum();
        assert_eq!(rows, bytes.len(), "{wire}: every byte belongs to an item");
    }
    transcript.take_divergence();
    assert_eq!(body(&mut transcript), responses, "and back again to the byte");
}

fn spans(transcript: &Transcript) -> Vec<Vec<(String, usize)>> {
    let kinds = |spans: &[Span]| spans.iter().map(|it| (it.origin.kind().to_owned(), it.len)).collect();
    transcript.items_with_origins().map(|(_, spans)| kinds(&spans)).collect()
}

#[test]
fn an_item_keeps_the_origins_that_it_had_if_they_fit() {
    let draft = Draft::text("docs", "user", vec![Fragment::layout("<a>"), Fragment::provided("p", "text")]);
    let mut first = Transcript::new(ItemIds::Hidden, WIDE);
    first.record_draft(&draft);
    let (item, kept) = first.items_with_origins().next().unwrap();
    assert_eq!(item, draft.item());
    let mut second = Transcript::new(ItemIds::Hidden, WIDE);
    second.record_with(&item, &kept, &Origin::Model);
    assert_eq!(spans(&second), spans(&first));
    second.record_with(&Item::text("user", "another length"), &kept, &Origin::User);
    assert_eq!(spans(&second)[1].len(), 1, "origins that do not fit are not taken");
    assert_eq!(spans(&second)[1][0].0, "user");
}

#[test]
fn items_of_a_session_file_whose_origins_were_not_kept_are_known_as_lost() {
    let lost = Origin::Recorded { path: "/s.jsonl".into() };
    let mut transcript = Transcript::new(ItemIds::Hidden, WIDE);
    transcript.record(&Item::text("developer", "rules"), &lost);
    transcript.record(&Item::text("user", "hi"), &Origin::User);
    assert!(!transcript.is_attributed());
    assert_eq!(transcript.lost_keys().len(), 1);
    let message = |text: &str| LayoutMessage {
        slot: "permissions".into(),
        role: "developer",
        fragments: vec![Fragment::layout(text)],
        inside: None,
    };
    transcript.attribute_context(&[message("other rules")]);
    assert!(!transcript.is_attributed(), "another text is no proof");
    transcript.attribute_context(&[message("rules")]);
    assert!(transcript.is_attributed());
    assert_eq!(transcript.lost_keys().len(), 0);
}

#[test]
fn only_items_whose_bytes_do_not_say_where_they_came_from_have_to_be_kept() {
    let mut transcript = Transcript::new(ItemIds::Hidden, WIDE);
    transcript.record(&Item::text("assistant", "said"), &Origin::Model);
    transcript.record_draft(&Draft::text("docs", "user", vec![Fragment::layout("<a>"), Fragment::provided("p", "x")]));
    let first = transcript.take_attributed(|_| false);
    assert_eq!((first.len(), first[0].is_usual, first[0].spans.len()), (1, false, 4));
    assert_eq!(transcript.take_attributed(|_| true).len(), 0, "each item is looked at once");
    transcript.record(&Item::text("assistant", "more"), &Origin::Model);
    let usual = transcript.take_attributed(|_| true);
    assert_eq!((usual.len(), usual[0].is_usual), (1, true), "one of a length that others have is kept too");
}

#[test]
fn a_draft_is_written_as_its_item_would_be() {
    for role in ["user", "developer", "assistant"] {
        let parts = vec![
            DraftPart::Text(vec![Fragment::layout("a \"b\"\n"), Fragment::fact("f", "é")]),
            DraftPart::Image(Fragment::layout("data:image/png;base64,AA")),
            DraftPart::Text(Vec::new()),
        ];
        let draft = Draft { part: "p".into(), role, parts };
        let encoded = draft.encode();
        assert_eq!(encoded.bytes, serde_json::to_vec(&draft.item()).unwrap(), "{role}");
        assert!(encoded.spans.iter().all(|span| &*span.part == "p"));
    }
}
