//! `update_plan`: the model shows its plan. Nothing is done with it but showing it.

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::PlanUpdate;

use crate::Outcome;
use crate::Tool;

pub(crate) const TOOL: Tool = Tool { name: "update_plan", run };

fn run(arguments: &str) -> Outcome {
    match serde_json::from_str::<PlanUpdate>(arguments) {
        Ok(plan) => Outcome { answer: "Plan updated".to_owned(), events: vec![EventMessage::PlanUpdate(plan)] },
        Err(error) => Outcome::answer(format!("failed to parse function arguments: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::call::Payload;
    use pellucid_protocol::call::ToolCall;

    use crate::NoOutcome;
    use crate::run;

    fn call(name: &str, payload: Payload) -> ToolCall {
        ToolCall { call_id: "c".to_owned(), name: name.to_owned(), payload }
    }

    #[track_caller]
    fn check_plan(arguments: &str, expected: &Expect) {
        let outcome = run(&call("update_plan", Payload::Function { arguments: arguments.to_owned() })).unwrap();
        let events: Vec<String> = outcome.events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        expected.assert_eq(&format!("{}\n{}", outcome.answer, events.join("\n")));
    }

    #[test]
    fn a_plan_is_shown_and_acknowledged() {
        check_plan(
            r#"{"explanation":"why","plan":[{"step":"a","status":"in_progress"},{"step":"b","status":"in_progress"}]}"#,
            &expect![[r#"
                Plan updated
                {"type":"plan_update","explanation":"why","plan":[{"step":"a","status":"in_progress"},{"step":"b","status":"in_progress"}]}"#]],
        );
    }

    #[test]
    fn wrong_arguments_are_answered_in_words() {
        check_plan(
            "{",
            &expect![[r#"
            failed to parse function arguments: EOF while parsing an object at line 1 column 1
        "#]],
        );
        check_plan(
            r#"{"plan":[],"extra":1}"#,
            &expect![[r#"
            failed to parse function arguments: unknown field `extra`, expected `explanation` or `plan` at line 1 column 18
        "#]],
        );
    }

    #[test]
    fn other_names_and_other_payloads_have_no_outcome() {
        let unknown = call("dance", Payload::Function { arguments: String::new() });
        assert_eq!(run(&unknown), Err(NoOutcome::Unknown));
        let custom = call("update_plan", Payload::Custom { input: String::new() });
        assert_eq!(run(&custom), Err(NoOutcome::WrongPayload));
    }
}
