//! Each strategy step by step: what it asks, what it sends, and why it cannot.

use expect_test::Expect;
use expect_test::expect;

use super::ask::Answers;
use super::ask::MemoryAnswer;
use super::ask::SummaryMessage;
use super::ask::VectorLifetime;
use super::card_settings::CardSettings;
use super::count::EntryCounter;
use super::data::CardData;
use super::data::DetailData;
use super::entry::ChatEntry;
use super::entry::ChatRole;
use super::ranking::KnownVectors;
use super::ranking::VectorIndex;
use super::ranking::Way;
use super::ranking::descending;
use super::summary_cards::Chance;
use super::texts::MemoryTexts;
use super::*;
use crate::tokens::Counter;

/// A token for each word.
#[derive(Debug)]
struct Words;

impl Counter for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }
}

fn count() -> EntryCounter<'static> {
    EntryCounter::new(&Words, "model")
}

/// A chat: `u` and `a` begin lines of the person and of the model; each line has its number as memo.
fn chat(lines: &[&str]) -> Vec<ChatEntry> {
    let entry = |(n, line): (usize, &&str)| {
        let (role, text) = line.split_once(' ').unwrap_or((line, ""));
        let role = match role {
            "u" => ChatRole::User,
            "a" => ChatRole::Assistant,
            _ => ChatRole::System,
        };
        ChatEntry::new(role, text).with_memo(format!("m{n}"))
    };
    lines.iter().enumerate().map(entry).collect()
}

fn shown(entries: &[ChatEntry]) -> String {
    let line = |it: &ChatEntry| {
        let memo =
            it.memo.clone().unwrap_or_else(|| if it.is_memory() { format!("{:?}", it.part) } else { "-".into() });
        format!("  {} {:?} [{memo}]\n", it.role.word(), it.content)
    };
    entries.iter().map(line).collect()
}

/// Plays a strategy to its end: summaries are `S1`, `S2` ... or what is given, vectors count letters.
fn play<D: fmt::Debug>(
    summaries: &[Result<&str, &str>],
    mut run: impl FnMut(&mut Answers<'_>) -> Result<StrategyOutcome<D>, Stop>,
) -> String {
    let vector = |text: &String| "abcdef".chars().map(|c| text.matches(c).count() as f32).collect::<Vec<f32>>();
    let mut given = Vec::new();
    let mut lines = String::new();
    let mut n_summaries = 0;
    loop {
        match run(&mut Answers::new(&given)) {
            Ok(outcome) => {
                let fate =
                    |it: &Batch| format!("  {:?} {:?}\n", it.fate, it.memos.iter().flatten().collect::<Vec<_>>());
                let batches: String = outcome.batches.iter().map(fate).collect();
                return lines + &format!("{} tokens\n{}{batches}", outcome.tokens, shown(&outcome.entries));
            }
            Err(Stop::Fails(failure)) => {
                return lines + &format!("fails: {failure} ({}, {:?})\n", failure.code, failure.numbers);
            }
            Err(Stop::Asks(MemoryQuestion::Summaries(all))) => {
                let mut answers = Vec::new();
                for messages in &all {
                    let asked: Vec<String> =
                        messages.iter().map(|it| format!("{}: {}", it.role.word(), it.content)).collect();
                    lines += &format!("summarise {:?}\n", asked.join(" | "));
                    n_summaries += 1;
                    let own = summaries.get(n_summaries - 1).copied();
                    let answer = own.map(|it| it.map(str::to_owned).map_err(str::to_owned));
                    answers.push(answer.unwrap_or_else(|| Ok(format!("S{n_summaries}"))));
                }
                given.push(MemoryAnswer::Summaries(answers));
            }
            Err(Stop::Asks(MemoryQuestion::Vectors { texts, keep })) => {
                lines += &format!("vectors {texts:?} {keep:?}\n");
                given.push(MemoryAnswer::Vectors(Ok(texts.iter().map(vector).collect())));
            }
        }
    }
}

fn with<'a>(entries: &'a [ChatEntry], max: f64, count: &'a EntryCounter<'a>, known: &'a KnownVectors) -> Chat<'a> {
    Chat {
        entries,
        tokens: count.entries(entries),
        limits: ChatLimits { max, response: 0.0 },
        count,
        known,
        texts: MemoryTexts::sample(),
    }
}

const TALK: [&str; 6] =
    ["u a a a one two", "a b b b three four", "u c c c five six", "a d d seven", "u e e eight", "a a a nine"];

fn supa_settings(mode: running_summary::SummaryMode) -> running_summary::RunningSummarySettings {
    running_summary::RunningSummarySettings {
        mode,
        chunk_tokens_max: 20.0,
        removes_punctuation: false,
        prompt: "Sum up.".to_owned(),
        user: "Ann".to_owned(),
        character: "Bob".to_owned(),
        cast: running_summary::Cast::One,
    }
}

#[track_caller]
fn check_supa(mode: running_summary::SummaryMode, max: f64, memory: Option<&str>, expected: &Expect) {
    let (entries, count, known) = (chat(&TALK), count(), KnownVectors::new());
    let chat = with(&entries, max, &count, &known);
    let mut stored = None;
    let steps = play(&[], |answers| {
        let outcome = running_summary::running_summary(&chat, memory, &supa_settings(mode), answers)?;
        stored = Some(outcome.data.clone());
        Ok(outcome)
    });
    expected.assert_eq(&format!("{steps}{stored:?}\n"));
}

#[test]
fn one_running_summary_stands_for_the_oldest_entries() {
    check_supa(
        running_summary::SummaryMode::Alone,
        100.0,
        None,
        &expect![[r#"
            52 tokens
              user "a a a one two" [m0]
              assistant "b b b three four" [m1]
              user "c c c five six" [m2]
              assistant "d d seven" [m3]
              user "e e eight" [m4]
              assistant "a a nine" [m5]
            Some(RunningSummaryData { memory: None, last_id: None })
        "#]],
    );
    check_supa(
        running_summary::SummaryMode::Alone,
        50.0,
        None,
        &expect![[r#"
            summarise "user: Ann: a a a one two\n\nBob: b b b three four\n\n | system: Sum up."
            37 tokens
              system "S1" [Memory]
              user "c c c five six" [m2]
              assistant "d d seven" [m3]
              user "e e eight" [m4]
              assistant "a a nine" [m5]
            Some(RunningSummaryData { memory: Some("m2\nS1"), last_id: Some("m2") })
        "#]],
    );
    check_supa(
        running_summary::SummaryMode::Alone,
        40.0,
        None,
        &expect![[r#"
            summarise "user: Ann: a a a one two\n\n | system: Sum up."
            summarise "user: Bob: b b b three four\n\n | system: Sum up."
            38 tokens
              system "S1\n\nS2" [Memory]
              user "c c c five six" [m2]
              assistant "d d seven" [m3]
              user "e e eight" [m4]
              assistant "a a nine" [m5]
            Some(RunningSummaryData { memory: Some("m2\nS1\n\nS2"), last_id: Some("m2") })
        "#]],
    );
    check_supa(
        running_summary::SummaryMode::Alone,
        5.0,
        None,
        &expect![[r#"
            summarise "user: Ann: a a a one two\n\n | system: Sum up."
            summarise "user: Bob: b b b three four\n\n | system: Sum up."
            summarise "user: Ann: c c c five six\n\n | system: Sum up."
            summarise "user: Bob: d d seven\n\n | system: Sum up."
            summarise "user: Ann: e e eight\n\n | system: Sum up."
            summarise "user: S1\n\nS2\n\nS3\n\nS4 | system: Sum up."
            summarise "user: Bob: a a nine\n\n | system: Sum up."
            summarise "user: S6\n\nS5\n\nS7 | system: Sum up."
            fails: the window is too small for a summary and the last messages (not_enough_tokens, [])
            None
        "#]],
    );
}

#[test]
fn a_stored_summary_is_taken_up_where_it_ends() {
    check_supa(
        running_summary::SummaryMode::Alone,
        40.0,
        Some("m2\nWhat was before."),
        &expect![[r#"
            39 tokens
              system "What was before.\n\n" [Memory]
              user "c c c five six" [m2]
              assistant "d d seven" [m3]
              user "e e eight" [m4]
              assistant "a a nine" [m5]
            Some(RunningSummaryData { memory: None, last_id: None })
        "#]],
    );
    check_supa(
        running_summary::SummaryMode::Alone,
        40.0,
        Some("gone\nWhat was before."),
        &expect![[r#"
        fails: chat id not found (chat_id_not_found, [])
        None
    "#]],
    );
    check_supa(
        running_summary::SummaryMode::Alone,
        40.0,
        Some("m2"),
        &expect![[r#"
            summarise "user: Ann: a a a one two\n\n | system: Sum up."
            summarise "user: Bob: b b b three four\n\n | system: Sum up."
            38 tokens
              system "S1\n\nS2" [Memory]
              user "c c c five six" [m2]
              assistant "d d seven" [m3]
              user "e e eight" [m4]
              assistant "a a nine" [m5]
            Some(RunningSummaryData { memory: Some("m2\nS1\n\nS2"), last_id: Some("m2") })
        "#]],
    );
    check_supa(
        running_summary::SummaryMode::Alone,
        40.0,
        Some("hypa:[]"),
        &expect![[r#"
        fails: stored with fragments (stored_with_fragments, [])
        None
    "#]],
    );
}

#[test]
fn fragments_of_the_past_come_back_by_likeness() {
    let stored = r#"hypa:[{"id":"m3","supa":"Before.","hypa":["about aaa","about eee","about ddd","Before","x"]}]"#;
    check_supa(
        running_summary::SummaryMode::WithFragments,
        45.0,
        Some(stored),
        &expect![[r#"
            vectors ["about aaa", "about eee", "about ddd"] Kept
            vectors ["d d seven\n\ne e eight\n\na a nine\n\nBob:"] Once
            summarise "user: Bob: d d seven\n\nAnn: e e eight\n\n | system: Sum up."
            36 tokens
              system "past events: about eee,about aaa,about ddd" [Fragments]
              system "Before.\n\nS1" [Memory]
              assistant "a a nine" [m5]
            Some(RunningSummaryData { memory: Some("hypa:\n[\n  {\n    \"id\": \"m5\",\n    \"hypa\": [\n      \"about aaa\",\n      \"about eee\",\n      \"about ddd\",\n      \"Before\",\n      \"x\",\n      \"S1\"\n    ],\n    \"supa\": \"Before.\\n\\nS1\"\n  },\n  {\n    \"id\": \"m3\",\n    \"supa\": \"Before.\",\n    \"hypa\": [\n      \"about aaa\",\n      \"about eee\",\n      \"about ddd\",\n      \"Before\",\n      \"x\"\n    ]\n  }\n]"), last_id: Some("m5") })
        "#]],
    );
    check_supa(
        running_summary::SummaryMode::WithFragments,
        45.0,
        None,
        &expect![[r#"
            summarise "user: Ann: a a a one two\n\n | system: Sum up."
            45 tokens
              system "S1" [Memory]
              assistant "b b b three four" [m1]
              user "c c c five six" [m2]
              assistant "d d seven" [m3]
              user "e e eight" [m4]
              assistant "a a nine" [m5]
            Some(RunningSummaryData { memory: Some("hypa:\n[\n  {\n    \"id\": \"m1\",\n    \"hypa\": [\n      \"S1\"\n    ],\n    \"supa\": \"S1\"\n  }\n]"), last_id: Some("m1") })
        "#]],
    );
    check_supa(
        running_summary::SummaryMode::WithFragments,
        45.0,
        Some("hypa:{}"),
        &expect![[r#"
        fails: stored data not a list (stored_data_not_a_list, [])
        None
    "#]],
    );
    check_supa(
        running_summary::SummaryMode::WithFragments,
        45.0,
        Some(r#"hypa:[{"id":"gone"}]"#),
        &expect![[r#"
        fails: chat id not found (chat_id_not_found, [])
        None
    "#]],
    );
}

#[test]
fn a_summary_that_fails_ends_the_strategy() {
    let (entries, count, known) = (chat(&TALK), count(), KnownVectors::new());
    let chat = with(&entries, 40.0, &count, &known);
    let run = |answers: &mut Answers<'_>| {
        running_summary::running_summary(&chat, None, &supa_settings(running_summary::SummaryMode::Alone), answers)
    };
    expect![[r#"
        summarise "user: Ann: a a a one two\n\n | system: Sum up."
        fails: summarizer http: 503 (summarizer_http, [])
    "#]]
    .assert_eq(&play(&[Err("503")], run));
}

#[track_caller]
fn check_hanurai(max: f64, tokens: f64, is_split: bool, expected: &Expect) {
    let (entries, count, known) = (chat(&TALK), count(), KnownVectors::new());
    let chat = with(&entries, max, &count, &known);
    let settings = recall::RecallSettings { tokens, is_split };
    expected.assert_eq(&play(&[], |answers| recall::recall(&chat, &settings, answers)));
}

#[test]
fn the_past_itself_comes_back_by_likeness() {
    check_hanurai(
        100.0,
        10.0,
        false,
        &expect![[r#"
        vectors ["search_document: a a a one two", "search_document: b b b three four", "search_document: c c c five six"] Kept
        vectors ["search_query: a a nine", "search_query: e e eight", "search_query: d d seven"] Once
        72 tokens
          system " a a a one two\n\n b b b three four\n\n c c c five six" [Memory]
          user "a a a one two" [m0]
          assistant "b b b three four" [m1]
          user "c c c five six" [m2]
          assistant "d d seven" [m3]
          user "e e eight" [m4]
          assistant "a a nine" [m5]
    "#]],
    );
    check_hanurai(
        35.0,
        10.0,
        true,
        &expect![[r#"
        vectors ["search_document: a a a one two", "search_document: b b b three four", "search_document: c c c five six"] Kept
        vectors ["search_query: a a nine", "search_query: e e eight", "search_query: d d seven"] Once
        28 tokens
          system " a a a one two" [Memory]
          assistant "d d seven" [m3]
          user "e e eight" [m4]
          assistant "a a nine" [m5]
    "#]],
    );
    check_hanurai(
        35.0,
        0.0,
        false,
        &expect![[r#"
        vectors ["search_document: a a a one two", "search_document: b b b three four", "search_document: c c c five six"] Kept
        vectors ["search_query: a a nine", "search_query: e e eight", "search_query: d d seven"] Once
        34 tokens
          system "" [Memory]
          assistant "b b b three four" [m1]
          user "c c c five six" [m2]
          assistant "d d seven" [m3]
          user "e e eight" [m4]
          assistant "a a nine" [m5]
    "#]],
    );
    check_hanurai(
        5.0,
        1.0,
        false,
        &expect![[r#"
        vectors ["search_document: a a a one two", "search_document: b b b three four", "search_document: c c c five six"] Kept
        vectors ["search_query: a a nine", "search_query: e e eight", "search_query: d d seven"] Once
        fails: the conversation needs 1 tokens, which do not fit the context window (too_many_tokens, [1.0])
    "#]],
    );
}

#[track_caller]
fn check_v2(max: f64, summaries: &[Result<&str, &str>], expected: &Expect) {
    let (entries, count, known) = (chat(&TALK), count(), KnownVectors::new());
    let chat = with(&entries, max, &count, &known);
    let settings =
        summaries_and_details::DetailSettings { allocated_tokens: 20.0, chunk_size: 9.0, prompt: "Sum up.".to_owned() };
    let run = |answers: &mut Answers<'_>| {
        summaries_and_details::summaries_and_details(&chat, DetailData::default(), &settings, answers)
    };
    expected.assert_eq(&play(summaries, run));
}

#[test]
fn batches_are_summarised_and_their_paragraphs_come_back() {
    check_v2(
        100.0,
        &[],
        &expect![[r#"
        55 tokens
          system "<Past Events Summary></Past Events Summary>\n<Past Events Details></Past Events Details>" [Memory]
          user "a a a one two" [m0]
          assistant "b b b three four" [m1]
          user "c c c five six" [m2]
          assistant "d d seven" [m3]
          user "e e eight" [m4]
          assistant "a a nine" [m5]
    "#]],
    );
    check_v2(
        58.0,
        &[Ok("about aaa\n\nabout bbb")],
        &expect![[r#"
        summarise "user: assistant: b b b three four | system: Sum up."
        vectors ["search_document: about aaa", "search_document: about bbb"] Kept
        vectors ["search_query: a a nine", "search_query: e e eight", "search_query: d d seven"] Once
        55 tokens
          system "<Past Events Summary>\n\nabout aaa\n\nabout bbb</Past Events Summary>\n<Past Events Details>about aaa\n\nabout bbb\n\n</Past Events Details>" [Memory]
          user "c c c five six" [m2]
          assistant "d d seven" [m3]
          user "e e eight" [m4]
          assistant "a a nine" [m5]
          Summarised ["m1"]
    "#]],
    );
    check_v2(
        30.0,
        &[],
        &expect![[r#"
        summarise "user: assistant: b b b three four | system: Sum up."
        fails: the conversation needs 54 tokens and 30 fit; the last 4 messages cannot be summarised (cannot_summarize_last_4, [54.0, 30.0, 4.0, 54.0])
    "#]],
    );
    check_v2(
        50.0,
        &[Err("503"), Err("503"), Err("503")],
        &expect![[r#"
        summarise "user: assistant: b b b three four | system: Sum up."
        fails: the conversation needs 62 tokens and 50 fit; the last 4 messages cannot be summarised (cannot_summarize_last_4, [62.0, 50.0, 4.0, 62.0])
    "#]],
    );
}

#[track_caller]
fn check_v3(max: f64, change: impl Fn(&mut CardSettings), summaries: &[Result<&str, &str>], expected: &Expect) {
    let (entries, count, known) = (chat(&TALK), count(), KnownVectors::new());
    let mut settings = CardSettings { memory_ratio: 0.5, messages_per_card: 2.0, ..CardSettings::default() };
    change(&mut settings);
    let input = summary_cards::Input {
        chat: with(&entries, max, &count, &known),
        settings: &settings,
        prompt: "Sum up.",
        chance: Chance::Stored,
    };
    let mut data = CardData::default();
    let steps = play(summaries, |answers| {
        data = CardData::default();
        summary_cards::summary_cards(&input, &mut data, answers)
    });
    let cards: Vec<&str> = data.summaries.iter().map(|it| it.text.as_str()).collect();
    expected.assert_eq(&format!("{steps}cards {cards:?}\n"));
}

#[test]
fn cards_stand_for_what_left_the_chat() {
    check_v3(
        100.0,
        |_| {},
        &[],
        &expect![[r#"
        51 tokens
          system "<Past Events Summary>\n\n</Past Events Summary>" [Memory]
          user "a a a one two" [m0]
          assistant "b b b three four" [m1]
          user "c c c five six" [m2]
          assistant "d d seven" [m3]
          user "e e eight" [m4]
          assistant "a a nine" [m5]
        cards []
    "#]],
    );
    check_v3(
        45.0,
        |_| {},
        &[],
        &expect![[r#"
        summarise "user: user: a a a one two\nassistant: b b b three four | system: Sum up."
        summarise "user: user: c c c five six | system: Sum up."
        vectors ["S1"] Kept
        vectors ["d d seven", "e e eight", "a a nine"] Once
        29 tokens
          system "<Past Events Summary>\nS1\n\nS2\n</Past Events Summary>" [Memory]
          assistant "d d seven" [m3]
          user "e e eight" [m4]
          assistant "a a nine" [m5]
          Summarised ["m0", "m1"]
          Summarised ["m2"]
        cards ["S1", "S2"]
    "#]],
    );
    check_v3(
        45.0,
        |it| it.experimental = true,
        &[],
        &expect![[r#"
        42 tokens
          user "a a a one two" [m0]
          assistant "b b b three four" [m1]
          user "c c c five six" [m2]
          assistant "d d seven" [m3]
          user "e e eight" [m4]
          assistant "a a nine" [m5]
        cards []
    "#]],
    );
    check_v3(
        45.0,
        |it| it.skip_user_messages = true,
        &[],
        &expect![[r#"
        summarise "user: assistant: b b b three four | system: Sum up."
        vectors ["d d seven", "e e eight", "a a nine"] Once
        28 tokens
          system "<Past Events Summary>\nS1\n</Past Events Summary>" [Memory]
          assistant "d d seven" [m3]
          user "e e eight" [m4]
          assistant "a a nine" [m5]
          PassedOver ["m0"]
          Summarised ["m1"]
          PassedOver ["m2"]
        cards ["S1"]
    "#]],
    );
    check_v3(
        20.0,
        |_| {},
        &[],
        &expect![[r#"
        summarise "user: user: a a a one two\nassistant: b b b three four | system: Sum up."
        summarise "user: user: c c c five six | system: Sum up."
        fails: the conversation needs 28 tokens and 20 fit; the last 3 messages cannot be summarised (cannot_summarize_further, [28.0, 20.0, 3.0])
        cards ["S1", "S2"]
    "#]],
    );
}

#[test]
fn settings_and_answers_that_are_of_no_use_are_named() {
    check_v3(
        45.0,
        |it| (it.recent_ratio, it.similar_ratio) = (0.9, 0.2),
        &[],
        &expect![[r#"
        fails: recent_ratio and similar_ratio together are more than 1 (ratio_sum_gt_1, [1.0])
        cards []
    "#]],
    );
    check_v3(
        45.0,
        |_| {},
        &[Err("503")],
        &expect![[r#"
        summarise "user: user: a a a one two\nassistant: b b b three four | system: Sum up."
        fails: summarization failed: 503 (summarization_failed, [])
        cards []
    "#]],
    );
    check_v3(
        45.0,
        |_| {},
        &[Ok(" \n")],
        &expect![[r#"
        summarise "user: user: a a a one two\nassistant: b b b three four | system: Sum up."
        fails: summarization failed: the summary is empty (summarization_failed, [])
        cards []
    "#]],
    );
}

#[test]
fn every_failure_has_its_words() {
    let codes = [
        "too_many_tokens",
        "too_many_tokens_recheck",
        "ratio_sum_gt_1",
        "cannot_summarize_further",
        "cannot_summarize_last_4",
        "message_exceeds_chunk",
        "not_enough_tokens",
        "unexpected_overflow",
        "chat_id_not_found",
    ];
    let line = |code: &'static str| {
        let failure = MemoryFailure::new(code, vec![30.0, 20.0, 4.0], 0.0);
        format!("{} {failure}", if failure.is_of_window() { "window" } else { "-" })
    };
    expect![[r#"
        window the conversation needs 30 tokens, which do not fit the context window
        window the conversation needs 30 tokens, which do not fit the context window
        - recent_ratio and similar_ratio together are more than 1
        window the conversation needs 30 tokens and 20 fit; the last 4 messages cannot be summarised
        window the conversation needs 30 tokens and 20 fit; the last 4 messages cannot be summarised
        - a message has 30 tokens, more than chunk_size 20
        window the window is too small for a summary and the last messages
        window with its memory the conversation has 30 tokens of 20
        - chat id not found"#]]
    .assert_eq(&codes.map(line).join("\n"));
    let bare = MemoryFailure::new("too_many_tokens", Vec::new(), 1.0).because("503");
    assert_eq!(bare.to_string(), "the conversation needs 0 tokens, which do not fit the context window: 503");
}

#[test]
fn questions_are_answered_in_the_order_in_which_they_were_asked() {
    let message = |text: &str| vec![SummaryMessage { role: ChatRole::User, content: text.to_owned() }];
    let given = [
        MemoryAnswer::Summaries(vec![Ok("one".to_owned())]),
        MemoryAnswer::Vectors(Ok(vec![vec![1.0]])),
        MemoryAnswer::Summaries(Vec::new()),
    ];
    let mut answers = Answers::new(&given);
    assert_eq!(answers.summary(message("a")), Ok(Ok("one".to_owned())));
    assert_eq!(
        answers.vectors(Vec::new(), VectorLifetime::Once),
        Ok(Ok(Vec::new())),
        "nothing is asked about no texts"
    );
    assert_eq!(
        answers.vectors(vec!["a".into(), "b".into()], VectorLifetime::Once),
        Ok(Err("1 vectors for 2 texts".to_owned()))
    );
    assert_eq!(answers.summary(message("b")), Ok(Err("no answer".to_owned())));
    assert_eq!(answers.summary(message("c")), Err(Stop::Asks(MemoryQuestion::Summaries(vec![message("c")]))));
    let mut other = Answers::new(&given);
    let asks = other.vectors(vec!["x".to_owned()], VectorLifetime::Kept);
    assert_eq!(
        asks,
        Err(Stop::Asks(MemoryQuestion::Vectors { texts: vec!["x".to_owned()], keep: VectorLifetime::Kept }))
    );
}

#[track_caller]
fn check_ranking(way: Way, query: &[f32], expected: &[(usize, &str)]) {
    let known: KnownVectors = [("b".to_owned(), vec![0.0, 2.0]), ("d".to_owned(), vec![2.0, 0.0])].into();
    let given = [MemoryAnswer::Vectors(Ok(vec![vec![1.0, 0.0], vec![0.0, 0.0]]))];
    let texts = ["a", "b", "c", "d"].map(str::to_owned);
    let index = VectorIndex::new(way, &known, &texts, &mut Answers::new(&given)).unwrap().unwrap();
    let ranked = index.ranked(&[(query.to_vec(), 1.0)]);
    let found: Vec<(usize, &str)> = ranked.iter().map(|it| (it.place, it.text.as_str())).collect();
    assert_eq!(found, expected, "{ranked:?}");
    assert_eq!(index.fresh().keys().map(String::as_str).collect::<Vec<_>>(), ["a", "c"]);
}

#[test]
fn texts_are_ranked_by_product_or_by_angle() {
    check_ranking(Way::First, &[1.0, 0.0], &[(3, "d"), (0, "a"), (2, "c"), (1, "b")]);
    check_ranking(Way::Second, &[1.0, 0.0], &[(3, "d"), (0, "a"), (1, "b"), (2, "c")]);
    check_ranking(Way::First, &[0.0, 1.0], &[(1, "b"), (0, "a"), (2, "c"), (3, "d")]);
    check_ranking(Way::Second, &[0.0, 0.0], &[(1, "b"), (3, "d"), (0, "a"), (2, "c")]);
}

#[test]
fn a_vector_that_is_known_is_not_asked_for_again() {
    let known: KnownVectors = [("a".to_owned(), vec![1.0])].into();
    let texts = ["a", "b", "b"].map(str::to_owned);
    let asked = |way| match VectorIndex::new(way, &known, &texts, &mut Answers::new(&[])) {
        Err(Stop::Asks(MemoryQuestion::Vectors { texts, keep })) => (texts, keep),
        other => panic!("{other:?}"),
    };
    assert_eq!(asked(Way::First), (vec!["b".to_owned(), "b".to_owned()], VectorLifetime::Kept));
    assert_eq!(asked(Way::Second), (vec!["b".to_owned()], VectorLifetime::Kept));
    let given = [MemoryAnswer::Vectors(Err("503".to_owned()))];
    assert_eq!(
        VectorIndex::new(Way::First, &known, &texts, &mut Answers::new(&given)).unwrap().err().as_deref(),
        Some("503")
    );
    let given = [MemoryAnswer::Vectors(Ok(vec![vec![2.0]])), MemoryAnswer::Vectors(Ok(vec![vec![3.0]]))];
    let mut answers = Answers::new(&given);
    let mut index = VectorIndex::new(Way::Second, &known, &texts, &mut answers).unwrap().unwrap();
    let queries = index.queries(&["b".to_owned(), "q".to_owned(), "q".to_owned()], &mut answers).unwrap();
    assert_eq!(queries, Ok(vec![vec![2.0], vec![3.0], vec![3.0]]));
}

#[test]
fn equals_keep_their_order_and_what_is_no_number_comes_first() {
    let scored = |place, score| ranking::Scored { place, text: String::new(), score };
    let mut all = [scored(0, 1.0), scored(1, 2.0), scored(2, 1.0), scored(3, f64::NAN), scored(4, -1.0)];
    descending(&mut all);
    assert_eq!(all.map(|it| it.place), [3, 1, 0, 2, 4]);
}
