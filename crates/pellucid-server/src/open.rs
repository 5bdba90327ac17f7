//! Opens a session for a client: the configuration of its folder, with the request's settings on top.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_agent::ground::SharedParts;
use pellucid_agent::open;
use pellucid_agent::open::Opening;
use pellucid_agent::session::Session;
use pellucid_config::Config;
use pellucid_config::HarnessOverrides;
use pellucid_config::LoadOptions;
use pellucid_config::Override;
use pellucid_config::value::Data;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::event::RawItems;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;

use crate::connection::Connection;
use crate::newest::settings::mode_of_profile;
use crate::rpc::RpcError;
use crate::server::Adoption;
use crate::server::Server;
use crate::types::settings::AskForApproval;
use crate::types::settings::Personality;
use crate::types::settings::SandboxMode;

/// Every client of this server counts as an editor, so that lists show its sessions.
const CLIENT: &str = "vscode";

/// The settings of a request that differ from the configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadOverrides {
    /// The model's name in requests.
    pub model: Option<String>,
    pub model_provider: Option<String>,
    pub cwd: Option<PathBuf>,
    /// When commands and patches need approval.
    pub approval_policy: Option<AskForApproval>,
    /// What commands may touch.
    pub sandbox: Option<SandboxMode>,
    /// Any keys of the configuration, also dotted ones.
    pub config: Option<Map<String, Value>>,
    /// The base instructions that replace the pack's.
    pub base_instructions: Option<String>,
    /// A further message with the role `developer`.
    pub developer_instructions: Option<String>,
    /// The tone of the model's answers.
    pub personality: Option<Personality>,
    /// The id of a permission profile, instead of `sandbox`. Of clients of today.
    #[cfg_attr(test, schemars(skip))]
    pub permissions: Option<Value>,
}

impl ThreadOverrides {
    /// Takes over what only clients of today give.
    ///
    /// # Errors
    /// If the client wants a profile that is not there, or both a profile and a sandbox.
    pub fn of_today(&mut self, connection: &Connection) -> Result<(), RpcError> {
        if !connection.is_newest() {
            return Ok(());
        }
        match self.permissions.take() {
            None | Some(Value::Null) => {}
            Some(_) if self.sandbox.is_some() => {
                return Err(RpcError::invalid("`permissions` cannot be combined with `sandbox`"));
            }
            Some(Value::String(id)) => self.sandbox = Some(mode_of_profile(&id)?),
            Some(_) => return Err(RpcError::invalid("`permissions` must be the id of a permission profile")),
        }
        Ok(())
    }

    /// The configuration of a session.
    ///
    /// # Errors
    /// If a file or a value cannot be used.
    pub fn config(&self, server: &Server, recorded_cwd: Option<&Path>) -> Result<(Config, LoadOptions), RpcError> {
        let harness = HarnessOverrides {
            model: self.model.clone(),
            model_provider: self.model_provider.clone(),
            approval_policy: self.approval_policy,
            sandbox_mode: self.sandbox,
            base_instructions: self.base_instructions.clone(),
            developer_instructions: self.developer_instructions.clone(),
            personality: self.personality,
            ..HarnessOverrides::default()
        };
        let mut given = self.config.clone().unwrap_or_default();
        let skill_names = take_skill_names(&mut given);
        let overrides = given.iter().filter_map(|(key, value)| Some(Override::new(key, Data::of_json(value)?)));
        let cwd = self.cwd.as_deref().or(recorded_cwd);
        let config = server.ground.config(cwd, overrides.collect(), harness);
        let (mut config, options) =
            config.map_err(|error| RpcError::invalid(format!("error deriving config: {error}")))?;
        config.tools.skill_names = skill_names;
        Ok((config, options))
    }
}

/// Takes the entries of `skills.config` that switch a skill by its name, which configuration files cannot have.
fn take_skill_names(given: &mut Map<String, Value>) -> Vec<(String, bool)> {
    let mut names = Vec::new();
    let mut take = |entries: &mut Value| {
        let Some(entries) = entries.as_array_mut() else {
            return;
        };
        entries.retain(|entry| {
            let (name, is_on) = (entry["name"].as_str(), entry["enabled"].as_bool());
            match (entry.get("path").is_none_or(Value::is_null), name, is_on) {
                (true, Some(name), Some(is_on)) => {
                    names.push((name.to_owned(), is_on));
                    false
                }
                _ => true,
            }
        });
    };
    if let Some(entries) = given.get_mut("skills").and_then(|skills| skills.get_mut("config")) {
        take(entries);
    }
    if let Some(entries) = given.get_mut("skills.config") {
        take(entries);
    }
    names
}

/// What a client adds to a session.
#[derive(Debug, Default)]
pub struct Extras {
    /// The name of the client: the channel of what goes before its input.
    pub client: String,
    /// The tools that the client runs.
    pub dynamic_tools: Vec<DynamicTool>,
    /// Whether the client receives the items of the transcript as they are recorded.
    pub raw_items: RawItems,
    /// Whether the client shows addresses that MCP servers want opened.
    pub sees_pages: bool,
}

impl Extras {
    /// What every client adds.
    pub fn of(connection: &Connection) -> Self {
        let client = connection.hello().map(|hello| hello.name.clone()).unwrap_or_default();
        Self { client, sees_pages: connection.is_newest(), ..Self::default() }
    }
}

/// Opens a session.
///
/// # Errors
/// If the configuration, the administrator's rules, the pack or a session file cannot be used.
pub fn open(
    server: &Arc<Server>,
    overrides: &ThreadOverrides,
    recorded_cwd: Option<&Path>,
    extras: Extras,
    opening: Opening,
) -> Result<Session, RpcError> {
    // What commands of a killed session made at protected names is moved aside before anything is read.
    let aside = pellucid_exec::sandbox::aside::recover(&server.ground.home);
    let mut config = overrides.config(server, recorded_cwd)?;
    config.0.tools.mcp_pages = extras.sees_pages;
    let wrong = |error: &dyn std::fmt::Display| RpcError::invalid(format!("error creating thread: {error}"));
    let shared = SharedParts { shelf: &server.shelf, transport: &server.transport, identity: server.identity() };
    // Clients receive the warnings about unusable rules when they connect.
    let mut plan = server.ground.plan(config, shared, CLIENT).map_err(|error| wrong(&error))?;
    plan.crew.set_nursery(Arc::new(Adoption(Arc::downgrade(server))));
    let Extras { client, dynamic_tools, raw_items, .. } = extras;
    plan.identity = plan.identity.named(&client);
    plan.dynamic_tools = dynamic_tools;
    plan.raw_items = raw_items;
    let mut session = open::open(plan, opening).map_err(|error| wrong(&error))?;
    for aside in aside {
        session.warn_first(aside.to_string());
    }
    Ok(session)
}
