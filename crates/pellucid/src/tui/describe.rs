//! Texts that the client shows: where settings come from, which MCP servers and connected apps there are.

use std::collections::BTreeSet;

use pellucid_config::Config;
use pellucid_config::layers::LayerSource;
use pellucid_engine::apps;
use pellucid_engine::apps::App;
use pellucid_engine::mcp;
use pellucid_protocol::mcp::APPS_SERVER;
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

/// The connected apps, with what a message names them by.
pub fn apps(servers: &[McpServerStatus], disabled: &BTreeSet<String>) -> Vec<String> {
    let offered = |server: &McpServerStatus| (server.name.clone(), server.tools.values().cloned().collect());
    let servers: Vec<_> = servers.iter().filter(|server| server.name == APPS_SERVER).map(offered).collect();
    let tools = mcp::offered(&servers);
    let apps = apps::apps(&tools);
    if apps.is_empty() {
        return vec![
            "the server of connected apps has no tools, or did not start; `/mcp` lists the servers".to_owned(),
        ];
    }
    let line = |app: &App| {
        let n_tools = tools.iter().filter(|tool| tool.app.as_ref().is_some_and(|it| it.id == app.id)).count();
        let off = if disabled.contains(&app.id) { ", switched off" } else { "" };
        let tools = if n_tools == 1 { "tool" } else { "tools" };
        format!("{}: ${} or [${}](app://{}), {n_tools} {tools}{off}", app.name, app.slug(), app.slug(), app.id)
    };
    apps.iter().map(line).collect()
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
