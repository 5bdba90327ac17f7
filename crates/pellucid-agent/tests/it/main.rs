//! Tests of sessions through their door, with the scripted model.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]

mod skills;
