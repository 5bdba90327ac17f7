//! What the client asks of the program around it: the session, files, the configuration.
//!
//! The client knows a session by its protocol alone. Everything on disk is read and written by the program, in answer to
//! calls that are values.

use std::path::PathBuf;

use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::Operation;
use serde_json::Value;

use crate::cells::stored::StoredEntry;
use crate::composer::draft::Clip;
use crate::composer::popup::PromptEntry;
use crate::look::report::LookAnswer;
use crate::look::report::LookCall;
use crate::past::PastAnswer;
use crate::past::PastCall;

/// The program around the client.
pub trait Host {
    /// Submits an operation to the session.
    fn submit(&mut self, operation: Operation) -> impl Future<Output = ()>;

    /// Waits for the next event of the session; absent when the session is over. May be cancelled.
    fn event(&mut self) -> impl Future<Output = Option<Event>>;

    /// Waits for the next event of the session, or for an answer that was not ready when it was asked for. May be cancelled.
    fn news(&mut self) -> impl Future<Output = HostNews>;

    /// Does something outside of the client.
    fn ask(&mut self, call: HostCall) -> impl Future<Output = HostAnswer>;

    /// Runs the user's editor on a text and returns the new text. The terminal belongs to the editor meanwhile.
    fn edit(&mut self, text: &str) -> impl Future<Output = Result<String, String>>;
}

/// Something that happened outside of the client.
#[expect(clippy::large_enum_variant, reason = "a value is made for each event and moved once")]
#[derive(Debug, Clone, PartialEq)]
pub enum HostNews {
    /// An event of the session; absent when the session is over.
    Event(Option<Event>),
    /// An answer to an earlier call.
    Answer(HostAnswer),
}

/// Something that the client wants to have done.
#[derive(Debug, Clone, PartialEq)]
pub enum HostCall {
    /// Keep the text that was not sent, for the next client in this folder; nothing is kept of an empty text.
    KeepDraft(Clip),
    /// Keep a message in the history file.
    Remember(String),
    /// Fetch a message of the history file, by its place there.
    FetchHistory(usize),
    /// Search files whose path matches a text.
    SearchFiles(String),
    /// See whether a pasted text is the path of an image.
    CheckImage(String),
    /// Put the image of the clipboard into a file.
    ClipboardImage,
    /// Fill in a custom prompt.
    ExpandPrompt {
        /// The name of the prompt.
        name: String,
        /// The arguments as they were typed.
        words: String,
    },
    /// Write values into the user's configuration file, each by its path.
    Store(Vec<(String, Value)>),
    /// Give the session a name.
    Rename(String),
    /// Write the session into a new file of this name; an empty name for the usual one.
    Export(String),
    /// Show the changes of the work tree.
    Diff,
    /// End this session and open another one.
    Open(OpenWish),
    /// Answer a question with text: which settings there are, which servers.
    Describe(Topic),
    /// Change the phase of work: the name of a phase, `next` or `clear`.
    Phase(String),
    /// Make the entries of a menu.
    List(Menu),
    /// Switch a skill, or read the skills again.
    Skill(SkillCall),
    /// Open an address in the user's browser.
    OpenPage(String),
    /// Remove the stored login.
    LogOut,
    /// Answer a question about the next request, later.
    Look(LookCall),
    /// Answer a question about the past of the session or change it, later.
    Past(PastCall),
}

/// Something that the client wants to have done with skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillCall {
    /// Switch a skill on or off, by the path of its file.
    Switch {
        /// The path of the skill's `SKILL.md`.
        path: String,
        /// Whether the skill is offered.
        is_on: bool,
    },
    /// Read the skills again, because switches of them changed.
    Reload,
}

/// A session to open in place of the present one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenWish {
    /// A session without a history.
    New,
    /// A stored session, by its id.
    Resume(String),
    /// A copy of a stored session, by its id.
    Fork(String),
    /// A copy of the present session that ends with the turn of a request.
    ForkAt {
        /// The number of the request, from 1.
        request: usize,
    },
}

/// What a text is wanted about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// The settings with the files that they come from.
    Configuration,
    /// The MCP servers with their tools.
    McpServers,
    /// The connected apps, and how a message names them.
    Apps,
    /// The address of the page about the session, which is served from then on.
    Page,
    /// The phases of work, and the one that holds.
    Phases,
}

/// A menu whose entries the program knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Menu {
    /// Models with their efforts.
    Models,
    /// Features that can be switched.
    Features,
    /// Skills that can be switched.
    Skills,
    /// Branches that a review can compare with.
    Branches,
    /// Commits that can be reviewed.
    Commits,
    /// Stored sessions of this folder, or of all.
    Sessions {
        /// Whether sessions of other folders are listed.
        everywhere: bool,
    },
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum HostAnswer {
    /// It is done, and there is nothing to say.
    Done,
    /// It is done, and a person is to know this about it.
    Note(String),
    /// It was not done, for this reason.
    Failed(String),
    /// A message of the history file; absent if it cannot be read.
    History(usize, Option<String>),
    /// Paths below the session's folder that match a text, best first.
    Files(String, Vec<String>),
    /// The pasted text, and the image that it is the path of.
    Image(String, Option<PathBuf>),
    /// A filled-in prompt.
    Prompt(String),
    /// The changes of the work tree as a diff; absent outside of a repository.
    Diff(Option<String>),
    /// Another session is open, and its events follow.
    Opened(Box<OpenedSession>),
    /// A text that was wanted.
    Text(Topic, Vec<String>),
    /// The entries of a menu.
    Entries(Menu, Vec<MenuEntry>),
    /// The session's new name.
    Renamed(String),
    /// The skills that can be used now: name, description, path.
    Skills(Vec<(String, String, PathBuf)>),
    /// The prompts that the MCP servers of the session have.
    ServerPrompts(Vec<PromptEntry>),
    /// There is no login any more.
    LoggedOut,
    /// The answer to a question about the next request.
    Looked(Box<LookAnswer>),
    /// The answer to a question about the past of the session.
    Past(Box<PastAnswer>),
}

/// One entry of a menu.
#[derive(Debug, Clone, PartialEq)]
pub struct MenuEntry {
    /// The id of the entry, as the program calls it.
    pub id: String,
    /// The name for people.
    pub label: String,
    /// More about it.
    pub about: String,
    /// Whether it is the one that is used now, or switched on.
    pub is_on: bool,
    /// More of it that the client needs.
    pub detail: Value,
}

/// One record of a session's file.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredRecord {
    /// An event of the session.
    Event(EventMessage),
    /// An item of the conversation.
    Item(Item),
}

impl StoredRecord {
    /// The record for the transcript.
    pub(crate) fn entry(&self) -> StoredEntry<'_> {
        match self {
            Self::Event(event) => StoredEntry::Event(event),
            Self::Item(item) => StoredEntry::Item(item),
        }
    }
}

/// What the client has to know of a session that was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenedSession {
    /// What the session's file has, in its order.
    pub history: Vec<StoredRecord>,
    /// What is to be said about the opening: warnings.
    pub notes: Vec<String>,
    /// The name of the session, if it has one.
    pub name: Option<String>,
}
