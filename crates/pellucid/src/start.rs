//! From arguments to a session: home, configuration, pack, model, facts.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use pellucid_agent::child::StartedBy;
use pellucid_agent::crew::Crew;
use pellucid_agent::frames::SharedFrames;
use pellucid_agent::identity;
use pellucid_agent::identity::ClientIdentity;
use pellucid_agent::login;
use pellucid_agent::open;
pub use pellucid_agent::open::Opening;
pub use pellucid_agent::open::Persistence;
use pellucid_agent::open::SCRIPTED;
use pellucid_agent::open::SessionModel;
use pellucid_agent::open::SessionPlan;
use pellucid_agent::own_git;
use pellucid_agent::restore::SetAside;
use pellucid_agent::revision::ProjectAt;
use pellucid_agent::rules;
use pellucid_agent::session::Session;
use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::HarnessOverrides;
use pellucid_config::LoadOptions;
use pellucid_config::Override;
use pellucid_config::accepted;
use pellucid_config::guard::Guarded;
use pellucid_config::home;
use pellucid_config::layers::FILE_NAME;
use pellucid_config::load::SystemPaths;
use pellucid_config::overrides::OverrideError;
use pellucid_config::value::Data;
use pellucid_model::Script;
use pellucid_model::Tape;
use pellucid_model::Transport;
use pellucid_model::credentials::StoredLogin;
use pellucid_model::local;
use pellucid_model::local::Fetching;
use pellucid_model::local::LocalServer;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::number;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxMode;
use pellucid_rules::Policy;
use pellucid_store::find;
use pellucid_store::find::SessionFilter;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_workspace::images::load_image;
use pellucid_workspace::pack_files;
use serde_json::Value;

use crate::args::shared::Shared;
use crate::args::turn::LocalProvider;
use crate::args::turn::SandboxArg;
use crate::args::turn::StartArgs;
use crate::called;
use crate::environment;
use crate::exec;
use crate::log;
use crate::pack;
use crate::stdin;
use crate::stored;
use crate::stored::Called;
use crate::stored::NoSession;
use crate::style;

/// The policy of commands whose client cannot answer questions.
pub const EXEC_POLICY: ApprovalPolicy = ApprovalPolicy::Never;

/// The warning about a rule that would let commands out of the sandbox in a project that is not trusted.
pub const IGNORED_RULE: &str = "a rule that allows does not count, as the project is not trusted";

/// The warning about a rules file that is a program, in a project that is not trusted.
pub const UNREAD_RULES: &str = "not read: it is more than a list of rules, and the project is not trusted";

/// The end of the warning about rules that cannot be used; the reason comes before it.
pub const UNUSABLE_RULES: &str =
    "the project is not trusted, so its rules there are left out: what they would forbid is not forbidden";

/// Which of this program's clients opens a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The name of the client for people: the channel of what goes before their input.
    name: &'static str,
    /// The name of the client, for the header `originator`.
    originator: &'static str,
    /// The name of the client in session files.
    source: &'static str,
}

impl Caller {
    /// A command that asks no person.
    const EXEC: Self = Self { name: "exec", originator: "pellucid_exec", source: "exec" };
    /// The same for a program that calls this one as `codex`, with the originator that programs look for then.
    const EXEC_AS_CODEX: Self = Self { originator: "codex_exec", ..Self::EXEC };
    /// The terminal client.
    const TERMINAL: Self = Self { name: "terminal", originator: "codex_cli_rs", source: "cli" };
}

/// Why the program stops: lines for standard error, without the word `error`, and the kind of failure.
#[derive(Debug)]
pub struct ProgramFailure {
    text: String,
    kind: FailureKind,
}

/// The kind of a failure, which decides the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureKind {
    /// Something did not work: 1, or 3 for a command that answers a question.
    Failed,
    /// What was asked about breaks a rule that the caller gave: 1.
    Violation,
    /// The arguments are wrong, or name something that does not exist: 2.
    Usage,
    /// The answer is unknown: 3.
    Unknown,
}

impl ProgramFailure {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: FailureKind::Failed }
    }

    /// A failure with advice on what to do.
    pub fn with_hint(text: &str, hint: &str) -> Self {
        Self::new(format!("{text}\nhint: {hint}"))
    }

    /// A rule that the caller gave is broken; exit status 1.
    pub fn violation(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: FailureKind::Violation }
    }

    /// The arguments are wrong, or name something that does not exist; exit status 2.
    pub fn usage(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: FailureKind::Usage }
    }

    /// The answer is unknown; exit status 3.
    pub fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: FailureKind::Unknown }
    }

    /// The same failure of a command that answers a question: whatever did not work, the answer is unknown.
    pub fn of_question(self) -> Self {
        let kind = if self.kind == FailureKind::Failed { FailureKind::Unknown } else { self.kind };
        Self { kind, ..self }
    }

    /// The same failure, with what it is about before the message.
    pub fn about(self, what: &str) -> Self {
        Self { text: format!("{what}: {}", self.text), ..self }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the arguments are wrong, or name something that does not exist.
    pub fn is_usage(&self) -> bool {
        self.kind == FailureKind::Usage
    }

    /// Prints the failure and returns the status to end with.
    pub fn show(&self) -> ExitCode {
        style::line(&format!("error: {}", self.text));
        ExitCode::from(match self.kind {
            FailureKind::Failed | FailureKind::Violation => 1,
            FailureKind::Usage => 2,
            FailureKind::Unknown => 3,
        })
    }
}

/// The configuration and model of a command, before its session is opened.
#[derive(Debug)]
pub struct Start {
    pub config: Config,
    pub env: Env,
    /// How the configuration was read.
    options: LoadOptions,
    script: Option<Script>,
    tape: Option<Tape>,
    local: Option<LocalServer>,
    policy: Option<Policy>,
    project_at: Option<Arc<ProjectAt>>,
    caller: Caller,
}

impl Start {
    /// Reads the configuration for a turn.
    pub fn new(shared: &Shared, args: &StartArgs) -> Result<Self, ProgramFailure> {
        let overrides = overrides(shared)?;
        let home = find_home()?;
        Self::load(home, overrides, args, Some(EXEC_POLICY))
    }

    /// Reads the configuration for a client that can ask a person, under this policy or the configured one.
    pub fn asking(shared: &Shared, args: &StartArgs, policy: Option<ApprovalPolicy>) -> Result<Self, ProgramFailure> {
        let home = find_home()?;
        Self::load(home, overrides(shared)?, args, policy)
    }

    /// Reads the configuration for the terminal client.
    pub fn in_terminal(
        shared: &Shared,
        args: &StartArgs,
        policy: Option<ApprovalPolicy>,
    ) -> Result<Self, ProgramFailure> {
        Ok(Self { caller: Caller::TERMINAL, ..Self::asking(shared, args, policy)? })
    }

    /// Reads the configuration for a turn from another home folder than the user's.
    pub fn in_home(home: &Path, shared: &Shared, args: &StartArgs) -> Result<Self, ProgramFailure> {
        Self::load(home.to_owned(), overrides(shared)?, args, Some(EXEC_POLICY))
    }

    fn load(
        home: PathBuf,
        overrides: Vec<Override>,
        args: &StartArgs,
        policy: Option<ApprovalPolicy>,
    ) -> Result<Self, ProgramFailure> {
        // Files that commands of a killed session wrote where they may not are moved away before they can be read.
        for aside in pellucid_exec::sandbox::aside::recover(&home) {
            style::line(&format!("warning: {aside}"));
        }
        let env = environment::with_dotenv(&home);
        let cwd = working_directory(args.cd.as_deref())?;
        let mut options = LoadOptions::new(cwd, home, env);
        options.overrides = overrides;
        Self::load_with(options, args, policy)
    }

    /// The same in an empty home folder, so that nothing counts but the project and the command line. The project counts as
    /// trusted, with all keys of its configuration accepted.
    pub fn of_project(home: &Path, shared: &Shared, args: &StartArgs) -> Result<Self, ProgramFailure> {
        let user = home.join("user").into_os_string();
        let variables = [("HOME".to_owned(), user.clone()), ("USERPROFILE".to_owned(), user)];
        let path = Env::process().var_os("PATH").map(|path| ("PATH".to_owned(), path));
        let env = Env::from_pairs([]).with(variables.into_iter().chain(path));
        let mut options = LoadOptions::new(working_directory(args.cd.as_deref())?, home, env);
        options.system = SystemPaths::in_folder(&home.join("system"));
        options.overrides = overrides(shared)?;
        let read = |options: &LoadOptions| {
            pellucid_config::load_layers(options).map_err(|error| ProgramFailure::new(error.report()))
        };
        let root = read(&options)?.project_root().to_owned();
        let mut trusted = String::new();
        for folder in BTreeSet::from([root.canonicalize().unwrap_or_else(|_| root.clone()), root]) {
            let folder = Value::from(folder.to_string_lossy());
            trusted += &format!("[projects.{folder}]\ntrust_level = \"trusted\"\n");
        }
        let failed = |error: &dyn std::fmt::Display| ProgramFailure::new(format!("{}: {error}", home.display()));
        pellucid_files::write_private(&home.join(FILE_NAME), trusted.as_bytes()).map_err(|error| failed(&error))?;
        let layers = read(&options)?;
        let guarded: Vec<&Guarded> = layers.iter().filter_map(|layer| layer.guarded()).collect();
        accepted::accept(home, &guarded).map_err(|error| failed(&error))?;
        Self::load_with(options, args, Some(EXEC_POLICY))
    }

    fn load_with(
        mut options: LoadOptions,
        args: &StartArgs,
        policy: Option<ApprovalPolicy>,
    ) -> Result<Self, ProgramFailure> {
        options.harness = HarnessOverrides { approval_policy: policy, ..harness(args) };
        let load =
            |options: &LoadOptions| pellucid_config::load(options).map_err(|error| ProgramFailure::new(error.report()));
        let local = match (args.oss, args.local_provider) {
            (false, _) => None,
            (true, Some(LocalProvider::Lmstudio)) => Some(LocalServer::LmStudio),
            (true, Some(LocalProvider::Ollama)) => Some(LocalServer::Ollama),
            (true, None) => Some(configured_local_server(&load(&options)?)?),
        };
        if let Some(local) = local {
            options.harness.model_provider = Some(local.id().to_owned());
            options.harness.model.get_or_insert_with(|| local.default_model().to_owned());
            options.harness.show_raw_reasoning = Some(true);
        }
        let mut config = load(&options)?;
        if let Some(folder) = &config.folders.logs {
            log::append_to(folder);
        }
        stdin::inject(&args.inject, &mut config.prompt)?;
        for warning in &config.noticed.warnings {
            style::line(&format!("warning: {warning}"));
        }
        let script = script(args)?;
        Ok(Self {
            config,
            env: options.env.clone(),
            options,
            script,
            tape: None,
            local,
            policy: None,
            project_at: None,
            caller: if called::is_codex() { Caller::EXEC_AS_CODEX } else { Caller::EXEC },
        })
    }

    /// Reads the rules about commands. What is wrong in them ends the program: a rule that forbids must not
    /// be lost because another is misspelt.
    pub fn read_rules(&mut self) -> Result<&Policy, ProgramFailure> {
        let policy = match self.policy.take() {
            Some(policy) => policy,
            None => rules::load(&self.config)
                .map_err(|error| ProgramFailure::new(format!("the rules cannot be loaded:\n{error}")))?,
        };
        Ok(self.policy.insert(policy))
    }

    /// Ends the program if the stored login is not the kind that the configuration demands.
    pub fn enforce_login(&self) -> Result<(), ProgramFailure> {
        login::enforce(&self.config, &self.env)
            .map_err(|violation| ProgramFailure::new(format!("{violation}. Logging out.")))
    }

    /// Makes sure that the local model server of `--oss` can answer.
    pub fn make_ready(&self) -> Result<(), ProgramFailure> {
        let (Some(local), None) = (self.local, &self.script) else {
            return Ok(());
        };
        let model = self.config.model.slug.as_deref().unwrap_or(local.default_model());
        let mut printed = None;
        let mut progress = |fetching: &Fetching| {
            let line = fetching_text(fetching);
            if printed.as_ref() != Some(&line) {
                style::line(&format!("{model}: {line}"));
                printed = Some(line);
            }
        };
        let runtime = exec::runtime()?;
        runtime
            .block_on(local::make_ready(local, &self.config.model.provider, model, &mut progress))
            .map_err(|error| ProgramFailure::new(format!("{error}")))
    }

    /// Writes the model's replies to a file, from now on.
    pub fn record(&mut self, file: &Path) -> Result<Tape, ProgramFailure> {
        let provider = match &self.script {
            Some(script) => script.provider(),
            None => self.config.model.provider.clone(),
        };
        let failed = |error| ProgramFailure::new(format!("--record: {error}"));
        let tape = Tape::create(file, &provider).map_err(failed)?;
        self.tape = Some(tape.clone());
        Ok(tape)
    }

    /// Uses the project's files of a git revision, for a session that is only inspected. Returns the commit.
    pub fn look_at(&mut self, revision: &str) -> Result<String, String> {
        let (config, folders) = (&self.config, &self.config.folders);
        let git = own_git::of(config, &self.env);
        let pack = pack_files::load(&config.prompt.pack, &folders.home).map_err(|error| error.to_string())?;
        let mut names = config.documents.fallback_filenames.clone();
        names.extend(pack.layout.bootstrap.into_iter().flat_map(|set| set.names.into_iter().chain(set.optional)));
        let at = ProjectAt::read(&git, &folders.home, &folders.cwd, revision, &names)?;
        let commit = at.commit().to_owned();
        self.project_at = Some(Arc::new(at));
        Ok(commit)
    }

    /// Opens a session, and prints what is wrong with its rules, login and file.
    pub fn session(mut self, opening: Opening) -> Result<Session, ProgramFailure> {
        let policy = self.read_rules()?.clone();
        for rule in &policy.ignored {
            style::line(&format!("warning: {}: {IGNORED_RULE}", rule.place));
        }
        for file in &policy.unread {
            style::line(&format!("warning: {}: {UNREAD_RULES}", file.display()));
        }
        for why in &policy.unusable {
            style::line(&format!("warning: {why}; {UNUSABLE_RULES}"));
        }
        if self.script.is_none() {
            warn_of_unusable_login(&self.config, login::session_key(&self.config, &self.env).is_some());
        }
        let path = opening.file().map(|file| file.path.clone());
        let session = open::open(self.plan()?, opening).map_err(|error| ProgramFailure::new(format!("{error}")))?;
        if let Some(path) = path {
            warn_of_set_aside(&path, session.set_aside());
        }
        Ok(session)
    }

    /// What a session is opened with.
    pub fn plan(mut self) -> Result<SessionPlan, ProgramFailure> {
        let policy = self.read_rules()?.clone();
        let Self { config, env, options, script, tape, local: _, policy: _, project_at, caller } = self;
        let pack = pack::selected(&config)?;
        let mut asked = match script {
            Some(script) => SessionModel::scripted(script),
            None => SessionModel::over_http(&config, &env, Transport::default()),
        };
        if let Some(tape) = &tape {
            asked.model = asked.model.recorded(tape);
        }
        Ok(SessionPlan {
            identity: ClientIdentity::new(caller.originator, &env).named(caller.name),
            config: Arc::new(config),
            env,
            policy,
            pack: Arc::new(pack),
            asked,
            origin: StartedBy::Client(caller.source),
            dynamic_tools: Vec::new(),
            raw_items: RawItems::Hidden,
            crew: Crew::new(options),
            catalogue: None,
            project_at,
            frames: SharedFrames::default(),
        })
    }

    /// The session file that a person means; absent when there is none.
    ///
    /// # Errors
    /// The file cannot be used. A new session in its place would have another history than the person expects.
    pub fn find(&self, which: &Which) -> Result<Option<SessionFile>, ProgramFailure> {
        if let Which::Id(text) = which
            && let Called::Several { ids } = stored::called(&self.config.folders.home, text)
        {
            return Err(NoSession::several(text, &ids).failure());
        }
        let path = self.path_of(which, Some(self.provider_id()));
        let file = path.map(|path| read::open(&path)).transpose();
        file.map_err(|error| ProgramFailure::new(format!("{error}; nothing was sent")))
    }

    /// Explains that there is no such session with this provider.
    pub fn no_session(&self, which: &Which) -> NoSession {
        self.no_session_of(which, Some(self.provider_id()))
    }

    /// The session file that a person means, which must exist.
    pub fn existing(&self, which: &Which) -> Result<SessionFile, ProgramFailure> {
        self.existing_of(which, Some(self.provider_id()))
    }

    /// The session file that a person means, which must exist, with any provider.
    pub fn existing_of_any(&self, which: &Which) -> Result<SessionFile, ProgramFailure> {
        self.existing_of(which, None)
    }

    fn existing_of(&self, which: &Which, provider: Option<&str>) -> Result<SessionFile, ProgramFailure> {
        let path = self.path_of(which, provider);
        let path = path.ok_or_else(|| self.no_session_of(which, provider).failure())?;
        read::open(&path).map_err(|error| ProgramFailure::new(format!("{error}")))
    }

    /// Refuses the id of a stored session for a new one: each of two files with one id would look like the other, changed.
    pub fn check_is_free(&self, id: &SessionId) -> Result<(), ProgramFailure> {
        let id = id.to_string();
        match find::anywhere(&self.config.folders.home, &id) {
            Some(path) => Err(ProgramFailure::new(format!(
                "--session-id {id}: {} is a session with this id; give another id, or continue that one with \
                 `pellucid exec resume {id}`",
                path.display()
            ))),
            None => Ok(()),
        }
    }

    fn path_of(&self, which: &Which, provider: Option<&str>) -> Option<PathBuf> {
        let home = &self.config.folders.home;
        match which {
            Which::Id(text) => match stored::called(home, text) {
                Called::One { id } => find::by_id(home, &id),
                Called::Several { .. } | Called::Nothing => None,
            },
            Which::Newest { everywhere } => {
                let cwd = (!everywhere).then_some(self.config.folders.cwd.as_path());
                find::newest(home, SessionFilter { cwd, provider })
            }
        }
    }

    /// Explains that there is no such session, and which one may be meant.
    fn no_session_of(&self, which: &Which, provider: Option<&str>) -> NoSession {
        let home = &self.config.folders.home;
        let everywhere = match which {
            Which::Id(text) => {
                return match stored::called(home, text) {
                    // A stored session that was not found among those in use.
                    Called::One { id } => NoSession {
                        why: format!("the session {id} is archived"),
                        hint: format!("`pellucid sessions unarchive {id}` makes it available again"),
                    },
                    Called::Several { ids } => NoSession::several(text, &ids),
                    Called::Nothing => NoSession::called(home, text),
                };
            }
            Which::Newest { everywhere } => *everywhere,
        };
        let place = if everywhere { String::new() } else { format!(" in {}", self.config.folders.cwd.display()) };
        let other = self.path_of(which, None).and_then(|path| read::open(&path).ok());
        match (other, provider) {
            (Some(SessionFile { meta, .. }), Some(provider)) => {
                let (id, its) = (meta.id, meta.model_provider.unwrap_or_default());
                let why = format!(
                    "no session{place} has used the provider `{provider}`; the last one there is {id}, with `{its}`"
                );
                NoSession { why, hint: format!("name {id} in place of --last") }
            }
            _ => NoSession::listing(format!("no session has worked{place} yet")),
        }
    }

    /// Whether the embedded model answers.
    pub fn has_script(&self) -> bool {
        self.script.is_some()
    }

    /// Whether an option says what commands may do.
    pub fn has_permission_options(&self) -> bool {
        self.options.harness.approval_policy.is_some() || self.options.harness.sandbox_mode.is_some()
    }

    /// The provider that requests go to: the configured one, or the embedded model.
    pub fn provider_id(&self) -> &str {
        if self.script.is_some() { SCRIPTED } else { &self.config.model.provider_id }
    }
}

/// Warns of lines of a session file that could not be read.
fn warn_of_set_aside(path: &Path, set_aside: &SetAside) {
    if set_aside.places.is_empty() {
        return;
    }
    let what = if set_aside.are_offsets { "lines at these bytes" } else { "lines" };
    let places: Vec<String> = set_aside.places.iter().map(ToString::to_string).collect();
    let (path, places) = (path.display(), places.join(", "));
    style::line(&format!("warning: {path}: {what} that cannot be read are set aside: {places}"));
}

/// Which session a person means.
#[derive(Debug)]
pub enum Which {
    /// The session with this id or name.
    Id(String),
    /// The session that was used last.
    Newest {
        /// Whether sessions of other folders count.
        everywhere: bool,
    },
}

/// Finds the folder that holds configuration and sessions.
pub fn find_home() -> Result<PathBuf, ProgramFailure> {
    home::find(&Env::process())
        .map_err(|error| ProgramFailure::new(format!("the home folder cannot be found: {error}")))
}

/// Why images cannot be shown to the model, for each that cannot.
pub fn image_problems(images: &[PathBuf]) -> Vec<String> {
    let problem = |path: &PathBuf| load_image(path).problem().map(str::to_owned);
    images.iter().filter_map(problem).collect()
}

/// The inputs of a turn, with a warning for each image that the model will not see.
pub fn inputs(images: &[PathBuf], text: Option<String>) -> Vec<UserInput> {
    for problem in image_problems(images) {
        style::line(&format!("warning: {problem}"));
    }
    user_inputs(images, text)
}

/// The inputs of a turn: images first, then the text.
pub fn user_inputs(images: &[PathBuf], text: Option<String>) -> Vec<UserInput> {
    let images = images.iter().map(|path| UserInput::LocalImage { path: path.clone() });
    images.chain(text.map(UserInput::text)).collect()
}

/// The JSON schema for the final answer.
pub fn output_schema(file: Option<&Path>) -> Result<Option<Value>, ProgramFailure> {
    let Some(file) = file else {
        return Ok(None);
    };
    let shown = file.display();
    let text = pellucid_files::read_given(file, pellucid_files::TEXT_BYTES_MAX)
        .map_err(|error| ProgramFailure::new(format!("Failed to read output schema file {shown}: {error}")))?;
    let schema = serde_json::from_str(&text)
        .map_err(|error| ProgramFailure::new(format!("Output schema file {shown} is not valid JSON: {error}")))?;
    Ok(Some(number::as_doubles(schema)))
}

/// Values of the command line, in the order in which they apply.
pub fn overrides(shared: &Shared) -> Result<Vec<Override>, ProgramFailure> {
    let failed = |error: OverrideError| {
        let hint = match error {
            OverrideError::UnknownFeature(_) => "`pellucid features list` shows those that exist",
            _ => "write it as `-c KEY=VALUE`",
        };
        ProgramFailure::with_hint(&error.report(), hint)
    };
    let mut overrides = Vec::new();
    for argument in &shared.config {
        overrides.push(Override::parse(argument).map_err(failed)?);
    }
    for (keys, on) in [(&shared.enable, true), (&shared.disable, false)] {
        for key in keys {
            overrides.push(Override::feature(key, on).map_err(failed)?);
        }
    }
    if let Some(pack) = &shared.pack {
        overrides.push(Override::new("pack", Data::String(pack::as_typed(pack))));
    }
    Ok(overrides)
}

fn harness(args: &StartArgs) -> HarnessOverrides {
    HarnessOverrides {
        model: args.model.clone(),
        profile: args.profile.clone(),
        model_provider: args.provider.clone().filter(|provider| provider != SCRIPTED),
        sandbox_mode: sandbox_mode(args),
        additional_writable_roots: args.add_dir.clone(),
        ..HarnessOverrides::default()
    }
}

/// The local model server of `--oss` without `--local-provider`.
fn configured_local_server(config: &Config) -> Result<LocalServer, ProgramFailure> {
    match config.model.oss_provider.as_deref() {
        Some(id) => LocalServer::from_id(id).ok_or_else(|| {
            ProgramFailure::new(format!("oss_provider `{id}` is not a local model server: write lmstudio or ollama"))
        }),
        None => Err(ProgramFailure::new(
            "--oss needs to know the local model server: add --local-provider ollama or lmstudio, \
             or write oss_provider in config.toml",
        )),
    }
}

/// How much of a model is downloaded, in steps of 10 %, so that not every piece prints a line.
fn fetching_text(fetching: &Fetching) -> String {
    match fetching.bytes {
        Some((done, total)) if total > 0 => {
            let (tenths, megabytes) = (done.saturating_mul(10) / total, total / 1_000_000);
            format!("{} ({} % of {megabytes} MB)", fetching.status, tenths.min(10) * 10)
        }
        _ => fetching.status.clone(),
    }
}

fn sandbox_mode(args: &StartArgs) -> Option<SandboxMode> {
    if args.bypass {
        return Some(SandboxMode::DangerFullAccess);
    }
    if args.full_auto {
        return Some(SandboxMode::WorkspaceWrite);
    }
    args.sandbox.map(|mode| match mode {
        SandboxArg::ReadOnly => SandboxMode::ReadOnly,
        SandboxArg::WorkspaceWrite => SandboxMode::WorkspaceWrite,
        SandboxArg::DangerFullAccess => SandboxMode::DangerFullAccess,
    })
}

fn script(args: &StartArgs) -> Result<Option<Script>, ProgramFailure> {
    match (&args.script, args.provider.as_deref()) {
        (Some(_), Some(provider)) if provider != SCRIPTED => {
            Err(ProgramFailure::new(format!("--script is for the embedded model, not for the provider `{provider}`")))
        }
        (Some(path), _) => Script::load(path)
            .map(Some)
            .map_err(|error| ProgramFailure::new(format!("the script cannot be loaded: {error}"))),
        (None, Some(SCRIPTED)) => Err(ProgramFailure::new("--provider scripted needs --script FILE")),
        (None, _) => Ok(None),
    }
}

fn working_directory(given: Option<&Path>) -> Result<PathBuf, ProgramFailure> {
    let current = std::env::current_dir()
        .map_err(|error| ProgramFailure::new(format!("the working directory cannot be read: {error}")))?;
    let Some(given) = given else {
        return Ok(current);
    };
    // Links are kept as typed, so that the model reads the path that the person knows.
    let directory = pellucid_files::normal(&current.join(given));
    match std::fs::metadata(&directory) {
        Ok(metadata) if metadata.is_dir() => Ok(directory),
        Ok(_) => Err(ProgramFailure::new(format!("--cd {}: not a directory", given.display()))),
        Err(error) => Err(ProgramFailure::new(format!("--cd {}: {error}", given.display()))),
    }
}

/// The id for a new session from `--session-id`.
pub fn given_session_id(text: Option<&str>) -> Result<Option<SessionId>, ProgramFailure> {
    let Some(text) = text else {
        return Ok(None);
    };
    let id = identity::parse_session_id(text).map(SessionId::new);
    id.map(Some).ok_or_else(|| ProgramFailure::new(format!("--session-id {text}: this is not a UUID")))
}

/// Warns that a ChatGPT login is stored where a key is needed. Without the warning, the server's refusal would not say so.
fn warn_of_unusable_login(config: &Config, has_key: bool) {
    let provider = &config.model.provider;
    let brings_its_own = provider.env_key.is_some() || provider.experimental_bearer_token.is_some();
    if has_key || brings_its_own || !provider.requires_openai_auth {
        return;
    }
    if let Ok(Some(StoredLogin::ChatGpt(_))) = login::stored(config) {
        style::line(
            "warning: the stored login is a ChatGPT account's, which Pellucid does not send; \
             give it an API key with `pellucid login --with-api-key` or CODEX_API_KEY",
        );
    }
}
