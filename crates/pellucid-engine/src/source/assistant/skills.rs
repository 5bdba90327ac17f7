//! The skills of an assistant: how to use them, and the list.

use super::Lines;
use super::tooling;
use super::with_assistant;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::skills::Skill;
use crate::source::Source;
use crate::source::SourceInput;
use crate::source::SourceKind;
use crate::source::SourceOutput;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;
use crate::utf16;

const SECTION: &str = "sections/skills.md";
const INTRO: &str = "sections/skills_intro.md";
const READ: &str = "{{ read }}";

/// How many skills are listed.
const SKILLS_MAX: usize = 150;

/// How many units the list has.
const UNITS_MAX: usize = 30_000;

pub(super) const SOURCE: Source = Source {
    name: "assistant_skills",
    kind: SourceKind::Text,
    templates: &[(SECTION, Shape { trim: Trim::Newline, places: &[TemplatePlace::may(READ)] }), (INTRO, super::LINES)],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    with_assistant(ask, |_| {
        let text = skills_text(ask.pack, ask.facts);
        if utf16::is_blank(&concat(&text)) {
            return SourceOutput::nothing();
        }
        let tools = tooling::tool_names(ask.pack, ask.facts);
        let read = vec![Fragment::fact("tools", tools.spelled("read").unwrap_or("read"))];
        let mut lines = Lines::default();
        lines.push(ask.pack.template(SECTION).render(&[(READ, read)]));
        lines.push(trimmed(text));
        lines.given()
    })
}

/// The list of skills: the given one, else a list of the skills that were found.
pub fn skills_text(pack: &Pack, facts: &Facts) -> Vec<Fragment> {
    if let Some(given) = facts.system.assistant.as_deref().and_then(|it| it.skills_prompt.as_ref()) {
        return vec![Fragment::provided("skills", given.as_str())];
    }
    let offered = facts.world.skills.all().iter().filter(|skill| skill.is_enabled() && skill.is_implicit());
    let blocks: Vec<Fragment> = offered.take(SKILLS_MAX).map(block).collect();
    let mut n_units = 0;
    let fits = |block: &&Fragment| {
        n_units += utf16::len(&block.text);
        n_units <= UNITS_MAX
    };
    let blocks: Vec<Fragment> = blocks.iter().take_while(fits).cloned().collect();
    if blocks.is_empty() {
        return Vec::new();
    }
    let mut text = vec![Fragment::layout("\n\n")];
    text.extend(pack.template(INTRO).text());
    text.push(Fragment::layout("\n\n<available_skills>\n"));
    text.extend(blocks);
    text.push(Fragment::layout("</available_skills>"));
    text
}

fn block(skill: &Skill) -> Fragment {
    let tag = |name: &str, text: &str| format!("    <{name}>{}</{name}>\n", escaped(text));
    let (name, description) = (tag("name", &skill.name), tag("description", &skill.description));
    let text = format!("  <skill>\n{name}{description}{}  </skill>\n", tag("location", &skill.path));
    Fragment { origin: Origin::Skill { path: skill.path.as_str().into() }, text }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&apos;")
}

/// A text without white space at its ends.
fn trimmed(mut fragments: Vec<Fragment>) -> Vec<Fragment> {
    while let Some(first) = fragments.first_mut() {
        first.text = first.text.trim_start_matches(utf16::is_space).to_owned();
        if !first.text.is_empty() {
            break;
        }
        fragments.remove(0);
    }
    while let Some(last) = fragments.last_mut() {
        last.text.truncate(utf16::trim_end(&last.text).len());
        if !last.text.is_empty() {
            break;
        }
        fragments.pop();
    }
    fragments
}
