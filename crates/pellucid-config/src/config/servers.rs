//! Settings of the servers of the program.

use std::time::Duration;

use crate::keys::default::count_or_default;
use crate::keys::default::flag_or_default;
use crate::reader::Reader;

/// How the servers of the program behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSettings {
    /// Which threads of the app-server stay loaded.
    pub threads: ThreadSettings,
    /// Whether `mcp-server` answers everything that the protocol has, instead of answering as Codex CLI.
    pub is_standard_mcp: bool,
}

impl ServerSettings {
    pub(crate) fn read(reader: &Reader<'_>) -> Self {
        Self { threads: ThreadSettings::read(reader), is_standard_mcp: flag_or_default!(reader, "mcp_server.standard") }
    }
}

/// Which threads of the app-server stay loaded while they idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSettings {
    /// How many threads stay loaded, those that were used last.
    pub loaded_max: usize,
    /// For how long a thread idles before it is unloaded; absent if it is not unloaded for that.
    pub unload_after: Option<Duration>,
}

impl ThreadSettings {
    fn read(reader: &Reader<'_>) -> Self {
        let seconds = count_or_default!(reader, "app_server.unload_after_seconds");
        Self {
            loaded_max: count_or_default!(reader, "app_server.loaded_threads_max"),
            unload_after: (seconds > 0).then(|| Duration::from_secs(seconds as u64)),
        }
    }
}
