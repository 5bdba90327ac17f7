//! The terminal client: a conversation with a session, drawn inline below the terminal's scrollback.
//!
//! - `key`: keys, as every part of the client receives them
//!
//! State is pure: an event goes in, a new state and effects come out. Drawing reads the state and writes nothing else.

pub mod key;
