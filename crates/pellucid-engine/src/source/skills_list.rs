//! The skills that the model may choose: a line for each, and how to use them.
//!
//! With a budget, lines come in order; the first that does not fit has its description cut, and
//! those for which not even name and path fit are left out. The lines alone are counted.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::cut::slot::MARK;
use crate::cut::slot::kept_beside_mark;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::pack::SameName;
use crate::skills::Skill;
use crate::template::Shape;

const INTRO: &str = "skills/intro.md";
const USAGE: &str = "skills/usage.md";

pub(super) const SOURCE: Source = Source {
    name: "skills_list",
    kind: SourceKind::Entries,
    templates: &[(INTRO, Shape::VERBATIM), (USAGE, Shape::VERBATIM)],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let skills = &ask.facts.world.skills;
    let mut omissions = Vec::new();
    let mut omit = |what: &str, why| omissions.push(Omission { slot: ask.slot.clone(), what: what.to_owned(), why });
    for problem in &skills.problems {
        omit(&problem.path, Why::Unusable { error: problem.fault.to_string() });
    }
    let first = match ask.pack.layout.skills.same_name {
        SameName::All => None,
        SameName::First => Some(skills.first_by_name()),
    };
    let mut room = Room { left: ask.budget.map_or(usize::MAX, |budget| budget.bytes) };
    let mut lines = Vec::new();
    for skill in skills.all() {
        let Seen { line, why } = match barred(skill, first.as_ref()) {
            Some(why) => Seen { line: None, why: Some(why) },
            None => room.line(skill),
        };
        lines.extend(line);
        if let Some(why) = why {
            omit(&skill.path, why);
        }
    }
    let fragments = (!lines.is_empty()).then(|| section(ask, lines));
    SourceOutput { fragments, omissions, ..SourceOutput::default() }
}

fn section(ask: &SourceInput<'_>, lines: Vec<Fragment>) -> Vec<Fragment> {
    let mut fragments = Vec::with_capacity(lines.len() + 5);
    fragments.push(Fragment::layout("## Skills\n"));
    fragments.extend(ask.pack.template(INTRO).text());
    fragments.push(Fragment::layout("\n### Available skills\n"));
    fragments.extend(lines);
    fragments.push(Fragment::layout("### How to use skills\n"));
    fragments.extend(ask.pack.template(USAGE).text());
    fragments
}

/// Why a skill is not offered to the model.
fn barred(skill: &Skill, first: Option<&BTreeMap<&str, &Skill>>) -> Option<Why> {
    if !skill.is_enabled() {
        return Some(Why::SwitchedOff);
    }
    if !skill.is_implicit() {
        return Some(Why::OnlyOnMention);
    }
    let winner = first?.get(skill.name.as_str())?;
    (winner.path != skill.path).then(|| Why::Shadowed { by: winner.path.clone() })
}

/// The rest of the budget.
struct Room {
    left: usize,
}

/// The line of a skill that the model sees.
struct Seen {
    line: Option<Fragment>,
    why: Option<Why>,
}

impl Room {
    fn line(&mut self, skill: &Skill) -> Seen {
        let whole = line(skill, &skill.description);
        if whole.text.len() <= self.left {
            self.left -= whole.text.len();
            return Seen { line: Some(whole), why: None };
        }
        let of = skill.description.len();
        let around = whole.text.len() - of;
        let kept = kept_beside_mark(&skill.description, self.left.saturating_sub(around));
        if kept == 0 {
            return Seen { line: None, why: Some(Why::OverBudget { of: whole.text.len() as u64 }) };
        }
        let cut = line(skill, &format!("{}{MARK}", &skill.description[..kept]));
        self.left -= cut.text.len();
        Seen { line: Some(cut), why: Some(Why::Cut { kept: kept as u64, of: of as u64 }) }
    }
}

fn line(skill: &Skill, description: &str) -> Fragment {
    let path = match skill.path.contains('\\') {
        true => Cow::Owned(skill.path.replace('\\', "/")),
        false => Cow::Borrowed(skill.path.as_str()),
    };
    let text = ["- ", &skill.name, ": ", description, " (file: ", &path, ")\n"].concat();
    Fragment { origin: Origin::Skill { path: skill.path.as_str().into() }, text }
}
