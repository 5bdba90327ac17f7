//! The tools that a server lists. A tool whose description cannot be used costs that tool alone.

use std::collections::BTreeSet;
use std::time::Duration;

use pellucid_protocol::mcp::McpTool;
use rmcp::RoleClient;
use rmcp::ServiceError;
use rmcp::model::ClientRequest;
use rmcp::model::CustomResult;
use rmcp::model::ListToolsRequest;
use rmcp::model::PaginatedRequestParams;
use rmcp::model::ServerResult;
use rmcp::model::Tool;
use rmcp::service::Peer;
use serde_json::Value;
use tokio::time::Instant;

use crate::client::plain;

/// How many tools of a server are read.
const TOOLS_MAX: usize = 1000;

/// How many bytes the descriptions of a server's tools may have together.
const BYTES_MAX: usize = 4 << 20;

/// How many characters of a tool's name are repeated.
const NAME_MAX: usize = 100;

/// What a server listed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    /// The tools that can be used.
    pub tools: Vec<McpTool>,
    /// The tools that cannot be used: their names, and why.
    pub left_out: Vec<(String, String)>,
    /// Why the rest of the list was not read.
    pub cut: Option<String>,
    /// How long the server says that the list stays as it is.
    pub fresh_until: Option<Instant>,
}

/// Which pages of a list are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    First,
    All,
}

/// Says why a request failed, as text for people.
pub(crate) type Why<'a> = dyn Fn(&ServiceError) -> String + Sync + 'a;

/// Asks for the tools of a server: for all pages of its list, or for the first one, as other clients of MCP servers do.
///
/// # Errors
/// Why there is no list, as text for people.
pub(crate) async fn read(server: &Peer<RoleClient>, pages: Pages, why: &Why<'_>) -> Result<Listing, String> {
    let (mut listing, mut bytes) = (Listing::default(), 0);
    let (mut cursor, mut seen) = (None, BTreeSet::new());
    loop {
        let page = page(server, cursor, why).await?;
        if let Some(ttl) = page.ttl {
            let until = Instant::now() + ttl;
            listing.fresh_until = Some(listing.fresh_until.map_or(until, |earlier: Instant| earlier.min(until)));
        }
        for (n, tool) in page.tools.into_iter().enumerate() {
            if pages == Pages::All {
                bytes += tool.bytes();
                let n_tools = listing.tools.len() + listing.left_out.len();
                if n_tools >= TOOLS_MAX || bytes > BYTES_MAX {
                    listing.cut = Some(format!(
                        "its list has more than {TOOLS_MAX} tools or {BYTES_MAX} bytes; the first {n_tools} tools are read"
                    ));
                    return Ok(listing);
                }
            }
            listing.add(n, tool);
        }
        match page.next {
            Some(next) if pages == Pages::All => {
                if !seen.insert(next.clone()) {
                    return Err("tools/list failed: the server returned the same cursor twice".to_owned());
                }
                cursor = Some(next);
            }
            _ => return Ok(listing),
        }
    }
}

/// A page of a list.
struct Page {
    tools: Vec<Listed>,
    next: Option<String>,
    ttl: Option<Duration>,
}

/// A tool of a page.
enum Listed {
    /// As the SDK reads it.
    Read(Box<Tool>),
    /// From a page that the SDK could not read as a whole.
    Raw(Value),
}

async fn page(server: &Peer<RoleClient>, cursor: Option<String>, why: &Why<'_>) -> Result<Page, String> {
    let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
    let request = ListToolsRequest { params, ..ListToolsRequest::default() };
    let answer = server.send_request(ClientRequest::ListToolsRequest(request)).await;
    let no_list = || "tools/list failed: the server's answer has no list of tools".to_owned();
    match answer.map_err(|error| format!("tools/list failed: {}", why(&error)))? {
        ServerResult::ListToolsResult(list) => Ok(Page {
            tools: list.tools.into_iter().map(|tool| Listed::Read(Box::new(tool))).collect(),
            next: list.next_cursor,
            ttl: list.ttl_ms.map(Duration::from_millis),
        }),
        // The SDK reads a page as a whole or not at all.
        ServerResult::CustomResult(CustomResult(Value::Object(mut result))) => {
            let Some(Value::Array(tools)) = result.remove("tools") else { return Err(no_list()) };
            Ok(Page {
                tools: tools.into_iter().map(Listed::Raw).collect(),
                next: result.get("nextCursor").and_then(Value::as_str).map(str::to_owned),
                ttl: result.get("ttlMs").and_then(Value::as_u64).map(Duration::from_millis),
            })
        }
        _ => Err(no_list()),
    }
}

impl Listed {
    /// The size of the tool's description.
    fn bytes(&self) -> usize {
        let bytes = match self {
            Self::Read(tool) => serde_json::to_vec(tool),
            Self::Raw(tool) => serde_json::to_vec(tool),
        };
        bytes.map_or(0, |bytes| bytes.len())
    }
}

impl Listing {
    /// Adds a tool, which has this place in its page.
    fn add(&mut self, n: usize, tool: Listed) {
        let tool = match tool {
            Listed::Read(tool) => tool,
            Listed::Raw(tool) => {
                let name = tool.get("name").and_then(Value::as_str).map(str::to_owned);
                match serde_json::from_value::<Tool>(tool) {
                    Ok(tool) => Box::new(tool),
                    Err(error) => {
                        let name = name.unwrap_or_else(|| format!("number {} of the list", n + 1));
                        return self.leave_out(&name, format!("its description cannot be read: {error}"));
                    }
                }
            }
        };
        match plain(&*tool) {
            Ok(plain) => self.tools.push(plain),
            Err(error) => self.leave_out(&tool.name, format!("its description cannot be read: {error}")),
        }
    }

    /// Whether the server has a tool of this name.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|it| it.name == tool)
    }

    fn leave_out(&mut self, name: &str, why: String) {
        self.left_out.push((name.chars().take(NAME_MAX).collect(), why));
    }

    /// How another list of the same server differs in what the model relies on; absent if it does not.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let named = |listing: &'_ Self, name: &str| listing.tools.iter().find(|tool| tool.name == name).cloned();
        let gone = self.tools.iter().filter(|tool| named(other, &tool.name).is_none()).map(|tool| &tool.name);
        let new = other.tools.iter().filter(|tool| named(self, &tool.name).is_none()).map(|tool| &tool.name);
        let changed = self
            .tools
            .iter()
            .filter(|tool| named(other, &tool.name).is_some_and(|other| other.input_schema != tool.input_schema));
        let groups = [
            ("gone", names(gone)),
            ("new", names(new)),
            ("with another schema", names(changed.map(|tool| &tool.name))),
        ];
        let said: Vec<String> =
            groups.iter().filter_map(|(what, names)| Some(format!("{what}: {}", names.as_ref()?))).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// Names in a row, the first few of many.
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a String>) -> Option<String> {
    const SHOWN: usize = 5;
    let names: Vec<String> =
        names.map(|name| format!("`{}`", name.chars().take(NAME_MAX).collect::<String>())).collect();
    if names.is_empty() {
        return None;
    }
    let shown = names[..names.len().min(SHOWN)].join(", ");
    Some(match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    })
}
