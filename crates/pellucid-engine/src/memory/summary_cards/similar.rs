//! Cards by their similarity to the last messages.
//!
//! Paragraphs of cards are compared with the newest entries. A card counts as much as its
//! paragraphs rank, so that one with several good ones comes before one with a single better one.

use super::Input;
use crate::memory::MemoryFailure;
use crate::memory::Stop;
use crate::memory::ask::Answers;
use crate::memory::data::CardData;
use crate::memory::entry::ChatEntry;
use crate::memory::ranking::VectorIndex;
use crate::memory::ranking::Way;
use crate::memory::request;
use crate::utf16;

/// How many of the newest entries are compared with.
const N_NEWEST: usize = 3;

/// An offset that lowers the weight of the first ranks.
const RANK_OFFSET: f64 = 60.0;

/// These cards, the most like first; none without anything to compare with.
pub(super) fn order(
    input: &Input<'_>,
    data: &CardData,
    cards: &[usize],
    tokens: f64,
    answers: &mut Answers<'_>,
) -> Result<Vec<usize>, Stop> {
    let failed = |error: &str| MemoryFailure::new("similarity_search_failed", Vec::new(), tokens).because(error);
    let newest = &input.chat.entries[input.chat.entries.len().saturating_sub(N_NEWEST)..];
    let newest: Vec<&ChatEntry> = newest.iter().filter(|entry| !utf16::is_blank(&entry.content)).collect();
    if newest.is_empty() {
        return Ok(Vec::new());
    }
    let mut chunks: Vec<(usize, String)> = Vec::new();
    for card in cards {
        let texts = data.summaries[*card].text.split("\n\n").map(utf16::trim).filter(|text| !text.is_empty());
        chunks.extend(texts.map(|text| (*card, text.to_owned())));
    }
    let texts: Vec<String> = chunks.iter().map(|(_, text)| text.clone()).collect();
    let way = if input.is_experimental() { Way::Second } else { Way::First };
    let correction = correction(input, &newest, tokens, answers)?;
    let mut index = VectorIndex::new(way, input.chat.known, &texts, answers)?.map_err(|error| failed(&error))?;
    let queries = queries(input, &newest, correction);
    let asked: Vec<String> = queries.iter().map(|(text, _)| text.clone()).collect();
    let vectors = index.queries(&asked, answers)?.map_err(|error| failed(&error))?;
    let weighted: Vec<(Vec<f32>, f64)> =
        vectors.into_iter().zip(queries).map(|(vector, (_, weight))| (vector, weight)).collect();

    let mut scores: Vec<(usize, f64)> = Vec::new();
    for (rank, scored) in index.ranked(&weighted).iter().enumerate() {
        let card = chunks[scored.place].0;
        let score = 1.0 / (RANK_OFFSET + (rank + 1) as f64);
        match scores.iter_mut().find(|(known, _)| *known == card) {
            Some((_, sum)) => *sum += score,
            None => scores.push((card, score)),
        }
    }
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(scores.into_iter().map(|(card, _)| card).collect())
}

/// A summary of the last messages, if the settings ask for one.
fn correction(
    input: &Input<'_>,
    newest: &[&ChatEntry],
    tokens: f64,
    answers: &mut Answers<'_>,
) -> Result<Option<String>, Stop> {
    let is_wanted = input.settings.similarity_correction && !input.is_experimental();
    if !is_wanted || newest.len() <= 1 {
        return Ok(None);
    }
    let answer = answers.summary(input.request(newest))?;
    let failed = |error: String| MemoryFailure::new("summarization_failed", Vec::new(), tokens).because(&error);
    Ok(Some(answer.and_then(|answer| request::cleaned(&answer)).map_err(failed)?))
}

/// The texts that cards are compared with, each with its weight: newer texts weigh more.
fn queries(input: &Input<'_>, newest: &[&ChatEntry], correction: Option<String>) -> Vec<(String, f64)> {
    let weight = |n: usize, of: usize| (n + 1) as f64 / ((of * (of + 1)) as f64 / 2.0);
    if !input.is_experimental() {
        let texts: Vec<String> = newest.iter().map(|entry| entry.content.clone()).chain(correction).collect();
        let of = texts.len();
        return texts.into_iter().enumerate().map(|(n, text)| (text, weight(n, of))).collect();
    }
    let mut queries = Vec::new();
    for (n, entry) in newest.iter().enumerate() {
        let pieces: Vec<&str> = entry.content.split("\n\n").filter(|piece| !utf16::is_blank(piece)).collect();
        let each = weight(n, newest.len()) / pieces.len() as f64;
        queries.extend(pieces.into_iter().map(|piece| (piece.to_owned(), each)));
    }
    queries
}
