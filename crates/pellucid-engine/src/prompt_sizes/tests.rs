//! What the prompt of an assistant is made of, and how that is said.

use expect_test::expect;
use pellucid_protocol::model::ModelInfo;
use serde_json::Value;
use serde_json::json;

use super::reply::ReplyKind;
use super::reply::SessionTokens;
use super::reply::reply;
use super::*;
use crate::assemble::assemble;
use crate::fragment::concat;

#[test]
fn files_are_found_in_the_prompt_by_path_name_and_base_name() {
    let file = |name: &str, text: &str| BootstrapFile::read(name, &format!("/w/{name}"), text.as_bytes());
    let all = [
        file("A.md", "0123456789 \n"),
        file("B.md", "short"),
        file("C.md", "by base name"),
        BootstrapFile::missing("D.md", "/w/D.md"),
        file("E.md", "not there"),
    ];
    let injected = [
        ContextFile::new("/w/A.md", "0123456789"),
        ContextFile::new("B.md", "sho"),
        ContextFile::new("C:\\other\\C.md", "by base name"),
        ContextFile::new("/w/D.md", "[MISSING]"),
    ];
    let rows: Vec<String> = files(&all, &injected)
        .iter()
        .map(|it| format!("{} {} {}→{} {}", it.name, it.missing, it.raw_chars, it.injected_chars, it.truncated))
        .collect();
    expect![[r#"
        A.md false 10→10 false
        B.md false 5→3 true
        C.md false 12→12 false
        D.md true 0→9 false
        E.md false 9→0 true"#]]
    .assert_eq(&rows.join("\n"));
}

/// The headings of the files, and of what comes after them.
const HEADINGS: (Option<&str>, Option<&str>) = (Some("# Project Context"), Some("## Silent Replies"));

fn measured(prompt: &str, skills: &str, tools: &Value, list_between: (&str, &str)) -> PromptReport {
    let tools: Vec<ToolFacts> = serde_json::from_value(tools.clone()).unwrap();
    PromptReport::measure(Measured {
        prompt,
        files: &[],
        injected: &[],
        skills,
        tools: &tools,
        list_between,
        headings: HEADINGS,
    })
}

#[test]
fn the_files_of_a_prompt_are_measured_between_their_headings() {
    let sizes = |prompt: &str| {
        let sizes = measured(prompt, "", &json!([]), ("", "")).system_prompt;
        (sizes.chars, sizes.project_context_chars, sizes.non_project_context_chars)
    };
    assert_eq!(sizes(""), (0, 0, 0));
    assert_eq!(sizes("  é\u{1f600} \n"), (3, 0, 3));
    assert_eq!(sizes("a\n# Project Context\nfiles\n## Silent Replies\nrest"), (48, 24, 24));
    assert_eq!(sizes("a\n# Project Context\nfiles"), (25, 24, 1));
    assert_eq!(sizes("# Project Context\nfiles"), (23, 0, 23), "a heading begins behind a line end");
    assert_eq!(sizes("\n## Silent Replies\nx"), (19, 0, 19));
}

#[test]
fn a_layout_says_where_its_parts_are() {
    let layout = r#"
name = "mine"
from = "codex"
[instructions.report]
files_heading = "FILES"
next_heading = "REST"
skills = { section = "able.jinja", list = "skills.jinja" }
tools = { section = "able.jinja", list = "tools.jinja" }
[[slot]]
id = "able"
target = "instructions"
file = "able.jinja"
"#;
    let files = [
        ("pack.toml", layout),
        ("able.jinja", "You can:\n{% include \"tools.jinja\" %}\nand:\n{% include \"skills.jinja\" %}\n"),
        ("tools.jinja", "do this\n"),
        ("skills.jinja", "<skill><name>bake</name></skill>\n"),
    ];
    let pack = |layout: &str| {
        let files =
            files.map(|(file, text)| (file.to_owned(), if file == "pack.toml" { layout } else { text }.to_owned()));
        Pack::load_user(&files.into(), "/mine")
    };
    let facts = Facts::plain("/w", ModelInfo::named("m"));
    let sizes = |layout: &str| {
        let pack = pack(layout).unwrap();
        let prompt = concat(&assemble(&pack, &facts).instructions) + "\nFILES\none\nREST\ntwo";
        let report = PromptReport::of(&pack, &facts, &prompt, &[]);
        (report.system_prompt.project_context_chars, report.skills.prompt_chars, report.tools.list_chars)
    };
    assert_eq!(sizes(layout), (10, 32, 7));
    let (before, after) = layout.split_once("[instructions.report]").unwrap();
    let (_, slots) = after.split_once("[[slot]]").unwrap();
    assert_eq!(sizes(&format!("{before}[[slot]]{slots}")), (0, 0, 0), "any layout has the report");
    let refused = |from: &str, to: &str| {
        let error = pack(&layout.replace(from, to)).unwrap_err().to_string();
        error.split_once(": ").map(|(_, message)| message.to_owned()).unwrap()
    };
    let refused = [
        refused("files_heading = \"FILES\"\n", ""),
        refused("section = \"able.jinja\", list = \"tools", "section = \"no.md\", list = \"tools"),
    ];
    expect![[r#"
        `next_heading` of [instructions.report] has no effect without `files_heading`
        [instructions.report]: no slot has the file `no.md`, so it is not measured"#]]
    .assert_eq(&refused.join("\n"));
}

#[test]
fn skills_of_a_list_are_counted_by_their_tags() {
    let names = |skills: &str| -> Vec<(String, usize)> {
        measured("", skills, &json!([]), ("", ""))
            .skills
            .entries
            .into_iter()
            .map(|it| (it.name, it.block_chars))
            .collect()
    };
    let pair = |name: &str, chars| (name.to_owned(), chars);
    assert_eq!(names(""), []);
    assert_eq!(names("<skill><name> one </name></skill>"), [pair("one", 33)]);
    assert_eq!(names("<SKILL><Name>Two</NAME></Skill> <skill></skill>"), [pair("Two", 31), pair("(unknown)", 15)]);
    assert_eq!(names("<skill><name></name><name>x</name></skill>"), [pair("x", 42)]);
    assert_eq!(names("<skill><name> </name></skill><skill><name>open"), [pair("(unknown)", 29)]);
    assert_eq!(names("<skill>é\u{1f600}</skill>"), [pair("(unknown)", 18)]);
}

#[test]
fn tools_are_measured_by_their_schema_and_their_words() {
    let report = measured(
        "before\n- a: x\n- b\nafter",
        "",
        &json!([
            { "name": "a", "description": " long ", "label": "l", "parameters": { "properties": { "x": {}, "y": {} }, "n": 1.0 } },
            { "name": "b", "description": " ", "label": "label" },
            { "name": "c", "parameters": "text" },
            { "name": "d", "parameters": [1.5, 2.0] },
        ]),
        ("before\n", "\nafter"),
    );
    let lines: Vec<String> = report
        .tools
        .entries
        .iter()
        .map(|it| format!("{} {} {} {:?}", it.name, it.summary_chars, it.schema_chars, it.properties_count))
        .collect();
    expect![[r#"
        a 4 36 Some(2)
        b 5 0 None
        c 0 0 None
        d 0 7 None"#]]
    .assert_eq(&lines.join("\n"));
    expect!["0 43"].assert_eq(&format!("{} {}", report.tools.list_chars, report.tools.schema_chars));
    assert_eq!(measured("x", "", &json!([]), ("no", "where")).tools.list_chars, 0);
}

#[test]
fn tokens_are_estimated_by_units() {
    assert_eq!([-5, 0, 1, 4, 5, 8].map(tokens), [0, 0, 1, 1, 2, 2]);
}

fn report() -> PromptReport {
    let mut report = measured(
        "Base\n# Project Context\nfiles",
        "<skill><name>one</name></skill><skill><name>one</name></skill><skill><name>two, too</name></skill>",
        &json!([
            { "name": "exec", "description": "Run.", "parameters": { "properties": { "command": {} } } },
            { "name": "read", "parameters": { "properties": {} } },
            { "name": "say" },
        ]),
        ("", ""),
    );
    report.bootstrap_max_chars = Some(20_000);
    report.bootstrap_total_max_chars = Some(1_500);
    let read = |name: &str, n: usize| BootstrapFile::read(name, &format!("/w/{name}"), "x".repeat(n).as_bytes());
    let all = [read("AGENTS.md", 30_000), read("SOUL.md", 12), BootstrapFile::missing("TOOLS.md", "/w/TOOLS.md")];
    let injected =
        [ContextFile::new("/w/AGENTS.md", &"x".repeat(20_000)), ContextFile::new("/w/SOUL.md", &"x".repeat(12))];
    report.injected_workspace_files = files(&all, &injected);
    report
}

#[test]
fn each_form_of_the_reply_is_whole() {
    let session = SessionTokens { total: Some(123_456), input: Some(1), output: None, context: Some(200_000) };
    let said = |form| reply(form, &report(), session, "/w");
    expect![[r#"
        🧠 /context

        Shows what the system prompt is made of, and how much of the window it takes.

        Try:
        - /context list   (files, skills and tools with their sizes)
        - /context detail (the largest skills and tools as well)
        - /context json   (all of it, for programs)

        A command inside of a message that the assistant handles by itself never reaches the model, so it is not in these figures."#]].assert_eq(&said(ReplyKind::Help));
    expect![[r#"
        There is no such form of /context.
        Use: /context, /context list, /context detail or /context json"#]]
    .assert_eq(&said(ReplyKind::Unknown));
    expect![[r#"
        🧠 Context breakdown
        Workspace: /w
        Bootstrap max/file: 20,000 chars
        Bootstrap max/total: 1,500 chars
        Sandbox: mode=unknown sandboxed=false
        System prompt (run): 28 chars (~7 tok) (Project Context 24 chars (~6 tok))

        ⚠ Bootstrap context is over configured limits: 1 file(s) truncated (30,012 raw chars -> 20,012 injected chars).
        Causes: 1 file(s) exceeded max/file; raw total exceeded max/total.
        To let more in, raise bootstrap.max_chars and bootstrap.total_max_chars.

        Injected workspace files:
        - AGENTS.md: TRUNCATED | raw 30,000 chars (~7,500 tok) | injected 20,000 chars (~5,000 tok)
        - SOUL.md: OK | raw 12 chars (~3 tok) | injected 12 chars (~3 tok)
        - TOOLS.md: MISSING | raw 0 | injected 0

        Skills list (system prompt text): 98 chars (~25 tok) (2 skills)
        Skills: one, two, too
        Tool list (system prompt text): 0 chars (~0 tok)
        Tool schemas (JSON): 46 chars (~12 tok) (counts toward context; not shown as text)
        Tools: exec, read, say

        Session tokens (cached): 123,456 total / ctx=200000

        A command inside of a message that the assistant handles by itself never reaches the model, so it is not in these figures."#]].assert_eq(&said(ReplyKind::List));
    expect![[r#"
        🧠 Context breakdown (detailed)
        Workspace: /w
        Bootstrap max/file: 20,000 chars
        Bootstrap max/total: 1,500 chars
        Sandbox: mode=unknown sandboxed=false
        System prompt (run): 28 chars (~7 tok) (Project Context 24 chars (~6 tok))
        ⚠ Bootstrap context is over configured limits: 1 file(s) truncated (30,012 raw chars -> 20,012 injected chars).
        Causes: 1 file(s) exceeded max/file; raw total exceeded max/total.
        To let more in, raise bootstrap.max_chars and bootstrap.total_max_chars.
        Injected workspace files:
        - AGENTS.md: TRUNCATED | raw 30,000 chars (~7,500 tok) | injected 20,000 chars (~5,000 tok)
        - SOUL.md: OK | raw 12 chars (~3 tok) | injected 12 chars (~3 tok)
        - TOOLS.md: MISSING | raw 0 | injected 0
        Skills list (system prompt text): 98 chars (~25 tok) (2 skills)
        Skills: one, two, too
        Top skills (prompt entry size):
        - two, too: 36 chars (~9 tok)
        - one: 31 chars (~8 tok)
        - one: 31 chars (~8 tok)
        Tool list (system prompt text): 0 chars (~0 tok)
        Tool schemas (JSON): 46 chars (~12 tok) (counts toward context; not shown as text)
        Tools: exec, read, say
        Top tools (schema size):
        - exec: 29 chars (~8 tok)
        - read: 17 chars (~5 tok)
        - say: 0 chars (~0 tok)
        Top tools (summary text size):
        - exec: 4 chars (~1 tok)
        - read: 0 chars (~0 tok)
        - say: 0 chars (~0 tok)
        Tools (param count):
        - exec: 1 params
        - read: 0 params
        Session tokens (cached): 123,456 total / ctx=200000
        A command inside of a message that the assistant handles by itself never reaches the model, so it is not in these figures."#]].assert_eq(&said(ReplyKind::Detail));
}

#[test]
fn a_report_for_programs_is_read_back_as_it_was() {
    let text = reply(ReplyKind::Json, &report(), SessionTokens::default(), "/w");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::from_value::<PromptReport>(value["report"].clone()).unwrap(), report());
    assert_eq!(
        value["session"],
        json!({ "totalTokens": null, "inputTokens": null, "outputTokens": null, "contextTokens": null })
    );
    let mut odd = value["report"].clone();
    odd["later"] = json!(1);
    assert!(serde_json::from_value::<PromptReport>(odd).is_err(), "a field that nobody knows is refused");
}

#[test]
fn a_report_without_limits_or_files_says_so() {
    let empty = measured("", "", &json!([]), ("", ""));
    let session = SessionTokens::default();
    expect![[r#"
        🧠 Context breakdown
        Workspace: /elsewhere
        Bootstrap max/file: ? chars
        Bootstrap max/total: ? chars
        Sandbox: mode=unknown sandboxed=false
        System prompt (run): 0 chars (~0 tok) (Project Context 0 chars (~0 tok))

        Injected workspace files:

        Skills list (system prompt text): 0 chars (~0 tok) (0 skills)
        Skills: (none)
        Tool list (system prompt text): 0 chars (~0 tok)
        Tool schemas (JSON): 0 chars (~0 tok) (counts toward context; not shown as text)
        Tools: (none)

        Session tokens (cached): unknown / ctx=?

        A command inside of a message that the assistant handles by itself never reaches the model, so it is not in these figures."#]].assert_eq(&reply(ReplyKind::List, &empty, session, "/elsewhere"));
}
