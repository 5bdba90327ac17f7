//! What holds for the calls of a turn, from what is true of the session.

use pellucid_engine::facts::Facts;
use pellucid_engine::gate;
use pellucid_engine::mcp::ServerTool;
use pellucid_engine::pack::ToolKind;
use pellucid_engine::tool_list;
use pellucid_exec::environment;
use pellucid_exec::environment::Network;
use pellucid_exec::process::Variables;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::model::ShellType;
use pellucid_protocol::settings::NetworkAccess;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_tools::mcp_tool::McpRoute;
use pellucid_tools::situation::Offered;
use pellucid_tools::situation::Situation;
use pellucid_tools::situation::SkillVariables;

use crate::gather::Sources;
use crate::session::Setup;

/// The situation of a turn.
pub(crate) fn situation(setup: &Setup, turn_id: &TurnId) -> Situation {
    let facts = &setup.gathered.facts;
    let config = &setup.sources.config;
    let shell_is_on = gate::shell_type(facts) != ShellType::Disabled;
    let has_snapshots = shell_is_on && facts.features.is_on(Feature::ShellSnapshot);
    let offered = tool_list::callable(&setup.pack, facts);
    let offered = offered.iter().map(|tool| Offered {
        name: tool.file.name.clone(),
        is_parallel: tool.slot.parallel,
        takes_text: tool.file.kind == ToolKind::Custom,
    });
    let only = tool_list::only(&setup.pack, facts);
    Situation {
        session_id: setup.session_id.clone(),
        turn_id: turn_id.clone(),
        cwd: facts.cwd.clone().into(),
        approval_policy: facts.approval_policy,
        sandbox_policy: facts.sandbox_policy.clone(),
        writable_roots: facts.writable_roots.iter().map(Into::into).collect(),
        project_root: config.folders.project_root.clone(),
        mode: facts.collaboration_mode.mode,
        sees_pictures: facts.model.takes_images(),
        truncation: facts.model.truncation_policy,
        offered: offered.collect(),
        only: only.map(|files| files.iter().map(|file| setup.pack.tool_file(file).name.clone()).collect()),
        app_tools: Vec::new(),
        mcp_tools: routes(facts),
        agents: None,
        dynamic_tools: facts.dynamic_tools.iter().map(|tool| tool.name.clone()).collect(),
        shell_is_on,
        snapshots: has_snapshots.then(|| config.folders.home.clone()),
        set_variables: config.shell_environment.set.keys().cloned().collect(),
        shell: setup.gathered.shell.clone(),
        environment: environment(setup),
        skill_variables: SkillVariables::default(),
    }
}

/// Which tools of servers the model can call.
fn routes(facts: &Facts) -> Vec<McpRoute> {
    let route =
        |tool: &ServerTool| McpRoute { name: tool.name.clone(), server: tool.server.clone(), tool: tool.tool.clone() };
    facts.mcp_tools.iter().map(route).collect()
}

/// What the children of this session see of our environment.
fn environment(setup: &Setup) -> Variables {
    let Sources { config, env, .. } = &setup.sources;
    let network = match &setup.gathered.facts.sandbox_policy {
        SandboxPolicy::DangerFullAccess
        | SandboxPolicy::ExternalSandbox { network_access: NetworkAccess::Enabled }
        | SandboxPolicy::WorkspaceWrite { network_access: true, .. } => Network::Full,
        _ => Network::Limited,
    };
    let ours = env.variables().iter().map(|(name, value)| (name.clone(), value.clone()));
    environment::variables(&config.shell_environment, ours, setup.session_id.as_str(), network)
}
