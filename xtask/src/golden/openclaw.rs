//! The suites of openclaw.

use super::Suite;

pub const SUITES: &[Suite] = &[];
