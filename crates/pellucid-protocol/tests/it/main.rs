//! The exact JSON of plain data.

#![allow(clippy::unwrap_used, reason = "a test that panics says where")]

mod events;
mod items;
mod settings;
