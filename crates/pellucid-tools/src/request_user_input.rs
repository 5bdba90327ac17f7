//! `request_user_input`: the model asks a person, and waits for the answers.

use pellucid_engine::approval::grounds::Unasked;
use pellucid_engine::turn::questions::AskKey;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::ClientAnswer;
use pellucid_engine::turn::questions::ClientQuestion;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserQuestion;
use pellucid_protocol::settings::CollaborationModeKind;
use serde::Deserialize;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;

pub(crate) const TOOL: Tool = Tool {
    name: "request_user_input",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::AsksPerson),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    questions: Vec<UserQuestion>,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let mode = match job.situation.mode {
        CollaborationModeKind::Plan => None,
        CollaborationModeKind::Default => Some("Default"),
    };
    if let Some(mode) = mode {
        return Err(Failed::Answered(format!("request_user_input is unavailable in {mode} mode")));
    }
    let Arguments { mut questions } = arguments(call)?;
    if questions.iter().any(|question| question.options.as_ref().is_none_or(Vec::is_empty)) {
        return Err(Failed::answered("request_user_input requires non-empty options for every question"));
    }
    for question in &mut questions {
        question.is_other = true;
    }
    let turn_id = job.situation.turn_id.clone();
    let asked = RequestUserInput { call_id: call.call_id.clone(), turn_id: turn_id.clone(), questions };
    let (key, event) = (AskKey::Question(turn_id), Box::new(EventMessage::RequestUserInput(asked)));
    let question = ClientQuestion { key, event, grants: Vec::new() };
    let AskOutcome::Answered(ClientAnswer::Answers(answers)) = job.desk.ask(question).await else {
        return Err(Failed::answered("request_user_input was cancelled before receiving a response"));
    };
    let text = serde_json::to_string(&answers)
        .map_err(|error| Failed::Fatal(format!("failed to serialize request_user_input response: {error}")))?;
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_engine::turn::questions::ClientAnswer;
    use pellucid_protocol::question::UserAnswer;
    use pellucid_protocol::question::UserAnswers;
    use pellucid_protocol::settings::CollaborationModeKind;

    use crate::bench::Bench;
    use crate::bench::function;

    const QUESTION: &str =
        r#"{"questions":[{"id":"q","header":"H","question":"Which?","options":[{"label":"A","description":"a"}]}]}"#;

    #[track_caller]
    fn check_asked(mode: CollaborationModeKind, arguments: &str, answer: Option<ClientAnswer>, expected: &Expect) {
        let mut bench = Bench::new();
        bench.situation.mode = mode;
        expected.assert_eq(&bench.run_answered(&function("request_user_input", arguments), answer).text());
    }

    #[test]
    fn a_person_answers() {
        let answer = UserAnswer { answers: vec!["A".to_owned(), "user_note: quickly".to_owned()] };
        let answers = UserAnswers { answers: BTreeMap::from([("q".to_owned(), answer)]) };
        check_asked(
            CollaborationModeKind::Plan,
            QUESTION,
            Some(ClientAnswer::Answers(answers)),
            &expect![[r#"
                {"type":"request_user_input","call_id":"c","turn_id":"t","questions":[{"id":"q","header":"H","question":"Which?","isOther":true,"isSecret":false,"options":[{"label":"A","description":"a"}]}]} by Question(TurnId("t"))
                => {"answers":{"q":{"answers":["A","user_note: quickly"]}}}
            "#]],
        );
    }

    #[test]
    fn a_question_that_nobody_answers_says_so() {
        check_asked(
            CollaborationModeKind::Plan,
            QUESTION,
            None,
            &expect![[r#"
                {"type":"request_user_input","call_id":"c","turn_id":"t","questions":[{"id":"q","header":"H","question":"Which?","isOther":true,"isSecret":false,"options":[{"label":"A","description":"a"}]}]} by Question(TurnId("t"))
                {"type":"tool_call_failed","call_id":"c","name":"request_user_input","why":"the model got the reason"}
                => request_user_input was cancelled before receiving a response
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        check_asked(
            CollaborationModeKind::Default,
            QUESTION,
            None,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"request_user_input","why":"the model got the reason"}
                => request_user_input is unavailable in Default mode
            "#]],
        );
        check_asked(
            CollaborationModeKind::Plan,
            r#"{"questions":[{"id":"q","header":"H","question":"Which?","options":[]}]}"#,
            None,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"request_user_input","why":"the model got the reason"}
                => request_user_input requires non-empty options for every question
            "#]],
        );
    }
}
