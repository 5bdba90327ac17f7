//! The suites of agentcore.

use super::Suite;

pub const SUITES: &[Suite] = &[];
