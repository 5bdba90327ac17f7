//! Tools that a client named when a session began are found again when the session is resumed.

use std::fs;

use expect_test::Expect;
use expect_test::expect;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_agent::session::Setup;
use pellucid_files::RealDisk;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::dynamic_tool::DynamicTool;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;

use crate::configure;
use crate::run;
use crate::setup;

fn say(text: &str) -> Vec<Operation> {
    vec![Operation::UserInput {
        items: vec![UserInput::Text { text: text.to_owned(), text_elements: Vec::new() }],
        final_output_json_schema: None,
    }]
}

/// Starts a session with two tools of a client, changes the head of its file, resumes and forks the session, and shows
/// the names of the last tools of each request.
fn check_tools(config: &str, change: fn(&mut Value), expected: &Expect) {
    let answer = || MockReply::items([json!({ "type": "message", "role": "assistant", "content": [] })]);
    let server = MockServer::start([answer(), answer(), answer()]);
    let files = Workspace::empty();
    configure(&files, config, &server);
    let fresh = || -> Setup {
        let mut setup = setup(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
        setup.side = pellucid_store::side::SideFile::open(&files.folder("home"), setup.session_id.as_str());
        setup
    };
    let mut first = fresh();
    let tool = |name: &str| DynamicTool {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        input_schema: json!({ "type": "object", "properties": {} }),
    };
    first.gathered.facts.tools.dynamic_tools = vec![tool("lookup"), tool("ping")];
    let began = "2026-01-02T03:04:05".parse().unwrap();
    let path_of = |setup: &Setup| name::path(&files.folder("home"), began, setup.session_id.as_str());
    let path = path_of(&first);
    drop(
        run(
            Session::open(first, Recorder::new(RealDisk::shared(), path.clone()), Beginning::Nothing).unwrap(),
            say("one"),
        )
        .0,
    );

    let text = fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once('\n').unwrap();
    let mut head: Value = serde_json::from_str(head).unwrap();
    change(&mut head["payload"]);
    fs::write(&path, format!("{head}\n{rest}")).unwrap();

    let file = read::open(&path).unwrap();
    let mut resumed = fresh();
    resumed.session_id = pellucid_protocol::id::SessionId::new(file.meta.id.as_str());
    let session =
        Session::open(resumed, Recorder::resume(RealDisk::shared(), path.clone()).unwrap(), Beginning::Resumed(&file))
            .unwrap();
    drop(run(session, say("two")).0);
    let forked = fresh();
    let (copy, upto) = (path_of(&forked), fs::metadata(&path).unwrap().len());
    drop(
        run(
            Session::open(forked, Recorder::new(RealDisk::shared(), copy), Beginning::Forked(&file, upto)).unwrap(),
            say("three"),
        )
        .0,
    );

    let mut shown = String::new();
    for request in server.requests() {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let names: Vec<&str> = body["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
        shown.push_str(&format!("{}\n", names[names.len() - 2..].join(" ")));
    }
    expected.assert_eq(&shown);
}

fn drop_tools(head: &mut Value) {
    head.as_object_mut().unwrap().remove("dynamic_tools");
}

fn rename_tool(head: &mut Value) {
    head["dynamic_tools"][0]["name"] = "renamed".into();
}

#[test]
fn the_session_file_alone_counts_without_the_feature() {
    check_tools(
        "",
        drop_tools,
        &expect![[r#"
        lookup ping
        apply_patch view_image
        apply_patch view_image
    "#]],
    );
    check_tools(
        "",
        rename_tool,
        &expect![[r#"
        lookup ping
        renamed ping
        renamed ping
    "#]],
    );
}

#[test]
fn the_index_counts_before_the_session_file_with_the_feature() {
    for change in [drop_tools, rename_tool] {
        check_tools(
            "features.sqlite = true",
            change,
            &expect![[r#"
            lookup ping
            lookup ping
            lookup ping
        "#]],
        );
    }
}
