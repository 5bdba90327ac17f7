//! The server: who is connected, and which sessions are loaded.

use crate::ground::Ground;

/// One process for many clients and sessions.
#[derive(Debug)]
pub struct Server {
    /// What all sessions share.
    pub ground: Ground,
}

impl Server {
    /// A server that nobody has connected to.
    pub fn new(ground: Ground) -> Self {
        Self { ground }
    }
}
