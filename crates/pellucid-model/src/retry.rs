//! How long to wait before a retry.

use std::hash::BuildHasher;
use std::hash::RandomState;
use std::time::Duration;

/// Delays that double, each randomised a little so that many clients do not retry at once.
#[derive(Debug)]
pub(crate) struct Backoff {
    base: Duration,
    state: u64,
}

impl Backoff {
    /// Delays that begin with `base`, randomised per process.
    pub(crate) fn new(base: Duration) -> Self {
        Self::seeded(base, RandomState::new().hash_one(0))
    }

    fn seeded(base: Duration, seed: u64) -> Self {
        // The generator would stay at zero.
        Self { base, state: seed | 1 }
    }

    /// The delay before retry `k`, counted from 1: `base * 2^(k-1)`, up to a tenth more or less.
    pub(crate) fn delay(&mut self, k: u64) -> Duration {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let share = (self.state >> 11) as f64 / (1_u64 << 53) as f64;
        let exponent = u32::try_from(k.saturating_sub(1)).unwrap_or(u32::MAX).min(31);
        self.base.saturating_mul(1 << exponent).mul_f64(0.9 + 0.2 * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_within_a_tenth() {
        for seed in 0..500 {
            let mut backoff = Backoff::seeded(Duration::from_millis(200), seed);
            for k in 1..=8 {
                let middle = 200.0 * f64::from(1 << (k - 1));
                let delay = backoff.delay(k).as_secs_f64() * 1000.0;
                assert!((middle * 0.9 - 0.001..=middle * 1.1 + 0.001).contains(&delay), "{seed} {k} {delay}");
            }
        }
    }

    #[test]
    fn many_retries_do_not_overflow() {
        let mut backoff = Backoff::new(Duration::from_millis(200));
        assert!(backoff.delay(u64::MAX) >= backoff.delay(20));
        assert_eq!(Backoff::new(Duration::ZERO).delay(100), Duration::ZERO);
    }
}
