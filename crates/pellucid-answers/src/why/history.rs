//! Which requests of a session had something.

use pellucid_protocol::cache::CacheWord;

use super::WhyPlace;
use crate::figures::RequestFigures;

/// The part of the summary that replaces a history.
const SUMMARY: &str = "summary";

/// Which requests of a session had what is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WhyHistory {
    /// The id of the session.
    pub session: String,
    /// Every request whose bytes are known, in order.
    pub requests: Vec<SeenIn>,
    /// The numbers of requests whose bytes are not known.
    pub unknown: Vec<usize>,
}

/// What a request of a session has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenIn {
    /// The number of the request, from 1.
    pub number: usize,
    /// How many copies the request has.
    pub copies: usize,
    /// Whether all copies are in the summary of an earlier history.
    pub is_summary_only: bool,
    /// Whether the request asks for an answer.
    pub is_answer: bool,
    /// Whether the provider read it from its cache.
    pub is_cached: bool,
}

impl WhyHistory {
    /// The history of a session, still empty.
    pub fn new(session: &str) -> Self {
        Self { session: session.to_owned(), ..Self::default() }
    }

    /// Adds a request with the places that it has.
    pub fn add(&mut self, figures: Option<&RequestFigures>, number: usize, places: &[WhyPlace]) {
        let is_answer = figures.is_none_or(RequestFigures::is_answer);
        let was_there = self.requests.iter().rev().find(|it| it.is_answer).is_some_and(|it| it.copies > 0);
        let is_read = figures.is_some_and(|it| {
            let has_read = it.usage.as_ref().is_some_and(|usage| usage.cached_read > 0);
            has_read && matches!(it.verdict.verdict, CacheWord::Extended | CacheWord::Shortened)
        });
        self.requests.push(SeenIn {
            number,
            copies: places.len(),
            is_summary_only: !places.is_empty() && places.iter().all(|place| place.part == SUMMARY),
            is_answer,
            is_cached: !places.is_empty() && was_there && is_read,
        });
    }

    /// Adds a request that repeats an earlier one.
    pub fn add_again(&mut self, number: usize, of: usize) {
        match self.requests.iter().find(|it| it.number == of).cloned() {
            Some(earlier) => self.requests.push(SeenIn { number, is_cached: false, ..earlier }),
            None => self.unknown.push(number),
        }
    }

    /// The first request that had it.
    pub fn first(&self) -> Option<&SeenIn> {
        self.requests.iter().find(|it| it.copies > 0)
    }

    /// The last request that had it.
    pub fn last(&self) -> Option<&SeenIn> {
        self.requests.iter().rev().find(|it| it.copies > 0)
    }

    /// The first request from which on every request that asks for an answer read it from the cache.
    pub fn cached_since(&self) -> Option<usize> {
        let answers = self.requests.iter().filter(|it| it.is_answer && it.copies > 0);
        answers.rev().take_while(|it| it.is_cached).last().map(|it| it.number)
    }

    /// The request for the summary that replaced it, if one did: the first request for a summary after which the
    /// conversation no longer had it, or had it only in the summary.
    pub fn summarised_by(&self) -> Option<usize> {
        let answers: Vec<&SeenIn> = self.requests.iter().filter(|it| it.is_answer).collect();
        let gone = answers.windows(2).rfind(|pair| {
            let (before, after) = (pair[0], pair[1]);
            before.copies > 0 && !before.is_summary_only && (after.copies == 0 || after.is_summary_only)
        });
        if let Some(gone) = gone {
            let between = gone[0].number + 1..gone[1].number;
            return self.requests.iter().find(|it| !it.is_answer && between.contains(&it.number)).map(|it| it.number);
        }
        // The answer right before a summary is sent for the first time in the request for the summary.
        let asked = self.requests.iter().rfind(|it| !it.is_answer && it.copies > 0)?;
        let next = answers.iter().find(|it| it.number > asked.number)?;
        (next.copies == 0 || next.is_summary_only).then_some(asked.number)
    }

    /// The last request before `number` that had it, and the first one after that which asks for an answer and lacks it.
    pub fn lost_before(&self, number: usize) -> Option<(usize, usize)> {
        let had = |is_wanted: fn(&SeenIn) -> bool| {
            self.requests.iter().rev().find(|it| it.number < number && it.copies > 0 && is_wanted(it))
        };
        let last = had(|it| it.is_answer).or_else(|| had(|_| true))?.number;
        let lost = self.requests.iter().find(|it| it.number > last && it.is_answer && it.copies == 0);
        Some((last, lost.map_or(number, |it| it.number)))
    }
}
