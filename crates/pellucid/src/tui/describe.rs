//! Texts that the client shows: where settings come from, which MCP servers there are.

use pellucid_config::Config;
use pellucid_config::layers::LayerSource;
use pellucid_protocol::mcp::McpServerStatus;

/// The layers of the configuration, weak ones first, with the keys that each sets.
pub fn layers(config: &Config) -> Vec<String> {
    let mut lines = Vec::new();
    for layer in config.layers().iter() {
        let source = match layer.source {
            LayerSource::System => "machine",
            LayerSource::User => "user",
            LayerSource::Project => "project",
            LayerSource::Flags => "command line",
            LayerSource::Role => "role",
            LayerSource::Managed => "administrator",
        };
        let file = layer.file.as_ref().map_or_else(String::new, |file| format!(" {}", file.display()));
        let state = layer.disabled.as_ref().map_or_else(String::new, |why| format!(" (not used: {why})"));
        lines.push(format!("{source}{file}{state}"));
        let keys: Vec<&str> = layer.table.iter().map(|entry| entry.key.as_str()).collect();
        if !keys.is_empty() {
            lines.push(format!("  sets {}", keys.join(", ")));
        }
    }
    lines
}

/// The MCP servers with their tools.
pub fn servers(servers: &[McpServerStatus]) -> Vec<String> {
    if servers.is_empty() {
        return vec!["no MCP server is configured; `pellucid mcp add` adds one".to_owned()];
    }
    let mut lines = Vec::new();
    for server in servers {
        lines.push(server.name.clone());
        let tools: Vec<&str> = server.tools.keys().map(String::as_str).collect();
        let tools = if tools.is_empty() { "no tools".to_owned() } else { tools.join(", ") };
        lines.push(format!("  tools: {tools}"));
    }
    lines
}
