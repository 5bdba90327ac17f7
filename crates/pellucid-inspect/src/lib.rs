//! The inspector: a page on a loopback address that shows what sessions sent, and its interface for programs.
//!
//! The page reads session files and their records and nothing else; it does not talk to the process that runs a turn. All
//! figures come from `pellucid-answers`, `pellucid-agent` and `pellucid-store`, so a view shows what a command prints.
//!
//! - [`server`]: listens, limits connections, ends by itself
//! - [`doors`]: who may come in: address, origin, code and cookie
//! - `route`, `query`: from a path to what is asked for
//! - `answer`: the answers, one file for each group of paths
//! - `view`, `bodies`: what is known of a session and of its requests, kept between answers
//! - `index`: what is known of a session, kept beside its record for the next server
//! - `events`: a record that grows, as events
//! - `mask`: hides what looks like a secret
//! - `reply`, `error`: answers and refusals as HTTP has them
//! - [`questions`]: questions that the program answers as its commands do
//! - `page`: the files of the page
//! - [`export`]: the page about one session as one file
//! - [`schemas`]: the JSON Schemas of the answers
//!
//! Not here: figures, drawing, and everything that writes but the index.

mod answer;
mod bodies;
pub mod doors;
mod error;
mod events;
pub mod export;
mod index;
mod mask;
mod paced;
mod page;
mod query;
pub mod questions;
mod reply;
mod route;
pub mod schemas;
pub mod server;
mod view;
