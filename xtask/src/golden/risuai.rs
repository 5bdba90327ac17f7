//! The suites of risuai.

use super::Suite;

pub const SUITES: &[Suite] = &[];
