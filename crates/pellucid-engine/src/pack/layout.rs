//! The layout of a pack: `pack.toml` as values.
//!
//! Not here: how the file is read (`layout_file`), and what is refused in it (`layout_check`).

use std::sync::Arc;

use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use serde::Deserialize;
use serde_json::Value;

use super::SlotRole;
use crate::gate::Gate;
use crate::memory::layout::MemoryLayout;
use crate::reinject::layout::ReinjectLayout;
use crate::source;
use crate::update::Update;

/// How the first context is laid out, and which tools are offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The pack's name.
    pub name: String,
    /// The slots, in order.
    pub slots: Vec<Slot>,
    /// The tools, in order.
    pub tools: Vec<ToolSlot>,
    /// When the list of tools shrinks to a few.
    pub tools_only: Option<ToolsOnly>,
    /// What is told of changes between turns, in order.
    pub updates: Vec<&'static Update>,
    /// What is done with skills.
    pub skills: SkillRules,
    /// What is done with tools that others describe.
    pub given_tools: GivenToolRules,
    /// Texts for particular models.
    pub models: Vec<ModelTexts>,
    /// Texts that are said again in long conversations.
    pub reinject: Option<ReinjectLayout>,
    /// How what does not fit the window is remembered.
    pub memory: Option<MemoryLayout>,
    /// What stands between two slots of the instructions.
    pub join: String,
    /// The files that an assistant begins with, if it does.
    pub bootstrap: Option<BootstrapBudget>,
    /// Sources of injected items, in order.
    pub injections: Vec<Value>,
    /// What happens to a long history.
    pub compaction: CompactionRules,
    /// How instruction files are used.
    pub project_docs: ProjectDocs,
}

/// How much of the bootstrap files is used, in UTF-16 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootstrapBudget {
    /// Of one file.
    pub max_chars: usize,
    /// Of all.
    pub total_max_chars: usize,
}

/// What happens to a long history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactionRules {
    /// How it is made shorter.
    pub strategy: Strategy,
    /// How many tokens of the window are kept free for the answer.
    pub reserved_output_tokens: i64,
    /// How many tokens a summary of dropped turns has at most.
    pub summary_max_output_tokens: Option<i64>,
    /// What happens when no summary comes; absent means that the turn ends.
    pub fallback: Option<SummaryFallback>,
    /// How many of the last turns stay word for word.
    pub keep_turns: usize,
    /// By how many percent a summary must make a history smaller.
    pub saving_min: Option<u8>,
    /// How often a summary is asked for that does not fit. Without it, one item less is shown each time.
    pub overflow_calls_max: Option<usize>,
    /// What the summarising model is shown; absent means all.
    pub input: Option<SummaryInput>,
    /// How a summary accounts for requests; absent means as it likes.
    pub requests: Option<SummaryRequests>,
}

impl CompactionRules {
    /// Whether a summary that fails must leave no trace.
    pub fn is_checked(&self) -> bool {
        self.fallback == Some(SummaryFallback::Local) || self.requests == Some(SummaryRequests::Marked)
    }
}

/// How a long history is made shorter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// A summary and what people said stand for all of it.
    #[default]
    Summarise,
    /// The oldest turns go, and a running summary stands for them.
    Window,
}

/// A place in the layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// Its name in reports.
    pub id: Arc<str>,
    /// What the program does with it, if anything.
    pub role: Option<SlotRole>,
    /// Where it goes.
    pub target: Target,
    /// When it is there at all.
    pub gates: Vec<Gate>,
    /// A template around it.
    pub template: Option<String>,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// How much of its parts together is used, inside of the template.
    pub budget: Option<Budget>,
    /// After how many turns its message is said again.
    pub again_turns: Option<u64>,
}

/// Where a slot goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The request's own field for instructions.
    Instructions,
    /// A message of role `developer`.
    Developer,
    /// A message of role `user`.
    User,
    /// Messages of their own, each with its role.
    Messages,
}

/// What a slot is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Who gives the text.
    pub source: &'static source::Source,
    /// When.
    pub gates: Vec<Gate>,
    /// What comes before it, if something stands there already.
    pub before: String,
    /// How much of it is used.
    pub budget: Option<Budget>,
    /// The file of the pack that it is, for the source `pack_file`.
    pub file: Option<String>,
}

impl Part {
    /// Its name in omissions.
    pub(crate) fn name(&self) -> &str {
        self.file.as_deref().unwrap_or(self.source.name)
    }
}

/// How much of a source is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// How many bytes.
    pub bytes: usize,
    /// Which of them.
    pub keep: Keep,
}

/// Which bytes a budget keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The first ones.
    Head,
}

/// A tool that is offered when its gates are open.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSlot {
    /// Its file in `tools/`, without the extension.
    pub file: Arc<str>,
    /// When it is offered.
    pub gates: Vec<Gate>,
    /// Whether calls of it may run beside others.
    pub parallel: bool,
}

/// A gate that leaves only some tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolsOnly {
    /// When.
    pub gates: Vec<Gate>,
    /// Which stay.
    pub tools: Vec<Arc<str>>,
}

/// What is done with tools that others describe: MCP servers and clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GivenToolRules {
    /// How they are written.
    pub form: GivenToolForm,
}

/// How tools that others describe are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenToolForm {
    /// Those of servers by name, those of clients as they come; names that are required in the order given.
    #[default]
    AsGiven,
    /// All in an order that does not depend on who gives them.
    Canonical,
}

/// What is done with skills.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkillRules {
    /// What happens to skills of the same name.
    pub same_name: SameName,
}

/// What happens to skills of the same name.
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
    /// Files joined by an empty line; `{{ personality }}` in them, or in place of a file, stands
    /// for the tone.
    pub template: Vec<String>,
    /// The tone when nobody chose one.
    pub default: String,
    /// The warm tone.
    pub friendly: String,
    /// The tone that is to the point.
    pub pragmatic: String,
}

impl ModelTexts {
    /// Where the tone goes. Other spacings are ordinary text.
    pub const TONE: &str = "{{ personality }}";

    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        let tones = [&self.default, &self.friendly, &self.pragmatic];
        self.template.iter().filter(|file| *file != Self::TONE).chain(tones).map(String::as_str)
    }

    pub(super) fn longest_prefix(&self, slug: &str) -> Option<usize> {
        self.slugs.iter().filter(|prefix| slug.starts_with(prefix.as_str())).map(String::len).max()
    }
}
