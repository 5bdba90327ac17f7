//! The app-server: sessions for editors and other programs, over JSON-RPC.
//!
//! [`rpc`] is the frame, [`types`] are the words of the protocol, [`methods`] what clients can ask for, [`view`]
//! what they are told while a turn runs, [`turns`] what a session file says of turns that are over, [`schema`] all of
//! this for machines. [`server`] holds the sessions that are loaded; `connection` and the transports carry messages.
//!
//! Not here: what a session does. This is a face like any other and speaks to sessions through their doors.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves"))]

mod call;
pub mod connection;
pub mod ground;
mod loaded;
pub mod methods;
mod open;
pub mod rpc;
pub mod schema;
pub mod server;
mod shelf;
pub mod transport;
pub mod turns;
pub mod types;
pub mod view;

#[cfg(test)]
mod contained_tests;
#[cfg(test)]
mod tests;
