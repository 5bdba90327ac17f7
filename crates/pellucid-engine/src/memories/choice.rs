//! Chooses the sessions that are read.

/// The clients whose sessions are read: those in which a person talked. Sessions of scripts and of agents are not.
pub const SOURCES: [&str; 2] = ["cli", "vscode"];

/// How many of the sessions that changed last are looked at.
pub const LOOKED_AT_MAX: usize = 5_000;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// How old and how idle a session has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ages {
    /// The maximum age of the last change, in days.
    pub days_max: i64,
    /// The minimum age of the last change, in hours.
    pub idle_hours_min: i64,
}

impl Ages {
    /// Whether a session is read that changed last at `updated_at`, both in seconds of Unix time.
    pub fn take(self, updated_at: i64, now: i64) -> bool {
        self.reach(updated_at, now) && updated_at <= now.saturating_sub(self.idle_hours_min.max(0) * HOUR)
    }

    /// Whether a session is young enough. Among sessions in the order of their change, none after one that is not is.
    pub fn reach(self, updated_at: i64, now: i64) -> bool {
        updated_at >= now.saturating_sub(self.days_max.max(0) * DAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000 * DAY;

    #[track_caller]
    fn check_take(days_max: i64, idle_hours_min: i64, age: i64, expected: bool) {
        assert_eq!(Ages { days_max, idle_hours_min }.take(NOW - age, NOW), expected);
    }

    #[test]
    fn sessions_are_read_between_two_ages() {
        check_take(30, 12, 12 * HOUR - 1, false);
        check_take(30, 12, 12 * HOUR, true);
        check_take(30, 12, 30 * DAY, true);
        check_take(30, 12, 30 * DAY + 1, false);
        check_take(0, 1, 2 * HOUR, false);
        check_take(30, 12, -HOUR, false);
    }
}
