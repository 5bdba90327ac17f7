//! What a layout asks for beyond the usual facts: imports of instruction files, bootstrap files for an assistant, and
//! items that are injected. Nothing of it is read for a layout that has no use for it.

mod files;
mod injected;
mod machine;

use std::path::Path;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_engine::computed;
use pellucid_engine::deferred;
use pellucid_engine::documents::listed::InstructionFile;
use pellucid_engine::documents::listed::instruction_files;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Why;
use pellucid_engine::pack::CompactionStrategy;
use pellucid_engine::pack::Pack;
use pellucid_protocol::settings::PromptMode;

use self::injected::Injecting;
pub use self::injected::PrepareError;
pub(crate) use self::injected::configured_window;
use crate::documents;
use crate::gather;
use crate::gather::FactSources;
use crate::gather::Gathered;

/// Adds what the layout of a pack asks for.
///
/// # Errors
/// If a file with what is to be injected cannot be used.
pub fn prepare(gathered: &mut Gathered, pack: &Pack, sources: &FactSources) -> Result<(), PrepareError> {
    let config = &sources.config;
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
    let missing = deferred::missing_tools(&pack.layout);
    if facts.tools.mcp_offers.defer_any() && !missing.is_empty() {
        return Err(PrepareError::NoDeferredTools { pack: pack.name.clone(), missing: missing.join(" and ") });
    }
    machine::add(facts, config, pack);
    let usual_mode = computed::usual_mode(pack, facts).unwrap_or_else(|error| {
        let why = Why::Unusable { error: error.to_string() };
        gathered.omissions.push(Omission { slot: slot.clone(), what: "minimal_if".to_owned(), why });
        PromptMode::Full
    });
    facts.system.prompt_mode = config.prompt.mode.unwrap_or(usual_mode);
    if let Some(set) = &pack.layout.bootstrap {
        let (files, left_out) = files::files(sources, set, usual_mode == PromptMode::Minimal, &slot);
        gathered.omissions.extend(left_out);
        facts.system.files = files;
    }
    let is_asked_for = !config.prompt.inject.is_empty() || config.prompt.inject_input.is_some();
    if has_source("injected_")
        && (is_asked_for || !pack.layout.injections.is_empty() || has_source("injected_sections"))
    {
        let home = sources.env.text("HOME").unwrap_or_else(|| shown(&config.folders.home));
        let Injecting { facts: injection, mode, system_prompt, unused } =
            injected::injecting(config, pack, facts.system.prompt_mode, home)?;
        facts.system.injection = injection;
        let unusable = |what: &str, error: String| Omission {
            slot: slot.clone(),
            what: what.to_owned(),
            why: Why::Unusable { error },
        };
        match mode {
            Some(Ok(mode)) => facts.system.prompt_mode = mode,
            Some(Err(word)) => {
                facts.system.prompt_mode = PromptMode::Full;
                let error =
                    format!("there is no mode `{word}`, so `full` is used; known: {}", PromptMode::WORDS.join(", "));
                gathered.warnings.push(format!("prompt_mode: {error}"));
                gathered.omissions.push(unusable("prompt_mode", error));
            }
            None => {}
        }
        if facts.settings.base_instructions.is_none() {
            facts.settings.base_instructions = system_prompt;
        }
        gathered.omissions.extend(unused.into_iter().map(|(what, why)| unusable(&what, why)));
    } else if is_asked_for {
        return Err(PrepareError::NoSlot { pack: pack.name.clone() });
    }
    if pack.layout.compaction.strategy == CompactionStrategy::Window {
        let keys = facts.system.injection.window.over(configured_window(config)).over(pack.layout.compaction.window);
        let refused = |source| PrepareError::Settings { place: "[compaction]".to_owned(), source };
        keys.check(facts.settings.model.context_window).map_err(refused)?;
    }
    Ok(())
}

/// The instruction files of a project as its sessions would read them, accepted or not. The user's own are not among them.
///
/// # Errors
/// If a file with what is to be injected cannot be used.
pub fn instruction_files_of_project(
    config: Config,
    env: Env,
    pack: &Pack,
) -> Result<Vec<InstructionFile>, PrepareError> {
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

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
