//! The program behind the client: the session's door, files and the configuration.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use pellucid_agent::door;
use pellucid_agent::door::Door;
use pellucid_agent::identity::new_turn_id;
use pellucid_agent::login;
use pellucid_agent::own_git;
use pellucid_agent::phases::PhaseScope;
use pellucid_agent::phases::Phases;
use pellucid_agent::session::Session;
use pellucid_agent::session::server_input::ListingPrompts;
use pellucid_agent::session::server_input::ServerPrompt;
use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::edit;
use pellucid_config::edit::Edit;
use pellucid_config::edit::ValueEdit;
use pellucid_config::user_file;
use pellucid_config::user_file::UserFileError;
use pellucid_engine::custom_prompt;
use pellucid_git::history as git_history;
use pellucid_inspect::server::StartedFor;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::mcp::McpServerStatus;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_server::methods::files::best_files;
use pellucid_store::names;
use pellucid_store::read;
use pellucid_tasks::Task;
use pellucid_tui::host::Host;
use pellucid_tui::host::HostAnswer;
use pellucid_tui::host::HostCall;
use pellucid_tui::host::HostNews;
use pellucid_tui::host::OpenWish;
use pellucid_tui::host::OpenedSession;
use pellucid_tui::host::SkillCall;
use pellucid_tui::host::StoredRecord;
use pellucid_tui::host::Topic;
use pellucid_workspace::custom_prompts;
use pellucid_workspace::images::load_image;
use serde_json::Value;

use crate::args::shared::Shared;
use crate::args::turn::TurnArgs;
use crate::browser;
use crate::edits;
use crate::fork;
use crate::fork::CopyEnd;
use crate::inspect;
use crate::inspect::ServedPage;
use crate::phase;
use crate::phase::PhaseWish;
use crate::start::Opening;
use crate::start::Persistence;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::start::Which;
use crate::style;
use crate::tui::clipboard::ClipboardImages;
use crate::tui::describe;
use crate::tui::drafts::DraftFile;
use crate::tui::editor;
use crate::tui::entries;
use crate::tui::export;
use crate::tui::history::HistoryFile;
use crate::tui::look::Looks;
use crate::tui::past;
use crate::tui::past::PastOf;
use crate::tui::past::Pasts;
use crate::tui::settings;

/// How many files a search shows.
const FILES_MAX: usize = 20;

/// The line below the address of the page.
const PAGE_ENDS: &str = "the address works once; the page ends with this session";

/// How the sessions of a client are opened.
#[derive(Debug, Clone)]
pub struct HowToOpen {
    pub shared: Shared,
    pub turn: TurnArgs,
    pub policy: Option<ApprovalPolicy>,
}

/// A session and what belongs to it.
pub struct SessionHost {
    how: HowToOpen,
    config: Arc<Config>,
    /// The provider that requests go to.
    provider_id: String,
    env: Env,
    history: HistoryFile,
    /// Where text is kept that was not sent; nothing is kept unless a file is put here.
    pub drafts: DraftFile,
    clipboard: ClipboardImages,
    session_id: SessionId,
    servers: Option<AskServers>,
    door: Door,
    looks: Looks,
    pasts: Pasts,
    phases: Phases,
    /// Until the prompts of the MCP servers are known.
    prompts: Option<ListingPrompts>,
    running: Task<Session>,
    page: Option<ServedPage>,
}

/// Asks the MCP servers of the session what they offer.
type AskServers = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Vec<McpServerStatus>> + Send>> + Send>;

impl std::fmt::Debug for SessionHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionHost").field("session_id", &self.session_id).finish_non_exhaustive()
    }
}

impl SessionHost {
    /// Opens a session. Must be called inside of a runtime.
    pub async fn open(
        how: HowToOpen,
        mut start: Start,
        opening: Opening,
    ) -> Result<(Self, OpenedSession), ProgramFailure> {
        start.config.tools.mcp_pages = true;
        let (config, env) = (Arc::new(start.config.clone()), start.env.clone());
        let provider_id = start.provider_id().to_owned();
        let stored = stored(&opening);
        let mut session = start.session(opening)?;
        let started = session.start_servers().await;
        started.map_err(|error| ProgramFailure::new(error.to_string()))?;
        let session_id = session.id().clone();
        let name = names::name_of(&config.folders.home, session_id.as_str());
        let servers = session.servers().map(|servers| -> AskServers {
            Box::new(move || {
                let servers = servers.clone();
                Box::pin(async move { servers.status().await })
            })
        });
        let (door, inside) = door::open(&session);
        let looks = Looks::new(how.clone(), &session, door.looks.clone());
        let file = session.path().map(Path::to_owned);
        let (home, folder) = (config.folders.home.clone(), config.folders.cwd.clone());
        let pasts = Pasts::new(PastOf { home, folder, file, door: &door });
        session.context_events_switch().join_for_usage();
        let phases = session.phases().clone();
        let prompts = session.server_prompts();
        let running = Task::spawn("session", door::run(session, inside));
        let history = settings::history(&config);
        let (drafts, clipboard) = (DraftFile::default(), ClipboardImages::default());
        let page = None;
        let host = Self {
            how,
            config,
            provider_id,
            env,
            history,
            drafts,
            clipboard,
            session_id,
            servers,
            door,
            looks,
            pasts,
            phases,
            prompts,
            running,
            page,
        };
        Ok((host, OpenedSession { history: stored, notes: Vec::new(), name }))
    }

    /// Serves a page about the session and gives its address, which works once. An earlier page ends.
    fn serve_page(&mut self) -> Result<String, ProgramFailure> {
        let started_for = StartedFor { session: Some(self.session_id.to_string()), ..StartedFor::default() };
        let page = inspect::beside(&self.how.shared, self.config.folders.home.clone(), started_for)?;
        let url = page.url.clone();
        self.page = Some(page);
        Ok(url)
    }

    /// Ends the session and opens another one in its place.
    async fn open_another(&mut self, wish: OpenWish) -> Result<OpenedSession, ProgramFailure> {
        let kept = style::keep_lines();
        let start = Start::in_terminal(&self.how.shared, &self.how.turn.start, self.how.policy)?;
        let keep = Persistence::File;
        let opening = match wish {
            OpenWish::New => Opening::New { session_id: None, keep },
            OpenWish::Resume(id) => Opening::Resumed { file: Box::new(start.existing(&Which::Id(id))?), keep },
            OpenWish::Fork(id) => {
                let id = if id.is_empty() { self.session_id.as_str().to_owned() } else { id };
                let file = start.existing(&Which::Id(id))?;
                let (file, upto) = fork::place(&self.config.folders.home, file, CopyEnd::Whole)?;
                Opening::Forked { file: Box::new(file), upto, session_id: None, keep }
            }
            OpenWish::ForkAt { request } => {
                let file = start.existing(&Which::Id(self.session_id.as_str().to_owned()))?;
                let (file, upto) = fork::place(&self.config.folders.home, file, CopyEnd::Request(request))?;
                Opening::Forked { file: Box::new(file), upto, session_id: None, keep }
            }
        };
        self.end().await;
        let (host, mut opened) = Self::open(self.how.clone(), start, opening).await?;
        let ended = std::mem::replace(self, host);
        self.history = ended.history;
        self.drafts = ended.drafts;
        self.clipboard = ended.clipboard;
        opened.notes = kept.take();
        Ok(opened)
    }

    /// Where the session's file is, or will be.
    #[cfg(test)]
    pub fn session_file(&self) -> Option<std::path::PathBuf> {
        self.looks.session_file()
    }

    /// Ends the session, so that its file is complete.
    async fn end(&mut self) {
        self.submit(Operation::Shutdown).await;
        while let Some(event) = self.door.events.recv().await {
            if matches!(event.msg, EventMessage::ShutdownComplete) {
                break;
            }
        }
        // The session has ended; a failure in it was logged.
        let _ = (&mut self.running).await;
    }

    fn store(&self, values: Vec<(String, Value)>) -> Result<(), ProgramFailure> {
        let edit = |(path, value): (String, Value)| {
            let change = if value.is_null() { ValueEdit::Clear } else { ValueEdit::Replace(value) };
            Edit::at(&path, change).map_err(|error| ProgramFailure::new(error.to_string()))
        };
        let all: Vec<Edit> = values.into_iter().map(edit).collect::<Result<_, _>>()?;
        edits::change(&self.config.folders.user_file, |_| all)
    }

    fn switch_skill(&self, path: &str, is_on: bool) -> Result<(), String> {
        user_file::rewrite(&self.config.folders.user_file, |text| {
            edit::switch_skill(text, path, is_on, &|other| other == path)
                .map_err(|error| SwitchError::Edit(error.to_string()))
        })
        .map(drop)
        .map_err(|error: SwitchError| error.to_string())
    }

    async fn diff(&self) -> Result<Option<String>, String> {
        let cwd = self.config.folders.cwd.clone();
        if pellucid_git::work_tree_root(&cwd).is_none() {
            return Ok(None);
        }
        let git = own_git::of(&self.config, &self.env);
        let diff = Task::blocking("asking git", move || git_history::uncommitted(&git, &cwd)).await;
        diff.map_err(|error| error.to_string())?.map(Some)
    }
}

/// Why a skill was not switched.
#[derive(Debug, thiserror::Error)]
enum SwitchError {
    #[error(transparent)]
    File(#[from] UserFileError),
    #[error("{0}")]
    Edit(String),
}

/// What the file of an opening has, for the transcript.
fn stored(opening: &Opening) -> Vec<StoredRecord> {
    let Some(file) = opening.file() else {
        return Vec::new();
    };
    // A file that could be opened a moment ago.
    let records = read::read(&file.path).map(|session| session.records).unwrap_or_default();
    past::transcript(records)
}

/// Waits for the prompts of the MCP servers, which are listed once. Never ends if there are none.
async fn listed(prompts: &mut Option<ListingPrompts>) -> Vec<ServerPrompt> {
    let Some(listing) = prompts else { return std::future::pending().await };
    let listed = listing.await;
    *prompts = None;
    if listed.is_empty() { std::future::pending().await } else { listed }
}

/// An answer that is nothing, or why there is none.
fn done(result: Result<(), impl std::fmt::Display>) -> HostAnswer {
    match result {
        Ok(()) => HostAnswer::Done,
        Err(error) => HostAnswer::Failed(error.to_string()),
    }
}

impl Host for SessionHost {
    async fn submit(&mut self, operation: Operation) {
        // A send only fails when the session has ended, and then the event stream says so.
        let _ = self.door.submissions.send(Submission { id: new_turn_id(), operation }).await;
    }

    async fn event(&mut self) -> Option<Event> {
        self.door.events.recv().await
    }

    async fn news(&mut self) -> HostNews {
        tokio::select! {
            biased;
            event = self.door.events.recv() => HostNews::Event(event),
            answer = self.looks.answer() => HostNews::Answer(HostAnswer::Looked(Box::new(answer))),
            answer = self.pasts.answer() => HostNews::Answer(HostAnswer::Past(Box::new(answer))),
            prompts = listed(&mut self.prompts) => {
                HostNews::Answer(HostAnswer::ServerPrompts(prompts.iter().map(settings::server_prompt_entry).collect()))
            }
        }
    }

    async fn ask(&mut self, call: HostCall) -> HostAnswer {
        let cwd = &self.config.folders.cwd;
        match call {
            HostCall::Remember(text) => done(self.history.add(self.session_id.as_str(), &text)),
            HostCall::KeepDraft(clip) => done(self.drafts.keep(&clip)),
            HostCall::FetchHistory(at) => HostAnswer::History(at, self.history.text(at)),
            HostCall::SearchFiles(query) => {
                let (folder, wanted) = (cwd.clone(), query.clone());
                let found = Task::blocking("searching files", move || best_files(&folder, &wanted)).await;
                HostAnswer::Files(query, found.unwrap_or_default().into_iter().take(FILES_MAX).collect())
            }
            HostCall::CheckImage(text) => {
                let path = cwd.join(text.trim());
                let is_image = load_image(&path).problem().is_none();
                HostAnswer::Image(text, is_image.then_some(path))
            }
            HostCall::ClipboardImage => match self.clipboard.take(&self.env).await {
                Ok(path) => HostAnswer::Image(String::new(), Some(path)),
                Err(why) => HostAnswer::Failed(why),
            },
            HostCall::ExpandPrompt { name, words } => {
                let prompts = custom_prompts::load(&self.config.folders.home);
                match custom_prompt::expand(&prompts, &format!("/prompts:{name} {words}"), &[]) {
                    Ok(Some(expansion)) => HostAnswer::Prompt(expansion.text),
                    Ok(None) => HostAnswer::Failed(format!("there is no custom prompt {name}")),
                    Err(error) => HostAnswer::Failed(error.to_string()),
                }
            }
            HostCall::Rename(name) => match names::set(&self.config.folders.home, self.session_id.as_str(), &name) {
                Ok(name) => HostAnswer::Renamed(name),
                Err(error) => HostAnswer::Failed(error.to_string()),
            },
            HostCall::Store(values) => done(self.store(values).map_err(|failure| failure.text().to_owned())),
            HostCall::Skill(SkillCall::Switch { path, is_on }) => done(self.switch_skill(&path, is_on)),
            HostCall::Skill(SkillCall::Reload) => {
                let skills = settings::skill_entries(&self.config, &self.env);
                HostAnswer::Skills(skills.into_iter().map(|it| (it.name, it.description, it.path)).collect())
            }
            HostCall::Export(name) => {
                let (home, session) = (&self.config.folders.home, self.looks.session_file());
                match export::export(home, session.as_deref(), cwd, &name) {
                    Ok(said) => HostAnswer::Note(said),
                    Err(why) => HostAnswer::Failed(why),
                }
            }
            HostCall::Diff => match self.diff().await {
                Ok(diff) => HostAnswer::Diff(diff),
                Err(why) => HostAnswer::Failed(why),
            },
            HostCall::Open(wish) => match self.open_another(wish).await {
                Ok(opened) => HostAnswer::Opened(Box::new(opened)),
                Err(failure) => HostAnswer::Failed(failure.text().to_owned()),
            },
            HostCall::Describe(topic @ (Topic::McpServers | Topic::Apps)) => {
                let servers = match &self.servers {
                    Some(ask) => ask().await,
                    None => Vec::new(),
                };
                let lines = match topic {
                    Topic::Apps => describe::apps(&servers, &self.config.tools.apps.disabled),
                    _ => describe::servers(&servers),
                };
                HostAnswer::Text(topic, lines)
            }
            HostCall::Describe(Topic::Configuration) => {
                HostAnswer::Text(Topic::Configuration, describe::layers(&self.config))
            }
            HostCall::Describe(Topic::Page) => match self.serve_page() {
                Ok(url) => HostAnswer::Text(Topic::Page, vec![url, PAGE_ENDS.to_owned()]),
                Err(failure) => HostAnswer::Failed(failure.text().to_owned()),
            },
            HostCall::Describe(Topic::Phases) => HostAnswer::Text(Topic::Phases, self.phases.view().lines()),
            HostCall::Phase(words) => match phase::changed(&self.phases, PhaseScope::Session, PhaseWish::of(&words)) {
                Ok(view) => HostAnswer::Text(Topic::Phases, view.lines()),
                Err(error) => HostAnswer::Failed(error.to_string()),
            },
            HostCall::List(menu) => match entries::of(menu, &self.config, &self.env, &self.provider_id).await {
                Ok(entries) => HostAnswer::Entries(menu, entries),
                Err(why) => HostAnswer::Failed(why),
            },
            HostCall::Look(call) => {
                self.looks.ask(call);
                HostAnswer::Done
            }
            HostCall::Past(call) => {
                self.pasts.ask(call);
                HostAnswer::Done
            }
            HostCall::OpenPage(url) => match browser::open(&url) {
                Ok(()) => HostAnswer::Done,
                Err((program, error)) => HostAnswer::Failed(format!(
                    "`{program}` cannot be started ({error}); open this address in a browser: {url}"
                )),
            },
            HostCall::LogOut => match login::log_out(&self.config) {
                Ok(_) => HostAnswer::LoggedOut,
                Err(error) => HostAnswer::Failed(error.to_string()),
            },
        }
    }

    async fn edit(&mut self, text: &str) -> Result<String, String> {
        editor::edit(text, &self.env).await
    }
}
