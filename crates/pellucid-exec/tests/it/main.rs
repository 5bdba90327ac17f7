//! Real processes: what they write, how they end, and that none is left behind.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]

mod agent_death;
mod lifeline;
mod process;
mod snapshot;
mod terminal;
