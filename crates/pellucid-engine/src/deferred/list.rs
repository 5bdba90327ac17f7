//! The names of deferred tools in a request: as much of what they do as fits the layout's limit, then the names alone,
//! then as many names as fit, some of every server.

use std::collections::BTreeMap;

use super::DeferredTool;
use super::DeferredTools;
use super::FIND;
use super::bytes_of;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::pack::Pack;
use crate::tokens::BYTES_PER_TOKEN;
use crate::tool_list::MCP_SERVERS;
use crate::tool_list::part;

/// How many characters of what a tool does are shown, from the longest to none.
const PURPOSES: [usize; 3] = [90, 45, 0];

/// The list of deferred tools in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeferredList {
    /// The text of the list.
    pub fragments: Vec<Fragment>,
    /// What the request does not have of these tools.
    pub omissions: Vec<Omission>,
}

/// Tools of one server.
type OfServer<'a> = (&'a str, Vec<DeferredTool<'a>>);

/// The list of the tools that are deferred now.
pub fn list(pack: &Pack, facts: &Facts) -> DeferredList {
    let tools = DeferredTools::of(pack, facts);
    if tools.is_empty() {
        return DeferredList::default();
    }
    let mut servers: BTreeMap<&str, Vec<DeferredTool<'_>>> = BTreeMap::new();
    for it in tools.iter() {
        servers.entry(&it.tool.server).or_default().push(it);
    }
    let servers: Vec<OfServer<'_>> = servers.into_iter().collect();
    let tokens_max = pack.layout.given_tools.list_tokens;
    let bytes_max = tokens_max.saturating_mul(BYTES_PER_TOKEN);
    let whole: Vec<usize> = servers.iter().map(|(_, tools)| tools.len()).collect();
    let size = |purpose: usize| -> usize {
        servers.iter().map(|(server, tools)| text(server, tools, tools.len(), purpose).len()).sum()
    };
    let purpose = PURPOSES.into_iter().find(|purpose| size(*purpose) <= bytes_max);
    let shown = if purpose.is_some() { whole } else { fair(&servers, bytes_max) };
    let purpose = purpose.unwrap_or_default();
    let mut list = DeferredList::default();
    for ((server, tools), n_shown) in servers.iter().zip(&shown) {
        let place = format!("{MCP_SERVERS}{server}");
        list.fragments.push(Fragment::provided(&place, text(server, tools, *n_shown, purpose)));
        let limit = format!("the list of names has at most {tokens_max} tokens (`list_tokens`)");
        let unlisted = tools[*n_shown..].iter().map(|it| Omission {
            slot: part(),
            what: it.tool.name.clone(),
            why: Why::ByPack { reason: format!("{limit}; `{FIND}` finds the tool") },
        });
        list.omissions.extend(unlisted);
        if purpose == 0 {
            list.omissions.push(Omission {
                slot: part(),
                what: format!("what the tools do of the MCP server {server}"),
                why: Why::ByPack { reason: format!("{limit}; `{FIND}` answers with it") },
            });
        }
        let bytes: usize = tools.iter().map(|it| bytes_of(it.tool)).sum();
        let n_tools = match tools.len() {
            1 => "1 tool is".to_owned(),
            n => format!("{n} tools are"),
        };
        list.omissions.push(Omission {
            slot: part(),
            what: format!("the schemas of the MCP server {server}"),
            why: Why::ByPack {
                reason: format!("{n_tools} offered by name; `{FIND}` answers with {bytes} bytes of them"),
            },
        });
    }
    list
}

/// The lines of a server: its name, its tools with what they do, and how many are not listed.
fn text(server: &str, tools: &[DeferredTool<'_>], n_shown: usize, purpose_max: usize) -> String {
    let mut lines = format!("{server}:");
    for it in &tools[..n_shown] {
        let own = it.name.strip_prefix(server).and_then(|rest| rest.strip_prefix('/')).unwrap_or(it.name);
        let purpose = purpose(&it.tool.description, purpose_max);
        let colon = if purpose.is_empty() { "" } else { ": " };
        lines += &format!("\n- {own}{colon}{purpose}");
    }
    if n_shown < tools.len() {
        lines += &format!("\n{server}: {} more", tools.len() - n_shown);
    }
    lines + "\n"
}

/// How many names of each server fit: one of every server in turn, as long as there is room.
fn fair(servers: &[OfServer<'_>], bytes_max: usize) -> Vec<usize> {
    let mut shown = vec![0; servers.len()];
    let mut used: usize = servers.iter().map(|(server, tools)| text(server, tools, 0, 0).len()).sum();
    let longest = servers.iter().map(|(_, tools)| tools.len()).max().unwrap_or_default();
    for n in 0..longest {
        for (place, (server, tools)) in servers.iter().enumerate() {
            if n < tools.len() && shown[place] == n {
                let (before, after) = (text(server, tools, n, 0).len(), text(server, tools, n + 1, 0).len());
                if used - before + after <= bytes_max {
                    used = used - before + after;
                    shown[place] = n + 1;
                }
            }
        }
    }
    shown
}

/// What a tool does, in one line: the first sentence of its description, as far as it fits.
fn purpose(description: &str, chars_max: usize) -> String {
    let line = description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let end = line.find(". ").unwrap_or(line.len());
    let words: Vec<&str> = line[..end].trim_end_matches('.').split_whitespace().collect();
    let text: String = words.join(" ").chars().filter(|it| !it.is_control()).collect();
    match (chars_max, text.char_indices().nth(chars_max)) {
        (0, _) => String::new(),
        (_, None) => text,
        (_, Some((end, _))) => {
            let kept = &text[..end];
            let whole = kept.rsplit_once(' ').map_or(kept, |(words, _)| words);
            format!("{whole}…")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_purpose(description: &str, chars_max: usize, expected: &str) {
        assert_eq!(purpose(description, chars_max), expected, "{description:?}");
    }

    #[test]
    fn a_purpose_is_one_short_line() {
        check_purpose("Reads a file. Fails on folders.", 90, "Reads a file");
        check_purpose("\n  Reads\ta   file.\nMore about it.", 90, "Reads a file");
        check_purpose("Reads a file of the project", 15, "Reads a file…");
        check_purpose("Liest größere Übersichten", 14, "Liest größere…");
        check_purpose("Überlang", 4, "Über…");
        check_purpose("Reads a file.", 0, "");
        check_purpose("", 90, "");
        check_purpose("Says\u{1b}[31m v1.2 of it.", 90, "Says[31m v1.2 of it");
    }
}
