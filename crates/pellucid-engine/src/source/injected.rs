//! Injected content of sources and callers: sections of the system prompt with those of the layout among them, the same
//! with recalled texts alone, and messages before the history.

use std::sync::Arc;

use super::GivenMessage;
use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::computed;
use crate::computed::Looking;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Why;
use crate::gate;
use crate::injection;
use crate::injection::Collected;
use crate::injection::Injected;
use crate::injection::ItemOutcome;
use crate::injection::OwnSection;
use crate::injection::SystemParts;
use crate::pack::Pack;
use crate::pack::Section;

pub(super) const SECTIONS: Source =
    Source { name: "injected_sections", kind: SourceKind::Text, templates: &[], give: sections };

pub(super) const ITEMS: Source = Source { name: "injected_items", kind: SourceKind::Text, templates: &[], give: items };

pub(super) const PREAMBLE: Source =
    Source { name: "injected_preamble", kind: SourceKind::Messages, templates: &[], give: preamble };

fn items(ask: &SourceInput<'_>) -> SourceOutput {
    given(ask, OwnSections::Recalled)
}

fn sections(ask: &SourceInput<'_>) -> SourceOutput {
    given(ask, OwnSections::All)
}

/// Which sections of a layout stand among those of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnSections {
    /// Every section of the layout is used.
    All,
    /// The sections with texts that a caller recalled. The layout lists everything else in other slots.
    Recalled,
}

/// The sections of a layout whose gates are open, and what their templates left out.
pub fn own_sections(
    pack: &Pack,
    facts: &Facts,
    which: OwnSections,
    slot: &Arc<str>,
) -> (Vec<OwnSection>, Vec<Omission>) {
    let (mut own, mut omissions) = (Vec::new(), Vec::new());
    for section in &pack.layout.sections {
        if !gate::all_open(&section.gates, pack, facts) {
            omissions.extend(gate::failures(&section.gates, pack, facts, slot));
            continue;
        }
        let recalled = &facts.system.injection.memory;
        let content = if section.file.ends_with(computed::EXTENSION) {
            let is_wanted = which == OwnSections::All || pack.looks_at(&section.file, computed::RECALLED);
            if !is_wanted || (which == OwnSections::Recalled && recalled.is_empty()) {
                continue;
            }
            let (fragments, left_out) = computed::rendered(&section.file, Looking { pack, facts }, slot);
            omissions.extend(left_out);
            fragments.unwrap_or_default()
        } else {
            let template = pack.template(&section.file);
            let has_place = template.has_place(Section::RECALLED);
            if (has_place && recalled.is_empty()) || (!has_place && which == OwnSections::Recalled) {
                continue;
            }
            template.render(&[(Section::RECALLED, joined(recalled, &section.join))])
        };
        own.push(OwnSection { order: section.order, after_items: section.after_items, content });
    }
    (own, omissions)
}

fn joined(recalled: &[String], join: &str) -> Vec<Fragment> {
    let mut fragments = Vec::new();
    for (n, text) in recalled.iter().enumerate() {
        if n > 0 && !join.is_empty() {
            fragments.push(Fragment::layout(join));
        }
        fragments.push(Fragment::provided(computed::RECALLED_PLACE, text.as_str()));
    }
    fragments
}

/// The sections of items, and those of the layout among them.
fn given(ask: &SourceInput<'_>, which: OwnSections) -> SourceOutput {
    let collected = collected(ask);
    let injection = &ask.facts.system.injection;
    let (own, left_out) = own_sections(ask.pack, ask.facts, which, ask.slot);
    let parts = SystemParts { items: &collected.items, variables: &injection.variables, own, ..SystemParts::default() };
    let fragments = injection::system_prompt(parts, ask.facts.system.prompt_mode);
    let mut omissions = omissions(ask, &collected);
    omissions.extend(left_out);
    SourceOutput { fragments: (!fragments.is_empty()).then_some(fragments), omissions, ..SourceOutput::default() }
}

fn preamble(ask: &SourceInput<'_>) -> SourceOutput {
    let collected = collected(ask);
    let messages = injection::preamble(&collected.items, ask.facts.system.prompt_mode);
    let message =
        |message: injection::PreambleMessage| GivenMessage { role: message.role.as_str(), fragments: message.content };
    SourceOutput { messages: messages.into_iter().map(message).collect(), ..SourceOutput::default() }
}

fn collected(ask: &SourceInput<'_>) -> Collected {
    ask.facts.system.injection.collect(ask.facts.system.prompt_mode, &ask.pack.layout.source_texts)
}

/// The omissions for items that are cut or missing.
fn omissions(ask: &SourceInput<'_>, collected: &Collected) -> Vec<Omission> {
    let omission = |injected: &Injected| {
        let reason = || injected.reason.clone().unwrap_or_default();
        let why = match injected.outcome {
            ItemOutcome::Injected if injected.truncated => {
                Why::Cut { kept: injected.bytes_after as u64, of: injected.bytes_before as u64 }
            }
            ItemOutcome::SkippedBlank => Why::Blank,
            ItemOutcome::SkippedDisabled => Why::SwitchedOff,
            ItemOutcome::Error => Why::Unusable { error: reason() },
            // A caller asked for this one by its name; a file that does not exist is usual.
            ItemOutcome::Missing if matches!(&*injected.source_type, "text_store" | "provided") => Why::Missing,
            ItemOutcome::Injected | ItemOutcome::SkippedMode | ItemOutcome::Missing => return None,
        };
        let what = injected.item_id.clone().unwrap_or_else(|| injected.source_type.clone().into_owned());
        Some(Omission { slot: ask.slot.clone(), what, why })
    };
    collected.injected.iter().filter_map(omission).collect()
}
