//! When the client asks what the next request would be, and what it knows of it.
//!
//! While a panel is open, the client asks as soon as something changed and the last answer is there. While none is open, it
//! asks once when a person pauses, so that the last row can warn before a message is sent. Without a change it never asks.

use std::time::Duration;

use crate::look::report::CacheOutlook;
use crate::look::report::LookDraft;
use crate::look::report::LookReport;

/// How long a person pauses before the client asks, while no panel is open.
pub const PAUSE: Duration = Duration::from_millis(400);

/// How long what was read of files counts while a person types on.
const FRESH: Duration = Duration::from_secs(10);

/// What is known of the next request.
#[derive(Debug, Default)]
pub struct Outlook {
    /// The newest answer.
    report: Option<Result<Box<LookReport>, String>>,
    /// What was asked about last, and when.
    asked: Option<(LookDraft, Duration)>,
    /// Whether an answer is on its way.
    is_waiting: bool,
    /// When something changed that has not been asked about.
    changed: Option<Duration>,
    /// Whether the session changed since it was asked, so that the same draft gives another request.
    is_other_session: bool,
    /// Whether tokens are counted and not estimated.
    pub is_exact: bool,
}

impl Outlook {
    /// What the next request would be made of, as far as it is known.
    pub fn report(&self) -> Option<&LookReport> {
        self.report.as_ref()?.as_ref().ok().map(AsRef::as_ref)
    }

    /// Why no request would be sent, if that is so.
    pub fn refusal(&self) -> Option<&str> {
        self.report.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// Whether the draft or the cursor may have changed.
    pub fn draft_changed(&mut self, now: Duration) {
        self.changed = Some(now);
    }

    /// The session changed: a turn went on, or settings are others. Without `is_urgent` it is asked about with the next
    /// draft.
    pub fn session_changed(&mut self, now: Duration, is_urgent: bool) {
        self.is_other_session = true;
        if is_urgent {
            self.changed = Some(now);
        }
    }

    /// What is known of a session about which nothing was asked.
    pub fn of_other_session(&self) -> Self {
        Self { is_exact: self.is_exact, ..Self::default() }
    }

    /// A message was sent, so what is known is of the last request.
    pub fn sent(&mut self) {
        self.is_other_session = true;
        self.changed = None;
        self.report = None;
    }

    /// When to ask, while no panel is open.
    pub fn due(&self) -> Option<Duration> {
        self.changed.filter(|_| !self.is_waiting).map(|changed| changed + PAUSE)
    }

    /// Whether to ask about this draft now. The caller then asks.
    pub fn asks(&mut self, draft: &LookDraft, now: Duration) -> bool {
        if self.is_waiting {
            // The answer asks again.
            self.changed.get_or_insert(now);
            return false;
        }
        self.changed = None;
        let is_known = |(asked, at): &(LookDraft, Duration)| asked == draft && now.saturating_sub(*at) < FRESH;
        if !self.is_other_session && self.asked.as_ref().is_some_and(is_known) {
            return false;
        }
        self.asked = Some((draft.clone(), now));
        self.is_other_session = false;
        self.is_waiting = true;
        true
    }

    /// The answer came. Returns whether something changed meanwhile.
    pub fn answered(&mut self, report: Result<Box<LookReport>, String>) -> bool {
        self.is_waiting = false;
        self.report = Some(report);
        self.changed.is_some() || self.is_other_session
    }

    /// What the last row says of the next request, if it would be more expensive than it has to be.
    pub fn alarm(&self) -> Option<String> {
        let CacheOutlook::Breaks(broken) = &self.report()?.outlook else { return None };
        let cost = broken.cost.as_ref().map_or_else(String::new, |cost| format!(", {cost}"));
        Some(format!(
            "breaks the cache: {} tokens paid again{cost}, from byte {} on: {}",
            super::dock::number(broken.tokens),
            super::dock::number(broken.byte),
            broken.what,
        ))
    }
}
