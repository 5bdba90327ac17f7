//! Sessions and turns: the one library that sees every edge.
//!
//! [`gather`] turns configuration and the world into facts, [`prepare`] adds what a layout asks for,
//! [`open`] opens a session, [`session`] holds a conversation, `drive` does what the engine's turn wishes,
//! [`door`] is how clients talk to a session, [`reshape`] what they may do to its history, [`crew`] holds the agents that a session started.
//! `habits` is what a pack does around turns: `standing` instructions, instruction `documents` that join or change,
//! messages that are said `again`, and a [`memory`]. [`phases`] are the settings that choose the prompt of a phase.
//! [`calls`] and [`patches`] are what tools were asked to do.
//! [`ground`] and [`shelf`] are what the sessions of a process that serves clients share, [`pipe`] has the lines of such clients.
//! [`log`] and [`sent`] record what happens, [`telemetry`] exports it where that is configured, [`restore`] reads it back, [`fork`] finds where a copy is cut, [`replay`]
//! proves that every request can be made again, [`fsck`] checks that for all sessions, [`rerun`] makes the requests of a
//! recorded conversation under other settings.
//!
//! Not here: deciding. What a request says and what comes next is the engine's; this crate asks,
//! waits, and reports back.

mod again;
pub mod apps;
pub mod calls;
pub mod child;
mod client_tools;
pub mod codex_version;
pub mod compact;
pub mod context_events;
pub mod crew;
pub mod cut_off;
mod documents;
pub mod door;
mod drive;
pub mod fork;
mod found_apps;
pub mod frames;
pub mod fsck;
pub mod gather;
mod ghost;
pub mod ground;
mod habits;
pub mod identity;
pub mod images;
mod jobs;
mod least;
pub mod log;
pub mod login;
pub mod mcp;
pub mod mcp_login;
pub mod memories;
pub mod memory;
pub mod metadata;
mod notify;
pub mod open;
mod open_notes;
pub mod own_git;
pub mod patches;
pub mod phases;
pub mod pipe;
pub mod prepare;
pub mod prices;
pub mod replay;
pub mod rerun;
pub mod reshape;
pub mod restore;
mod review;
pub mod revision;
pub mod rules;
pub mod sandbox;
pub mod sent;
pub mod session;
pub mod shared_facts;
pub mod shelf;
mod situation;
pub mod skills;
mod standing;
pub mod telemetry;
mod undo;
