//! The turn as a state machine: events in, wishes out.

use std::time::Duration;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::compaction::CompactionError;
use pellucid_engine::compaction::Dropped;
use pellucid_engine::meter::Meter;
use pellucid_engine::pack::CompactionRules;
use pellucid_engine::turn::CompactionEffect;
use pellucid_engine::turn::FirstRetry;
use pellucid_engine::turn::RunningTurn;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::TurnSettings;
use pellucid_engine::turn::Wish;
use pellucid_engine::turn::calls::CallEvent;
use pellucid_engine::turn::calls::CallWish;
use pellucid_engine::turn::compacting::CompactionWish;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::AskWish;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::reply::Via;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryRequests;
use pellucid_protocol::usage::TokenUsage;
use proptest::prelude::*;
use serde_json::Value;

use crate::pack;
use crate::session_id;

/// The settings of a plain turn.
pub fn settings() -> TurnSettings {
    TurnSettings {
        session_id: session_id(),
        turn_id: TurnId::new("turn"),
        model: "gpt-x".to_owned(),
        window: Some(1000),
        mode: CollaborationModeKind::Default,
        stream_retries_max: 2,
        compaction_limit: Some(900),
        summarised_by: SummarisedBy::Model,
        takeover: None,
        first_retry: FirstRetry::Shown,
        compaction: CompactionRules::default(),
    }
}

fn turn() -> RunningTurn {
    RunningTurn::new(settings(), Meter::default(), pack())
}

pub fn call(id: &str) -> TurnEvent {
    TurnEvent::Reply(ReplyEvent::ItemDone(Item::FunctionCall {
        id: None,
        name: "update_plan".to_owned(),
        arguments: "{}".to_owned(),
        call_id: id.to_owned(),
    }))
}

pub fn output(index: usize, id: &str) -> TurnEvent {
    let answer = Item::FunctionCallOutput { call_id: id.to_owned(), output: ToolOutput::Text("ok".to_owned()) };
    TurnEvent::Call(CallEvent::Finished { index, answer: Some(answer) })
}

fn say(text: &str) -> TurnEvent {
    TurnEvent::Reply(ReplyEvent::ItemDone(Item::text("assistant", text)))
}

pub fn completed() -> TurnEvent {
    let usage = TokenUsage { input_tokens: 10, output_tokens: 1, total_tokens: 11, ..TokenUsage::default() };
    TurnEvent::Reply(ReplyEvent::Completed { response_id: "r".to_owned(), usage: Some(usage) })
}

pub fn broken() -> TurnEvent {
    TurnEvent::ReplyFailed(ReplyError::stream("cut"))
}

fn socket_broken() -> TurnEvent {
    TurnEvent::ReplyFailed(ReplyError { via: Via::WebSocket, ..ReplyError::stream("gone") })
}

/// Plays events in a turn whose first retry is silent.
#[track_caller]
fn check_over_socket(events: Vec<TurnEvent>, expected: &Expect) {
    let settings = TurnSettings { first_retry: FirstRetry::Silent, ..settings() };
    let mut turn = RunningTurn::new(settings, Meter::default(), pack());
    let first = turn.begin(&[UserInput::text("go")]);
    measured(&mut turn, first);
    let mut lines = String::new();
    for event in events {
        let wishes = turn.step(event);
        lines += &format!("{}\n", show(&measured(&mut turn, wishes)));
    }
    expected.assert_eq(&lines);
}

#[test]
fn a_websocket_is_left_when_its_retries_are_used_up() {
    check_over_socket(
        vec![
            socket_broken(),
            TurnEvent::PauseOver,
            socket_broken(),
            TurnEvent::PauseOver,
            socket_broken(),
            broken(),
            broken(),
        ],
        &expect![[r#"
            pause(200ms)
            AskAgain
            stream_error(Reconnecting... 2/2), pause(400ms)
            AskAgain
            LeaveWebSocket, warning, AskAgain
            pause(200ms)
            stream_error(Reconnecting... 2/2), pause(400ms)
        "#]],
    );
}

#[test]
fn an_error_that_is_no_use_to_repeat_leaves_no_websocket() {
    let error = ReplyError { via: Via::WebSocket, ..ReplyError::new(ReplyErrorKind::InvalidRequest, "no") };
    check_over_socket(
        vec![TurnEvent::ReplyFailed(error)],
        &expect![[r#"
        error(no), task_complete(None), Finish
    "#]],
    );
}

#[track_caller]
fn check_retry_status(error: ReplyError, expected: Option<u16>) {
    let mut turn = RunningTurn::new(settings(), Meter::default(), pack());
    let first = turn.begin(&[UserInput::text("go")]);
    measured(&mut turn, first);
    let told = turn.step(TurnEvent::ReplyFailed(error)).into_iter().find_map(|wish| match wish {
        Wish::Emit(EventMessage::StreamError { codex_error_info, .. }) => codex_error_info,
        _ => None,
    });
    assert_eq!(told, Some(ErrorInfo::ResponseStreamDisconnected { http_status_code: expected }));
}

#[test]
fn a_retry_names_the_status_that_came() {
    let unexpected = ReplyError::new(ReplyErrorKind::UnexpectedStatus, "unexpected status 503");
    check_retry_status(ReplyError { status: Some(503), ..unexpected }, Some(503));
    check_retry_status(ReplyError::stream("cut"), None);
    check_retry_status(ReplyError::new(ReplyErrorKind::InternalServer, "500"), None);
}

/// Plays events and shows the wishes, a line for each event.
#[track_caller]
fn check_turn(events: Vec<TurnEvent>, expected: &Expect) {
    let mut turn = turn();
    let first = turn.begin(&[UserInput::text("go")]);
    let mut lines = format!("begin: {}\n", show(&measured(&mut turn, first)));
    for event in events {
        let wishes = turn.step(event);
        lines += &format!("{}\n", show(&measured(&mut turn, wishes)));
    }
    expected.assert_eq(&lines);
}

/// Answers a wish to measure at once: nothing is unreported.
pub fn measured(turn: &mut RunningTurn, mut wishes: Vec<Wish>) -> Vec<Wish> {
    if matches!(wishes.last(), Some(Wish::Measure(_))) {
        wishes.pop();
        wishes.extend(turn.step(TurnEvent::Measured { unreported: 0 }));
    }
    wishes
}

pub fn show(wishes: &[Wish]) -> String {
    let wish = |wish: &Wish| match wish {
        Wish::Emit(event) => {
            let value = serde_json::to_value(event).unwrap();
            match event {
                EventMessage::Error { message, .. } => format!("error({message})"),
                EventMessage::StreamError { message, .. } => format!("stream_error({message})"),
                EventMessage::TaskComplete { last_agent_message, .. } => {
                    format!("task_complete({last_agent_message:?})")
                }
                EventMessage::ItemStarted { .. } | EventMessage::ItemCompleted { .. } => {
                    format!("{}({})", word(&value["type"]), word(&value["item"]["type"]))
                }
                _ => word(&value["type"]),
            }
        }
        Wish::Record(item, _) | Wish::Compact(CompactionWish::Note(item, _)) => {
            let value = serde_json::to_value(item).unwrap();
            let what = value.get("output").or(value.get("call_id")).map(word).unwrap_or_default();
            format!("record({} {what})", word(&value["type"]))
        }
        Wish::RecordInput(inputs) | Wish::RecordSteered(inputs) => match inputs.as_slice() {
            [UserInput::Text { text, .. }] => format!("input({text})"),
            _ => "input(?)".to_owned(),
        },
        Wish::RecordDraft(draft) => format!("record({})", draft.part),
        Wish::Call(CallWish::Run { index, call }) => format!("run({index} {})", call.call_id),
        Wish::Call(wish) => format!("calls({wish:?})"),
        Wish::Compact(wish) => format!("summary({wish:?})"),
        Wish::Ask(AskWish::Client { ask, event }) => {
            format!("ask({} {})", ask.0, word(&serde_json::to_value(event).unwrap()["type"]))
        }
        Wish::Ask(AskWish::Answer { ask, outcome: AskOutcome::Answered(answer) }) => {
            format!("answer({} {answer:?})", ask.0)
        }
        Wish::Ask(AskWish::Answer { ask, outcome }) => format!("answer({} {outcome:?})", ask.0),
        Wish::Ask(wish) => format!("{wish:?}"),
        Wish::Pause(pause) => format!("pause({:?})", pause.base()),
        other => format!("{other:?}"),
    };
    wishes.iter().map(wish).collect::<Vec<_>>().join(", ")
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or("?").to_owned()
}

#[test]
fn a_text_ends_the_turn() {
    check_turn(
        vec![say("done"), completed()],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            item_started(AgentMessage), item_completed(AgentMessage), record(message )
            token_count, calls(Over), Notify(Some("done")), task_complete(Some("done")), Finish
        "#]],
    );
}

#[test]
fn outputs_are_recorded_after_the_reply_in_the_order_of_the_calls() {
    check_turn(
        vec![call("a"), call("b"), output(1, "b"), completed(), output(0, "a"), say("done"), completed()],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            record(function_call a), run(0 a)
            record(function_call b), run(1 b)

            token_count
            record(function_call_output ok), record(function_call_output ok), calls(Over), AskModel
            item_started(AgentMessage), item_completed(AgentMessage), record(message )
            token_count, calls(Over), Notify(Some("done")), task_complete(Some("done")), Finish
        "#]],
    );
}

#[test]
fn a_broken_reply_is_asked_for_again_and_its_tools_are_forgotten() {
    check_turn(
        vec![call("a"), broken(), TurnEvent::PauseOver, output(0, "a"), broken(), TurnEvent::PauseOver, broken()],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            record(function_call a), run(0 a)
            calls(Cancel), stream_error(Reconnecting... 1/2), pause(200ms)
            AskAgain

            stream_error(Reconnecting... 2/2), pause(400ms)
            AskAgain
            error(stream disconnected before completion: cut), task_complete(None), Finish
        "#]],
    );
}

#[test]
fn a_complete_reply_makes_the_count_of_retries_start_anew() {
    check_turn(
        vec![broken(), TurnEvent::PauseOver, call("a"), completed(), output(0, "a"), broken()],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            stream_error(Reconnecting... 1/2), pause(200ms)
            AskAgain
            record(function_call a), run(0 a)
            token_count
            record(function_call_output ok), calls(Over), AskModel
            stream_error(Reconnecting... 1/2), pause(200ms)
        "#]],
    );
}

#[test]
fn what_cannot_be_mended_ends_the_turn_at_once() {
    let error = ReplyError::new(ReplyErrorKind::ContextWindowExceeded, "too long");
    check_turn(
        vec![TurnEvent::ReplyFailed(error), say("late")],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            token_count, error(too long), task_complete(None), Finish

        "#]],
    );
}

#[test]
fn the_server_may_say_how_long_to_wait() {
    let mut error = ReplyError::stream("slow down");
    error.retry_after = Some(Duration::from_millis(1500));
    check_turn(
        vec![TurnEvent::ReplyFailed(error)],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            stream_error(Reconnecting... 1/2), pause(1.5s)
        "#]],
    );
}

#[test]
fn an_interruption_answers_open_calls_and_leaves_a_note() {
    check_turn(
        vec![
            call("a"),
            call("b"),
            output(1, "b"),
            TurnEvent::Interrupted { running: vec![(0, Duration::from_millis(1520))] },
        ],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            record(function_call a), run(0 a)
            record(function_call b), run(1 b)

            calls(Cancel), record(function_call_output aborted by user after 1.5s), record(function_call_output ok), record(turn_aborted), turn_aborted, Finish
        "#]],
    );
}

fn steer(text: &str) -> TurnEvent {
    TurnEvent::Steered(vec![UserInput::text(text)])
}

#[test]
fn another_model_than_asked_is_told_once() {
    let server = |model: &str| TurnEvent::Reply(ReplyEvent::ServerModel(model.to_owned()));
    check_turn(
        vec![server("GPT-X"), server("other"), server("third")],
        &expect![[r#"
        begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel

        model_reroute, warning, record(warning)

    "#]],
    );
}

#[test]
fn what_is_said_during_a_turn_is_answered_before_it_ends() {
    check_turn(
        vec![say("done"), steer("also this"), completed(), say("both done"), completed()],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            item_started(AgentMessage), item_completed(AgentMessage), record(message )

            token_count, calls(Over), input(also this), item_started(UserMessage), item_completed(UserMessage), AskModel
            item_started(AgentMessage), item_completed(AgentMessage), record(message )
            token_count, calls(Over), Notify(Some("both done")), task_complete(Some("both done")), Finish
        "#]],
    );
    check_turn(
        vec![call("a"), completed(), steer("also this"), output(0, "a")],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            record(function_call a), run(0 a)
            token_count

            record(function_call_output ok), calls(Over), input(also this), item_started(UserMessage), item_completed(UserMessage), AskModel
        "#]],
    );
}

#[test]
fn what_is_said_too_late_is_kept() {
    let error = ReplyError::new(ReplyErrorKind::InvalidRequest, "no");
    check_turn(
        vec![steer("also this"), TurnEvent::ReplyFailed(error), steer("too late")],
        &expect![[r#"
        begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel

        error(no), input(also this), task_complete(None), Finish

    "#]],
    );
}

/// A reply after which the window is as full as this.
fn full(total_tokens: i64) -> TurnEvent {
    let usage = TokenUsage { total_tokens, ..TokenUsage::default() };
    TurnEvent::Reply(ReplyEvent::Completed { response_id: "r".to_owned(), usage: Some(usage) })
}

#[test]
fn a_full_window_is_summarised_before_the_model_is_asked_again() {
    let rebuilt = CompactionEffect { tokens_before: 950, tokens_after: 100, n_dropped: 0 };
    check_turn(
        vec![
            call("a"),
            full(950),
            output(0, "a"),
            say("summary"),
            completed(),
            TurnEvent::Rebuilt(rebuilt),
            say("done"),
            completed(),
        ],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            record(function_call a), run(0 a)
            token_count
            record(function_call_output ok), calls(Over), item_started(ContextCompaction), summary(Start(Current))
            record(message )
            token_count, summary(Rebuild)
            token_count, summary(Log), item_completed(ContextCompaction), warning, AskModel
            item_started(AgentMessage), item_completed(AgentMessage), record(message )
            token_count, calls(Over), Notify(Some("done")), task_complete(Some("done")), Finish
        "#]],
    );
}

#[test]
fn a_summary_that_does_not_fit_is_asked_for_with_less() {
    let too_long = || TurnEvent::ReplyFailed(ReplyError::new(ReplyErrorKind::ContextWindowExceeded, "too long"));
    let dropped = TurnEvent::OldestDropped(Dropped::Some);
    check_turn(
        vec![
            call("a"),
            full(950),
            output(0, "a"),
            too_long(),
            dropped,
            broken(),
            TurnEvent::PauseOver,
            too_long(),
            TurnEvent::OldestDropped(Dropped::Nothing),
        ],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            record(function_call a), run(0 a)
            token_count
            record(function_call_output ok), calls(Over), item_started(ContextCompaction), summary(Start(Current))
            summary(DropOldest)
            summary(AskAgain)
            stream_error(Reconnecting... 1/2), pause(200ms)
            summary(AskAgain)
            summary(DropOldest)
            token_count, error(even the request for a summary does not fit the model's window; start a new session), task_complete(None), Finish
        "#]],
    );
}

#[test]
fn a_summary_that_does_not_help_is_not_made_twice() {
    let rebuilt = CompactionEffect { tokens_before: 950, tokens_after: 980, n_dropped: 3 };
    check_turn(
        vec![
            call("a"),
            full(950),
            output(0, "a"),
            say("summary"),
            completed(),
            TurnEvent::Rebuilt(rebuilt),
            call("b"),
            full(990),
            output(0, "b"),
        ],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            record(function_call a), run(0 a)
            token_count
            record(function_call_output ok), calls(Over), item_started(ContextCompaction), summary(Start(Current))
            record(message )
            token_count, summary(Rebuild)
            background_event, token_count, summary(Log), item_completed(ContextCompaction), warning, AskModel
            record(function_call b), run(0 b)
            token_count
            record(function_call_output ok), calls(Over), item_started(ContextCompaction), summary(Start(Current))
        "#]],
    );
}

/// Plays events after a call that fills the window, under these rules.
#[track_caller]
fn check_compacting(rules: CompactionRules, events: Vec<TurnEvent>, expected: &Expect) {
    let settings = TurnSettings { compaction: rules, ..settings() };
    let mut turn = RunningTurn::new(settings, Meter::default(), pack());
    let first = turn.begin(&[UserInput::text("go")]);
    measured(&mut turn, first);
    for event in [call("a"), full(950), output(0, "a")] {
        let wishes = turn.step(event);
        measured(&mut turn, wishes);
    }
    let mut lines = String::new();
    for event in events {
        let wishes = turn.step(event);
        lines += &format!("{}\n", show(&measured(&mut turn, wishes)));
    }
    expected.assert_eq(&lines);
}

fn too_long() -> TurnEvent {
    TurnEvent::ReplyFailed(ReplyError::new(ReplyErrorKind::ContextWindowExceeded, "too long"))
}

#[test]
fn a_server_that_always_overflows_is_asked_twice_where_that_is_the_bound() {
    check_compacting(
        CompactionRules { overflow_calls_max: Some(2), ..CompactionRules::default() },
        vec![too_long(), TurnEvent::OldestDropped(Dropped::Some), too_long()],
        &expect![[r#"
            summary(DropHalf)
            summary(AskAgain)
            token_count, error(the request for a summary does not fit the model's window after 2 attempts; start a new session, or raise compaction.overflow_calls_max), task_complete(None), Finish
        "#]],
    );
}

#[test]
fn a_summary_that_saves_too_little_ends_the_turn_at_once() {
    let rebuilt =
        |tokens_after| TurnEvent::Rebuilt(CompactionEffect { tokens_before: 1000, tokens_after, n_dropped: 0 });
    let rules = CompactionRules { saving_min: Some(20), ..CompactionRules::default() };
    check_compacting(
        rules,
        vec![say("summary"), completed(), rebuilt(801)],
        &expect![[r#"
            record(message )
            token_count, summary(Rebuild)
            token_count, summary(Log), item_completed(ContextCompaction), warning, error(the summary did not make the history small enough (1000 tokens before, 801 after, at least 20 % less is wanted); start a new session, or lower compaction.saving_min), task_complete(None), Finish
        "#]],
    );
    check_compacting(
        rules,
        vec![say("summary"), completed(), rebuilt(800)],
        &expect![[r#"
            record(message )
            token_count, summary(Rebuild)
            token_count, summary(Log), item_completed(ContextCompaction), warning, AskModel
        "#]],
    );
}

#[test]
fn a_summary_is_made_by_rule_when_retries_are_used_up() {
    let local = CompactionRules { fallback: Some(SummaryFallback::Local), ..CompactionRules::default() };
    let rebuilt = TurnEvent::Rebuilt(CompactionEffect { tokens_before: 950, tokens_after: 100, n_dropped: 0 });
    check_compacting(
        local,
        vec![broken(), TurnEvent::PauseOver, broken(), TurnEvent::PauseOver, broken(), rebuilt],
        &expect![[r#"
            stream_error(Reconnecting... 1/2), pause(200ms)
            summary(AskAgain)
            stream_error(Reconnecting... 2/2), pause(400ms)
            summary(AskAgain)
            warning, summary(SummariseLocally)
            token_count, summary(Log), item_completed(ContextCompaction), warning, AskModel
        "#]],
    );
}

#[test]
fn a_summary_that_leaves_a_request_out_is_refused() {
    let refused = || TurnEvent::SummaryRefused(CompactionError::Refused { missing: vec![1, 3] });
    check_compacting(
        CompactionRules { requests: Some(SummaryRequests::Marked), ..CompactionRules::default() },
        vec![say("summary"), completed(), refused(), say("summary"), completed(), refused()],
        &expect![[r#"
            record(message )
            token_count, summary(Rebuild)
            background_event, summary(AskAgain)
            record(message )
            token_count, summary(Rebuild)
            error(the summary does not mark these completed requests as completed: 1, 3), task_complete(None), Finish
        "#]],
    );
}

fn any_event() -> impl Strategy<Value = TurnEvent> {
    prop_oneof![
        4 => "[ab]".prop_map(|text| say(&text)),
        4 => "[a-z]".prop_map(|id| call(&id)),
        4 => (0_usize..4).prop_map(|index| output(index, "x")),
        3 => Just(completed()),
        1 => Just(broken()),
        1 => Just(TurnEvent::PauseOver),
        1 => Just(TurnEvent::Reply(ReplyEvent::TextDelta("x".to_owned()))),
        1 => Just(TurnEvent::ReplyFailed(ReplyError::new(ReplyErrorKind::InvalidRequest, "no"))),
        1 => Just(TurnEvent::Interrupted { running: Vec::new() }),
        1 => (800_i64..1000).prop_map(full),
        1 => Just(TurnEvent::Rebuilt(CompactionEffect { tokens_before: 10, tokens_after: 5, n_dropped: 0 })),
        1 => Just(TurnEvent::OldestDropped(Dropped::Some)),
        1 => Just(steer("more")),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_a_turn_ends_once_and_outputs_follow_their_calls(events in prop::collection::vec(any_event(), 0..40)) {
        let mut turn = turn();
        let first = turn.begin(&[UserInput::text("go")]);
        let mut wishes = measured(&mut turn, first);
        for event in events {
            let next = turn.step(event);
            wishes.extend(measured(&mut turn, next));
        }
        let ends = wishes.iter().filter(|wish| {
            matches!(wish, Wish::Emit(EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. }))
        });
        let n_ends = ends.count();
        prop_assert!(n_ends <= 1);
        prop_assert_eq!(n_ends, wishes.iter().filter(|wish| **wish == Wish::Finish).count());
        if n_ends == 1 {
            prop_assert_eq!(wishes.last(), Some(&Wish::Finish));
        }
        let (mut n_calls, mut n_outputs) = (0, 0);
        for wish in &wishes {
            match wish {
                Wish::Record(Item::FunctionCall { .. }, _) => n_calls += 1,
                Wish::Record(Item::FunctionCallOutput { .. }, _) => n_outputs += 1,
                _ => {}
            }
            prop_assert!(n_outputs <= n_calls);
        }
    }
}

fn deltas() -> [TurnEvent; 2] {
    let announced =
        Item::Message { id: None, role: "assistant".into(), content: Vec::new(), end_turn: None, phase: None };
    [
        TurnEvent::Reply(ReplyEvent::ItemAdded(announced)),
        TurnEvent::Reply(ReplyEvent::TextDelta("half an answer".to_owned())),
    ]
}

#[test]
fn text_that_broke_off_is_kept_and_a_complete_one_is_not_said_to_be() {
    let [added, delta] = deltas();
    check_turn(
        vec![added.clone(), delta.clone(), broken(), TurnEvent::PauseOver, added, delta, say("whole"), broken()],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            item_started(AgentMessage)
            agent_message_content_delta
            KeepCutOff("half an answer"), stream_error(Reconnecting... 1/2), pause(200ms)
            AskAgain
            item_started(AgentMessage)
            agent_message_content_delta
            item_completed(AgentMessage), record(message )
            stream_error(Reconnecting... 2/2), pause(400ms)
        "#]],
    );
}

#[test]
fn an_interruption_keeps_the_text_so_far() {
    let [added, delta] = deltas();
    check_turn(
        vec![added, delta, TurnEvent::Interrupted { running: Vec::new() }],
        &expect![[r#"
            begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
            item_started(AgentMessage)
            agent_message_content_delta
            calls(Cancel), KeepCutOff("half an answer"), record(turn_aborted), turn_aborted, Finish
        "#]],
    );
}

#[test]
fn what_cannot_go_out_is_not_asked_for_again() {
    for kind in [ReplyErrorKind::MissingKey, ReplyErrorKind::Unreachable, ReplyErrorKind::Budget] {
        check_turn(
            vec![TurnEvent::ReplyFailed(ReplyError::new(kind, "no"))],
            &expect![[r#"
                begin: task_started, input(go), Persist, item_started(UserMessage), item_completed(UserMessage), RecordSkills, AskModel
                error(no), task_complete(None), Finish
            "#]],
        );
    }
}
