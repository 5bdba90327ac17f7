//! The tone, for models whose base instructions do not carry it already.

use super::Ask;
use super::Given;
use super::Source;
use super::base_instructions;
use crate::template::Place;
use crate::template::Shape;

const WRAPPER: &str = "personality.md";
const INTRO: &str = "personality/intro.md";

pub(super) const SOURCE: Source = Source {
    name: "personality",
    templates: &[
        (WRAPPER, Shape::with(&[Place::may("{{ intro }}"), Place::must("{{ message }}")])),
        (INTRO, Shape::VERBATIM),
    ],
    give,
};

fn give(ask: &Ask<'_>) -> Given {
    let Some(personality) = ask.facts.personality else {
        return Given::nothing();
    };
    if base_instructions::is_baked_in(ask.facts, ask.pack) {
        return Given::nothing();
    }
    match base_instructions::tone(ask.facts, ask.pack, personality) {
        Some(message) if message.iter().any(|fragment| !fragment.text.is_empty()) => {
            let intro = ask.pack.template(INTRO).text();
            let values = [("{{ intro }}", intro), ("{{ message }}", message)];
            Given::text(ask.pack.template(WRAPPER).render(&values))
        }
        _ => Given::nothing(),
    }
}
