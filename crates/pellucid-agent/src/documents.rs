//! Instruction files that join a session or change during it: read again, compared with what the model has seen.
//!
//! A session has this habit only if its pack or configuration asks for it.
//!
//! Not here: the messages about them (`pellucid-engine`), and where on the disk files are (`pellucid-workspace`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::digest::Digest;
use pellucid_engine::documents::change;
use pellucid_engine::documents::change::Changed;
use pellucid_engine::documents::change::NewText;
use pellucid_engine::documents::known::KnownDocuments;
use pellucid_engine::documents::touched;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Document;
use pellucid_engine::facts::Facts;
use pellucid_engine::not_utf8;
use pellucid_engine::report::fate_text;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_workspace::cache::DocumentCache;
use pellucid_workspace::changes::DocumentChange;
use pellucid_workspace::changes::DocumentHashes;
use pellucid_workspace::documents;
use pellucid_workspace::documents::further::OnTheWay;
use pellucid_workspace::documents::further::Surroundings;

use crate::gather;
use crate::gather::FactSources;
use crate::gather::instructions_slot;
use crate::habits::Effect;
use crate::habits::Habit;
use crate::habits::Happened;
use crate::habits::Moment;
use crate::session::Setup;
use crate::shared_facts::SharedFacts;

/// The name under which the state is kept beside the session's file.
const SIDE: &str = "documents";

/// The instruction files of a session, with what the model has seen of them.
#[derive(Debug, Clone)]
pub(crate) struct Documents {
    rules: ProjectDocs,
    known: KnownDocuments,
    cache: DocumentCache,
    surroundings: Surroundings,
    /// The paths that calls named since the last request.
    touched: Vec<String>,
    /// Files that must not be used, with the reason in words, that were reported.
    left_out: BTreeSet<(String, String)>,
    /// Whether the user has said that the project is not to be trusted.
    is_untrusted: bool,
}

/// Instruction files of folders that calls named.
#[derive(Debug, Default)]
struct Joining {
    /// Files whose text the model has not seen, each with its hash.
    documents: Vec<(Document, String)>,
    /// Files that must not be used and were not reported yet.
    left_out: Vec<Candidate>,
}

impl Documents {
    /// The habit of a session that asks for it.
    pub(crate) fn of(setup: &Setup) -> Option<Self> {
        let (sources, facts) = (&setup.sources, &setup.gathered.facts);
        let rules = facts.settings.project_docs.over(setup.pack.layout.project_docs);
        if !rules.is_nested() && !rules.tells_changes() {
            return None;
        }
        let kept = setup.side.get(SIDE).and_then(|kept| serde_json::from_value(kept.clone()).ok());
        let known = kept.unwrap_or_else(|| KnownDocuments::at_start(hashes(facts)));
        let surroundings = surroundings(sources, facts.settings.cwd.as_ref());
        let is_untrusted = sources.config.layers().is_untrusted();
        let (touched, left_out) = (Vec::new(), BTreeSet::new());
        Some(Self { rules, known, cache: DocumentCache::default(), surroundings, touched, left_out, is_untrusted })
    }

    /// Notes the paths that a call names.
    fn touch(&mut self, call: &ToolCall) {
        if self.rules.is_nested() && !self.is_untrusted {
            self.touched.extend(touched::paths(call, &self.surroundings.cwd.to_string_lossy()));
        }
    }

    /// The files of folders that calls named since the last request, if the model has not seen their text.
    fn joining(&mut self) -> Joining {
        let touched = std::mem::take(&mut self.touched);
        if touched.is_empty() {
            return Joining::default();
        }
        let OnTheWay { documents, left_out } = self.surroundings.on_the_way(&touched);
        let is_new = |it: &Candidate| self.left_out.insert((it.path.clone(), fate_text(&it.fate)));
        let left_out = left_out.into_iter().filter(is_new).collect();
        let mut joining: Vec<(Document, String)> = Vec::new();
        for document in documents {
            let sha256 = hash(&document);
            let is_known = self.known.has(&document.path, &sha256) || joining.iter().any(|(_, it)| *it == sha256);
            if !is_known {
                joining.push((document, sha256));
            }
        }
        Joining { documents: joining, left_out }
    }

    /// Reads all files again, if changes are to be sent to the model.
    fn refresh(&mut self, sources: &FactSources, facts: &mut SharedFacts) {
        if !self.rules.tells_changes() {
            return;
        }
        let config = &sources.config;
        let cwd: &Path = facts.settings.cwd.as_ref();
        if config.folders.cwd != cwd {
            self.surroundings = surroundings(sources, cwd);
        }
        let options = sources.document_options(cwd);
        let (home, mut candidates) = documents::home_document(&config.folders.home);
        let project = documents::project_documents(cwd, &options, &mut self.cache);
        if let Some(error) = project.error {
            // What cannot be read for a moment is not gone.
            tracing::warn!(error, "instruction files are not read again");
            return;
        }
        candidates.extend(project.candidates);
        let mut world = facts.world.clone();
        world.links = project.links;
        let own = home.iter().filter_map(|it| Some((it.path.clone(), documents::link_target(&it.path)?)));
        world.links.extend(own);
        world.home_document = home;
        world.project_documents = project.documents;
        world.candidates = candidates;
        world.imports = self.surroundings.imports(
            world.home_document.as_ref(),
            &world.project_documents,
            self.rules.imports(),
            &user_home(sources),
        );
        let joined = self.known.joined.keys();
        world.nested_documents = joined.filter_map(|path| self.surroundings.again(Path::new(path))).collect();
        // Facts that stay as they are stay shared.
        if world != facts.world {
            facts.world = world;
        }
    }

    /// What differs from what the model has seen, and the hashes as they are now.
    fn changes(&self, facts: &Facts) -> (Vec<DocumentChange>, BTreeMap<String, String>) {
        if !self.rules.tells_changes() {
            return (Vec::new(), BTreeMap::new());
        }
        let now = hashes(facts);
        let changes = DocumentHashes::new(self.known.files.clone()).changed(&DocumentHashes::new(now.clone()));
        (changes, now)
    }

    /// Messages about instruction files that changed.
    fn changed(&mut self, setup: &mut Setup, text: NewText, n_items: usize) -> Vec<Effect> {
        let facts = &setup.gathered.facts;
        let (changes, now) = self.changes(facts);
        let changed: Vec<Changed<'_>> = changes
            .iter()
            .map(|it| Changed { path: &it.path, old: it.old.as_deref(), new: it.new.as_deref() })
            .collect();
        let draft = change::changed(&setup.pack, facts, &changed, text);
        if draft.is_some() {
            self.known.tell(now, n_items);
        }
        let mut effects = Vec::new();
        if let Some(draft) = draft {
            let given = changes.iter().filter(|it| it.new.is_some());
            let not_utf8 = given.filter_map(|it| not_utf8::omission(facts, &draft.part, &it.path));
            effects.extend(not_utf8.map(Effect::Omit));
            effects.insert(0, Effect::Record(draft));
        }
        self.keep(setup);
        effects
    }

    /// Messages with the instruction files of folders that calls named.
    fn joined(&mut self, setup: &mut Setup, n_items: usize) -> Vec<Effect> {
        let Joining { documents, left_out } = self.joining();
        let slot = instructions_slot(Some(&setup.pack.layout));
        let mut effects: Vec<Effect> = gather::left_out(&left_out, &slot).into_iter().map(Effect::Omit).collect();
        if documents.is_empty() {
            return effects;
        }
        for (n, (document, sha256)) in documents.into_iter().enumerate() {
            let facts = &mut *setup.gathered.facts;
            let draft = change::joined(&setup.pack, facts, &document, &sha256);
            self.known.join(&document.path, &sha256, n_items + n);
            let (part, path) = (draft.part.clone(), document.path.clone());
            let (bytes, tokens) = (document.bytes.len(), tokens_of_bytes(document.bytes.len()));
            effects.push(Effect::Record(draft));
            let event = EventMessage::ContextDocument { path: path.clone(), sha256, bytes, tokens };
            effects.push(Effect::Report(Box::new(event)));
            facts.world.nested_documents.push(document);
            effects.extend(not_utf8::omission(facts, &part, &path).map(Effect::Omit));
        }
        self.keep(setup);
        effects
    }

    /// Forgets files that are no longer in the conversation.
    fn forget(&self, setup: &mut Setup) {
        let joined = &self.known.joined;
        setup.gathered.facts.world.nested_documents.retain(|document| joined.contains_key(&document.path));
        self.keep(setup);
    }

    fn keep(&self, setup: &mut Setup) {
        setup.keep(SIDE, serde_json::to_value(&self.known).unwrap_or_default());
    }
}

impl Habit for Documents {
    fn copied(&self) -> Box<dyn Habit> {
        Box::new(self.clone())
    }

    fn note(&mut self, setup: &mut Setup, happened: &Happened<'_>) {
        match happened {
            Happened::TurnBegins => self.refresh(&setup.sources, &mut setup.gathered.facts),
            Happened::Called(call) => self.touch(call),
            Happened::Shortened => {
                self.known.compact();
                self.forget(setup);
            }
            Happened::RolledBack { n_items, .. } => {
                self.known.roll_back(*n_items);
                self.forget(setup);
            }
            _ => {}
        }
    }

    fn due(&mut self, setup: &mut Setup, moment: &Moment) -> Vec<Effect> {
        match *moment {
            Moment::TurnBegan { text, n_items } => self.changed(setup, text, n_items),
            Moment::BeforeRequest { n_items } => self.joined(setup, n_items),
        }
    }
}

/// The project of a working directory, as far as instruction files are concerned.
pub(crate) fn surroundings(sources: &FactSources, cwd: &Path) -> Surroundings {
    let settings = &sources.config.documents;
    Surroundings::of(cwd, &settings.fallback_filenames, settings.max_bytes, &sources.bounds(cwd))
}

/// The folder that `~` means in an import.
pub(crate) fn user_home(sources: &FactSources) -> PathBuf {
    sources.env.var_os("HOME").map_or_else(|| sources.config.folders.home.clone(), PathBuf::from)
}

fn hash(document: &Document) -> String {
    Digest::of([document.bytes.as_slice()]).to_string()
}

/// The hashes of all files that the model sees, by path.
fn hashes(facts: &Facts) -> BTreeMap<String, String> {
    let imported = facts.world.imports.iter().filter_map(|imported| imported.outcome.as_ref().ok());
    let own = facts.world.home_document.iter().chain(&facts.world.project_documents);
    let all = own.chain(imported).chain(&facts.world.nested_documents);
    all.map(|document| (document.path.clone(), hash(document))).collect()
}
