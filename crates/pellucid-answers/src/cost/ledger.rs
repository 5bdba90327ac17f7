//! The provider's tokens of a request, dealt out to its parts.
//!
//! A provider gives sums for a request. Each part gets a share of the input by its bytes, in whole tokens that add up (the
//! largest remainders are rounded up). A cache has the beginning of what the model reads, so the first tokens in the order
//! of reading are those that were read from the cache, the next ones those that were written to it.

use pellucid_protocol::usage::UsageSplit;

use super::ReadText;

/// All input tokens of a response.
pub(super) fn input(usage: &UsageSplit) -> i64 {
    usage.cached_read.saturating_add(usage.cache_write.unwrap_or(0)).saturating_add(usage.uncached)
}

/// Deals `total` out by weights, in whole numbers that add up to `total`; all to the last one if no weight is above 0.
pub(super) fn deal(total: i64, weights: &[u64]) -> Vec<i64> {
    let total = u128::try_from(total).unwrap_or(0);
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        let mut shares = vec![0; weights.len()];
        if let Some(last) = shares.last_mut() {
            *last = whole(total);
        }
        return shares;
    }
    let mut shares: Vec<u128> = weights.iter().map(|weight| total * u128::from(*weight) / sum).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let remainder = |at: usize| total * u128::from(weights[at]) % sum;
    order.sort_by(|one, two| remainder(*two).cmp(&remainder(*one)).then(one.cmp(two)));
    let mut rest = total - shares.iter().sum::<u128>();
    for at in order {
        if rest == 0 {
            break;
        }
        shares[at] += 1;
        rest -= 1;
    }
    shares.into_iter().map(whole).collect()
}

fn whole(number: u128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The input tokens of each text, by what they are charged for. The sum of all is the input of `usage`.
pub(super) fn shares(usage: &UsageSplit, read: &[ReadText]) -> Vec<UsageSplit> {
    let weights: Vec<u64> = read.iter().map(|text| text.bytes.len() as u64).collect();
    let mut from_cache = usage.cached_read;
    let mut to_cache = usage.cache_write.unwrap_or(0);
    let dealt = deal(input(usage), &weights).into_iter().map(|tokens| {
        let cached_read = tokens.min(from_cache);
        from_cache -= cached_read;
        let written = (tokens - cached_read).min(to_cache);
        to_cache -= written;
        UsageSplit {
            cached_read,
            cache_write: usage.cache_write.map(|_| written),
            uncached: tokens - cached_read - written,
            output: 0,
        }
    });
    dealt.collect()
}
