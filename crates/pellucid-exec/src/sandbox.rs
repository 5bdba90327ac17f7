//! The sandbox of a child process: read-only, writing in given folders, or no limits.
//!
//! A sandbox turns one argument list into another. On Linux the new one begins with this very
//! program, which plays the helper: it confines itself and then starts the command, so there is
//! nothing to install. On macOS it begins with the system's own tool.
//!
//! - `confinement`: the public API: policy and command in, argument list out
//! - `probe`: finds the mechanisms that work on this machine, and chooses one
//! - `gaps`: the gaps of each mechanism, for documentation and `doctor`
//! - `order`: the helper's arguments
//! - `helper`: the helper itself
//! - `cell`: the messages to namespaces that were made before the command came
//! - `roots`: writable folders, in the state in which the user allowed them
//! - `protected`: the paths that stay read-only under a writable root
//! - `aside`: moves files that a backend could not prevent out of the way before they are read
//! - `denial`: whether a failure looks like a denial
//! - `seatbelt`: the profile for macOS
//!
//! Not here: where commands may write (the workspace says), and asking people for more.

pub mod aside;
#[cfg(target_os = "linux")]
pub(crate) mod cell;
mod confinement;
pub mod gaps;
#[cfg(target_os = "linux")]
pub(crate) mod helper;
pub(crate) mod order;
mod probe;
pub mod protected;
pub mod roots;
pub mod seatbelt;

use std::process::ExitCode;

pub use confinement::Confinement;
pub use confinement::Sandbox;
pub use confinement::SandboxError;
pub use order::HELPER;
pub use order::HELPER_FAILED;
pub use probe::ProbeFinding;
pub use probe::ProbeFindings;
pub use probe::WantedBackend;
pub use protected::Protection;
pub use protected::ProtectionBasis;
pub use roots::Roots;
pub use roots::WritableFolder;

/// Acts as the helper if the arguments ask for it, and returns the exit code. Otherwise returns `None` and the
/// program continues. Must be called first in `main`, before any thread is started.
pub fn take_over() -> Option<ExitCode> {
    #[cfg(target_os = "linux")]
    let played = helper::take_over();
    #[cfg(not(target_os = "linux"))]
    let played = None;
    played
}

/// Ends what is ready for commands to come, and waits until nothing of it is left on the disk. Commands may come all the
/// same.
pub async fn let_go() {
    #[cfg(target_os = "linux")]
    crate::cells::let_go().await;
}

/// A mechanism that confines commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Backend {
    /// Our own namespaces, with Landlock and a system call filter inside.
    Namespaces,
    /// The program `bwrap`, with Landlock and a system call filter inside.
    Bubblewrap,
    /// Landlock and a system call filter alone.
    Landlock,
    /// The sandbox of macOS.
    Seatbelt,
}

impl Backend {
    /// All, the strongest first.
    pub const ALL: [Self; 4] = [Self::Namespaces, Self::Bubblewrap, Self::Landlock, Self::Seatbelt];

    /// The backends of this system, the strongest first.
    pub fn of_this_system() -> &'static [Self] {
        if cfg!(target_os = "linux") {
            &Self::ALL[..3]
        } else if cfg!(target_os = "macos") {
            &Self::ALL[3..]
        } else {
            &[]
        }
    }

    /// The name of the backend in configuration and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }

    /// The backend with this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
