//! Messages about settings that changed between turns.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Origin;
use pellucid_engine::update::FactsChange;
use pellucid_engine::update::updates;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::SandboxPolicy;

use crate::facts;
use crate::model;
use crate::pack;

#[track_caller]
fn check_updates(before: impl FnOnce(&mut Facts), after: impl FnOnce(&mut Facts), expected: &Expect) {
    let mut first = facts();
    before(&mut first);
    let mut second = first.clone();
    after(&mut second);
    let change = FactsChange { pack: pack(), before: &first, after: &second, previous_model: None };
    let show = |message: &pellucid_engine::assemble::LayoutMessage| {
        let text: String = message
            .fragments
            .iter()
            .map(|fragment| match &fragment.origin {
                Origin::Pack { file } => format!("<{file}>"),
                _ => fragment.text.replace('\n', "⏎"),
            })
            .collect();
        format!("{} {} {text}", message.role, message.slot)
    };
    expected.assert_eq(&updates(&change).messages.iter().map(show).collect::<Vec<_>>().join("\n"));
}

fn mode(facts: &mut Facts, text: &str) {
    facts.settings.collaboration_mode.settings.developer_instructions = Some(text.to_owned());
}

#[test]
fn nothing_changed_nothing_is_told() {
    check_updates(|_| {}, |_| {}, &expect![""]);
}

#[test]
fn all_at_once_keeps_the_order() {
    check_updates(
        |_| {},
        |facts| {
            facts.settings.cwd = "/elsewhere".to_owned();
            facts.settings.sandbox_policy = SandboxPolicy::DangerFullAccess;
            mode(facts, "Plan.");
            facts.settings.personality = Some(Personality::Friendly);
        },
        &expect![[r#"
            user environment <environment_context>⏎  <cwd>/elsewhere</cwd>⏎  <shell>bash</shell>⏎</environment_context>
            developer permissions <permissions instructions>⏎<permissions/sandbox_danger_full_access.md>enabled<permissions/sandbox_danger_full_access.md>⏎<permissions/approval_never.md></permissions instructions>
            developer collaboration <collaboration.md>Plan.<collaboration.md>
            developer personality <personality.md><personality/intro.md><personality.md><personality/friendly.md><personality.md>"#]],
    );
}

#[test]
fn a_mode_is_told_again_when_anything_of_it_changes() {
    check_updates(
        |facts| mode(facts, "Plan."),
        |facts| facts.settings.collaboration_mode.settings.reasoning_effort = Some(ReasoningEffort::High),
        &expect!["developer collaboration <collaboration.md>Plan.<collaboration.md>"],
    );
    check_updates(|facts| mode(facts, "Plan."), |facts| mode(facts, ""), &expect![""]);
}

#[test]
fn a_new_model_brings_its_instructions_and_the_tone_with_them() {
    check_updates(
        |_| {},
        |facts| {
            facts.settings.model = model("gpt-5.3-codex");
            facts.settings.personality = Some(Personality::Friendly);
        },
        &expect![
            "developer model_switch <model_switch.md><model_switch/intro.md><model_switch.md><base/codex.md><personality/friendly.md><base/codex.md><model_switch.md>"
        ],
    );
}

#[test]
fn a_tone_is_told_only_where_the_model_has_words_for_it() {
    let friendly = |facts: &mut Facts| facts.settings.personality = Some(Personality::Friendly);
    check_updates(|facts| facts.settings.model = model("gpt-5.1"), friendly, &expect![""]);
    check_updates(|facts| facts.settings.features.set(Feature::Personality, false), friendly, &expect![""]);
    check_updates(|_| {}, |facts| facts.settings.personality = Some(Personality::None), &expect![""]);
    check_updates(
        |_| {},
        friendly,
        &expect![
            "developer personality <personality.md><personality/intro.md><personality.md><personality/friendly.md><personality.md>"
        ],
    );
}

#[test]
fn the_last_task_decides_whether_the_model_is_new() {
    let facts = facts();
    let change = |previous_model| {
        let change = FactsChange { pack: pack(), before: &facts, after: &facts, previous_model };
        updates(&change).messages.iter().map(|message| message.slot.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(change(Some("gpt-5.1")), ["model_switch"]);
    assert!(change(Some("gpt-5.2-codex")).is_empty());
}
