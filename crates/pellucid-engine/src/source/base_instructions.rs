//! The base instructions: an override, else the texts of the model's catalogue entry, else the
//! pack's texts for the model, else the pack's default.

use pellucid_protocol::feature::Feature;
use pellucid_protocol::model::InstructionVariables;
use pellucid_protocol::settings::Personality;

use super::Ask;
use super::Given;
use super::Source;
use crate::facts::Facts;
use crate::fragment::Fragment;
use crate::fragment::Origin;
use crate::fragment::concat;
use crate::pack::ModelTexts;
use crate::pack::Pack;
use crate::template::Shape;

const DEFAULT: &str = "base/default.md";

const TONE: &str = ModelTexts::TONE;

pub(super) const SOURCE: Source = Source { name: "base_instructions", templates: &[(DEFAULT, Shape::VERBATIM)], give };

fn give(ask: &Ask<'_>) -> Given {
    let fragments = match &ask.facts.base_instructions {
        Some(given) => vec![Fragment::provided(&given.place, given.text.as_str())],
        None => instructions_for(ask.facts, ask.pack, ask.facts.personality),
    };
    Given::text(fragments)
}

/// A model's own instructions in this tone.
pub fn instructions_for(facts: &Facts, pack: &Pack, personality: Option<Personality>) -> Vec<Fragment> {
    match Messages::of(facts, pack) {
        Some(messages) => messages.fill(personality),
        None => match &facts.model.base_instructions {
            Some(text) => vec![Fragment { origin: Origin::Catalogue, text: text.clone() }],
            None => pack.template(DEFAULT).text(),
        },
    }
}

/// The text for a tone, where the model has one.
pub(super) fn tone(facts: &Facts, pack: &Pack, personality: Personality) -> Option<Vec<Fragment>> {
    Messages::of(facts, pack)?.tone(Some(personality))
}

/// Whether the model's own instructions carry every tone.
pub(super) fn carries_tones(facts: &Facts, pack: &Pack) -> bool {
    match Messages::of(facts, pack) {
        Some(Messages::Catalogue { template: Some(template), variables: Some(variables) }) => {
            let all =
                [&variables.personality_default, &variables.personality_friendly, &variables.personality_pragmatic];
            template.contains(TONE) && all.iter().all(|tone| tone.is_some())
        }
        Some(Messages::Pack { template, .. }) => template.iter().any(|fragment| fragment.text.contains(TONE)),
        _ => false,
    }
}

/// A template with tones, from whoever has one.
enum Messages<'a> {
    Catalogue { template: Option<&'a str>, variables: Option<&'a InstructionVariables> },
    Pack { template: Vec<Fragment>, texts: &'a ModelTexts, pack: &'a Pack },
}

impl<'a> Messages<'a> {
    fn of(facts: &'a Facts, pack: &'a Pack) -> Option<Self> {
        if facts.base_instructions.is_some() || !facts.features.is_on(Feature::Personality) {
            return None;
        }
        if let Some(messages) = &facts.model.model_messages {
            return Some(Self::Catalogue {
                template: messages.instructions_template.as_deref(),
                variables: messages.instructions_variables.as_ref(),
            });
        }
        if facts.model.base_instructions.is_some() {
            return None;
        }
        let texts = pack.model_texts(&facts.model.slug)?;
        let mut template = Vec::new();
        for file in &texts.template {
            if !template.is_empty() {
                template.push(Fragment::layout("\n\n"));
            }
            if file == TONE {
                template.push(Fragment::layout(TONE));
            } else {
                template.extend(pack.template(file).text());
            }
        }
        Some(Self::Pack { template, texts, pack })
    }

    fn fill(&self, personality: Option<Personality>) -> Vec<Fragment> {
        let template = match self {
            Self::Catalogue { template: Some(template), .. } => {
                vec![Fragment { origin: Origin::Catalogue, text: (*template).to_owned() }]
            }
            Self::Catalogue { template: None, .. } => Vec::new(),
            Self::Pack { template, .. } => template.clone(),
        };
        let tone = self.tone(personality).unwrap_or_default();
        template.iter().flat_map(|fragment| replace(fragment, &tone)).collect()
    }

    fn tone(&self, personality: Option<Personality>) -> Option<Vec<Fragment>> {
        if personality == Some(Personality::None) {
            return Some(Vec::new());
        }
        match self {
            Self::Catalogue { variables, .. } => {
                let variables = (*variables)?;
                let text = match personality {
                    Some(Personality::Friendly) => &variables.personality_friendly,
                    Some(Personality::Pragmatic) => &variables.personality_pragmatic,
                    Some(Personality::None) | None => &variables.personality_default,
                };
                text.as_ref().map(|text| vec![Fragment { origin: Origin::Catalogue, text: text.clone() }])
            }
            Self::Pack { texts, pack, .. } => Some(match personality {
                Some(Personality::Friendly) => pack.template(&texts.friendly).text(),
                Some(Personality::Pragmatic) => pack.template(&texts.pragmatic).text(),
                Some(Personality::None) | None => pack.template(&texts.default).text(),
            }),
        }
    }
}

/// Puts the tone in its place, keeping the origins of what is around it.
fn replace(fragment: &Fragment, tone: &[Fragment]) -> Vec<Fragment> {
    let mut fragments = Vec::new();
    for (n, text) in fragment.text.split(TONE).enumerate() {
        if n > 0 {
            fragments.extend(tone.iter().cloned());
        }
        if !text.is_empty() {
            fragments.push(Fragment { origin: fragment.origin.clone(), text: text.to_owned() });
        }
    }
    fragments
}

/// Whether the session's instructions already speak in the turn's tone.
pub(super) fn is_baked_in(facts: &Facts, pack: &Pack) -> bool {
    let session = match &facts.base_instructions {
        Some(given) => given.text.clone(),
        None => concat(&instructions_for(facts, pack, facts.personality)),
    };
    carries_tones(facts, pack) && session == concat(&instructions_for(facts, pack, facts.personality))
}
