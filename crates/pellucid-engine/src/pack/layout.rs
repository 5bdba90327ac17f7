//! The layout of a pack: `pack.toml` as values.
//!
//! Not here: how the file is read (`layout_file`), and what is refused in it (`layout_check`).

use std::collections::BTreeMap;
use std::sync::Arc;

use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::McpSchemas;
use pellucid_protocol::settings::McpStart;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use pellucid_script::Program;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;

use super::SlotRole;
use crate::bootstrap::FileSetLayout;
use crate::gate::Gate;
use crate::injection::SourceTexts;
use crate::memory::layout::MemoryLayout;
use crate::prompt_sizes::ReportLayout;
use crate::reinject::layout::ReinjectLayout;
use crate::source;
use crate::update::Update;
use crate::window::settings::WindowKeys;

/// How the first context is laid out, and which tools are offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The name of the pack.
    pub name: String,
    /// The slots, in order.
    pub slots: Vec<Slot>,
    /// The tools, in order.
    pub tools: Vec<ToolSlot>,
    /// When the list of tools shrinks to a few.
    pub tools_only: Option<ToolsOnly>,
    /// The messages about changed settings between turns, in order.
    pub updates: Vec<&'static Update>,
    /// The rules for skills.
    pub skills: SkillRules,
    /// The rules for tools that MCP servers and clients describe.
    pub given_tools: GivenToolRules,
    /// Texts for particular models.
    pub models: Vec<ModelTexts>,
    /// Texts that are said again in long conversations.
    pub reinject: Option<ReinjectLayout>,
    /// How what does not fit the window is remembered.
    pub memory: Option<MemoryLayout>,
    /// The rules for the instructions.
    pub instructions: InstructionRules,
    /// The files that an assistant begins with, if it does.
    pub bootstrap: Option<FileSetLayout>,
    /// Values by name that templates and conditions look at, if nothing else is given for them.
    pub facts: Map<String, Value>,
    /// Values that the layout computes, by name.
    pub values: BTreeMap<String, Program>,
    /// Sources of injected items, in order.
    pub injections: Vec<Value>,
    /// What sources say unless their options say something else.
    pub source_texts: SourceTexts,
    /// Sections beside those of injected items.
    pub sections: Vec<Section>,
    /// The rules for a long history.
    pub compaction: CompactionRules,
    /// How instruction files are used.
    pub project_docs: ProjectDocs,
}

/// `[instructions]`: the rules for the instructions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstructionRules {
    /// The text between two slots.
    pub join: String,
    /// The condition under which a session uses less of the layout, and sees fewer of the files that it begins with.
    pub minimal_if: Option<Program>,
    /// Which parts of a prompt the report of sizes measures.
    pub report: Option<ReportLayout>,
}

impl Layout {
    /// Whether a slot has a place within the history.
    pub fn has_depth(&self) -> bool {
        self.slots.iter().any(|slot| slot.depth.is_some())
    }
}

/// The rules for a long history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactionRules {
    /// How the history is made shorter.
    pub strategy: CompactionStrategy,
    /// What is set for the window, for the strategy that drops turns.
    pub window: WindowKeys,
    /// The replacement when no summary comes; absent means that the turn ends.
    pub fallback: Option<SummaryFallback>,
    /// How many of the last turns stay word for word.
    pub keep_turns: usize,
    /// By how many percent a summary must make a history smaller.
    pub saving_min: Option<u8>,
    /// How often a summary is asked for that does not fit. Without it, one item less is shown each time.
    pub overflow_calls_max: Option<usize>,
    /// Which items the summarising model is shown; absent means all.
    pub input: Option<SummaryInput>,
    /// How a summary accounts for requests; absent means as it likes.
    pub requests: Option<SummaryRequests>,
    /// Whether the texts of used skills stay.
    pub keep_skills: bool,
}

impl CompactionRules {
    /// Whether a summary that fails must leave no trace.
    pub fn is_checked(&self) -> bool {
        self.fallback == Some(SummaryFallback::Local) || self.requests == Some(SummaryRequests::Marked)
    }
}

/// A section of the system prompt beside those of injected items.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The text or the template of the section.
    pub file: String,
    /// The position among the sections.
    pub order: i64,
    /// Whether items of the same order come first.
    pub after_items: bool,
    /// The conditions of the section; all must hold.
    pub gates: Vec<Gate>,
    /// The text between two recalled texts, where a plain text has a place for them.
    pub join: String,
}

impl Section {
    /// The place for recalled texts in a plain text. Without such texts a section with the place is absent.
    pub const RECALLED: &str = "{{ recalled }}";
}

/// How a long history is made shorter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStrategy {
    /// A summary and the user's messages replace the history.
    #[default]
    Summarise,
    /// The oldest turns are removed, and a running summary replaces them.
    Window,
}

/// A place in the layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// The name of the slot in reports.
    pub id: Arc<str>,
    /// The role by which the program finds the slot, if it needs to.
    pub role: Option<SlotRole>,
    /// The part of the request that the slot belongs to.
    pub target: SlotTarget,
    /// The conditions of the slot; all must hold.
    pub gates: Vec<Gate>,
    /// A template around it.
    pub template: Option<String>,
    /// The parts that the slot is made of.
    pub parts: Vec<SlotPart>,
    /// How much of its parts together is used, inside of the template.
    pub budget: Option<SourceBudget>,
    /// After how many turns its message is said again.
    pub again_turns: Option<u64>,
    /// The place of its message within the history; absent for a text before the history.
    pub depth: Option<Depth>,
}

/// A place within the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// The number of messages between that end and the place.
    pub messages: usize,
    /// The end of the history that messages are counted from.
    pub from: HistoryEnd,
}

/// The end of the history that a depth is counted from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryEnd {
    /// The first message of the conversation.
    Start,
    /// The last message of the conversation.
    #[default]
    End,
}

/// The part of the request that a slot belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotTarget {
    /// The request's own field for instructions.
    Instructions,
    /// A message of role `developer`.
    Developer,
    /// A message of role `user`.
    User,
    /// Separate messages, each with its role.
    Messages,
}

/// One source of a slot, with its conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotPart {
    /// The source of the text.
    pub source: &'static source::Source,
    /// The conditions under which the part is used; all must hold.
    pub gates: Vec<Gate>,
    /// The text before the part, if the slot has text already.
    pub before: String,
    /// The limit of the part, if it has one.
    pub budget: Option<SourceBudget>,
    /// The file of the pack that it is, for the source `pack_file`.
    pub file: Option<String>,
}

impl SlotPart {
    /// The name of the part in omissions.
    pub(crate) fn name(&self) -> &str {
        self.file.as_deref().unwrap_or(self.source.name)
    }
}

/// How much of a source is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceBudget {
    /// The limit, in bytes.
    pub bytes: usize,
    /// Which bytes are kept.
    pub keep: BudgetKeep,
}

/// Which bytes a budget keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetKeep {
    /// The first bytes are kept.
    Head,
}

/// A tool that is offered when its gates are open.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSlot {
    /// The name of the file in `tools/`, without the extension.
    pub file: Arc<str>,
    /// The conditions of the offer; all must hold.
    pub gates: Vec<Gate>,
    /// Whether calls of the tool may run in parallel with others.
    pub parallel: bool,
}

/// A gate that leaves only some tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolsOnly {
    /// The conditions; all must hold.
    pub gates: Vec<Gate>,
    /// The names of the tools that are kept.
    pub tools: Vec<Arc<str>>,
}

/// The rules for tools that MCP servers and clients describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenToolRules {
    /// The form of these tools in requests.
    pub form: GivenToolForm,
    /// How tools of MCP servers are offered.
    pub mcp: McpOffer,
    /// Tools of MCP servers with at most so many tokens together are offered directly all the same.
    pub direct_tokens: usize,
    /// The maximum tokens of the list of deferred tools.
    pub list_tokens: usize,
    /// How the schemas of tools of MCP servers are written.
    pub schemas: McpSchemas,
    /// Whether the first request waits for MCP servers that have no rule in the configuration.
    pub start: McpStart,
    /// Whether a session follows its MCP servers: it reads all pages of their lists, reads lists that change again, hears
    /// of resources that change, and says which folders it works in.
    pub follow: bool,
}

/// The maximum tokens of the list of deferred tools in a layout that does not say it.
const LIST_TOKENS: usize = 2000;

impl Default for GivenToolRules {
    fn default() -> Self {
        Self {
            form: GivenToolForm::default(),
            mcp: McpOffer::Direct,
            direct_tokens: 0,
            list_tokens: LIST_TOKENS,
            schemas: McpSchemas::Reduced,
            start: McpStart::Wait,
            follow: false,
        }
    }
}

/// How tools that others describe are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenToolForm {
    /// Tools of servers sorted by name, tools of clients in the given order; required names in the given order.
    #[default]
    AsGiven,
    /// All in an order that does not depend on who gives them.
    Canonical,
}

/// The rules for skills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkillRules {
    /// The rule for skills of the same name.
    pub same_name: SameName,
}

/// The rule for skills of the same name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SameName {
    /// All are listed, and the name alone means none of them.
    #[default]
    All,
    /// The first is listed and meant: the project's before the user's before the program's own.
    First,
}

/// Base instructions for particular models.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTexts {
    /// The models, by the beginning of their names.
    pub slugs: Vec<String>,
    /// Files joined by an empty line; `{{ personality }}` in them, or in place of a file, is replaced by the tone.
    pub template: Vec<String>,
    /// The tone when the user chose none.
    pub default: String,
    /// The text of tone `friendly`.
    pub friendly: String,
    /// The tone that is to the point.
    pub pragmatic: String,
}

impl ModelTexts {
    /// The placeholder for the tone. Other spacings are ordinary text.
    pub const TONE: &str = "{{ personality }}";

    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        let tones = [&self.default, &self.friendly, &self.pragmatic];
        self.template.iter().filter(|file| *file != Self::TONE).chain(tones).map(String::as_str)
    }

    pub(super) fn longest_prefix(&self, slug: &str) -> Option<usize> {
        self.slugs.iter().filter(|prefix| slug.starts_with(prefix.as_str())).map(String::len).max()
    }
}
