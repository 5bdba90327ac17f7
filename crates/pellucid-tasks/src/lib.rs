//! Tasks with an owner, and panics that end one task only.
//!
//! - [`Task`]: one task; its owner waits for it, or stops it by dropping it
//! - [`Tasks`]: tasks that are not awaited one by one; dropping the set stops them all
//! - [`contained`]: a future whose panic becomes an error of its caller
//! - [`hook`]: what a panic writes to the log
//!
//! All other crates start tasks and threads through this one; a lint in `clippy.toml` refuses `tokio::spawn` and the like.
//!
//! A panic is logged with the name of the task and the place in the code, at level `error`. The message of a panic may
//! quote what the task was working on, so the message is logged at level `debug` only.
//!
//! Not here: what a caller does about a failed task. A tool answers that it failed, a request gets an error.

mod contained;
pub mod hook;
mod task;
mod tasks;

pub use crate::contained::Contained;
pub use crate::contained::Failed;
pub use crate::contained::contained;
pub use crate::task::Task;
pub use crate::tasks::Tasks;
