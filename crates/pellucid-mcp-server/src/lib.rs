//! Sessions as tools of the Model Context Protocol, for programs that are MCP clients.
//!
//! - [`server`]: the open sessions of the process; `settings`, `open`: from the arguments of a tool to a session; `session`: a session,
//!   its turns and who called; `question`: what a session asks, and what an answer means
//! - [`parity`]: the answers that Codex CLI 0.104.0 gives, over pipes
//! - [`standard`]: everything that the protocol has, over pipes and, with [`listen`], over HTTP on a loopback address
//!
//! Messages are the SDK's types. `standard` leaves the protocol to the SDK; `parity` answers the lines itself, because its
//! answers are not those of the SDK: some methods have none, and replies to questions have another form.
//!
//! Not here: what a session does. This crate is a client of sessions like any other, and talks to them through their
//! queues (`pellucid_agent::door`).

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves"))]

pub mod listen;
mod open;
pub mod parity;
mod question;
pub mod server;
mod session;
mod settings;
pub mod standard;

#[cfg(test)]
mod tests;
