//! How messages travel: over standard input and output, or over WebSockets.

pub mod listen;
pub mod stdio;
pub mod websocket;
