//! How items become a system prompt and messages before the history.
//!
//! Sections stand in the order of their numbers; among equals those of the layout come before or after items, as the
//! layout says. Blank sections are left out, and no section is trimmed.

use pellucid_protocol::settings::PromptMode;

use super::item::InjectionItem;
use super::item::ItemTarget;
use super::item::PreambleRole;
use super::scalar;
use super::substitute;
use crate::fragment::Fragment;
use crate::fragment::concat;

/// The text between two sections.
const BETWEEN: &str = "\n\n";

/// The sections of a system prompt.
#[derive(Debug, Clone, Default)]
pub struct SystemParts<'a> {
    /// The text before all sections.
    pub base: Vec<Fragment>,
    /// Names that texts may have in double braces, with their values, in order.
    pub variables: &'a [(String, String)],
    /// The items of all targets, in the order in which they were collected.
    pub items: &'a [InjectionItem],
    /// The layout's own sections.
    pub own: Vec<OwnSection>,
}

/// A section of the layout, beside those of items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnSection {
    /// The position among the sections.
    pub order: i64,
    /// Whether items of the same order come first.
    pub after_items: bool,
    /// The text of the section.
    pub content: Vec<Fragment>,
}

/// A message before the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreambleMessage {
    /// The role of the message.
    pub role: PreambleRole,
    /// The text of the message.
    pub content: Vec<Fragment>,
}

/// Puts a system prompt together.
pub fn system_prompt(parts: SystemParts<'_>, mode: PromptMode) -> Vec<Fragment> {
    let mut prompt = filled(parts.base, parts.variables);
    let (after, before): (Vec<OwnSection>, Vec<OwnSection>) = parts.own.into_iter().partition(|own| own.after_items);
    let own = |own: OwnSection| (own.order, own.content);
    let mut sections: Vec<(i64, Vec<Fragment>)> = before.into_iter().map(own).collect();
    let items = parts.items.iter().filter(|item| item.target == ItemTarget::SystemSection && item.is_in(mode));
    sections.extend(items.map(|item| {
        let variables = if item.fills_variables { parts.variables } else { &[] };
        (item.order, filled(item.content.clone(), variables))
    }));
    sections.extend(after.into_iter().map(own));
    sections.sort_by_key(|(order, _)| *order);
    for (_, section) in sections.into_iter().filter(|(_, section)| !blank(section)) {
        if prompt.iter().any(|fragment| !fragment.text.is_empty()) {
            prompt.push(Fragment::layout(BETWEEN));
        }
        prompt.extend(section);
    }
    prompt
}

/// The messages before the history, in order.
pub fn preamble(items: &[InjectionItem], mode: PromptMode) -> Vec<PreambleMessage> {
    let is_there =
        |item: &&InjectionItem| item.target == ItemTarget::PreambleMessage && item.is_in(mode) && !blank(&item.content);
    let mut there: Vec<&InjectionItem> = items.iter().filter(is_there).collect();
    there.sort_by_key(|item| item.order);
    let message = |item: &InjectionItem| Some(PreambleMessage { role: item.role?, content: item.content.clone() });
    there.into_iter().filter_map(message).collect()
}

/// Whether the fragments are only white space.
pub fn blank(fragments: &[Fragment]) -> bool {
    fragments.iter().all(|fragment| scalar::is_blank(&fragment.text))
}

/// A text with its variables filled, one after the other. A value that cannot be inserted leaves
/// its places as they are.
pub(crate) fn filled(fragments: Vec<Fragment>, variables: &[(String, String)]) -> Vec<Fragment> {
    let mut text = concat(&fragments);
    for (name, value) in variables {
        if let Ok(next) = substitute::with_escapes(&text, &format!("{{{{{name}}}}}"), value) {
            text = next;
        }
    }
    if text == concat(&fragments) { fragments } else { vec![Fragment::provided("variables", text)] }
}
