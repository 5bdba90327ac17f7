//! Texts between items: where they go, what a request then has, and what the next one continues.

use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use super::*;
use crate::assemble::LayoutMessage;
use crate::fragment::Fragment;
use crate::transcript::ItemIds;
use crate::transcript::View;

/// Items in a word each: `u`ser, `a`ssistant, `d`eveloper, `c`all, `o`utput, `t`hought.
fn recorded(words: &str) -> Transcript {
    let policy = TruncationPolicy { mode: TruncationMode::Bytes, limit: 1_000_000 };
    let mut transcript = Transcript::new(ItemIds::Hidden, policy);
    add(&mut transcript, words);
    transcript
}

fn add(transcript: &mut Transcript, words: &str) {
    for word in words.split_whitespace() {
        let id = word[1..].to_owned();
        let item = match &word[..1] {
            "u" => Item::text("user", word),
            "a" => Item::text("assistant", word),
            "d" => Item::text("developer", word),
            "c" => Item::FunctionCall { id: None, name: "x".to_owned(), arguments: "{}".to_owned(), call_id: id },
            "o" => Item::FunctionCallOutput { call_id: id, output: ToolOutput::Text(word.to_owned()) },
            _ => serde_json::from_value(serde_json::json!({ "type": "reasoning", "summary": [] })).unwrap(),
        };
        transcript.record(&item, &Origin::Model);
    }
}

fn placed(slot: &str, messages: usize, from: HistoryEnd) -> PlacedMessage {
    let message =
        LayoutMessage { slot: slot.into(), role: "developer", fragments: vec![Fragment::layout(slot)], inside: None };
    PlacedMessage { message, depth: Depth { messages, from } }
}

/// The number of the item that a text at this depth comes before.
#[track_caller]
fn check(words: &str, from_start: &[usize], from_end: &[usize]) {
    for (from, expected) in [(HistoryEnd::Start, from_start), (HistoryEnd::End, from_end)] {
        let found = (0..expected.len()).map(|depth| {
            let mut transcript = recorded(words);
            transcript.place(&[placed("note", depth, from)]);
            transcript.places()[0].before
        });
        assert_eq!(found.collect::<Vec<_>>(), expected, "{words} {from:?}");
    }
}

#[test]
fn depths_count_messages_of_the_conversation() {
    check("", &[0, 0], &[0, 0]);
    check("u1", &[0, 1, 1], &[1, 0, 0]);
    check("d u1 a1 u2", &[1, 2, 3, 4, 4], &[4, 3, 2, 1, 1]);
    // A change of settings between two messages counts as none.
    check("u1 a1 d u2", &[0, 1, 3, 4], &[4, 3, 1, 0]);
}

#[test]
fn thoughts_calls_and_their_outputs_are_never_split() {
    check("u1 t c1 o1 t a1 u2", &[0, 1, 4, 6, 7], &[7, 6, 4, 1, 0]);
    check("u1 c1 c2 a1 o1 o2 a2", &[0, 1, 6, 7], &[7, 6, 1, 0]);
    // A call that was never answered holds back nothing.
    check("u1 c1 u2", &[0, 1, 2, 3], &[3, 2, 1, 0]);
}

const VIEWS: [WireApi; 3] = [WireApi::Responses, WireApi::Chat, WireApi::Messages];

fn shown(transcript: &mut Transcript, wire: WireApi) -> String {
    String::from_utf8(transcript.view(View { wire, ..View::default() }).concat()).unwrap()
}

#[test]
fn requests_of_a_turn_extend_each_other_and_the_next_turn_names_what_moved() {
    for wire in VIEWS {
        let mut transcript = recorded("u1");
        let texts = [placed("note", 1, HistoryEnd::End), placed("end", 0, HistoryEnd::End)];
        assert_eq!(transcript.place(&texts), None, "nothing was shown yet");
        let first = shown(&mut transcript, wire);
        add(&mut transcript, "c1 o1");
        let second = shown(&mut transcript, wire);
        assert!(second.starts_with(&first), "{wire:?}: {first} {second}");
        assert_eq!(transcript.take_divergence(), None);
        add(&mut transcript, "a1 u2");
        assert_eq!(transcript.place(&texts).as_deref(), Some("note"), "{wire:?}");
        let third = shown(&mut transcript, wire);
        let divergence = transcript.take_divergence().unwrap();
        assert!(third.as_bytes()[..divergence.kept] == second.as_bytes()[..divergence.kept], "{wire:?}");
        let places = ["u1", "a1", "note", "u2", "end"].map(|text| third.find(text).unwrap());
        assert!(places.is_sorted() && third.matches("note").count() == 1, "{wire:?}: {third}");
        // Items and their origins stay as they are, and rows cover the bytes.
        assert_eq!(transcript.n_items(), 5);
        assert_eq!(
            transcript.rendered().iter().map(super::super::rendering::Rendered::len).sum::<usize>(),
            third.len()
        );
    }
}

#[test]
fn a_text_that_keeps_its_place_and_words_breaks_nothing() {
    let mut transcript = recorded("u1 a1");
    let texts = [placed("opening", 1, HistoryEnd::Start)];
    transcript.place(&texts);
    shown(&mut transcript, WireApi::Chat);
    add(&mut transcript, "u2");
    assert_eq!(transcript.place(&texts), None);
    shown(&mut transcript, WireApi::Chat);
    assert_eq!(transcript.take_divergence(), None);
    assert_eq!(transcript.place(&[]).as_deref(), Some("opening"), "a text that is gone is named");
}

#[test]
fn what_a_record_keeps_gives_the_same_bytes() {
    for wire in VIEWS {
        let mut transcript = recorded("d u1 a1 u2");
        transcript.place(&[placed("note", 2, HistoryEnd::End), placed("opening", 0, HistoryEnd::Start)]);
        let mut again = recorded("d u1 a1 u2");
        again.place_again(transcript.places());
        assert_eq!(shown(&mut again, wire), shown(&mut transcript, wire));
        assert_eq!(again.rendered(), transcript.rendered());
        // The texts of a process end with it.
        again.begin_again(View { wire, ..View::default() });
        assert_eq!(shown(&mut again, wire), shown(&mut recorded("d u1 a1 u2"), wire));
    }
}

#[test]
fn a_history_that_is_replaced_or_taken_back_has_no_texts() {
    let mut transcript = recorded("u1 a1 u2");
    transcript.place(&[placed("note", 1, HistoryEnd::End)]);
    shown(&mut transcript, WireApi::Responses);
    transcript.roll_back(1);
    assert!(!transcript.is_placed() && !shown(&mut transcript, WireApi::Responses).contains("note"));
    transcript.place(&[placed("note", 1, HistoryEnd::End)]);
    transcript.clear();
    assert!(!transcript.is_placed() && transcript.places().is_empty());
}
