//! The suites of ads.

use super::Suite;

pub const SUITES: &[Suite] = &[];
