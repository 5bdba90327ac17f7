//! Settings of tools: what the model may call, and what serves those calls.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pellucid_protocol::elicitation::ElicitationPolicy;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::WebSearchMode;

use crate::apps::AppSettings;
use crate::config::MemorySettings;
use crate::error::ConfigError;
use crate::keys::default;
use crate::keys::default::count_or_default;
use crate::keys::default::flag_or_default;
use crate::keys::default::word_or_default;
use crate::layers::Layer;
use crate::layers::Layers;
use crate::mcp::McpLoginStore;
use crate::mcp::McpLogins;
use crate::mcp::McpServer;
use crate::reader::Reader;
use crate::value::Table;
use crate::value::Value;

/// The tools that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSettings {
    /// Whether the provider's web search is offered, outside of full access.
    pub web_search: WebSearchMode,
    /// Paths of the Node program for the JavaScript tool; the first existing one is used.
    pub node_paths: Vec<PathBuf>,
    /// How many further agents may be open at once.
    pub agents_max: usize,
    /// The roles of further agents, by name.
    pub agent_roles: BTreeMap<String, AgentRoleConfig>,
    /// MCP servers by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// The settings of connected apps.
    pub apps: AppSettings,
    /// What holds for all logins to MCP servers.
    pub mcp_logins: McpLogins,
    /// How requests offer the tools of MCP servers, if the pack does not decide.
    pub mcp_tools: Option<McpOffer>,
    /// Who answers the questions of MCP servers.
    pub mcp_answers: ElicitationPolicy,
    /// Whether the client shows addresses that MCP servers want opened. Clients set it.
    pub mcp_pages: bool,
    /// The skills that the user switched on or off.
    pub skills: Vec<SkillSwitch>,
    /// Names of skills that a client switched on or off for its session.
    pub skill_names: Vec<(String, bool)>,
    /// What snapshots for undo leave out.
    pub snapshots: SnapshotSettings,
    /// How memories of sessions are made.
    pub memories: MemorySettings,
}

impl ToolSettings {
    /// The settings without web search, servers and programs, which other parts decide about.
    ///
    /// # Errors
    ///
    /// If no agent may be open.
    pub(crate) fn read(reader: &Reader<'_>, layers: &Layers) -> Result<Self, ConfigError> {
        let agents_max = count_or_default!(reader, "agents.max_threads");
        if agents_max == 0 {
            return Err(ConfigError::NoAgents);
        }
        Ok(Self {
            web_search: WebSearchMode::Cached,
            node_paths: Vec::new(),
            agents_max,
            agent_roles: agent_roles(reader),
            mcp_servers: BTreeMap::new(),
            apps: AppSettings::read(reader),
            mcp_logins: McpLogins {
                store: word_or_default!(reader, "mcp_oauth_credentials_store", McpLoginStore),
                callback_port: reader.count("mcp_oauth_callback_port"),
            },
            mcp_tools: reader.word("mcp_tools", McpOffer::from_word),
            mcp_answers: ElicitationPolicy::Ask,
            mcp_pages: false,
            skills: layers.user().map(skills).unwrap_or_default(),
            skill_names: Vec::new(),
            snapshots: SnapshotSettings::read(reader),
            memories: MemorySettings::read(reader),
        })
    }
}

/// A role of further agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRoleConfig {
    /// What agents of this role are for.
    pub description: Option<String>,
    /// The configuration file of agents of this role.
    pub config_file: Option<PathBuf>,
}

/// A skill that the user switched on or off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSwitch {
    /// The path of the skill's `SKILL.md`.
    pub path: PathBuf,
    /// Whether the skill is offered.
    pub enabled: bool,
}

/// What snapshots leave out. Zero or less means no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotSettings {
    /// Untracked files of this size or more are left out, in bytes.
    pub large_file_bytes: i64,
    /// Untracked folders with this many files or more are left out.
    pub large_folder_files: i64,
    /// Whether the warnings about files that are left out are suppressed.
    pub disable_warnings: bool,
}

impl SnapshotSettings {
    fn read(reader: &Reader<'_>) -> Self {
        Self {
            large_file_bytes: reader
                .integer("ghost_snapshot.ignore_large_untracked_files")
                .or_else(|| reader.integer("ghost_snapshot.ignore_untracked_files_over_bytes"))
                .unwrap_or(const { default::number("ghost_snapshot.ignore_large_untracked_files") as i64 }),
            large_folder_files: reader
                .integer("ghost_snapshot.ignore_large_untracked_dirs")
                .or_else(|| reader.integer("ghost_snapshot.large_untracked_dir_warning_threshold"))
                .unwrap_or(const { default::number("ghost_snapshot.ignore_large_untracked_dirs") as i64 }),
            disable_warnings: flag_or_default!(reader, "ghost_snapshot.disable_warnings"),
        }
    }
}

fn agent_roles(reader: &Reader<'_>) -> BTreeMap<String, AgentRoleConfig> {
    let entries = reader.table("agents").into_iter().flat_map(Table::iter);
    entries
        .filter_map(|entry| {
            let role = entry.value.as_table()?;
            let text = |key| role.get(key).and_then(Value::as_str);
            let description = text("description").map(str::to_owned);
            let config_file = text("config_file").map(PathBuf::from);
            Some((entry.key.clone(), AgentRoleConfig { description, config_file }))
        })
        .collect()
}

/// Only the user's file may switch skills, so that a project cannot hide one.
fn skills(layer: &Layer) -> Vec<SkillSwitch> {
    let entries = layer.table.at(["skills", "config"]).and_then(Value::as_list).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| {
            let entry = entry.as_table()?;
            Some(SkillSwitch {
                path: PathBuf::from(entry.get("path")?.as_str()?),
                enabled: entry.get("enabled")?.as_bool()?,
            })
        })
        .collect()
}
