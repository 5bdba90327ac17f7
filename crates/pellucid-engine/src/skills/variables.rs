//! Environment variables that skills need: which are missing, and how a person is asked for them.
//!
//! Not here: asking, and where the values are kept.

use pellucid_protocol::id::TurnId;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserAnswers;
use pellucid_protocol::question::UserQuestion;

use super::Skill;
use crate::fragment::Fragment;
use crate::fragment::concat;
use crate::pack::Pack;
use crate::template::Shape;
use crate::template::TemplatePlace;
use crate::template::Trim;

const QUESTION: &str = "skills/env_question.md";
const SKILL: &str = "{skill}";
const NAME: &str = "{name}";
const DESCRIPTION: &str = "{description}";

/// The templates used here.
pub(crate) const TEMPLATES: &[(&str, Shape)] = &[(
    QUESTION,
    Shape {
        trim: Trim::Newline,
        places: &[TemplatePlace::may(SKILL), TemplatePlace::may(NAME), TemplatePlace::may(DESCRIPTION)],
    },
)];

/// The kind of dependency that is a variable.
const KIND: &str = "env_var";

/// A word above the question.
const HEADER: &str = "Variable of a skill";

/// The prefix of an answer in the user's words.
const NOTE: &str = "user_note: ";

/// A variable that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededVariable {
    /// The name of the variable.
    pub name: String,
    /// The name of the skill that needs it.
    pub skill: String,
    /// The description for people.
    pub description: Option<String>,
}

/// The variables that skills need, each once.
pub fn needed<'a>(skills: impl IntoIterator<Item = &'a Skill>) -> Vec<NeededVariable> {
    let mut needed: Vec<NeededVariable> = Vec::new();
    for skill in skills {
        let tools = skill.metadata.iter().flat_map(|metadata| &metadata.tools).filter(|tool| tool.kind == KIND);
        for tool in tools {
            if !needed.iter().any(|known| known.name == tool.value) {
                let (name, description) = (tool.value.clone(), tool.description.clone());
                needed.push(NeededVariable { name, skill: skill.name.clone(), description });
            }
        }
    }
    needed
}

/// The question to the user for the variables.
pub fn question(pack: &Pack, turn_id: &TurnId, needed: &[NeededVariable]) -> RequestUserInput {
    let questions = needed.iter().map(|variable| {
        let place = |mark, text: &str| (mark, vec![Fragment::fact("skill", text)]);
        let description = variable.description.as_deref().unwrap_or(&variable.name);
        let values = [place(SKILL, &variable.skill), place(NAME, &variable.name), place(DESCRIPTION, description)];
        UserQuestion {
            id: variable.name.clone(),
            header: HEADER.to_owned(),
            question: concat(&pack.template(QUESTION).render(&values)),
            is_other: false,
            is_secret: true,
            options: None,
        }
    });
    let questions = questions.collect();
    RequestUserInput { call_id: format!("skill-deps-{turn_id}"), turn_id: turn_id.clone(), questions }
}

/// The values that the user gave. Only free text counts, and of it the last.
pub fn given(answers: &UserAnswers) -> Vec<(String, String)> {
    let value = |said: &[String]| {
        let mut notes = said.iter().filter_map(|said| said.strip_prefix(NOTE)).map(str::trim);
        notes.rfind(|note| !note.is_empty()).map(str::to_owned)
    };
    answers.answers.iter().filter_map(|(name, answer)| Some((name.clone(), value(&answer.answers)?))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pellucid_protocol::question::UserAnswer;

    use super::*;

    #[test]
    fn only_words_of_the_person_count_and_the_last_of_them() {
        let answer = |said: &[&str]| UserAnswer { answers: said.iter().map(|it| (*it).to_owned()).collect() };
        let answers = UserAnswers {
            answers: BTreeMap::from([
                ("A".to_owned(), answer(&["user_note: one", "user_note:  two ", "three"])),
                ("B".to_owned(), answer(&["user_note:   "])),
                ("C".to_owned(), answer(&["chosen"])),
            ]),
        };
        assert_eq!(given(&answers), [("A".to_owned(), "two".to_owned())]);
    }
}
