//! What the next request shows of what a session has been through.

use expect_test::Expect;
use expect_test::expect;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use crate::Played;
use crate::configure;
use crate::outline;
use crate::play;
use crate::play_in;
use crate::play_with_models;
use crate::run_for_events;
use crate::setup;

fn say(text: &str) -> Operation {
    Operation::UserInput { items: vec![UserInput::text(text)], final_output_json_schema: None }
}

fn change(change: SettingsChange) -> Operation {
    Operation::OverrideTurnContext(change)
}

/// Plays operations against as many answers as they need, and shows the last request.
#[track_caller]
fn check_last_request(operations: Vec<Operation>, expected: &Expect) {
    let answers = (1..10).map(|n| MockReply::say(&format!("answer {n}"))).collect();
    let played = play("", answers, operations);
    expected.assert_eq(&outline(played.requests.last().unwrap()));
}

#[test]
fn a_second_turn_adds_to_the_first() {
    check_last_request(
        vec![say("one"), say("two")],
        &expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        assistant answer 1
        user two"#]],
    );
}

#[test]
fn changed_settings_are_told_before_the_next_message() {
    let all = SettingsChange {
        cwd: Some("/".into()),
        approval_policy: Some(ApprovalPolicy::OnRequest),
        sandbox_policy: Some(SandboxPolicy::DangerFullAccess),
        personality: Some(Personality::Friendly),
        ..SettingsChange::default()
    };
    check_last_request(
        vec![say("one"), change(all.clone()), say("two")],
        &expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        assistant answer 1
        user <environment_context>
        developer <permissions instructions>
        developer <personality_spec> The user has chosen a
        user two"#]],
    );
    check_last_request(
        vec![change(all), say("one")],
        &expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user <environment_context>
        developer <permissions instructions>
        developer <personality_spec> The user has chosen a
        user one"#]],
    );
}

#[test]
fn a_new_model_is_told_and_the_instructions_stay() {
    let model = SettingsChange { model: Some("gpt-5.1".to_owned()), ..SettingsChange::default() };
    let answers = ["a", "b"].map(MockReply::say).to_vec();
    let played = play("", answers, vec![say("one"), change(model), say("two")]);
    expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        assistant a
        developer <model_switch>
        user two"#]]
    .assert_eq(&outline(&played.requests[1]));
    assert_eq!(played.requests[0]["instructions"], played.requests[1]["instructions"]);
    assert_eq!(
        (&played.requests[0]["model"], &played.requests[1]["model"]),
        (&json!("gpt-5.2-codex"), &json!("gpt-5.1"))
    );
}

#[test]
fn the_report_the_meter_and_what_compaction_goes_by_agree() {
    let files = Workspace::empty();
    let server = MockServer::start(["a", "the story so far", "b", "c"].map(MockReply::say).to_vec());
    configure(&files, "", &server);
    let setup = setup(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    setup.context_events.join();
    let mut session = Session::open(setup, Recorder::none(), Beginning::Nothing).unwrap();
    for operation in
        [say("one"), Operation::Compact, say("two"), say("three"), Operation::ThreadRollback { num_turns: 1 }]
    {
        let (after, events) = run_for_events(session, vec![operation.clone()]);
        session = after;
        let is_rewritten = matches!(operation, Operation::Compact | Operation::ThreadRollback { .. });
        let mut n_estimates = 0;
        for event in &events {
            match event {
                // An estimate takes the place of the server's figure after a rewrite; faces and the trigger read it here.
                EventMessage::TokenCount { info: Some(info), .. }
                    if is_rewritten && info.last_token_usage.input_tokens == 0 =>
                {
                    n_estimates += 1;
                    assert_eq!(info.last_token_usage.total_tokens, session.tokens() as i64, "{operation:?}");
                }
                EventMessage::ContextCompaction { account } => {
                    assert_eq!(account["tokens_after"], json!(session.tokens()));
                }
                EventMessage::ContextReport(told) if told.purpose.is_none() => {
                    let body = server.requests().last().unwrap().body.len();
                    let report = session.report().unwrap();
                    assert_eq!((told.bytes, told.tokens), (report.bytes(), report.tokens()));
                    assert_eq!((told.bytes, told.tokens), (body, body.div_ceil(4)));
                }
                _ => {}
            }
        }
        assert!(n_estimates > 0 || !is_rewritten, "{operation:?}");
    }
}

#[test]
fn turns_can_be_taken_back() {
    let back = |num_turns| Operation::ThreadRollback { num_turns };
    check_last_request(
        vec![say("one"), say("two"), back(1), say("three")],
        &expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        assistant answer 1
        user three"#]],
    );
    let played = play("", vec![MockReply::say("a")], vec![say("one"), back(0), back(5)]);
    assert_eq!(
        &played.events[played.events.len() - 4..],
        ["error: num_turns must be >= 1", "token_count", "thread_rolled_back", "shutdown_complete"]
    );
}

/// What a request has of a skill: whether its body is there, and how often.
fn n_bodies(body: &Value) -> usize {
    body["input"].to_string().matches("Body of tidy.").count()
}

#[test]
fn a_skill_that_was_used_outlives_a_summary_in_turns_that_are_kept() {
    let n_bodies = |config: &str| -> Vec<usize> {
        let files = Workspace::empty();
        files.write("home/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: About tidy.\n---\nBody of tidy.\n");
        let replies = ["a", "b", "the story so far", "c"].map(MockReply::say).to_vec();
        let turns = vec![say("one"), say("use $tidy"), Operation::Compact, say("on"), say("use $tidy")];
        let replies = replies.into_iter().chain([MockReply::say("d")]).collect();
        let played = play_in(&files, config, replies, turns);
        played.requests.iter().map(n_bodies).collect()
    };
    // The body comes with the turn that asks for the skill, and with a summary it goes, as in the Codex CLI, until it is
    // asked for again.
    assert_eq!(n_bodies(""), [0, 1, 1, 0, 1]);
    // A turn that is kept keeps it, and then it is not shown to the model that summarises.
    assert_eq!(n_bodies("[compaction]\nkeep_turns = 1\n"), [0, 1, 0, 1, 2]);
    // Or it is kept behind the summary, once, wherever it was used.
    assert_eq!(n_bodies("[compaction]\nkeep_skills = true\n"), [0, 1, 1, 1, 2]);
    assert_eq!(n_bodies("[compaction]\nkeep_skills = true\nkeep_turns = 1\n"), [0, 1, 0, 1, 2]);
}

#[test]
fn a_history_can_be_summarised_by_hand() {
    check_last_request(
        vec![say("one"), say("two"), Operation::Compact, say("three")],
        &expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        user two
        user Another model worked on this task before
        user three"#]],
    );
}

#[test]
fn a_full_window_is_summarised_before_the_next_turn_and_a_failure_keeps_the_input_out() {
    let full = || {
        MockReply::events([
            json!({ "type": "response.output_item.done", "item": { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "long" }] } }),
            json!({ "type": "response.completed", "response": { "id": "r", "usage": { "input_tokens": 990, "output_tokens": 10, "total_tokens": 1000 } } }),
        ])
    };
    let limit = "model_auto_compact_token_limit = 900";
    let played =
        play(limit, vec![full(), MockReply::say("summary"), MockReply::say("done")], vec![say("one"), say("two")]);
    assert_eq!(played.requests[1]["tools"], json!([]));
    expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        user Another model worked on this task before
        user two"#]]
    .assert_eq(&outline(&played.requests[2]));

    let broken = vec![
        full(),
        MockReply::status(400, "no"),
        MockReply::status(400, "still no"),
        MockReply::say("summary"),
        MockReply::say("done"),
    ];
    let played = play(limit, broken, vec![say("one"), say("lost"), say("two")]);
    assert!(played.events.contains(&"error: no".to_owned()), "{:?}", played.events);
    assert!(!outline(played.requests.last().unwrap()).contains("lost"));
}

#[test]
fn a_model_with_a_larger_window_summarises_before_it_goes() {
    let cache = json!({ "fetched_at": "2999-01-01T00:00:00Z", "client_version": pellucid_agent::identity::VERSION, "models": [
        { "slug": "small", "display_name": "small", "shell_type": "default", "visibility": "list", "base_instructions": "Small.",
          "truncation_policy": { "mode": "bytes", "limit": 1000 }, "context_window": 4000 },
    ] });
    let usage = json!({ "input_tokens": 4990, "output_tokens": 10, "total_tokens": 5000 });
    let first = MockReply::events([json!({ "type": "response.completed", "response": { "id": "r", "usage": usage } })]);
    let small = SettingsChange { model: Some("small".to_owned()), ..SettingsChange::default() };
    let replies = vec![first, MockReply::say("summary"), MockReply::say("done")];
    let played = play_with_models(&cache, replies, vec![say("one"), change(small), say("two")]);
    let models: Vec<_> = played.requests.iter().map(|body| body["model"].as_str().unwrap()).collect();
    assert_eq!(models[..2], ["gpt-5.2-codex", "gpt-5.2-codex"], "the summary is made by the model before");
    assert!(!outline(&played.requests[1]).contains("model_switch"));
    expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        user Another model worked on this task before
        developer <model_switch>
        user two"#]]
    .assert_eq(&outline(played.requests.last().unwrap()));
}

/// A message after which a session is full.
fn full(text: &str) -> MockReply {
    MockReply::events([
        json!({ "type": "response.output_item.done", "item": { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] } }),
        json!({ "type": "response.completed", "response": { "id": "r", "usage": { "input_tokens": 990, "output_tokens": 10, "total_tokens": 1000 } } }),
    ])
}

const FULL: &str = "model_auto_compact_token_limit = 900\n";

/// Plays a session whose every summary is cut, each after one byte more, and gives what it sent.
fn cut_everywhere(config: &str) -> (usize, Played) {
    let summary = MockReply::say("summary");
    let n_cuts = summary.body_len();
    let mut replies = vec![MockReply::say("answer one")];
    replies.extend((0..n_cuts).map(|cut| MockReply::say("summary").cut_after(cut)));
    replies.push(MockReply::say("answer two"));
    let compactions = std::iter::repeat_n(Operation::Compact, n_cuts);
    let operations = [say("one")].into_iter().chain(compactions).chain([say("two")]).collect();
    (n_cuts, play(config, replies, operations))
}

#[test]
fn a_summary_cut_at_every_byte_is_made_by_rule_where_that_is_wanted() {
    let (n_cuts, played) = cut_everywhere("[compaction]\nfallback = \"local\"");
    assert!(!played.events.iter().any(|event| event.starts_with("error")), "{:?}", played.events);
    assert_eq!(played.events.iter().filter(|event| *event == "task_complete").count(), n_cuts + 2);
    let last = played.requests.last().unwrap();
    expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        user Another model worked on this task before
        user two"#]]
    .assert_eq(&outline(last));
    let summary = last["input"][3]["content"][0]["text"].as_str().unwrap();
    assert!(summary.contains("put together by rule"), "{summary}");
}

#[test]
fn a_summary_cut_at_every_byte_leaves_the_session_as_it_was() {
    let marked = "[compaction]\nrequests = \"marked\"";
    let (n_cuts, played) = cut_everywhere(marked);
    assert_eq!(played.events.iter().filter(|event| event.starts_with("error: ")).count(), n_cuts);
    expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        assistant answer one
        user two"#]]
    .assert_eq(&outline(played.requests.last().unwrap()));
}

#[test]
fn no_summary_is_made_where_none_is_wanted() {
    let overflow = MockReply::events([json!({ "type": "response.failed", "response": { "id": "r", "error": {
        "code": "context_length_exceeded", "message": "too long" } } })]);
    let replies = vec![full("a"), overflow, full("b"), MockReply::say("c")];
    let config = format!("{FULL}[compaction]\nauto = false");
    let played = play(&config, replies, vec![say("one"), say("two"), say("three"), say("four")]);
    assert_eq!(played.requests.len(), 4);
    assert!(!played.events.contains(&"context_compacted".to_owned()), "{:?}", played.events);
    assert!(played.requests.iter().all(|body| body["tools"] != json!([])));
}

#[test]
fn a_server_that_always_overflows_is_asked_for_a_summary_twice() {
    let overflow = || {
        MockReply::events([json!({ "type": "response.failed", "response": { "id": "r", "error": {
            "code": "context_length_exceeded", "message": "too long" } } })])
    };
    let replies = std::iter::once(full("a")).chain(std::iter::repeat_with(overflow).take(9)).collect();
    let config = format!("{FULL}[compaction]\noverflow_calls_max = 2");
    let played = play(&config, replies, vec![say("one"), say("two")]);
    assert_eq!(played.requests.len(), 3, "one answer, two attempts at a summary");
    let error = "error: the request for a summary does not fit the model's window after 2 attempts; start a new session, or raise compaction.overflow_calls_max";
    assert!(played.events.contains(&error.to_owned()), "{:?}", played.events);
}

#[test]
fn another_model_may_summarise_and_turns_may_stay() {
    let config = format!("{FULL}[compaction]\nmodel = \"gpt-5.1\"\nkeep_turns = 1\ninput = \"conversation\"");
    let replies = vec![MockReply::say("a"), full("b"), MockReply::say("summary"), MockReply::say("c")];
    let played = play(&config, replies, vec![say("one"), say("two"), say("three")]);
    let models: Vec<_> = played.requests.iter().map(|body| body["model"].as_str().unwrap()).collect();
    assert_eq!(models, ["gpt-5.2-codex", "gpt-5.2-codex", "gpt-5.1", "gpt-5.2-codex"]);
    let asked = outline(&played.requests[2]);
    assert!(asked.starts_with("user one\nassistant a\nuser You have reached"), "{asked}");
    expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        user Another model worked on this task before
        user two
        assistant b
        user three"#]]
    .assert_eq(&outline(&played.requests[3]));
}

#[test]
fn a_summary_that_forgets_a_completed_request_is_refused() {
    let config = "[compaction]\nrequests = \"marked\"";
    let list = "Fine.\n<requests>\n<request n=\"1\" state=\"completed\">did it</request>\n</requests>";
    let replies = ["a", "summary", "summary", "summary", list, "b"].map(MockReply::say).to_vec();
    let played = play(config, replies, vec![say("one"), Operation::Compact, Operation::Compact, say("two")]);
    let errors: Vec<_> = played.events.iter().filter(|event| event.starts_with("error")).collect();
    assert_eq!(errors, ["error: the summary does not mark these completed requests as completed: 1"]);
    let last = played.requests.last().unwrap();
    let texts: Vec<_> =
        last["input"].as_array().unwrap().iter().map(|item| item["content"][0]["text"].as_str().unwrap()).collect();
    assert_eq!((texts.len(), texts[2], texts[4]), (5, "one", "two"));
    assert!(texts[3].ends_with("Fine.\n\n1. completed: did it\n\n<requests>\n<request n=\"1\" state=\"completed\">one</request>\n</requests>"), "{}", texts[3]);
}

/// The texts that a layout says, in any order.
fn standing(body: &Value) -> Vec<String> {
    let items = body["input"].as_array().unwrap().iter();
    let texts = items.filter_map(|item| Some((item["role"].as_str()?, item["content"][0]["text"].as_str()?)));
    let is_standing = |(role, text): &(&str, &str)| {
        *role == "developer"
            || text.starts_with("# AGENTS.md instructions")
            || text.starts_with("<environment_context>")
    };
    let mut texts: Vec<String> = texts.filter(is_standing).map(|(_, text)| text.to_owned()).collect();
    texts.sort();
    texts
}

#[test]
fn rules_stand_once_after_a_summary_as_in_a_new_session() {
    let files = Workspace::new("//- work/AGENTS.md\nBe kind.\n");
    for rules in ["", "keep_turns = 1", "input = \"conversation\"", "requests = \"marked\"\nfallback = \"local\""] {
        let config = format!("{FULL}[compaction]\n{rules}");
        let replies =
            || vec![full("a"), MockReply::say("summary"), MockReply::say("summary"), full("b"), MockReply::say("c")];
        let before_a_turn = play_in(&files, &config, replies(), vec![say("one"), say("two"), say("three")]);
        let by_hand = play_in(&files, &config, replies(), vec![say("one"), Operation::Compact, say("two")]);
        for played in [&before_a_turn, &by_hand] {
            let fresh = standing(&played.requests[0]);
            assert_eq!(fresh.len(), 3);
            assert_eq!(standing(played.requests.last().unwrap()), fresh, "{rules}");
        }
    }
}

#[test]
fn a_message_of_the_context_is_said_again_after_its_turns() {
    let answers = (1..10).map(|n| MockReply::say(&format!("answer {n}"))).collect();
    let config = "[reinject_turns]\nenvironment = 2\nnothing = 1";
    let played = play(config, answers, vec![say("one"), say("two"), say("three"), say("four")]);
    expect![[r#"
        developer <permissions instructions>
        user <environment_context>
        user one
        assistant answer 1
        user two
        assistant answer 2
        user <environment_context>
        user three
        assistant answer 3
        user four"#]]
    .assert_eq(&outline(played.requests.last().unwrap()));
    assert!(played.events.contains(&"warning".to_owned()), "a slot that is not there is told: {:?}", played.events);
}

#[test]
fn a_summary_cut_at_any_byte_leaves_the_session_usable() {
    let full = || {
        MockReply::events([
            json!({ "type": "response.completed", "response": { "id": "r", "usage": { "input_tokens": 990, "output_tokens": 10, "total_tokens": 1000 } } }),
        ])
    };
    let n_bytes = MockReply::say("summary").body_len();
    for cut in (0..n_bytes).step_by(23) {
        let replies =
            vec![full(), MockReply::say("summary").cut_after(cut), MockReply::say("summary"), MockReply::say("done")];
        let played = play("model_auto_compact_token_limit = 900", replies, vec![say("one"), say("two"), say("three")]);
        let ends = played.events.iter().filter(|event| *event == "task_complete").count();
        assert_eq!(ends, 3, "cut after {cut}: {:?}", played.events);
        assert!(outline(played.requests.last().unwrap()).ends_with("user three"), "cut after {cut}");
    }
}
