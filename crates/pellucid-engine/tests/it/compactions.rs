//! Compaction: what is asked, what is kept, in which order.

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::assemble::assemble;
use pellucid_engine::compaction::Compaction;
use pellucid_engine::compaction::CompactionError;
use pellucid_engine::compaction::Dropped;
use pellucid_engine::compaction::Region;
use pellucid_engine::compaction::local_summary;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::transcript::View;
use pellucid_engine::turn::SummarisedBy;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::WireApi;
use pellucid_protocol::settings::SummaryInput;
use serde_json::Value;

use crate::facts;
use crate::pack;
use crate::session_id;
use crate::transcripts::item;
use crate::transcripts::line;
use crate::transcripts::transcript;

fn lines(transcript: &mut Transcript) -> String {
    let bytes = [b"[".as_slice(), &transcript.view(View::default()).concat(), b"]"].concat();
    let items: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
    let short = |item: &Value| {
        let chars: Vec<char> = line(item).chars().collect();
        if chars.len() <= 70 {
            return chars.iter().collect();
        }
        let (head, tail) = (&chars[..40], &chars[chars.len() - 25..]);
        format!("{} … {}", head.iter().collect::<String>(), tail.iter().collect::<String>())
    };
    items.iter().map(short).collect::<Vec<_>>().join("\n")
}

/// Summarises a history with this answer and shows the new one.
#[track_caller]
fn check_rebuilt(history: &str, answer: Option<&str>, expected: &Expect) {
    let mut transcript = transcript(history);
    let compaction = Compaction::new(&transcript, pack(), None);
    if let Some(answer) = answer {
        transcript.record(&Item::text("assistant", answer), &Origin::Model);
    }
    compaction.rebuild(&mut transcript, pack(), assemble(pack(), &facts()));
    expected.assert_eq(&lines(&mut transcript));
}

const HISTORY: &str = "
    D <permissions instructions>
    U <environment_context>
    U one
    A first
    call a shell
    out a x
    U two
    ";

#[test]
fn what_people_said_and_the_summary_stay() {
    check_rebuilt(
        HISTORY,
        Some("All done."),
        &expect![[r#"
            developer <permissions instructions>⏎Fil … permissions instructions>
            user <environment_context>⏎  <cwd>/home/ … l>⏎</environment_context>
            user one
            user two
            user Another model worked on this task b … is its summary:⏎All done."#]],
    );
}

#[test]
fn an_earlier_answer_serves_when_the_reply_has_none() {
    check_rebuilt(
        HISTORY,
        None,
        &expect![[r#"
            developer <permissions instructions>⏎Fil … permissions instructions>
            user <environment_context>⏎  <cwd>/home/ … l>⏎</environment_context>
            user one
            user two
            user Another model worked on this task b … his is its summary:⏎first"#]],
    );
}

#[test]
fn an_earlier_summary_is_not_said_again_and_a_model_switch_comes_last() {
    let prefix = std::str::from_utf8(include_bytes!("../../packs/codex/compact/summary_prefix.md")).unwrap();
    let mut transcript = Transcript::new(ItemIds::Hidden, crate::transcripts::POLICY);
    for text in ["one", &format!("{prefix}\nolder summary"), "two"] {
        transcript.record(&Item::text("user", text), &Origin::User);
    }
    transcript.record(&Item::text("developer", "<model_switch>\nnew\n</model_switch>"), &Origin::Layout);
    transcript.record(&item("ghost"), &Origin::Layout);
    let compaction = Compaction::new(&transcript, pack(), None);
    transcript.record(&Item::text("assistant", "newer"), &Origin::Model);
    compaction.rebuild(&mut transcript, pack(), assemble(pack(), &facts()));
    expect![[r#"
        developer <permissions instructions>⏎Fil … permissions instructions>
        user <environment_context>⏎  <cwd>/home/ … l>⏎</environment_context>
        user one
        user two
        user Another model worked on this task b … his is its summary:⏎newer
        developer <model_switch>⏎new⏎</model_switch>"#]]
    .assert_eq(&lines(&mut transcript));
    assert!(transcript.items().any(|item| matches!(item, Item::GhostSnapshot { .. })));
}

#[test]
fn long_messages_are_kept_from_the_newest_on() {
    let mut transcript = Transcript::new(ItemIds::Hidden, crate::transcripts::POLICY);
    for text in ["oldest".to_owned(), "a".repeat(90_006), "b".repeat(407)] {
        transcript.record(&Item::text("user", text), &Origin::User);
    }
    let compaction = Compaction::new(&transcript, pack(), None);
    compaction.rebuild(&mut transcript, pack(), assemble(pack(), &facts()));
    let said: Vec<String> = transcript
        .items()
        .filter_map(|item| pellucid_engine::boundary::said_by_person(&item))
        .map(|text| format!("{} {}", text.len(), text.chars().filter(|c| !c.is_ascii_lowercase()).collect::<String>()))
        .collect();
    assert_eq!(&said[..2], ["79619 …2604  …", "407 "]);
}

#[test]
fn the_request_has_no_tools_and_ends_with_the_prompt() {
    let wire = WireSettings { output_schema: Some(Value::Null), ..WireSettings::new(session_id()) };
    let frame = Frame::for_summary(pack(), &facts(), &[Fragment::layout("Base.")], &wire);
    let mut compaction = Compaction::new(&transcript(HISTORY), pack(), Some(Fragment::provided("config", "Sum up.")));
    let request =
        |compaction: &Compaction| -> Value { serde_json::from_slice(&compaction.request(&frame).body()).unwrap() };
    let body = request(&compaction);
    assert_eq!((body["tools"].to_string().as_str(), &body["parallel_tool_calls"]), ("[]", &Value::Bool(false)));
    assert!(body.get("text").is_none());
    let items = |body: &Value| body["input"].as_array().unwrap().iter().map(line).collect::<Vec<_>>();
    assert_eq!(items(&body).last().map(String::as_str), Some("user Sum up."));
    for left in (0..6).rev() {
        assert_eq!(compaction.drop_oldest(), Dropped::Some, "{left}");
    }
    assert_eq!(items(&request(&compaction)), ["user Sum up."], "a call goes with its output");
    assert_eq!(compaction.drop_oldest(), Dropped::Nothing);
    assert_eq!(compaction.n_dropped(), 6);
}

#[test]
fn a_providers_summary_is_cleaned_and_gets_the_context() {
    let mut transcript = transcript(HISTORY);
    let compaction = Compaction::new(&transcript, pack(), None);
    let output = ["D stale", "U <environment_context> old", "U one", "A kept", "U two", "think"].map(item).to_vec();
    compaction.rebuild_from(&mut transcript, output, assemble(pack(), &facts()));
    expect![[r#"
        user one
        assistant kept
        developer <permissions instructions>⏎Fil … permissions instructions>
        user <environment_context>⏎  <cwd>/home/ … l>⏎</environment_context>
        user two
        reasoning -"#]]
    .assert_eq(&lines(&mut transcript));
}

#[test]
fn the_request_to_a_provider_leaves_out_what_does_not_fit() {
    let mut compaction = Compaction::new(&transcript("U one\ncall a shell\nout a x"), pack(), None);
    compaction.fit_window(&[], Some(30));
    let request =
        compaction.request_without_prompt(&Compaction::frame_for_provider(&facts(), &[Fragment::layout("Base.")]));
    let body = String::from_utf8(request.body()).unwrap();
    assert_eq!(
        body,
        r#"{"model":"gpt-5.2-codex","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}],"instructions":"Base."}"#
    );
}

/// The message with the text of a skill.
fn skill(path: &str, body: &str) -> Item {
    Item::text("user", format!("<skill>\n<name>x</name>\n<path>{path}</path>\n{body}\n</skill>"))
}

#[test]
fn the_last_text_of_each_used_skill_can_stay() {
    let texts = |transcript: &Transcript| -> Vec<String> {
        let bodies = transcript.items().filter_map(|item| match item {
            Item::Message { content, .. } => serde_json::to_string(&content).ok(),
            _ => None,
        });
        bodies.filter(|text| text.contains("<skill>")).collect()
    };
    let used = || {
        let mut transcript = transcript(HISTORY);
        for item in [skill("/a", "old a"), skill("/b", "b"), skill("/a", "new a"), item("U go on"), item("A done")] {
            transcript.record(&item, &Origin::User);
        }
        transcript
    };
    let context = || assemble(pack(), &facts());
    let mut plain = used();
    Compaction::new(&plain, pack(), None).rebuild(&mut plain, pack(), context());
    assert_eq!(texts(&plain), Vec::<String>::new());

    let mut kept = used();
    let compaction = Compaction::new(&kept, pack(), None).keeping_skills(&kept);
    assert!(compaction.keeps_items());
    compaction.rebuild(&mut kept, pack(), context());
    let [b, a] = &texts(&kept)[..] else { panic!("{:?}", texts(&kept)) };
    assert!(b.contains("/b") && a.contains("new a"), "{b} {a}");

    // A turn that stays has its skill already.
    let mut turns = used();
    turns.record(&skill("/b", "b again"), &Origin::User);
    let region = Region { keep_turns: 1, input: SummaryInput::All, pinned: &[] };
    let compaction = Compaction::of_region(&turns, pack(), None, &region).keeping_skills(&turns);
    compaction.rebuild(&mut turns, pack(), context());
    let texts_now = texts(&turns);
    assert!(
        texts_now.len() == 2 && texts_now[0].contains("new a") && texts_now[1].contains("b again"),
        "{texts_now:?}"
    );

    let mut by_provider = used();
    let compaction = Compaction::new(&by_provider, pack(), None).keeping_skills(&by_provider);
    compaction.rebuild_from(&mut by_provider, vec![item("U one")], context());
    assert_eq!(texts(&by_provider).len(), 2);
    let none = transcript(HISTORY);
    assert!(!Compaction::new(&none, pack(), None).keeping_skills(&none).keeps_items());
}

const TURNS: &str = "
    D <permissions instructions>
    U <environment_context>
    U one
    A first
    U two
    call a shell
    out a x
    A second
    U three
    A third
    ";

/// The items that the model is asked with, a line each.
fn asked(compaction: &Compaction) -> Vec<String> {
    let frame = Frame::for_summary(pack(), &facts(), &[], &WireSettings::new(session_id()));
    let body: Value = serde_json::from_slice(&compaction.request(&frame).body()).unwrap();
    body["input"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn the_last_turns_can_stay_word_for_word() {
    let mut transcript = transcript(TURNS);
    let region = Region { keep_turns: 2, input: SummaryInput::All, pinned: &[] };
    let prompt = || Some(Fragment::provided("config", "Sum up."));
    let compaction = Compaction::of_region(&transcript, pack(), prompt(), &region);
    let shown = asked(&compaction);
    assert_eq!(shown[2..], ["user one", "assistant first", "user Sum up."]);
    let places = compaction.shown().unwrap().to_vec();
    let again = Compaction::asking_of(&transcript, vec![prompt().unwrap()], &places);
    assert_eq!(asked(&again), shown, "the same question can be made again");
    transcript.record(&Item::text("assistant", "All done."), &Origin::Model);
    compaction.rebuild(&mut transcript, pack(), assemble(pack(), &facts()));
    expect![[r#"
        developer <permissions instructions>⏎Fil … permissions instructions>
        user <environment_context>⏎  <cwd>/home/ … l>⏎</environment_context>
        user one
        user Another model worked on this task b … is its summary:⏎All done.
        user two
        function_call a
        function_call_output a x
        assistant second
        user three
        assistant third"#]]
    .assert_eq(&lines(&mut transcript));
    let one_turn = crate::transcripts::transcript(HISTORY);
    let many = Region { keep_turns: 9, ..region };
    let compaction = Compaction::of_region(&one_turn, pack(), prompt(), &many);
    assert!(asked(&compaction).contains(&"user one".to_owned()), "something is left to summarise");
}

#[test]
fn a_summary_need_not_be_shown_what_is_said_anyway() {
    let transcript = transcript(TURNS);
    let pinned = [Item::text("user", "two")];
    let region = Region { keep_turns: 0, input: SummaryInput::Conversation, pinned: &pinned };
    let compaction = Compaction::of_region(&transcript, pack(), Some(Fragment::provided("config", "Sum up.")), &region);
    let shown = asked(&compaction);
    assert_eq!(shown.first().map(String::as_str), Some("user one"));
    assert!(!shown.contains(&"user two".to_owned()), "{shown:?}");
}

#[test]
fn a_summary_accounts_for_what_was_asked() {
    let mut transcript = transcript(TURNS);
    transcript.record(&Item::text("user", "four"), &Origin::User);
    let compaction = Compaction::new(&transcript, pack(), None).accounting(&transcript, pack());
    let prompt = serde_json::to_value(compaction.prompt()).unwrap();
    let prompt = prompt["content"][0]["text"].as_str().unwrap();
    assert!(
        prompt.contains(
            "<request n=\"3\" state=\"completed\">three</request>\n<request n=\"4\" state=\"open\">four</request>"
        ),
        "{prompt}"
    );
    let reply = |text: &str| [Item::text("assistant", text)];
    let missing = vec![1, 2, 3];
    assert_eq!(compaction.refusal(&reply("All done.")), Some(CompactionError::Refused { missing }));
    assert_eq!(compaction.refusal(&[]), Some(CompactionError::Empty));
    let good = "All done.\n<requests>\n<request n=\"1\" state=\"completed\">a</request>\n<request n=\"2\" state=\"completed\">b</request>\n<request n=\"3\" state=\"completed\">c</request>\n</requests>";
    assert_eq!(compaction.refusal(&reply(good)), None);
    transcript.record(&Item::text("assistant", good), &Origin::Model);
    let text = compaction.rebuild(&mut transcript, pack(), assemble(pack(), &facts()));
    assert!(text.ends_with("<request n=\"4\" state=\"open\">four</request>\n</requests>"), "{text}");
}

#[test]
fn a_summary_by_rule_is_the_same_for_the_same_history() {
    let mut transcript = transcript(TURNS);
    transcript.record(&Item::text("user", "Never touch src/two.rs. Look at src/one.rs!"), &Origin::User);
    let plan = Item::FunctionCall {
        id: None,
        name: "update_plan".to_owned(),
        arguments: r#"{"plan":[{"step":"read","status":"completed"},{"step":"write","status":"pending"}]}"#.to_owned(),
        call_id: "p".to_owned(),
    };
    transcript.record(&plan, &Origin::Model);
    let items: Vec<Item> = transcript.items().collect();
    let summary = local_summary(&items, pack());
    assert_eq!(summary, local_summary(&items, pack()));
    expect![[r#"
        No model could be reached for a summary, so this one was put together by rule from the conversation that it replaces. It reports what was said and run, and judges nothing: look at the files themselves before you rely on it.

        **Last answer**
        third

        **Plan**
        - completed: read
        - pending: write

        **Files that came up**
        - src/two.rs
        - src/one.rs

        **Commands that were run last**
        -

        **What the user demanded**
        - Never touch src/two.rs."#]].assert_eq(&summary);
}

/// Where the bytes of a request for a summary come from, for each wire.
#[track_caller]
fn check_origins(by: SummarisedBy, expected: &Expect) {
    let mut history = Transcript::new(ItemIds::Hidden, crate::transcripts::POLICY);
    let rules = vec![Fragment::layout("<rules>"), Fragment::provided("a place", "Tabs.")];
    history.record_draft(&Draft::text("user_instructions", "user", rules));
    history.record(&Item::text("user", "go"), &Origin::User);
    history.record(&Item::text("assistant", "gone"), &Origin::Model);
    // What was shown already has its bytes elsewhere.
    history.settle(View::default());
    let compaction = Compaction::new(&history, pack(), None);
    history.record(&Item::text("assistant", "what came since"), &Origin::Model);
    let mut lines = String::new();
    for &wire in WireApi::ALL {
        let settings = WireSettings { wire, ..WireSettings::new(session_id()) };
        let frame = match by {
            SummarisedBy::Model => Frame::for_summary(pack(), &facts(), &[], &settings),
            SummarisedBy::Provider => Compaction::frame_for_provider(&facts(), &[]),
        };
        let (request, report) = compaction.reported(by, &frame);
        assert_eq!(report.bytes(), request.len());
        let plain = match by {
            SummarisedBy::Model => compaction.request(&frame),
            SummarisedBy::Provider => compaction.request_without_prompt(&frame),
        };
        assert_eq!(request.body(), plain.body(), "where bytes come from does not change them");
        let items = report.rows.iter().filter(|row| row.item.is_some() && row.origin != Origin::Wire);
        let mut origins: Vec<String> = items.map(|row| format!("{} from {}", row.part, row.origin.kind())).collect();
        origins.dedup();
        lines += &format!("{wire}: {}\n", origins.join(", "));
    }
    expected.assert_eq(&lines);
}

#[test]
fn a_request_for_a_summary_knows_where_its_bytes_come_from() {
    check_origins(
        SummarisedBy::Model,
        &expect![[r#"
            responses: user_instructions from layout, user_instructions from provided, user from user, model from model, compact_prompt from pack
            chat: user_instructions from layout, user_instructions from provided, user from user, model from model, compact_prompt from pack
            messages: user_instructions from layout, user_instructions from provided, user from user, model from model, compact_prompt from pack
        "#]],
    );
    check_origins(
        SummarisedBy::Provider,
        &expect![[r#"
            responses: user_instructions from layout, user_instructions from provided, user from user, model from model
            chat: user_instructions from layout, user_instructions from provided, user from user, model from model
            messages: user_instructions from layout, user_instructions from provided, user from user, model from model
        "#]],
    );
}
