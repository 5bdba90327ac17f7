//! Turns in which a plan is made.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::fragment::concat;
use pellucid_engine::meter::Meter;
use pellucid_engine::pack::CompactionRules;
use pellucid_engine::presets;
use pellucid_engine::turn::FirstRetry;
use pellucid_engine::turn::RunningTurn;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::TurnSettings;
use pellucid_engine::turn::Wish;
use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::settings::CollaborationMode;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::CollaborationSettings;
use pellucid_protocol::settings::ReasoningEffort;
use proptest::prelude::*;

use crate::pack;
use crate::session_id;

fn turn() -> RunningTurn {
    let settings = TurnSettings {
        session_id: session_id(),
        turn_id: TurnId::new("t"),
        model: "gpt-x".to_owned(),
        window: None,
        mode: CollaborationModeKind::Plan,
        stream_retries_max: 0,
        compaction_limit: None,
        summarised_by: SummarisedBy::Model,
        takeover: None,
        first_retry: FirstRetry::Shown,
        compaction: CompactionRules::default(),
    };
    let mut turn = RunningTurn::new(settings, Meter::default(), pack());
    turn.begin(&[UserInput::text("go")]);
    turn.step(TurnEvent::Measured { unreported: 0 });
    turn
}

fn message(text: &str) -> Item {
    match Item::text("assistant", text) {
        Item::Message { role, content, end_turn, phase, .. } => {
            let content = if text.is_empty() { Vec::new() } else { content };
            Item::Message { id: Some("m".to_owned()), role, content, end_turn, phase }
        }
        other => other,
    }
}

/// The wishes of a reply with one message that comes in these pieces.
fn play(pieces: &[&str]) -> Vec<Wish> {
    let mut turn = turn();
    let added = ReplyEvent::ItemAdded(message(""));
    let deltas = pieces.iter().map(|piece| ReplyEvent::TextDelta((*piece).to_owned()));
    let done = ReplyEvent::ItemDone(message(&pieces.concat()));
    let completed = ReplyEvent::Completed { response_id: String::new(), usage: None };
    let events = [added].into_iter().chain(deltas).chain([done, completed]);
    events.flat_map(|event| turn.step(TurnEvent::Reply(event))).collect()
}

fn show(wish: &Wish) -> Option<String> {
    let item = |item: &TurnItem| match item {
        TurnItem::AgentMessage { id, content, .. } => {
            let text: String = content.iter().map(|AgentContent::Text { text }| text.as_str()).collect();
            format!("message {id} {text:?}")
        }
        TurnItem::Plan { id, text } => format!("plan {id} {text:?}"),
        other => format!("{other:?}"),
    };
    Some(match wish {
        Wish::Emit(EventMessage::ItemStarted { item: it, .. }) => format!("started {}", item(it)),
        Wish::Emit(EventMessage::ItemCompleted { item: it, .. }) => format!("completed {}", item(it)),
        Wish::Emit(EventMessage::PlanDelta { item_id, delta, .. }) => format!("{item_id} += {delta:?}"),
        Wish::Emit(EventMessage::AgentMessageContentDelta { item_id, delta, .. }) => format!("{item_id} += {delta:?}"),
        Wish::Emit(EventMessage::TaskComplete { last_agent_message, .. }) => format!("end {last_agent_message:?}"),
        Wish::Record(item, _) => format!("record {}", serde_json::to_value(item).unwrap()["content"][0]["text"]),
        _ => return None,
    })
}

#[track_caller]
fn check_plan(pieces: &[&str], expected: &Expect) {
    let lines: String = play(pieces).iter().filter_map(show).map(|line| line + "\n").collect();
    expected.assert_eq(&lines);
}

#[test]
fn a_plan_is_an_item_of_its_own() {
    check_plan(
        &["\n", "Look:\n<propo", "sed_plan>\n# A\n", "- one\n</proposed_", "plan>\nGood?"],
        &expect![[r##"
        started message m ""
        m += "\nLook:\n"
        started plan t-plan ""
        t-plan += "# A\n"
        t-plan += "- one\n"
        m += "Good?"
        completed plan t-plan "# A\n- one\n"
        completed message m "\nLook:\nGood?"
        record "\nLook:\n<proposed_plan>\n# A\n- one\n</proposed_plan>\nGood?"
        end Some("\nLook:\nGood?")
    "##]],
    );
}

#[test]
fn a_message_that_is_all_plan_is_not_shown() {
    check_plan(
        &["\n<proposed_plan>\n- one\n"],
        &expect![[r#"
        started plan t-plan ""
        t-plan += "- one\n"
        completed plan t-plan "- one\n"
        record "\n<proposed_plan>\n- one\n"
        end None
    "#]],
    );
}

#[test]
fn a_message_without_a_plan_is_a_message() {
    check_plan(
        &[" Hi", "."],
        &expect![[r#"
        started message m ""
        m += " Hi"
        m += "."
        completed message m " Hi."
        record " Hi."
        end Some(" Hi.")
    "#]],
    );
}

#[test]
fn the_last_of_two_plans_is_the_plan() {
    check_plan(
        &["<proposed_plan>\nA\n</proposed_plan>\nand\n<proposed_plan>\nB\n</proposed_plan>\n"],
        &expect![[r#"
        started plan t-plan ""
        t-plan += "A\n"
        started message m ""
        m += "and\n"
        t-plan += "B\n"
        completed plan t-plan "B\n"
        completed message m "and\n"
        record "<proposed_plan>\nA\n</proposed_plan>\nand\n<proposed_plan>\nB\n</proposed_plan>\n"
        end Some("and\n")
    "#]],
    );
}

proptest! {
    #[test]
    fn pieces_of_any_size_show_the_same(
        parts in prop::collection::vec(
            prop_oneof![
                Just("<proposed_plan>\n"), Just("</proposed_plan>\n"), Just("</prop"), Just("\n"), Just(" "), Just("é"),
                Just("word"),
            ],
            0..20,
        ),
        n_chars in 1_usize..20,
    ) {
        let text = parts.concat();
        let chars: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = chars.chunks(n_chars).map(|chunk| chunk.iter().collect()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        prop_assert_eq!(summary(&play(&pieces)), summary(&play(&[&text])));
    }
}

/// What a person has seen in the end: texts by item, what was completed, and the last message.
fn summary(wishes: &[Wish]) -> (String, String, Vec<String>) {
    let (mut message, mut plan, mut rest) = (String::new(), String::new(), Vec::new());
    for wish in wishes {
        match wish {
            Wish::Emit(EventMessage::PlanDelta { delta, .. }) => plan.push_str(delta),
            Wish::Emit(EventMessage::AgentMessageContentDelta { delta, .. }) => message.push_str(delta),
            _ => rest.extend(show(wish)),
        }
    }
    (message, plan, rest)
}

#[test]
fn presets_are_listed_with_their_texts_filled_in() {
    let listed = presets::presets(pack());
    let heads: Vec<_> = listed.iter().map(|preset| (preset.name, preset.mode, preset.reasoning_effort)).collect();
    assert_eq!(
        heads,
        [
            ("Plan", CollaborationModeKind::Plan, Some(ReasoningEffort::Medium)),
            ("Default", CollaborationModeKind::Default, None),
        ]
    );
    assert!(concat(&listed[0].instructions).contains("<proposed_plan>"));
    let default = concat(&listed[1].instructions);
    assert!(default.contains("Default and Plan") && default.contains("unavailable in Default mode"), "{default}");
    assert!(!default.contains("{{") && !default.contains("{mode}"), "{default}");
}

#[test]
fn a_mode_without_instructions_gets_those_of_its_preset() {
    let mode = |instructions: Option<&str>| CollaborationMode {
        mode: CollaborationModeKind::Plan,
        settings: CollaborationSettings {
            model: "m".to_owned(),
            reasoning_effort: None,
            developer_instructions: instructions.map(str::to_owned),
        },
    };
    let completed =
        |instructions| presets::completed(pack(), mode(instructions)).settings.developer_instructions.unwrap();
    assert_eq!(completed(None), concat(&presets::presets(pack())[0].instructions));
    assert_eq!(completed(Some("")), "");
    assert_eq!(completed(Some("Mine.")), "Mine.");
}
