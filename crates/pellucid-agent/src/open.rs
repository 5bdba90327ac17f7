//! Opens sessions: from a configuration to a session with its file.
//!
//! Every face opens its sessions here, so that a session is the same whoever asks for it.

use std::sync::Arc;

use jiff::Zoned;
use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::config::LimitSettings;
use pellucid_engine::fragment::Why;
use pellucid_engine::pack::Pack;
use pellucid_engine::source;
use pellucid_exec::policy::Policy;
use pellucid_model::Budget;
use pellucid_model::Catalogue;
use pellucid_model::Model;
use pellucid_model::Script;
use pellucid_model::Transport;
use pellucid_model::budget::Limits;
use pellucid_model::compression::Compression;
use pellucid_model::credentials::Login;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::event::RawReasoning;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::item::Item;
use pellucid_protocol::provider::Provider;
use pellucid_store::detail::Detail;
use pellucid_store::name;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::recorder::Recorder;
use pellucid_store::side::Side;
use pellucid_workspace::skills::bundled;

use crate::child::Origin;
use crate::context_events::ContextEvents;
use crate::crew::Crew;
use crate::gather;
use crate::gather::Gathered;
use crate::gather::Sources;
use crate::identity;
use crate::identity::Identity;
use crate::login;
use crate::prepare;
use crate::prepare::InjectError;
use crate::revision::ProjectAt;
use crate::session::Session;
use crate::session::Setup;

/// What a session is opened with.
#[derive(Debug)]
pub struct Plan {
    /// The configuration.
    pub config: Arc<Config>,
    /// The environment.
    pub env: Env,
    /// The rules about commands.
    pub policy: Policy,
    /// How its input is put together.
    pub pack: Arc<Pack>,
    /// Whom it asks.
    pub asked: Asked,
    /// How it introduces itself.
    pub identity: Identity,
    /// Who starts it.
    pub origin: Origin,
    /// Tools that the program which drives it runs.
    pub dynamic_tools: Vec<DynamicTool>,
    /// Whether faces are told of items as they are recorded.
    pub raw_items: RawItems,
    /// The agents that it may start.
    pub crew: Crew,
    /// The models, if they were read before.
    pub catalogue: Option<Arc<Catalogue>>,
    /// The project's files of a git revision, for a session that is only looked at.
    pub project_at: Option<Arc<ProjectAt>>,
}

/// Whom a session asks.
#[derive(Debug)]
pub struct Asked {
    /// The provider's id.
    pub provider_id: String,
    /// The provider.
    pub provider: Provider,
    /// The model behind it.
    pub model: Model,
}

/// The id of the embedded model's provider.
pub const SCRIPTED: &str = "scripted";

impl Asked {
    /// The provider that a configuration names.
    pub fn over_http(config: &Config, env: &Env, transport: Transport) -> Self {
        let provider = config.model.provider.clone();
        let lookup = |name: &str| env.text(name);
        let key = login::session_key(config, env);
        let compression = Compression::of(&provider, Login::ApiKey, &config.features);
        let model = Model::http(transport, &provider, key, &lookup).compressing(compression);
        Self { provider_id: config.model.provider_id.clone(), provider, model }
    }

    /// The embedded model.
    pub fn scripted(script: Script) -> Self {
        Self { provider_id: SCRIPTED.to_owned(), provider: script.provider(), model: Model::scripted(script) }
    }
}

/// How a session is opened.
#[derive(Debug)]
pub enum Opening {
    /// From nothing.
    New {
        /// Its id, if it is given.
        session_id: Option<SessionId>,
        /// Whether there is a file of it.
        keep: Keep,
    },
    /// Where its file ends.
    Resumed {
        /// The file.
        file: Box<SessionFile>,
        /// Whether it is written on.
        keep: Keep,
    },
    /// From a copy of another one's file.
    Forked {
        /// The file.
        file: Box<SessionFile>,
        /// How many bytes of it.
        upto: u64,
        /// The new session's id, if it is given.
        session_id: Option<SessionId>,
        /// Whether there is a file of it.
        keep: Keep,
    },
    /// From items that somebody gives.
    History {
        /// The items.
        items: Vec<Item>,
        /// Whether there is a file of it.
        keep: Keep,
    },
}

/// Whether there is a file of a session, and how much it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// There is.
    File,
    /// There is, and it keeps what tools did too.
    ExtendedFile,
    /// There is, and it stays as it is. What is sent is recorded all the same. A session that begins keeps nothing.
    Requests,
    /// There is not.
    Nothing,
}

impl Opening {
    fn keep(&self) -> Keep {
        match self {
            Self::New { keep, .. }
            | Self::Resumed { keep, .. }
            | Self::Forked { keep, .. }
            | Self::History { keep, .. } => *keep,
        }
    }
}

impl Keep {
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
    /// Its file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What is to be injected cannot be used.
    #[error(transparent)]
    Inject(#[from] InjectError),
}

/// Opens a session.
///
/// # Errors
/// If a file that it needs cannot be used.
pub fn open(plan: Plan, opening: Opening) -> Result<Session, OpenError> {
    let Plan {
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
    } = plan;
    let home = config.folders.home.clone();
    let new = |session_id: Option<&SessionId>, keep: Keep| {
        let id = session_id.cloned().unwrap_or_else(identity::new_session_id);
        let recorder = match keep {
            Keep::File | Keep::ExtendedFile => Recorder::new(name::path(&home, Zoned::now().datetime(), id.as_str())),
            Keep::Requests | Keep::Nothing => Recorder::none(),
        };
        (id, recorder)
    };
    let (session_id, recorder) = match &opening {
        Opening::New { session_id, keep } | Opening::Forked { session_id, keep, .. } => new(session_id.as_ref(), *keep),
        Opening::History { keep, .. } => new(None, *keep),
        Opening::Resumed { file, keep } => {
            let path = file.path.clone();
            let recorder = match keep {
                Keep::File | Keep::ExtendedFile => Recorder::resume(path),
                Keep::Requests => Recorder::hold(path),
                Keep::Nothing => Ok(Recorder::none()),
            };
            let recorder = recorder.map_err(|error| ReadError::unwritable(&file.path, error))?;
            (SessionId::new(file.meta.id.as_str()), recorder)
        }
    };
    let recorder = recorder.keeping(opening.keep().detail());
    let side = Side::open(&home, session_id.as_str());
    let is_written = recorder.path().is_some() && !recorder.is_held();
    let side = if is_written { side } else { side.read_only() };
    let raw_reasoning = if config.display.show_raw_reasoning { RawReasoning::Shown } else { RawReasoning::Hidden };
    let mut notices = notices(&config);
    if let Opening::Resumed { file, .. } | Opening::Forked { file, .. } = &opening {
        notices.extend(file.warning().map(|message| EventMessage::Warning { message }));
    }
    let LimitSettings { max_tokens, max_requests } = config.limits;
    let budget = Budget::new(Limits { max_tokens, max_requests });
    let compact_prompt = config.prompt.compact_prompt.as_ref().map(gather::provided);
    if let Err(error) = bundled::install(&config.prompt.pack, &home) {
        tracing::warn!(%error, "the skills of the pack could not be put into place");
    }
    let sources = match catalogue {
        Some(catalogue) => Sources::sharing(config, env, catalogue),
        None => Sources::new(config, env),
    };
    let sources = sources.with_policy(policy).with_project_at(project_at);
    let mut gathered = gather::gather(&sources);
    gathered.facts.dynamic_tools = dynamic_tools;
    prepare::prepare(&mut gathered, &pack, &sources)?;
    notices.extend(untrusted_notice(&gathered, &sources.config));
    if source::lacks_tones(&gathered.facts, &pack) {
        let model = &gathered.facts.model.slug;
        tracing::warn!(%model, "`personality` has no effect: there are no instructions with a place for it");
    }
    let setup = Setup {
        session_id,
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
        notices,
        side,
        crew,
    };
    Ok(match opening {
        Opening::New { .. } => Session::new(setup, recorder),
        Opening::History { items, .. } => Session::of_history(setup, recorder, &items),
        Opening::Resumed { file, .. } => Session::resumed(setup, recorder, &file)?,
        Opening::Forked { file, upto, .. } => Session::forked(setup, recorder, &file, upto)?,
    })
}

/// What a person should hear before the first turn.
fn notices(config: &Config) -> Vec<EventMessage> {
    let deprecations = config.deprecations.iter().map(|deprecation| EventMessage::DeprecationNotice {
        summary: deprecation.summary.clone(),
        details: deprecation.details.clone(),
    });
    let disallowed = config.disallowed.iter().map(|it| EventMessage::Warning { message: it.to_string() });
    let unstable = config.unstable_features_warning().map(|message| EventMessage::Warning { message });
    deprecations.chain(disallowed).chain(unstable).collect()
}

/// What is said of a project whose instruction files and skills are left out.
fn untrusted_notice(gathered: &Gathered, config: &Config) -> Option<EventMessage> {
    let n = gathered.omissions.iter().filter(|omission| omission.why == Why::Untrusted).count();
    let (root, file) = (config.folders.project_root.display(), config.folders.user_file.display());
    (n > 0).then(|| EventMessage::Warning {
        message: format!(
            "instruction files and skills of {root} are left out, as it is marked as untrusted in {file} ({n} of them; `pellucid context` names them)"
        ),
    })
}
