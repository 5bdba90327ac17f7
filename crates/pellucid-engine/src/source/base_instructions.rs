//! The base instructions: an override, else the texts of the model's catalogue entry, else the
//! pack's texts for the model, else the pack's default.

use pellucid_protocol::feature::Feature;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::model::ModelMessages;
use pellucid_protocol::settings::Personality;

use super::Source;
use super::SourceInput;
use super::SourceKind;
use super::SourceOutput;
use crate::facts::Facts;
use crate::facts::Provided;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::fragment::concat;
use crate::pack::ModelEntry;
use crate::pack::ModelTexts;
use crate::pack::OwnTexts;
use crate::pack::Pack;
use crate::template::Shape;

pub(super) const DEFAULT: &str = "base/default.md";

const TONE: &str = ModelTexts::TONE;

pub(super) const SOURCE: Source =
    Source { name: "base_instructions", kind: SourceKind::Text, templates: &[(DEFAULT, Shape::VERBATIM)], give };

fn give(ask: &SourceInput<'_>) -> SourceOutput {
    let Some(given) = given(ask.facts) else {
        return SourceOutput::text(instructions_for(ask.facts, ask.pack, ask.facts.settings.personality));
    };
    // Equal texts need no omission.
    let recorded = ask.facts.world.recorded_instructions.as_ref().filter(|recorded| recorded.text != given.text);
    let own = instructions_for(ask.facts, ask.pack, ask.facts.settings.personality);
    let is_own = concat(&own) == given.text;
    let loser = (!is_own).then(|| format!("the instructions of the model {}", ask.facts.settings.model.slug));
    let losers = recorded.map(|recorded| recorded.place.clone()).into_iter().chain(loser);
    let why = Why::Replaced { by: given.place.clone() };
    let omissions = losers.map(|what| Omission { slot: ask.slot.clone(), what, why: why.clone() }).collect();
    let is_recorded = ask.facts.settings.base_instructions.is_none();
    let fragments = &ask.facts.world.recorded_fragments;
    let text = if is_recorded && concat(fragments) == given.text {
        fragments.clone()
    } else if is_recorded && is_own {
        // A session that has sent nothing yet kept no origins, such as a copy; the same bytes are here.
        own
    } else {
        vec![Fragment::provided(&given.place, given.text.as_str())]
    };
    SourceOutput { omissions, ..SourceOutput::text(text) }
}

/// Instructions that were given: now, or when the session began.
fn given(facts: &Facts) -> Option<&Provided> {
    facts.settings.base_instructions.as_ref().or(facts.world.recorded_instructions.as_ref())
}

/// A model's own instructions in this tone.
fn instructions_for(facts: &Facts, pack: &Pack, personality: Option<Personality>) -> Vec<Fragment> {
    if let Some(messages) = Messages::of(facts, pack)
        && let Some(filled) = messages.fill(personality)
    {
        return filled;
    }
    if let Some(text) = &facts.settings.model.base_instructions {
        return vec![Fragment { origin: Origin::Catalogue, text: text.clone() }];
    }
    match pack.model_texts(&facts.settings.model.slug) {
        Some(OwnTexts::Entry(ModelEntry { base_instructions: Some(text), file, .. })) => {
            vec![Fragment::pack(file, text.as_str())]
        }
        _ => pack.template(DEFAULT).text(),
    }
}

/// The text for a tone, where the model has one.
pub(super) fn tone(facts: &Facts, pack: &Pack, personality: Personality) -> Option<Vec<Fragment>> {
    Messages::of(facts, pack)?.tone(Some(personality))
}

/// Whether the model's own instructions carry every tone.
pub(super) fn carries_tones(facts: &Facts, pack: &Pack) -> bool {
    Messages::of(facts, pack).is_some_and(|messages| messages.is_complete())
}

/// Whether the instructions that a pack or the catalogue has for a model carry every tone.
pub fn offers_tones(model: &ModelInfo, pack: &Pack) -> bool {
    Messages::of_model(model, pack).is_some_and(|messages| messages.is_complete())
}

/// Whether a tone is wanted of a model for which neither the catalogue nor the pack has a template that carries tones.
pub fn lacks_tones(facts: &Facts, pack: &Pack) -> bool {
    let is_wanted = facts.settings.personality.is_some() && facts.settings.features.is_on(Feature::Personality);
    is_wanted && facts.settings.base_instructions.is_none() && Messages::of_model(&facts.settings.model, pack).is_none()
}

/// A template with tones, from the model catalogue or the pack.
struct Messages {
    template: Option<Vec<Fragment>>,
    tones: Tones,
}

#[derive(Default)]
struct Tones {
    default: Option<Vec<Fragment>>,
    friendly: Option<Vec<Fragment>>,
    pragmatic: Option<Vec<Fragment>>,
}

impl Messages {
    fn of(facts: &Facts, pack: &Pack) -> Option<Self> {
        if facts.settings.base_instructions.is_some() || !facts.settings.features.is_on(Feature::Personality) {
            return None;
        }
        Self::of_model(&facts.settings.model, pack)
    }

    fn of_model(model: &ModelInfo, pack: &Pack) -> Option<Self> {
        if let Some(messages) = &model.model_messages {
            return Some(Self::given(messages, &Origin::Catalogue));
        }
        if model.base_instructions.is_some() {
            return None;
        }
        match pack.model_texts(&model.slug)? {
            OwnTexts::Entry(entry) => {
                let origin = Origin::Pack { file: entry.file.clone() };
                entry.model_messages.as_ref().map(|messages| Self::given(messages, &origin))
            }
            OwnTexts::Files(texts) => Some(Self::from_files(texts, pack)),
        }
    }

    fn is_complete(&self) -> bool {
        let Self { template, tones } = self;
        let has_place = template.iter().flatten().any(|fragment| fragment.text.contains(TONE));
        has_place && tones.default.is_some() && tones.friendly.is_some() && tones.pragmatic.is_some()
    }

    fn given(messages: &ModelMessages, origin: &Origin) -> Self {
        let fragments =
            |text: &Option<String>| Some(vec![Fragment { origin: origin.clone(), text: text.as_ref()?.clone() }]);
        let tones = messages.instructions_variables.as_ref().map(|variables| Tones {
            default: fragments(&variables.personality_default),
            friendly: fragments(&variables.personality_friendly),
            pragmatic: fragments(&variables.personality_pragmatic),
        });
        Self { template: fragments(&messages.instructions_template), tones: tones.unwrap_or_default() }
    }

    fn from_files(texts: &ModelTexts, pack: &Pack) -> Self {
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
        let tone = |file: &str| Some(pack.template(file).text());
        let tones =
            Tones { default: tone(&texts.default), friendly: tone(&texts.friendly), pragmatic: tone(&texts.pragmatic) };
        Self { template: Some(template), tones }
    }

    /// The instructions in this tone, where there is a template for them.
    fn fill(&self, personality: Option<Personality>) -> Option<Vec<Fragment>> {
        let tone = self.tone(personality).unwrap_or_default();
        Some(self.template.as_ref()?.iter().flat_map(|fragment| replace(fragment, &tone)).collect())
    }

    fn tone(&self, personality: Option<Personality>) -> Option<Vec<Fragment>> {
        match personality {
            Some(Personality::None) => Some(Vec::new()),
            Some(Personality::Friendly) => self.tones.friendly.clone(),
            Some(Personality::Pragmatic) => self.tones.pragmatic.clone(),
            None => self.tones.default.clone(),
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
    let session = match given(facts) {
        Some(given) => given.text.clone(),
        None => concat(&instructions_for(facts, pack, facts.settings.personality)),
    };
    carries_tones(facts, pack) && session == concat(&instructions_for(facts, pack, facts.settings.personality))
}
