//! Gathers facts: configuration, disk and environment in, [`Facts`] out.
//!
//! Everything is read once, here. After that a request is a function of the facts.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::accepted::Accepted;
use pellucid_config::config::Sourced;
use pellucid_engine::apps::AppChoice;
use pellucid_engine::facts;
use pellucid_engine::facts::AgentRole;
use pellucid_engine::facts::Candidate;
use pellucid_engine::facts::Document;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Fate;
use pellucid_engine::facts::McpOffers;
use pellucid_engine::facts::Memory;
use pellucid_engine::facts::NetworkRules;
use pellucid_engine::facts::OutsideTools;
use pellucid_engine::facts::PrefixToken;
use pellucid_engine::facts::Provided;
use pellucid_engine::facts::SessionSettings;
use pellucid_engine::facts::System;
use pellucid_engine::facts::World;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Why;
use pellucid_engine::pack::Layout;
use pellucid_engine::pack::SlotRole;
use pellucid_exec::sandbox::Roots;
use pellucid_files::Folder;
use pellucid_git::Git;
use pellucid_model::Catalogue;
use pellucid_model::catalogue;
use pellucid_model::catalogue::CatalogueMatch;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_rules::Policy;
use pellucid_workspace::bounds::InstructionFolders;
use pellucid_workspace::cache::DocumentCache;
use pellucid_workspace::documents;
use pellucid_workspace::documents::DocumentOptions;
use pellucid_workspace::roots;
use pellucid_workspace::shell;
use pellucid_workspace::skills::SkillSearch;

use crate::identity::VERSION;
use crate::memories;
use crate::own_git;
use crate::revision::ProjectAt;
use crate::shared_facts::SharedFacts;
use crate::skills;

/// The slot that would hold the summary of past sessions.
const MEMORY_SLOT: &str = "memory";

/// The file of that summary, in the folder of memories.
const SUMMARY: &str = "memory_summary.md";

/// Facts about a session, with warnings about how they were gathered.
#[derive(Debug, Clone, PartialEq)]
pub struct Gathered {
    pub facts: SharedFacts,
    /// Inputs that could not be used, with their reasons.
    pub omissions: Vec<Omission>,
    /// Whether the model is in the catalogue.
    pub model_match: CatalogueMatch,
    /// How to search for skills again.
    pub skill_search: SkillSearch,
    /// The path of the user's login shell.
    pub shell: PathBuf,
    /// Warnings for clients, before the first turn.
    pub warnings: Vec<String>,
}

impl Gathered {
    /// Adds a prefix that a person has just allowed permanently, as if its rule had existed from the start. The model
    /// was informed already; the next text on permissions lists the prefix with the others.
    pub fn allow(&mut self, prefix: &[String]) {
        let prefix = prefix.iter().cloned().map(PrefixToken::Word).collect();
        let prefixes = &mut self.facts.settings.approved_prefixes;
        prefixes.push(prefix);
        prefixes.sort();
        prefixes.dedup();
    }
}

/// The sources from which facts are gathered again when settings change.
#[derive(Debug, Clone)]
pub struct FactSources {
    pub config: Arc<Config>,
    pub env: Env,
    /// The rules that allow, forbid or ask about commands.
    pub policy: Policy,
    /// The agent's git. Sessions started from this one share its cache.
    pub git: Git,
    /// Where commands may write, as decided at the start. Sessions started from this one share the value.
    pub roots: Arc<Roots>,
    /// The project's files of a git revision, where those are looked at in place of the ones on disk.
    pub(crate) project_at: Option<Arc<ProjectAt>>,
    catalogue: Arc<Catalogue>,
    /// Whether instruction files count that were not accepted.
    shows_all: bool,
}

impl FactSources {
    /// Reads the catalogue once. There are no rules about commands yet.
    pub fn new(config: impl Into<Arc<Config>>, env: Env) -> Self {
        let config = config.into();
        let catalogue = Arc::new(catalogue(&config.folders.home));
        Self::sharing(config, env, catalogue)
    }

    /// With a catalogue that was read before, for one of many sessions.
    pub fn sharing(config: impl Into<Arc<Config>>, env: Env, catalogue: Arc<Catalogue>) -> Self {
        let config = config.into();
        let git = own_git::of(&config, &env);
        Self {
            config,
            env,
            policy: Policy::default(),
            git,
            roots: Arc::default(),
            project_at: None,
            catalogue,
            shows_all: false,
        }
    }

    /// The same with rules about commands.
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// The same with the project's files of a git revision.
    pub fn with_project_at(self, project_at: Option<Arc<ProjectAt>>) -> Self {
        Self { project_at, ..self }
    }

    /// The same with the git of another session.
    pub fn with_git(self, git: Git) -> Self {
        Self { git, ..self }
    }

    /// The same with the roots of the session that starts this one.
    pub(crate) fn with_roots(self, roots: Arc<Roots>) -> Self {
        Self { roots, ..self }
    }

    /// Changes settings as a person asked for it.
    pub fn change(&self, gathered: &mut Gathered, change: SettingsChange) {
        let Gathered { facts, model_match, .. } = gathered;
        let settings = &mut facts.settings;
        let mode = change.collaboration_mode;
        let slug = mode.as_ref().map(|mode| mode.settings.model.clone()).or(change.model);
        if let Some(slug) = slug {
            (settings.model, *model_match) = self.model(&slug);
            settings.collaboration_mode.settings.model = slug;
        }
        let effort = mode.as_ref().map(|mode| mode.settings.reasoning_effort).or(change.effort);
        if let Some(effort) = effort {
            settings.effort = effort;
            settings.collaboration_mode.settings.reasoning_effort = effort;
        }
        if let Some(mode) = mode {
            settings.collaboration_mode = mode;
        }
        settings.summary = change.summary.unwrap_or(settings.summary);
        settings.approval_policy = change.approval_policy.unwrap_or(settings.approval_policy);
        settings.personality = change.personality.or(settings.personality);
        if let Some(cwd) = change.cwd {
            settings.cwd = cwd.to_string_lossy().into_owned();
        }
        if let Some(policy) = change.sandbox_policy {
            settings.web_search = self.config.web_search_under(&policy);
            settings.sandbox_policy = policy;
        }
        let before = std::mem::take(&mut settings.writable_roots);
        settings.writable_roots = self.writable_roots(&settings.sandbox_policy, settings.cwd.as_ref());
        self.roots.decide(&paths(&before), &paths(&settings.writable_roots));
    }

    /// What is known of a model, with what the configuration says about it.
    pub fn model(&self, slug: &str) -> (ModelInfo, CatalogueMatch) {
        let config = &self.config;
        let (mut model, model_match) = self.catalogue.lookup(slug);
        let overrides = catalogue::ModelOverrides {
            supports_reasoning_summaries: config.model.supports_reasoning_summaries == Some(true),
            context_window: config.model.context_window,
            auto_compact_token_limit: config.model.auto_compact_token_limit,
            tool_output_token_limit: config.model.tool_output_token_limit.and_then(|limit| i64::try_from(limit).ok()),
        };
        catalogue::apply_overrides(&mut model, &overrides);
        (model, model_match)
    }

    /// How the instruction files of a folder are looked for.
    pub(crate) fn document_options(&self, cwd: &Path) -> DocumentOptions {
        let config = &self.config;
        DocumentOptions {
            fallback_names: config.documents.fallback_filenames.clone(),
            bytes_max: config.documents.max_bytes,
            work_tree: config.folders.work_tree.clone().filter(|_| config.folders.cwd == cwd),
            bounds: self.bounds(cwd),
            is_untrusted: config.layers().is_untrusted(),
        }
    }

    /// Where the instruction files of a folder may lie in the end.
    pub(crate) fn bounds(&self, cwd: &Path) -> InstructionFolders {
        let folders = &self.config.folders;
        let project = if cwd.starts_with(&folders.project_root) { &folders.project_root } else { cwd };
        let bounds = InstructionFolders::new(project, &folders.home, self.env.user_home().as_deref());
        // A revision of the project is looked at and not sent.
        if self.shows_all || self.project_at.is_some() {
            return bounds;
        }
        // A file of decisions that cannot be read accepts nothing.
        let accepted = Accepted::read(&folders.home).map_or_else(|_| Some(BTreeMap::new()), |it| it.texts_of(project));
        bounds.accepting(accepted)
    }

    /// The same with instruction files that were not accepted, to show them.
    #[must_use]
    pub fn showing_all(self) -> Self {
        Self { shows_all: true, ..self }
    }

    /// The settings that the configuration names, before anybody changes them.
    fn settings(&self, model: ModelInfo, writable_roots: Vec<String>) -> SessionSettings {
        let config = &self.config;
        let policy = &config.permissions.sandbox_policy;
        SessionSettings {
            cwd: config.folders.cwd.to_string_lossy().into_owned(),
            network: config.requirements.network.as_ref().map(|network| NetworkRules {
                allowed_domains: network.allowed_domains.clone().unwrap_or_default(),
                denied_domains: network.denied_domains.clone().unwrap_or_default(),
            }),
            approval_policy: config.permissions.approval_policy,
            sandbox_policy: policy.clone(),
            writable_roots,
            approved_prefixes: self.policy.rules.allowed_prefixes(),
            effort: config.model.reasoning_effort,
            summary: config.model.reasoning_summary,
            verbosity: config.model.verbosity,
            personality: config.model.personality,
            features: config.features.clone(),
            base_instructions: config.prompt.base_instructions.as_ref().map(provided),
            developer_instructions: config.prompt.developer_instructions.as_ref().map(provided),
            collaboration_mode: facts::default_mode(&model.slug, config.model.reasoning_effort),
            model,
            project_document_bytes_max: config.documents.max_bytes,
            project_docs: config.documents.rules,
            web_search: config.web_search_under(policy),
            commit_attribution: config.prompt.commit_attribution.clone(),
        }
    }

    fn writable_roots(&self, policy: &SandboxPolicy, cwd: &Path) -> Vec<String> {
        let roots = roots::writable_roots(policy, cwd, self.env.var_os("TMPDIR").as_deref());
        roots.iter().map(|root| root.to_string_lossy().into_owned()).collect()
    }
}

fn paths(names: &[String]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// Gathers the facts of a session.
pub fn gather(sources: &FactSources) -> Gathered {
    let FactSources { config, env, catalogue, .. } = sources;
    let slug = config.model.slug.clone().unwrap_or_else(|| catalogue.default_model().to_owned());
    let (model, model_match) = sources.model(&slug);
    let cwd = &config.folders.cwd;
    let (home_document, mut candidates) = documents::home_document(&config.folders.home);
    let options = sources.document_options(cwd);
    let project = match &sources.project_at {
        Some(at) => at.documents(cwd, &options),
        None => documents::project_documents(cwd, &options, &mut DocumentCache::default()),
    };
    let slot = instructions_slot(None);
    let mut omissions = unreadable(&candidates, &slot);
    omissions.extend(left_out(&project.candidates, &slot));
    candidates.extend(project.candidates);
    omissions.extend(project.error.map(|error| Omission {
        slot: slot.clone(),
        what: "project documents".to_owned(),
        why: Why::Unusable { error },
    }));
    let mut links = project.links;
    links.extend(home_document.iter().filter_map(|it| Some((it.path.clone(), documents::link_target(&it.path)?))));
    let (skill_search, untrusted_skills) = skills::search_and_left_out(config, env);
    omissions.extend(untrusted_skills.into_iter().map(|folder| Omission {
        slot: slot.clone(),
        what: folder.to_string_lossy().into_owned(),
        why: Why::Untrusted,
    }));
    let memory = memory(config, &mut omissions);
    let writable_roots = sources.writable_roots(&config.permissions.sandbox_policy, cwd);
    // Before any command can change what their names lead to.
    sources.roots.pin(&paths(&writable_roots));
    let shell = shell::user_shell(&|name| env.var_os(name));
    let world = World {
        shell: shell.family.as_str().to_owned(),
        recorded_instructions: None,
        recorded_fragments: Vec::new(),
        home_document,
        project_documents: project.documents,
        imports: Vec::new(),
        nested_documents: Vec::new(),
        candidates,
        links,
        skills: sources.project_at.as_ref().map_or_else(|| skill_search.load(), |at| at.skills(&skill_search)),
        memory,
    };
    let settings = sources.settings(model, writable_roots);
    let tools = OutsideTools {
        has_mcp_servers: config.session_servers().values().any(|server| server.enabled),
        mcp_tools: Arc::default(),
        mcp_offers: mcp_offers(config),
        apps: AppChoice { disabled: config.tools.apps.disabled.clone(), ..AppChoice::default() },
        agent_roles: agent_roles(config),
        dynamic_tools: Vec::new(),
    };
    let facts = Facts { world, settings, tools, system: System::default() }.into();
    Gathered { facts, omissions, model_match, skill_search, shell: shell.path, warnings: Vec::new() }
}

/// Takes over which MCP servers a configuration has. Their tools are not known yet.
pub(crate) fn exchange_servers(tools: &mut OutsideTools, config: &Config) {
    tools.has_mcp_servers = config.session_servers().values().any(|server| server.enabled);
    tools.mcp_tools = Arc::default();
    tools.mcp_offers = mcp_offers(config);
}

/// How the configuration wants tools of MCP servers to be offered.
fn mcp_offers(config: &Config) -> McpOffers {
    let servers = config.tools.mcp_servers.iter();
    let servers = servers.filter_map(|(name, server)| Some((name.clone(), server.offer?))).collect();
    McpOffers { all: config.tools.mcp_tools, servers }
}

/// The slot under which instruction files are reported that are not read: the one that has their role. Without a layout, or
/// in a layout without such a slot, it is called like the role.
pub(crate) fn instructions_slot(layout: Option<&Layout>) -> Arc<str> {
    let role = SlotRole::UserInstructions;
    layout.and_then(|layout| layout.slot_with(role)).map_or_else(|| role.as_str().into(), |slot| slot.id.clone())
}

/// The files that would have been read and must not be.
pub(crate) fn left_out(candidates: &[Candidate], slot: &Arc<str>) -> Vec<Omission> {
    let why = |fate: &Fate| match fate {
        Fate::Outside { target } => Some(Why::Outside { target: target.clone() }),
        Fate::Untrusted => Some(Why::Untrusted),
        Fate::NotAccepted { is_changed } => Some(Why::NotAccepted { is_changed: *is_changed }),
        _ => None,
    };
    let omission = |it: &Candidate| Some(Omission { slot: slot.clone(), what: it.path.clone(), why: why(&it.fate)? });
    candidates.iter().filter_map(omission).collect()
}

/// The user's own files that are there and cannot be read.
fn unreadable(candidates: &[Candidate], slot: &Arc<str>) -> Vec<Omission> {
    let omission = |it: &Candidate| match &it.fate {
        Fate::Unreadable { error } => {
            let why = Why::Unusable { error: error.clone() };
            Some(Omission { slot: slot.clone(), what: it.path.clone(), why })
        }
        _ => None,
    };
    candidates.iter().filter_map(omission).collect()
}

/// A text of the configuration, with its place.
pub fn provided(text: &Sourced) -> Provided {
    let place = text.file.as_ref().map_or_else(|| text.origin.to_string(), |file| file.display().to_string());
    Provided { place, text: text.text.clone() }
}

/// The file by which a user adds models, or says more of those that are known.
pub fn models_file(home: &Path) -> PathBuf {
    home.join("models_cache.json")
}

/// The models that are known: the built-in ones, and those of a models cache in the home folder.
pub fn catalogue(home: &Path) -> Catalogue {
    let mut catalogue = Catalogue::builtin();
    if let Ok(text) = pellucid_files::read_text(&models_file(home), pellucid_files::TEXT_BYTES_MAX)
        && let Err(reason) = catalogue.overlay(&text, VERSION, SystemTime::now())
    {
        tracing::debug!(%reason, "the models cache is not used");
    }
    catalogue
}

/// The summary of past sessions. An agent writes it, so that it is never read through a link: a command of the agent
/// could have it lead to any file.
fn memory(config: &Config, omissions: &mut Vec<Omission>) -> Option<Memory> {
    if !memories::is_on(config) {
        return None;
    }
    let folder = memories::folder(config);
    let of_all = memories::folder_of_all(config);
    if folder != of_all && of_all.join(SUMMARY).exists() {
        let what = format!("{} (of all projects; `memories.scope` is `project`)", of_all.join(SUMMARY).display());
        omissions.push(Omission { slot: MEMORY_SLOT.into(), what, why: Why::SwitchedOff });
    }
    let path = folder.join(SUMMARY);
    let name = OsStr::new(SUMMARY);
    let read = Folder::open(&folder, None).and_then(|it| it.read(name, pellucid_files::TEXT_BYTES_MAX));
    let path = path.to_string_lossy().into_owned();
    match read {
        Ok(bytes) => {
            let summary = Document::whole(path, bytes);
            Some(Memory { folder: folder.to_string_lossy().into_owned(), summary })
        }
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                let why = Why::Unusable { error: error.to_string() };
                omissions.push(Omission { slot: MEMORY_SLOT.into(), what: path, why });
            }
            None
        }
    }
}

fn agent_roles(config: &Config) -> Vec<AgentRole> {
    let roles = config.tools.agent_roles.iter();
    roles.map(|(name, role)| AgentRole { name: name.clone(), description: role.description.clone() }).collect()
}
