//! Questions that strategies ask, and answers to them.
//!
//! A strategy runs from its beginning with all answers so far. It walks the same way as before up
//! to the first question without an answer, and ends there.

use super::Stop;

/// Something a strategy wants to know.
#[derive(Debug, Clone, PartialEq)]
pub enum MemoryQuestion {
    /// Summaries, one for each list of messages. They may be asked for side by side; after one that
    /// fails, those that have not begun need not be asked for.
    Summaries(Vec<Vec<SummaryMessage>>),
    /// Vectors, one for each text.
    Vectors {
        /// The texts to make vectors of.
        texts: Vec<String>,
        /// Whether the vectors should be stored.
        keep: VectorLifetime,
    },
}

/// Whether vectors are worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorLifetime {
    /// The vectors may be asked for again, so the caller stores them.
    Kept,
    /// The vectors are needed once.
    Once,
}

/// A message of a request for a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryMessage {
    /// The role of the message.
    pub role: super::entry::ChatRole,
    /// The text of the message.
    pub content: String,
}

/// The answer to a question of a strategy.
#[derive(Debug, Clone, PartialEq)]
pub enum MemoryAnswer {
    /// Summaries in the order of the question.
    Summaries(Vec<Result<String, String>>),
    /// The vectors in the order of the question, or the error.
    Vectors(Result<Vec<Vec<f32>>, String>),
}

/// All answers so far, walked in the order of the questions.
#[derive(Debug)]
pub struct Answers<'a> {
    given: &'a [MemoryAnswer],
    next: usize,
}

impl<'a> Answers<'a> {
    /// A walk from the beginning.
    pub fn new(given: &'a [MemoryAnswer]) -> Self {
        Self { given, next: 0 }
    }

    /// The answer to a question for one summary.
    pub(super) fn summary(&mut self, messages: Vec<SummaryMessage>) -> Result<Result<String, String>, Stop> {
        let mut all = self.summaries(vec![messages])?;
        Ok(if all.is_empty() { Err("no answer".to_owned()) } else { all.swap_remove(0) })
    }

    /// The answers to a question for several summaries.
    pub(super) fn summaries(
        &mut self,
        requests: Vec<Vec<SummaryMessage>>,
    ) -> Result<Vec<Result<String, String>>, Stop> {
        match self.given.get(self.next) {
            Some(MemoryAnswer::Summaries(all)) => {
                self.next += 1;
                Ok(all.clone())
            }
            _ => Err(Stop::Asks(MemoryQuestion::Summaries(requests))),
        }
    }

    /// Vectors of texts; nothing is asked about no texts.
    pub(super) fn vectors(
        &mut self,
        texts: Vec<String>,
        keep: VectorLifetime,
    ) -> Result<Result<Vec<Vec<f32>>, String>, Stop> {
        if texts.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        match self.given.get(self.next) {
            Some(MemoryAnswer::Vectors(vectors)) => {
                self.next += 1;
                Ok(match vectors {
                    Ok(vectors) if vectors.len() != texts.len() => {
                        Err(format!("{} vectors for {} texts", vectors.len(), texts.len()))
                    }
                    other => other.clone(),
                })
            }
            _ => Err(Stop::Asks(MemoryQuestion::Vectors { texts, keep })),
        }
    }
}
