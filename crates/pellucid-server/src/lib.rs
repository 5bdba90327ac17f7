//! The app-server: sessions for editors and other programs, over JSON-RPC.
//!
//! [`rpc`] is the frame, [`types`] are the types of the protocol, [`methods`] the methods that clients can call,
//! [`view`] turns events of a session into notifications, [`turns`] rebuilds finished turns from a session file,
//! [`schema`] generates JSON schemas and TypeScript. [`server`] holds the loaded sessions; `connection` and the
//! transports carry messages. `unload` decides which threads are unloaded while they idle. [`surface`] decides which protocol a client speaks, and [`newest`] has what clients of today
//! receive beyond that of 0.104.0.
//!
//! Not here: what a session does. The server is a client of sessions like any other, and talks to them through their
//! queues (`pellucid_agent::door`).

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves"))]

mod call;
pub mod connection;
mod loaded;
pub mod methods;
pub mod newest;
mod open;
pub mod rpc;
pub mod schema;
pub mod server;
pub mod surface;
pub mod transport;
pub mod turns;
pub mod types;
mod unload;
pub mod view;

#[cfg(test)]
mod contained_tests;
#[cfg(test)]
mod tests;
