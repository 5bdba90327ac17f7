//! The content of `pack.toml`, and its conversion to a layout.
//!
//! Everything that the file names (sources, gates, roles, updates) is looked up while it is read, so that a wrong
//! name is found before anything is sent. Parts that the file leaves out come from the base layout.

use std::collections::BTreeMap;

use pellucid_protocol::project_docs::ProjectDocs;
use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::McpSchemas;
use pellucid_protocol::settings::McpStart;
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
use super::layout::Depth;
use super::layout::GivenToolForm;
use super::layout::GivenToolRules;
use super::layout::HistoryEnd;
use super::layout::InstructionRules;
use super::layout::Layout;
use super::layout::ModelTexts;
use super::layout::SameName;
use super::layout::Section;
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
use crate::injection::SourceTexts;
use crate::memory::layout::MemoryLayout;
use crate::prompt_sizes::ReportLayout;
use crate::reinject::layout::ReinjectLayout;
use crate::source;
use crate::update;
use crate::update::Update;
use crate::window::settings::SettingsError;
use crate::window::settings::WindowKeys;

/// A `pack.toml` that was parsed, and is not yet checked.
pub(super) struct LayoutFile<'a> {
    reader: Reader<'a>,
    raw: RawLayout,
}

impl<'a> LayoutFile<'a> {
    /// Parses the text of a file that reports name `file`.
    pub(super) fn parse(file: &'a str, text: &'a str) -> Result<Self, PackError> {
        let raw = toml::from_str(text).map_err(|error| syntax_error(file, text, &error))?;
        Ok(Self { reader: Reader { file, text }, raw })
    }

    /// The pack that the layout says it comes from, with the line where it says so.
    pub(super) fn base(&self) -> Option<(&str, usize)> {
        let from = self.raw.from.as_ref()?;
        Some((from.get_ref(), position(self.reader.text, from.span().start).0))
    }

    /// The layout, checked, over the one beneath.
    pub(super) fn layout(&self, beneath: Option<&Layout>) -> Result<Layout, PackError> {
        let layout = self.reader.layout(&self.raw, beneath)?;
        layout_check::check(&self.raw, &layout, &self.reader)?;
        Ok(layout)
    }
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
    pub source_texts: Option<Spanned<injection::SourceTextKeys>>,
    #[serde(default)]
    pub section: Vec<RawSection>,
    #[serde(default)]
    pub compaction: RawCompaction,
    #[serde(default)]
    pub project_docs: ProjectDocs,
}

impl RawLayout {
    /// Whether every slot says where it goes, so that the slots are added to those beneath.
    pub fn adds_slots(&self) -> bool {
        self.slot.iter().all(|slot| slot.before.is_some() || slot.after.is_some() || slot.depth.is_some())
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawInstructions {
    pub join: Option<Spanned<String>>,
    pub minimal_if: Option<Spanned<String>>,
    pub report: Option<Spanned<ReportLayout>>,
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
    pub mcp: Option<Spanned<McpOffer>>,
    pub direct_tokens: Option<Spanned<usize>>,
    list_tokens: Option<usize>,
    schemas: Option<McpSchemas>,
    start: Option<McpStart>,
    follow: Option<bool>,
}

impl RawGivenTools {
    fn over(&self, beneath: GivenToolRules) -> GivenToolRules {
        GivenToolRules {
            form: self.form.unwrap_or(beneath.form),
            mcp: self.mcp.as_ref().map_or(beneath.mcp, |mcp| *mcp.get_ref()),
            direct_tokens: self.direct_tokens.as_ref().map_or(beneath.direct_tokens, |tokens| *tokens.get_ref()),
            list_tokens: self.list_tokens.unwrap_or(beneath.list_tokens),
            schemas: self.schemas.unwrap_or(beneath.schemas),
            start: self.start.unwrap_or(beneath.start),
            follow: self.follow.unwrap_or(beneath.follow),
        }
    }
}

/// `[compaction]`: what is absent is as beneath.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCompaction {
    strategy: Option<CompactionStrategy>,
    pub context_window: Option<Spanned<toml::Value>>,
    pub reserved_output_tokens: Option<Spanned<toml::Value>>,
    pub summary_max_output_tokens: Option<Spanned<toml::Value>>,
    pub memory_search_limit: Option<Spanned<toml::Value>>,
    pub summarise: Option<Spanned<bool>>,
    fallback: Option<SummaryFallback>,
    keep_turns: Option<usize>,
    saving_min: Option<u8>,
    overflow_calls_max: Option<usize>,
    input: Option<SummaryInput>,
    requests: Option<SummaryRequests>,
    keep_skills: Option<bool>,
}

impl RawCompaction {
    /// The keys that only the strategy `window` has, with their places.
    pub(super) fn of_window(&self) -> impl Iterator<Item = (&'static str, Spanned<()>)> {
        let values = [
            ("context_window", &self.context_window),
            ("reserved_output_tokens", &self.reserved_output_tokens),
            ("summary_max_output_tokens", &self.summary_max_output_tokens),
            ("memory_search_limit", &self.memory_search_limit),
        ];
        let place = |(key, value): (&'static str, &Option<Spanned<toml::Value>>)| {
            value.as_ref().map(|value| (key, Spanned::new(value.span(), ())))
        };
        let summarise = self.summarise.as_ref().map(|flag| ("summarise", Spanned::new(flag.span(), ())));
        values.map(place).into_iter().flatten().chain(summarise).collect::<Vec<_>>().into_iter()
    }

    /// What is set for the window over the pack beneath.
    fn window(&self, beneath: WindowKeys) -> Result<WindowKeys, SettingsError> {
        let mut fields = Map::new();
        for (key, value) in [
            ("context_window", &self.context_window),
            ("reserved_output_tokens", &self.reserved_output_tokens),
            ("summary_max_output_tokens", &self.summary_max_output_tokens),
            ("memory_search_limit", &self.memory_search_limit),
        ] {
            let value = value.as_ref().and_then(|value| serde_json::to_value(value.get_ref()).ok());
            fields.extend(value.map(|value| (key.to_owned(), value)));
        }
        let own = WindowKeys::read_budget(&fields)?.over(WindowKeys::read_limits(&fields)?);
        let summarise = self.summarise.as_ref().map(|flag| *flag.get_ref());
        let all = WindowKeys { summarise, ..own }.over(beneath);
        all.check(None)?;
        Ok(all)
    }

    fn over(&self, beneath: CompactionRules) -> Result<CompactionRules, SettingsError> {
        Ok(CompactionRules {
            strategy: self.strategy.unwrap_or(beneath.strategy),
            window: self.window(beneath.window)?,
            fallback: self.fallback.or(beneath.fallback),
            keep_turns: self.keep_turns.unwrap_or(beneath.keep_turns),
            saving_min: self.saving_min.or(beneath.saving_min),
            overflow_calls_max: self.overflow_calls_max.or(beneath.overflow_calls_max),
            input: self.input.or(beneath.input),
            requests: self.requests.or(beneath.requests),
            keep_skills: self.keep_skills.unwrap_or(beneath.keep_skills),
        })
    }
}

/// A section beside those of injected items.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSection {
    pub file: Spanned<String>,
    order: i64,
    #[serde(default)]
    after_items: bool,
    #[serde(default)]
    gate: Vec<Spanned<String>>,
    pub join: Option<Spanned<String>>,
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
    pub depth: Option<Spanned<usize>>,
    pub from: Option<Spanned<HistoryEnd>>,
    pub before: Option<Spanned<String>>,
    pub after: Option<Spanned<String>>,
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
        let under_slots = beneath.filter(|_| raw.adds_slots());
        let under_tools = beneath.filter(|_| raw.tool.is_empty());
        let slots = match under_slots {
            Some(beneath) => self.added(raw, &beneath.slots)?,
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
            given_tools: raw.given_tools.over(under_tools.map(|beneath| beneath.given_tools).unwrap_or_default()),
            models,
            reinject: raw.reinject.as_ref().map(|own| own.get_ref().clone()),
            memory: raw.memory.as_ref().map(|own| own.get_ref().clone()),
            instructions: self.instructions(&raw.instructions, under_slots)?,
            bootstrap: self.bootstrap(raw, beneath)?,
            facts: self.facts(raw, beneath)?,
            values: self.values(raw, beneath)?,
            injections,
            source_texts: self.source_texts(raw, beneath)?,
            sections: self.sections(raw, beneath)?,
            compaction: self.compaction(raw, under_slots)?,
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
            None => Ok(below.filter(|_| raw.adds_slots()).cloned()),
        }
    }

    /// The rules for the instructions: those of the slots beneath, with the layout's own over them.
    fn instructions(&self, raw: &RawInstructions, beneath: Option<&Layout>) -> Result<InstructionRules, PackError> {
        let mut rules = beneath.map(|beneath| beneath.instructions.clone()).unwrap_or_default();
        if let Some(join) = &raw.join {
            rules.join.clone_from(join.get_ref());
        }
        if let Some(own) = &raw.minimal_if {
            let program = Program::expression(LAYOUT, own.get_ref());
            rules.minimal_if = Some(program.map_err(|error| self.in_expression(own, &error))?);
        }
        if let Some(report) = &raw.report {
            rules.report = Some(report.get_ref().clone());
        }
        Ok(rules)
    }

    /// The rules for a long history, over those of the layout beneath.
    fn compaction(&self, raw: &RawLayout, beneath: Option<&Layout>) -> Result<CompactionRules, PackError> {
        let rules = raw.compaction.over(beneath.map(|beneath| beneath.compaction).unwrap_or_default());
        rules.map_err(|error| {
            let message = error.to_string();
            let place = raw.compaction.of_window().find(|(key, _)| message.starts_with(key));
            self.refused(&place.map_or_else(layout_check::whole_file, |(_, place)| place), message)
        })
    }

    /// What sources say, over the layout beneath.
    fn source_texts(&self, raw: &RawLayout, beneath: Option<&Layout>) -> Result<SourceTexts, PackError> {
        let below = beneath.map(|beneath| beneath.source_texts.clone()).unwrap_or_default();
        match &raw.source_texts {
            Some(own) => own.get_ref().over(below).map_err(|message| self.refused(own, message)),
            None => Ok(below),
        }
    }

    /// The sections of a layout: its own, else those of the layout beneath, whatever slots it has.
    fn sections(&self, raw: &RawLayout, beneath: Option<&Layout>) -> Result<Vec<Section>, PackError> {
        if raw.section.is_empty() {
            return Ok(beneath.map(|beneath| beneath.sections.clone()).unwrap_or_default());
        }
        let section = |raw: &RawSection| {
            Ok(Section {
                file: raw.file.get_ref().clone(),
                order: raw.order,
                after_items: raw.after_items,
                gates: self.gates(&raw.gate)?,
                join: raw.join.as_ref().map(|join| join.get_ref().clone()).unwrap_or_default(),
            })
        };
        raw.section.iter().map(section).collect()
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

    /// The slots beneath with those of this layout at their places among them. A slot with the id of one beneath replaces it.
    fn added(&self, raw: &RawLayout, beneath: &[Slot]) -> Result<Vec<Slot>, PackError> {
        let mut slots = beneath.to_vec();
        for (n, own) in raw.slot.iter().enumerate() {
            let id = own.id.get_ref();
            if raw.slot[..n].iter().any(|earlier| earlier.id.get_ref() == id) {
                return Err(self.refused(&own.id, format!("a slot before this one has the id `{id}` too")));
            }
            slots.retain(|slot| *slot.id != **id);
            let place = |name: &Spanned<String>| {
                let known = || slots.iter().map(|slot| slot.id.to_string()).collect();
                let found = slots.iter().position(|slot| *slot.id == **name.get_ref());
                found.ok_or_else(|| self.unknown("slot", name, known()))
            };
            let at = match (&own.before, &own.after) {
                (Some(before), _) => place(before)?,
                (None, Some(after)) => {
                    // Slots that go behind the same one keep their order.
                    let behind = place(after)? + 1;
                    let is_same = |slot: &Slot| {
                        let of_slot = raw.slot.iter().find(|own| *own.id.get_ref() == *slot.id);
                        of_slot.and_then(|own| own.after.as_ref()).is_some_and(|it| it.get_ref() == after.get_ref())
                    };
                    behind + slots[behind..].iter().take_while(|slot| is_same(slot)).count()
                }
                (None, None) => slots.len(),
            };
            slots.insert(at, self.slot(own)?);
        }
        Ok(slots)
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
            depth: raw.depth.as_ref().map(|messages| Depth {
                messages: *messages.get_ref(),
                from: raw.from.as_ref().map(|from| *from.get_ref()).unwrap_or_default(),
            }),
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
