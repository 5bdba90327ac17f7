//! Test support: replacements for the outside world that fail on cue.
//!
//! A scripted model server on the loopback interface, an MCP server that is a shell script, another with a login, a collector
//! of telemetry, a terminal, a disk that fails, folders and workspaces built from a text, captured log lines, a check of JSON
//! Schemas, and a thread that swaps folders for links. Other crates use it as a dev-dependency, so it depends on none of them
//! but `pellucid-files`, whose disk it imitates.
//!
//! Not here: the embedded scripted model, which is a feature of the product (`pellucid-model`).

#![warn(missing_docs)]

pub mod acp;
mod corpus;
mod faulty_disk;
pub mod fixture;
pub mod hostile_mcp;
#[cfg(unix)]
pub mod live_terminal;
mod logged;
pub mod mcp_script;
pub mod mock_login;
pub mod mock_server;
pub mod mock_socket;
pub mod mock_wires;
pub mod otlp;
mod page;
mod prefix_cache;
mod schema;
#[cfg(unix)]
pub mod swapper;
#[cfg(unix)]
pub mod terminal;
pub mod workspace;

pub use acp::AcpLines;
pub use corpus::check_corpus;
pub use faulty_disk::DiskFault;
pub use faulty_disk::FaultyDisk;
pub use hostile_mcp::HostileMcp;
pub use hostile_mcp::HostileMcpServer;
#[cfg(unix)]
pub use live_terminal::LiveTerminal;
pub use logged::logged;
pub use mcp_script::McpScript;
pub use mock_login::Iss;
pub use mock_login::LoginPlan;
pub use mock_login::MockLogin;
pub use mock_server::MockReply;
pub use mock_server::MockServer;
pub use mock_server::RecordedRequest;
pub use mock_socket::MockSocket;
pub use mock_socket::Say;
pub use otlp::OtlpReceiver;
pub use page::keep_table_of_attempts;
pub use schema::fits_schema;
#[cfg(unix)]
pub use swapper::Swapper;
#[cfg(unix)]
pub use swapper::n_race_rounds;
#[cfg(unix)]
pub use terminal::run_at_terminal;
pub use terminal::run_at_terminal_of;
pub use workspace::Workspace;
