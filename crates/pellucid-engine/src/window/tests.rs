//! A history is brought within its window: what goes first, what is summarised, and when it cannot be done.

use expect_test::Expect;
use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;

use super::count::CharacterEstimate;
use super::settings::SettingsDocument;
use super::settings::WindowKeys;
use super::summary::output_tokens;
use super::*;
use crate::fragment::concat;
use crate::pack::Pack;

fn pack() -> Pack {
    Pack::builtin("agentcore").unwrap()
}

fn question(previous: Option<&str>, dropped: &[HistoryMessage]) -> String {
    concat(&summary::question(&pack(), previous, dropped))
}

fn shown(summary: &str) -> String {
    concat(&summary::shown(&pack(), summary))
}

/// A history: `u` is a message of the user, `a` of the model, `t` the output of a tool. Each costs ten tokens.
fn history(letters: &str) -> Vec<HistoryMessage> {
    let message = |(n, letter): (usize, char)| {
        let role = match letter {
            'u' => "user",
            'a' => "assistant",
            _ => "tool_result",
        };
        HistoryMessage::new(role, &format!("{letter}{n}"))
    };
    letters.chars().enumerate().map(message).collect()
}

fn cost(window: &Window) -> Cost {
    let PromptParts { summary, history, memory, .. } = window.parts();
    let n = history.len() + memory.len() + usize::from(summary.is_some());
    Cost { messages: 10 * i64::try_from(n).unwrap(), tools: 1 }
}

/// Plays a window to its end and writes down every step. Summaries are answered with `s1`, `s2` ... or not at all.
fn play(window: &mut Window, answers: bool) -> String {
    let mut lines = String::new();
    let mut step = window.begin();
    let mut n_summaries = 0;
    loop {
        step = match step {
            WindowStep::Build => {
                let PromptParts { summary, history, n_before, memory } = window.parts();
                let texts: Vec<&str> = history.iter().map(|it| it.text.as_str()).collect();
                lines += &format!("build {summary:?} +{n_before} [{}] memory {memory:?}\n", texts.join(" "));
                window.built(cost(window))
            }
            WindowStep::Summarise { previous, dropped } => {
                let texts: Vec<&str> = dropped.iter().map(|it| it.text.as_str()).collect();
                lines += &format!("summarise {previous:?} [{}]\n", texts.join(" "));
                n_summaries += 1;
                window.summarised(answers.then(|| format!(" s{n_summaries}\n")).as_deref())
            }
            WindowStep::Fits { changed } => return lines + &format!("fits, changed {changed:?}\n"),
            WindowStep::Failed(error) => return lines + &format!("failed: {error}\n"),
        };
    }
}

#[track_caller]
fn check_window(letters: &str, limit: i64, compacts: bool, stored: &ConversationState, expected: &Expect) {
    let limits = WindowLimits { window: Some(limit + 5), reserved: 5, compacts };
    let memory = vec!["m0".to_owned(), "m1".to_owned()];
    let (mut window, is_stale) = Window::new(limits, stored, &history(letters), memory);
    expected.assert_eq(&format!("stale {is_stale}\n{}", play(&mut window, true)));
}

fn none() -> ConversationState {
    ConversationState::default()
}

#[test]
fn a_prompt_that_fits_stays_as_it_is() {
    check_window(
        "uaua",
        100,
        true,
        &none(),
        &expect![[r#"
        stale false
        build None +0 [u0 a1 u2 a3] memory ["m0", "m1"]
        fits, changed None
    "#]],
    );
    let limits = WindowLimits { window: None, reserved: 0, compacts: true };
    let (mut window, _) = Window::new(limits, &none(), &history("uaua"), Vec::new());
    assert_eq!(window.begin(), WindowStep::Build);
    let huge = Cost { messages: i64::MAX, tools: 0 };
    assert_eq!(window.built(huge), WindowStep::Fits { changed: None }, "without a window nothing is dropped");
}

#[test]
fn memory_goes_first_then_the_oldest_turns() {
    check_window(
        "uatua",
        61,
        true,
        &none(),
        &expect![[r#"
        stale false
        build None +0 [u0 a1 t2 u3 a4] memory ["m0", "m1"]
        build None +0 [u0 a1 t2 u3 a4] memory ["m0"]
        fits, changed None
    "#]],
    );
    check_window(
        "uatua",
        35,
        true,
        &none(),
        &expect![[r#"
        stale false
        build None +0 [u0 a1 t2 u3 a4] memory ["m0", "m1"]
        build None +0 [u0 a1 t2 u3 a4] memory ["m0"]
        build None +0 [u0 a1 t2 u3 a4] memory []
        build None +3 [u3 a4] memory []
        summarise None [u0 a1 t2]
        build Some("s1") +3 [u3 a4] memory []
        fits, changed Some(ConversationState { summary: Some("s1"), cursor: 3, compaction_count: 1 })
    "#]],
    );
    check_window(
        "uatua",
        35,
        false,
        &none(),
        &expect![[r#"
        stale false
        build None +0 [u0 a1 t2 u3 a4] memory ["m0", "m1"]
        build None +0 [u0 a1 t2 u3 a4] memory ["m0"]
        build None +0 [u0 a1 t2 u3 a4] memory []
        build None +3 [u3 a4] memory []
        fits, changed None
    "#]],
    );
    check_window(
        "atua",
        25,
        false,
        &none(),
        &expect![[r#"
        stale false
        build None +0 [a0 t1 u2 a3] memory ["m0", "m1"]
        build None +0 [a0 t1 u2 a3] memory ["m0"]
        build None +0 [a0 t1 u2 a3] memory []
        build None +2 [u2 a3] memory []
        fits, changed None
    "#]],
    );
}

#[test]
fn the_summary_goes_last_and_then_nothing_helps() {
    check_window(
        "ua",
        11,
        true,
        &none(),
        &expect![[r#"
        stale false
        build None +0 [u0 a1] memory ["m0", "m1"]
        build None +0 [u0 a1] memory ["m0"]
        build None +0 [u0 a1] memory []
        build None +2 [] memory []
        summarise None [u0 a1]
        build Some("s1") +2 [] memory []
        fits, changed Some(ConversationState { summary: Some("s1"), cursor: 2, compaction_count: 1 })
    "#]],
    );
    check_window(
        "ua",
        0,
        true,
        &none(),
        &expect![[r#"
        stale false
        build None +0 [u0 a1] memory ["m0", "m1"]
        build None +0 [u0 a1] memory ["m0"]
        build None +0 [u0 a1] memory []
        build None +2 [] memory []
        failed: Estimated 1 prompt tokens exceeds limit 0 (messages: 0, tools: 1, context_window: 5, reserved_output: 5)
    "#]],
    );
    check_window(
        "",
        0,
        true,
        &none(),
        &expect![[r#"
        stale false
        build None +0 [] memory ["m0", "m1"]
        build None +0 [] memory ["m0"]
        build None +0 [] memory []
        failed: Estimated 1 prompt tokens exceeds limit 0 (messages: 0, tools: 1, context_window: 5, reserved_output: 5)
    "#]],
    );
}

#[test]
fn a_stored_summary_stands_for_what_came_before_its_cursor() {
    let stored = ConversationState { summary: Some("old".to_owned()), cursor: 2, compaction_count: 4 };
    check_window(
        "uauaua",
        100,
        true,
        &stored,
        &expect![[r#"
        stale false
        build Some("old") +2 [u2 a3 u4 a5] memory ["m0", "m1"]
        fits, changed None
    "#]],
    );
    check_window(
        "uauaua",
        31,
        true,
        &stored,
        &expect![[r#"
        stale false
        build Some("old") +2 [u2 a3 u4 a5] memory ["m0", "m1"]
        build Some("old") +2 [u2 a3 u4 a5] memory ["m0"]
        build Some("old") +2 [u2 a3 u4 a5] memory []
        build Some("old") +4 [u4 a5] memory []
        summarise Some("old") [u2 a3]
        build Some("s1") +4 [u4 a5] memory []
        fits, changed Some(ConversationState { summary: Some("s1"), cursor: 4, compaction_count: 5 })
    "#]],
    );
    check_window(
        "u",
        100,
        true,
        &stored,
        &expect![[r#"
        stale true
        build None +0 [u0] memory ["m0", "m1"]
        fits, changed None
    "#]],
    );
    let blank = ConversationState { summary: Some(" \n".to_owned()), ..stored };
    check_window(
        "uaua",
        100,
        true,
        &blank,
        &expect![[r#"
        stale false
        build None +0 [u0 a1 u2 a3] memory ["m0", "m1"]
        fits, changed None
    "#]],
    );
}

#[test]
fn without_an_answer_what_was_dropped_is_lost() {
    let limits = WindowLimits { window: Some(25), reserved: 0, compacts: true };
    let (mut window, _) = Window::new(limits, &none(), &history("uaua"), Vec::new());
    expect![[r#"
        build None +0 [u0 a1 u2 a3] memory []
        build None +2 [u2 a3] memory []
        summarise None [u0 a1]
        build None +2 [u2 a3] memory []
        fits, changed None
    "#]]
    .assert_eq(&play(&mut window, false));
}

#[test]
fn many_dropped_messages_are_summarised_before_the_rest_fits() {
    let limits = WindowLimits { window: Some(25), reserved: 0, compacts: true };
    let (mut window, _) = Window::new(limits, &none(), &history(&"ua".repeat(100)), Vec::new());
    let steps = play(&mut window, true);
    let asked: Vec<usize> =
        steps.lines().filter(|line| line.starts_with("summarise")).map(|line| line.split(' ').count() - 2).collect();
    assert_eq!(asked, [FLUSH_AT, 40]);
    assert_eq!(
        steps.lines().last(),
        Some("fits, changed Some(ConversationState { summary: Some(\"s2\"), cursor: 200, compaction_count: 2 })")
    );
}

#[test]
fn a_loop_that_does_not_end_is_ended() {
    let limits = WindowLimits { window: Some(0), reserved: 0, compacts: false };
    let (mut window, _) = Window::new(limits, &none(), &history(&"u".repeat(500)), Vec::new());
    let steps = play(&mut window, true);
    assert_eq!(steps.lines().count(), LOOPS_MAX + 1);
    assert_eq!(steps.lines().last(), Some("failed: context management exceeded max_loops=200"));
}

proptest! {
    /// Whatever the history is, the end is a prompt that fits or a reason, and what is left is an end of the history.
    #[test]
    fn any_history_is_brought_to_an_end(letters in "[uat]{0,40}", limit in 0_i64..300, compacts: bool, answers: bool) {
        let limits = WindowLimits { window: Some(limit), reserved: 0, compacts };
        let whole = history(&letters);
        let (mut window, _) = Window::new(limits, &none(), &whole, vec!["m".to_owned()]);
        let steps = play(&mut window, answers);
        let PromptParts { history, n_before, .. } = window.parts();
        prop_assert_eq!(history, &whole[n_before..]);
        let last = steps.lines().last().unwrap();
        if last.starts_with("fits") {
            let Cost { messages, tools } = cost(&window);
            prop_assert!(messages + tools <= limit);
        } else {
            prop_assert!(history.is_empty() && last.starts_with("failed: Estimated"), "{}", last);
        }
    }
}

#[test]
fn tokens_of_texts_are_estimated_by_their_characters() {
    let plain = CharacterEstimate::default();
    assert_eq!(["", "abcd", "abcde", "日本", "aé"].map(|text| plain.text(text)), [0, 1, 2, 2, 2]);
    let other = CharacterEstimate::new(2.0, 0.5).unwrap();
    assert_eq!(["abcd", "日本"].map(|text| other.text(text)), [2, 4]);
    assert_eq!((plain.message(""), plain.message("abcd")), (4, 5));
    let why = |one: f64, two: f64| CharacterEstimate::new(one, two).unwrap_err().to_string();
    assert_eq!(why(0.0, 1.0), "chars_per_token must be positive");
    assert_eq!(why(1.0, -1.0), "non_ascii_chars_per_token must be positive");
    assert_eq!(why(f64::NAN, 1.0), "chars_per_token must be positive");
}

#[test]
fn tokens_of_messages_and_tools_are_estimated_by_what_they_hold() {
    let plain = CharacterEstimate::default();
    for (content, expected) in [
        (json!("abcd"), 5),
        (json!(null), 4),
        (json!(12_345), 6),
        (json!([]), 4),
        (json!([{ "type": "text", "text": "abcd" }, { "type": "text" }]), 5),
        (json!([{ "type": "image", "data": "x".repeat(9999) }]), 1604),
        (json!([{ "type": "document", "media_type": "application/pdf", "data": "abcd" }]), 2004),
        (json!([{ "type": "document", "media_type": "text/plain", "data": "abcd" }]), 5),
        (json!([{ "type": "document", "media_type": "application/json" }]), 2004),
        (json!([{ "type": "audio" }]), 1004),
        (json!([{ "type": "audio", "transcript": "abcd" }]), 5),
        (json!([{ "type": "hologram" }, 7]), 4),
    ] {
        assert_eq!(plain.messages([&content]), expected, "{content}");
    }
    assert_eq!(plain.messages([]), 0);
    assert_eq!(plain.tools(&[json!({ "a": 1 }), json!({ "b": 2 })]), 4);
    assert_eq!(plain.tools(&[]), 0);
}

#[test]
fn the_model_is_asked_with_the_lines_that_were_dropped() {
    let dropped = [
        HistoryMessage::new("system", "hidden"),
        HistoryMessage::new("user", " hello "),
        HistoryMessage {
            tool_calls: vec!["a".into(), "b".into(), "a".into()],
            ..HistoryMessage::new("assistant", "I look.")
        },
        HistoryMessage {
            tool_name: Some("a".into()),
            call_id: Some("1".into()),
            ..HistoryMessage::new("tool_result", "out")
        },
        HistoryMessage::new("tool_result", "nameless"),
        HistoryMessage::new("assistant", ""),
    ];
    expect![[r#"
        <previous_summary>
        before
        </previous_summary>

        <new_transcript>
        [user]  hello
        [assistant] I look.
        [tool_calls] a, b
        [tool_result name=a id=1] out
        [tool_result name= id=] nameless
        [assistant]
        </new_transcript>
    "#]]
    .assert_eq(&question(Some(" before\n"), &dropped));
    expect![[r#"
        <new_transcript>

        </new_transcript>
    "#]]
    .assert_eq(&question(None, &[]));
    assert_eq!(question(Some("  "), &[]), question(None, &[]));
}

#[test]
fn long_texts_are_cut_before_they_are_summarised_or_shown() {
    let long = "é".repeat(20_000);
    let message = |role: &str| question(None, &[HistoryMessage::new(role, &long)]).matches('é').count();
    assert_eq!((message("user"), message("assistant"), message("tool_result")), (2_000, 2_000, 4_000));
    assert_eq!(shown(&long).matches('é').count(), 10_000);
    assert_eq!(shown(" s\n"), "<conversation_summary>\ns\n</conversation_summary>");
    assert_eq!([None, Some(0), Some(-1), Some(7)].map(output_tokens), [512, 512, 512, 7]);
}

#[test]
fn a_stored_state_may_lack_anything() {
    let read = |text: &str| serde_json::from_str::<ConversationState>(text);
    assert_eq!(read("{}").unwrap(), none());
    let state = ConversationState { summary: Some("s".to_owned()), cursor: 1, compaction_count: 2 };
    assert_eq!(read(&serde_json::to_string(&state).unwrap()).unwrap(), state);
    for wrong in ["7", "{\"cursor\":-1}", "{\"summary\":7}", ""] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_words_of_a_summary_are_files_of_any_pack() {
    let files = [
        ("pack.toml", "name = \"mine\"\nfrom = \"codex\"\n[compaction]\nstrategy = \"window\"\n"),
        ("compact/window_shown.md", "So far: {{ summary }}\n"),
        ("compact/window_message.md", "{{ text }} ({{ role }})\n"),
        ("compact/window_question_again.md", "Then {{ transcript }} after {{ previous }}"),
    ];
    let pack = Pack::load_user(&files.map(|(file, text)| (file.to_owned(), text.to_owned())).into(), "/mine").unwrap();
    assert_eq!(concat(&summary::shown(&pack, "tea")), "So far: tea");
    let said = [
        HistoryMessage::new("user", "hi"),
        HistoryMessage { tool_calls: vec!["ls".into()], ..HistoryMessage::new("assistant", "") },
    ];
    let question = concat(&summary::question(&pack, Some("tea"), &said));
    assert_eq!(question, "Then hi (user)\n[assistant] \n[tool_calls] ls after tea");
}

/// What a document sets, or why it is refused.
fn read(document: &serde_json::Value) -> String {
    let Some(fields) = document.as_object() else { panic!("{document}") };
    match SettingsDocument::new(fields).and_then(|document| document.window()) {
        Ok(keys) => format!("{keys:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn settings_of_a_window_are_checked_in_order() {
    let budget = |budget: serde_json::Value| read(&json!({ "version": 1, "token_budget": budget }));
    let management = |fields: serde_json::Value| read(&json!({ "version": 1, "context_management": fields }));
    let lines = [
        read(&json!({ "version": "1" })),
        budget(json!({ "context_window": 0 })),
        budget(json!({ "context_window": "x", "reserved_output_tokens": -1 })),
        budget(json!({ "reserved_output_tokens": "5" })),
        budget(json!({ "context_window": 5, "reserved_output_tokens": 5 })),
        management(json!({ "memory_search_limit": "none", "summary_max_output_tokens": 0 })),
        management(json!({ "summary_max_output_tokens": 0 })),
        management(json!({ "memory_search_limit": "0x10", "auto_compact": "yes" })),
        management(json!({ "auto_compact": null })),
    ];
    expect![[r#"
        config version must be 1 (got "1")
        context_window must be a positive Integer (got 0)
        context_window must be a positive Integer (got "x")
        reserved_output_tokens must be a non-negative Integer (got "5")
        reserved_output_tokens must be less than context_window (got reserved_output_tokens=5, context_window=5)
        memory_search_limit must be a positive Integer
        summary_max_output_tokens must be a positive Integer
        WindowKeys { context_window: None, reserved_output_tokens: None, summary_max_output_tokens: None, memory_search_limit: Some(16), summarise: Some(false) }
        WindowKeys { context_window: None, reserved_output_tokens: None, summary_max_output_tokens: None, memory_search_limit: Some(5), summarise: Some(true) }"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn what_is_nearer_to_the_user_counts() {
    let near = WindowKeys { context_window: Some(9), summarise: Some(false), ..WindowKeys::default() };
    let far = WindowKeys { context_window: Some(5), reserved_output_tokens: Some(9), ..WindowKeys::default() };
    let both = near.over(far);
    assert_eq!((both.context_window, both.reserved(), both.summarise), (Some(9), 9, Some(false)));
    assert!(both.check(None).is_err() && both.check(Some(100)).is_err(), "a set window counts over the model's");
    assert!(far.over(WindowKeys { context_window: Some(1), ..far }).check(None).is_err());
    assert_eq!(WindowKeys::default().check(None), Ok(()));
}
