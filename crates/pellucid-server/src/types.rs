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

/// Makes answers that say nothing, which clients know by several names.
macro_rules! nothing {
    ($($name:ident: $doc:literal;)+) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
        pub struct $name {}
    )+};
}

pub(crate) use nothing;
