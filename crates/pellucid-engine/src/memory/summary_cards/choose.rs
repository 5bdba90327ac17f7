//! Chooses the cards that are recalled: the pinned, the newest, the most similar, and some at random.
//!
//! All phases but the last end with the first card that does not fit; chance passes over it.

use super::Chance;
use super::Input;
use super::similar;
use crate::memory::Stop;
use crate::memory::ask::Answers;
use crate::memory::data::CardData;
use crate::memory::data::Metrics;

/// The chosen cards, by reason.
pub(super) struct Choice {
    pub metrics: Metrics,
}

impl Choice {
    /// All of them, in the order in which they are stored.
    pub(super) fn cards(&self) -> Vec<usize> {
        let Metrics { last_important_summaries, last_recent_summaries, last_similar_summaries, last_random_summaries } =
            &self.metrics;
        let mut cards =
            [last_important_summaries, last_recent_summaries, last_similar_summaries, last_random_summaries]
                .into_iter()
                .flatten()
                .copied()
                .collect::<Vec<_>>();
        cards.sort_unstable();
        cards
    }
}

pub(super) fn choose(
    input: &Input<'_>,
    data: &CardData,
    available: f64,
    tokens: f64,
    answers: &mut Answers<'_>,
) -> Result<Choice, Stop> {
    let summaries = &data.summaries;
    let mut left = available;
    let mut is_taken = vec![false; summaries.len()];
    let mut metrics = Metrics::default();
    for (n, summary) in summaries.iter().enumerate().filter(|(_, summary)| summary.is_important) {
        let cost = input.cost(summary);
        if cost > left {
            break;
        }
        left -= cost;
        is_taken[n] = true;
        metrics.last_important_summaries.push(n);
    }
    let (recent, similar) = (input.settings.recent_ratio, input.settings.similar_ratio);
    let random = 1.0 - recent - similar;

    // Takes cards in this order until one does not fit, and gives what is left of the room.
    let take = |order: &[usize], mut room: f64, is_taken: &mut [bool], chosen: &mut Vec<usize>| {
        for &n in order {
            let cost = input.cost(&summaries[n]);
            if cost > room {
                break;
            }
            room -= cost;
            is_taken[n] = true;
            chosen.push(n);
        }
        room
    };
    let free = |is_taken: &[bool]| (0..is_taken.len()).filter(|n| !is_taken[*n]).collect::<Vec<_>>();

    let mut recent_left = 0.0;
    if recent > 0.0 {
        let mut order = free(&is_taken);
        order.reverse();
        let room = (left * recent).floor();
        recent_left = take(&order, room, &mut is_taken, &mut metrics.last_recent_summaries);
    }
    let mut similar_left = 0.0;
    if similar > 0.0 {
        let mut room = (left * similar).floor();
        if random <= 0.0 {
            room += recent_left;
        }
        let order = similar::order(input, data, &free(&is_taken), tokens, answers)?;
        similar_left = take(&order, room, &mut is_taken, &mut metrics.last_similar_summaries);
    }
    if random > 0.0 {
        let mut room = (left * random).floor() + recent_left + similar_left;
        for n in shuffled(free(&is_taken), input.chance) {
            let cost = input.cost(&summaries[n]);
            if cost <= room {
                room -= cost;
                metrics.last_random_summaries.push(n);
            }
        }
    }
    Ok(Choice { metrics })
}

/// Cards in an order that a number decides, the same for the same number.
fn shuffled(mut cards: Vec<usize>, chance: Chance) -> Vec<usize> {
    let Chance::Seeded(mut seed) = chance else {
        return cards;
    };
    for n in (1..cards.len()).rev() {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let other = usize::try_from(mixed % (n as u64 + 1)).unwrap_or(0);
        cards.swap(n, other);
    }
    cards
}
