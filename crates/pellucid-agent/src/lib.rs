//! Sessions and turns: the one library that sees every edge.
//!
//! [`gather`] turns configuration and the world into facts, [`prepare`] adds what a layout asks for,
//! [`session`] holds a conversation, `drive` does what the engine's turn wishes, [`door`] is how faces talk
//! to a session. What a pack says again and what it remembers of a session are in `standing` and [`memory`].
//!
//! Not here: deciding. What a request says and what comes next is the engine's; this crate asks,
//! waits, and reports back.

pub mod door;
mod drive;
pub mod gather;
pub mod identity;
pub mod images;
pub mod log;
pub mod memory;
pub mod metadata;
pub mod prepare;
mod restore;
pub mod session;
pub mod skills;
mod standing;
