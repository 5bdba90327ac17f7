//! A summary on trial changes nothing, an undone compaction leaves no trace in requests, and going back restores files.

use std::path::Path;

use pellucid_agent::replay;
use pellucid_agent::replay::ReplayStatus;
use pellucid_engine::pack::Pack;
use pellucid_store::read;
use pellucid_testkit::MockReply;
use pellucid_tui::host::Host;
use pellucid_tui::host::HostAnswer;
use pellucid_tui::host::HostCall;
use pellucid_tui::host::HostNews;
use pellucid_tui::look::report::LookDraft;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::tui::look::tests::Desk;
use crate::tui::look::tests::Talk;
use crate::tui::look::tests::WIRES;
use crate::tui::look::tests::answer as said;
use crate::tui::look::tests::draft;
use crate::tui::look::tests::outlook_text;
use crate::tui::look::tests::reply;

impl Talk<'_> {
    pub async fn past(&mut self, call: PastCall) -> PastAnswer {
        assert_eq!(self.host.ask(HostCall::Past(call)).await, HostAnswer::Done);
        loop {
            match self.host.news().await {
                HostNews::Answer(HostAnswer::Past(answer)) => return *answer,
                HostNews::Answer(other) => panic!("{other:?}"),
                HostNews::Event(event) => assert!(event.is_some(), "the session ended"),
            }
        }
    }

    async fn summary(&mut self, call: PastCall) -> Result<SummaryView, String> {
        match self.past(call).await {
            PastAnswer::Summary(view) | PastAnswer::LastCompaction(view) => view.map(|view| *view),
            other => panic!("{other:?}"),
        }
    }

    async fn reshaped(&mut self, call: PastCall) -> Result<String, String> {
        match self.past(call).await {
            PastAnswer::Reshaped(words) => words,
            other => panic!("{other:?}"),
        }
    }

    /// The bytes that this draft would be sent as.
    async fn bytes(&mut self, draft: &LookDraft) -> String {
        self.preview(draft).await.body
    }
}

/// The conversation that is summarised: an answer has a path and a name that the summary leaves out.
async fn talked<'a>(desk: &'a Desk) -> Talk<'a> {
    let mut talk = desk.open(None).await;
    talk.say(&draft("which port?"), vec![said("The file src/port.rs has `default_port`.")]).await;
    talk.say(&draft("thanks"), vec![said("You are welcome.")]).await;
    talk
}

fn facts(view: &SummaryView) -> Vec<&str> {
    view.lost.iter().flat_map(|lost| lost.facts.iter().map(String::as_str)).collect()
}

#[tokio::test]
async fn a_summary_on_trial_changes_nothing_and_an_undone_one_leaves_no_trace() {
    for pack in Pack::builtin_names() {
        for wire in WIRES {
            let desk = Desk::new(pack, wire);
            let about = format!("{pack} on {wire}");
            let mut talk = talked(&desk).await;
            let next = draft("and now?");
            let before = talk.bytes(&next).await;
            let file = talk.host.session_file().unwrap();
            let stored = std::fs::read(&file).unwrap();
            desk.server.add([reply(wire, [said("We talked about a port.")])]);
            let tried = match talk.summary(PastCall::TrySummary).await {
                // A layout that drops its oldest turns has nothing to drop yet.
                Err(why) => panic!("{about}: {why}"),
                Ok(tried) => tried,
            };
            assert_eq!(std::fs::read(&file).unwrap(), stored, "{about}: the session file");
            assert_eq!(talk.bytes(&next).await, before, "{about}: the next request after a trial");
            let Some(summary) = tried.summary.clone() else {
                talk.end().await;
                continue;
            };
            if pack == "codex" {
                assert_eq!(summary, "We talked about a port.", "{about}");
                assert_eq!(facts(&tried), ["src/port.rs", "default_port"], "{about}");
            }
            let words = talk.reshaped(PastCall::StoreSummary { summary, is_edited: false }).await.unwrap();
            assert!(words.starts_with("the summary is in place of the history"), "{about}: {words}");
            let after = talk.bytes(&next).await;
            assert_ne!(after, before, "{about}: the next request after the summary");
            let lost = talk.summary(PastCall::LastCompaction).await.unwrap();
            // What a memory recalled for a request is not in the file.
            assert!(facts(&lost).iter().all(|fact| facts(&tried).contains(fact)), "{about}: {lost:?}");
            assert_eq!(facts(&lost).is_empty(), facts(&tried).is_empty(), "{about}: {lost:?}");
            talk.reshaped(PastCall::UndoCompaction).await.unwrap();
            assert_eq!(talk.bytes(&next).await, before, "{about}: the next request after the undo");
            assert_eq!(outlook_text(&talk.look(&next).await), "extends", "{about}");
            let sent = talk.say(&next, vec![said("Nothing.")]).await;
            assert_eq!(String::from_utf8_lossy(&sent[0]), before, "{about}: what is sent after the undo");
            talk.end().await;
            let replayed = replay::replay(&desk.files.path("home"), &read::open(&file).unwrap(), None).unwrap();
            assert_eq!(replayed.status(), ReplayStatus::Proved, "{about}: {replayed:?}");
        }
    }
}

#[tokio::test]
async fn requests_after_a_summary_that_was_not_accepted_can_be_rebuilt() {
    for pack in Pack::builtin_names() {
        for wire in WIRES {
            let desk = Desk::new(pack, wire);
            let about = format!("{pack} on {wire}");
            let mut talk = talked(&desk).await;
            for summary in ["We talked about a port.", "We talked."] {
                desk.server.add([reply(wire, [said(summary)])]);
                talk.summary(PastCall::TrySummary).await.unwrap();
            }
            let file = talk.host.session_file().unwrap();
            talk.say(&draft("and now?"), vec![said("Nothing.")]).await;
            talk.end().await;
            let replayed = replay::replay(&desk.files.path("home"), &read::open(&file).unwrap(), None).unwrap();
            assert_eq!(replayed.status(), ReplayStatus::Proved, "{about}: {replayed:?}");
        }
    }
}

#[tokio::test]
async fn a_summary_that_fails_changes_nothing() {
    let mut desk = Desk::new("codex", "responses");
    desk.config.push("model_providers.mock.stream_max_retries=0".to_owned());
    let mut talk = talked(&desk).await;
    let before = talk.bytes(&draft("next")).await;
    desk.server.add([MockReply::status(400, "{\"error\":{\"message\":\"no\"}}")]);
    let why = talk.summary(PastCall::TrySummary).await.unwrap_err();
    assert_eq!(why, "{\"error\":{\"message\":\"no\"}}");
    assert_eq!(talk.bytes(&draft("next")).await, before);
    let why = talk.summary(PastCall::LastCompaction).await.unwrap_err();
    assert_eq!(why, "the session was not compacted, or every compaction is undone");
    let why = talk.reshaped(PastCall::UndoCompaction).await.unwrap_err();
    assert_eq!(why, "the session has no compaction that could be undone");
    let sent = talk.say(&draft("next"), vec![said("Yes.")]).await;
    assert_eq!(String::from_utf8_lossy(&sent[0]), before);
    talk.end().await;
}

#[tokio::test]
async fn a_summary_on_trial_can_be_interrupted() {
    let desk = Desk::new("codex", "responses");
    let mut talk = talked(&desk).await;
    let before = talk.bytes(&draft("next")).await;
    desk.server.add([MockReply::silence()]);
    assert_eq!(talk.host.ask(HostCall::Past(PastCall::TrySummary)).await, HostAnswer::Done);
    while desk.server.requests().len() < 3 {
        tokio::task::yield_now().await;
    }
    talk.host.submit(Operation::Interrupt).await;
    let answer = loop {
        if let HostNews::Answer(HostAnswer::Past(answer)) = talk.host.news().await {
            break *answer;
        }
    };
    assert_eq!(answer, PastAnswer::Summary(Err("the summary was interrupted".to_owned())));
    assert_eq!(talk.bytes(&draft("next")).await, before);
    talk.end().await;
}

#[tokio::test]
async fn an_edited_summary_is_judged_and_stored_as_the_persons() {
    let desk = Desk::new("codex", "responses");
    let mut talk = talked(&desk).await;
    let text = "The file src/port.rs has default_port.";
    let view = talk.summary(PastCall::JudgeSummary(text.to_owned())).await.unwrap();
    assert_eq!((facts(&view), view.summary.as_deref()), (Vec::new(), Some(text)));
    let store = PastCall::StoreSummary { summary: text.to_owned(), is_edited: true };
    talk.reshaped(store).await.unwrap();
    let sent = talk.say(&draft("next"), vec![said("Yes.")]).await;
    assert!(String::from_utf8_lossy(&sent[0]).contains(text));
    talk.end().await;
}

#[tokio::test]
async fn a_session_without_a_message_has_no_past() {
    let desk = Desk::new("codex", "responses");
    let mut talk = desk.open(None).await;
    let none = "nothing was said in this session yet".to_owned();
    assert_eq!(talk.summary(PastCall::TrySummary).await, Err(none.clone()));
    assert_eq!(talk.past(PastCall::WayBack { n_messages: 1 }).await, PastAnswer::WayBack(Err(none.clone())));
    assert_eq!(talk.past(PastCall::Redo).await, PastAnswer::Redone(Err(none)));
    talk.end().await;
}

fn patch(id: &str, text: &str) -> Value {
    let input = format!("*** Begin Patch\n{text}\n*** End Patch");
    json!({ "type": "custom_tool_call", "id": "ctc", "call_id": id, "name": "apply_patch", "input": input })
}

/// A session of three turns: the first two change `a`, the second makes `b`, the third says something.
async fn worked<'a>(desk: &'a Desk) -> Talk<'a> {
    desk.files.write("work/a", "1\n2\n3\n");
    let mut talk = desk.open(None).await;
    let first = patch("c1", "*** Update File: a\n@@\n-2\n+two");
    talk.say(&draft("one"), vec![first, said("Done.")]).await;
    let second = patch("c2", "*** Update File: a\n@@\n-3\n+three\n*** Add File: b\n+new");
    talk.say(&draft("two"), vec![second, said("Done.")]).await;
    talk.say(&draft("three"), vec![said("Good.")]).await;
    assert_eq!(files(desk), "1|two|three| new|");
    talk
}

/// The texts of `a` and `b`.
fn files(desk: &Desk) -> String {
    let text = |name: &str| std::fs::read_to_string(desk.files.path("work").join(name));
    let shown = |name| text(name).map_or_else(|_| "-".to_owned(), |text| text.replace('\n', "|"));
    ["a", "b"].map(shown).join(" ")
}

#[tokio::test]
async fn files_and_conversation_go_back_together_and_come_back() {
    let desk = Desk::new("codex", "responses");
    let mut talk = worked(&desk).await;
    let before = talk.bytes(&draft("next")).await;
    let PastAnswer::WayBack(Ok(way)) = talk.past(PastCall::WayBack { n_messages: 2 }).await else { panic!() };
    let names: Vec<&Path> = way.changes.keys().map(|path| Path::new(path.file_name().unwrap())).collect();
    assert_eq!((way.turn, names), (2, vec![Path::new("a"), Path::new("b")]));
    assert_eq!((way.kept, way.effects), (Vec::new(), Vec::new()));
    assert_eq!(files(&desk), "1|two|three| new|", "looking changes nothing");
    let both = PastCall::GoBack { n_messages: 2, message: Some("two".to_owned()) };
    let PastAnswer::WentBack(Ok(went)) = talk.past(both).await else { panic!() };
    assert_eq!(went.words, "2 files restored to before turn 2; /redo takes it back");
    assert_eq!((went.message.as_deref(), files(&desk).as_str()), (Some("two"), "1|two|3| -"));
    let short = talk.bytes(&draft("next")).await;
    assert!(!short.contains("\"three\"") && short.contains("\"one\""), "{short}");
    let PastAnswer::Redone(Ok(redone)) = talk.past(PastCall::Redo).await else { panic!() };
    assert_eq!(redone.words, "2 files changed again, the turns are in the conversation again");
    assert_eq!(files(&desk), "1|two|three| new|");
    assert_eq!(talk.bytes(&draft("next")).await, before);
    let is_message = |it: &&StoredRecord| matches!(it, StoredRecord::Event(EventMessage::UserMessage { .. }));
    let is_removal = |it: &StoredRecord| matches!(it, StoredRecord::Event(EventMessage::ThreadRolledBack { .. }));
    let history = redone.history.unwrap();
    assert_eq!((history.iter().filter(is_message).count(), history.iter().any(is_removal)), (3, false));
    let nothing = talk.past(PastCall::Redo).await;
    assert_eq!(nothing, PastAnswer::Redone(Err("no turns were removed last that could come back".to_owned())));
    talk.end().await;
}

#[tokio::test]
async fn a_file_that_another_program_changed_is_listed_and_stays() {
    let desk = Desk::new("codex", "responses");
    let mut talk = worked(&desk).await;
    desk.files.write("work/a", "mine\n");
    let PastAnswer::WayBack(Ok(way)) = talk.past(PastCall::WayBack { n_messages: 3 }).await else { panic!() };
    assert_eq!((way.turn, way.kept), (1, vec!["a: it changed since the session wrote it".to_owned()]));
    let files_only = PastCall::GoBack { n_messages: 3, message: None };
    let PastAnswer::WentBack(Ok(went)) = talk.past(files_only).await else { panic!() };
    let words = "1 file restored to before turn 1, without 1 file that changed since; /redo takes it back";
    assert_eq!((went.words.as_str(), files(&desk).as_str()), (words, "mine| -"));
    let PastAnswer::Redone(Ok(redone)) = talk.past(PastCall::Redo).await else { panic!() };
    assert_eq!((redone.words.as_str(), redone.history), ("1 file changed again", None));
    assert_eq!(files(&desk), "mine| new|");
    talk.end().await;
}

#[tokio::test]
async fn a_conversation_that_alone_went_back_comes_back_too() {
    let desk = Desk::new("codex", "responses");
    let mut talk = worked(&desk).await;
    let before = talk.bytes(&draft("next")).await;
    talk.host.submit(Operation::ThreadRollback { num_turns: 1 }).await;
    while !matches!(talk.host.event().await.unwrap().msg, EventMessage::ThreadRolledBack { .. }) {}
    assert_ne!(talk.bytes(&draft("next")).await, before);
    let PastAnswer::Redone(Ok(redone)) = talk.past(PastCall::Redo).await else { panic!() };
    assert_eq!(redone.words, "the turns are in the conversation again");
    assert_eq!(talk.bytes(&draft("next")).await, before);
    talk.end().await;
}
