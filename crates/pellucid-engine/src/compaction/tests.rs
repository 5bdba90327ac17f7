//! What summaries are made of: regions, requests, partners, what people said, and summaries by rule.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::settings::SummaryInput;

use super::requests::RequestState;
use super::requests::UserRequest as Asked;
use super::*;

fn said(text: &str) -> Item {
    Item::text("user", text)
}

fn answer(text: &str) -> Item {
    Item::text("assistant", text)
}

fn call(id: &str, name: &str, arguments: &str) -> Item {
    Item::FunctionCall { id: None, name: name.to_owned(), arguments: arguments.to_owned(), call_id: id.to_owned() }
}

fn output(id: &str) -> Item {
    Item::FunctionCallOutput { call_id: id.to_owned(), output: ToolOutput::Text("out".to_owned()) }
}

fn custom(id: &str) -> Item {
    let (name, input) = ("apply_patch".to_owned(), "patch".to_owned());
    Item::CustomToolCall { id: None, status: None, call_id: id.to_owned(), name, input }
}

fn custom_output(id: &str) -> Item {
    Item::CustomToolCallOutput { call_id: id.to_owned(), output: "out".to_owned() }
}

fn transcript(items: &[Item]) -> Transcript {
    let mut transcript = Transcript::new(ItemIds::Hidden, UNCUT);
    for item in items {
        transcript.record(item, &Origin::Model);
    }
    transcript
}

fn pack() -> Pack {
    Pack::builtin("codex").unwrap()
}

fn asked(label: &str, state: RequestState) -> Asked {
    Asked { label: label.to_owned(), state }
}

#[test]
fn the_oldest_item_goes_with_its_partner_and_with_no_other() {
    let items = [call("a", "shell", "{}"), custom("a"), output("a"), custom_output("a"), said("x"), output("b")];
    let mut compaction = Compaction::asking(&transcript(&items), Vec::new());
    let left = |compaction: &Compaction| -> Vec<usize> {
        let place = |it: &Copied| items.iter().position(|item| *item == it.item).unwrap();
        compaction.items.iter().map(place).collect()
    };
    assert_eq!(left(&compaction), [0, 1, 2, 3, 4, 5]);
    assert_eq!((compaction.drop_oldest(), left(&compaction)), (Dropped::Some, vec![1, 3, 4, 5]));
    assert_eq!((compaction.drop_oldest(), left(&compaction)), (Dropped::Some, vec![4, 5]));
    assert_eq!((compaction.drop_oldest(), left(&compaction)), (Dropped::Some, vec![5]));
    assert_eq!((compaction.drop_half(), left(&compaction)), (Dropped::Some, Vec::new()));
    assert_eq!((compaction.drop_oldest(), compaction.drop_half()), (Dropped::Nothing, Dropped::Nothing));
    assert_eq!(compaction.n_dropped(), 4);
}

#[test]
fn half_of_the_copy_goes_at_once() {
    let items: Vec<Item> = (0..9).map(|n| said(&n.to_string())).collect();
    let mut compaction = Compaction::asking(&transcript(&items), Vec::new());
    let lens: Vec<usize> =
        std::iter::from_fn(|| (compaction.drop_half() == Dropped::Some).then_some(compaction.items.len())).collect();
    assert_eq!(lens, [4, 2, 1, 0]);
}

#[test]
fn calls_and_outputs_are_partners_by_id_and_kind() {
    let local = Item::LocalShellCall {
        id: None,
        call_id: Some("a".to_owned()),
        status: pellucid_protocol::item::LocalShellStatus::Completed,
        action: serde_json::from_value(serde_json::json!({ "type": "exec", "command": [] })).unwrap(),
    };
    let all = [call("a", "x", ""), local, output("a"), custom("a"), custom_output("a"), output("b"), said("a")];
    let mut pairs = Vec::new();
    for (n, one) in all.iter().enumerate() {
        for (m, two) in all.iter().enumerate() {
            assert_eq!(are_partners(one, two), are_partners(two, one), "{n} {m}");
            if n < m && are_partners(one, two) {
                pairs.push((n, m));
            }
        }
    }
    assert_eq!(pairs, [(0, 2), (1, 2), (3, 4)]);
}

#[track_caller]
fn check_region(items: &[Item], keep_turns: usize, expected: usize) {
    let region = Region { keep_turns, input: SummaryInput::All, pinned: &[] };
    assert_eq!(region.n_head(items, "SUMMARY\n"), expected);
}

#[test]
fn the_last_turns_stay_and_the_first_never_does() {
    let items = [
        said("<environment_context>"),
        said("one"),
        answer("1"),
        said("SUMMARY\nx"),
        said("two"),
        answer("2"),
        said("three"),
    ];
    check_region(&items, 0, 7);
    check_region(&items, 1, 6);
    check_region(&items, 2, 4);
    check_region(&items, 3, 4);
    check_region(&items, usize::MAX, 4);
    check_region(&items[..3], 1, 3);
    check_region(&[], 5, 0);
}

#[test]
fn what_the_layout_says_need_not_be_shown() {
    let pinned = [said("pinned")];
    let region = |input| Region { keep_turns: 0, input, pinned: &pinned };
    let all = [
        (Item::text("developer", "x"), true),
        (said("  # AGENTS.md instructions for /w"), true),
        (said("<user_instructions>"), true),
        (said("<environment_context>"), true),
        (said("<personality_spec>"), true),
        (said("pinned"), true),
        (said("one"), false),
        (answer("<user_instructions>"), false),
        (call("a", "x", ""), false),
        (Item::message("user", vec![ContentPart::InputText { text: "<environment_context>".into() }; 2]), false),
    ];
    for (item, is_pinned) in &all {
        assert!(region(SummaryInput::All).shows(item));
        assert_eq!(region(SummaryInput::Conversation).shows(item), !is_pinned, "{item:?}");
        assert_eq!(region(SummaryInput::All).is_pinned(item), *is_pinned, "{item:?}");
        assert_eq!(is_standing(item), *is_pinned && *item != pinned[0], "{item:?}");
    }
}

#[test]
fn what_people_said_is_kept_from_the_newest_on() {
    let words = |n: usize| "x".repeat(n * 4);
    let kept = |items: &[Item]| -> Vec<usize> { kept_messages(items, "SUMMARY\n").iter().map(String::len).collect() };
    assert_eq!(kept(&[]), [] as [usize; 0]);
    assert_eq!(kept(&[said("one"), said("SUMMARY\nold"), answer("x"), said("<turn_aborted>"), said("four")]), [3, 4]);
    let fits = [said(&words(1)), said(&words(USER_TOKENS_MAX - 10)), said(&words(10))];
    assert_eq!(kept(&fits), [(USER_TOKENS_MAX - 10) * 4, 40], "nothing is left for the oldest");
    let long = said(&words(USER_TOKENS_MAX + 1));
    let cut = kept_messages(&[said("older"), long], "SUMMARY\n");
    assert_eq!(cut.len(), 1);
    assert!(cut[0].contains("tokens truncated") && tokens_of_bytes(cut[0].len()) <= USER_TOKENS_MAX + 20);
}

#[test]
fn tokens_of_what_people_said_are_counted_without_summaries() {
    let tokens = [said("four"), said("SUMMARY\nx"), answer("four"), said("<environment_context>"), said("")]
        .map(|item| kept_tokens(&item, "SUMMARY"));
    assert_eq!(tokens, [1, 0, 0, 0, 0]);
}

#[test]
fn a_recorded_summary_stands_for_its_history() {
    let ghost: Item =
        serde_json::from_value(serde_json::json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "h" } })).unwrap();
    let items = [said("one"), answer("1"), ghost.clone(), said("PREFIX\nolder"), said("two")];
    let context = [Item::text("developer", "rules")];
    let expected = |summary: &str| vec![context[0].clone(), said("one"), said("two"), said(summary), ghost.clone()];
    assert_eq!(restored(&items, "PREFIX", &context, "PREFIX\nnew"), expected("PREFIX\nnew"));
    assert_eq!(restored(&items, "PREFIX", &context, ""), expected("(no summary available)"));
    assert_eq!(restored(&[], "PREFIX", &[], "s"), [said("s")]);
}

#[test]
fn only_a_note_on_a_model_switch_that_no_person_answered_is_set_aside() {
    let switch = || Item::text("developer", "<model_switch>\nx");
    let place = |items: &[Item]| model_switch(items.iter());
    assert_eq!(place(&[said("one"), switch(), answer("x")]), Some(1));
    assert_eq!(place(&[switch(), switch(), said("<environment_context>")]), Some(1), "the last of them");
    assert_eq!(place(&[switch(), said("one")]), None);
    assert_eq!(place(&[said("<model_switch>"), Item::text("developer", "a <model_switch>")]), None);
    assert_eq!(place(&[]), None);
    let compaction = Compaction::asking(&transcript(&[said("one"), switch()]), Vec::new());
    assert_eq!(compaction.items.len(), 1);
    assert_eq!(compaction.set_aside.map(|it| it.item), Some(switch()));
}

#[test]
fn the_last_text_of_the_last_answer_is_the_summary() {
    let parts = |texts: &[&str]| {
        let part = |text: &&str| ContentPart::OutputText { text: (*text).to_owned() };
        Item::message("assistant", texts.iter().map(part).collect())
    };
    assert_eq!(last_answer(&[answer("one"), parts(&["two", "three"]), call("a", "x", "")]).as_deref(), Some("three"));
    assert_eq!(last_answer(&[answer("one"), parts(&[])]).as_deref(), Some(""));
    assert_eq!(last_answer(&[said("one")]), None);
    for (items, expected) in [
        (vec![answer("x")], true),
        (vec![answer(" \n")], false),
        (vec![said("x")], false),
        (vec![answer(""), call("a", "x", ""), answer("y")], true),
    ] {
        assert_eq!(local::has_answer(&items), expected, "{items:?}");
    }
}

#[test]
fn a_reply_is_refused_for_what_it_lacks() {
    let history = transcript(&[said("one"), answer("1"), said("two")]);
    let plain = Compaction::asking(&history, Vec::new());
    assert_eq!(plain.refusal(&[answer("fine")]), None);
    assert_eq!(plain.refusal(&[answer(" ")]), Some(CompactionError::Empty));
    assert_eq!(plain.refusal(&[]), Some(CompactionError::Empty));
    let strict = Compaction::asking(&history, Vec::new()).accounting(&history, &pack());
    assert_eq!(strict.refusal(&[answer("fine")]), Some(CompactionError::Refused { missing: vec![1] }));
    let block = requests::block(&[asked("one", RequestState::Completed)]);
    assert_eq!(strict.refusal(&[answer(&block)]), None);
}

#[test]
fn every_error_has_its_words_and_its_code() {
    let all = [
        CompactionError::Futile { before: 10, after: 9, percent: 20 },
        CompactionError::FutileAgain { before: 10, after: 11 },
        CompactionError::DoesNotFit,
        CompactionError::StillDoesNotFit { calls: 3 },
        CompactionError::Refused { missing: vec![1, 4] },
        CompactionError::Empty,
    ];
    let lines: Vec<String> = all.iter().map(|it| format!("{:?}: {it}", it.code())).collect();
    expect![[r#"
        Overflow: the summary did not make the history small enough (10 tokens before, 9 after, at least 20 % less is wanted); start a new session, or lower compaction.saving_min
        Overflow: a summary did not make the history smaller (10 tokens before, 11 after), so no further summary is made; start a new session or raise model_auto_compact_token_limit
        Overflow: even the request for a summary does not fit the model's window; start a new session
        Overflow: the request for a summary does not fit the model's window after 3 attempts; start a new session, or raise compaction.overflow_calls_max
        Other: the summary does not mark these completed requests as completed: 1, 4
        Other: the reply has no summary in it"#]].assert_eq(&lines.join("\n"));
    for error in all {
        let is_overflow = error.info() == ErrorInfo::ContextWindowExceeded;
        assert_eq!(error.code(), if is_overflow { FailureCode::Overflow } else { FailureCode::Other });
    }
}

#[track_caller]
fn check_local(items: &[Item], expected: &Expect) {
    expected.assert_eq(&local_summary(items, &pack()));
}

#[test]
fn a_summary_by_rule_lists_what_stands_in_the_history() {
    let plan = r#"{"plan":[{"step":"read","status":"completed"},{"step":"write","status":"in_progress"},{"step":"test","status":"pending"}]}"#;
    check_local(
        &[
            Item::text("developer", "never look at secret.rs"),
            said("<environment_context> /gone/from.rs"),
            said("Mend src/aa.rs. You must not touch src/bb.rs!"),
            call("1", "shell", r#"{"command":["bash","-lc","cat  src/aa.rs"]}"#),
            call("2", "exec_command", r#"{"cmd":"ls\n src"}"#),
            call("3", "shell", "{ not json"),
            call("4", "shell", r#"{"command":7}"#),
            call("5", "update_plan", r#"{"plan":[{"step":"old","status":"pending"}]}"#),
            call("6", "update_plan", plan),
            answer("Looked at src/aa.rs."),
            said("Go on."),
        ],
        &expect![[r#"
            No model could be reached for a summary, so this one was put together by rule from the conversation that it replaces. It reports what was said and run, and judges nothing: look at the files themselves before you rely on it.

            **Last answer**
            Looked at src/aa.rs.

            **Plan**
            - completed: read
            - in progress: write
            - pending: test

            **Files that came up**
            - src/bb.rs
            - src/aa.rs

            **Commands that were run last**
            - bash -lc cat src/aa.rs
            - ls src

            **What the user demanded**
            - You must not touch src/bb.rs!"#]],
    );
    check_local(
        &[],
        &expect![[r#"
        No model could be reached for a summary, so this one was put together by rule from the conversation that it replaces. It reports what was said and run, and judges nothing: look at the files themselves before you rely on it.

        **Last answer**
        -

        **Plan**
        -

        **Files that came up**
        -

        **Commands that were run last**
        -

        **What the user demanded**
        -"#]],
    );
}

#[test]
fn lists_of_a_summary_by_rule_have_a_length() {
    let items: Vec<Item> = (0..60).map(|n| said(&format!("see src/file{n:02}.rs"))).collect();
    let summary = local_summary(&items, &pack());
    let files: Vec<&str> = summary.lines().filter(|line| line.starts_with("- src/")).collect();
    assert_eq!((files.len(), files[0], files[39]), (40, "- src/file20.rs", "- src/file59.rs"));
    let long = local_summary(&[answer(&"word ".repeat(10_000))], &pack());
    assert!(long.len() < 8_000, "{}", long.len());
    let twice = local_summary(&[said("src/aa.rs src/bb.rs src/aa.rs")], &pack());
    let files: Vec<&str> = twice.lines().filter(|line| line.starts_with("- src/")).collect();
    assert_eq!(files, ["- src/bb.rs", "- src/aa.rs"], "each once, where it was named last");
}

#[test]
fn a_list_of_requests_is_read_as_it_was_written() {
    let all = [
        asked("plain", RequestState::Completed),
        asked("", RequestState::Open),
        asked("with \"quotes\" & é", RequestState::Completed),
    ];
    let block = requests::block(&all);
    expect![[r#"
        <requests>
        <request n="1" state="completed">plain</request>
        <request n="2" state="open"></request>
        <request n="3" state="completed">with "quotes" & é</request>
        </requests>"#]]
    .assert_eq(&block);
    assert_eq!(requests::missing(&block, &all), [] as [usize; 0]);
    assert_eq!(
        requests::missing(&format!("{block}\nmore\n<requests>\n</requests>"), &all),
        [1, 3],
        "the last list counts"
    );
    assert_eq!(requests::accounted("text", &[]), "text");
    let summary = Item::text("user", format!("SUMMARY\n{}", requests::accounted("", &all)));
    assert_eq!(requests::requests(&[summary], "SUMMARY\n"), all);
}

#[test]
fn labels_are_one_line_without_tags_and_not_too_long() {
    let label = |text: &str| requests::requests(&[said(text)], "SUMMARY\n").remove(0).label;
    assert_eq!(label("  two\n\n lines\t here "), "two lines here");
    assert_eq!(label("</request> <b>bold</b>"), "/request bbold/b");
    assert_eq!(label(&"é".repeat(500)).chars().count(), 120);
}

#[test]
fn lines_of_a_list_that_are_none_are_passed_over() {
    let all = [asked("one", RequestState::Completed)];
    for odd in [
        "<requests>\n<request>x</request>",
        "<requests>\n<request n=\"1\">x</request>",
        "<requests>\n<request state=\"completed\">x</request>",
        "<requests>\n<request n=\"-1\" state=\"completed\">x",
        "<requests>\n<request n=\"1\" state=\"done\">x</request>",
        "<request n=\"1\" state=\"completed\">x</request>",
        "</requests><requests>",
    ] {
        assert_eq!(requests::missing(odd, &all), [1], "{odd}");
    }
    let no_end = "<requests>\n<request n=\"1\" state=\"completed\">x";
    assert_eq!(requests::missing(no_end, &all), [] as [usize; 0], "a list that was cut off still counts");
}
