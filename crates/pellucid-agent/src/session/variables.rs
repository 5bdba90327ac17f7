//! Environment variables that skills of an input need, and do not find.
//!
//! A value that a person gives stays in memory: it goes to commands, and into no file, event or log.

use pellucid_engine::skills::variables;
use pellucid_engine::skills::variables::NeededVariable;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserAnswers;

use super::*;

/// The face that has nobody to ask.
const ALONE: &str = "exec";

impl Session {
    /// The question for variables that an input needs, if there is somebody who can answer it. What
    /// our own environment has is taken from there.
    pub(crate) fn variable_question(&mut self, turn_id: &TurnId, inputs: &[UserInput]) -> Option<RequestUserInput> {
        let facts = &self.setup.gathered.facts;
        if !facts.features.is_on(Feature::SkillEnvVarDependencyPrompt) || !select::may_select(inputs) {
            return None;
        }
        let mut missing: Vec<NeededVariable> = Vec::new();
        for needed in self.needed_variables(inputs) {
            if self.skill_variables.0.contains_key(&needed.name) {
                continue;
            }
            match self.setup.sources.env.text(&needed.name) {
                Some(value) => {
                    self.skill_variables.0.insert(needed.name, value);
                }
                None => missing.push(needed),
            }
        }
        let can_answer = matches!(self.setup.origin, child::Origin::Face(face) if face != ALONE);
        (can_answer && !missing.is_empty()).then(|| variables::question(&self.setup.pack, turn_id, &missing))
    }

    fn needed_variables(&self, inputs: &[UserInput]) -> Vec<NeededVariable> {
        let same_name = self.setup.pack.layout.skills.same_name;
        let Gathered { facts, skill_search, .. } = &self.setup.gathered;
        if self.last.is_some() {
            skills::variables(&skill_search.load(), inputs, same_name)
        } else {
            skills::variables(&facts.skills, inputs, same_name)
        }
    }

    /// Whether some are known.
    pub(crate) fn has_skill_variables(&self) -> bool {
        !self.skill_variables.0.is_empty()
    }

    /// Takes over what a person answered.
    pub(crate) fn learn_variables(&mut self, answers: &UserAnswers) {
        self.skill_variables.0.extend(variables::given(answers));
    }
}
