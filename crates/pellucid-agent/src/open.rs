//! Opens sessions: from a configuration to a session with its file.
//!
//! Every client opens its sessions here, and so does every session that starts another, so that a session is the same
//! whichever of them opens it. A caller gives data: a [`SessionPlan`] (or a [`Setup`] that was made from its own) and an
//! [`Opening`].

use std::path::Path;
use std::sync::Arc;

use jiff::Zoned;
use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::config::LimitSettings;
use pellucid_config::config::ResumeSettings;
use pellucid_config::config::Sourced;
use pellucid_config::config::ValueOrigin;
use pellucid_engine::fragment::Why;
use pellucid_engine::pack::Pack;
use pellucid_engine::source;
use pellucid_files::RealDisk;
use pellucid_model::Budget;
use pellucid_model::Catalogue;
use pellucid_model::Model;
use pellucid_model::Script;
use pellucid_model::Transport;
use pellucid_model::budget::BudgetLimits;
use pellucid_model::budget::CostLimit;
use pellucid_model::compression::Compression;
use pellucid_model::credentials::Login;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::event::RawReasoning;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::Provider;
use pellucid_rules::Policy;
use pellucid_store::detail::Detail;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::recorder::Recorder;
use pellucid_store::side::SideFile;
use pellucid_workspace::skills::bundled;

use crate::child::StartedBy;
use crate::context_events::ContextEvents;
use crate::crew::Crew;
use crate::frames::SharedFrames;
use crate::gather;
use crate::gather::FactSources;
use crate::gather::Gathered;
use crate::identity;
use crate::identity::ClientIdentity;
use crate::login;
use crate::phases::Phases;
use crate::prepare;
use crate::prepare::PrepareError;
use crate::prices;
use crate::prices::PriceFileError;
use crate::prices::PricesToday;
use crate::replay;
use crate::revision::ProjectAt;
use crate::session::Beginning;
use crate::session::Session;
use crate::session::Setup;
use crate::telemetry::Telemetry;

/// What a session is opened with.
#[derive(Debug)]
pub struct SessionPlan {
    /// The configuration, which the session keeps.
    pub config: Arc<Config>,
    /// The environment variables that the session reads.
    pub env: Env,
    /// The rules that allow and forbid commands.
    pub policy: Policy,
    /// The pack whose layout orders the input.
    pub pack: Arc<Pack>,
    /// The provider and model that requests are sent to.
    pub asked: SessionModel,
    /// The name and version that headers give.
    pub identity: ClientIdentity,
    /// The client that starts the session.
    pub origin: StartedBy,
    /// Tools that the client runs.
    pub dynamic_tools: Vec<DynamicTool>,
    /// Whether clients receive each item as it is recorded.
    pub raw_items: RawItems,
    /// The agents that the session may start.
    pub crew: Crew,
    /// The models, if they were read before.
    pub catalogue: Option<Arc<Catalogue>>,
    /// The project's files of a git revision, for a session that is only looked at.
    pub project_at: Option<Arc<ProjectAt>>,
    /// The frames that sessions of this process hold together.
    pub frames: SharedFrames,
}

/// The provider and model that a session asks.
#[derive(Debug)]
pub struct SessionModel {
    /// The id of the provider.
    pub provider_id: String,
    /// The provider's address, wire and limits.
    pub provider: Provider,
    /// The model that requests are sent to.
    pub model: Model,
}

/// The id of the embedded model's provider.
pub const SCRIPTED: &str = "scripted";

impl SessionModel {
    /// The provider that a configuration names.
    pub fn over_http(config: &Config, env: &Env, transport: Transport) -> Self {
        let provider = config.model.provider.clone();
        let lookup = |name: &str| env.text(name);
        let key = login::session_key(config, env);
        let compression = Compression::of(&provider, Login::ApiKey, &config.features);
        let model = Model::http(transport, &provider, key, &lookup).compressing(compression);
        Self { provider_id: config.model.provider_id.clone(), provider, model }
    }

    /// The embedded model, which answers from a script.
    pub fn scripted(script: Script) -> Self {
        Self { provider_id: SCRIPTED.to_owned(), provider: script.provider(), model: Model::scripted(script) }
    }
}

/// What a session begins with, and what is kept of it.
#[derive(Debug)]
pub enum Opening {
    /// A session without a history.
    New {
        /// The id of the session, if it is given.
        session_id: Option<SessionId>,
        /// Whether the session has a file.
        keep: Persistence,
    },
    /// A session that continues its file.
    Resumed {
        /// The file that is continued.
        file: Box<SessionFile>,
        /// Whether lines are added to the file.
        keep: Persistence,
    },
    /// A session that begins with a copy of another session's file.
    Forked {
        /// The file that is copied.
        file: Box<SessionFile>,
        /// How many bytes of the file are copied.
        upto: u64,
        /// The id of the new session, if it is given.
        session_id: Option<SessionId>,
        /// Whether the session has a file.
        keep: Persistence,
    },
    /// A session that begins with items that a client gives.
    History {
        /// The items in their order.
        items: Vec<Item>,
        /// Whether the session has a file.
        keep: Persistence,
    },
}

/// Whether a session has a file, and how much the file keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// The session has a file.
    File,
    /// The session has a file, which keeps what tools did too.
    ExtendedFile,
    /// The session's file stays as it is, but its requests are recorded. A session that begins keeps nothing.
    Requests,
    /// The session has no file.
    Nothing,
}

impl Opening {
    /// A new session with the id of its setup.
    pub(crate) fn new(keep: Persistence) -> Self {
        Self::New { session_id: None, keep }
    }

    fn keep(&self) -> Persistence {
        match self {
            Self::New { keep, .. }
            | Self::Resumed { keep, .. }
            | Self::Forked { keep, .. }
            | Self::History { keep, .. } => *keep,
        }
    }

    /// The file that the history comes from, if it comes from one.
    pub fn file(&self) -> Option<&SessionFile> {
        match self {
            Self::Resumed { file, .. } | Self::Forked { file, .. } => Some(file),
            Self::New { .. } | Self::History { .. } => None,
        }
    }

    /// The id that the session has to have, if there is one.
    fn session_id(&self) -> Option<SessionId> {
        match self {
            Self::New { session_id, .. } | Self::Forked { session_id, .. } => session_id.clone(),
            Self::History { .. } => None,
            Self::Resumed { file, .. } => Some(SessionId::new(file.meta.id.as_str())),
        }
    }

    /// What writes the session's file.
    fn recorder(&self, home: &Path, id: &SessionId) -> Result<Recorder, ReadError> {
        let recorder = match (self, self.keep()) {
            (_, Persistence::Nothing) => Recorder::none(),
            (Self::Resumed { file, .. }, keep) => {
                let path = file.path.clone();
                let recorder = if keep == Persistence::Requests {
                    Recorder::hold(RealDisk::shared(), path)
                } else {
                    Recorder::resume(RealDisk::shared(), path)
                };
                recorder.map_err(|error| ReadError::unwritable(&file.path, error))?
            }
            (_, Persistence::Requests) => Recorder::none(),
            (_, Persistence::File | Persistence::ExtendedFile) => {
                Recorder::new(RealDisk::shared(), name::path(home, Zoned::now().datetime(), id.as_str()))
            }
        };
        Ok(recorder.keeping(self.keep().detail()))
    }
}

impl Persistence {
    /// Whether there is a file for an agent of a session that has one itself.
    pub(crate) fn like(is_kept: bool) -> Self {
        if is_kept { Self::File } else { Self::Nothing }
    }

    fn detail(self) -> Detail {
        match self {
            Self::File | Self::Requests | Self::Nothing => Detail::Limited,
            Self::ExtendedFile => Detail::Extended,
        }
    }
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The session's file cannot be read or continued.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file that is to be injected cannot be used.
    #[error(transparent)]
    Inject(#[from] PrepareError),
    /// There is a limit in money, and the user's prices cannot be used.
    #[error(transparent)]
    Prices(#[from] PriceFileError),
}

/// Opens a session for a client.
///
/// # Errors
/// A file that the session needs cannot be used.
pub fn open(plan: SessionPlan, opening: Opening) -> Result<Session, OpenError> {
    let setup = setup(plan, &opening)?;
    begin(setup, opening)
}

/// Opens a session with what it is made of. The recorder and what is kept beside the file follow from the opening, and so
/// does the id of a session that has one already. Sessions that a session starts are opened with this too.
///
/// # Errors
/// The session's file cannot be read or continued.
pub(crate) fn begin(mut setup: Setup, opening: Opening) -> Result<Session, OpenError> {
    let home = setup.sources.config.folders.home.clone();
    setup.session_id = opening.session_id().unwrap_or(setup.session_id);
    let recorder = opening.recorder(&home, &setup.session_id)?;
    let is_written = recorder.path().is_some() && !recorder.is_held();
    let is_resumed = matches!(opening, Opening::Resumed { .. });
    setup.side = match setup.origin {
        StartedBy::Client(_) if is_written => SideFile::open(&home, setup.session_id.as_str()),
        StartedBy::Client(_) => SideFile::open(&home, setup.session_id.as_str()).read_only(),
        // An agent keeps something beside its file from the second time it is opened.
        _ if is_written && is_resumed => SideFile::open(&home, setup.session_id.as_str()),
        _ => SideFile::default(),
    };
    let n_requests = match opening.file() {
        _ if !setup.context_events.are_requests_wanted() && !setup.telemetry.is_on() => None,
        None => Some(0),
        // A session whose requests cannot be counted reports none.
        Some(file) => replay::n_requests(&home, file, None).ok(),
    };
    let is_client_told = setup.context_events.are_requests_wanted();
    let session = match opening {
        Opening::New { .. } => Session::open(setup, recorder, Beginning::Nothing),
        Opening::History { items, .. } => Session::open(setup, recorder, Beginning::Items(&items)),
        Opening::Resumed { file, .. } => Session::open(setup, recorder, Beginning::Resumed(&file)),
        Opening::Forked { file, upto, .. } => Session::open(setup, recorder, Beginning::Forked(&file, upto)),
    };
    let mut session = session?;
    if let Some(n_before) = n_requests {
        session.count_requests(n_before);
        if is_client_told {
            session.note_requests(n_before);
        }
    }
    Ok(session)
}

/// The limits that the configuration sets. Prices are only read where money is limited.
///
/// # Errors
/// When a file of prices cannot be used.
pub fn budget(config: &Config) -> Result<Budget, PriceFileError> {
    let LimitSettings { max_tokens, max_requests, max_cost } = config.limits;
    let max_cost = match max_cost {
        Some(units) => {
            let prices = Arc::new(PricesToday(prices::price_table(&config.folders.home)?));
            Some(CostLimit { units, prices })
        }
        None => None,
    };
    Ok(Budget::new(BudgetLimits { max_tokens, max_requests, max_cost }))
}

/// What a client's session is made of.
pub(crate) fn setup(plan: SessionPlan, opening: &Opening) -> Result<Setup, OpenError> {
    let SessionPlan {
        config,
        env,
        policy,
        pack,
        asked,
        identity,
        origin,
        dynamic_tools,
        raw_items,
        crew,
        catalogue,
        project_at,
        frames,
    } = plan;
    let config = with_settings_of(config, opening);
    let raw_reasoning = if config.display.show_raw_reasoning { RawReasoning::Shown } else { RawReasoning::Hidden };
    let mut notices = notices(&config);
    notices.extend(opening.file().and_then(SessionFile::warning).map(|message| EventMessage::Warning { message }));
    let (telemetry, unusable) = Telemetry::configured(&config, &env);
    notices.extend(unusable.into_iter().map(|message| EventMessage::Warning { message }));
    let budget = budget(&config)?;
    let compact_prompt = config.prompt.compact_prompt.as_ref().map(gather::provided);
    if let Err(error) = bundled::install(&config.prompt.pack, &config.folders.home) {
        tracing::warn!(%error, "the skills of the pack could not be put into place");
    }
    let sources = match catalogue {
        Some(catalogue) => FactSources::sharing(config, env, catalogue),
        None => FactSources::new(config, env),
    };
    let sources = sources.with_policy(policy).with_project_at(project_at);
    let mut gathered = gather::gather(&sources);
    gathered.facts.tools.dynamic_tools = dynamic_tools;
    prepare::prepare(&mut gathered, &pack, &sources)?;
    notices.extend(untrusted_notice(&gathered, &sources.config));
    notices.extend(gathered.warnings.iter().cloned().map(|message| EventMessage::Warning { message }));
    if source::lacks_tones(&gathered.facts, &pack) {
        let model = &gathered.facts.settings.model.slug;
        tracing::warn!(%model, "`personality` has no effect: there are no instructions with a place for it");
    }
    Ok(Setup {
        session_id: identity::new_session_id(),
        origin,
        pack,
        gathered,
        sources,
        provider_id: asked.provider_id,
        provider: asked.provider,
        model: asked.model.within(budget),
        identity,
        raw_reasoning,
        raw_items,
        compact_prompt,
        context_events: ContextEvents::default(),
        telemetry,
        notices,
        side: SideFile::default(),
        crew,
        phases: Phases::default(),
        frames,
    })
}

/// The configuration with the settings of a session that is opened again, where these count.
fn with_settings_of(config: Arc<Config>, opening: &Opening) -> Arc<Config> {
    let Some(file) = opening.file().filter(|_| config.prompt.resume_settings == ResumeSettings::Session) else {
        return config;
    };
    // A file that cannot be read is reported where its history is.
    let Ok(Some(turn)) = read::last_turn(&file.path) else { return config };
    let mut config = Config::clone(&config);
    if !config.model.is_typed {
        config.model.slug = Some(turn.model);
        if !config.model.is_effort_typed {
            config.model.reasoning_effort = turn.effort;
        }
    }
    if let (None, Some(text)) = (&config.prompt.developer_instructions, turn.developer_instructions) {
        let (origin, file) = (ValueOrigin::Caller, Some(file.path.clone()));
        config.prompt.developer_instructions = Some(Sourced { text, origin, file });
    }
    Arc::new(config)
}

/// Events that clients receive before the first turn.
fn notices(config: &Config) -> Vec<EventMessage> {
    let deprecations = config.noticed.deprecations.iter().map(|deprecation| EventMessage::DeprecationNotice {
        summary: deprecation.summary.clone(),
        details: deprecation.details.clone(),
    });
    let disallowed = config.noticed.disallowed.iter().map(|it| EventMessage::Warning { message: it.to_string() });
    let unstable = config.unstable_features_warning().map(|message| EventMessage::Warning { message });
    deprecations.chain(disallowed).chain(unstable).collect()
}

/// The warning about a project whose instruction files and skills are left out.
fn untrusted_notice(gathered: &Gathered, config: &Config) -> Option<EventMessage> {
    let n = gathered.omissions.iter().filter(|omission| omission.why == Why::Untrusted).count();
    let (root, file) = (config.folders.project_root.display(), config.folders.user_file.display());
    (n > 0).then(|| EventMessage::Warning {
        message: format!(
            "instruction files and skills of {root} are left out, as it is marked as untrusted in {file} ({n} of them; `pellucid context` names them)"
        ),
    })
}
