//! Which commands and patches run, which are asked about, which are refused, and why.
//!
//! - [`part`]: an argument list, taken apart into simple commands
//! - [`rules`]: what a person wrote about commands that begin in a certain way
//! - [`wrapper`]: commands that start other commands
//! - [`program`]: where programs lie, and whether a command could have put them there
//! - [`safe`], [`dangerous`]: what is known of commands without rules
//! - [`decide`]: the decision about a command; [`explain`]: the same in words, with what would change it
//! - [`grounds`]: what records keep of a decision
//! - [`app`]: the question before a call of a connected app's tool
//! - [`amendment`]: which rule is offered to a person to be saved
//! - [`grants`]: what a person allowed for the rest of the session
//! - [`patch`]: the decision about a patch
//! - [`denial`]: whether a sandbox stopped a command, and what follows
//! - [`reach`]: what a command outside of the sandbox depends on that others could change meanwhile
//!
//! Everything here is values in, values out: a decision never asks, reads or waits.
//!
//! Not here: taking a shell script apart and reading rules (`pellucid-exec`), asking (`pellucid-agent`).

pub mod amendment;
pub mod app;
pub mod asked;
pub mod dangerous;
pub mod decide;
pub mod denial;
pub mod explain;
pub mod grants;
pub mod grounds;
pub mod part;
pub mod patch;
pub mod program;
pub mod reach;
pub mod rules;
pub mod safe;
pub mod wrapper;

/// The operating system that commands run on. It decides which sandbox there is and which programs are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Commands run on Linux.
    Linux,
    /// Commands run on macOS.
    MacOs,
    /// Commands run on Windows, where no sandbox is limited to reading.
    Windows,
    /// Commands run on any other system.
    Other,
}

impl Platform {
    /// The system that this program was built for.
    pub const HERE: Self = if cfg!(target_os = "linux") {
        Self::Linux
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Other
    };
}
