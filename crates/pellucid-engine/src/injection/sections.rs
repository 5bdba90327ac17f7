//! How items become a system prompt and messages before the history.
//!
//! Memory has order 200 and skills have order 800; among equals memory comes before items and items come before
//! skills. Blank sections are left out, and no section is trimmed.

use pellucid_protocol::settings::PromptMode;

use super::item::InjectionItem;
use super::item::ItemTarget;
use super::item::PreambleRole;
use super::scalar;
use super::substitute;
use crate::fragment::Fragment;
use crate::fragment::concat;

/// The order of memory among sections.
const MEMORY_ORDER: i64 = 200;

/// The order of skills among sections.
const SKILLS_ORDER: i64 = 800;

/// The text between two sections.
const BETWEEN: &str = "\n\n";

/// The sections of a system prompt.
#[derive(Debug, Clone, Default)]
pub struct SystemParts<'a> {
    /// The text before all sections.
    pub base: Vec<Fragment>,
    /// Names that texts may have in double braces, with their values, in order.
    pub variables: &'a [(String, String)],
    /// The texts of recalled memories.
    pub memory: &'a [String],
    /// The items of all targets, in the order in which they were collected.
    pub items: &'a [InjectionItem],
    /// The skills; absent when there is no place where they could be, or it cannot be read.
    pub skills: Option<&'a [SectionSkill]>,
}

/// A skill as its section lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SectionSkill {
    /// The name of the skill.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The tools it may use.
    pub allowed_tools: Vec<String>,
    /// The path of the skill, if the model should see it.
    pub location: Option<String>,
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
    let mut sections: Vec<(i64, Vec<Fragment>)> = Vec::new();
    if !parts.memory.is_empty() && mode != PromptMode::None {
        sections.push((MEMORY_ORDER, memory_section(parts.memory)));
    }
    let items = parts.items.iter().filter(|item| item.target == ItemTarget::SystemSection && item.is_in(mode));
    sections.extend(items.map(|item| {
        let variables = if item.fills_variables { parts.variables } else { &[] };
        (item.order, filled(item.content.clone(), variables))
    }));
    if let Some(skills) = parts.skills.filter(|_| mode != PromptMode::None) {
        sections.push((SKILLS_ORDER, skills_section(skills)));
    }
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
fn filled(fragments: Vec<Fragment>, variables: &[(String, String)]) -> Vec<Fragment> {
    let mut text = concat(&fragments);
    for (name, value) in variables {
        if let Ok(next) = substitute::with_escapes(&text, &format!("{{{{{name}}}}}"), value) {
            text = next;
        }
    }
    if text == concat(&fragments) { fragments } else { vec![Fragment::provided("variables", text)] }
}

fn memory_section(memory: &[String]) -> Vec<Fragment> {
    let mut section = vec![Fragment::layout("<relevant_context>\n")];
    for (n, text) in memory.iter().enumerate() {
        if n > 0 {
            section.push(Fragment::layout("\n\n"));
        }
        section.push(Fragment::provided("memory", text.as_str()));
    }
    section.push(Fragment::layout("\n</relevant_context>"));
    section
}

fn skills_section(skills: &[SectionSkill]) -> Vec<Fragment> {
    let mut section = vec![Fragment::layout("<available_skills>\n")];
    for skill in skills {
        let mut attributes = vec![("name", skill.name.clone()), ("description", skill.description.clone())];
        if !skill.allowed_tools.is_empty() {
            attributes.push(("allowed_tools", skill.allowed_tools.join(" ")));
        }
        attributes.extend(skill.location.clone().map(|location| ("location", location)));
        let written: String =
            attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", escaped(value))).collect();
        section.push(Fragment::fact("skills", format!("  <skill{written} />\n")));
    }
    section.push(Fragment::layout("</available_skills>"));
    section
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
