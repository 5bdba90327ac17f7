//! The tools of an assistant: known ones first in a fixed order, then others by name.

use super::Lines;
use super::with_assistant;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::source::Source;
use crate::source::SourceInput;
use crate::source::SourceKind;
use crate::source::SourceOutput;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;
use crate::tool_list as offered_tools;
use crate::utf16;

const SECTION: &str = "sections/tooling.md";
const SUMMARIES: &str = "sections/tool_summaries.md";
const NO_TOOLS: &str = "sections/tooling_fallback.md";

const LIST: &str = "{{ tool_list }}";

pub(super) const SOURCE: Source = Source {
    name: "assistant_tools",
    kind: SourceKind::Text,
    templates: &[
        (
            SECTION,
            Shape {
                trim: Trim::Newline,
                places: &[
                    TemplatePlace::must(LIST),
                    TemplatePlace::may("{{ exec }}"),
                    TemplatePlace::may("{{ process }}"),
                ],
            },
        ),
        (SUMMARIES, super::LINES),
        (NO_TOOLS, super::LINES),
    ],
    give,
};

/// Tools that come first, in this order.
const KNOWN: [&str; 24] = [
    "read",
    "write",
    "edit",
    "apply_patch",
    "grep",
    "find",
    "ls",
    "exec",
    "process",
    "web_search",
    "web_fetch",
    "browser",
    "canvas",
    "nodes",
    "cron",
    "message",
    "gateway",
    "agents_list",
    "sessions_list",
    "sessions_history",
    "sessions_send",
    "subagents",
    "session_status",
    "image",
];

/// The names of an assistant's tools as they are shown, in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolNames {
    names: Vec<String>,
    /// Descriptions of the layout's tools, by name.
    summaries: Vec<(String, String)>,
}

impl ToolNames {
    /// A name as the list spells it.
    pub(super) fn spelled(&self, name: &str) -> Option<&str> {
        self.names.iter().find(|it| it.to_lowercase() == name).map(String::as_str)
    }

    /// Whether a tool is in the list, in any spelling.
    pub(super) fn has(&self, name: &str) -> bool {
        self.spelled(name).is_some()
    }
}

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    with_assistant(ask, |_| {
        let names = tool_names(ask.pack, ask.facts);
        let spelled = |name: &'static str| vec![Fragment::fact("tools", names.spelled(name).unwrap_or(name))];
        let mut lines = Lines::default();
        lines.push(ask.pack.template(SECTION).render(&[
            (LIST, list(ask.pack, ask.facts, &names)),
            ("{{ exec }}", spelled("exec")),
            ("{{ process }}", spelled("process")),
        ]));
        lines.given()
    })
}

/// The tools of an assistant: those that it is said to have, else those that the layout offers.
pub(super) fn tool_names(pack: &Pack, facts: &Facts) -> ToolNames {
    let assistant = facts.system.assistant.as_deref();
    let (all, summaries) = match assistant.and_then(|it| it.tools.as_ref()) {
        Some(tools) => (tools.iter().map(|tool| tool.name.clone()).collect(), Vec::new()),
        None => offered(pack, facts),
    };
    let mut names: Vec<String> = Vec::new();
    for name in all.iter().map(|name| utf16::trim(name)).filter(|name| !name.is_empty()) {
        if !names.iter().any(|known| known.to_lowercase() == name.to_lowercase()) {
            names.push(name.to_owned());
        }
    }
    let rank = |name: &str| KNOWN.iter().position(|known| *known == name).unwrap_or(KNOWN.len());
    names.sort_by_cached_key(|name| {
        let lower = name.to_lowercase();
        match rank(&lower) {
            rank if rank < KNOWN.len() => (rank, Vec::new()),
            rank => (rank, utf16::units(&lower)),
        }
    });
    ToolNames { names, summaries }
}

/// The list, with what each tool is for.
fn list(pack: &Pack, facts: &Facts, ToolNames { names, summaries }: &ToolNames) -> Vec<Fragment> {
    if names.is_empty() {
        return pack.template(NO_TOOLS).text();
    }
    let assistant = facts.system.assistant.as_deref();
    let file = pack.template(SUMMARIES).file().clone();
    let own = concat(&pack.template(SUMMARIES).text());
    let own_summary = |name: &str| own.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    let said = assistant.map(|it| it.tool_summaries.as_slice()).unwrap_or_default().iter().chain(summaries);
    let said: Vec<(String, &str)> =
        said.map(|(name, summary)| (utf16::trim(name).to_lowercase(), utf16::trim(summary))).collect();
    let mut text = Vec::new();
    for (n, name) in names.iter().enumerate() {
        if n > 0 {
            text.push(Fragment::layout("\n"));
        }
        text.push(Fragment::fact("tools", format!("- {name}")));
        let lower = name.to_lowercase();
        let given = said.iter().rfind(|(known, summary)| *known == lower && !summary.is_empty());
        match (own_summary(&lower), given) {
            (Some(summary), _) => text.push(Fragment::pack(&file, format!(": {summary}"))),
            (None, Some((_, summary))) => text.push(Fragment::fact("tools", format!(": {summary}"))),
            (None, None) => {}
        }
    }
    text
}

/// The names of the tools that the layout offers, and the first line of what each is for.
fn offered(pack: &Pack, facts: &Facts) -> (Vec<String>, Vec<(String, String)>) {
    let tools = offered_tools::offered(pack, facts);
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let summary = |tool: &offered_tools::OfferedTool<'_>| {
        Some((tool.file.name.clone(), first_line(tool.file.description.as_deref()?)))
    };
    (tools.iter().map(|tool| tool.file.name.clone()).collect(), tools.iter().filter_map(summary).collect())
}

/// The lines before and after the list in the section.
pub(crate) fn delimiters(pack: &Pack) -> (String, String) {
    let written = pack.template(SECTION).written();
    let (before, after) = written.split_once(LIST).unwrap_or((&written, ""));
    let last = before.trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
    let first = after.trim_start_matches('\n').split('\n').next().unwrap_or_default();
    (last.to_owned(), first.to_owned())
}
