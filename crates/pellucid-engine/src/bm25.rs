//! Ranking short texts by the words of a question, with BM25.
//!
//! - `words`: which words of a text count
//! - `stem`: what the forms of a word have in common
//!
//! The scores are those of the crate `bm25` 2.3, to the last bit of their 32: the model of a session that is continued
//! elsewhere sees the same figures. Texts with the same score come in the order in which they were given.

mod stem;
mod words;

use std::collections::BTreeMap;

use self::words::words;

/// How fast a word that is repeated stops to matter.
const K1: f32 = 1.2;

/// How much the length of a text matters.
const B: f32 = 0.75;

/// A text that has something of the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The index of the text, from zero.
    pub index: usize,
    /// The score of the match; more is better.
    pub score: f32,
}

/// The texts that have words of the question, the best first, at most `limit`.
pub fn rank(texts: &[String], question: &str, limit: usize) -> Vec<Hit> {
    let texts: Vec<Counted> = texts.iter().map(|text| Counted::new(text)).collect();
    let n_words: usize = texts.iter().map(|text| text.n_words).sum();
    let mean = (n_words as f64 / texts.len().max(1) as f64) as f32;
    // A word that the question repeats counts as often.
    let asked: Vec<(f32, String)> = words(question).into_iter().map(|word| (rarity(&word, &texts), word)).collect();
    let mut hits = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        if !asked.iter().any(|(_, word)| text.counts.contains_key(word)) {
            continue;
        }
        let of_word = |(rarity, word): &(f32, String)| rarity * text.weight(word, mean);
        let score = asked.iter().map(of_word).fold(0.0, |sum: f32, part| sum + part);
        hits.push(Hit { index, score });
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    hits.truncate(limit);
    hits
}

/// How much a word distinguishes texts that have it from others.
fn rarity(word: &str, texts: &[Counted]) -> f32 {
    let n_with = texts.iter().filter(|text| text.counts.contains_key(word)).count() as f32;
    (1.0 + (texts.len() as f32 - n_with + 0.5) / (n_with + 0.5)).ln()
}

/// A text as the number of each of its words.
struct Counted {
    counts: BTreeMap<String, usize>,
    n_words: usize,
}

impl Counted {
    fn new(text: &str) -> Self {
        let words = words(text);
        let n_words = words.len();
        let mut counts = BTreeMap::new();
        for word in words {
            *counts.entry(word).or_default() += 1;
        }
        Self { counts, n_words }
    }

    /// How much a word says about the text, beside others of this mean length.
    fn weight(&self, word: &str, mean: f32) -> f32 {
        let Some(count) = self.counts.get(word) else { return 0.0 };
        let count = *count as f32;
        count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * (self.n_words as f32 / mean)))
    }
}

/// A text with the words of names written apart: `createEvent` and `create_event` are two words each.
pub fn apart(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    let mut before = ' ';
    for letter in text.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            apart.push(' ');
        }
        apart.push(if letter == '_' { ' ' } else { letter });
        before = letter;
    }
    apart
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

    #[track_caller]
    fn check_words(text: &str, expected: &str) {
        assert_eq!(words(text).join(" "), expected);
    }

    #[test]
    fn words_end_where_unicode_ends_them() {
        check_words(
            "create_event __ a:b c.d e'f 1,000.5 6:7 g,h x.w. [z]",
            "create_ev a:b c.d e'f 1,000.5 6 7 g h x.w z",
        );
        check_words("The of A and don\u{2019}t", "");
        check_words("\u{dc}bung na\u{ef}ve Stra\u{df}e \u{65e5}\u{672c}", "ubung naiv strass \u{65e5}\u{672c}");
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        check_words("creates creating created creation", "creat creat creat creation");
        check_words("entries boxes classes watches cats gas skies news", "entri box class watch cat gas sky news");
        check_words(
            "national rationalization hopeful happiness agreed hopping hoping",
            "nation ration hope happi agre hop hope",
        );
        check_words(
            "yearly 'quoted' generously communism exceeding fly say sing",
            "year quot generous communism exceed fli say sing",
        );
    }

    #[test]
    fn names_are_written_apart() {
        assert_eq!(apart("createEvent create_event HTTPServer v2"), "create Event create event HTTPServer v2");
    }

    /// Recorded from Codex CLI 0.104.0: what its
    /// `search_tool_bm25` found among these tools. Its order of equal scores is random; here it is that of the texts.
    #[test]
    fn scores_are_those_of_the_reference() {
        let texts: Vec<String> = include_str!("bm25/recorded.txt").lines().map(str::to_owned).collect();
        let (questions, texts): (Vec<String>, Vec<String>) = texts.into_iter().partition(|line| line.starts_with("? "));
        assert_eq!((questions.len(), texts.len()), (23, 12));
        for line in questions {
            let (question, expected) = line["? ".len()..].split_once(" => ").unwrap();
            let found: Vec<String> = rank(&texts, question, 8)
                .into_iter()
                .map(|hit| format!("{} {}", hit.index, f64::from(hit.score)))
                .collect();
            assert_eq!(found.join(", "), expected, "{question}");
        }
    }
}
