//! From the arguments of a tool to a session: the configuration of its folder, with the arguments on top.

use std::path::PathBuf;
use std::sync::Arc;

use pellucid_agent::crew::Nursery;
use pellucid_agent::ground::SharedParts;
use pellucid_agent::identity::ClientIdentity;
use pellucid_agent::open;
use pellucid_agent::open::Opening;
use pellucid_agent::session::Session;
use pellucid_config::HarnessOverrides;
use pellucid_config::Override;
use pellucid_config::value::Data;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxMode;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;

use crate::server::ToolServer;

/// The name of this client in session files.
pub const CLIENT: &str = "mcp";

/// What a session is asked to be.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AskedSettings {
    pub model: Option<String>,
    pub profile: Option<String>,
    /// The working directory; a relative one starts at the server's.
    pub cwd: Option<PathBuf>,
    pub approval_policy: Option<ApprovalPolicy>,
    pub sandbox: Option<SandboxMode>,
    /// Any keys of the configuration, also dotted ones.
    pub config: Option<Map<String, Value>>,
    pub base_instructions: Option<String>,
    pub developer_instructions: Option<String>,
    pub compact_prompt: Option<String>,
}

/// Why there is no session.
#[derive(Debug, PartialEq, Eq)]
pub enum OpenFailure {
    /// The configuration cannot be used.
    Config(String),
    /// The rest cannot be used.
    Session(String),
}

/// Opens a session. It blocks while files are read.
pub fn open(
    server: &ToolServer,
    settings: AskedSettings,
    identity: Option<&ClientIdentity>,
    raw_items: RawItems,
    opening: Opening,
    nursery: Arc<dyn Nursery>,
) -> Result<Session, OpenFailure> {
    // What commands of a killed session made at protected names is moved aside before anything is read.
    let aside = pellucid_exec::sandbox::aside::recover(&server.ground.home);
    let overrides = settings.config.iter().flatten();
    let overrides = overrides.filter_map(|(key, value)| Some(Override::new(key, Data::of_json(value)?)));
    let harness = HarnessOverrides {
        model: settings.model,
        profile: settings.profile,
        approval_policy: settings.approval_policy,
        sandbox_mode: settings.sandbox,
        base_instructions: settings.base_instructions,
        developer_instructions: settings.developer_instructions,
        compact_prompt: settings.compact_prompt,
        ..HarnessOverrides::default()
    };
    let config = server.ground.config(settings.cwd.as_deref(), overrides.collect(), harness);
    let config = config.map_err(|error| OpenFailure::Config(error.report()))?;
    let failed = |error: &dyn std::fmt::Display| OpenFailure::Session(error.to_string());
    let shared = SharedParts { shelf: &server.shelf, transport: &server.transport, identity };
    let mut plan = server.ground.plan(config, shared, CLIENT).map_err(|error| failed(&error))?;
    plan.crew.set_nursery(nursery);
    plan.raw_items = raw_items;
    let mut session = open::open(plan, opening).map_err(|error| failed(&error))?;
    for aside in aside {
        session.warn_first(aside.to_string());
    }
    Ok(session)
}
