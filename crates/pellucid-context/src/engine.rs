//! The engine: a pack, with what the program around it gives.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use pellucid_engine::facts::Facts;
use pellucid_engine::facts::InjectionFacts;
use pellucid_engine::host::HostNames;
use pellucid_engine::injection;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackError;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::request::WireSettings;
use pellucid_engine::tokens::Counter;
use serde_json::Value;

use crate::extend::FactGate;
use crate::extend::SourceAsk;
use crate::extend::TextLookup;
use crate::extend::TextSource;
use crate::session::EngineSession;

/// A pack, and what the program around it gives: texts, conditions, a store, a counter. Clones share all of it.
///
/// ```
/// use pellucid_context::{
///     Engine, Facts, Fragment, ModelInfo, PackFiles, SessionId, SourceAsk, SourceOutput, WireSettings,
/// };
///
/// # fn main() -> Result<(), pellucid_context::EngineError> {
/// let layout = r#"
/// name = "shop"
/// from = "codex"
///
/// [[slot]]
/// id = "stock"
/// target = "developer"
/// source = "host"
/// gate = ["host:open"]
/// "#;
/// let files = PackFiles::from([("pack.toml".to_owned(), layout.to_owned())]);
/// let stock = |_: &SourceAsk<'_>| SourceOutput::text(vec![Fragment::provided("the database", "3 lamps")]);
/// let engine = Engine::from_files(&files, "shop")?
///     .with_source("stock", stock)
///     .with_gate("open", |facts: &Facts| facts.settings.cwd == "/shop");
///
/// let facts = Facts::plain("/shop", ModelInfo::named("gpt-5.2-codex"));
/// let request = engine.begin(facts, WireSettings::new(SessionId::new("example")))?.request();
/// assert_eq!(request.row_with("3 lamps").map(|row| row.origin.detail()), Some("the database"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Engine {
    pack: Arc<Pack>,
    names: HostNames,
    sources: BTreeMap<String, Arc<dyn TextSource>>,
    gates: BTreeMap<String, Arc<dyn FactGate>>,
    store: Option<Arc<dyn TextLookup>>,
    counter: Option<Arc<dyn Counter + Send + Sync>>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources: Vec<&String> = self.sources.keys().collect();
        let gates: Vec<&String> = self.gates.keys().collect();
        let mut shown = f.debug_struct("Engine");
        shown.field("pack", &self.pack.name).field("sources", &sources).field("gates", &gates);
        shown.field("has_store", &self.store.is_some()).finish_non_exhaustive()
    }
}

/// Why an engine cannot be made, or cannot begin a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// No built-in pack has this name.
    #[error("no built-in pack is named `{name}`; known: {}", known.join(", "))]
    UnknownPack {
        /// The name that was asked for.
        name: String,
        /// The names of the built-in packs.
        known: Vec<&'static str>,
    },
    /// The pack has a mistake.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The folder of the pack cannot be read.
    #[cfg(feature = "folder")]
    #[error(transparent)]
    Folder(#[from] pellucid_workspace::pack_files::PackFilesError),
    /// The layout asks for something that the program does not give.
    #[error("the pack `{pack}` asks the program for the {kind} `{name}`, and the program does not give it")]
    NotGiven {
        /// The name of the pack.
        pack: String,
        /// What is asked for: `slot` or `gate`.
        kind: &'static str,
        /// The id of the slot, or the name of the gate.
        name: String,
    },
    /// The program gives something that the layout does not ask for.
    #[error(
        "the program gives the {kind} `{name}`, and the pack `{pack}` does not ask for it; it asks for: {}",
        list(known)
    )]
    NotAsked {
        /// The name of the pack.
        pack: String,
        /// What is given: `slot` or `gate`.
        kind: &'static str,
        /// The id of the slot, or the name of the gate.
        name: String,
        /// The names that the pack asks for.
        known: Vec<String>,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

impl Engine {
    /// An engine with a built-in pack, such as `codex`.
    ///
    /// # Errors
    /// If no built-in pack has that name.
    pub fn builtin(name: &str) -> Result<Self, EngineError> {
        let unknown = || EngineError::UnknownPack { name: name.to_owned(), known: Pack::builtin_names() };
        Ok(Self::new(Pack::builtin(name).ok_or_else(unknown)?))
    }

    /// An engine with a pack whose files are given, by their names in the pack. `folder` names the pack in reports and
    /// errors. A `pack.toml` that says `from = "codex"` has all files of that built-in pack beneath its own.
    ///
    /// # Errors
    /// If something in the pack is wrong, with file and line.
    pub fn from_files(files: &PackFiles, folder: &str) -> Result<Self, EngineError> {
        Ok(Self::new(Pack::load_user(files, folder)?))
    }

    /// An engine with the pack in a folder.
    ///
    /// # Errors
    /// If the folder cannot be read, or something in the pack is wrong.
    #[cfg(feature = "folder")]
    pub fn from_folder(folder: &std::path::Path) -> Result<Self, EngineError> {
        Self::from_files(&pellucid_workspace::pack_files::read(folder)?, &folder.to_string_lossy())
    }

    fn new(pack: Pack) -> Self {
        let names = HostNames::of(&pack.layout);
        let (sources, gates) = (BTreeMap::new(), BTreeMap::new());
        Self { pack: Arc::new(pack), names, sources, gates, store: None, counter: None }
    }

    /// Gives the text of the slot with this id, whose layout says `source = "host"`.
    #[must_use]
    pub fn with_source(mut self, slot: &str, source: impl TextSource + 'static) -> Self {
        self.sources.insert(slot.to_owned(), Arc::new(source));
        self
    }

    /// Decides the gates `host:NAME` of the layout.
    #[must_use]
    pub fn with_gate(mut self, name: &str, gate: impl FactGate + 'static) -> Self {
        self.gates.insert(name.to_owned(), Arc::new(gate));
        self
    }

    /// Gives the texts of sources `text_store`.
    #[must_use]
    pub fn with_store(mut self, store: impl TextLookup + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Counts the tokens of reports; without a counter they are estimated. The bytes of a request do not depend on it.
    #[must_use]
    pub fn with_counter(mut self, counter: impl Counter + Send + Sync + 'static) -> Self {
        self.counter = Some(Arc::new(counter));
        self
    }

    /// Reads the files that the sources of facts want, or those of the layout if the facts have no sources, from the disk.
    /// Sources look for them from the facts' working directory.
    #[cfg(feature = "folder")]
    pub fn read_sources(&self, facts: &mut Facts, home: &std::path::Path) {
        let cwd = facts.settings.cwd.clone();
        let mode = facts.system.prompt_mode;
        let injection = &mut facts.system.injection;
        self.complete_sources(injection);
        for key in ["cwd", "workspace_dir"] {
            injection.attributes.entry(key).or_insert_with(|| cwd.clone().into());
        }
        injection.process_dir = cwd;
        injection.home = home.to_string_lossy().into_owned();
        let inputs = injection.inputs(&self.pack.layout.source_texts);
        let read =
            |source: &injection::ItemSource| pellucid_workspace::injection_files::read(&source.wants(&inputs, mode));
        let reads = injection.sources.iter().map(read).collect();
        injection.reads = reads;
    }

    fn complete_sources(&self, injection: &mut InjectionFacts) {
        if injection.sources.is_empty() {
            injection.sources = injection::sources(&Value::Array(self.pack.layout.injections.clone()));
        }
    }

    /// The pack that the engine was made with.
    pub fn pack(&self) -> &Pack {
        &self.pack
    }

    /// Begins a session: fills the layout's slots with what these facts say.
    ///
    /// # Errors
    /// If the layout asks for a slot or a gate that the program does not give, or the other way round.
    pub fn begin(&self, facts: Facts, wire: WireSettings) -> Result<EngineSession, EngineError> {
        let given = |names: &mut dyn Iterator<Item = &String>| names.cloned().collect::<BTreeSet<_>>();
        self.check("slot", &self.names.slots, &given(&mut self.sources.keys()))?;
        self.check("gate", &self.names.gates, &given(&mut self.gates.keys()))?;
        Ok(EngineSession::new(self.clone(), facts, wire))
    }

    fn check(&self, kind: &'static str, asked: &BTreeSet<String>, given: &BTreeSet<String>) -> Result<(), EngineError> {
        let pack = || self.pack.name.clone();
        if let Some(name) = asked.difference(given).next() {
            return Err(EngineError::NotGiven { pack: pack(), kind, name: name.clone() });
        }
        if let Some(name) = given.difference(asked).next() {
            let known = asked.iter().cloned().collect();
            return Err(EngineError::NotAsked { pack: pack(), kind, name: name.clone(), known });
        }
        Ok(())
    }

    /// The facts with what the program gives: its gates, the texts of the store, then its sources, which see both.
    pub(crate) fn complete(&self, mut facts: Facts) -> Facts {
        let injection = &mut facts.system.injection;
        self.complete_sources(injection);
        if let Some(store) = &self.store {
            let wanted = injection.wanted_keys();
            let found = if wanted.is_empty() { Vec::new() } else { store.look_up(&wanted) };
            injection.store = Some(found.into_iter().filter(|(key, _)| wanted.contains(key)).collect());
        }
        let open = self.gates.iter().filter(|(_, gate)| gate.is_open(&facts)).map(|(name, _)| name.clone());
        facts.system.host.open = open.collect();
        let texts = self.sources.iter().map(|(slot, source)| {
            let output = source.give(&SourceAsk { slot, facts: &facts });
            (slot.clone(), output)
        });
        facts.system.host.texts = texts.collect();
        facts
    }

    pub(crate) fn counter(&self) -> Option<&dyn Counter> {
        self.counter.as_deref().map(|counter| counter as &dyn Counter)
    }
}
