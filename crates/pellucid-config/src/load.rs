//! The entry point of this crate: options in, a [`Config`] out.
//!
//! Reads the layers, checks them, and resolves what they mean.
//!
//! Not here: the rules of a part (`features`, `permissions`, `providers`, `mcp`).

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use pellucid_protocol::environment::Inherit;
use pellucid_protocol::environment::ShellEnvironmentPolicy;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::Features;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::Personality;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::WebSearchMode;

use crate::check;
use crate::config::CompactionSettings;
use crate::config::Config;
use crate::config::Deprecation;
use crate::config::DisplaySettings;
use crate::config::DocumentSettings;
use crate::config::Folders;
use crate::config::LimitSettings;
use crate::config::LoginSettings;
use crate::config::ModelSettings;
use crate::config::Noticed;
use crate::config::PromptSettings;
use crate::config::RecordSettings;
use crate::config::ServerSettings;
use crate::config::Sourced;
use crate::config::TerminalSettings;
use crate::config::ToolSettings;
use crate::config::ValueOrigin;
use crate::config::Warning;
use crate::config::sourced::not_blank;
use crate::env::Env;
use crate::error::ConfigError;
use crate::features;
use crate::files;
use crate::guard;
use crate::guard::Acceptance;
use crate::keys::default;
use crate::keys::default::flag_or_default;
use crate::keys::default::word_or_default;
use crate::layers;
use crate::layers::FILE_NAME;
use crate::layers::Layers;
use crate::mcp;
use crate::overrides::Override;
use crate::permissions;
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
    let model = ModelSettings::read(&reader, options, &layers, &features.features)?;
    let mcp_servers = mcp::servers(&reader, &requirements).map_err(|problem| layers.error(problem))?;
    let mut tools = ToolSettings::read(&reader, &layers)?;
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
        prompt: PromptSettings::read(&reader),
        compaction: CompactionSettings::read(&reader),
        documents: DocumentSettings::read(&reader),
        limits: LimitSettings::read(&reader),
        shell_environment: shell_environment(&reader),
        records: RecordSettings::read(&reader),
        otel: TelemetryConfig::read(&reader),
        login: LoginSettings::read(&reader),
        display: DisplaySettings::read(&reader, &harness),
        terminal: TerminalSettings::read(&reader),
        servers: ServerSettings::read(&reader),
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
