//! `memory` and its commands.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::Subcommand;

use crate::args::session_ref::SessionRef;
use crate::args::turn::StartArgs;
use crate::start::Which;

#[derive(Debug, ClapArgs)]
pub struct MemoryArgs {
    #[command(subcommand)]
    pub command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// List every card with what it costs and why it was used last.
    List(ListArgs),
    /// Show one card with its text and the messages it was made from.
    Show(CardArgs),
    /// Replace the text of a card.
    Edit(EditArgs),
    /// Pin a card, so that it is recalled before all others.
    Pin(PinArgs),
    /// Make one card of several, with a text of yours: `1,3` or `2-4`.
    ///
    /// The card takes the place of the first, keeps its pin, and is made from the messages of all.
    Merge(MergeArgs),
    /// Delete cards for good: `2`, `1,3` or `2-4`.
    Forget(ForgetArgs),
    /// Remove all that was derived from a past session, for good.
    ForgetSession(ForgetSessionArgs),
    /// Write memories of past sessions now, and wait for the end.
    ///
    /// Needs the feature `memory_tool` (see docs/memories.md).
    Run(RunArgs),
    /// Show the memories kept of past sessions, and unfinished jobs.
    Status(StatusArgs),
}

#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    #[command(flatten)]
    pub start: StartArgs,

    /// Print the outcome as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct StatusArgs {
    /// Print the status as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `memory forget-session`.
///
/// Removes the extract of the session and its summary, and the files that were merged from it and others, in every scope.
/// Those are merged again from the sessions that are left. The session is never read again. What earlier requests sent stays
/// in the records of their sessions.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = "\
Example: pellucid memory forget-session --dry-run 019a7d31

Exit status: 0 if the session is forgotten or listed, 1 if not, 2 for wrong usage or an unknown session.")]
pub struct ForgetSessionArgs {
    #[command(flatten)]
    pub of: SessionRef,

    /// List what would be removed, and remove nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Print the outcome as JSON.
    #[arg(long)]
    pub json: bool,
}

/// The session whose memory is meant, and the output format.
#[derive(Debug, Clone, Default, ClapArgs)]
pub struct OfSession {
    /// The session's id, the beginning of its id, or its name. Without it, as with --last.
    #[arg(long, value_name = "SESSION", conflicts_with = "last")]
    pub session: Option<String>,

    /// The session that was used last in this folder.
    #[arg(long)]
    pub last: bool,

    /// Print the cards as JSON.
    #[arg(long)]
    pub json: bool,

    /// The working directory, for --last.
    #[arg(short = 'C', long = "cd", value_name = "DIR")]
    pub cd: Option<PathBuf>,
}

impl OfSession {
    /// The session that is meant.
    pub fn which(&self) -> Which {
        self.session.clone().map_or(Which::Newest { everywhere: false }, Which::Id)
    }
}

#[derive(Debug, ClapArgs)]
pub struct ListArgs {
    /// Only cards with this in their text, in upper or lower case, or in the id of a message.
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,

    /// Only pinned cards.
    #[arg(long)]
    pub pinned: bool,

    /// Only cards of the category with this id; empty for cards without one, `all` for all.
    #[arg(long, value_name = "ID")]
    pub category: Option<String>,

    #[command(flatten)]
    pub of: OfSession,
}

#[derive(Debug, ClapArgs)]
pub struct MergeArgs {
    /// The numbers of the cards, two at least.
    pub cards: String,

    /// The text of the new card. `-` reads it from standard input.
    pub text: String,

    #[command(flatten)]
    pub of: OfSession,
}

/// One card of a session.
#[derive(Debug, ClapArgs)]
pub struct CardArgs {
    /// The card's number in the list.
    #[arg(value_parser = crate::args::numbers::number_from_one)]
    pub card: usize,

    #[command(flatten)]
    pub of: OfSession,
}

#[derive(Debug, ClapArgs)]
pub struct EditArgs {
    /// The card's number in the list.
    #[arg(value_parser = crate::args::numbers::number_from_one)]
    pub card: usize,

    /// The new text. `-` reads it from standard input.
    pub text: String,

    #[command(flatten)]
    pub of: OfSession,
}

#[derive(Debug, ClapArgs)]
pub struct PinArgs {
    /// The card's number in the list.
    #[arg(value_parser = crate::args::numbers::number_from_one)]
    pub card: usize,

    /// Take the pin out instead.
    #[arg(long)]
    pub off: bool,

    #[command(flatten)]
    pub of: OfSession,
}

#[derive(Debug, ClapArgs)]
pub struct ForgetArgs {
    /// The cards' numbers in the list.
    pub cards: String,

    #[command(flatten)]
    pub of: OfSession,
}
