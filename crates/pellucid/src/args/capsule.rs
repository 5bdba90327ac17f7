//! `sessions capsule` and `capsule open`: a session in one file.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;
use clap::ValueEnum;

/// `sessions capsule`.
///
/// The file is a page that any browser shows, without scripts, and it contains the session, the record of what was sent and
/// the long texts. `pellucid capsule open` turns it into a home folder.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = "\
Example: pellucid sessions capsule 019a7d31 -o report.html

Exit status: 0, 1 if the file cannot be written, 2 for wrong usage, 3 if the request cannot be found in the record.")]
pub struct MakeCapsuleArgs {
    /// The session's id, the beginning of its id, or its name; `#N` behind it leaves out everything after request N.
    #[arg(value_name = "SESSION[#N]", required_unless_present = "last", conflicts_with = "last")]
    pub session: Option<String>,

    /// The session that was used last in this folder.
    #[arg(long)]
    pub last: bool,

    /// The file to write.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// Which texts are blanked. With `content` only sizes, ids, times and settings are left; with `none` the file may
    /// contain keys and passwords.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = RedactLevel::Secrets)]
    pub redact: RedactLevel,
}

/// Which texts of a capsule are blanked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RedactLevel {
    /// Texts that look like secrets, as `sessions export` does it.
    Secrets,
    /// Every text of a person, a model, a tool or a file, replaced by filler of the same length.
    Content,
    /// No text at all.
    None,
}

impl RedactLevel {
    /// The word of the level.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secrets => "secrets",
            Self::Content => "content",
            Self::None => "none",
        }
    }
}

/// The arguments of `capsule`.
#[derive(Debug, ClapArgs)]
pub struct CapsuleArgs {
    #[command(subcommand)]
    pub command: CapsuleCommand,
}

/// What can be done with a capsule.
#[derive(Debug, Subcommand)]
pub enum CapsuleCommand {
    /// Turn a capsule into a home folder.
    ///
    /// `replay`, `context` and `prompt` work in that folder. Its file `script.jsonl` has the answers of the model, for
    /// `exec --script`.
    Open(CapsuleOpenArgs),
}

/// The arguments of `capsule open`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example: pellucid capsule open report.html --to opened; PELLUCID_HOME=opened pellucid replay 019a7d31

Exit status: 0, 1 if the folder cannot be written, 2 if the file is not a capsule or the folder is not empty.")]
pub struct CapsuleOpenArgs {
    /// The capsule: an HTML file of `sessions capsule`.
    pub file: PathBuf,

    /// The folder to make. It must be empty or missing.
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
}
