//! What a layout asks for beyond the usual facts: imports of instruction files, bootstrap files for an assistant, and
//! items that are injected. Nothing of it is read for a layout that has no use for it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_engine::bootstrap;
use pellucid_engine::bootstrap::BootstrapFile;
use pellucid_engine::bootstrap::FileSetLayout;
use pellucid_engine::bootstrap::LoadedFiles;
use pellucid_engine::bootstrap::SessionKey;
use pellucid_engine::computed::GIVEN;
use pellucid_engine::documents::listed::InstructionFile;
use pellucid_engine::documents::listed::instruction_files;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::InjectionFacts;
use pellucid_engine::injection;
use pellucid_engine::pack::Pack;
use pellucid_protocol::settings::PromptMode;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_workspace::bootstrap_files;
use pellucid_workspace::bootstrap_files::ExtraFiles;
use pellucid_workspace::bootstrap_files::May;
use pellucid_workspace::injection_files;
use pellucid_workspace::os::Host;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::documents;
use crate::gather;
use crate::gather::FactSources;
use crate::gather::Gathered;

/// The attribute that holds items of a caller.
const ITEMS: &str = "prompt_injections";

/// The name of items that came by standard input, in reports and errors.
const INPUT: &str = "standard input";

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
        "the pack `{pack}` has no slot for injected items; add slots with the sources `injected_items` and `injected_preamble` to it"
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
    if pack.layout.bootstrap.is_some() {
        let (files, left_out) = files(sources, pack);
        gathered.omissions.extend(gather::left_out(&left_out, &slot));
        facts.system.files = files;
    }
    if pack.looks(GIVEN) {
        facts.system.given = given(config, facts);
    }
    let is_asked_for = !config.prompt.inject.is_empty() || config.prompt.inject_input.is_some();
    if has_source("injected_")
        && (is_asked_for || !pack.layout.injections.is_empty() || has_source("injected_sections"))
    {
        let home = sources.env.text("HOME").unwrap_or_else(|| shown(&config.folders.home));
        facts.system.injection = injection_facts(config, pack, facts.system.prompt_mode, home)?;
    } else if is_asked_for {
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

/// The files that a layout's `[bootstrap]` asks for, and those that must not be read.
fn files(sources: &FactSources, pack: &Pack) -> (LoadedFiles, Vec<Candidate>) {
    let config = &sources.config;
    let settings = &config.prompt.assistant;
    let workspace = &config.folders.cwd;
    let Some(set) = &pack.layout.bootstrap else {
        return (LoadedFiles::default(), Vec::new());
    };
    let limit = |given: Option<f64>, standard: Option<usize>| {
        let standard = standard.unwrap_or(usize::MAX);
        given.map_or(standard, |given| bootstrap::limit(&given.into(), standard))
    };
    let max = limit(settings.bootstrap_max_chars, set.rules.per_file);
    let total = limit(settings.bootstrap_total_max_chars, set.rules.total);
    let key = settings.session_key.as_deref();
    let is_untrusted = config.layers().is_untrusted();
    let (standard, left_out) = bootstrap(sources, set, workspace, is_untrusted);
    let mut files = set.for_session(standard, key);
    let extra = if is_untrusted { Vec::new() } else { settings.extra_files.clone() };
    let extra = ExtraFiles::new(extra).load(set, workspace);
    if !extra.is_empty() {
        files = set.for_session(files.into_iter().chain(extra).collect(), key);
    }
    let fitted = set.fit(&files, Some(max), Some(total));
    for warning in &fitted.warnings {
        tracing::warn!("{warning}");
    }
    (LoadedFiles { read: files, placed: fitted.files, limits: Some((max, total)) }, left_out)
}

/// The values of `given`: what the configuration says of an assistant, what it runs on, and `[facts]`.
fn given(config: &Config, facts: &Facts) -> Map<String, Value> {
    let settings = &config.prompt.assistant;
    let host = Host::read();
    let model = format!("{}/{}", config.model.provider_id, facts.settings.model.slug);
    let all = json!({
        "session_key": settings.session_key,
        "time_zone": settings.time_zone.clone().unwrap_or_else(system_time_zone),
        "docs_path": settings.docs_path.as_deref().map(shown),
        "owner_numbers": settings.owner_numbers,
        "voice_hint": settings.voice_hint,
        "heartbeat_prompt": settings.heartbeat_prompt,
        "extra_prompt": settings.extra_system_prompt,
        "think_level": facts.settings.effort.map(ReasoningEffort::as_str),
        "runtime": known(json!({
            "agent": "main",
            "host": host_name(),
            "repo": pellucid_git::work_tree_root(&config.folders.cwd).as_deref().map(shown),
            "os": format!("{} {}", host.name, host.version),
            "arch": host.architecture,
            "model": model,
            "shell": facts.world.shell,
            "channel": settings.channel,
            "capabilities": settings.channel.is_some().then_some(&settings.capabilities),
        })),
    });
    let mut given = known(all);
    given.extend(config.prompt.facts.clone());
    given
}

/// The values of a table that are known. What is not known has the layout's value.
fn known(table: Value) -> Map<String, Value> {
    match table {
        Value::Object(values) => values.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
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
fn bootstrap(
    sources: &FactSources,
    set: &FileSetLayout,
    workspace: &Path,
    is_untrusted: bool,
) -> (Vec<BootstrapFile>, Vec<Candidate>) {
    let real = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let place = sources.project_at.as_ref().map(|at| at.place(&real));
    let bounds = sources.bounds(workspace);
    let bounds = place.iter().fold(bounds, |bounds, place| bounds.with(place));
    let may = if is_untrusted { May::None } else { May::Within(&bounds) };
    let (mut files, mut left_out) = bootstrap_files::load(set, place.as_deref().unwrap_or(workspace), &may);
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
    let from_files = config.prompt.inject.iter().map(|path| (path.as_path(), read_file(path)));
    let input = config.prompt.inject_input.iter().map(|text| (Path::new(INPUT), parse(Path::new(INPUT), text)));
    for (path, file) in from_files.chain(input) {
        let (name, file) = (shown(path), file?);
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
        // A layout that has no sources takes what a caller gives.
        if specs.is_empty() {
            specs.push(json!({ "type": "provided" }));
        }
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
    let text = pellucid_files::read_given(path, pellucid_files::TEXT_BYTES_MAX).map_err(failed)?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<InjectFile, InjectError> {
    let malformed = |source| InjectError::Malformed { path: path.to_owned(), source };
    let value: Value = serde_json::from_str(text).map_err(malformed)?;
    match value {
        Value::Array(items) => Ok(InjectFile { items, ..InjectFile::default() }),
        table => serde_json::from_value(table).map_err(malformed),
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
