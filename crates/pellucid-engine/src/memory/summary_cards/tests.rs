//! Which cards come back, by pin, age, likeness and chance, and within how much room.

use expect_test::Expect;
use expect_test::expect;

use super::*;
use crate::memory::ChatLimits;
use crate::memory::ask::MemoryAnswer;
use crate::memory::ask::MemoryQuestion;
use crate::memory::count::EntryCounter;
use crate::memory::ranking::KnownVectors;
use crate::memory::texts::MemoryTexts;
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

/// Cards of one word each; one that begins with `!` is pinned.
fn cards(texts: &[&str]) -> CardData {
    let card = |(n, text): (usize, &&str)| MemorySummary {
        text: text.trim_start_matches('!').to_owned(),
        chat_memos: vec![Some(format!("m{n}"))],
        is_important: text.starts_with('!'),
        ..MemorySummary::default()
    };
    CardData { summaries: texts.iter().enumerate().map(card).collect(), ..CardData::default() }
}

/// A chat whose first entries are those of the cards, and which ends with what is compared with.
fn chat(n_cards: usize) -> Vec<ChatEntry> {
    let old = (0..n_cards).map(|n| ChatEntry::new(ChatRole::User, "old").with_memo(format!("m{n}")));
    let new = ["aaa", "bbb", "ccc"].into_iter().map(|text| ChatEntry::new(ChatRole::User, text).with_memo(text));
    old.chain(new).collect()
}

/// Runs with cards that are stored and gives the block, why each card is in it, and what was asked.
fn played(data: &CardData, max: f64, settings: &CardSettings, chance: Chance) -> String {
    let count = EntryCounter::new(&Words, "model");
    let entries = chat(data.summaries.len());
    let known = KnownVectors::new();
    let tokens = count.entries(&entries);
    let limits = ChatLimits { max, response: 0.0 };
    let chat = Chat { entries: &entries, tokens, limits, count: &count, known: &known, texts: MemoryTexts::sample() };
    let input = Input { chat, settings, prompt: "Sum up.", chance };
    let vector = |text: &String| "abc".chars().map(|c| text.matches(c).count() as f32).collect::<Vec<f32>>();
    let (mut given, mut asked) = (Vec::new(), Vec::new());
    loop {
        let mut data = data.clone();
        match summary_cards(&input, &mut data, &mut Answers::new(&given)) {
            Ok(outcome) => {
                let metrics = data.metrics.unwrap_or_default();
                return format!(
                    "{:?}\nimportant {:?} recent {:?} similar {:?} random {:?}\nasked {asked:?}\n",
                    outcome.entries[0].content,
                    metrics.last_important_summaries,
                    metrics.last_recent_summaries,
                    metrics.last_similar_summaries,
                    metrics.last_random_summaries,
                );
            }
            Err(Stop::Fails(failure)) => return format!("fails: {failure}\n"),
            Err(Stop::Asks(MemoryQuestion::Vectors { texts, .. })) => {
                given.push(MemoryAnswer::Vectors(Ok(texts.iter().map(vector).collect())));
                asked.push(format!("vectors of {}", texts.join(", ")));
            }
            Err(Stop::Asks(MemoryQuestion::Summaries(all))) => {
                given.push(MemoryAnswer::Summaries(all.iter().map(|_| Ok("ccc ccc".to_owned())).collect()));
                asked.push(format!("{} summaries", all.len()));
            }
        }
    }
}

fn shares(recent: f64, similar: f64) -> CardSettings {
    CardSettings { memory_ratio: 0.5, recent_ratio: recent, similar_ratio: similar, ..CardSettings::default() }
}

#[track_caller]
fn check(texts: &[&str], max: f64, settings: &CardSettings, expected: &Expect) {
    expected.assert_eq(&played(&cards(texts), max, settings, Chance::Stored));
}

const FIVE: [&str; 5] = ["aaa", "bbb", "ccc", "ddd", "abc"];

#[test]
fn pinned_cards_come_first_and_the_newest_by_their_share() {
    check(
        &["one", "!two", "three", "!four"],
        50.0,
        &shares(1.0, 0.0),
        &expect![[r#"
        "<Past Events Summary>\none\n\ntwo\n\nthree\n\nfour\n</Past Events Summary>"
        important [1, 3] recent [2, 0] similar [] random []
        asked []
    "#]],
    );
    check(
        &["one", "two", "three", "four"],
        40.0,
        &shares(1.0, 0.0),
        &expect![[r#"
        "<Past Events Summary>\nthree\n\nfour\n</Past Events Summary>"
        important [] recent [3, 2] similar [] random []
        asked []
    "#]],
    );
    check(
        &["!one", "!two", "!three", "!four", "five"],
        36.0,
        &shares(1.0, 0.0),
        &expect![[r#"
        "<Past Events Summary>\none\n\ntwo\n</Past Events Summary>"
        important [0, 1] recent [] similar [] random []
        asked []
    "#]],
    );
}

#[test]
fn cards_that_are_like_what_was_said_last_come_by_their_share() {
    check(
        &FIVE,
        60.0,
        &shares(0.0, 1.0),
        &expect![[r#"
        "<Past Events Summary>\naaa\n\nbbb\n\nccc\n\nddd\n\nabc\n</Past Events Summary>"
        important [] recent [] similar [2, 1, 4, 0, 3] random []
        asked ["vectors of aaa, bbb, ccc, ddd, abc", "vectors of aaa, bbb, ccc"]
    "#]],
    );
    check(
        &FIVE,
        40.0,
        &shares(0.0, 1.0),
        &expect![[r#"
        "<Past Events Summary>\nbbb\n\nccc\n</Past Events Summary>"
        important [] recent [] similar [2, 1] random []
        asked ["vectors of aaa, bbb, ccc, ddd, abc", "vectors of aaa, bbb, ccc"]
    "#]],
    );
    check(
        &FIVE,
        60.0,
        &CardSettings { experimental: true, ..shares(0.0, 1.0) },
        &expect![[r#"
        "<Past Events Summary>\naaa\n\nbbb\n\nccc\n\nddd\n\nabc\n</Past Events Summary>"
        important [] recent [] similar [4, 2, 1, 0, 3] random []
        asked ["vectors of aaa, bbb, ccc, ddd, abc"]
    "#]],
    );
    check(
        &FIVE,
        60.0,
        &CardSettings { similarity_correction: true, ..shares(0.0, 1.0) },
        &expect![[r#"
        "<Past Events Summary>\naaa\n\nbbb\n\nccc\n\nddd\n\nabc\n</Past Events Summary>"
        important [] recent [] similar [2, 4, 1, 0, 3] random []
        asked ["1 summaries", "vectors of aaa, bbb, ccc, ddd, abc", "vectors of aaa, bbb, ccc, ccc ccc"]
    "#]],
    );
}

#[test]
fn what_no_share_took_is_left_to_chance() {
    check(
        &FIVE,
        44.0,
        &shares(0.0, 0.0),
        &expect![[r#"
        "<Past Events Summary>\naaa\n\nbbb\n\nccc\n</Past Events Summary>"
        important [] recent [] similar [] random [0, 1, 2]
        asked []
    "#]],
    );
    let data = cards(&FIVE);
    let run = |chance| played(&data, 44.0, &shares(0.0, 0.0), chance);
    assert_eq!(run(Chance::Seeded(1)), run(Chance::Seeded(1)), "the same number gives the same cards");
    let different: std::collections::BTreeSet<String> = (0..20).map(|seed| run(Chance::Seeded(seed))).collect();
    assert!(different.len() > 1, "other numbers give other cards");
}

#[test]
fn shares_that_are_not_used_are_passed_on() {
    check(
        &FIVE,
        60.0,
        &shares(0.4, 0.4),
        &expect![[r#"
        "<Past Events Summary>\naaa\n\nbbb\n\nccc\n\nddd\n\nabc\n</Past Events Summary>"
        important [] recent [4, 3] similar [2, 1] random [0]
        asked ["vectors of aaa, bbb, ccc", "vectors of aaa, bbb, ccc"]
    "#]],
    );
    check(
        &FIVE,
        60.0,
        &shares(0.5, 0.5),
        &expect![[r#"
        "<Past Events Summary>\naaa\n\nbbb\n\nccc\n\nddd\n\nabc\n</Past Events Summary>"
        important [] recent [4, 3] similar [2, 1, 0] random []
        asked ["vectors of aaa, bbb, ccc", "vectors of aaa, bbb, ccc"]
    "#]],
    );
}

#[test]
fn cards_without_room_leave_an_empty_block() {
    check(
        &["a long card of many words that is too large for any room there is"],
        30.0,
        &shares(0.5, 0.5),
        &expect![[r#"
        "<Past Events Summary>\n\n</Past Events Summary>"
        important [] recent [] similar [] random []
        asked ["vectors of a long card of many words that is too large for any room there is", "vectors of aaa, bbb, ccc"]
    "#]],
    );
}

#[test]
fn cards_whose_messages_are_gone_go_unless_they_are_kept() {
    let mut data = cards(&["one", "two"]);
    data.summaries[0].chat_memos = vec![Some("gone".to_owned())];
    let kept = |preserve: bool| {
        let settings = CardSettings { keep_orphans: preserve, ..shares(1.0, 0.0) };
        played(&data, 60.0, &settings, Chance::Stored).lines().next().unwrap().to_owned()
    };
    assert_eq!(kept(false), "\"<Past Events Summary>\\ntwo\\n</Past Events Summary>\"");
    assert_eq!(kept(true), "\"<Past Events Summary>\\none\\n\\ntwo\\n</Past Events Summary>\"");
}
