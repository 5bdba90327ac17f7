//! The settings that hold for all calls of a turn.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_engine::deferred::DeferredTools;
use pellucid_engine::mcp::ServerTool;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::TruncationPolicy;
use serde::Serialize;
use serde_json::Value;

use crate::Tool;
use crate::When;
use crate::agents::Agents;
use crate::mcp_tool::McpRoute;

/// The settings that hold for all calls of a turn.
#[derive(Debug, Clone)]
pub struct Situation {
    /// The id of the session.
    pub session_id: SessionId,
    /// The id of the turn.
    pub turn_id: TurnId,
    /// The folder that relative paths start at.
    pub cwd: PathBuf,
    /// When a person is asked.
    pub approval_policy: ApprovalPolicy,
    /// What commands may read and write.
    pub sandbox_policy: SandboxPolicy,
    /// The folders that commands may write in.
    pub writable_roots: Vec<PathBuf>,
    /// The project's top folder.
    pub project_root: PathBuf,
    /// The way of working together.
    pub mode: CollaborationModeKind,
    /// Whether the model accepts images.
    pub sees_images: bool,
    /// How outputs are cut.
    pub truncation: TruncationPolicy,
    /// What can be called.
    pub tools: ToolsAtHand,
    /// The agents that the session started, if it may have some.
    pub agents: Option<Arc<dyn Agents>>,
    /// What commands are started with.
    pub children: ChildEnvironment,
}

/// What can be called in a turn, and by whom.
#[derive(Debug, Clone, Default)]
pub struct ToolsAtHand {
    /// The tools that the model was offered, those included that it can only reach through others.
    pub offered: Vec<Offered>,
    /// The only tools that the model itself may call, if it may not call all.
    pub only: Option<Vec<String>>,
    /// The names of the tools that the program which drives the session runs itself.
    pub dynamic_tools: Vec<String>,
    /// The tools of MCP servers, those included that are offered by name.
    pub mcp_tools: Vec<McpRoute>,
    /// The tools of MCP servers that are offered by name.
    pub deferred: DeferredTools,
    /// The tools of connected apps, which are offered when a search finds them.
    pub app_tools: Vec<AppTool>,
    /// Whether a tool that runs commands is offered.
    pub shell_is_on: bool,
}

/// What the commands of a turn are started with: the shell and the environment.
#[derive(Debug, Clone, Default)]
pub struct ChildEnvironment {
    /// The path of the user's shell.
    pub shell: PathBuf,
    /// The home folder, if snapshots of the login shell may be kept there.
    pub snapshots: Option<PathBuf>,
    /// Variables that the configuration sets for children, whatever a login shell says.
    pub set_variables: Vec<String>,
    /// Variables with keys of ours: no command has them, even if the person's login shell sets them.
    pub withheld: Vec<String>,
    /// The environment variables of child processes.
    pub environment: BTreeMap<OsString, OsString>,
    /// Further variables for commands of the tools `shell` and `shell_command`.
    pub skill_variables: SkillVariables,
}

/// Variables that skills need, whose values are secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SkillVariables(pub BTreeMap<String, String>);

impl std::fmt::Debug for SkillVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A tool that the model was offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The name for the model.
    pub name: String,
    /// Whether calls of the tool may run in parallel with others.
    pub is_parallel: bool,
    /// Whether it is called with raw text, not with arguments.
    pub takes_text: bool,
}

/// A tool of a connected app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AppTool {
    /// The name among all tools.
    pub name: String,
    /// The name at its server.
    #[serde(skip)]
    pub tool: String,
    /// The name of the server.
    pub server: String,
    /// The name for people.
    pub title: Option<String>,
    /// The description of the tool.
    pub description: Option<String>,
    /// The name of the app.
    pub connector_name: Option<String>,
    /// The names of what it takes.
    pub input_keys: Vec<String>,
}

impl AppTool {
    /// A tool that a search can find.
    pub fn of(tool: &ServerTool) -> Self {
        let properties = tool.input_schema.get("properties").and_then(Value::as_object);
        Self {
            name: tool.name.clone(),
            tool: tool.tool.clone(),
            server: tool.server.clone(),
            title: tool.title.clone(),
            description: Some(tool.description.clone()).filter(|text| !text.is_empty()),
            connector_name: tool.app.as_ref().and_then(|app| app.name.clone()),
            input_keys: properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default(),
        }
    }

    /// The text that a search looks at.
    pub(crate) fn text(&self) -> String {
        let given = [&self.title, &self.description, &self.connector_name].into_iter().flatten();
        let given = given.filter(|text| !text.trim().is_empty());
        let words = [&self.name, &self.tool, &self.server].into_iter().chain(given).chain(&self.input_keys);
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

impl Situation {
    /// A folder that the model names, or the working one.
    pub(crate) fn folder(&self, named: Option<&str>) -> PathBuf {
        named.filter(|name| !name.is_empty()).map_or_else(|| self.cwd.clone(), |name| self.cwd.join(name))
    }

    /// Whether a tool can be called.
    pub(crate) fn has(&self, tool: &Tool) -> bool {
        match tool.when {
            When::Offered => self.tools.offered.iter().any(|offered| offered.name == tool.name),
            When::ShellIsOn => self.tools.shell_is_on,
        }
    }
}
