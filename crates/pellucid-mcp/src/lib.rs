//! The client of MCP servers: programs and services that run tools for the model.
//!
//! - [`spec`]: what is known of a server before it is started
//! - [`servers`]: the servers of a session, started side by side, asked by name
//! - [`auth`]: how a server knows who asks
//! - `client`: a connection to one server, over pipes or HTTP
//!
//! The protocol itself is the official SDK's (`rmcp`); what it says is turned into plain data here, so that
//! nothing else knows the SDK.
//!
//! Not here: which names the model calls tools by and what it sees of their answers (the engine's `mcp`),
//! where the configuration comes from, who is told.

#![warn(missing_docs)]

pub mod auth;
pub mod servers;
pub mod spec;

mod client;
mod stderr;
