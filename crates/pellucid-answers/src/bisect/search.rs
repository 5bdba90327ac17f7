//! The first bad one of a row of commits, where some may have to be skipped.

use std::collections::BTreeSet;

/// What is said of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BisectJudgement {
    /// The commit is like the good end.
    Good,
    /// The commit is like the bad end.
    Bad,
    /// The commit cannot be judged.
    Skip,
}

impl BisectJudgement {
    /// The judgement that the exit status of a command means; a command without a status was killed.
    pub fn of_status(status: Option<i32>) -> Self {
        match status {
            Some(0) => Self::Good,
            Some(125) => Self::Skip,
            _ => Self::Bad,
        }
    }

    /// The judgement in a word, for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skip => "skipped",
        }
    }
}

/// How a search ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BisectEnd {
    /// The commit of this number is the first bad one: it is bad, and the commit before it is good.
    Found(usize),
    /// The good end is not good, or the bad end is not bad.
    EndsAgree {
        /// What is said of the good end.
        good: BisectJudgement,
        /// What is said of the bad end.
        bad: BisectJudgement,
    },
    /// Every commit between a good one and a bad one had to be skipped.
    OnlySkipped {
        /// The number of the last good commit.
        good: usize,
        /// The number of the first commit that is known to be bad.
        bad: usize,
    },
}

/// Searches the commits 0 (the good end) to `n` (the bad end) for the first bad one.
///
/// Both ends are judged first. Without skipped commits at most ⌈log₂ n⌉ others are judged, and no commit is judged twice.
/// Each skipped commit costs one judgement more.
///
/// # Errors
/// The first error of `judge`.
pub fn first_bad<E>(n: usize, judge: &mut impl FnMut(usize) -> Result<BisectJudgement, E>) -> Result<BisectEnd, E> {
    let good = judge(0)?;
    let bad = if n == 0 { good } else { judge(n)? };
    if (good, bad) != (BisectJudgement::Good, BisectJudgement::Bad) {
        return Ok(BisectEnd::EndsAgree { good, bad });
    }
    let (mut good, mut bad) = (0, n);
    let mut skipped = BTreeSet::new();
    while bad - good > 1 {
        let Some(middle) = nearest_middle(good, bad, &skipped) else {
            return Ok(BisectEnd::OnlySkipped { good, bad });
        };
        match judge(middle)? {
            BisectJudgement::Good => good = middle,
            BisectJudgement::Bad => bad = middle,
            BisectJudgement::Skip => {
                skipped.insert(middle);
            }
        }
    }
    Ok(BisectEnd::Found(bad))
}

/// The number nearest to the middle between two that is not skipped.
fn nearest_middle(good: usize, bad: usize, skipped: &BTreeSet<usize>) -> Option<usize> {
    let middle = good + (bad - good) / 2;
    let is_left = |number: &usize| *number > good && *number < bad && !skipped.contains(number);
    (0..bad - good).find_map(|far| [middle.saturating_sub(far), middle + far].into_iter().find(is_left))
}
