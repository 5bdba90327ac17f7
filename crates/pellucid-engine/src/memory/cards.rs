//! How people see what is remembered: one card for each summary.

use super::data::CardData;
use super::data::MemorySummary;
use crate::utf16;

/// The cards that an input such as `1, 3-5` means, of so many. Numbers are from one; a number ends
/// where its digits end, so `3rd` is 3; parts that do not begin with a number are passed over.
pub fn selection(input: &str, n_cards: usize) -> Vec<usize> {
    let mut selected = Vec::new();
    for part in input.split(',') {
        let range = match part.split_once('-') {
            Some((from, to)) => leading_number(from).zip(leading_number(to)),
            None => leading_number(part).map(|only| (only, only)),
        };
        let Some((from, to)) = range else {
            continue;
        };
        for card in from.max(1)..=to.min(n_cards) {
            if !selected.contains(&(card - 1)) {
                selected.push(card - 1);
            }
        }
    }
    selected
}

/// The number that a text begins with. One too large for any list of cards is the largest there is.
fn leading_number(text: &str) -> Option<usize> {
    let text = utf16::trim(text);
    let text = text.strip_prefix('+').unwrap_or(text);
    let digits = text.split(|c: char| !c.is_ascii_digit()).next().filter(|digits| !digits.is_empty())?;
    Some(digits.parse().unwrap_or(usize::MAX))
}

/// Whether a text has what may be part of a message's id: four hexadecimal digits in a row.
pub fn is_id_like(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_hexdigit()).any(|digits| digits.len() >= 4)
}

/// The categories whose cards are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CategoryFilter {
    /// Cards of all categories.
    All,
    /// Cards of one category; empty for cards without one.
    Only(String),
}

impl CategoryFilter {
    /// Parses a filter: `all`, or an id.
    pub fn parse(word: &str) -> Self {
        if word == "all" { Self::All } else { Self::Only(word.to_owned()) }
    }
}

/// Whether a card is shown.
pub fn is_shown(summary: &MemorySummary, is_important_only: bool, category: &CategoryFilter) -> bool {
    let is_in = match category {
        CategoryFilter::All => true,
        CategoryFilter::Only(id) => summary.category_id.as_deref().unwrap_or_default() == id,
    };
    is_in && (summary.is_important || !is_important_only)
}

/// Cards whose text, or one of whose messages, has this in it.
pub fn search(data: &CardData, query: &str) -> Vec<usize> {
    let lower = query.to_lowercase();
    let is_id = is_id_like(query);
    let matches = |summary: &MemorySummary| {
        let in_text = summary.text.to_lowercase().contains(&lower);
        let in_memos = || summary.chat_memos.iter().flatten().any(|memo| memo.to_lowercase().contains(&lower));
        in_text || (is_id && in_memos())
    };
    data.summaries.iter().enumerate().filter(|(_, summary)| matches(summary)).map(|(n, _)| n).collect()
}

/// Why a card was used last: `important`, `recent`, `similar`, `random`.
pub fn badges(data: &CardData, card: usize) -> Vec<&'static str> {
    let Some(metrics) = &data.metrics else {
        return Vec::new();
    };
    let rows = [
        ("important", &metrics.last_important_summaries),
        ("recent", &metrics.last_recent_summaries),
        ("similar", &metrics.last_similar_summaries),
        ("random", &metrics.last_random_summaries),
    ];
    rows.into_iter().filter(|(_, cards)| cards.contains(&card)).map(|(badge, _)| badge).collect()
}

/// Puts one card in place of several: in the place of the first, with its pin, category and tags.
pub fn merge(data: &mut CardData, cards: &[usize], text: String) {
    let mut cards = cards.to_vec();
    cards.sort_unstable();
    cards.dedup();
    let Some((&first, others)) = cards.split_first() else {
        return;
    };
    let mut memos: Vec<Option<String>> = Vec::new();
    for memo in cards.iter().filter_map(|card| data.summaries.get(*card)).flat_map(|summary| &summary.chat_memos) {
        if !memos.contains(memo) {
            memos.push(memo.clone());
        }
    }
    if let Some(summary) = data.summaries.get_mut(first) {
        summary.text = text;
        summary.chat_memos = memos;
    }
    let mut n = 0;
    data.summaries.retain(|_| {
        n += 1;
        !others.contains(&(n - 1))
    });
    data.metrics = None;
}

/// Takes a card away. What is known of the last use goes with it, because it speaks of places.
pub fn forget(data: &mut CardData, card: usize) -> Option<MemorySummary> {
    let gone = (card < data.summaries.len()).then(|| data.summaries.remove(card));
    if gone.is_some() {
        data.metrics = None;
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(texts: &[(&str, &[&str])]) -> CardData {
        let summary = |(text, memos): &(&str, &[&str])| MemorySummary {
            text: (*text).to_owned(),
            chat_memos: memos.iter().map(|memo| Some((*memo).to_owned())).collect(),
            ..MemorySummary::default()
        };
        CardData { summaries: texts.iter().map(summary).collect(), ..CardData::default() }
    }

    #[test]
    fn a_merged_card_has_the_messages_of_all_and_stands_first() {
        let mut data = data(&[("a", &["1"]), ("b", &["2", "3"]), ("c", &["3", "4"])]);
        data.summaries[1].is_important = true;
        merge(&mut data, &[2, 1], "bc".to_owned());
        assert_eq!(data.summaries.len(), 2);
        assert_eq!((data.summaries[1].text.as_str(), data.summaries[1].is_important), ("bc", true));
        let memos: Vec<_> = data.summaries[1].chat_memos.iter().flatten().collect();
        assert_eq!(memos, ["2", "3", "4"]);
    }

    #[test]
    fn a_number_of_a_selection_ends_where_its_digits_end() {
        for (input, expected) in [
            ("3rd", vec![2]),
            ("2 and 4", vec![1]),
            ("1.9", vec![0]),
            ("2a-3b", vec![1, 2]),
            ("1-2-5", vec![0, 1]),
            (" +2 ", vec![1]),
            ("x3, -2, 2-x, , 0x2", vec![]),
            ("2-99999999999999999999999", vec![1, 2, 3, 4]),
        ] {
            assert_eq!(selection(input, 5), expected, "{input}");
        }
    }

    #[test]
    fn an_id_is_recognised_inside_longer_text() {
        for (text, expected) in [
            ("message 3f2a1b00-77aa of the chat", true),
            ("0123456789abcdef", true),
            ("beef-", true),
            ("3f2-a1b", false),
            ("a dragon", false),
        ] {
            assert_eq!(is_id_like(text), expected, "{text}");
        }
    }

    #[test]
    fn cards_are_found_by_text_and_by_message() {
        let data = data(&[("The Dragon", &["0a1b-2c3d"]), ("a ship", &["ffff"])]);
        assert_eq!(search(&data, "dragon"), [0]);
        assert_eq!(search(&data, "2c3d"), [0]);
        assert!(search(&data, "zz").is_empty());
    }
}
