//! Ranking short texts by the words of a question, with BM25.
//!
//! Words are runs of letters and digits, in lower case; a name such as `createEvent` or
//! `create_event` is two of them. Endings of plurals do not count, and neither do words that every
//! sentence has.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// How fast a word that is repeated stops to matter.
const K1: f64 = 1.2;

/// How much the length of a text matters.
const B: f64 = 0.75;

/// Words that are too common to be searched for.
const COMMON: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

/// A text that has something of the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The index of the text, from zero.
    pub index: usize,
    /// The score of the match; more is better.
    pub score: f64,
}

/// The texts that have words of the question, the best first, at most `limit`.
pub fn rank(texts: &[String], question: &str, limit: usize) -> Vec<Hit> {
    let texts: Vec<BTreeMap<String, usize>> = texts.iter().map(|text| counted(text)).collect();
    let lengths: Vec<usize> = texts.iter().map(|words| words.values().sum()).collect();
    let mean = lengths.iter().sum::<usize>() as f64 / texts.len().max(1) as f64;
    let asked: BTreeSet<String> = words(question).collect();
    let rarity = |word: &String| {
        let n_with = texts.iter().filter(|words| words.contains_key(word)).count() as f64;
        (1.0 + (texts.len() as f64 - n_with + 0.5) / (n_with + 0.5)).ln()
    };
    let weights: Vec<(&String, f64)> = asked.iter().map(|word| (word, rarity(word))).collect();
    let mut hits: Vec<Hit> = Vec::new();
    for (index, (text, length)) in texts.iter().zip(lengths).enumerate() {
        let share = 1.0 - B + B * length as f64 / mean.max(1.0);
        let of_word = |(word, weight): &(&String, f64)| {
            let n_times = text.get(*word).copied().unwrap_or_default() as f64;
            weight * n_times * (K1 + 1.0) / (n_times + K1 * share)
        };
        let score: f64 = weights.iter().map(of_word).sum();
        if score > 0.0 {
            hits.push(Hit { index, score });
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    hits.truncate(limit);
    hits
}

fn counted(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in words(text) {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars().chain([' ']) {
        let is_border = !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase());
        if is_border && !word.is_empty() {
            words.push(stem(std::mem::take(&mut word)));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.into_iter().filter(|word| !COMMON.contains(&word.as_str()))
}

/// A word without the ending of a plural.
fn stem(word: String) -> String {
    let ends = |ending: &str| word.len() > ending.len() + 2 && word.ends_with(ending);
    if ends("ies") {
        format!("{}y", &word[..word.len() - 3])
    } else if ["sses", "xes", "ches", "shes"]
        .iter()
        .any(|ending| word.len() > ending.len() + 1 && word.ends_with(ending))
    {
        word[..word.len() - 2].to_owned()
    } else if ends("s") && !word.ends_with("ss") && !word.ends_with("us") {
        word[..word.len() - 1].to_owned()
    } else {
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 4] = [
        "calendar_create_event Create an event in the calendar",
        "calendar_list_events List the events of a calendar, with their entries",
        "mail_send Send a message by mail",
        "notesSearch Search all notes",
    ];

    #[track_caller]
    fn check_rank(question: &str, limit: usize, expected: &[usize]) {
        let hits = rank(&TEXTS.map(str::to_owned), question, limit);
        assert_eq!(hits.iter().map(|hit| hit.index).collect::<Vec<_>>(), expected, "{hits:?}");
    }

    #[test]
    fn what_fits_best_comes_first() {
        check_rank("create calendar event", 8, &[0, 1]);
        check_rank("list calendar events", 8, &[1, 0]);
        check_rank("notes", 8, &[3]);
        check_rank("entry", 8, &[1]);
    }

    #[test]
    fn what_has_no_word_of_it_is_not_found() {
        check_rank("weather", 8, &[]);
        check_rank("the of a", 8, &[]);
        check_rank("", 8, &[]);
    }

    #[test]
    fn no_more_than_asked_for() {
        check_rank("create calendar event", 1, &[0]);
        assert_eq!(rank(&[], "x", 8), []);
    }

    #[test]
    fn names_are_split_into_their_words_and_plurals_do_not_count() {
        let split = |text: &str| words(text).collect::<Vec<_>>().join(" ");
        assert_eq!(split("createEvent create_event HTTPServer v2"), "create event create event httpserver v2");
        assert_eq!(split("entries boxes classes watches dishes cats gas"), split("entry box class watch dish cat gas"));
        assert_eq!(split("The of A and"), "");
        assert_eq!(split("Übung 日本"), "übung 日本");
    }

    #[test]
    fn a_rare_word_counts_more_than_a_common_one_and_repeating_helps_less_and_less() {
        let texts = ["common rare", "common other", "common more"].map(str::to_owned);
        let hits = rank(&texts, "common rare", 8);
        assert_eq!(hits.iter().map(|hit| hit.index).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(hits[0].score > 2.0 * hits[1].score);
        let repeated = ["word x x x", "word word x x", "word word word word"].map(str::to_owned);
        let scores: Vec<f64> =
            (0..3).map(|n| rank(&repeated, "word", 8).into_iter().find(|hit| hit.index == n).unwrap().score).collect();
        assert!(scores[2] > scores[1] && scores[1] > scores[0]);
        assert!(scores[2] - scores[1] < scores[1] - scores[0] + 1e-9);
    }
}
