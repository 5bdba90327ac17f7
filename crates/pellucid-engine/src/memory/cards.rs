//! How people see what is remembered: one card for each summary.

use super::data::Summary;
use super::data::V3Data;

/// The cards that an input such as `1, 3-5` means, of so many. Numbers are from one; parts that
/// mean nothing are passed over.
pub fn selection(input: &str, n_cards: usize) -> Vec<usize> {
    let mut selected = Vec::new();
    for part in input.split(',') {
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let range = match part.split_once('-') {
            Some((from, to)) => number(from).zip(number(to)),
            None => number(part).map(|only| (only, only)),
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

/// Whether a text looks like a part of a message's id.
pub fn is_id_like(text: &str) -> bool {
    let is_group = |group: &str| (4..=12).contains(&group.len()) && group.chars().all(|c| c.is_ascii_hexdigit());
    text.len() >= 4 && text.split('-').all(is_group)
}

/// Which categories are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CategoryFilter {
    /// All.
    All,
    /// One; empty for what is not sorted.
    Only(String),
}

impl CategoryFilter {
    /// Reads it: `all`, or an id.
    pub fn parse(word: &str) -> Self {
        if word == "all" { Self::All } else { Self::Only(word.to_owned()) }
    }
}

/// Whether a card is shown.
pub fn is_shown(summary: &Summary, is_important_only: bool, category: &CategoryFilter) -> bool {
    let is_in = match category {
        CategoryFilter::All => true,
        CategoryFilter::Only(id) => summary.category_id.as_deref().unwrap_or_default() == id,
    };
    is_in && (summary.is_important || !is_important_only)
}

/// Cards whose text, or one of whose messages, has this in it.
pub fn search(data: &V3Data, query: &str) -> Vec<usize> {
    let lower = query.to_lowercase();
    let is_id = is_id_like(query);
    let matches = |summary: &Summary| {
        let in_text = summary.text.to_lowercase().contains(&lower);
        let in_memos = || summary.chat_memos.iter().flatten().any(|memo| memo.to_lowercase().contains(&lower));
        in_text || (is_id && in_memos())
    };
    data.summaries.iter().enumerate().filter(|(_, summary)| matches(summary)).map(|(n, _)| n).collect()
}

/// Why a card was used last: `important`, `recent`, `similar`, `random`.
pub fn badges(data: &V3Data, card: usize) -> Vec<&'static str> {
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
pub fn merge(data: &mut V3Data, cards: &[usize], text: String) {
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
pub fn forget(data: &mut V3Data, card: usize) -> Option<Summary> {
    let gone = (card < data.summaries.len()).then(|| data.summaries.remove(card));
    if gone.is_some() {
        data.metrics = None;
    }
    gone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(texts: &[(&str, &[&str])]) -> V3Data {
        let summary = |(text, memos): &(&str, &[&str])| Summary {
            text: (*text).to_owned(),
            chat_memos: memos.iter().map(|memo| Some((*memo).to_owned())).collect(),
            ..Summary::default()
        };
        V3Data { summaries: texts.iter().map(summary).collect(), ..V3Data::default() }
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
    fn cards_are_found_by_text_and_by_message() {
        let data = data(&[("The Dragon", &["0a1b-2c3d"]), ("a ship", &["ffff"])]);
        assert_eq!(search(&data, "dragon"), [0]);
        assert_eq!(search(&data, "2c3d"), [0]);
        assert!(search(&data, "zz").is_empty());
    }
}
