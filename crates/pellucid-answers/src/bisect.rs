//! Where an answer changes: the first commit, the first request, or the parts of a request that it depends on.
//!
//! - `search`: the first bad one of a row of commits, where some may have to be skipped
//! - `minimise`: a smallest set of parts that keeps an outcome
//! - `question`: what is asked of the request of a commit
//! - `divergence`: the first row at which two sessions diverge
//! - `parts`: what can be taken out of a request, and the request without it
//!
//! Not here: making requests, and running commands that judge them.

mod divergence;
mod minimise;
mod parts;
mod question;
mod search;
#[cfg(test)]
mod tests;

pub use self::divergence::DivergedRow;
pub use self::divergence::first_row;
pub use self::minimise::MinimisedSet;
pub use self::minimise::minimise;
pub use self::parts::RemovablePart;
pub use self::parts::removable_parts;
pub use self::parts::without;
pub use self::question::AskedFinding;
pub use self::question::BisectQuestion;
pub use self::question::PartState;
pub use self::question::part_names;
pub use self::search::BisectEnd;
pub use self::search::BisectJudgement;
pub use self::search::first_bad;

/// The name and version of the form that `context bisect --json` prints.
pub const SCHEMA: &str = "pellucid.bisect/1";
