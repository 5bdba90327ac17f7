//! The client of MCP servers: programs and services that run tools for the model.
//!
//! - [`spec`]: what is known of a server before it is started
//! - [`servers`]: the servers of a session, started concurrently, called by name
//! - [`elicitation`]: what servers want to know from a person
//! - [`auth`]: how requests to a server are authenticated
//! - [`login`]: logins of servers: getting tokens, keeping them, renewing them
//! - `client`: a connection to one server: `lines` over pipes, `web` and `login` over HTTP, `us` for what the server asks and reports
//! - `listing`: the tools that a server lists, and `news`: that they have changed
//! - `revision`: in which revision of the protocol a server is greeted
//! - `failure`: the sentences that people read when a request fails
//!
//! The protocol itself is the official SDK's (`rmcp`); this crate converts its types to plain data, so that no other
//! crate knows the SDK.
//!
//! Not here: the names by which the model calls tools and what it sees of their results (the engine's `mcp`), where the
//! configuration comes from, and sending events to clients.

#![warn(missing_docs)]

pub mod auth;
pub mod elicitation;
pub mod login;
pub mod servers;
pub mod spec;

mod client;
mod failure;
mod lines;
mod listing;
mod news;
mod revision;
mod stderr;
mod us;
mod web;
