//! What clients of today receive beside and instead of the notifications of 0.104.0.

use expect_test::Expect;
use expect_test::expect;

use super::*;
use crate::types::notification::ItemCompletedNotification;
use crate::types::notification::ItemStartedNotification;
use crate::types::notification::TurnCompletedNotification;
use crate::types::notification::TurnStartedNotification;
use crate::types::thread::Turn;

fn told(live: &mut Live, notification: impl Into<ServerNotification>, now: i64) -> String {
    let messages = live.notified(&notification.into(), now, true);
    messages.iter().map(|it| format!("{}\n", String::from_utf8_lossy(&it.message))).collect()
}

#[track_caller]
fn check_told(messages: &str, expected: &Expect) {
    expected.assert_eq(messages);
}

fn started(id: &str) -> TurnStartedNotification {
    TurnStartedNotification { thread_id: "t".to_owned(), turn: Turn::in_progress(id) }
}

fn said(text: &str) -> ThreadItem {
    ThreadItem::AgentMessage { id: "m".to_owned(), text: text.to_owned() }
}

#[test]
fn a_turn_has_times_a_summary_and_a_status_around_it() {
    let mut live = Live::new("t");
    let (thread_id, turn_id) = ("t".to_owned(), "u".to_owned());
    let mut messages = told(&mut live, started("u"), 1_000);
    // A second announcement of the same turn is none.
    messages += &told(&mut live, started("u"), 1_001);
    let begun = ItemStartedNotification { item: said(""), thread_id: thread_id.clone(), turn_id: turn_id.clone() };
    messages += &told(&mut live, begun, 1_500);
    let ended = ItemCompletedNotification { item: said("Hi."), thread_id: thread_id.clone(), turn_id };
    messages += &told(&mut live, ended, 2_000);
    messages += &told(&mut live, TurnCompletedNotification { thread_id, turn: Turn::in_progress("u") }, 3_500);
    check_told(
        &messages,
        &expect![[r#"
        {"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"active","activeFlags":[]}},"emittedAtMs":1000}
        {"method":"turn/started","params":{"threadId":"t","turn":{"id":"u","items":[],"status":"inProgress","error":null,"startedAt":1,"itemsView":"notLoaded","rootTurnId":"u","completedAt":null,"durationMs":null}},"emittedAtMs":1000}
        {"method":"item/started","params":{"item":{"type":"agentMessage","id":"m","text":"","startedAtMs":1500,"completedAtMs":null,"phase":null,"memoryCitation":null,"delivery":null,"questions":null},"threadId":"t","turnId":"u","startedAtMs":1500},"emittedAtMs":1500}
        {"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m","text":"Hi.","startedAtMs":1500,"completedAtMs":2000,"phase":null,"memoryCitation":null,"delivery":null,"questions":null},"threadId":"t","turnId":"u","completedAtMs":2000},"emittedAtMs":2000}
        {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","items":[{"type":"agentMessage","id":"m","text":"Hi.","startedAtMs":1500,"completedAtMs":2000,"phase":null,"memoryCitation":null,"delivery":null,"questions":null}],"status":"inProgress","error":null,"itemsView":"summary","startedAt":1,"completedAt":3,"durationMs":2500,"rootTurnId":"u"}},"emittedAtMs":3500}
        {"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"idle"}},"emittedAtMs":3500}
    "#]],
    );
    assert_eq!(live.status(), ThreadStatus::Idle);
}

#[test]
fn a_question_is_part_of_the_status_until_it_is_resolved() {
    let mut live = Live::new("t");
    live.notified(&started("u").into(), 0, false);
    let mut notifications: Vec<_> = live.asked(0, Some(ThreadActiveFlag::WaitingOnApproval)).into_iter().collect();
    notifications.extend(live.asked(1, None));
    notifications.extend(live.resolved(0));
    notifications.extend(live.resolved(0));
    notifications.extend(live.resolved(1));
    let shown: String = notifications.iter().map(|it| format!("{}\n", json!(it))).collect();
    check_told(
        &shown,
        &expect![[r#"
        {"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"active","activeFlags":["waitingOnApproval"]}}}
        {"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}
        {"method":"thread/status/changed","params":{"threadId":"t","status":{"type":"active","activeFlags":[]}}}
        {"method":"serverRequest/resolved","params":{"threadId":"t","requestId":1}}
    "#]],
    );
}

#[test]
fn nothing_is_written_for_clients_that_are_not_there() {
    let mut live = Live::new("t");
    assert!(live.notified(&started("u").into(), 0, false).is_empty());
    assert!(live.knows("u"));
}
