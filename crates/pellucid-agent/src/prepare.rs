//! What a layout asks for beyond the usual facts: imports of instruction files, bootstrap files for an assistant, and
//! items that are injected. Nothing of it is read for a layout that has no use for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::config::AssistantSettings;
use pellucid_engine::assistant::Assistant;
use pellucid_engine::assistant::LoadedBootstrap;
use pellucid_engine::assistant::Messaging;
use pellucid_engine::assistant::Runtime;
use pellucid_engine::bootstrap;
use pellucid_engine::bootstrap::BootstrapFile;
use pellucid_engine::bootstrap::SessionKey;
use pellucid_engine::documents::listed::InstructionFile;
use pellucid_engine::documents::listed::instruction_files;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::InjectionFacts;
use pellucid_engine::injection;
use pellucid_engine::pack::Pack;
use pellucid_protocol::settings::PromptMode;
use pellucid_workspace::bootstrap_files;
use pellucid_workspace::bootstrap_files::ExtraFiles;
use pellucid_workspace::bootstrap_files::May;
use pellucid_workspace::injection_files;
use pellucid_workspace::os::Host;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;

use crate::documents;
use crate::gather;
use crate::gather::FactSources;
use crate::gather::Gathered;

/// The attribute that holds items of a caller.
const ITEMS: &str = "prompt_injections";

/// Why a file with items to inject cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file with items to inject.
        path: PathBuf,
        /// Why the file cannot be read.
        source: std::io::Error,
    },
    /// The file is not JSON of the expected shape.
    #[error("{}: {source}; a list of items is expected, or a table with items, sources, store, attributes or memory", path.display())]
    Malformed {
        /// The file with items to inject.
        path: PathBuf,
        /// Where the JSON is malformed, and how.
        source: serde_json::Error,
    },
    /// The pack has no slot for the items.
    #[error(
        "the pack `{pack}` has no slot for injected items; use --pack agentcore, or add slots with the sources `injected_sections` and `injected_preamble` to your pack"
    )]
    NoSlot {
        /// The name of the pack.
        pack: String,
    },
}

/// A file with what is to be injected.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct InjectFile {
    items: Vec<Value>,
    sources: Vec<Value>,
    store: BTreeMap<String, String>,
    attributes: Map<String, Value>,
    memory: Vec<String>,
}

/// Adds what the layout of a pack asks for.
///
/// # Errors
/// If a file with what is to be injected cannot be used.
pub fn prepare(gathered: &mut Gathered, pack: &Pack, sources: &FactSources) -> Result<(), InjectError> {
    let config = &sources.config;
    let settings = &config.prompt.assistant;
    let has_source = |prefix: &str| {
        let mut parts = pack.layout.slots.iter().flat_map(|slot| &slot.parts);
        parts.any(|part| part.source.name.starts_with(prefix))
    };
    // What was gathered without a layout gets the name that the layout has for it.
    let (unnamed, slot) = (gather::instructions_slot(None), gather::instructions_slot(Some(&pack.layout)));
    for omission in gathered.omissions.iter_mut().filter(|omission| omission.slot == unnamed) {
        omission.slot = slot.clone();
    }
    let facts = &mut gathered.facts;
    let n_steps = facts.settings.project_docs.over(pack.layout.project_docs).imports();
    if n_steps > 0 {
        let (own, project) = (facts.world.home_document.as_ref(), &facts.world.project_documents);
        let surroundings = documents::surroundings(sources, &config.folders.cwd);
        facts.world.imports = surroundings.imports(own, project, n_steps, &documents::user_home(sources));
    }
    facts.system.prompt_mode = config.prompt.mode.unwrap_or_else(|| mode_of_key(settings.session_key.as_deref()));
    if has_source("assistant_") {
        let (mut assistant, left_out) = assistant(sources, pack);
        gathered.omissions.extend(gather::left_out(&left_out, &slot));
        assistant.runtime.model = Some(format!("{}/{}", config.model.provider_id, facts.settings.model.slug));
        assistant.runtime.shell = Some(facts.world.shell.clone());
        assistant.thinking.think_level = facts.settings.effort.map(|effort| effort.as_str().to_owned());
        facts.system.assistant = Some(Box::new(assistant));
    }
    if has_source("injected_") {
        let home = sources.env.text("HOME").unwrap_or_else(|| shown(&config.folders.home));
        facts.system.injection = injection_facts(config, pack, facts.system.prompt_mode, home)?;
    } else if !config.prompt.inject.is_empty() {
        return Err(InjectError::NoSlot { pack: pack.name.clone() });
    }
    Ok(())
}

/// A session that works for another needs less.
fn mode_of_key(key: Option<&str>) -> PromptMode {
    match key.and_then(SessionKey::of) {
        Some(SessionKey::SubAgent | SessionKey::Cron) => PromptMode::Minimal,
        None => PromptMode::Full,
    }
}

/// What an assistant knows, and files that must not be read.
fn assistant(sources: &FactSources, pack: &Pack) -> (Assistant, Vec<Candidate>) {
    let config = &sources.config;
    let mut left_out = Vec::new();
    let settings = &config.prompt.assistant;
    let workspace = &config.folders.cwd;
    let mut assistant = Assistant {
        workspace_dir: shown(workspace),
        session_key: settings.session_key.clone(),
        time_zone: Some(settings.time_zone.clone().unwrap_or_else(system_time_zone)),
        docs_path: settings.docs_path.as_deref().map(shown),
        messaging: Messaging {
            owner_numbers: settings.owner_numbers.clone(),
            voice_hint: settings.voice_hint.clone(),
            heartbeat_prompt: settings.heartbeat_prompt.clone(),
            ..Messaging::default()
        },
        extra_prompt: settings.extra_system_prompt.clone(),
        runtime: runtime(settings, workspace),
        ..Assistant::default()
    };
    if let Some(budget) = pack.layout.bootstrap {
        let limit =
            |given: Option<f64>, standard| given.map_or(standard, |given| bootstrap::limit(&given.into(), standard));
        let max = limit(settings.bootstrap_max_chars, budget.max_chars);
        let total = limit(settings.bootstrap_total_max_chars, budget.total_max_chars);
        let key = settings.session_key.as_deref();
        let is_untrusted = config.layers().is_untrusted();
        let (standard, others) = bootstrap(sources, workspace, is_untrusted);
        left_out = others;
        let mut files = bootstrap::for_session(standard, key);
        let extra = if is_untrusted { Vec::new() } else { settings.extra_files.clone() };
        let extra = ExtraFiles::new(extra).load(workspace);
        if !extra.is_empty() {
            files = bootstrap::for_session(files.into_iter().chain(extra).collect(), key);
        }
        let fitted = bootstrap::fit(&files, Some(max), Some(total));
        for warning in &fitted.warnings {
            tracing::warn!("{warning}");
        }
        assistant.loaded = LoadedBootstrap { bootstrap: files, files: fitted.files, limits: Some((max, total)) };
    }
    (assistant, left_out)
}

/// The instruction files of a project as its sessions would read them, accepted or not. The user's own are not among them.
///
/// # Errors
/// If a file with what is to be injected cannot be used.
pub fn instruction_files_of_project(
    config: Config,
    env: Env,
    pack: &Pack,
) -> Result<Vec<InstructionFile>, InjectError> {
    let root = config.folders.project_root.clone();
    let real = root.canonicalize().unwrap_or_else(|_| root.clone());
    let sources = FactSources::new(config, env).showing_all();
    let mut gathered = gather::gather(&sources);
    prepare(&mut gathered, pack, &sources)?;
    let is_of_project = |file: &InstructionFile| {
        let path = Path::new(&file.path);
        path.starts_with(&root) || path.starts_with(&real)
    };
    Ok(instruction_files(&gathered.facts).into_iter().filter(is_of_project).collect())
}

/// The bootstrap files of a workspace, and those that must not be read.
fn bootstrap(sources: &FactSources, workspace: &Path, is_untrusted: bool) -> (Vec<BootstrapFile>, Vec<Candidate>) {
    let real = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let place = sources.project_at.as_ref().map(|at| at.place(&real));
    let bounds = sources.bounds(workspace);
    let bounds = place.iter().fold(bounds, |bounds, place| bounds.with(place));
    let may = if is_untrusted { May::None } else { May::Within(&bounds) };
    let (mut files, mut left_out) = bootstrap_files::load(place.as_deref().unwrap_or(workspace), &may);
    if let Some(at) = &sources.project_at {
        for file in &mut files {
            // As it is named where the workspace is.
            let name = at.name(&file.path);
            file.path = match Path::new(&name).strip_prefix(&real) {
                Ok(below) => shown(&workspace.join(below)),
                Err(_) => name,
            };
        }
        left_out = left_out.into_iter().map(|it| at.candidate(it)).collect();
    }
    (files, left_out)
}

fn runtime(settings: &AssistantSettings, workspace: &Path) -> Runtime {
    let host = Host::read();
    Runtime {
        agent: Some("main".to_owned()),
        host: host_name(),
        repo: pellucid_git::work_tree_root(workspace).as_deref().map(shown),
        os: Some(format!("{} {}", host.name, host.version)),
        arch: Some(host.architecture),
        channel: settings.channel.clone(),
        capabilities: settings.channel.is_some().then(|| settings.capabilities.clone()),
        ..Runtime::default()
    }
}

fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| fs::read_to_string("/etc/hostname")).ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

fn system_time_zone() -> String {
    jiff::tz::TimeZone::system().iana_name().unwrap_or("UTC").to_owned()
}

fn injection_facts(
    config: &Config,
    pack: &Pack,
    mode: PromptMode,
    home: String,
) -> Result<InjectionFacts, InjectError> {
    let cwd = shown(&config.folders.cwd);
    let mut specs = pack.layout.injections.clone();
    let mut facts = InjectionFacts { process_dir: cwd.clone(), home, ..InjectionFacts::default() };
    facts.attributes.insert("cwd".to_owned(), cwd.clone().into());
    facts.attributes.insert("workspace_dir".to_owned(), cwd.into());
    facts.attributes.insert("prompt_mode".to_owned(), mode.as_str().into());
    let (mut items, mut places) = (Vec::new(), Vec::new());
    for path in &config.prompt.inject {
        let file = read_file(path)?;
        let name = shown(path);
        places.extend((0..file.items.len()).map(|n| format!("{name}[{n}]")));
        items.extend(file.items);
        specs.extend(file.sources);
        facts.attributes.extend(file.attributes);
        facts.memory.extend(file.memory);
        if !file.store.is_empty() {
            facts.store.get_or_insert_default().extend(file.store);
        }
    }
    if !items.is_empty() {
        facts.attributes.insert(ITEMS.to_owned(), Value::Array(items));
        facts.places.insert(ITEMS.to_owned(), places);
    }
    facts.sources = injection::sources(&Value::Array(specs));
    facts.reads =
        facts.sources.iter().map(|source| injection_files::read(&source.wants(&facts.inputs(), mode))).collect();
    Ok(facts)
}

fn read_file(path: &Path) -> Result<InjectFile, InjectError> {
    let failed = |source| InjectError::Unreadable { path: path.to_owned(), source };
    let malformed = |source| InjectError::Malformed { path: path.to_owned(), source };
    let text = pellucid_files::read_given(path, pellucid_files::TEXT_BYTES_MAX).map_err(failed)?;
    let value: Value = serde_json::from_str(&text).map_err(malformed)?;
    match value {
        Value::Array(items) => Ok(InjectFile { items, ..InjectFile::default() }),
        table => serde_json::from_value(table).map_err(malformed),
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
