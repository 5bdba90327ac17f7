//! Watching other programs: forwards what a program sends to its model, and records it as a session.
//!
//! A server on a loopback address is between the program and the servers of its models. Bytes are forwarded as they
//! come, in both directions. A copy of every body becomes a request of a session, with the record that Pellucid keeps of
//! every request, so that every command about requests works on it.
//!
//! - [`services`]: the variables by which programs find their servers
//! - [`proxy`]: the server: takes requests, forwards them, streams answers
//! - `strangers`: connections that have not shown the path
//! - `held`: the limit of bytes that wait to be recorded
//! - `headers`: which headers are forwarded, and which are kept
//! - `tee`: an answer on its way, with a copy for the record
//! - `sockets`, `frames`: WebSockets, and their messages
//! - `scan`, `taken`: a body taken apart into what surrounds the items, and the items
//! - `documents`, `named`: files whose text a request may have, those that it names among them
//! - `origins`: where the bytes of a body came from, found by content
//! - `answer`: usage and items of an answer
//! - `said`: the conversation in the form of a session file
//! - `conversation`, `record`: conversations, distinguished and written
//!
//! Not here: starting the program (`pellucid-exec`), and all answers about requests (`pellucid-answers`).

mod answer;
mod conversation;
mod documents;
mod frames;
mod headers;
mod held;
mod named;
mod origins;
pub mod proxy;
pub mod record;
mod said;
mod scan;
pub mod services;
mod sockets;
mod strangers;
mod taken;
mod tee;
