//! Items that a caller injects: read from files or standard input, with the files that their sources want.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_engine::facts::InjectionFacts;
use pellucid_engine::facts::Provided;
use pellucid_engine::injection;
use pellucid_engine::injection::scalar;
use pellucid_engine::pack::Pack;
use pellucid_engine::window::settings::SettingsDocument;
use pellucid_engine::window::settings::SettingsError;
use pellucid_engine::window::settings::WindowKeys;
use pellucid_protocol::settings::PromptMode;
use pellucid_workspace::injection_files;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::shown;

/// The attribute that holds items of a caller.
const ITEMS: &str = "prompt_injections";

/// The attribute that asks for a mode.
const PROMPT_MODE: &str = "prompt_mode";

/// The name of items that came by standard input, in reports and errors.
const INPUT: &str = "standard input";

/// Why the configuration of a session does not go with its pack or its files.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file with items to inject.
        path: PathBuf,
        /// Why the file cannot be read.
        source: std::io::Error,
    },
    /// The file is not JSON of the expected shape.
    #[error("{}: {source}; a list of items is expected, or a table with items, sources, store, attributes, memory, variables or settings of an agent", path.display())]
    Malformed {
        /// The file with items to inject.
        path: PathBuf,
        /// Where the JSON is malformed, and how.
        source: serde_json::Error,
    },
    /// The settings in a file, or those of the configuration, cannot be used.
    #[error("{place}: {source}")]
    Settings {
        /// The file, or the table of the configuration.
        place: String,
        /// What is wrong with them.
        source: SettingsError,
    },
    /// The pack has no slot for the items.
    #[error(
        "the pack `{pack}` has no slot for injected items; add slots with the sources `injected_items` and `injected_preamble` to it"
    )]
    NoSlot {
        /// The name of the pack.
        pack: String,
    },
    /// The pack has not the tools for tools that are offered by name.
    #[error(
        "the pack `{pack}` does not list {missing}, so it cannot defer tools of MCP servers; add them as [[tool]], or set \
         `mcp_tools` to \"direct\""
    )]
    NoDeferredTools {
        /// The name of the pack.
        pack: String,
        /// The tools that the pack does not list.
        missing: String,
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
    variables: Map<String, Value>,
    /// The settings of an agent that the file has beside these.
    #[serde(skip)]
    settings: FileSettings,
}

/// The settings of an agent in a file.
#[derive(Debug, Default)]
struct FileSettings {
    window: WindowKeys,
    system_prompt: Option<String>,
    /// Sources in place of the layout's.
    sources: Option<Vec<Value>>,
    /// Settings that only the configuration has.
    unused: Vec<String>,
}

/// What files and standard input inject.
pub(super) struct Injecting {
    pub facts: InjectionFacts,
    /// The mode that an attribute asks for, with what was asked for if there is no such mode.
    pub mode: Option<Result<PromptMode, String>>,
    /// The beginning of the system prompt, if a file has one.
    pub system_prompt: Option<Provided>,
    /// Settings and recalled texts that are not used, each with the reason.
    pub unused: Vec<(String, String)>,
}

/// What the sources of a layout and of a caller are made of. The configured mode counts over one of a file.
pub(super) fn injecting(
    config: &Config,
    pack: &Pack,
    facts_mode: PromptMode,
    home: String,
) -> Result<Injecting, PrepareError> {
    let cwd = shown(&config.folders.cwd);
    let mut specs = pack.layout.injections.clone();
    let (mut asked_mode, mut system_prompt, mut unused) = (None, None, Vec::new());
    let mut facts = InjectionFacts { process_dir: cwd.clone(), home, ..InjectionFacts::default() };
    facts.attributes.insert("cwd".to_owned(), cwd.clone().into());
    facts.attributes.insert("workspace_dir".to_owned(), cwd.into());
    let (mut items, mut places) = (Vec::new(), Vec::new());
    let from_files = config.prompt.inject.iter().map(|path| (path.as_path(), read_file(path)));
    let input = config.prompt.inject_input.iter().map(|text| (Path::new(INPUT), parse(Path::new(INPUT), text)));
    for (path, file) in from_files.chain(input) {
        let (name, file) = (shown(path), file?);
        places.extend((0..file.items.len()).map(|n| format!("{name}[{n}]")));
        items.extend(file.items);
        let FileSettings { window, system_prompt: own, sources, unused: of_file } = file.settings;
        facts.window = window.over(facts.window);
        system_prompt = own.map(|text| Provided { place: name.clone(), text }).or(system_prompt);
        specs = sources.unwrap_or(specs);
        unused.extend(of_file.into_iter().map(|key| {
            (format!("{name}: {key}"), "the configuration has a key for this; the file's is not read".to_owned())
        }));
        let text = |(key, value): (String, Value)| (key, scalar::text(&value).into_owned());
        facts.variables.extend(file.variables.into_iter().map(text));
        if let Some(mode) = file.attributes.get(PROMPT_MODE).filter(|mode| !mode.is_null()) {
            let word = scalar::text(mode).into_owned();
            asked_mode = Some(PromptMode::from_word(&word).ok_or(word));
        }
        specs.extend(file.sources);
        facts.attributes.extend(file.attributes);
        facts.memory.extend(file.memory);
        if !file.store.is_empty() {
            facts.store.get_or_insert_default().extend(file.store);
        }
    }
    if !items.is_empty() {
        // Items are used, whatever other sources the layout and the caller have.
        if !specs.iter().any(takes_items) {
            specs.push(json!({ "type": "provided" }));
        }
        facts.attributes.insert(ITEMS.to_owned(), Value::Array(items));
        facts.places.insert(ITEMS.to_owned(), places);
    }
    facts.window = facts.window.over(configured_window(config)).over(pack.layout.compaction.window);
    let limit = facts.window.memory_search_limit.and_then(|limit| usize::try_from(limit).ok());
    if let Some(limit) = limit.filter(|limit| *limit < facts.memory.len()) {
        let left_out = facts.memory.split_off(limit);
        let reason = format!("`memory_search_limit` is {limit}");
        let positions = limit..limit + left_out.len();
        unused.extend(positions.map(|n| (format!("memory[{n}]"), reason.clone())));
    }
    let mode = match (config.prompt.mode, &asked_mode) {
        (None, Some(Ok(mode))) => *mode,
        (None, Some(Err(_))) => PromptMode::Full,
        _ => facts_mode,
    };
    facts.attributes.insert(PROMPT_MODE.to_owned(), mode.as_str().into());
    facts.sources = injection::sources(&Value::Array(specs));
    let inputs = facts.inputs(&pack.layout.source_texts);
    let reads = facts.sources.iter().map(|source| injection_files::read(&source.wants(&inputs, mode))).collect();
    facts.reads = reads;
    let asked_mode = asked_mode.filter(|_| config.prompt.mode.is_none());
    Ok(Injecting { facts, mode: asked_mode, system_prompt, unused })
}

/// What the configuration sets for the window.
pub(crate) fn configured_window(config: &Config) -> WindowKeys {
    let given = &config.compaction;
    WindowKeys {
        reserved_output_tokens: given.reserved_output_tokens,
        summary_max_output_tokens: given.summary_max_output_tokens,
        memory_search_limit: given.memory_search_limit,
        summarise: given.summarise,
        context_window: None,
    }
}

/// Whether a source takes the items of a caller.
fn takes_items(spec: &Value) -> bool {
    spec["type"] == "provided" && spec["context_key"].as_str().is_none_or(|key| key == ITEMS)
}

fn read_file(path: &Path) -> Result<InjectFile, PrepareError> {
    let failed = |source| PrepareError::Unreadable { path: path.to_owned(), source };
    let text = pellucid_files::read_given(path, pellucid_files::TEXT_BYTES_MAX).map_err(failed)?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<InjectFile, PrepareError> {
    let malformed = |source| PrepareError::Malformed { path: path.to_owned(), source };
    let value: Value = serde_json::from_str(text).map_err(malformed)?;
    match value {
        Value::Array(items) => Ok(InjectFile { items, ..InjectFile::default() }),
        Value::Object(mut table) => {
            let settings = settings(path, &mut table)?;
            let file: InjectFile = serde_json::from_value(Value::Object(table)).map_err(malformed)?;
            Ok(InjectFile { settings, ..file })
        }
        other => serde_json::from_value(other).map_err(malformed),
    }
}

/// Takes the settings of an agent out of the table of a file, if it has some.
fn settings(path: &Path, table: &mut Map<String, Value>) -> Result<FileSettings, PrepareError> {
    let groups = SettingsDocument::GROUPS.into_iter();
    let document: Map<String, Value> =
        groups.filter_map(|group| Some((group.to_owned(), table.remove(group)?))).collect();
    if document.is_empty() {
        return Ok(FileSettings::default());
    }
    let refused = |source| PrepareError::Settings { place: shown(path), source };
    let document = SettingsDocument::new(&document).map_err(refused)?;
    Ok(FileSettings {
        window: document.window().map_err(refused)?,
        system_prompt: document.system_prompt(),
        // What is no list counts as an empty one.
        sources: document.sources().map(|sources| sources.as_array().cloned().unwrap_or_default()),
        unused: document.unused(),
    })
}
