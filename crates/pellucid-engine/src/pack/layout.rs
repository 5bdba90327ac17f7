//! The layout of a pack: `pack.toml` as values.
//!
//! Everything a layout names (sources, gates, budgets) is looked up while it is read, so that
//! a wrong name is found before anything is sent.

use std::sync::Arc;

use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::PackError;
use super::position;
use super::syntax_error;
use crate::gate::Gate;
use crate::injection;
use crate::memory::layout::MemoryLayout;
use crate::reinject::layout::ReinjectLayout;
use crate::source;
use crate::update;
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionRules {
    /// How it is made shorter.
    #[serde(default)]
    pub strategy: Strategy,
    /// How many tokens of the window are kept free for the answer.
    #[serde(default)]
    pub reserved_output_tokens: i64,
    /// How many tokens a summary of dropped turns has at most.
    #[serde(default)]
    pub summary_max_output_tokens: Option<i64>,
    /// What happens when no summary comes; absent means that the turn ends.
    #[serde(default)]
    pub fallback: Option<SummaryFallback>,
    /// How many of the last turns stay word for word.
    #[serde(default)]
    pub keep_turns: usize,
    /// By how many percent a summary must make a history smaller.
    #[serde(default)]
    pub saving_min: Option<u8>,
    /// How often a summary is asked for that does not fit. Without it, one item less is shown each time.
    #[serde(default)]
    pub overflow_calls_max: Option<usize>,
    /// What the summarising model is shown; absent means all.
    #[serde(default)]
    pub input: Option<SummaryInput>,
    /// How a summary accounts for requests; absent means as it likes.
    #[serde(default)]
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
    /// Where it goes.
    pub target: Target,
    /// When it is there at all.
    pub gates: Vec<Gate>,
    /// A template around it.
    pub template: Option<String>,
    /// What it is made of.
    pub parts: Vec<Part>,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenToolRules {
    /// How they are written.
    #[serde(default)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkillRules {
    /// What happens to skills of the same name.
    #[serde(default)]
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

impl Layout {
    pub(super) fn parse(file: &str, text: &str) -> Result<Self, PackError> {
        let raw: RawLayout = toml::from_str(text).map_err(|error| syntax_error(file, text, &error))?;
        let reader = Reader { file, text };
        Ok(Self {
            name: raw.name,
            slots: raw.slot.into_iter().map(|slot| reader.slot(slot)).collect::<Result<_, _>>()?,
            tools: raw.tool.into_iter().map(|tool| reader.tool(tool)).collect::<Result<_, _>>()?,
            tools_only: raw.tools_only.map(|only| reader.tools_only(only)).transpose()?,
            updates: reader.updates(&raw.updates.order)?,
            skills: raw.skills,
            given_tools: raw.given_tools,
            models: raw.model,
            reinject: raw.reinject,
            memory: raw.memory,
            join: raw.instructions.join,
            bootstrap: raw.bootstrap,
            injections: reader.injections(&raw.injection)?,
            compaction: raw.compaction,
            project_docs: raw.project_docs,
        })
    }

    /// The pack that a layout says it comes from, with the line where it says so.
    pub(super) fn base(file: &str, text: &str) -> Result<Option<(String, usize)>, PackError> {
        let raw: RawLayout = toml::from_str(text).map_err(|error| syntax_error(file, text, &error))?;
        Ok(raw.from.map(|from| (from.get_ref().clone(), position(text, from.span().start).0)))
    }

    /// Takes from the layout beneath whatever this one does not lay out itself.
    pub(super) fn complete(&mut self, base: &Self) {
        if self.slots.is_empty() {
            self.slots.clone_from(&base.slots);
            if self.updates.is_empty() {
                self.updates.clone_from(&base.updates);
            }
            self.join.clone_from(&base.join);
            if self.compaction == CompactionRules::default() {
                self.compaction = base.compaction;
            }
            self.bootstrap = self.bootstrap.or(base.bootstrap);
            if self.injections.is_empty() {
                self.injections.clone_from(&base.injections);
            }
        }
        if self.tools.is_empty() {
            self.tools.clone_from(&base.tools);
            if self.tools_only.is_none() {
                self.tools_only.clone_from(&base.tools_only);
            }
            if self.given_tools == GivenToolRules::default() {
                self.given_tools = base.given_tools;
            }
        }
        if self.models.is_empty() {
            self.models.clone_from(&base.models);
        }
        self.project_docs = self.project_docs.over(base.project_docs);
        if let Some(base) = &base.reinject {
            self.reinject.get_or_insert_default().complete(base);
        }
        if let Some(base) = &base.memory {
            self.memory.get_or_insert_default().complete(base);
        }
    }

    /// The budget of the first part that this source gives.
    pub fn budget_of(&self, source: &str) -> Option<Budget> {
        let mut parts = self.slots.iter().flat_map(|slot| &slot.parts);
        parts.find(|part| part.source.name == source).and_then(|part| part.budget)
    }
}

/// `pack.toml` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLayout {
    name: String,
    from: Option<Spanned<String>>,
    #[serde(default)]
    slot: Vec<RawSlot>,
    #[serde(default)]
    tool: Vec<RawTool>,
    tools_only: Option<RawToolsOnly>,
    #[serde(default)]
    updates: RawUpdates,
    #[serde(default)]
    skills: SkillRules,
    #[serde(default)]
    given_tools: GivenToolRules,
    #[serde(default)]
    model: Vec<ModelTexts>,
    reinject: Option<ReinjectLayout>,
    memory: Option<MemoryLayout>,
    #[serde(default)]
    instructions: RawInstructions,
    bootstrap: Option<BootstrapBudget>,
    #[serde(default)]
    injection: Vec<RawInjection>,
    #[serde(default)]
    compaction: CompactionRules,
    #[serde(default)]
    project_docs: ProjectDocs,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInstructions {
    #[serde(default)]
    join: String,
}

/// A source of injected items; its other options are looked at when items are made.
#[derive(Deserialize)]
struct RawInjection {
    #[serde(rename = "type")]
    kind: Spanned<String>,
    #[serde(flatten)]
    options: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSlot {
    id: Spanned<String>,
    target: Target,
    source: Option<Spanned<String>>,
    file: Option<String>,
    #[serde(default)]
    gate: Vec<Spanned<String>>,
    template: Option<String>,
    budget: Option<Budget>,
    #[serde(default)]
    parts: Vec<RawPart>,
    again_turns: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPart {
    source: Spanned<String>,
    #[serde(default)]
    gate: Vec<Spanned<String>>,
    #[serde(default)]
    before: String,
    budget: Option<Budget>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUpdates {
    order: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTool {
    file: String,
    #[serde(default)]
    gate: Vec<Spanned<String>>,
    #[serde(default)]
    parallel: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawToolsOnly {
    gate: Vec<Spanned<String>>,
    tools: Vec<String>,
}

/// Turns what is written into what is meant, and knows where it was written.
struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn slot(&self, raw: RawSlot) -> Result<Slot, PackError> {
        let part = |source, file| Part { source, gates: Vec::new(), before: String::new(), budget: raw.budget, file };
        let parts = match (raw.source, raw.file, raw.parts.is_empty()) {
            (Some(source), None, true) => vec![part(self.source(&source)?, None)],
            (None, Some(file), true) => vec![part(source::pack_file(), Some(file))],
            (None, None, false) => raw.parts.into_iter().map(|part| self.part(part)).collect::<Result<_, _>>()?,
            _ => {
                let message = format!("slot `{}` needs `source`, `file` or `parts`, and one of them", raw.id.get_ref());
                return Err(self.syntax(&raw.id, message));
            }
        };
        Ok(Slot {
            id: raw.id.get_ref().as_str().into(),
            target: raw.target,
            gates: self.gates(&raw.gate)?,
            template: raw.template,
            parts,
            again_turns: raw.again_turns,
        })
    }

    fn part(&self, raw: RawPart) -> Result<Part, PackError> {
        Ok(Part {
            source: self.source(&raw.source)?,
            gates: self.gates(&raw.gate)?,
            before: raw.before,
            budget: raw.budget,
            file: None,
        })
    }

    fn tool(&self, raw: RawTool) -> Result<ToolSlot, PackError> {
        Ok(ToolSlot { file: raw.file.into(), gates: self.gates(&raw.gate)?, parallel: raw.parallel })
    }

    fn tools_only(&self, raw: RawToolsOnly) -> Result<ToolsOnly, PackError> {
        Ok(ToolsOnly { gates: self.gates(&raw.gate)?, tools: raw.tools.into_iter().map(Into::into).collect() })
    }

    fn source(&self, name: &Spanned<String>) -> Result<&'static source::Source, PackError> {
        source::find(name.get_ref()).ok_or_else(|| self.unknown("source", name, source::names()))
    }

    fn injections(&self, raw: &[RawInjection]) -> Result<Vec<Value>, PackError> {
        raw.iter().map(|injection| self.injection(injection)).collect()
    }

    fn injection(&self, raw: &RawInjection) -> Result<Value, PackError> {
        if !injection::KINDS.contains(&raw.kind.get_ref().as_str()) {
            let known = injection::KINDS.iter().map(|kind| (*kind).to_owned()).collect();
            return Err(self.unknown("injection", &raw.kind, known));
        }
        let failed = |error: serde_json::Error| self.syntax(&raw.kind, error.to_string());
        let mut spec = serde_json::to_value(&raw.options).map_err(failed)?;
        spec["type"] = raw.kind.get_ref().as_str().into();
        Ok(spec)
    }

    fn updates(&self, names: &[Spanned<String>]) -> Result<Vec<&'static Update>, PackError> {
        names
            .iter()
            .map(|name| update::find(name.get_ref()).ok_or_else(|| self.unknown("update", name, update::names())))
            .collect()
    }

    fn gates(&self, names: &[Spanned<String>]) -> Result<Vec<Gate>, PackError> {
        names
            .iter()
            .map(|name| Gate::parse(name.get_ref()).ok_or_else(|| self.unknown("gate", name, Gate::known())))
            .collect()
    }

    fn unknown(&self, kind: &'static str, name: &Spanned<String>, known: Vec<String>) -> PackError {
        let (line, _) = position(self.text, name.span().start);
        PackError::UnknownName { file: self.file.to_owned(), line, kind, name: name.get_ref().clone(), known }
    }

    fn syntax(&self, at: &Spanned<String>, message: String) -> PackError {
        let (line, column) = position(self.text, at.span().start);
        PackError::Syntax { file: self.file.to_owned(), line, column, message }
    }
}
