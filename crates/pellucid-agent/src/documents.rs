//! Instruction files that join a session or change during it: read again, compared with what the model was told.
//!
//! There is none of it in a session whose pack and configuration do not ask for it.
//!
//! Not here: what the model is told (`pellucid-engine`), and where on the disk files are (`pellucid-workspace`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::digest::Digest;
use pellucid_engine::documents::known::Known;
use pellucid_engine::documents::touched;
use pellucid_engine::facts::Document;
use pellucid_engine::facts::Facts;
use pellucid_engine::pack::Pack;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_workspace::cache::DocumentCache;
use pellucid_workspace::changes::Change;
use pellucid_workspace::changes::Snapshot;
use pellucid_workspace::documents;
use pellucid_workspace::more_documents::OnTheWay;
use pellucid_workspace::more_documents::Surroundings;
use serde_json::Value;

use crate::gather::Sources;

/// Where what is known is kept.
pub(crate) const SIDE: &str = "documents";

/// Instruction files of a session.
#[derive(Debug)]
pub(crate) struct Documents {
    rules: ProjectDocs,
    pub known: Known,
    cache: DocumentCache,
    surroundings: Surroundings,
    /// Where calls went since the last request.
    touched: Vec<String>,
    /// Files that lead out of the project, with their targets, that were told.
    outside: BTreeSet<(String, String)>,
    /// Whether the user has said that the project is not to be trusted.
    is_untrusted: bool,
}

/// Files of folders that calls went to.
#[derive(Debug, Default)]
pub(crate) struct Joining {
    /// Those that have something new to say, each with its hash.
    pub documents: Vec<(Document, String)>,
    /// Those that lead out of the project and were not told yet, each with where.
    pub outside: Vec<(String, String)>,
}

impl Documents {
    /// Those of a session that asks for it.
    pub(crate) fn new(pack: &Pack, sources: &Sources, facts: &Facts, kept: Option<&Value>) -> Option<Self> {
        let rules = facts.project_docs.over(pack.layout.project_docs);
        if !rules.is_nested() && !rules.tells_changes() {
            return None;
        }
        let kept = kept.and_then(|kept| serde_json::from_value(kept.clone()).ok());
        let known = kept.unwrap_or_else(|| Known::at_start(hashes(facts)));
        let surroundings = surroundings(sources, facts.cwd.as_ref());
        let is_untrusted = sources.config.layers().is_untrusted();
        let (touched, outside) = (Vec::new(), BTreeSet::new());
        Some(Self { rules, known, cache: DocumentCache::default(), surroundings, touched, outside, is_untrusted })
    }

    /// Notes where a call goes.
    pub(crate) fn touch(&mut self, call: &ToolCall) {
        if self.rules.is_nested() && !self.is_untrusted {
            self.touched.extend(touched::paths(call, &self.surroundings.cwd.to_string_lossy()));
        }
    }

    /// The files of folders that calls went to since the last time, which have something new to say.
    pub(crate) fn joining(&mut self) -> Joining {
        let touched = std::mem::take(&mut self.touched);
        if touched.is_empty() {
            return Joining::default();
        }
        let OnTheWay { documents, outside } = self.surroundings.on_the_way(&touched);
        let is_new = |it: &(String, String)| self.outside.insert(it.clone());
        let outside = outside.into_iter().filter(is_new).collect();
        let mut joining: Vec<(Document, String)> = Vec::new();
        for document in documents {
            let sha256 = hash(&document);
            let is_known = self.known.has(&document.path, &sha256) || joining.iter().any(|(_, it)| *it == sha256);
            if !is_known {
                joining.push((document, sha256));
            }
        }
        Joining { documents: joining, outside }
    }

    /// Reads all files again, if the model is told of changes.
    pub(crate) fn refresh(&mut self, sources: &Sources, facts: &mut Facts) {
        if !self.rules.tells_changes() {
            return;
        }
        let config = &sources.config;
        let cwd: &Path = facts.cwd.as_ref();
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
        facts.links = project.links;
        let own = home.iter().filter_map(|it| Some((it.path.clone(), documents::link_target(&it.path)?)));
        facts.links.extend(own);
        facts.home_document = home;
        facts.project_documents = project.documents;
        facts.candidates = candidates;
        facts.imports = self.surroundings.imports(
            facts.home_document.as_ref(),
            &facts.project_documents,
            self.rules.imports(),
            &user_home(sources),
        );
        let joined = self.known.joined.keys();
        facts.nested_documents = joined.filter_map(|path| self.surroundings.again(Path::new(path))).collect();
    }

    /// What is not as the model was told, and what it will be told.
    pub(crate) fn changes(&self, facts: &Facts) -> (Vec<Change>, BTreeMap<String, String>) {
        if !self.rules.tells_changes() {
            return (Vec::new(), BTreeMap::new());
        }
        let now = hashes(facts);
        let changes = Snapshot::new(self.known.files.clone()).changed(&Snapshot::new(now.clone()));
        (changes, now)
    }

    /// What is to be kept.
    pub(crate) fn kept(&self) -> Value {
        serde_json::to_value(&self.known).unwrap_or_default()
    }
}

/// A project as its instruction files see it.
pub(crate) fn surroundings(sources: &Sources, cwd: &Path) -> Surroundings {
    let settings = &sources.config.documents;
    Surroundings::of(cwd, &settings.fallback_filenames, settings.max_bytes, &sources.bounds(cwd))
}

/// The folder that `~` stands for.
pub(crate) fn user_home(sources: &Sources) -> PathBuf {
    sources.env.var_os("HOME").map_or_else(|| sources.config.folders.home.clone(), PathBuf::from)
}

fn hash(document: &Document) -> String {
    Digest::of([document.bytes.as_slice()]).to_string()
}

/// The hashes of all files that the model is told, by path.
fn hashes(facts: &Facts) -> BTreeMap<String, String> {
    let imported = facts.imports.iter().filter_map(|imported| imported.outcome.as_ref().ok());
    let own = facts.home_document.iter().chain(&facts.project_documents);
    let all = own.chain(imported).chain(&facts.nested_documents);
    all.map(|document| (document.path.clone(), hash(document))).collect()
}
