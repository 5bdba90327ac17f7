//! Items that a caller injects: read from files or standard input, with the files that their sources want.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_engine::facts::InjectionFacts;
use pellucid_engine::injection;
use pellucid_engine::pack::Pack;
use pellucid_protocol::settings::PromptMode;
use pellucid_workspace::injection_files;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::shown;

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

/// What the sources of a layout and of a caller are made of.
pub(super) fn injection_facts(
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
        // Items are used, whatever other sources the layout and the caller have.
        if !specs.iter().any(takes_items) {
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

/// Whether a source takes the items of a caller.
fn takes_items(spec: &Value) -> bool {
    spec["type"] == "provided" && spec["context_key"].as_str().is_none_or(|key| key == ITEMS)
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
