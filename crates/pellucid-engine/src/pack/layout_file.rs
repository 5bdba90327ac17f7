//! The content of `pack.toml`, and its conversion to a layout.
//!
//! Everything that the file names (sources, gates, roles, updates) is looked up while it is read, so that a wrong
//! name is found before anything is sent. Parts that the file leaves out come from the base layout.

use std::collections::BTreeMap;

use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::settings::SummaryFallback;
use pellucid_protocol::settings::SummaryInput;
use pellucid_protocol::settings::SummaryRequests;
use pellucid_script::Program;
use pellucid_script::ScriptError;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use toml::Spanned;

use super::LAYOUT;
use super::PackError;
use super::SlotRole;
use super::layout::CompactionRules;
use super::layout::CompactionStrategy;
use super::layout::GivenToolForm;
use super::layout::GivenToolRules;
use super::layout::Layout;
use super::layout::ModelTexts;
use super::layout::SameName;
use super::layout::SkillRules;
use super::layout::Slot;
use super::layout::SlotPart;
use super::layout::SlotTarget;
use super::layout::SourceBudget;
use super::layout::ToolSlot;
use super::layout::ToolsOnly;
use super::layout_check;
use super::position;
use super::syntax_error;
use crate::bootstrap::FileSetKeys;
use crate::bootstrap::FileSetLayout;
use crate::computed::ROOTS;
use crate::gate::Gate;
use crate::injection;
use crate::memory::layout::MemoryLayout;
use crate::reinject::layout::ReinjectLayout;
use crate::source;
use crate::update;
use crate::update::Update;

/// Reads a layout over the one beneath.
pub(super) fn parse(file: &str, text: &str, beneath: Option<&Layout>) -> Result<Layout, PackError> {
    let raw: RawLayout = toml::from_str(text).map_err(|error| syntax_error(file, text, &error))?;
    let reader = Reader { file, text };
    let layout = reader.layout(&raw, beneath)?;
    layout_check::check(&raw, &layout, &reader)?;
    Ok(layout)
}

/// The pack that a layout says it comes from, with the line where it says so.
pub(super) fn base(file: &str, text: &str) -> Result<Option<(String, usize)>, PackError> {
    let raw: RawLayout = toml::from_str(text).map_err(|error| syntax_error(file, text, &error))?;
    Ok(raw.from.map(|from| (from.get_ref().clone(), position(text, from.span().start).0)))
}

/// The content of `pack.toml`, before any check.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLayout {
    pub name: String,
    pub from: Option<Spanned<String>>,
    #[serde(default)]
    pub slot: Vec<RawSlot>,
    #[serde(default)]
    pub tool: Vec<RawTool>,
    pub tools_only: Option<RawToolsOnly>,
    pub updates: Option<RawUpdates>,
    #[serde(default)]
    pub skills: RawSkills,
    #[serde(default)]
    pub given_tools: RawGivenTools,
    #[serde(default)]
    pub model: Vec<ModelTexts>,
    pub reinject: Option<Spanned<ReinjectLayout>>,
    pub memory: Option<Spanned<MemoryLayout>>,
    #[serde(default)]
    pub instructions: RawInstructions,
    pub bootstrap: Option<Spanned<FileSetKeys>>,
    #[serde(default)]
    pub facts: toml::Table,
    #[serde(default)]
    pub values: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    pub injection: Vec<RawInjection>,
    #[serde(default)]
    pub compaction: RawCompaction,
    #[serde(default)]
    pub project_docs: ProjectDocs,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawInstructions {
    pub join: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSkills {
    same_name: Option<SameName>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGivenTools {
    form: Option<GivenToolForm>,
}

/// `[compaction]`: what is absent is as beneath.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCompaction {
    strategy: Option<CompactionStrategy>,
    pub reserved_output_tokens: Option<Spanned<i64>>,
    pub summary_max_output_tokens: Option<Spanned<i64>>,
    fallback: Option<SummaryFallback>,
    keep_turns: Option<usize>,
    saving_min: Option<u8>,
    overflow_calls_max: Option<usize>,
    input: Option<SummaryInput>,
    requests: Option<SummaryRequests>,
    keep_skills: Option<bool>,
}

impl RawCompaction {
    fn over(&self, beneath: CompactionRules) -> CompactionRules {
        let tokens = |tokens: &Option<Spanned<i64>>| tokens.as_ref().map(|tokens| *tokens.get_ref());
        CompactionRules {
            strategy: self.strategy.unwrap_or(beneath.strategy),
            reserved_output_tokens: tokens(&self.reserved_output_tokens).unwrap_or(beneath.reserved_output_tokens),
            summary_max_output_tokens: tokens(&self.summary_max_output_tokens).or(beneath.summary_max_output_tokens),
            fallback: self.fallback.or(beneath.fallback),
            keep_turns: self.keep_turns.unwrap_or(beneath.keep_turns),
            saving_min: self.saving_min.or(beneath.saving_min),
            overflow_calls_max: self.overflow_calls_max.or(beneath.overflow_calls_max),
            input: self.input.or(beneath.input),
            requests: self.requests.or(beneath.requests),
            keep_skills: self.keep_skills.unwrap_or(beneath.keep_skills),
        }
    }
}

/// A source of injected items.
#[derive(Deserialize)]
pub(super) struct RawInjection {
    #[serde(rename = "type")]
    pub kind: Spanned<String>,
    #[serde(flatten)]
    pub options: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSlot {
    pub id: Spanned<String>,
    pub role: Option<Spanned<String>>,
    pub target: SlotTarget,
    source: Option<Spanned<String>>,
    file: Option<String>,
    #[serde(default)]
    gate: Vec<Spanned<String>>,
    pub template: Option<String>,
    budget: Option<SourceBudget>,
    #[serde(default)]
    pub parts: Vec<RawPart>,
    pub again_turns: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPart {
    source: Option<Spanned<String>>,
    file: Option<Spanned<String>>,
    #[serde(default)]
    gate: Vec<Spanned<String>>,
    pub before: Option<Spanned<String>>,
    budget: Option<SourceBudget>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawUpdates {
    pub order: Vec<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    pub file: Spanned<String>,
    #[serde(default)]
    gate: Vec<Spanned<String>>,
    #[serde(default)]
    parallel: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawToolsOnly {
    gate: Vec<Spanned<String>>,
    pub tools: Vec<Spanned<String>>,
}

/// Turns what is written into what is meant, and knows where it was written.
pub(super) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn layout(&self, raw: &RawLayout, beneath: Option<&Layout>) -> Result<Layout, PackError> {
        // Values of slots and tools come from the base layout together with them, or not at all.
        let under_slots = beneath.filter(|_| raw.slot.is_empty());
        let under_tools = beneath.filter(|_| raw.tool.is_empty());
        let slots = match under_slots {
            Some(beneath) => beneath.slots.clone(),
            None => raw.slot.iter().map(|slot| self.slot(slot)).collect::<Result<_, _>>()?,
        };
        let tools = match under_tools {
            Some(beneath) => beneath.tools.clone(),
            None => raw.tool.iter().map(|tool| self.tool(tool)).collect::<Result<_, _>>()?,
        };
        let tools_only = match &raw.tools_only {
            Some(only) => Some(self.tools_only(only)?),
            None => under_tools.and_then(|beneath| beneath.tools_only.clone()),
        };
        let updates = match &raw.updates {
            Some(updates) => self.updates(&updates.order)?,
            None => under_slots.map(|beneath| beneath.updates.clone()).unwrap_or_default(),
        };
        let injections = match (raw.injection.as_slice(), under_slots) {
            ([], Some(beneath)) => beneath.injections.clone(),
            (own, _) => own.iter().map(|injection| self.injection(injection)).collect::<Result<_, _>>()?,
        };
        let join = raw.instructions.join.as_ref().map(|join| join.get_ref().clone());
        let form = raw.given_tools.form.or(under_tools.map(|beneath| beneath.given_tools.form));
        let same_name = raw.skills.same_name.or(beneath.map(|beneath| beneath.skills.same_name));
        let models = match beneath {
            Some(beneath) if raw.model.is_empty() => beneath.models.clone(),
            _ => raw.model.clone(),
        };
        let mut layout = Layout {
            name: raw.name.clone(),
            slots,
            tools,
            tools_only,
            updates,
            skills: SkillRules { same_name: same_name.unwrap_or_default() },
            given_tools: GivenToolRules { form: form.unwrap_or_default() },
            models,
            reinject: raw.reinject.as_ref().map(|own| own.get_ref().clone()),
            memory: raw.memory.as_ref().map(|own| own.get_ref().clone()),
            join: join.or_else(|| under_slots.map(|beneath| beneath.join.clone())).unwrap_or_default(),
            bootstrap: self.bootstrap(raw, beneath)?,
            facts: self.facts(raw, beneath)?,
            values: self.values(raw, beneath)?,
            injections,
            compaction: raw.compaction.over(under_slots.map(|beneath| beneath.compaction).unwrap_or_default()),
            project_docs: raw.project_docs.over(beneath.map(|beneath| beneath.project_docs).unwrap_or_default()),
        };
        if let Some(base) = beneath.and_then(|beneath| beneath.reinject.as_ref()) {
            layout.reinject.get_or_insert_default().complete(base);
        }
        if let Some(base) = beneath.and_then(|beneath| beneath.memory.as_ref()) {
            layout.memory.get_or_insert_default().complete(base);
        }
        Ok(layout)
    }

    /// The files that a layout begins with: those of the layout beneath with other keys, or with the slots.
    fn bootstrap(&self, raw: &RawLayout, beneath: Option<&Layout>) -> Result<Option<FileSetLayout>, PackError> {
        let below = beneath.and_then(|beneath| beneath.bootstrap.as_ref());
        match &raw.bootstrap {
            Some(own) => own.get_ref().over(below).map(Some).map_err(|message| self.refused(own, message)),
            None => Ok(below.filter(|_| raw.slot.is_empty()).cloned()),
        }
    }

    /// The values that a layout declares, over those of the layout beneath.
    fn facts(&self, raw: &RawLayout, beneath: Option<&Layout>) -> Result<Map<String, Value>, PackError> {
        let mut facts = beneath.map(|beneath| beneath.facts.clone()).unwrap_or_default();
        let own = serde_json::to_value(&raw.facts);
        let own = own.map_err(|error| self.refused(&layout_check::whole_file(), error.to_string()))?;
        facts.extend(own.as_object().cloned().unwrap_or_default());
        Ok(facts)
    }

    /// The values that a layout computes, over those of the layout beneath.
    fn values(&self, raw: &RawLayout, beneath: Option<&Layout>) -> Result<BTreeMap<String, Program>, PackError> {
        let mut values = beneath.map(|beneath| beneath.values.clone()).unwrap_or_default();
        for (name, expression) in &raw.values {
            if ROOTS.iter().any(|(root, _)| root == name) {
                return Err(self.refused(expression, format!("`{name}` is a name of a fact already")));
            }
            let program = Program::expression(LAYOUT, expression.get_ref());
            values.insert(name.clone(), program.map_err(|error| self.in_expression(expression, &error))?);
        }
        Ok(values)
    }

    /// An error inside of an expression that the file has as a string.
    pub(super) fn in_expression(&self, at: &Spanned<String>, error: &ScriptError) -> PackError {
        self.refused(at, format!("`{}`, column {}: {}", at.get_ref(), error.column, error.message))
    }

    fn slot(&self, raw: &RawSlot) -> Result<Slot, PackError> {
        let part =
            |source, file| SlotPart { source, gates: Vec::new(), before: String::new(), budget: raw.budget, file };
        let parts = match (&raw.source, &raw.file, raw.parts.is_empty()) {
            (Some(source), None, true) => vec![part(self.source(source)?, None)],
            (None, Some(file), true) => vec![part(source::pack_file(), Some(file.clone()))],
            (None, None, false) => raw.parts.iter().map(|part| self.part(part)).collect::<Result<_, _>>()?,
            _ => {
                let message = format!("slot `{}` needs `source`, `file` or `parts`, and one of them", raw.id.get_ref());
                return Err(self.refused(&raw.id, message));
            }
        };
        let role = |name: &Spanned<String>| {
            SlotRole::parse(name.get_ref()).ok_or_else(|| self.unknown("role", name, SlotRole::names()))
        };
        Ok(Slot {
            id: raw.id.get_ref().as_str().into(),
            role: raw.role.as_ref().map(role).transpose()?,
            target: raw.target,
            gates: self.gates(&raw.gate)?,
            template: raw.template.clone(),
            // The budget of the only part is the slot's.
            budget: raw.budget.filter(|_| !raw.parts.is_empty()),
            parts,
            again_turns: raw.again_turns.as_ref().map(|turns| *turns.get_ref()),
        })
    }

    fn part(&self, raw: &RawPart) -> Result<SlotPart, PackError> {
        let source = match (&raw.source, &raw.file) {
            (Some(source), None) => self.source(source)?,
            (None, Some(_)) => source::pack_file(),
            (Some(at), Some(_)) => return Err(self.refused(at, "a part has `source` or `file`, not both".to_owned())),
            (None, None) => {
                return Err(self.refused(&layout_check::whole_file(), "a part needs `source` or `file`".to_owned()));
            }
        };
        Ok(SlotPart {
            source,
            gates: self.gates(&raw.gate)?,
            before: raw.before.as_ref().map(|before| before.get_ref().clone()).unwrap_or_default(),
            budget: raw.budget,
            file: raw.file.as_ref().map(|file| file.get_ref().clone()),
        })
    }

    fn tool(&self, raw: &RawTool) -> Result<ToolSlot, PackError> {
        let file = raw.file.get_ref().as_str().into();
        Ok(ToolSlot { file, gates: self.gates(&raw.gate)?, parallel: raw.parallel })
    }

    fn tools_only(&self, raw: &RawToolsOnly) -> Result<ToolsOnly, PackError> {
        let tools = raw.tools.iter().map(|tool| tool.get_ref().as_str().into()).collect();
        Ok(ToolsOnly { gates: self.gates(&raw.gate)?, tools })
    }

    fn source(&self, name: &Spanned<String>) -> Result<&'static source::Source, PackError> {
        source::find(name.get_ref()).ok_or_else(|| self.unknown("source", name, source::names()))
    }

    fn injection(&self, raw: &RawInjection) -> Result<Value, PackError> {
        if !injection::KINDS.contains(&raw.kind.get_ref().as_str()) {
            let known = injection::KINDS.iter().map(|kind| (*kind).to_owned()).collect();
            return Err(self.unknown("injection", &raw.kind, known));
        }
        let failed = |error: serde_json::Error| self.refused(&raw.kind, error.to_string());
        let mut spec = serde_json::to_value(&raw.options).map_err(failed)?;
        spec["type"] = raw.kind.get_ref().as_str().into();
        injection::check(&spec).map_err(|message| self.refused(&raw.kind, message))?;
        Ok(spec)
    }

    fn updates(&self, names: &[Spanned<String>]) -> Result<Vec<&'static Update>, PackError> {
        names
            .iter()
            .map(|name| update::find(name.get_ref()).ok_or_else(|| self.unknown("update", name, update::names())))
            .collect()
    }

    fn gates(&self, names: &[Spanned<String>]) -> Result<Vec<Gate>, PackError> {
        let gate = |name: &Spanned<String>| {
            if let Some((_, condition)) = name.get_ref().split_once("if:")
                && let Err(error) = Program::expression(LAYOUT, condition)
            {
                return Err(self.refused(name, format!("`{condition}`, column {}: {}", error.column, error.message)));
            }
            Gate::parse(name.get_ref()).ok_or_else(|| self.unknown("gate", name, Gate::known()))
        };
        names.iter().map(gate).collect()
    }

    pub(super) fn unknown(&self, kind: &'static str, name: &Spanned<String>, known: Vec<String>) -> PackError {
        let (line, _) = position(self.text, name.span().start);
        PackError::UnknownName { file: self.file.to_owned(), line, kind, name: name.get_ref().clone(), known }
    }

    /// An error at a place of the file.
    pub(super) fn refused<T>(&self, at: &Spanned<T>, message: String) -> PackError {
        let (line, column) = position(self.text, at.span().start);
        PackError::Syntax { file: self.file.to_owned(), line, column, message }
    }
}
