//! The data types that all crates of Pellucid share: items, inputs, events, settings, usage, names of protected
//! folders.
//!
//! Plain data and its exact JSON. Session files, API formats and other programs rely on it: key order, what is omitted
//! and what is `null` are part of the type.
//!
//! Not here: behaviour. Nothing in this crate decides, reads or waits.

#![warn(missing_docs)]

pub mod agent;
pub mod approval;
pub mod cache;
pub mod call;
pub mod call_record;
pub mod change;
pub mod context_event;
pub mod dynamic_tool;
pub mod elicitation;
pub mod environment;
pub mod event;
pub mod exec;
pub mod failure;
pub mod feature;
pub mod id;
pub mod input;
pub mod item;
pub mod mcp;
pub mod memories;
pub mod model;
pub mod number;
pub mod operation;
pub mod parsed_command;
pub mod price;
pub mod project_docs;
pub mod protected;
pub mod provider;
pub mod question;
pub mod reply;
pub mod review;
pub mod schema;
pub mod seal;
pub mod secret;
pub mod settings;
pub mod telemetry;
pub mod usage;
