//! Real processes: what they write, how they end, that none is left behind, and which may run.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves")]

mod agent_death;
mod approvals;
mod lifeline;
mod process;
mod snapshot;
mod terminal;
