//! The tone, for models whose base instructions do not carry it already.

use pellucid_protocol::feature::Feature;

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use super::base_instructions;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::TemplatePlace;

const WRAPPER: &str = "personality.md";
const INTRO: &str = "personality/intro.md";

pub(super) const SOURCE: Source = Source {
    name: "personality",
    kind: SourceKind::Text,
    templates: &[
        (WRAPPER, Shape::with(&[TemplatePlace::may("{{ intro }}"), TemplatePlace::must("{{ message }}")])),
        (INTRO, Shape::VERBATIM),
        // The tone is compared with that of the instructions.
        (base_instructions::DEFAULT, Shape::VERBATIM),
    ],
    give,
};

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    // The base instructions of a session stay as they are when its tone changes.
    if ask.before.is_none() && base_instructions::is_baked_in(ask.facts, ask.pack) {
        return SourceOutput::nothing();
    }
    personality_message(ask.facts, ask.pack).map_or_else(SourceOutput::nothing, SourceOutput::text)
}

/// The message about the tone, if the model has a text for it.
fn personality_message(facts: &Facts, pack: &Pack) -> Option<Vec<Fragment>> {
    if !facts.settings.features.is_on(Feature::Personality) {
        return None;
    }
    let message = base_instructions::tone(facts, pack, facts.settings.personality?)?;
    if message.iter().all(|fragment| fragment.text.is_empty()) {
        return None;
    }
    let values = [("{{ intro }}", pack.template(INTRO).text()), ("{{ message }}", message)];
    Some(pack.template(WRAPPER).render(&values))
}
