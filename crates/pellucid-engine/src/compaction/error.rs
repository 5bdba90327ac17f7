//! Why a history could not be made shorter.

use pellucid_protocol::event::ErrorInfo;
use pellucid_protocol::failure::FailureCode;

/// Why a history could not be made shorter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompactionError {
    /// The summary saved less than is wanted.
    #[error(
        "the summary did not make the history small enough ({before} tokens before, {after} after, at least {percent} % \
         less is wanted); start a new session, or lower compaction.saving_min"
    )]
    Futile {
        /// The estimated tokens before.
        before: usize,
        /// The estimated tokens after the summary.
        after: usize,
        /// The required saving in percent.
        percent: u8,
    },
    /// Two summaries in a row saved nothing.
    #[error(
        "a summary did not make the history smaller ({before} tokens before, {after} after), so no further summary is made; \
         start a new session or raise model_auto_compact_token_limit"
    )]
    FutileAgain {
        /// The estimated tokens before.
        before: usize,
        /// The estimated tokens after the summary.
        after: usize,
    },
    /// Nothing is left that could be left out of the question.
    #[error("even the request for a summary does not fit the model's window; start a new session")]
    DoesNotFit,
    /// The question was asked as often as it may.
    #[error(
        "the request for a summary does not fit the model's window after {calls} attempts; start a new session, or raise \
         compaction.overflow_calls_max"
    )]
    StillDoesNotFit {
        /// The number of attempts.
        calls: usize,
    },
    /// The summary does not account for what the person asked for.
    #[error("the summary does not mark these completed requests as completed: {}", numbers(missing))]
    Refused {
        /// The numbers of the requests.
        missing: Vec<usize>,
    },
    /// The reply had no summary in it.
    #[error("the reply has no summary in it")]
    Empty,
}

impl CompactionError {
    /// The kind, in the words of other programs.
    pub fn info(&self) -> ErrorInfo {
        match self {
            Self::Futile { .. } | Self::FutileAgain { .. } | Self::DoesNotFit | Self::StillDoesNotFit { .. } => {
                ErrorInfo::ContextWindowExceeded
            }
            Self::Refused { .. } | Self::Empty => ErrorInfo::Other,
        }
    }

    /// The kind, in our own word.
    pub fn code(&self) -> FailureCode {
        match self.info() {
            ErrorInfo::ContextWindowExceeded => FailureCode::Overflow,
            _ => FailureCode::Other,
        }
    }
}

fn numbers(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
