//! Tests of the front door, from outside.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]

mod diffs;
mod examples;
mod extensions;
mod inputs;
mod replays;
