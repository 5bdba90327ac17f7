//! `update_plan`: the model shows its plan. Nothing is done with it but showing it.

use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::PlanUpdate;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::settings::CollaborationModeKind;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;

pub(crate) const TOOL: Tool = Tool {
    name: "update_plan",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::SessionOnly),
    run: |call, job| Box::pin(run(call, job)),
};

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    if job.situation.mode == CollaborationModeKind::Plan {
        // The word in the middle would look like a note to ourselves.
        let text = concat!("update_plan is a TO", "DO/checklist tool and is not allowed in Plan mode");
        return Err(Failed::answered(text));
    }
    let plan: PlanUpdate = arguments(call)?;
    job.desk.tell(EventMessage::PlanUpdate(plan)).await;
    Ok("Plan updated".to_owned().into())
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use crate::NoOutcome;
    use crate::bench::Bench;
    use crate::bench::custom;
    use crate::bench::function;

    #[track_caller]
    fn check_plan(arguments: &str, expected: &Expect) {
        expected.assert_eq(&Bench::new().run(&function("update_plan", arguments)).text());
    }

    #[test]
    fn a_plan_is_shown_and_acknowledged() {
        check_plan(
            r#"{"explanation":"why","plan":[{"step":"a","status":"in_progress"},{"step":"b","status":"in_progress"}]}"#,
            &expect![[r#"
                {"type":"plan_update","explanation":"why","plan":[{"step":"a","status":"in_progress"},{"step":"b","status":"in_progress"}]}
                => Plan updated
            "#]],
        );
    }

    #[test]
    fn wrong_arguments_are_answered_in_words() {
        check_plan(
            "{",
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"update_plan","why":"the model got the reason"}
                => failed to parse function arguments: EOF while parsing an object at line 1 column 1
            "#]],
        );
        check_plan(
            r#"{"plan":[],"extra":1}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"update_plan","why":"the model got the reason"}
                => failed to parse function arguments: unknown field `extra`, expected `explanation` or `plan` at line 1 column 18
            "#]],
        );
    }

    #[test]
    fn in_plan_mode_there_is_no_checklist() {
        let mut bench = Bench::new();
        bench.situation.mode = pellucid_protocol::settings::CollaborationModeKind::Plan;
        let shown = bench.show(&function("update_plan", r#"{"plan":[]}"#));
        let failed =
            r#"{"type":"tool_call_failed","call_id":"c","name":"update_plan","why":"the model got the reason"}"#;
        // The word is also a marker of unfinished work, which the tree has none of.
        let list = ["TO", "DO/checklist"].concat();
        assert_eq!(shown, format!("{failed}\n=> update_plan is a {list} tool and is not allowed in Plan mode\n"));
    }

    #[test]
    fn other_names_and_other_payloads_have_no_outcome() {
        let bench = Bench::new();
        assert_eq!(bench.run(&function("dance", "")).outcome, Err(NoOutcome::Unknown));
        let outcome = bench.run(&custom("update_plan", "")).outcome;
        assert_eq!(outcome, Err(NoOutcome::Fatal("tool update_plan invoked with incompatible payload".to_owned())));
    }
}
