//! The command line for stored sessions.

use std::path::PathBuf;

use clap::ArgGroup;
use clap::Args as ClapArgs;
use clap::Subcommand;
use clap::ValueEnum;
use pellucid_engine::request_name::RequestName;

use crate::args::capsule::MakeCapsuleArgs;
use crate::args::certify::CertifyArgs;
use crate::args::delete::DeleteArgs;
use crate::args::exec::ExecOptions;
use crate::args::from::FromArgs;
use crate::args::grep::GrepArgs;
use crate::args::interactive::ClientOptions;
use crate::args::session_ref::SessionIfAny;
use crate::args::session_ref::SessionRef;
use crate::args::session_ref::SessionThenWord;
use crate::fork::CopyEnd;
use crate::start::ProgramFailure;
use crate::start::Which;

/// The arguments of `resume`.
///
/// In a terminal the conversation continues there. Otherwise one turn is run, as by `exec resume`. A session that does not
/// exist is an error.
#[derive(Debug, ClapArgs)]
pub struct ResumeCommandArgs {
    #[command(flatten)]
    pub options: ExecOptions,

    /// The session's id, the beginning of its id, or its name.
    pub session: Option<String>,

    /// The task for the model. `-` reads it from standard input.
    pub prompt: Option<String>,

    /// Continue the session that was used last in this folder.
    #[arg(long)]
    pub last: bool,

    /// With --last, or to choose from a list: sessions of any folder.
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub client: ClientOptions,

    /// Continue the parent instead: the session that SESSION was forked from, or that started it.
    #[arg(long)]
    pub parent: bool,
}

impl ResumeCommandArgs {
    /// The session that is meant, if one is, and what to do.
    pub fn wish(&self) -> (Option<Which>, Option<String>) {
        wish(self.last, self.all, self.session.as_ref(), self.prompt.as_ref())
    }
}

/// The arguments of `fork`.
///
/// The new session has everything of the old one, which does not change. In a terminal the conversation continues there.
/// Otherwise, with a prompt, a turn is run in the new session; without one its id is printed.
#[derive(Debug, ClapArgs)]
pub struct ForkArgs {
    #[command(flatten)]
    pub options: ExecOptions,

    /// The session's id, the beginning of its id, or its name; SESSION#N ends the copy with the turn of request N.
    pub session: Option<String>,

    /// The task for the model in the new session. `-` reads it from standard input.
    pub prompt: Option<String>,

    /// Copy the session that was used last, in any folder.
    #[arg(long)]
    pub last: bool,

    /// To choose from a list: sessions of any folder.
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub client: ClientOptions,

    /// Keep only your first N messages, with the answers to them.
    #[arg(long, value_name = "N", value_parser = crate::args::numbers::number)]
    pub at: Option<usize>,
}

/// The session that is meant, if one is, and what to do.
type Wish = (Option<Which>, Option<String>);

impl ForkArgs {
    /// Where the copy ends; the session that is meant, if one is, and what to do.
    ///
    /// # Errors
    /// When the name of a request is none, or another end is given besides.
    pub fn wish(&self) -> Result<(CopyEnd, Wish), ProgramFailure> {
        let end = self.at.map_or(CopyEnd::Whole, CopyEnd::Messages);
        let Some(name) = self.session.as_ref().filter(|name| !self.last && name.contains('#')) else {
            return Ok((end, wish(self.last, true, self.session.as_ref(), self.prompt.as_ref())));
        };
        let parsed = RequestName::parse(name).map_err(|error| ProgramFailure::usage(error.to_string()))?;
        let RequestName::Sent { session, number: Some(number) } = parsed else {
            return Err(ProgramFailure::usage(format!("`{name}` names no request that a session sent")));
        };
        if self.at.is_some() {
            return Err(ProgramFailure::usage(format!("--at: `{name}` says already where the copy ends")));
        }
        let end = CopyEnd::Request(usize::try_from(number).unwrap_or(usize::MAX));
        Ok((end, wish(false, true, Some(&session), self.prompt.as_ref())))
    }
}

/// With `--last` a single word is the prompt.
fn wish(
    last: bool,
    everywhere: bool,
    session: Option<&String>,
    prompt: Option<&String>,
) -> (Option<Which>, Option<String>) {
    if last {
        return (Some(Which::Newest { everywhere }), prompt.or(session).cloned());
    }
    (session.cloned().map(Which::Id), prompt.cloned())
}

#[derive(Debug, ClapArgs)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions of this folder, the newest first.
    List(SessionsListArgs),
    /// Show a session as a transcript: messages, commands, patches, tokens.
    Show(ShowArgs),
    /// Give a session a name, to resume it by.
    Rename {
        #[command(flatten)]
        of: SessionThenWord,
        /// The new name, to resume the session by.
        name: Option<String>,
    },
    /// Archive a session: lists and --last skip it.
    ///
    /// With --older-than, every session that was not used for some days. Nothing is deleted; `unarchive` takes one back.
    Archive(ArchiveArgs),
    /// Take a session out of the archive.
    Unarchive {
        #[command(flatten)]
        of: SessionRef,
    },
    /// List tool calls with their times, reasons and sandbox.
    ///
    /// Each call also has its outcome. With the id of a call, everything about that call.
    Calls(CallsArgs),
    /// Print the whole output of a call, or list those that are kept.
    ///
    /// Outputs are kept whose text was cut for the model.
    Output {
        #[command(flatten)]
        of: SessionThenWord,
        /// The call's id. Without one, the outputs are listed.
        call: Option<String>,
    },
    /// Search what the model was sent and what it answered.
    Grep(GrepArgs),
    /// Delete sessions with everything that is stored of them.
    Delete(DeleteArgs),
    /// Certify that the next request extends the last one, in digests.
    Certify(CertifyArgs),
    /// Pack a session into one HTML file, with secrets redacted.
    Capsule(MakeCapsuleArgs),
    /// Export a session, with secrets redacted.
    Export(ExportArgs),
    /// Check that session files, records, names and index are whole.
    ///
    /// All sessions, or the one that is named. The verdict and the exit status are those of `replay`.
    Fsck(FsckArgs),
}

#[derive(Debug, ClapArgs)]
#[command(group = ArgGroup::new("what").args(["session", "last", "older_than"]).required(true))]
pub struct ArchiveArgs {
    #[command(flatten)]
    pub of: SessionIfAny,

    /// Archive every session that was not used for this many days.
    #[arg(long, value_name = "DAYS", value_parser = crate::args::numbers::number_from_one)]
    pub older_than: Option<usize>,

    /// List the sessions of --older-than, and change nothing.
    #[arg(long, requires = "older_than", conflicts_with_all = ["session", "last"])]
    pub dry_run: bool,

    /// Print the sessions of --older-than as JSON.
    #[arg(long, requires = "older_than", conflicts_with_all = ["session", "last"])]
    pub json: bool,
}

#[derive(Debug, Clone, ClapArgs)]
pub struct SessionsListArgs {
    #[command(flatten)]
    pub from: FromArgs,

    /// Print the list as JSON.
    #[arg(long)]
    pub json: bool,

    /// How many sessions a page has.
    #[arg(long, default_value_t = 25, value_name = "N", value_parser = crate::args::numbers::number_from_one)]
    pub limit: usize,

    /// Show the page after this cursor, which is printed below every page but the last.
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,

    /// Sort by time of creation or of last use.
    #[arg(long, value_enum, default_value_t = SessionOrder::Updated)]
    pub sort: SessionOrder,

    /// Only sessions of this folder. Without it: of the current folder, and with --json of every folder.
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub cwd: Option<PathBuf>,

    /// Sessions of every folder.
    #[arg(long)]
    pub all: bool,

    /// Only sessions with this provider; may be repeated.
    #[arg(long, value_name = "ID")]
    pub provider: Vec<String>,

    /// Only sessions of this client (cli, exec, vscode, mcp); may be repeated.
    #[arg(long, value_name = "CLIENT")]
    pub source: Vec<String>,

    /// Only sessions whose first message or name has this text.
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,

    /// Show archived sessions instead.
    #[arg(long)]
    pub archived: bool,
}

/// The keys that `sessions list` sorts by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SessionOrder {
    Created,
    Updated,
}

#[derive(Debug, Clone, ClapArgs)]
pub struct CallsArgs {
    #[command(flatten)]
    pub of: SessionThenWord,

    /// The call's id, to see everything about that call and the calls that it made. Without one, all are listed.
    pub call: Option<String>,

    /// Print the calls as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, ClapArgs)]
pub struct ShowArgs {
    #[command(flatten)]
    pub of: SessionRef,

    #[command(flatten)]
    pub from: FromArgs,

    /// List the files whose texts were put before inputs: instructions, rules, prompts of phases.
    #[arg(long)]
    pub injections: bool,

    /// Print summary and items as JSON; with --injections the injections.
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `sessions export`.
///
/// Without --to the session file is printed. With --to a folder is made that is a home folder with
/// this session alone: Codex can resume it there, and `replay` can be run on it.
#[derive(Debug, Clone, ClapArgs)]
pub struct ExportArgs {
    #[command(flatten)]
    pub of: SessionRef,

    /// Write the session and the record of what was sent into this folder.
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,

    /// Redact nothing. The requests may contain keys and passwords.
    #[arg(long)]
    pub no_redact: bool,
}

#[derive(Debug, Clone, ClapArgs)]
pub struct FsckArgs {
    #[command(flatten)]
    pub of: SessionIfAny,

    /// Print what was found as JSON.
    #[arg(long)]
    pub json: bool,

    /// Delete the index and rebuild it from the files.
    #[arg(long)]
    pub rebuild_index: bool,
}

#[derive(Debug, Clone, ClapArgs)]
#[command(
    after_help = "Exit status: 0 when every request is equal, 1 when one differs or the record was changed, 3 when some cannot be proved."
)]
pub struct ReplayArgs {
    /// The path of a session file is taken too.
    #[command(flatten)]
    pub of: SessionRef,

    /// Print every request with its verdict as JSON.
    #[arg(long)]
    pub json: bool,

    /// The hash that an earlier replay printed: shows that no record behind it is missing.
    #[arg(long, value_name = "HASH")]
    pub anchor: Option<String>,
}
