//! What the tools of each MCP server take up in a request: every tool that is described, and the list of those that are
//! offered by name.

use std::collections::BTreeMap;

use pellucid_engine::deferred::FIND;
use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::tool_list::MCP_SERVERS;
use serde::Serialize;

/// The share of a server in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct McpShare {
    /// The name of the server.
    pub server: String,
    /// The bytes of all its tools.
    pub bytes: usize,
    /// The tokens of all its tools.
    pub tokens: usize,
    /// The tools that the request describes.
    pub tools: Vec<McpToolShare>,
    /// The tokens of the list with the names of its other tools; absent without such a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_tokens: Option<usize>,
}

/// The share of a tool in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct McpToolShare {
    /// The name for the model.
    pub name: String,
    /// The bytes of the tool, with the notation around it.
    pub bytes: usize,
    /// The tokens of the tool.
    pub tokens: usize,
}

/// The shares of all servers that have something in a request, by name.
pub fn mcp_shares(report: &Report) -> Vec<McpShare> {
    let mut shares: BTreeMap<&str, McpShare> = BTreeMap::new();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for row in &report.rows {
        if let (Some(tool), Some(server)) = (tool_of(row), server_of(row)) {
            let share = shares.entry(server).or_default();
            server.clone_into(&mut share.server);
            if tool == FIND {
                share.bytes += row.bytes;
                share.tokens += row.tokens;
                *share.list_tokens.get_or_insert_default() += row.tokens;
            } else {
                owners.insert(tool, server);
            }
        }
    }
    for row in &report.rows {
        let Some(tool) = tool_of(row) else { continue };
        let Some(share) = owners.get(tool).and_then(|server| shares.get_mut(server)) else { continue };
        share.bytes += row.bytes;
        share.tokens += row.tokens;
        match share.tools.iter_mut().find(|it| it.name == tool) {
            Some(known) => {
                known.bytes += row.bytes;
                known.tokens += row.tokens;
            }
            None => {
                share.tools.push(McpToolShare { name: tool.to_owned(), bytes: row.bytes, tokens: row.tokens });
            }
        }
    }
    shares.into_values().collect()
}

/// The tool that a row belongs to.
fn tool_of(row: &Row) -> Option<&str> {
    row.part.strip_prefix("tools/")
}

/// The MCP server that described what is in a row.
fn server_of(row: &Row) -> Option<&str> {
    match row.origin.claim() {
        Origin::Provided { place } => place.strip_prefix(MCP_SERVERS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn tools_and_lists_are_added_up_by_server() {
        let of = |server: &str| Origin::Provided { place: format!("mcp_servers.{server}").into() };
        let rows = [
            ("tools/find_tools", Origin::Wire, 100),
            ("tools/find_tools", of("yard"), 40),
            ("tools/mcp__depot__echo", Origin::Wire, 10),
            ("tools/mcp__depot__echo", of("depot"), 30),
            ("tools/view_image", Origin::Wire, 50),
            ("tools/mcp__depot__count", of("depot"), 20),
        ];
        let row = |(part, origin, bytes): (&str, Origin, usize)| Row {
            part: Arc::from(part),
            item: None,
            role: None,
            origin,
            start: 0,
            bytes,
            raw_bytes: bytes,
            tokens: bytes / 10,
        };
        let report = Report { rows: rows.map(row).to_vec(), ..Report::default() };
        let shares = mcp_shares(&report);
        let tool = |name: &str, bytes: usize| McpToolShare { name: name.to_owned(), bytes, tokens: bytes / 10 };
        let depot = McpShare {
            server: "depot".to_owned(),
            bytes: 60,
            tokens: 6,
            tools: vec![tool("mcp__depot__echo", 40), tool("mcp__depot__count", 20)],
            list_tokens: None,
        };
        let yard =
            McpShare { server: "yard".to_owned(), bytes: 40, tokens: 4, tools: Vec::new(), list_tokens: Some(4) };
        assert_eq!(shares, [depot, yard]);
    }
}
