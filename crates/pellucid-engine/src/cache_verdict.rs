//! The verdict about the provider's cache: compares what we sent with the counts that the provider returns.

use std::time::Duration;

use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::cache::CacheWord;

use crate::continuity::Continuity;

/// A request and the one before it, as far as the cache verdict needs them.
#[derive(Debug, Clone, Copy, Default)]
pub struct CacheGrounds<'a> {
    /// Whether the session sent something before.
    pub has_before: bool,
    /// How the request continues that; absent if that is not known.
    pub continuity: Option<&'a Continuity>,
    /// How many tokens the provider counted in the request before.
    pub tokens_before: Option<i64>,
    /// How many tokens the provider read from its cache for this one, if the provider reports it.
    pub tokens_read: Option<i64>,
    /// How long the session was idle between the two.
    pub idle: Option<Duration>,
    /// How long the provider keeps what it has read.
    pub kept_for: Option<Duration>,
}

impl CacheGrounds<'_> {
    /// The verdict about the provider's cache for this request.
    pub fn verdict(&self) -> CacheVerdict {
        let broken = self.continuity.and_then(|it| it.broken.as_ref());
        let expected = self.continuity.zip(self.tokens_before).map(|(it, tokens)| share(it, tokens));
        CacheVerdict {
            verdict: self.word(expected),
            cause: broken.map(|it| it.cause.as_str().to_owned()),
            expected: expected.filter(|_| self.has_before),
            read: self.tokens_read,
            idle_ms: self.idle.map(|idle| u64::try_from(idle.as_millis()).unwrap_or(u64::MAX)),
        }
    }

    fn word(&self, expected: Option<i64>) -> CacheWord {
        if !self.has_before {
            return CacheWord::Cold;
        }
        let Some(continuity) = self.continuity else {
            return CacheWord::Unknown;
        };
        if continuity.broken.is_some() {
            return CacheWord::Broken;
        }
        let Some(read) = self.tokens_read else {
            return CacheWord::Unknown;
        };
        // Providers keep blocks of tokens, and some only up to marks, so a little is always read again.
        let is_read = read > 0 && expected.is_none_or(|expected| read >= expected / 2);
        match (is_read, self.idle, self.kept_for) {
            (true, ..) if continuity.is_shortened => CacheWord::Shortened,
            (true, ..) => CacheWord::Extended,
            (false, Some(idle), Some(kept_for)) if idle > kept_for => CacheWord::Expired,
            (false, Some(_), Some(_)) => CacheWord::Missed,
            (false, ..) => CacheWord::Unknown,
        }
    }
}

/// The share of the tokens of the request before that are kept.
fn share(continuity: &Continuity, tokens: i64) -> i64 {
    let (kept, of) = (continuity.kept_bytes as u128, continuity.previous_bytes.max(1) as u128);
    let tokens = u128::try_from(tokens).unwrap_or(0);
    i64::try_from(tokens * kept / of).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuity::Break;
    use crate::continuity::Cause;

    fn continuity(broken: Option<Cause>, is_shortened: bool) -> Continuity {
        let broken = broken.map(|cause| Break {
            first_byte: 10,
            part_bytes: 3,
            part: "base".into(),
            source: String::new(),
            tokens_rebilled: 5,
            cause,
        });
        let kept_bytes = if broken.is_some() || is_shortened { 600 } else { 1000 };
        let extends_bytes = kept_bytes;
        let items_end = extends_bytes;
        Continuity {
            kept_bytes,
            previous_bytes: 1000,
            extends_bytes,
            items_end,
            is_shortened,
            broken,
            changes: Vec::new(),
        }
    }

    #[track_caller]
    fn check_verdict(grounds: &CacheGrounds<'_>, expected: &str) {
        let CacheVerdict { verdict, cause, expected: tokens, .. } = grounds.verdict();
        let cause = cause.map_or_else(String::new, |cause| format!(" ({cause})"));
        let tokens = tokens.map_or_else(String::new, |tokens| format!(", {tokens} expected"));
        assert_eq!(format!("{verdict}{cause}{tokens}"), expected);
    }

    #[test]
    fn every_request_has_a_verdict() {
        let minutes = |n: u64| Some(Duration::from_secs(60 * n));
        let (same, shorter) = (continuity(None, false), continuity(None, true));
        let other = continuity(Some(Cause::Tools), false);
        let grounds = CacheGrounds {
            has_before: true,
            continuity: Some(&same),
            tokens_before: Some(5000),
            tokens_read: Some(4992),
            idle: minutes(1),
            kept_for: minutes(5),
        };
        check_verdict(&CacheGrounds { has_before: false, continuity: None, ..grounds }, "cold");
        check_verdict(&grounds, "extended, 5000 expected");
        check_verdict(&CacheGrounds { idle: minutes(60), ..grounds }, "extended, 5000 expected");
        check_verdict(&CacheGrounds { continuity: Some(&other), ..grounds }, "broken (tools), 3000 expected");
        check_verdict(
            &CacheGrounds { continuity: Some(&other), tokens_read: None, ..grounds },
            "broken (tools), 3000 expected",
        );
        let shortened = CacheGrounds { continuity: Some(&shorter), tokens_read: Some(2900), ..grounds };
        check_verdict(&shortened, "shortened, 3000 expected");
        let unread = CacheGrounds { tokens_read: Some(0), ..grounds };
        check_verdict(&unread, "missed, 5000 expected");
        check_verdict(&CacheGrounds { tokens_read: Some(1000), ..grounds }, "missed, 5000 expected");
        check_verdict(&CacheGrounds { idle: minutes(6), ..unread }, "expired, 5000 expected");
        check_verdict(
            &CacheGrounds { idle: minutes(6), continuity: Some(&shorter), ..unread },
            "expired, 3000 expected",
        );
        check_verdict(&CacheGrounds { kept_for: None, ..unread }, "unknown, 5000 expected");
        check_verdict(&CacheGrounds { idle: None, ..unread }, "unknown, 5000 expected");
        check_verdict(&CacheGrounds { tokens_read: None, ..grounds }, "unknown, 5000 expected");
        check_verdict(&CacheGrounds { continuity: None, ..grounds }, "unknown");
        check_verdict(&CacheGrounds { tokens_before: None, tokens_read: Some(1), ..grounds }, "extended");
    }
}
