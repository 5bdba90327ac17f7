//! What holds for the calls of a turn, from what is true of the session.

use std::collections::BTreeSet;

use pellucid_engine::facts::Facts;
use pellucid_engine::pack::ToolKind;
use pellucid_engine::tool_list;
use pellucid_engine::tool_list::Callable;
use pellucid_exec::environment;
use pellucid_exec::environment::NetworkReach;
use pellucid_exec::process::Variables;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::settings::NetworkAccess;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_tools::mcp_tool::McpRoute;
use pellucid_tools::situation::AppTool;
use pellucid_tools::situation::ChildEnvironment;
use pellucid_tools::situation::Offered;
use pellucid_tools::situation::Situation;
use pellucid_tools::situation::SkillVariables;
use pellucid_tools::situation::ToolsAtHand;

use crate::gather::FactSources;
use crate::session::Setup;

/// The situation of a turn.
pub(crate) fn situation(setup: &Setup, turn_id: &TurnId) -> Situation {
    let facts = &setup.gathered.facts;
    let config = &setup.sources.config;
    let callable = tool_list::callable(&setup.pack, facts, setup.provider.wire_api);
    let offered = callable.tools.iter().map(|tool| Offered {
        name: tool.file.name.clone(),
        is_parallel: tool.slot.parallel,
        takes_text: tool.file.kind == ToolKind::Custom,
    });
    let offered: Vec<_> = offered.collect();
    let shell_is_on = offered.iter().any(|tool| pellucid_tools::runs_commands(&tool.name));
    let has_snapshots = shell_is_on && facts.settings.features.is_on(Feature::ShellSnapshot);
    let withheld = setup.key_variables();
    Situation {
        session_id: setup.session_id.clone(),
        turn_id: turn_id.clone(),
        cwd: facts.settings.cwd.clone().into(),
        approval_policy: facts.settings.approval_policy,
        sandbox_policy: facts.settings.sandbox_policy.clone(),
        writable_roots: facts.settings.writable_roots.iter().map(Into::into).collect(),
        project_root: config.folders.project_root.clone(),
        mode: facts.settings.collaboration_mode.mode,
        sees_images: facts.settings.model.takes_images(),
        truncation: facts.settings.model.truncation_policy,
        tools: ToolsAtHand {
            offered,
            app_tools: app_tools(facts),
            mcp_tools: routes(facts, &callable),
            dynamic_tools: clients_tools(facts, &callable.given),
            only: callable.only,
            deferred: callable.deferred,
            shell_is_on,
        },
        agents: None,
        children: ChildEnvironment {
            shell: setup.gathered.shell.clone(),
            snapshots: has_snapshots.then(|| config.folders.home.clone()),
            set_variables: config.shell_environment.set.keys().cloned().collect(),
            environment: environment(setup, &withheld),
            withheld: withheld.into_iter().collect(),
            skill_variables: SkillVariables::default(),
        },
    }
}

/// Which tools of servers the model can call: those that it is offered, directly or by name.
fn routes(facts: &Facts, callable: &Callable<'_>) -> Vec<McpRoute> {
    let direct = facts.tools.mcp_tools.iter().filter(|tool| callable.given.contains(&tool.name));
    let all = direct.chain(callable.deferred.iter().map(|it| it.tool));
    all.map(McpRoute::to).collect()
}

/// Which tools of connected apps a search can find.
fn app_tools(facts: &Facts) -> Vec<AppTool> {
    let all = facts.tools.mcp_tools.iter().filter(|tool| facts.tools.apps.can_find(tool));
    all.map(AppTool::of).collect()
}

/// Which tools of the program that drives the session the model can call: those that it is offered.
fn clients_tools(facts: &Facts, offered: &[String]) -> Vec<String> {
    let names = facts.tools.dynamic_tools.iter().map(|tool| tool.name.clone());
    names.filter(|name| offered.contains(name)).collect()
}

/// What the children of this session see of our environment.
fn environment(setup: &Setup, withheld: &BTreeSet<String>) -> Variables {
    let FactSources { config, env, .. } = &setup.sources;
    let network = match &setup.gathered.facts.settings.sandbox_policy {
        SandboxPolicy::DangerFullAccess
        | SandboxPolicy::ExternalSandbox { network_access: NetworkAccess::Enabled }
        | SandboxPolicy::WorkspaceWrite { network_access: true, .. } => NetworkReach::Full,
        _ => NetworkReach::Limited,
    };
    let ours = env.variables().iter().map(|(name, value)| (name.clone(), value.clone()));
    environment::variables(&config.shell_environment, ours, withheld, setup.session_id.as_str(), network)
}
