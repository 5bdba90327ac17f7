//! Test support: things that stand in for the world and fail on cue.
//!
//! A scripted model server on the loopback interface, a server of tools that is a shell script, a terminal,
//! folders and workspaces built from a text, what is logged, and somebody who swaps folders for links. Used as a dev-dependency by every
//! other crate, so it depends on none of them.
//!
//! Not here: the embedded scripted model, which is a feature of the product (`pellucid-model`).

#![warn(missing_docs)]

mod corpus;
pub mod fixture;
mod logged;
pub mod mcp_script;
pub mod mock_server;
pub mod mock_socket;
pub mod mock_wires;
mod page;
#[cfg(unix)]
pub mod swapper;
#[cfg(unix)]
pub mod terminal;
pub mod workspace;

pub use corpus::check_corpus;
pub use logged::logged;
pub use mcp_script::McpScript;
pub use mock_server::MockReply;
pub use mock_server::MockServer;
pub use mock_server::RecordedRequest;
pub use mock_socket::MockSocket;
pub use mock_socket::Say;
pub use page::keep_table_of_attempts;
#[cfg(unix)]
pub use swapper::Swapper;
#[cfg(unix)]
pub use swapper::n_race_rounds;
#[cfg(unix)]
pub use terminal::run_at_terminal;
pub use workspace::Workspace;
