//! The Agent Client Protocol: sessions for editors and other programs that speak it.
//!
//! [`wire`] has the lines and [`connection`] the client; [`server`] holds the open sessions and `methods` what clients can
//! ask for. [`view`] makes updates of events, [`ask`] questions of events and operations of answers, [`input`] input of
//! what a client sends, [`options`] what a user may choose: values in, values out. `past` shows a stored session,
//! `commands` are those that begin with a slash.
//!
//! Not here: what a session does. This crate is a client of sessions like any other, and talks to them through their
//! queues (`pellucid_agent::door`). It is the only crate that uses the protocol's SDK.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves"))]

mod agents;
pub mod ask;
mod commands;
pub mod connection;
pub mod input;
mod methods;
mod open;
pub mod options;
mod past;
pub mod server;
mod session;
pub mod view;
pub mod wire;

#[cfg(test)]
mod tests;
