//! The entry point of this crate: options in, a [`Config`] out.
//!
//! Reads the layers, checks them, and resolves what they mean.
//!
//! Not here: the rules of a part (`features`, `permissions`, `providers`, `mcp`).

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use pellucid_protocol::elicitation::ElicitationPolicy;
use pellucid_protocol::environment::Inherit;
use pellucid_protocol::environment::ShellEnvironmentPolicy;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Features;
use pellucid_protocol::project_docs::Allocation;
use pellucid_protocol::project_docs::Cut;
use pellucid_protocol::project_docs::OnChange;
use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::ReasoningSummary;
use pellucid_protocol::settings::ReinjectTrigger;
use pellucid_protocol::settings::ResumeContext;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use pellucid_protocol::settings::Verbosity;
use pellucid_protocol::settings::WebSearchMode;

use crate::apps::AppSettings;
use crate::check;
use crate::config::AgentRoleConfig;
use crate::config::BootstrapSettings;
use crate::config::CompactionSettings;
use crate::config::Config;
use crate::config::CredentialStore;
use crate::config::Deprecation;
use crate::config::DisplaySettings;
use crate::config::DocumentSettings;
use crate::config::Folders;
use crate::config::LimitSettings;
use crate::config::LoginMethod;
use crate::config::LoginSettings;
use crate::config::MemoryScope;
use crate::config::MemorySettings;
use crate::config::ModelSettings;
use crate::config::Noticed;
use crate::config::PromptSettings;
use crate::config::RecordSettings;
use crate::config::ResumeSettings;
use crate::config::ServerSettings;
use crate::config::SkillSwitch;
use crate::config::SnapshotSettings;
use crate::config::Sourced;
use crate::config::StandingSettings;
use crate::config::TerminalSettings;
use crate::config::ThreadSettings;
use crate::config::ToolSettings;
use crate::config::ValueOrigin;
use crate::config::Warning;
use crate::env::Env;
use crate::error::ConfigError;
use crate::features;
use crate::files;
use crate::guard;
use crate::guard::Acceptance;
use crate::keys::default;
use crate::keys::default::count_or_default;
use crate::keys::default::flag_or_default;
use crate::keys::default::integer_or_default;
use crate::keys::default::text_or_default;
use crate::keys::default::word_or_default;
use crate::layers;
use crate::layers::FILE_NAME;
use crate::layers::Layer;
use crate::layers::Layers;
use crate::mcp;
use crate::mcp::McpLoginStore;
use crate::mcp::McpLogins;
use crate::overrides::Override;
use crate::permissions;
use crate::providers;
use crate::reader::Reader;
use crate::requirements;
use crate::requirements::Requirements;
use crate::telemetry::TelemetryConfig;
use crate::unknown;
use crate::value::Table;
use crate::value::Value;

#[cfg(test)]
mod tests;

/// The options of [`load`].
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// Whether the project's layers are read.
    pub project: ProjectLayers,
    /// The home folder, see [`crate::home::find`].
    pub home: PathBuf,
    /// The environment variables that values may refer to.
    pub env: Env,
    /// The configuration files of the machine.
    pub system: SystemPaths,
    /// Values from the command line, in the order in which they apply.
    pub overrides: Vec<Override>,
    /// A file that is stronger than the user's, for an agent in a role. It must exist.
    pub role_file: Option<PathBuf>,
    /// Values that are stronger than all layers.
    pub harness: HarnessOverrides,
}

impl LoadOptions {
    /// Options without any values of the caller.
    pub fn new(cwd: impl Into<PathBuf>, home: impl Into<PathBuf>, env: Env) -> Self {
        Self {
            cwd: cwd.into(),
            project: ProjectLayers::Read,
            home: home.into(),
            env,
            system: SystemPaths::default(),
            overrides: Vec::new(),
            role_file: None,
            harness: HarnessOverrides::default(),
        }
    }
}

/// Whether the layers of the project around the working directory are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProjectLayers {
    /// The project's layers are read.
    #[default]
    Read,
    /// The project's layers are skipped: only values that are the same in all folders are needed.
    Skip,
}

/// The configuration files of the machine. None of them need exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemPaths {
    /// The weakest layer of all.
    pub config: PathBuf,
    /// The administrator's requirements.
    pub requirements: PathBuf,
    /// The strongest layer, which the administrator manages.
    pub managed_config: PathBuf,
}

impl Default for SystemPaths {
    fn default() -> Self {
        Self::in_folder(Path::new("/etc/codex"))
    }
}

impl SystemPaths {
    /// The same file names in another folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            config: folder.join(FILE_NAME),
            requirements: folder.join("requirements.toml"),
            managed_config: folder.join("managed_config.toml"),
        }
    }
}

/// Values that are stronger than all layers: from dedicated flags, or from fields of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HarnessOverrides {
    /// The model's name in requests.
    pub model: Option<String>,
    /// The model for reviews.
    pub review_model: Option<String>,
    /// The id of the provider.
    pub model_provider: Option<String>,
    /// The name of the profile.
    pub profile: Option<String>,
    /// When commands and patches need approval.
    pub approval_policy: Option<ApprovalPolicy>,
    /// The sandbox mode of commands.
    pub sandbox_mode: Option<SandboxMode>,
    /// Further writable folders; relative ones start at the working directory.
    pub additional_writable_roots: Vec<PathBuf>,
    /// The base instructions that replace the pack's.
    pub base_instructions: Option<String>,
    /// A further message with the role `developer`.
    pub developer_instructions: Option<String>,
    /// The prompt that asks the model for a summary.
    pub compact_prompt: Option<String>,
    /// The tone of the model's answers.
    pub personality: Option<Personality>,
    /// Whether raw reasoning is shown, if the configuration does not say.
    pub show_raw_reasoning: Option<bool>,
    /// Features that are switched on or off.
    pub features: BTreeMap<Feature, bool>,
}

/// Reads the configuration.
///
/// # Errors
///
/// When a file cannot be read or is not TOML, when a value is not of the kind that its key accepts, and when a value
/// names a profile, provider or file that does not exist. [`ConfigError::report`] is the text for people.
pub fn load(options: &LoadOptions) -> Result<Config, ConfigError> {
    let layers = layers::read(options)?;
    let requirements = requirements::read(&options.system.requirements, &layers)?;
    check::check(layers.merged()).map_err(|problem| layers.error(problem))?;

    let harness = absolute_roots(options);
    let profile = harness.profile.clone().or_else(|| layers.get("profile")?.as_str().map(str::to_owned));
    let reader = Reader { top: layers.merged(), profile: profile_table(&layers, profile.as_deref())? };

    let features = features::resolve(&reader, &harness.features);
    let mut disallowed = Vec::new();
    let permissions =
        permissions::resolve(&reader, &harness, layers.trust(), &features.features, &requirements, &mut disallowed);
    let web_search = permissions::web_search(
        reader.word("web_search", WebSearchMode::from_word),
        default_web_search(&features.features),
        &requirements,
        &mut disallowed,
    );
    let model = model(&reader, options, &layers, &features.features)?;
    let mcp_servers = mcp::servers(&reader, &requirements).map_err(|problem| layers.error(problem))?;
    let mut tools = tools(&reader, &layers)?;
    tools.web_search = web_search;
    tools.mcp_servers = mcp_servers;
    let of_environment = options.env.text("CODEX_JS_REPL_NODE_PATH").map(PathBuf::from);
    tools.node_paths = of_environment.into_iter().chain(reader.path("js_repl_node_path")).collect();

    let mut deprecations = features.deprecations;
    deprecations.extend(reader.value("experimental_instructions_file").map(|_| instructions_file_is_gone()));
    let unstable_features = match reader.flag("suppress_unstable_features_warning") {
        Some(true) => Vec::new(),
        _ => features.unstable,
    };
    let mut config = Config {
        folders: folders(&reader, options, &layers),
        prompt: prompt(&reader),
        compaction: compaction(&reader),
        documents: documents(&reader),
        limits: LimitSettings {
            max_tokens: reader.count("limits.max_tokens"),
            max_requests: reader.count("limits.max_requests"),
            max_cost: reader.value("limits.max_cost").and_then(Value::as_number),
        },
        shell_environment: shell_environment(&reader),
        records: records(&reader),
        otel: TelemetryConfig::read(&reader),
        login: login(&reader),
        display: display(&reader, &harness),
        terminal: TerminalSettings::read(&reader),
        servers: ServerSettings {
            threads: threads(&reader),
            is_standard_mcp: flag_or_default!(reader, "mcp_server.standard"),
        },
        profile,
        model,
        permissions,
        features: features.features,
        tools,
        requirements,
        noticed: Noticed { warnings: warnings(&layers), disallowed, deprecations, unstable_features },
        layers,
    };
    read_texts(&mut config, &harness)?;
    Ok(config)
}

/// Reads the layers without resolving or checking their values: see [`Layers::verify`].
///
/// # Errors
///
/// When a file cannot be read or is not TOML.
pub fn load_layers(options: &LoadOptions) -> Result<Layers, ConfigError> {
    layers::read(options)
}

/// Reads the administrator's requirements.
///
/// # Errors
///
/// When a file cannot be read or is not valid.
pub fn load_requirements(options: &LoadOptions) -> Result<Requirements, ConfigError> {
    Ok(requirements::read(&options.system.requirements, &layers::read(options)?)?)
}

/// The values of the layers that have no effect: first those that a person may accept, then unknown ones.
fn warnings(layers: &Layers) -> Vec<Warning> {
    let unreadable = layers.accepted_problem().map(|error| Warning::AcceptedUnreadable { error: error.to_owned() });
    let not_accepted = layers.iter().filter_map(|layer| {
        let guarded = layer.guarded().filter(|guarded| guarded.standing != Acceptance::Accepted)?;
        Some(Warning::NotAccepted {
            keys: guarded.names(),
            place: layer.location(guard::first_place(guarded)),
            standing: guarded.standing,
            folder: layers.project_root().to_owned(),
        })
    });
    let unknown = layers.iter().filter(|layer| layer.is_enabled()).flat_map(unknown::warnings);
    unreadable.into_iter().chain(not_accepted).chain(unknown).collect()
}

fn absolute_roots(options: &LoadOptions) -> HarnessOverrides {
    let mut harness = options.harness.clone();
    for root in &mut harness.additional_writable_roots {
        *root = pellucid_files::normal(&options.cwd.join(&*root));
    }
    harness
}

fn profile_table<'l>(layers: &'l Layers, name: Option<&str>) -> Result<Option<&'l Table>, ConfigError> {
    let Some(name) = name else { return Ok(None) };
    let table = layers.merged().at(["profiles", name]).and_then(Value::as_table);
    table.map(Some).ok_or_else(|| ConfigError::UnknownProfile(name.to_owned()))
}

fn default_web_search(features: &Features) -> WebSearchMode {
    if features.is_on(Feature::WebSearchCached) {
        WebSearchMode::Cached
    } else if features.is_on(Feature::WebSearchRequest) {
        WebSearchMode::Live
    } else {
        const { WebSearchMode::named(default::text("web_search")) }
    }
}

fn instructions_file_is_gone() -> Deprecation {
    Deprecation {
        summary: "`experimental_instructions_file` is deprecated and ignored: use `model_instructions_file`".to_owned(),
        details: Some(
            "Rename the key to `model_instructions_file`, at the top of config.toml or in the profile that has it."
                .to_owned(),
        ),
    }
}

fn model(
    reader: &Reader<'_>,
    options: &LoadOptions,
    layers: &Layers,
    features: &Features,
) -> Result<ModelSettings, ConfigError> {
    let harness = &options.harness;
    let providers = providers::all(reader, &options.env);
    let provider_id = harness
        .model_provider
        .clone()
        .or_else(|| reader.text("model_provider"))
        .unwrap_or_else(|| providers::DEFAULT.to_owned());
    let default_personality = features.is_on(Feature::Personality).then_some(Personality::Pragmatic);
    Ok(ModelSettings {
        slug: harness.model.clone().or_else(|| reader.text("model")),
        is_typed: harness.model.is_some() || layers.is_typed("model"),
        is_effort_typed: layers.is_typed("model_reasoning_effort"),
        review_slug: harness.review_model.clone().or_else(|| reader.text("review_model")),
        provider: providers::choose(&providers, &provider_id)?,
        provider_id,
        providers,
        oss_provider: reader.text("oss_provider"),
        context_window: reader.integer("model_context_window"),
        auto_compact_token_limit: reader.integer("model_auto_compact_token_limit"),
        reasoning_effort: reader.word("model_reasoning_effort", ReasoningEffort::from_word),
        reasoning_summary: word_or_default!(reader, "model_reasoning_summary", ReasoningSummary),
        supports_reasoning_summaries: reader.flag("model_supports_reasoning_summaries"),
        verbosity: reader.word("model_verbosity", Verbosity::from_word),
        personality: harness
            .personality
            .or_else(|| reader.word("personality", Personality::from_word))
            .or(default_personality),
        tool_output_token_limit: reader.count("tool_output_token_limit"),
    })
}

fn tools(reader: &Reader<'_>, layers: &Layers) -> Result<ToolSettings, ConfigError> {
    let agents_max = count_or_default!(reader, "agents.max_threads");
    if agents_max == 0 {
        return Err(ConfigError::NoAgents);
    }
    Ok(ToolSettings {
        web_search: WebSearchMode::Cached,
        node_paths: Vec::new(),
        agents_max,
        agent_roles: agent_roles(reader),
        mcp_servers: BTreeMap::new(),
        apps: AppSettings::read(reader),
        mcp_logins: McpLogins {
            store: word_or_default!(reader, "mcp_oauth_credentials_store", McpLoginStore),
            callback_port: reader.count("mcp_oauth_callback_port"),
        },
        mcp_tools: reader.word("mcp_tools", McpOffer::from_word),
        mcp_answers: ElicitationPolicy::Ask,
        mcp_pages: false,
        skills: layers.user().map(skills).unwrap_or_default(),
        skill_names: Vec::new(),
        snapshots: SnapshotSettings {
            large_file_bytes: reader
                .integer("ghost_snapshot.ignore_large_untracked_files")
                .or_else(|| reader.integer("ghost_snapshot.ignore_untracked_files_over_bytes"))
                .unwrap_or(const { default::number("ghost_snapshot.ignore_large_untracked_files") as i64 }),
            large_folder_files: reader
                .integer("ghost_snapshot.ignore_large_untracked_dirs")
                .or_else(|| reader.integer("ghost_snapshot.large_untracked_dir_warning_threshold"))
                .unwrap_or(const { default::number("ghost_snapshot.ignore_large_untracked_dirs") as i64 }),
            disable_warnings: flag_or_default!(reader, "ghost_snapshot.disable_warnings"),
        },
        memories: memories(reader),
    })
}

fn agent_roles(reader: &Reader<'_>) -> BTreeMap<String, AgentRoleConfig> {
    let entries = reader.table("agents").into_iter().flat_map(Table::iter);
    entries
        .filter_map(|entry| {
            let role = entry.value.as_table()?;
            let text = |key| role.get(key).and_then(Value::as_str);
            let description = text("description").map(str::to_owned);
            let config_file = text("config_file").map(PathBuf::from);
            Some((entry.key.clone(), AgentRoleConfig { description, config_file }))
        })
        .collect()
}

/// Only the user's file may switch skills, so that a project cannot hide one.
fn skills(layer: &Layer) -> Vec<SkillSwitch> {
    let entries = layer.table.at(["skills", "config"]).and_then(Value::as_list).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| {
            let entry = entry.as_table()?;
            Some(SkillSwitch {
                path: PathBuf::from(entry.get("path")?.as_str()?),
                enabled: entry.get("enabled")?.as_bool()?,
            })
        })
        .collect()
}

fn memories(reader: &Reader<'_>) -> MemorySettings {
    MemorySettings {
        raw_memories_max: count_or_default!(reader, "memories.max_raw_memories_for_global").min(4096),
        age_days_max: integer_or_default!(reader, "memories.max_rollout_age_days").clamp(0, 90),
        sessions_per_start_max: count_or_default!(reader, "memories.max_rollouts_per_startup").min(128),
        idle_hours_min: integer_or_default!(reader, "memories.min_rollout_idle_hours").clamp(1, 48),
        reading_model: text_or_default!(reader, "memories.phase_1_model"),
        merging_model: text_or_default!(reader, "memories.phase_2_model"),
        scope: word_or_default!(reader, "memories.scope", MemoryScope),
        is_written: flag_or_default!(reader, "memories.write"),
    }
}

fn folders(reader: &Reader<'_>, options: &LoadOptions, layers: &Layers) -> Folders {
    Folders {
        cwd: options.cwd.clone(),
        home: options.home.clone(),
        user_file: options.home.join(FILE_NAME),
        project_root: layers.project_root().to_owned(),
        work_tree: layers.work_tree().map(Path::to_owned),
        logs: reader.path("log_dir"),
    }
}

fn prompt(reader: &Reader<'_>) -> PromptSettings {
    PromptSettings {
        pack: text_or_default!(reader, "pack"),
        base_instructions: None,
        developer_instructions: None,
        compact_prompt: None,
        resume_context: word_or_default!(reader, "resume_context", ResumeContext),
        resume_settings: word_or_default!(reader, "resume_settings", ResumeSettings),
        reinject_turns: counts(reader, "reinject_turns"),
        commit_attribution: reader.text("commit_attribution"),
        phase: reader.text("phase"),
        reinject: standing(reader),
        mode: reader.word("prompt_mode", PromptMode::from_word),
        inject: reader.texts("inject").unwrap_or_default().into_iter().map(PathBuf::from).collect(),
        inject_input: None,
        bootstrap: bootstrap(reader),
        facts: match reader.value("facts").map(Value::to_json) {
            Some(serde_json::Value::Object(facts)) => facts,
            _ => serde_json::Map::new(),
        },
    }
}

fn standing(reader: &Reader<'_>) -> StandingSettings {
    let number = |key| reader.value(key).and_then(Value::as_number);
    let shares = reader.value("reinject.thresholds").and_then(Value::as_list);
    StandingSettings {
        rules: reader.text("reinject.rules"),
        enabled: reader.flag("reinject.enabled"),
        turns: number("reinject.turns"),
        rules_turns: number("reinject.rules_turns"),
        trigger: reader.word("reinject.trigger", ReinjectTrigger::from_word),
        thresholds: shares.map(|shares| shares.iter().filter_map(Value::as_number).collect()),
    }
}

/// Whole numbers by name.
fn counts(reader: &Reader<'_>, path: &str) -> BTreeMap<String, u64> {
    let entries = reader.value(path).and_then(Value::as_table).into_iter().flat_map(Table::iter);
    entries.filter_map(|entry| Some((entry.key.clone(), entry.value.as_integer()?.try_into().ok()?))).collect()
}

fn compaction(reader: &Reader<'_>) -> CompactionSettings {
    CompactionSettings {
        auto: flag_or_default!(reader, "compaction.auto"),
        model: reader.text("compaction.model"),
        fallback: reader.word("compaction.fallback", SummaryFallback::from_word),
        keep_turns: reader.count("compaction.keep_turns"),
        saving_min: reader.count("compaction.saving_min"),
        overflow_calls_max: reader.count("compaction.overflow_calls_max"),
        input: reader.word("compaction.input", SummaryInput::from_word),
        requests: reader.word("compaction.requests", SummaryRequests::from_word),
        keep_skills: reader.flag("compaction.keep_skills"),
        reserved_output_tokens: reader.integer("compaction.reserved_output_tokens"),
        summary_max_output_tokens: reader.integer("compaction.summary_max_output_tokens"),
        memory_search_limit: reader.integer("compaction.memory_search_limit"),
        summarise: reader.flag("compaction.summarise"),
    }
}

fn bootstrap(reader: &Reader<'_>) -> BootstrapSettings {
    BootstrapSettings {
        max_chars: reader.value("bootstrap.max_chars").and_then(Value::as_number),
        total_max_chars: reader.value("bootstrap.total_max_chars").and_then(Value::as_number),
        extra: reader.texts("bootstrap.extra").unwrap_or_default(),
        swap: reader.map("bootstrap.swap").unwrap_or_default(),
        leave_out: reader.texts("bootstrap.leave_out").unwrap_or_default(),
        add: reader.texts("bootstrap.add").unwrap_or_default(),
    }
}

fn documents(reader: &Reader<'_>) -> DocumentSettings {
    let mut fallback_filenames: Vec<String> = Vec::new();
    for name in reader.texts("project_doc_fallback_filenames").unwrap_or_default() {
        let name = name.trim();
        if !name.is_empty() && !fallback_filenames.iter().any(|known| known == name) {
            fallback_filenames.push(name.to_owned());
        }
    }
    DocumentSettings {
        max_bytes: count_or_default!(reader, "project_doc_max_bytes"),
        fallback_filenames,
        rules: ProjectDocs {
            allocation: reader.word("project_docs.allocation", Allocation::from_word),
            cut: reader.word("project_docs.cut", Cut::from_word),
            imports: reader.count("project_docs.imports"),
            nested: reader.flag("project_docs.nested"),
            on_change: reader.word("project_docs.on_change", OnChange::from_word),
        },
    }
}

/// Which threads of the app-server stay loaded.
fn threads(reader: &Reader<'_>) -> ThreadSettings {
    let ThreadSettings { loaded_max, unload_after } = ThreadSettings::DEFAULT;
    ThreadSettings {
        loaded_max: reader.count("app_server.loaded_threads_max").unwrap_or(loaded_max),
        unload_after: match reader.count("app_server.unload_after_seconds") {
            Some(0) => None,
            Some(seconds) => Some(Duration::from_secs(seconds)),
            None => unload_after,
        },
    }
}

fn shell_environment(reader: &Reader<'_>) -> ShellEnvironmentPolicy {
    ShellEnvironmentPolicy {
        inherit: word_or_default!(reader, "shell_environment_policy.inherit", Inherit),
        ignore_default_excludes: flag_or_default!(reader, "shell_environment_policy.ignore_default_excludes"),
        exclude: reader.texts("shell_environment_policy.exclude").unwrap_or_default(),
        set: reader.map("shell_environment_policy.set").unwrap_or_default(),
        include_only: reader.texts("shell_environment_policy.include_only").unwrap_or_default(),
        use_profile: flag_or_default!(reader, "shell_environment_policy.experimental_use_profile"),
    }
}

fn records(reader: &Reader<'_>) -> RecordSettings {
    RecordSettings {
        notify: reader.texts("notify"),
        feedback: flag_or_default!(reader, "feedback.enabled"),
        context_events: flag_or_default!(reader, "exec.context_events"),
        typed_exit_codes: flag_or_default!(reader, "exec.typed_exit_codes"),
    }
}

fn login(reader: &Reader<'_>) -> LoginSettings {
    LoginSettings {
        forced_method: reader.word("forced_login_method", LoginMethod::from_word),
        forced_workspace_id: reader.text("forced_chatgpt_workspace_id").and_then(|id| not_blank(&id)),
        store: word_or_default!(reader, "cli_auth_credentials_store", CredentialStore),
    }
}

fn display(reader: &Reader<'_>, harness: &HarnessOverrides) -> DisplaySettings {
    DisplaySettings {
        hide_reasoning: flag_or_default!(reader, "hide_agent_reasoning"),
        show_raw_reasoning: reader
            .flag("show_raw_agent_reasoning")
            .or(harness.show_raw_reasoning)
            .unwrap_or(const { default::flag("show_raw_agent_reasoning") }),
    }
}

/// Reads the texts that the configuration contains or names. A named file must be readable even if the caller replaces
/// its text.
fn read_texts(config: &mut Config, harness: &HarnessOverrides) -> Result<(), ConfigError> {
    let instructions = named_file(config, "model_instructions_file", "model instructions file")?;
    let compact_file = named_file(config, "experimental_compact_prompt_file", "experimental compact prompt file")?;
    let compact_prompt = match &harness.compact_prompt {
        Some(text) => Some(from_the_caller(text.clone())),
        None => written(config, "compact_prompt"),
    };
    let compact_prompt = compact_prompt.and_then(|prompt| Some(Sourced { text: not_blank(&prompt.text)?, ..prompt }));
    config.prompt.base_instructions = harness.base_instructions.clone().map(from_the_caller).or(instructions);
    config.prompt.developer_instructions = harness
        .developer_instructions
        .clone()
        .map(from_the_caller)
        .or_else(|| written(config, "developer_instructions"));
    config.prompt.compact_prompt = compact_prompt.or(compact_file);
    Ok(())
}

fn from_the_caller(text: String) -> Sourced {
    Sourced { text, origin: ValueOrigin::Caller, file: None }
}

fn written(config: &Config, key: &'static str) -> Option<Sourced> {
    let text = config.value(key)?.as_str()?.to_owned();
    Some(Sourced { text, origin: config.layer_origin(key)?, file: None })
}

fn named_file(config: &Config, key: &'static str, what: &'static str) -> Result<Option<Sourced>, ConfigError> {
    let Some((path, origin)) =
        config.value(key).and_then(Value::as_str).map(PathBuf::from).zip(config.layer_origin(key))
    else {
        return Ok(None);
    };
    let text =
        files::read_text(&path).map_err(|source| ConfigError::Unreadable { what, path: path.clone(), source })?;
    let text = not_blank(&text).ok_or_else(|| ConfigError::Blank { what, path: path.clone() })?;
    Ok(Some(Sourced { text, origin, file: Some(path) }))
}

fn not_blank(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
