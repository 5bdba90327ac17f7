//! Moments as records name them: in UTC, with milliseconds, never running backwards within a process.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;

/// The latest moment that this process asked for, in milliseconds of Unix time.
static LATEST: AtomicI64 = AtomicI64::new(i64::MIN);

/// A point in time, to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    milliseconds: i64,
}

impl Moment {
    /// Now. After the clock is set back, the time stays the same until the clock reaches it again, so that a later event
    /// never has an earlier time. It is the clock on the wall and not one that stops while the machine sleeps.
    pub fn now() -> Self {
        let milliseconds = Timestamp::now().as_millisecond();
        let latest = LATEST.fetch_max(milliseconds, Ordering::Relaxed);
        Self { milliseconds: milliseconds.max(latest) }
    }

    /// Reads a moment of a record.
    pub fn parse(text: &str) -> Option<Self> {
        let timestamp: Timestamp = text.parse().ok()?;
        Some(Self { milliseconds: timestamp.as_millisecond() })
    }

    /// The moment in nanoseconds of Unix time; 0 before its beginning.
    pub fn nanoseconds(self) -> u64 {
        u64::try_from(self.milliseconds).unwrap_or(0).saturating_mul(1_000_000)
    }

    /// How long after another moment this one is; nothing if it is not.
    pub fn since(self, earlier: Self) -> Duration {
        let milliseconds = self.milliseconds.saturating_sub(earlier.milliseconds);
        Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let timestamp = Timestamp::from_millisecond(self.milliseconds).unwrap_or_default();
        write!(f, "{}", timestamp.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_back_as_it_was_written() {
        let text = "2026-01-02T03:04:05.678Z";
        let moment = Moment::parse(text).unwrap();
        assert_eq!(moment.to_string(), text);
        let later = Moment::parse("2026-01-02T03:05:05.679Z").unwrap();
        assert_eq!(later.since(moment), Duration::from_millis(60_001));
        assert_eq!(moment.since(later), Duration::ZERO);
        assert_eq!(Moment::parse("yesterday"), None);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_name_later_things_earlier() {
        let ahead = Timestamp::now().as_millisecond() + 60_000;
        LATEST.fetch_max(ahead, Ordering::Relaxed);
        let (one, two) = (Moment::now(), Moment::now());
        assert!(one.milliseconds >= ahead && two >= one);
    }
}
