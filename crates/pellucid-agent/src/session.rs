//! A session: a conversation with its settings, and the requests that it makes.
//!
//! `Session` holds one value for each thing that changes for its own reason, and the order in which they are called. The
//! fields of each value are private to its file:
//!
//! - `setup`: what the session is made of; `opening`: how it begins
//! - `conversation`: what was said; `input`: what joins it
//! - `requests`: what was sent; `sending`: how a request goes out; `shown`: what is reported of it
//! - `notices`: what the model does not see, and events that clients have not received yet
//! - `shortening`: summaries that replace the history
//! - `turns`: what changed since the last turn, and what a turn begins and ends with
//! - `asked_skills`: skills that a person's input asks for; `server_input`: prompts and resources of MCP servers
//! - `apps`: connected apps that are in play
//! - `placing`: texts of the layout within the conversation
//! - `crate::habits`: what the pack does around turns; `recall`: the memory among them
//!
//! `unloading` drops of an idle session what its files have. `next` runs a turn up to its first request without sending it, `beside` copies a session to be looked at, `rerun` has a recorded conversation again, `apart` asks questions beside the conversation, `mcp`
//! starts the MCP servers, `calls` records tool calls, `headers` are those of a request.

mod apart;
mod apps;
mod asked_skills;
mod beside;
mod calls;
mod conversation;
mod headers;
mod input;
pub mod mcp;
mod next;
mod notices;
mod opening;
mod placing;
mod recall;
mod requests;
mod rerun;
mod running_summary;
mod sending;
pub mod server_input;
mod setup;
mod shortening;
mod shown;
mod turns;
mod unloading;

use std::path::Path;
use std::sync::Mutex;
use std::time::SystemTime;

use pellucid_config::Config;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Omission;
use pellucid_engine::pack::Pack;
use pellucid_engine::reinject::account::StandingAccount;
use pellucid_engine::server_input::GivenParts;
use pellucid_exec::snapshot;
use pellucid_model::catalogue::CatalogueMatch;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::SessionConfigured;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_store::find;
use pellucid_tools::situation::Situation;

pub(crate) use self::apart::Answered;
use self::apps::NamedApps;
use self::asked_skills::AskedSkills;
pub use self::beside::ComingRequest;
pub use self::beside::SessionCopy;
use self::conversation::Conversation;
pub(crate) use self::headers::TurnHeaders;
pub use self::next::NextPurpose;
pub use self::next::TurnPreview;
pub use self::next::UnfinishedRequest;
use self::notices::Notices;
pub use self::opening::Beginning;
use self::placing::Placing;
use self::requests::Requests;
pub use self::rerun::RerunRequest;
pub use self::rerun::RerunVisit;
pub(crate) use self::rerun::rerun;
pub(crate) use self::running_summary::RunningSummary;
pub(crate) use self::sending::AskKind;
pub(crate) use self::sending::Attempt;
use self::sending::Framed;
pub(crate) use self::sending::failure_word;
pub(crate) use self::server_input::AskingServers;
pub use self::setup::Setup;
use self::shortening::Shortening;
pub(crate) use self::shortening::SummaryRequest;
use self::turns::LastTurn;
pub(crate) use self::unloading::StaysLoaded;
pub(crate) use self::unloading::UnloadedItems;
use crate::crew;
use crate::crew::Crew;
use crate::habits::Habits;
use crate::jobs::Jobs;
use crate::log::Log;
use crate::mcp::Attached;
use crate::memories;
use crate::phases::Phases;
use crate::restore::SetAside;
use crate::sandbox;
use crate::sandbox::SandboxReport;
use crate::session::mcp::ServerSwitch;
use crate::situation;

/// A conversation with its settings, files and tools.
#[derive(Debug)]
pub struct Session {
    pub(crate) setup: Setup,
    pub(crate) conversation: Conversation,
    pub(crate) log: Log,
    /// The tool calls that are running.
    pub(crate) jobs: Jobs,
    /// The MCP servers, once they were started.
    pub(crate) servers: Option<Attached>,
    server_switch: ServerSwitch,
    requests: Requests,
    framed: Mutex<Option<Framed>>,
    notices: Notices,
    shortening: Shortening,
    last_turn: LastTurn,
    placing: Placing,
    skills: AskedSkills,
    /// What servers gave for the input that is recorded next.
    given: GivenParts,
    named_apps: NamedApps,
    habits: Habits,
    /// What became of the files before an input, until a request with that input is recorded.
    injected: Vec<StandingAccount>,
    /// The work on memories of past sessions beside this one.
    memories: Option<memories::Background>,
}

impl Session {
    /// The events that clients receive before the first turn. A second call gives none.
    pub fn take_notices(&mut self) -> Vec<EventMessage> {
        std::mem::take(&mut self.setup.notices)
    }

    /// Adds a warning that clients receive before the first turn.
    pub fn warn_first(&mut self, message: String) {
        self.setup.notices.push(EventMessage::Warning { message });
    }

    /// The first event of the session, with its settings.
    pub fn configured(&self) -> EventMessage {
        let facts = &self.setup.gathered.facts;
        EventMessage::SessionConfigured(SessionConfigured {
            session_id: self.setup.session_id.clone(),
            model: facts.settings.model.slug.clone(),
            model_provider_id: self.setup.provider_id.clone(),
            approval_policy: facts.settings.approval_policy,
            sandbox_policy: facts.settings.sandbox_policy.clone(),
            cwd: facts.settings.cwd.clone().into(),
            reasoning_effort: facts.settings.effort,
        })
    }

    /// Warnings that clients receive when a turn begins.
    pub(crate) fn turn_warnings(&self) -> Vec<EventMessage> {
        let slug = &self.setup.gathered.facts.settings.model.slug;
        let unknown = (self.setup.gathered.model_match == CatalogueMatch::Fallback).then(|| EventMessage::Warning {
            message: format!("nothing is known of the model `{slug}`; defaults are used, which may not suit it"),
        });
        unknown.into_iter().collect()
    }

    /// Events that clients have not received yet.
    pub(crate) fn take_events(&mut self) -> Vec<EventMessage> {
        let warning = self.setup.side_warning().map(|message| EventMessage::Warning { message });
        self.notices.take_events().into_iter().chain(warning).collect()
    }

    /// Refuses input if the model would not see every text before it unchanged.
    pub fn refuse_losses(&mut self) {
        self.notices.refuse_losses();
    }

    /// Refuses requests that diverge from the one before without an expected cause.
    pub fn refuse_breaks(&mut self) {
        self.requests.refuse_breaks();
    }

    /// Removes what sessions left behind that could not clean up after their commands.
    pub(crate) fn clean_login_snapshots(&self) {
        if self.jobs.toolbox.has_login_snapshot() {
            let home = &self.setup.sources.config.folders.home;
            let last_use = |id: &str| std::fs::metadata(find::by_id(home, id)?).ok()?.modified().ok();
            snapshot::clean(home, self.setup.session_id.as_str(), SystemTime::now(), last_use);
        }
    }

    /// What holds for the calls of a turn.
    pub(crate) fn situation(&self, turn_id: &TurnId) -> Situation {
        let agents = crew::line(&self.setup, self.conversation.instructions(), &self.log);
        let mut situation = Situation { agents, ..situation::situation(&self.setup, turn_id) };
        situation.children.skill_variables = self.skills.variables().clone();
        situation
    }

    /// Lets the client learn each request from now on, with its number and digest. So many requests come before them, as
    /// [`crate::replay::n_requests`] counts. Sessions that this one opens report theirs, too.
    pub fn note_requests(&mut self, n_before: u64) {
        self.setup.context_events.join_for_requests();
        self.log.sent_from_start().note_requests(n_before);
    }

    /// Lets telemetry number the requests from now on.
    pub(crate) fn count_requests(&mut self, n_before: u64) {
        if let Some(telemetry) = self.log.telemetry() {
            telemetry.requests_before(n_before);
        }
    }

    /// What the first context leaves out or cuts.
    pub fn omissions(&self) -> &[Omission] {
        self.notices.omissions()
    }

    /// Why the session's file could not be written, if writing failed.
    pub fn file_failure(&self) -> Option<&str> {
        self.log.failure()
    }

    /// Warnings about files that could not be written, as far as no client has received them.
    pub fn take_failures(&mut self) -> Vec<String> {
        self.log.take_failures().into_iter().chain(self.setup.side_warning()).collect()
    }

    /// Lines of the session's file that could not be read.
    pub fn set_aside(&self) -> &SetAside {
        self.conversation.set_aside()
    }

    /// The path of the session's file, also before the file is written.
    pub fn path(&self) -> Option<&Path> {
        self.log.path()
    }

    /// The agents that the session started.
    pub fn crew(&self) -> &Crew {
        &self.setup.crew
    }

    /// The id of the session.
    pub fn id(&self) -> &SessionId {
        &self.setup.session_id
    }

    /// Whether the session has a file, so that it can be resumed.
    pub fn is_kept(&self) -> bool {
        self.log.is_kept()
    }

    /// The configuration that the session runs under.
    pub fn config(&self) -> &Config {
        &self.setup.sources.config
    }

    /// The facts that requests are made from.
    pub fn facts(&self) -> &Facts {
        &self.setup.gathered.facts
    }

    /// What confines the session's commands, and why that. Mechanisms are tried if none was tried yet.
    pub fn sandbox(&self) -> SandboxReport {
        sandbox::report(&self.setup.sources.config, &self.setup.gathered.facts.settings.sandbox_policy)
    }

    /// What became of the files before an input that no request was sent with yet.
    pub fn injected(&self) -> &[StandingAccount] {
        &self.injected
    }

    /// The phases of work, which clients can change while the session runs.
    pub fn phases(&self) -> &Phases {
        &self.setup.phases
    }

    /// The base instructions, which come before the conversation.
    pub fn instructions(&self) -> &[Fragment] {
        self.conversation.instructions()
    }

    /// The id of the provider.
    pub fn provider_id(&self) -> &str {
        &self.setup.provider_id
    }

    /// The pack whose layout orders the input.
    pub fn pack(&self) -> &Pack {
        &self.setup.pack
    }
}
