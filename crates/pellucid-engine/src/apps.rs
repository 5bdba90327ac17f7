//! Connected apps: which tools of their MCP server a request offers.
//!
//! One server has the tools of all apps, and each tool says which app it belongs to. A request offers the tools of the apps
//! that are in play, and those that a search found; the other tools of that server are left out. Apps are in play if a person
//! names them: `[$name](app://ID)` or `$slug`, in the messages of the conversation, or in a skill or a mention of the turn.
//!
//! Not here: the server and its answers, which arrive as values; the text about apps (`source::apps`); questions before a
//! call (`approval::app`).

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::mcp::APPS_SERVER;
use pellucid_protocol::mcp::McpTool;
use serde::Deserialize;
use serde_json::Value;

use crate::boundary;
use crate::mcp::ServerTool;
use crate::skills::Skills;
use crate::skills::mention::LinkKind;
use crate::skills::mention::Mention;
use crate::skills::mention::mentions;

/// The tool that finds the tools of apps.
pub const SEARCH: &str = "search_tool_bm25";

/// The beginning of an app's address.
const ADDRESS: &str = "app://";

/// The slug of an app whose name has no letter or digit of ASCII.
const NAMELESS_SLUG: &str = "app";

/// The app that a tool belongs to, as the tool says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolApp {
    /// The id of the app.
    pub id: String,
    /// The name of the app, if the tool has it.
    pub name: Option<String>,
}

impl ToolApp {
    /// The app of a tool; absent for other servers, and for tools that name no app.
    pub(crate) fn of(server: &str, tool: &McpTool) -> Option<Self> {
        let meta = tool.meta.as_ref().filter(|_| server == APPS_SERVER)?;
        let text = |key: &str| {
            let text = meta.get(key).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let name = text("connector_name").or_else(|| text("connector_display_name"));
        Some(Self { id: text("connector_id")?, name })
    }
}

/// An app that the tools of the server belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// The id of the app.
    pub id: String,
    /// The name of the app, or the id if no tool has a name.
    pub name: String,
}

impl App {
    /// The name as people write it behind `$`.
    pub fn slug(&self) -> String {
        slug(&self.name)
    }
}

/// A name in lower case with `-` for everything that is neither a letter nor a digit of ASCII.
pub fn slug(name: &str) -> String {
    let plain = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' };
    let slug: String = name.chars().map(plain).collect();
    let slug = slug.trim_matches('-');
    if slug.is_empty() { NAMELESS_SLUG.to_owned() } else { slug.to_owned() }
}

/// The apps of these tools, by name.
pub fn apps(tools: &[ServerTool]) -> Vec<App> {
    let mut names: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for app in tools.iter().filter_map(|tool| tool.app.as_ref()) {
        let name = names.entry(&app.id).or_default();
        *name = name.or(app.name.as_deref());
    }
    let app = |(id, name): (&str, Option<&str>)| App { id: id.to_owned(), name: name.unwrap_or(id).to_owned() };
    let mut apps: Vec<App> = names.into_iter().map(app).collect();
    apps.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    apps
}

/// The slugs of the apps of these tools. A plain mention of one does not mean a skill.
pub fn slugs(tools: &[ServerTool]) -> Vec<String> {
    apps(tools).iter().map(App::slug).collect()
}

/// The names that tools have for their apps, each once.
pub(crate) fn names(tools: &[ServerTool]) -> Vec<&str> {
    let names = tools.iter().filter_map(|tool| tool.app.as_ref()?.name.as_deref());
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// What decides which tools of apps are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppChoice {
    /// The ids of the apps that the configuration switches off.
    pub disabled: BTreeSet<String>,
    /// The ids of the apps that are in play.
    pub in_play: BTreeSet<String>,
    /// The names of the tools that searches found, in the order in which they were found.
    pub found: Vec<String>,
}

impl AppChoice {
    /// Whether a tool is offered. Tools of other servers are.
    pub fn offers(&self, tool: &ServerTool) -> bool {
        tool.server != APPS_SERVER
            || self.app(tool).is_some_and(|id| self.in_play.contains(id) || self.found.contains(&tool.name))
    }

    /// Whether a search can find a tool.
    pub fn can_find(&self, tool: &ServerTool) -> bool {
        self.app(tool).is_some()
    }

    /// The app of a tool, unless the app is switched off.
    fn app<'t>(&self, tool: &'t ServerTool) -> Option<&'t str> {
        tool.app.as_ref().map(|app| app.id.as_str()).filter(|id| !self.disabled.contains(*id))
    }
}

/// What mentions mean beside apps.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The tools of servers.
    pub tools: &'a [ServerTool],
    /// The skills: a plain mention of a name that a skill has means no app.
    pub skills: &'a Skills,
}

/// The ids of the apps that an input and the texts of its skills name. They are in play for one turn.
pub fn named(inputs: &[UserInput], skills: &[&str], known: &Known<'_>) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for input in inputs {
        match input {
            UserInput::Mention { path, .. } => ids.extend(linked(path)),
            UserInput::Text { text, .. } => ids.extend(mentions(text).iter().filter_map(linked_by)),
            _ => {}
        }
    }
    ids.extend(mentioned(skills.iter().copied(), &apps(known.tools), known.skills));
    ids
}

/// The ids of the enabled apps that a person's messages name. They are in play as long as the messages are part of the
/// conversation.
pub fn named_in_conversation(
    messages: impl Iterator<Item = Item>,
    choice: &AppChoice,
    known: &Known<'_>,
    summary_prefix: &str,
) -> BTreeSet<String> {
    let mut apps = apps(known.tools);
    apps.retain(|app| !choice.disabled.contains(&app.id));
    let summary = format!("{summary_prefix}\n");
    let said = messages.filter_map(|item| boundary::said_by_person(&item)).filter(|text| !text.starts_with(&summary));
    let said: Vec<String> = said.filter(|text| text.contains('$')).collect();
    mentioned(said.iter().map(String::as_str), &apps, known.skills)
}

/// The ids that texts link to, and those of the apps that they name. A slug that several apps have, or that is the name of
/// a skill, names no app.
fn mentioned<'t>(texts: impl Iterator<Item = &'t str>, apps: &[App], skills: &Skills) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut slugs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for app in apps {
        slugs.entry(app.slug()).or_default().push(&app.id);
    }
    slugs.retain(|slug, ids| ids.len() == 1 && !skills.enabled().any(|skill| skill.name.to_ascii_lowercase() == *slug));
    for mention in texts.flat_map(mentions) {
        match &mention.link {
            Some(_) => ids.extend(linked_by(&mention)),
            None => ids.extend(slugs.get(&mention.name.to_ascii_lowercase()).map(|ids| ids.concat())),
        }
    }
    ids
}

/// The id of the app that a mention links to.
fn linked_by(mention: &Mention<'_>) -> Option<String> {
    mention.link.as_ref().filter(|link| link.kind == LinkKind::App).and_then(|link| linked(link.path))
}

/// The id in an app's address.
fn linked(path: &str) -> Option<String> {
    path.strip_prefix(ADDRESS).filter(|id| !id.is_empty()).map(str::to_owned)
}

/// What the output of a search says of those before it too.
#[derive(Deserialize)]
struct Selection {
    active_selected_tools: Vec<String>,
}

/// The tools that the last search of a history found: what its output lists as active. Outputs of another form do not count.
#[derive(Debug, Default)]
pub struct FoundBefore {
    calls: BTreeSet<String>,
    found: Vec<String>,
}

impl FoundBefore {
    /// Looks at the next item of the history.
    pub fn look_at(&mut self, item: &Item) {
        match item {
            Item::FunctionCall { name, call_id, .. } if name == SEARCH => {
                self.calls.insert(call_id.clone());
            }
            Item::FunctionCallOutput { call_id, output: ToolOutput::Text(text) } if self.calls.contains(call_id) => {
                if let Ok(Selection { active_selected_tools }) = serde_json::from_str(text) {
                    self.found = active_selected_tools;
                }
            }
            _ => {}
        }
    }

    /// The names of the tools, in the order in which they were found.
    pub fn into_names(self) -> Vec<String> {
        self.found
    }
}

#[cfg(test)]
mod tests;
