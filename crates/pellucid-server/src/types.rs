//! The words of the protocol, second version: what its messages are made of, as clients expect it.
//!
//! Each type derives its serialisation and its JSON schema; nothing here decides anything. Types have the names
//! that clients know them by. Where a word is spelt the same inside and outside, the inner type is used.

pub mod app;
pub mod change;
pub mod collab;
pub mod command;
mod from_event;
pub mod input;
pub mod item;
pub mod mcp;
pub mod notification;
pub mod request;
pub mod search;
pub mod settings;
pub mod source;
pub mod thread;
pub mod usage;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// Nothing, where something could be said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}
