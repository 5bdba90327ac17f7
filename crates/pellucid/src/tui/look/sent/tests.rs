//! A request that was sent is shown as it was, and a copy of the session from there begins with it.

use pellucid_store::read;
use pellucid_tui::look::report::LookAnswer;
use pellucid_tui::look::report::LookCall;
use serde_json::json;

use super::*;
use crate::fork;
use crate::fork::CopyEnd;
use crate::start::Opening;
use crate::start::Persistence;
use crate::tui::look::tests::Desk;
use crate::tui::look::tests::Talk;
use crate::tui::look::tests::WIRES;
use crate::tui::look::tests::answer;
use crate::tui::look::tests::draft;

impl Talk<'_> {
    async fn sent(&mut self, number: Option<usize>) -> Result<SentView, String> {
        match self.answer(LookCall::Sent(number)).await {
            LookAnswer::Sent(view) => view.map(|view| *view),
            other => panic!("{other:?}"),
        }
    }

    async fn sent_bytes(&mut self, number: usize) -> String {
        match self.answer(LookCall::SentBytes(number)).await {
            LookAnswer::Preview(preview) => preview.unwrap().body,
            other => panic!("{other:?}"),
        }
    }
}

/// Three turns, of which the second changes a file and asks twice.
async fn worked<'a>(desk: &'a Desk) -> Talk<'a> {
    desk.files.write("work/a", "1\n2\n");
    let mut talk = desk.open(None).await;
    talk.say(&draft("one"), vec![answer("First.")]).await;
    let input = "*** Begin Patch\n*** Update File: a\n@@\n-2\n+two\n*** End Patch";
    let patch =
        json!({ "type": "custom_tool_call", "id": "ctc", "call_id": "c1", "name": "apply_patch", "input": input });
    talk.say(&draft("two"), vec![patch, answer("Second.")]).await;
    talk.say(&draft("three"), vec![answer("Third.")]).await;
    talk
}

#[tokio::test]
async fn every_request_is_shown_as_it_was_sent() {
    for wire in WIRES {
        let desk = Desk::new("codex", wire);
        let mut talk = desk.open(None).await;
        assert_eq!(talk.sent(None).await.unwrap_err(), "no request was sent yet");
        for text in ["one", "two", "three"] {
            talk.say(&draft(text), vec![answer("Yes.")]).await;
        }
        let sent: Vec<Vec<u8>> = desk.server.requests().into_iter().map(|request| request.body).collect();
        let last = talk.sent(None).await.unwrap();
        assert_eq!((last.number, last.of), (3, 3), "{wire}");
        let home = desk.files.path("home");
        let file = read::open(&talk.host.session_file().unwrap()).unwrap();
        for (at, body) in sent.iter().enumerate() {
            let view = talk.sent(Some(at + 1)).await.unwrap();
            let rebuilt = replay::rebuild(&home, &file, WantedRequest::Number(at + 1)).unwrap();
            let tokens: usize = rebuilt.report.rows.iter().map(|row| row.tokens).sum();
            assert_eq!((view.report.size.bytes, view.report.size.tokens), (body.len(), tokens), "{wire} {at}");
            let rows = view.report.groups.iter().flat_map(|group| &group.rows);
            assert_eq!(rows.map(|row| row.size.bytes).sum::<usize>(), body.len(), "{wire} {at}");
            assert_eq!(talk.sent_bytes(at + 1).await, String::from_utf8_lossy(body), "{wire} {at}");
        }
        assert!(talk.sent(Some(4)).await.unwrap_err().starts_with("there is no request 4"), "{wire}");
        talk.end().await;
    }
}

#[tokio::test]
async fn a_request_has_its_turn_its_price_and_the_files_of_its_turn() {
    let desk = Desk::new("codex", "responses");
    let mut talk = worked(&desk).await;
    let view = talk.sent(Some(3)).await.unwrap();
    let facts: Vec<&str> = view.report.facts.iter().map(|fact| fact.split(", sent ").next().unwrap()).collect();
    assert_eq!((view.number, view.of), (3, 4));
    assert_eq!(facts[..2], ["answer in turn 2", "› two"]);
    assert!(facts[2].starts_with("paid: ") || facts[2] == "the provider did not say what it counted", "{facts:?}");
    assert_eq!(facts[3..], ["1 file changed in this turn: a"]);
    let why = match talk.answer(LookCall::Why(view.report.groups[0].rows[0].start)).await {
        LookAnswer::Page { lines, .. } => lines,
        other => panic!("{other:?}"),
    };
    assert!(!why.is_empty());
    talk.end().await;
}

#[tokio::test]
async fn a_copy_from_a_request_continues_it() {
    let desk = Desk::new("codex", "responses");
    let path = worked(&desk).await.end().await;
    let home = desk.files.path("home");
    let sent: Vec<Vec<u8>> = desk.server.requests().into_iter().map(|request| request.body).collect();
    // Both requests of the second turn lead to its end.
    for request in [2, 3] {
        let (file, upto) = fork::place(&home, read::open(&path).unwrap(), CopyEnd::Request(request)).unwrap();
        let opening = Opening::Forked { file: Box::new(file), upto, session_id: None, keep: Persistence::File };
        let mut fork = desk.open_with(opening).await;
        let next = fork.say(&draft("other"), vec![answer("Other.")]).await.remove(0);
        let items = |body: &[u8]| {
            let body: serde_json::Value = serde_json::from_slice(body).unwrap();
            body["input"].as_array().unwrap().clone()
        };
        let (before, after) = (items(&sent[request - 1]), items(&next));
        assert_eq!(after[..before.len()], before[..], "request {request}");
        let text = String::from_utf8_lossy(&next);
        assert!(text.contains("Second.") && text.contains("other") && !text.contains("\"three\""), "{text}");
        let view = fork.sent(Some(2)).await.unwrap();
        assert_eq!((view.number, view.of), (2, 4), "requests before the fork are those of the session it is of");
        let copy = fork.end().await;
        let (file, _) = fork::place(&home, read::open(&copy).unwrap(), CopyEnd::Request(1)).unwrap();
        assert_eq!(file.path, path, "an inherited request is in the file of the session that sent it");
    }
    let gone = fork::place(&home, read::open(&path).unwrap(), CopyEnd::Request(9)).unwrap_err();
    assert_eq!(gone.text(), "the record has no request 9; the session has 4");
}
