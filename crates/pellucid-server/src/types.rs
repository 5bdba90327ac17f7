//! The types of protocol version 2, as clients expect them.
//!
//! Each type derives its serialisation and its JSON schema; nothing here decides anything. Types have the names that
//! clients know. Where a value is spelt the same in session files and in the protocol, the type of `pellucid-protocol`
//! is used.

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

/// Defines empty results, which clients know by several names.
macro_rules! nothing {
    ($($name:ident: $doc:literal;)+) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct $name {}
    )+};
}

pub(crate) use nothing;
