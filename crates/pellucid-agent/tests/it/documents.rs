//! Instruction files that join a session when a tool goes to their folder, or change while it runs.

use expect_test::Expect;
use expect_test::expect;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use crate::Played;
use crate::configure;
use crate::play_in;
use crate::setup;

const FREE: &str = "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"\n";

fn say(text: &str) -> Operation {
    let items = vec![UserInput::Text { text: text.to_owned(), text_elements: Vec::new() }];
    Operation::UserInput { items, final_output_json_schema: None }
}

fn run(script: &str) -> MockReply {
    let arguments = json!({ "command": script }).to_string();
    MockReply::items([
        json!({ "type": "function_call", "name": "shell_command", "arguments": arguments, "call_id": "c" }),
    ])
}

fn project() -> Workspace {
    let files = Workspace::empty();
    files.git("work");
    files.write("work/AGENTS.md", "Root.\n");
    files.write("work/web/AGENTS.md", "Web.\n");
    files.write("work/web/x.txt", "x");
    files.write("work/copy/AGENTS.md", "Web.\n");
    files
}

/// Checks the instruction texts of each request, and that each request extends the one before.
#[track_caller]
fn check_texts(files: &Workspace, rules: &str, replies: Vec<MockReply>, turns: &[&str], expected: &Expect) {
    let config = format!("{FREE}[project_docs]\n{rules}\n");
    let played = play_in(files, &config, replies, turns.iter().map(|text| say(text)).collect());
    let inputs: Vec<&Vec<Value>> = played.requests.iter().map(|body| body["input"].as_array().unwrap()).collect();
    for pair in inputs.windows(2) {
        assert_eq!(pair[1][..pair[0].len()], pair[0][..], "what was sent stays as it is");
    }
    let mut shown = String::new();
    for (n, input) in inputs.iter().enumerate() {
        shown += &format!("request {n}\n");
        for item in *input {
            let text = item["content"][0]["text"].as_str().unwrap_or_default();
            if let Some(text) = text.strip_prefix("# AGENTS.md instructions for ") {
                let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
                shown += &format!("  {}\n", lines.join(" / "));
            }
        }
    }
    let shown = shown.replace(&*files.path("work").canonicalize().unwrap().to_string_lossy(), "$");
    // Of a hash the beginning is enough.
    let word = |word: &str| match word.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(word.len()) {
        64 => format!("{}{}", &word[..4], &word[64..]),
        _ => word.to_owned(),
    };
    let shown: Vec<String> = shown.split(' ').map(word).collect();
    expected.assert_eq(&shown.join(" "));
}

#[test]
fn a_file_joins_when_a_tool_goes_to_its_folder_and_only_then() {
    let replies = || vec![run("cat web/x.txt"), run("ls web copy"), MockReply::say("done")];
    check_texts(
        &project(),
        "nested = true",
        replies(),
        &["go"],
        &expect![[r#"
            request 0
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
            request 1
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
              $/web / These hold for files in that folder and below it. They are from $/web/AGENTS.md (SHA-256 cac4). / <INSTRUCTIONS> / Web. / </INSTRUCTIONS>
            request 2
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
              $/web / These hold for files in that folder and below it. They are from $/web/AGENTS.md (SHA-256 cac4). / <INSTRUCTIONS> / Web. / </INSTRUCTIONS>
        "#]],
    );
    check_texts(
        &project(),
        "",
        replies(),
        &["go"],
        &expect![[r#"
            request 0
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
            request 1
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
            request 2
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
        "#]],
    );
}

/// The folders whose files each request has, after the first.
fn folders(played: &Played, files: &Workspace) -> Vec<Vec<String>> {
    let root = files.path("work").canonicalize().unwrap();
    let joined = |body: &Value| {
        let texts = body["input"].as_array().unwrap().iter().filter_map(|item| item["content"][0]["text"].as_str());
        let texts = texts.filter_map(|text| text.strip_prefix("# AGENTS.md instructions for "));
        let folders = texts.filter_map(|text| text.lines().next()?.strip_prefix(&*root.to_string_lossy()));
        folders.filter(|folder| !folder.is_empty()).map(str::to_owned).collect()
    };
    played.requests.iter().map(joined).collect()
}

#[test]
fn a_file_whose_turn_was_taken_back_joins_again_when_a_tool_goes_there() {
    let files = project();
    let replies = vec![
        run("cat web/x.txt"),
        MockReply::say("done"),
        MockReply::say("nothing"),
        run("cat web/x.txt"),
        MockReply::say("done"),
    ];
    let back = Operation::ThreadRollback { num_turns: 1 };
    let config = format!("{FREE}[project_docs]\nnested = true\n");
    let played = play_in(&files, &config, replies, vec![say("go"), back, say("rest"), say("go")]);
    assert_eq!(folders(&played, &files), [&[][..], &["/web".to_owned()], &[], &[], &["/web".to_owned()]]);
}

#[test]
fn a_file_that_a_summary_took_away_joins_again_when_a_tool_goes_there() {
    let files = project();
    let replies = vec![
        run("cat web/x.txt"),
        MockReply::say("done"),
        MockReply::say("the story so far"),
        MockReply::say("nothing"),
        run("cat web/x.txt"),
        MockReply::say("done"),
    ];
    let config = format!("{FREE}[project_docs]\nnested = true\n");
    let played = play_in(&files, &config, replies, vec![say("go"), Operation::Compact, say("rest"), say("go")]);
    let web = ["/web".to_owned()];
    assert_eq!(folders(&played, &files), [&[][..], &web, &web, &[], &[], &web]);
}

#[test]
fn faces_that_ask_are_told_that_a_file_joined() {
    let files = project();
    let server = MockServer::start(vec![run("cat web/x.txt"), MockReply::say("done")]);
    configure(&files, &format!("{FREE}[project_docs]\nnested = true\n"), &server);
    let setup = setup(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    setup.context_events.join();
    let (_, events) = crate::run(Session::open(setup, Recorder::none(), Beginning::Nothing).unwrap(), vec![say("go")]);
    let ours: Vec<&str> = events.iter().map(String::as_str).filter(|event| event.starts_with("context_")).collect();
    assert_eq!(ours, ["context_report", "context_usage", "context_document", "context_report", "context_usage"]);
}

#[test]
fn a_change_is_told_once_with_the_next_turn() {
    let change = "printf 'New.\\n' > AGENTS.md; rm web/AGENTS.md; printf 'Late.\\n' > AGENTS.override.md; rm AGENTS.md";
    let replies =
        vec![run("cat web/x.txt"), run(change), MockReply::say("done"), MockReply::say("yes"), MockReply::say("no")];
    check_texts(
        &project(),
        "nested = true\non_change = \"tell\"",
        replies,
        &["go", "on", "still"],
        &expect![[r#"
            request 0
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
            request 1
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
              $/web / These hold for files in that folder and below it. They are from $/web/AGENTS.md (SHA-256 cac4). / <INSTRUCTIONS> / Web. / </INSTRUCTIONS>
            request 2
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
              $/web / These hold for files in that folder and below it. They are from $/web/AGENTS.md (SHA-256 cac4). / <INSTRUCTIONS> / Web. / </INSTRUCTIONS>
            request 3
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
              $/web / These hold for files in that folder and below it. They are from $/web/AGENTS.md (SHA-256 cac4). / <INSTRUCTIONS> / Web. / </INSTRUCTIONS>
              $ / Instruction files changed since you read them. From now on each of these says what stands here, and nothing of what it said before. / <INSTRUCTIONS> / [$/AGENTS.md, SHA-256 4593 before: no longer there, what it said is void] / [$/AGENTS.override.md, SHA-256 none before, 0fd6 now] / Late. / [$/web/AGENTS.md, SHA-256 cac4 before: no longer there, what it said is void] / </INSTRUCTIONS>
            request 4
              $ / <INSTRUCTIONS> / Root. / </INSTRUCTIONS>
              $/web / These hold for files in that folder and below it. They are from $/web/AGENTS.md (SHA-256 cac4). / <INSTRUCTIONS> / Web. / </INSTRUCTIONS>
              $ / Instruction files changed since you read them. From now on each of these says what stands here, and nothing of what it said before. / <INSTRUCTIONS> / [$/AGENTS.md, SHA-256 4593 before: no longer there, what it said is void] / [$/AGENTS.override.md, SHA-256 none before, 0fd6 now] / Late. / [$/web/AGENTS.md, SHA-256 cac4 before: no longer there, what it said is void] / </INSTRUCTIONS>
        "#]],
    );
}
