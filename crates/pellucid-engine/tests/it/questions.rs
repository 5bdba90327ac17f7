//! The questions of a turn as data: who is asked, when, and what follows from each answer, from none, and from an end.

use std::time::Duration;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::approval::grants::GrantKey;
use pellucid_engine::approval::grants::Grants;
use pellucid_engine::meter::Meter;
use pellucid_engine::turn::RunningTurn;
use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::Wish;
use pellucid_engine::turn::calls::CallEvent;
use pellucid_engine::turn::calls::CallWish;
use pellucid_engine::turn::questions::AskId;
use pellucid_engine::turn::questions::AskKey;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::AskWish;
use pellucid_engine::turn::questions::Audience;
use pellucid_engine::turn::questions::ClientAnswer;
use pellucid_engine::turn::questions::ClientQuestion;
use pellucid_engine::turn::questions::Permission;
use pellucid_engine::turn::questions::Questions;
use pellucid_protocol::approval::ApplyPatchApprovalRequest;
use pellucid_protocol::approval::ExecApprovalRequest;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::change::PatchApplyEnd;
use pellucid_protocol::change::PatchStatus;
use pellucid_protocol::dynamic_tool::DynamicToolCall;
use pellucid_protocol::dynamic_tool::DynamicToolResponse;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::elicitation::ElicitationId;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserAnswers;
use proptest::prelude::*;
use serde_json::Value;

use crate::pack;
use crate::turns;
use crate::turns::broken;
use crate::turns::call;
use crate::turns::completed;
use crate::turns::measured;
use crate::turns::output;
use crate::turns::settings;

/// What an approval of the file for the session covers.
fn file(path: &str) -> GrantKey {
    GrantKey::File { path: path.to_owned() }
}

fn asked(ask: u64, key: AskKey, event: EventMessage, grants: Vec<GrantKey>) -> TurnEvent {
    TurnEvent::Call(CallEvent::Asked {
        ask: AskId(ask),
        question: ClientQuestion { key, event: Box::new(event), grants },
    })
}

/// A command of this call needs an approval. The same command is always the same grant.
fn exec(ask: u64, call_id: &str) -> TurnEvent {
    let event = EventMessage::ExecApprovalRequest(ExecApprovalRequest {
        call_id: call_id.to_owned(),
        approval_id: None,
        turn_id: TurnId::new("turn"),
        command: vec!["make".to_owned()],
        cwd: "/w".into(),
        reason: None,
        network_approval_context: None,
        proposed_execpolicy_amendment: None,
        parsed_cmd: Vec::new(),
        explanation: Vec::new(),
    });
    asked(ask, AskKey::Approval(call_id.to_owned()), event, vec![file("command")])
}

/// A patch of this call needs an approval for these files.
fn patch(ask: u64, call_id: &str, files: &[&str]) -> TurnEvent {
    let event = EventMessage::ApplyPatchApprovalRequest(ApplyPatchApprovalRequest {
        call_id: call_id.to_owned(),
        turn_id: TurnId::new("turn"),
        changes: Default::default(),
        reason: None,
        grant_root: None,
        explanation: Vec::new(),
    });
    asked(ask, AskKey::Approval(call_id.to_owned()), event, files.iter().map(|path| file(path)).collect())
}

/// The model asks a person something, or the session asks for variables before the first request.
fn user_input(ask: u64, call_id: &str) -> TurnEvent {
    let turn_id = TurnId::new("turn");
    let event = RequestUserInput { call_id: call_id.to_owned(), turn_id: turn_id.clone(), questions: Vec::new() };
    asked(ask, AskKey::Question(turn_id), EventMessage::RequestUserInput(event), Vec::new())
}

/// The model calls a tool of the client.
fn client_tool(ask: u64, call_id: &str) -> TurnEvent {
    let event = EventMessage::DynamicToolCallRequest(DynamicToolCall {
        call_id: call_id.to_owned(),
        turn_id: TurnId::new("turn"),
        tool: "lookup".to_owned(),
        arguments: Value::Null,
    });
    asked(ask, AskKey::DynamicTool(call_id.to_owned()), event, Vec::new())
}

/// An MCP server asks a person.
fn elicitation(ask: u64, id: i64) -> TurnEvent {
    let (server, id) = ("depot".to_owned(), ElicitationId::Number(id));
    let event = EventMessage::ElicitationRequest(ElicitationRequest {
        server_name: server.clone(),
        id: id.clone(),
        message: "May I?".to_owned(),
        schema: Value::Null,
        url: None,
    });
    asked(ask, AskKey::Elicitation { server, id }, event, Vec::new())
}

fn resolve(id: i64, action: ElicitationAction) -> TurnEvent {
    TurnEvent::Answered {
        key: AskKey::Elicitation { server: "depot".to_owned(), id: ElicitationId::Number(id) },
        answer: ClientAnswer::Elicitation(ElicitationAnswer::without_content(action)),
    }
}

fn decide(call_id: &str, decision: ReviewDecision) -> TurnEvent {
    TurnEvent::Answered { key: AskKey::Approval(call_id.to_owned()), answer: ClientAnswer::Decision(decision) }
}

fn stopped(running: Vec<usize>) -> TurnEvent {
    TurnEvent::Interrupted { running: running.into_iter().map(|index| (index, Duration::from_secs(2))).collect() }
}

/// Plays facts in a turn whose model made the calls `a` and `b`, and whose reply is complete. Shows the wishes, a line for
/// each fact.
#[track_caller]
fn check_questions(questions: Questions, facts: Vec<TurnEvent>, expected: &Expect) {
    let facts = [call("a"), call("b"), completed()].into_iter().chain(facts).collect();
    let lines = play(questions, facts);
    expected.assert_eq(&lines.iter().skip(3).map(|line| format!("{line}\n")).collect::<String>());
}

fn play(questions: Questions, facts: Vec<TurnEvent>) -> Vec<String> {
    let mut turn = begin(questions);
    let step = |fact| {
        let wishes = turn.step(fact);
        turns::show(&measured(&mut turn, wishes))
    };
    facts.into_iter().map(step).collect()
}

fn begin(questions: Questions) -> RunningTurn {
    let mut turn = RunningTurn::new(settings(), Meter::default(), pack()).with_questions(questions);
    let first = turn.begin(&[UserInput::text("go")]);
    measured(&mut turn, first);
    turn
}

#[test]
fn each_kind_of_question_is_shown_and_its_answer_given_to_the_call() {
    let amendment =
        ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: vec!["make".to_owned()] };
    check_questions(
        Questions::default(),
        vec![
            exec(1, "a"),
            decide("a", ReviewDecision::Approved),
            exec(2, "a"),
            decide("a", ReviewDecision::Denied),
            exec(3, "a"),
            decide("a", amendment),
            patch(4, "b", &["/w/f"]),
            decide("b", ReviewDecision::Denied),
            user_input(5, "a"),
            TurnEvent::Answered {
                key: AskKey::Question(TurnId::new("turn")),
                answer: ClientAnswer::Answers(UserAnswers::default()),
            },
            client_tool(6, "b"),
            TurnEvent::Answered {
                key: AskKey::DynamicTool("b".to_owned()),
                answer: ClientAnswer::DynamicTool(DynamicToolResponse { content_items: Vec::new(), success: true }),
            },
        ],
        &expect![[r#"
            ask(1 exec_approval_request)
            answer(1 Decision(Approved))
            ask(2 exec_approval_request)
            answer(2 Decision(Denied))
            ask(3 exec_approval_request)
            SaveRule { prefix: ["make"], note: AtOnce }, answer(3 Decision(ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: ["make"] }))
            ask(4 apply_patch_approval_request)
            answer(4 Decision(Denied))
            ask(5 request_user_input)
            answer(5 Answers(UserAnswers { answers: {} }))
            ask(6 dynamic_tool_call_request)
            answer(6 DynamicTool(DynamicToolResponse { content_items: [], success: true }))
        "#]],
    );
}

#[test]
fn a_rule_from_an_answer_without_a_turn_is_reported_behind_the_outputs() {
    let decision =
        ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: vec!["make".to_owned()] };
    let answer = ClientAnswer::DecisionWithoutTurn(decision);
    check_questions(
        Questions::default(),
        vec![exec(1, "a"), TurnEvent::Answered { key: AskKey::Approval("a".to_owned()), answer }],
        &expect![[r#"
            ask(1 exec_approval_request)
            SaveRule { prefix: ["make"], note: WithNextRequest }, answer(1 DecisionWithoutTurn(ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: ["make"] }))
        "#]],
    );
}

/// A cancelled question of a server does not end the turn; a second answer and one that comes after the call are ignored.
#[test]
fn questions_of_servers_are_answered_once_and_end_with_their_calls() {
    check_questions(
        Questions::default(),
        vec![
            elicitation(1, 7),
            elicitation(2, 8),
            resolve(7, ElicitationAction::Cancel),
            resolve(7, ElicitationAction::Accept),
            elicitation(3, 8),
            resolve(8, ElicitationAction::Accept),
            elicitation(4, 9),
            output(0, "a"),
            output(1, "b"),
            resolve(9, ElicitationAction::Accept),
        ],
        &expect![[r#"
            ask(1 elicitation_request)
            ask(2 elicitation_request)
            answer(1 Elicitation(ElicitationAnswer { action: Cancel, content: None }))
            Ignore(Elicitation { server: "depot", id: Number(7) })
            answer(2 Unanswered), ask(3 elicitation_request)
            answer(3 Elicitation(ElicitationAnswer { action: Accept, content: None }))
            ask(4 elicitation_request)
            record(function_call_output ok)
            record(function_call_output ok), calls(Over), AskModel
            Ignore(Elicitation { server: "depot", id: Number(9) })
        "#]],
    );
}

#[test]
fn a_server_is_not_asked_for_without_a_client_or_in_a_turn_that_is_stopped() {
    check_questions(
        Questions::new(Audience::Absent, Grants::default()),
        vec![elicitation(1, 7), resolve(7, ElicitationAction::Accept)],
        &expect![[r#"
            answer(1 Unanswered)
            Ignore(Elicitation { server: "depot", id: Number(7) })
        "#]],
    );
    check_questions(
        Questions::default(),
        vec![elicitation(1, 7), TurnEvent::InterruptRequested, elicitation(2, 8), stopped(vec![0, 1])],
        &expect![[r#"
            ask(1 elicitation_request)
            calls(Interrupt)

            calls(Cancel), record(function_call_output aborted by user after 2.0s), record(function_call_output aborted by user after 2.0s), record(turn_aborted), turn_aborted, Finish
        "#]],
    );
}

#[test]
fn a_server_without_an_answer_is_declined() {
    let accepted = ElicitationAnswer { action: ElicitationAction::Accept, content: Some(Value::Bool(true)) };
    let answered = AskOutcome::Answered(ClientAnswer::Elicitation(accepted.clone()));
    assert_eq!(answered.elicited(), accepted);
    let declined = ElicitationAnswer::without_content(ElicitationAction::Decline);
    assert_eq!(AskOutcome::Unanswered.elicited(), declined);
}

#[test]
fn parallel_calls_are_asked_about_at_once_and_answered_in_any_order() {
    check_questions(
        Questions::default(),
        vec![
            exec(1, "a"),
            patch(2, "b", &["/w/f"]),
            decide("b", ReviewDecision::Approved),
            decide("a", ReviewDecision::Denied),
            output(0, "a"),
            output(1, "b"),
        ],
        &expect![[r#"
            ask(1 exec_approval_request)
            ask(2 apply_patch_approval_request)
            answer(2 Decision(Approved))
            answer(1 Decision(Denied))
            record(function_call_output ok)
            record(function_call_output ok), calls(Over), AskModel
        "#]],
    );
}

#[test]
fn an_abort_ends_the_turn_and_the_second_question_with_it() {
    check_questions(
        Questions::default(),
        vec![
            exec(1, "a"),
            exec(2, "b"),
            decide("a", ReviewDecision::Abort),
            decide("b", ReviewDecision::Approved),
            exec(3, "b"),
            stopped(vec![0, 1]),
            decide("b", ReviewDecision::Approved),
        ],
        &expect![[r#"
            ask(1 exec_approval_request)
            ask(2 exec_approval_request)
            answer(1 Decision(Abort)), calls(Interrupt)
            Ignore(Approval("b"))

            calls(Cancel), record(function_call_output aborted by user after 2.0s), record(function_call_output aborted by user after 2.0s), record(turn_aborted), turn_aborted, Finish

        "#]],
    );
}

#[test]
fn the_first_answer_counts_and_unknown_ones_are_ignored() {
    check_questions(
        Questions::default(),
        vec![
            decide("a", ReviewDecision::Approved),
            exec(1, "a"),
            decide("unknown", ReviewDecision::Abort),
            TurnEvent::Answered {
                key: AskKey::DynamicTool("a".to_owned()),
                answer: ClientAnswer::Answers(UserAnswers::default()),
            },
            decide("a", ReviewDecision::Approved),
            decide("a", ReviewDecision::Abort),
            decide("a", ReviewDecision::ApprovedForSession),
            exec(2, "b"),
        ],
        &expect![[r#"
            Ignore(Approval("a"))
            ask(1 exec_approval_request)
            Ignore(Approval("unknown"))
            Ignore(DynamicTool("a"))
            answer(1 Decision(Approved))
            Ignore(Approval("a"))
            Ignore(Approval("a"))
            ask(2 exec_approval_request)
        "#]],
    );
}

#[test]
fn an_interruption_forgets_open_questions() {
    check_questions(
        Questions::default(),
        vec![
            exec(1, "a"),
            user_input(2, "b"),
            TurnEvent::InterruptRequested,
            decide("a", ReviewDecision::ApprovedForSession),
            client_tool(3, "b"),
            stopped(vec![0]),
            decide("a", ReviewDecision::Approved),
        ],
        &expect![[r#"
            ask(1 exec_approval_request)
            ask(2 request_user_input)
            calls(Interrupt)
            Ignore(Approval("a"))

            calls(Cancel), record(function_call_output aborted by user after 2.0s), record(function_call_output aborted by user after 0.1s), record(turn_aborted), turn_aborted, Finish

        "#]],
    );
}

#[test]
fn an_approval_for_the_session_covers_the_same_later() {
    check_questions(
        Questions::default(),
        vec![
            patch(1, "a", &["/w/f", "/w/g"]),
            decide("a", ReviewDecision::ApprovedForSession),
            patch(2, "b", &["/w/g"]),
            patch(3, "b", &["/w/g", "/w/h"]),
            patch(4, "a", &[]),
        ],
        &expect![[r#"
            ask(1 apply_patch_approval_request)
            Grant([File { path: "/w/f" }, File { path: "/w/g" }]), answer(1 Decision(ApprovedForSession))
            answer(2 Granted)
            ask(3 apply_patch_approval_request)
            ask(4 apply_patch_approval_request)
        "#]],
    );
    let mut granted = Grants::default();
    granted.remember([file("command")]);
    check_questions(
        Questions::new(Audience::Client, granted.clone()),
        vec![exec(1, "a"), patch(2, "b", &["/w/f"])],
        &expect![[r#"
            answer(1 Granted)
            ask(2 apply_patch_approval_request)
        "#]],
    );
    check_questions(
        Questions::new(Audience::Absent, granted),
        vec![exec(1, "a")],
        &expect![[r#"
        answer(1 Granted)
    "#]],
    );
}

/// What is open when the same is allowed for the session stays open: the client has seen the question.
#[test]
fn an_approval_for_the_session_leaves_open_questions_open() {
    check_questions(
        Questions::default(),
        vec![
            exec(1, "a"),
            exec(2, "b"),
            decide("a", ReviewDecision::ApprovedForSession),
            decide("b", ReviewDecision::Denied),
            exec(3, "b"),
        ],
        &expect![[r#"
            ask(1 exec_approval_request)
            ask(2 exec_approval_request)
            Grant([File { path: "command" }]), answer(1 Decision(ApprovedForSession))
            answer(2 Decision(Denied))
            answer(3 Granted)
        "#]],
    );
}

#[test]
fn without_a_client_no_question_is_shown_and_each_is_unanswered() {
    check_questions(
        Questions::new(Audience::Absent, Grants::default()),
        vec![
            exec(1, "a"),
            patch(2, "b", &["/w/f"]),
            user_input(3, "a"),
            client_tool(4, "b"),
            decide("a", ReviewDecision::Approved),
        ],
        &expect![[r#"
            answer(1 Unanswered)
            answer(2 Unanswered)
            answer(3 Unanswered)
            answer(4 Unanswered)
            Ignore(Approval("a"))
        "#]],
    );
}

#[test]
fn a_question_with_the_key_of_an_open_one_takes_its_place() {
    check_questions(
        Questions::default(),
        vec![
            user_input(1, "a"),
            user_input(2, "b"),
            TurnEvent::Answered {
                key: AskKey::Question(TurnId::new("turn")),
                answer: ClientAnswer::Answers(UserAnswers::default()),
            },
        ],
        &expect![[r#"
            ask(1 request_user_input)
            answer(1 Unanswered), ask(2 request_user_input)
            answer(2 Answers(UserAnswers { answers: {} }))
        "#]],
    );
}

/// A question can outlive the part of a call that asked it, but not the reply of the call.
#[test]
fn questions_end_with_the_reply_whose_call_asked() {
    check_questions(
        Questions::default(),
        vec![exec(1, "a"), output(0, "a"), output(1, "b"), decide("a", ReviewDecision::ApprovedForSession)],
        &expect![[r#"
            ask(1 exec_approval_request)
            record(function_call_output ok)
            record(function_call_output ok), calls(Over), AskModel
            Ignore(Approval("a"))
        "#]],
    );
}

fn patch_ended(call_id: &str) -> TurnEvent {
    TurnEvent::Call(CallEvent::Event(Box::new(EventMessage::PatchApplyEnd(PatchApplyEnd {
        call_id: call_id.to_owned(),
        turn_id: TurnId::new("turn"),
        stdout: String::new(),
        stderr: String::new(),
        success: true,
        changes: Default::default(),
        status: PatchStatus::Completed,
    }))))
}

fn warned() -> TurnEvent {
    TurnEvent::Call(CallEvent::Event(Box::new(EventMessage::Warning { message: "w".to_owned() })))
}

/// Plays facts while the reply that made the calls `a` and `b` is being read.
#[track_caller]
fn check_while_reading(facts: Vec<TurnEvent>, expected: &Expect) {
    let facts = [call("a"), call("b")].into_iter().chain(facts).collect();
    let lines = play(Questions::default(), facts);
    expected.assert_eq(&lines.iter().skip(2).map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn what_a_call_leads_to_is_passed_on_after_the_reply_that_made_the_call() {
    check_while_reading(
        vec![
            warned(),
            patch_ended("earlier"),
            TurnEvent::Call(CallEvent::Patched),
            client_tool(1, "b"),
            patch_ended("a"),
            TurnEvent::Call(CallEvent::Patched),
            exec(2, "b"),
            exec(3, "inner call of b"),
            output(0, "a"),
            completed(),
            decide("b", ReviewDecision::Approved),
            output(1, "b"),
        ],
        &expect![[r#"
            warning
            patch_apply_end
            calls(ShowDiff)
            ask(1 dynamic_tool_call_request)



            ask(3 exec_approval_request)

            token_count, patch_apply_end, calls(ShowDiff), ask(2 exec_approval_request), record(function_call_output ok)
            answer(2 Decision(Approved))
            record(function_call_output ok), calls(Over), AskModel
        "#]],
    );
}

/// Nothing is asked for calls that are stopped, and clients see all that the calls did.
#[test]
fn a_reply_that_breaks_off_forgets_what_its_calls_ask() {
    check_while_reading(
        vec![
            user_input(1, "b"),
            patch_ended("a"),
            TurnEvent::Call(CallEvent::Patched),
            output(0, "a"),
            exec(2, "b"),
            broken(),
            TurnEvent::Answered {
                key: AskKey::Question(TurnId::new("turn")),
                answer: ClientAnswer::Answers(UserAnswers::default()),
            },
            decide("b", ReviewDecision::Approved),
        ],
        &expect![[r#"
            ask(1 request_user_input)




            patch_apply_end, calls(ShowDiff), calls(Cancel), stream_error(Reconnecting... 1/2), pause(200ms)
            Ignore(Question(TurnId("turn")))
            Ignore(Approval("b"))
        "#]],
    );
}

#[test]
fn an_interruption_keeps_the_answers_of_calls_and_drops_their_questions() {
    check_while_reading(
        vec![patch_ended("a"), output(0, "a"), exec(1, "b"), TurnEvent::InterruptRequested, warned(), stopped(vec![1])],
        &expect![[r#"



            calls(Interrupt), patch_apply_end
            warning
            calls(Cancel), record(function_call_output ok), record(function_call_output aborted by user after 2.0s), record(turn_aborted), turn_aborted, Finish
        "#]],
    );
}

#[test]
fn what_each_outcome_means_for_a_call_that_asked_for_approval() {
    let decided = |decision| AskOutcome::Answered(ClientAnswer::Decision(decision));
    let rule = ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: Vec::new() };
    for (outcome, expected) in [
        (AskOutcome::Granted, Permission::Given),
        (decided(ReviewDecision::Approved), Permission::Given),
        (decided(ReviewDecision::ApprovedForSession), Permission::Given),
        (decided(rule), Permission::Given),
        (decided(ReviewDecision::Denied), Permission::Refused),
        (decided(ReviewDecision::Abort), Permission::TurnEnds),
        (AskOutcome::Unanswered, Permission::Refused),
        (AskOutcome::Answered(ClientAnswer::Answers(UserAnswers::default())), Permission::Refused),
    ] {
        assert_eq!(outcome.permission(), expected, "{outcome:?}");
    }
}

fn any_decision() -> impl Strategy<Value = ReviewDecision> {
    prop_oneof![
        4 => Just(ReviewDecision::Approved),
        4 => Just(ReviewDecision::Denied),
        2 => Just(ReviewDecision::ApprovedForSession),
        1 => Just(ReviewDecision::Abort),
    ]
}

fn any_fact() -> impl Strategy<Value = TurnEvent> {
    prop_oneof![
        4 => "[a-c]".prop_map(|id| call(&id)),
        8 => "[a-c]".prop_map(|id| exec(0, &id)),
        2 => "[a-c]".prop_map(|id| user_input(0, &id)),
        8 => ("[a-c]", any_decision()).prop_map(|(id, decision)| decide(&id, decision)),
        3 => (0_usize..3).prop_map(|index| output(index, "x")),
        3 => Just(completed()),
        1 => Just(broken()),
        1 => Just(TurnEvent::PauseOver),
        1 => Just(TurnEvent::InterruptRequested),
    ]
}

proptest! {
    /// Whatever happens, each question is answered at most once and only after it was asked, and once the turn is being
    /// interrupted, which happens once, nothing is asked or answered.
    #[test]
    fn every_question_is_answered_at_most_once(facts in prop::collection::vec(any_fact(), 0..60)) {
        let mut turn = begin(Questions::default());
        let (mut n_asked, mut shown, mut answered) = (0, Vec::new(), Vec::new());
        let (mut n_interrupts, mut is_interrupted) = (0, false);
        for mut fact in facts {
            let is_request = fact == TurnEvent::InterruptRequested;
            if is_request && is_interrupted {
                continue;
            }
            if let TurnEvent::Call(CallEvent::Asked { ask, .. }) = &mut fact {
                n_asked += 1;
                *ask = AskId(n_asked);
            }
            let wishes = turn.step(fact);
            for wish in measured(&mut turn, wishes) {
                match wish {
                    Wish::Ask(AskWish::Client { ask, .. }) => {
                        prop_assert!(!is_interrupted && ask.0 <= n_asked && !shown.contains(&ask));
                        shown.push(ask);
                    }
                    Wish::Ask(AskWish::Answer { ask, outcome }) => {
                        prop_assert!(!is_interrupted && ask.0 <= n_asked && !answered.contains(&ask));
                        prop_assert!(shown.contains(&ask) || outcome == AskOutcome::Granted);
                        answered.push(ask);
                    }
                    Wish::Call(CallWish::Interrupt) => {
                        n_interrupts += 1;
                        is_interrupted = true;
                    }
                    _ => {}
                }
            }
        }
        prop_assert!(n_interrupts <= 1);
    }
}
