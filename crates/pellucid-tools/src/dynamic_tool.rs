//! Tools that the program which drives the session runs itself: it is asked, and its answer is passed on.

use pellucid_engine::turn::questions::AskKey;
use pellucid_engine::turn::questions::AskOutcome;
use pellucid_engine::turn::questions::ClientAnswer;
use pellucid_engine::turn::questions::ClientQuestion;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::dynamic_tool::DynamicContent;
use pellucid_protocol::dynamic_tool::DynamicToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::number;

use crate::CallContext;
use crate::Failed;
use crate::arguments;

/// Asks the program for the answer to a call.
pub(crate) async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let asked = DynamicToolCall {
        call_id: call.call_id.clone(),
        turn_id: job.situation.turn_id.clone(),
        tool: call.name.clone(),
        arguments: number::as_doubles(arguments(call)?),
    };
    let key = AskKey::DynamicTool(call.call_id.clone());
    let question =
        ClientQuestion { key, event: Box::new(EventMessage::DynamicToolCallRequest(asked)), grants: Vec::new() };
    let AskOutcome::Answered(ClientAnswer::DynamicTool(response)) = job.desk.ask(question).await else {
        return Err(Failed::answered("dynamic tool call was cancelled before receiving a response"));
    };
    if !response.success {
        job.notes.failed();
    }
    let part = |content| match content {
        DynamicContent::InputText { text } => ContentPart::InputText { text },
        DynamicContent::InputImage { image_url } => ContentPart::InputImage { image_url },
    };
    Ok(ToolOutput::Parts(response.content_items.into_iter().map(part).collect()))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_engine::turn::questions::ClientAnswer;
    use pellucid_protocol::dynamic_tool::DynamicToolResponse;

    use crate::NoOutcome;
    use crate::bench::Bench;
    use crate::bench::custom;
    use crate::bench::function;

    #[track_caller]
    fn check_called(arguments: &str, answer: Option<&str>, expected: &Expect) {
        let mut bench = Bench::new();
        bench.situation.tools.dynamic_tools = vec!["lookup".to_owned()];
        let answer = answer.map(|text| serde_json::from_str::<DynamicToolResponse>(text).unwrap());
        let ran = bench.run_answered(&function("lookup", arguments), answer.map(ClientAnswer::DynamicTool));
        expected.assert_eq(&ran.text());
    }

    #[test]
    fn the_program_answers() {
        check_called(
            r#"{"word":"pear"}"#,
            Some(
                r#"{"contentItems":[{"type":"inputText","text":"two"},{"type":"inputImage","imageUrl":"data:,"}],"success":true}"#,
            ),
            &expect![[r#"
                {"type":"dynamic_tool_call_request","callId":"c","turnId":"t","tool":"lookup","arguments":{"word":"pear"}} by DynamicTool("c")
                => Ok(Parts([InputText { text: "two" }, InputImage { image_url: "data:," }]))
            "#]],
        );
    }

    #[test]
    fn a_call_without_an_answer_says_so() {
        check_called(
            "{}",
            None,
            &expect![[r#"
                {"type":"dynamic_tool_call_request","callId":"c","turnId":"t","tool":"lookup","arguments":{}} by DynamicTool("c")
                {"type":"tool_call_failed","call_id":"c","name":"lookup","why":"the model got the reason"}
                => dynamic tool call was cancelled before receiving a response
            "#]],
        );
        check_called(
            "{",
            None,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"lookup","why":"the model got the reason"}
                => failed to parse function arguments: EOF while parsing an object at line 1 column 1
            "#]],
        );
    }

    #[test]
    fn only_functions_are_called_so() {
        let mut bench = Bench::new();
        bench.situation.tools.dynamic_tools = vec!["lookup".to_owned()];
        let outcome = bench.run(&custom("lookup", "")).outcome;
        assert_eq!(outcome, Err(NoOutcome::Fatal("tool lookup invoked with incompatible payload".to_owned())));
    }
}
