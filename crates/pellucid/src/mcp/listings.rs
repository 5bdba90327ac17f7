//! `mcp tools`, `mcp prompts` and `mcp resources`: what a server has. The server is started, asked and ended.

use pellucid_agent::mcp;
use pellucid_agent::mcp::Listing;
use pellucid_agent::mcp::ListingKind;
use serde_json::Value;
use serde_json::json;

use super::NOTHING;
use super::pretty;
use super::unknown;
use crate::args::mcp::McpGetArgs;
use crate::exec;
use crate::pack::table::table;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

/// How many characters of a description a table has.
const SHOWN_MAX: usize = 80;

/// What a server has, as text or JSON.
pub fn listing(start: &Start, args: &McpGetArgs, kind: ListingKind) -> Result<String, ProgramFailure> {
    let name = &args.name;
    let server = start.config.tools.mcp_servers.get(name).ok_or_else(|| unknown(name))?;
    if !server.enabled {
        let reason = server.disabled_reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        return Err(ProgramFailure::new(format!("the MCP server '{name}' is disabled{reason}")));
    }
    let listing = exec::runtime()?.block_on(mcp::listing(&start.config, &start.env, name, kind));
    let listing = listing.map_err(ProgramFailure::new)?;
    if let Listing::Tools(_, left_out) = &listing {
        for (what, why) in left_out {
            style::line(&format!("warning: {what}: {why}"));
        }
    }
    if args.json { pretty(&as_json(&listing)) } else { Ok(as_text(name, &listing)) }
}

fn as_json(listing: &Listing) -> Value {
    match listing {
        Listing::Tools(tools, left_out) => {
            let tools = tools.iter().map(|(tool, tokens)| {
                let mut described = json!(tool);
                described["tokens"] = json!(tokens);
                described
            });
            let left_out = left_out.iter().map(|(what, why)| json!({ "what": what, "why": why }));
            json!({ "tools": tools.collect::<Vec<_>>(), "left_out": left_out.collect::<Vec<_>>() })
        }
        Listing::Prompts(prompts) => json!({ "prompts": prompts }),
        Listing::Resources(resources) => json!({ "resources": resources }),
    }
}

fn as_text(server: &str, listing: &Listing) -> String {
    let (what, heads, rows): (_, &[&str], Vec<Vec<String>>) = match listing {
        Listing::Tools(tools, _) => {
            let row = |(tool, tokens): &(_, usize)| {
                let tool: &pellucid_protocol::mcp::McpTool = tool;
                vec![tool.name.clone(), tokens.to_string(), shown(tool.description.as_deref())]
            };
            ("tools", &["Name", "Tokens", "Description"], tools.iter().map(row).collect())
        }
        Listing::Prompts(prompts) => {
            let row = |prompt: &Value| {
                let arguments = prompt["arguments"].as_array().into_iter().flatten();
                let arguments = arguments.filter_map(|argument| {
                    let name = argument["name"].as_str()?;
                    Some(if argument["required"] == true { name.to_owned() } else { format!("[{name}]") })
                });
                let arguments = arguments.collect::<Vec<_>>().join(" ");
                vec![shown(prompt["name"].as_str()), shown(Some(&arguments)), shown(prompt["description"].as_str())]
            };
            ("prompts", &["Name", "Arguments", "Description"], prompts.iter().map(row).collect())
        }
        Listing::Resources(resources) => {
            let row = |resource: &Value| ["uri", "name", "mimeType"].map(|key| shown(resource[key].as_str())).to_vec();
            ("resources", &["URI", "Name", "Type"], resources.iter().map(row).collect())
        }
    };
    if rows.is_empty() {
        return format!("The MCP server '{server}' has no {what}.");
    }
    let table = table(heads, &rows);
    let Listing::Tools(tools, _) = listing else { return table.trim_end().to_owned() };
    let tokens: usize = tools.iter().map(|(_, tokens)| tokens).sum();
    let n = tools.len();
    let s = if n == 1 { "" } else { "s" };
    format!("{}\n\n{n} tool{s}, about {tokens} tokens with their schemas", table.trim_end())
}

/// The first line of a text, shortened.
fn shown(text: Option<&str>) -> String {
    let line = text.and_then(|text| text.lines().next()).unwrap_or_default().trim();
    match line.char_indices().nth(SHOWN_MAX) {
        _ if line.is_empty() => NOTHING.to_owned(),
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
