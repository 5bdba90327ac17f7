//! The skills that a person's input asks for, and the environment variables that they need.
//!
//! A value that a person gives for a variable stays in memory: commands receive it, and it is written into no file, event
//! or log.

use pellucid_engine::skills::select;
use pellucid_engine::skills::select::Selecting;
use pellucid_engine::skills::variables;
use pellucid_engine::skills::variables::NeededVariable;
use pellucid_engine::transcript::Draft;
use pellucid_engine::turn::questions::Audience;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserAnswers;
use pellucid_tools::situation::SkillVariables;

use super::Session;
use super::apps;
use super::setup::Setup;
use crate::child;
use crate::gather::Gathered;
use crate::skills;
use crate::skills::Wanted;

/// The skills that a person asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct AskedSkills {
    /// The messages that follow the person's message.
    messages: Vec<Draft>,
    /// The variables that skills need, as far as they are known.
    variables: SkillVariables,
}

/// Where skills are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the facts of the session's start.
    Facts,
    /// In the folders, because skills may have come or gone since the first turn.
    Folders,
}

impl AskedSkills {
    /// Finds the skills that an input asks for. Gives warnings about skills that cannot be read.
    fn find(&mut self, setup: &Setup, inputs: &[UserInput], place: Place) -> Vec<String> {
        let wanted = if select::may_select(inputs) { wanted(setup, inputs, place) } else { Wanted::default() };
        self.messages = wanted.messages;
        wanted.warnings
    }

    /// Takes variables from our environment. Gives those that are needed and not there.
    fn missing_variables(&mut self, setup: &Setup, needed: Vec<NeededVariable>) -> Vec<NeededVariable> {
        let mut missing = Vec::new();
        for needed in needed {
            if self.variables.0.contains_key(&needed.name) {
                continue;
            }
            match setup.sources.env.text(&needed.name) {
                Some(value) => {
                    self.variables.0.insert(needed.name, value);
                }
                None => missing.push(needed),
            }
        }
        missing
    }

    /// The variables that are known.
    pub(super) fn variables(&self) -> &SkillVariables {
        &self.variables
    }
}

impl Session {
    /// Records a person's input, and finds the skills that it asks for. Gives warnings about skills that cannot be read.
    pub fn record_input(&mut self, inputs: &[UserInput]) -> Vec<EventMessage> {
        let place = self.skill_place();
        let warnings = self.skills.find(&self.setup, inputs, place);
        self.named_apps.find(&self.setup, inputs, &self.skills.messages);
        self.record_message(inputs);
        warnings.into_iter().map(|message| EventMessage::Warning { message }).collect()
    }

    /// Records the skills that the last input asked for.
    pub fn record_skills(&mut self) {
        for message in std::mem::take(&mut self.skills.messages) {
            self.record_draft(&message);
        }
    }

    /// The question for variables that an input needs, if a person can answer it. A variable of our own environment is
    /// taken from there.
    pub(crate) fn variable_question(&mut self, turn_id: &TurnId, inputs: &[UserInput]) -> Option<RequestUserInput> {
        let facts = &self.setup.gathered.facts;
        if !facts.settings.features.is_on(Feature::SkillEnvVarDependencyPrompt) || !select::may_select(inputs) {
            return None;
        }
        let needed = needed_variables(&self.setup, inputs, self.skill_place());
        let missing = self.skills.missing_variables(&self.setup, needed);
        let origin = &self.setup.origin;
        let can_answer = matches!(origin, child::StartedBy::Client(_)) && origin.audience() == Audience::Client;
        (can_answer && !missing.is_empty()).then(|| variables::question(&self.setup.pack, turn_id, &missing))
    }

    /// Whether the value of a variable is known.
    pub(crate) fn has_skill_variables(&self) -> bool {
        !self.skills.variables.0.is_empty()
    }

    /// Takes over the values that a person gave.
    pub(crate) fn learn_variables(&mut self, answers: &UserAnswers) {
        self.skills.variables.0.extend(variables::given(answers));
    }

    fn skill_place(&self) -> Place {
        if self.requests.has_last() { Place::Folders } else { Place::Facts }
    }
}

fn wanted(setup: &Setup, inputs: &[UserInput], place: Place) -> Wanted {
    let connectors = apps::slugs(setup);
    let selecting = Selecting { same_name: setup.pack.layout.skills.same_name, connectors: &connectors };
    let Gathered { facts, skill_search, .. } = &setup.gathered;
    match place {
        Place::Folders => skills::wanted(&skill_search.load(), inputs, &selecting, None),
        Place::Facts => skills::wanted(&facts.world.skills, inputs, &selecting, setup.sources.project_at.as_deref()),
    }
}

fn needed_variables(setup: &Setup, inputs: &[UserInput], place: Place) -> Vec<NeededVariable> {
    let connectors = apps::slugs(setup);
    let selecting = Selecting { same_name: setup.pack.layout.skills.same_name, connectors: &connectors };
    let Gathered { facts, skill_search, .. } = &setup.gathered;
    match place {
        Place::Folders => skills::variables(&skill_search.load(), inputs, &selecting),
        Place::Facts => skills::variables(&facts.world.skills, inputs, &selecting),
    }
}
