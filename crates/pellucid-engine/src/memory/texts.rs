//! Texts of the pack around what is remembered, and how summaries are asked for.

use super::layout::MemoryLayout;
use super::layout::MemoryStrategy;
use crate::fragment::Fragment;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::Template;
use crate::template::TemplatePlace;
use crate::template::Trim;

const SUMMARY: &str = "memory/summary.md";
const CARD: &str = "memory/card.md";
const CARDS: &str = "memory/cards.md";
const DETAILS: &str = "memory/details.md";
const FRAGMENTS: &str = "memory/fragments.md";
const PREVIOUS: &str = "memory/previous.md";

/// Texts are used without the newline at their end.
const fn shape(places: &'static [TemplatePlace]) -> Shape {
    Shape { trim: Trim::Newline, places }
}

/// The texts that a memory needs, with their placeholders.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[
    (SUMMARY, shape(&[])),
    (CARD, shape(&[])),
    (CARDS, shape(&[TemplatePlace::must("{{ cards }}")])),
    (DETAILS, shape(&[TemplatePlace::must("{{ summaries }}"), TemplatePlace::must("{{ details }}")])),
    (FRAGMENTS, shape(&[TemplatePlace::must("{{ fragments }}")])),
    (PREVIOUS, shape(&[TemplatePlace::must("{{ memory }}")])),
];

/// The texts of a pack around what is remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryTexts {
    cards: Template,
    details: Template,
    fragments: Template,
    previous: Template,
}

impl MemoryTexts {
    /// The texts of a pack whose layout has a memory.
    ///
    /// # Panics
    /// If the layout has none.
    pub fn of(pack: &Pack) -> Self {
        let text = |file| pack.template(file).clone();
        Self { cards: text(CARDS), details: text(DETAILS), fragments: text(FRAGMENTS), previous: text(PREVIOUS) }
    }

    /// Cards that are recalled, as the model sees them.
    pub fn cards(&self, cards: &str) -> String {
        filled(&self.cards, &[("{{ cards }}", cards)])
    }

    /// Summaries with the details that are recalled, as the model sees them.
    pub fn details(&self, summaries: &str, details: &str) -> String {
        filled(&self.details, &[("{{ summaries }}", summaries), ("{{ details }}", details)])
    }

    /// Fragments of the past, as the model sees them.
    pub fn fragments(&self, fragments: &str) -> String {
        filled(&self.fragments, &[("{{ fragments }}", fragments)])
    }

    /// A memory at the head of the conversation.
    pub fn previous(&self, memory: Fragment) -> Vec<Fragment> {
        self.previous.render(&[("{{ memory }}", vec![memory])])
    }
}

impl MemoryLayout {
    /// How a summary is asked for when no setting says it.
    pub fn prompt(&self, pack: &Pack) -> String {
        let file = if self.strategy() == MemoryStrategy::Cards { CARD } else { SUMMARY };
        concat(&pack.template(file).text())
    }
}

fn filled(template: &Template, values: &[(&str, &str)]) -> String {
    let values: Vec<_> = values.iter().map(|(place, text)| (*place, vec![Fragment::layout(*text)])).collect();
    concat(&template.render(&values))
}

#[cfg(test)]
impl MemoryTexts {
    /// Texts for tests of strategies, which no built-in pack has.
    pub(super) fn sample() -> &'static Self {
        static SAMPLE: std::sync::OnceLock<MemoryTexts> = std::sync::OnceLock::new();
        let text = |n: usize, text: &str| {
            let (file, shape) = TEMPLATES[n];
            Template::parse(&file.into(), &shape, text).unwrap()
        };
        SAMPLE.get_or_init(|| Self {
            cards: text(2, "<Past Events Summary>\n{{ cards }}\n</Past Events Summary>"),
            details: text(
                3,
                "<Past Events Summary>{{ summaries }}</Past Events Summary>\n<Past Events Details>{{ details }}</Past Events Details>",
            ),
            fragments: text(4, "past events: {{ fragments }}"),
            previous: text(5, "[{{ memory }}]"),
        })
    }
}
