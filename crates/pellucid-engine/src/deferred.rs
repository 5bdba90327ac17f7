//! Tools of MCP servers that a request offers by name. The model gets descriptions and schemas on demand (`find_tools`)
//! and calls such a tool through another one (`call_tool`), so the list of tools stays the same whatever it uses.
//!
//! - here: which tools are deferred, what they are called, and how they are found
//! - `list`: the names in a request, within the layout's limit
//! - `arguments`: whether arguments are what a schema wants
//!
//! Not here: the two tools' texts, which are files of the pack, and calls, which belong to `pellucid-tools`.

pub mod arguments;
mod list;

use std::collections::BTreeSet;
use std::sync::Arc;

use pellucid_protocol::mcp::APPS_SERVER;
use pellucid_protocol::settings::McpOffer;
use serde_json::Value;

pub use self::list::DeferredList;
pub use self::list::list;
use crate::bm25;
use crate::encode::to_json;
use crate::facts::Facts;
use crate::mcp::ServerTool;
use crate::mcp::plain_name;
use crate::pack::Layout;
use crate::pack::Pack;
use crate::request_name::near;
use crate::tokens::tokens_of_bytes;

/// The tool that answers with descriptions and schemas.
pub const FIND: &str = "find_tools";

/// The tool that calls a deferred tool.
pub const CALL: &str = "call_tool";

/// How many names are suggested for one that does not exist.
const NEAR_MAX: usize = 5;

/// Which tools of MCP servers are deferred.
#[derive(Debug)]
pub struct Deferral<'a> {
    facts: &'a Facts,
    /// The rule for servers that no configuration decides about.
    of_layout: McpOffer,
    can_defer: bool,
}

impl<'a> Deferral<'a> {
    /// What the layout and the configuration say. Tools that together are no larger than the layout's limit stay direct,
    /// unless the configuration defers them.
    pub fn of(pack: &Pack, facts: &'a Facts) -> Self {
        let rules = &pack.layout.given_tools;
        let is_asked_for = rules.mcp == McpOffer::Deferred || facts.tools.mcp_offers.defer_any();
        let can_defer = is_asked_for && missing_tools(&pack.layout).is_empty();
        let mut this = Self { facts, of_layout: rules.mcp, can_defer };
        if can_defer && rules.mcp == McpOffer::Deferred && !this.is_above(rules.direct_tokens) {
            this.of_layout = McpOffer::Direct;
        }
        this
    }

    /// Whether a tool is deferred. Those of connected apps are not: they have their own search.
    pub fn has(&self, tool: &ServerTool) -> bool {
        self.can_defer && tool.server != APPS_SERVER && self.given(tool).unwrap_or(self.of_layout) == McpOffer::Deferred
    }

    /// What the configuration says about a tool.
    fn given(&self, tool: &ServerTool) -> Option<McpOffer> {
        let offers = &self.facts.tools.mcp_offers;
        offers.servers.get(&tool.server).copied().or(offers.all)
    }

    /// Whether the tools that no configuration decides about have more than so many tokens.
    fn is_above(&self, tokens_max: usize) -> bool {
        let mut bytes = 0;
        let undecided = |tool: &&ServerTool| tool.server != APPS_SERVER && self.given(tool).is_none();
        self.facts.tools.mcp_tools.iter().filter(undecided).any(|tool| {
            bytes += bytes_of(tool);
            tokens_of_bytes(bytes) > tokens_max
        })
    }
}

/// How many bytes describe a tool in full.
pub(crate) fn bytes_of(tool: &ServerTool) -> usize {
    tool.name.len() + tool.description.len() + to_json(&tool.input_schema).len()
}

/// The estimated tokens of a tool with its description and schema, as its server wrote them.
pub fn tokens_of(tool: &ServerTool) -> usize {
    tokens_of_bytes(bytes_of(tool))
}

/// Whether any tool is deferred.
pub(crate) fn is_any(pack: &Pack, facts: &Facts) -> bool {
    let deferral = Deferral::of(pack, facts);
    facts.tools.mcp_tools.iter().any(|tool| deferral.has(tool))
}

/// Which of the two tools a layout does not list. Without both of them no tool is deferred.
pub fn missing_tools(layout: &Layout) -> Vec<&'static str> {
    let is_missing = |name: &&str| !layout.tools.iter().any(|tool| &*tool.file == *name);
    [FIND, CALL].into_iter().filter(is_missing).collect()
}

/// The deferred tools, by the names that the model has for them.
#[derive(Debug, Clone, Default)]
pub struct DeferredTools {
    all: Arc<[ServerTool]>,
    /// Names with the places of their tools, server by server.
    named: Vec<(String, usize)>,
}

/// A deferred tool with its name for the model.
#[derive(Debug, Clone, Copy)]
pub struct DeferredTool<'a> {
    /// The name: `SERVER/TOOL`.
    pub name: &'a str,
    /// The tool as its server describes it.
    pub tool: &'a ServerTool,
}

impl DeferredTools {
    /// The tools that are deferred now.
    pub fn of(pack: &Pack, facts: &Facts) -> Self {
        let deferral = Deferral::of(pack, facts);
        let all = facts.tools.mcp_tools.clone();
        let mut places: Vec<usize> = (0..all.len()).filter(|place| deferral.has(&all[*place])).collect();
        places.sort_by_key(|place| &all[*place].server);
        let mut taken = BTreeSet::new();
        let named = places.into_iter().map(|place| {
            let tool = &all[place];
            let short = format!("{}/{}", tool.server, plain_name(&tool.tool));
            let name = if taken.insert(short.clone()) { short } else { tool.name.clone() };
            (name, place)
        });
        let named = named.collect();
        Self { all, named }
    }

    /// Whether no tool is deferred.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// All deferred tools, server by server.
    pub fn iter(&self) -> impl Iterator<Item = DeferredTool<'_>> {
        self.named.iter().map(|(name, place)| DeferredTool { name, tool: &self.all[*place] })
    }

    /// The tool that a name means: its name here, the name under which it would be offered directly, or the server's name
    /// for it if no other server has a tool of that name.
    ///
    /// # Errors
    /// If the name means no tool or several; the names that it may mean.
    pub fn named(&self, name: &str) -> Result<DeferredTool<'_>, Vec<&str>> {
        let name = name.trim();
        let is_meant = |it: &DeferredTool<'_>| it.name == name || it.tool.name == name;
        if let Some(tool) = self.iter().find(is_meant) {
            return Ok(tool);
        }
        let of_server = |it: &DeferredTool<'_>| {
            it.tool.tool == name || name.split_once('/') == Some((it.tool.server.as_str(), it.tool.tool.as_str()))
        };
        let mut meant: Vec<DeferredTool<'_>> = self.iter().filter(of_server).collect();
        match (meant.pop(), meant.is_empty()) {
            (Some(tool), true) => Ok(tool),
            (Some(tool), false) => Err(meant.into_iter().chain([tool]).map(|it| it.name).take(NEAR_MAX).collect()),
            (None, _) => Err(self.near(name)),
        }
    }

    /// The names that are most like one that does not exist, then those of tools that have its words.
    fn near(&self, name: &str) -> Vec<&str> {
        let mut found = near(name, self.iter().map(|it| it.name), NEAR_MAX);
        let tool = name.rsplit('/').next().unwrap_or(name);
        let of_server = self.iter().filter(|it| near(tool, [it.tool.tool.as_str()], 1).len() == 1).map(|it| it.name);
        let with_words = self.search(tool, NEAR_MAX).into_iter().map(|it| it.name);
        for other in of_server.chain(with_words) {
            if !found.contains(&other) {
                found.push(other);
            }
        }
        found.truncate(NEAR_MAX);
        found
    }

    /// The tools that have words of a question, the best first.
    pub fn search(&self, question: &str, limit: usize) -> Vec<DeferredTool<'_>> {
        let texts: Vec<String> = self.iter().map(|it| bm25::apart(&text(it))).collect();
        let hits = bm25::rank(&texts, &bm25::apart(question), limit);
        hits.into_iter()
            .filter_map(|hit| self.named.get(hit.index))
            .map(|(name, place)| DeferredTool { name, tool: &self.all[*place] })
            .collect()
    }
}

/// The text that a search looks at: names, the description, and the names and descriptions of arguments.
fn text(it: DeferredTool<'_>) -> String {
    let mut words = vec![it.name, it.tool.tool.as_str(), it.tool.description.as_str()];
    if let Some(Value::Object(properties)) = it.tool.input_schema.get("properties") {
        for (name, schema) in properties {
            words.push(name);
            words.extend(schema.get("description").and_then(Value::as_str));
        }
    }
    words.join(" ")
}
