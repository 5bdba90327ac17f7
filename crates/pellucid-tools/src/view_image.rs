//! `view_image`: attaches an image on disk to the next request.

use std::path::PathBuf;

use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;
use crate::desk::FromTool;

pub(crate) const TOOL: Tool = Tool {
    name: "view_image",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::ReadsOnly),
    run: |call, job| Box::pin(run(call, job)),
};

#[derive(Deserialize)]
struct Arguments {
    path: PathBuf,
}

async fn run(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    if !job.situation.sees_images {
        return Err(Failed::answered("view_image is not allowed because you do not support image inputs"));
    }
    let Arguments { path } = arguments(call)?;
    let path = job.situation.cwd.join(path);
    let shown = path.display();
    let metadata = tokio::fs::metadata(&path).await;
    let metadata =
        metadata.map_err(|error| Failed::answered(format!("unable to locate image at `{shown}`: {error}")))?;
    if !metadata.is_file() {
        return Err(Failed::answered(format!("image path `{shown}` is not a file")));
    }
    job.desk.say(FromTool::Image(path.clone())).await;
    job.desk.tell(EventMessage::ViewImageToolCall { call_id: call.call_id.clone(), path }).await;
    Ok("attached local image path".to_owned().into())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::bench::Bench;
    use crate::bench::function;

    #[test]
    fn a_file_is_attached_whatever_it_holds() {
        let bench = Bench::new();
        std::fs::write(bench.path().join("a.png"), "no picture").unwrap();
        expect![[r#"
            Image("DIR/a.png")
            {"type":"view_image_tool_call","call_id":"c","path":"DIR/a.png"}
            => attached local image path
        "#]]
        .assert_eq(&bench.show(&function("view_image", r#"{"path":"a.png"}"#)));
    }

    #[test]
    fn what_is_no_file_is_said() {
        let bench = Bench::new();
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"view_image","why":"the model got the reason"}
            => unable to locate image at `DIR/a.png`: No such file or directory (os error 2)
        "#]]
        .assert_eq(&bench.show(&function("view_image", r#"{"path":"a.png"}"#)));
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"view_image","why":"the model got the reason"}
            => image path `DIR/.` is not a file
        "#]]
        .assert_eq(&bench.show(&function("view_image", r#"{"path":"."}"#)));
    }

    #[test]
    fn a_blind_model_is_told_so() {
        let mut bench = Bench::new();
        bench.situation.sees_images = false;
        expect![[r#"
            {"type":"tool_call_failed","call_id":"c","name":"view_image","why":"the model got the reason"}
            => view_image is not allowed because you do not support image inputs
        "#]]
        .assert_eq(&bench.show(&function("view_image", "{")));
    }
}
