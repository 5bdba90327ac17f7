//! The session that asks. It works in the folder of memories and may write nowhere else.

use pellucid_config::Config;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::WebSearchMode;

use crate::child::StartedBy;
use crate::context_events::ContextEvents;
use crate::crew::Crew;
use crate::open;
use crate::open::Opening;
use crate::open::Persistence;
use crate::session::Session;
use crate::session::Setup;

/// Opens the session that asks for memories, with its file.
pub(super) fn open(from: &Setup, session_id: SessionId) -> Result<Session, String> {
    let config = configured(&from.sources.config);
    let folder = &config.folders.cwd;
    pellucid_files::make_private_folder(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut sources = from.sources.clone();
    sources.config = config.into();
    sources.project_at = None;
    let mut setup = Setup {
        session_id,
        origin: StartedBy::Memories,
        sources,
        model: from.model.beside(),
        raw_items: RawItems::Hidden,
        context_events: ContextEvents::default(),
        notices: Vec::new(),
        crew: Crew::default(),
        ..from.clone()
    };
    setup.gathered = setup.gathered_now().map_err(|error| error.to_string())?;
    setup.gathered.facts.settings.web_search = WebSearchMode::Disabled;
    let mut session = open::begin(setup, Opening::new(Persistence::File)).map_err(|error| error.to_string())?;
    // The questions of the first phase are in no message of the conversation, so nothing else would write the file.
    session.log.persist();
    Ok(session)
}

/// The configuration for work in the folder of memories: no person is asked, and nothing outside is reached.
///
/// Instruction files of the folder are left out. The agent writes there, and what it writes must not become orders for
/// the next one.
fn configured(from: &Config) -> Config {
    let mut config = from.clone();
    let folder = super::folder(from);
    config.folders.cwd.clone_from(&folder);
    config.folders.project_root = folder;
    config.folders.work_tree = None;
    config.documents.max_bytes = 0;
    config.permissions.approval_policy = ApprovalPolicy::Never;
    config.permissions.sandbox_mode = SandboxMode::WorkspaceWrite;
    config.permissions.sandbox_policy = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    };
    config.tools.mcp_servers.clear();
    config.prompt.inject.clear();
    config.prompt.inject_input = None;
    config.records.notify = None;
    for feature in [Feature::MemoryTool, Feature::MultiAgent] {
        config.features.set(feature, false);
    }
    config.model.slug = Some(config.tools.memories.merging_model.clone());
    config.model.reasoning_effort = Some(ReasoningEffort::Medium);
    config
}
