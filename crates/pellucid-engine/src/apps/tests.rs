use expect_test::Expect;
use expect_test::expect;
use serde_json::json;

use super::*;
use crate::mcp::offered;
use crate::skills::Skill;
use crate::skills::SkillOwner;
use crate::skills::Switch;

fn tools() -> Vec<ServerTool> {
    let tool = |name: &str, id: Option<&str>, app: &str| -> McpTool {
        let meta = json!({ "connector_id": id, "connector_name": app });
        serde_json::from_value(json!({ "name": name, "inputSchema": {}, "_meta": meta })).unwrap()
    };
    let apps = vec![
        tool("events", Some("cal"), " Google Calendar "),
        tool("make", Some("cal"), "Another Name"),
        tool("files", Some("drv"), "Drive"),
        tool("note", Some("notes"), "  "),
        tool("twin_a", Some("a"), "Twin!"),
        tool("twin_b", Some("b"), "twin"),
        tool("orphan", None, "Nobody's"),
    ];
    offered(&[(APPS_SERVER.to_owned(), apps), ("mine".to_owned(), vec![tool("echo", Some("cal"), "Google Calendar")])])
}

fn skills(names: &[&str]) -> Skills {
    let skill = |name: &&str| Skill {
        name: (*name).to_owned(),
        description: String::new(),
        short_description: None,
        allowed_tools: Vec::new(),
        path: format!("/{name}/SKILL.md"),
        scope: SkillOwner::User,
        switch: Switch::On,
        metadata: None,
    };
    Skills::new(names.iter().map(skill).collect(), Vec::new())
}

#[test]
fn an_app_is_called_as_its_tools_call_it() {
    let shown: Vec<String> =
        apps(&tools()).iter().map(|app| format!("{} {} ${}", app.id, app.name, app.slug())).collect();
    expect![[r#"
        drv Drive $drive
        cal Google Calendar $google-calendar
        a Twin! $twin
        notes notes $notes
        b twin $twin"#]]
    .assert_eq(&shown.join("\n"));
    assert_eq!(names(&tools()).join(", "), "Another Name, Drive, Google Calendar, Twin!, twin");
    assert_eq!([slug("Ünï & Co."), slug("--"), slug("日本")], ["n----co", "app", "app"]);
}

#[track_caller]
fn check_offered(choice: &AppChoice, expected: &str) {
    let shown: Vec<String> = tools().into_iter().filter(|tool| choice.offers(tool)).map(|tool| tool.tool).collect();
    assert_eq!(shown.join(" "), expected);
}

#[test]
fn what_is_in_play_or_was_found_is_offered_unless_it_is_switched_off() {
    let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
    check_offered(&AppChoice::default(), "echo");
    let choice =
        AppChoice { in_play: set(&["cal"]), found: vec!["mcp__codex_apps__files".to_owned()], ..AppChoice::default() };
    check_offered(&choice, "events files make echo");
    check_offered(&AppChoice { disabled: set(&["cal", "drv"]), ..choice }, "echo");
    let found = |name: &str| AppChoice { found: vec![format!("mcp__codex_apps__{name}")], ..AppChoice::default() };
    check_offered(&found("orphan"), "echo");
    let can_find = |disabled: &[&str]| {
        let choice = AppChoice { disabled: set(disabled), ..AppChoice::default() };
        tools().iter().filter(|tool| choice.can_find(tool)).count()
    };
    assert_eq!((can_find(&[]), can_find(&["cal"])), (6, 4));
}

#[track_caller]
fn check_named(inputs: &[UserInput], skill_texts: &[&str], skill_names: &[&str], expected: &[&str]) {
    let (tools, skills) = (tools(), skills(skill_names));
    let named = named(inputs, skill_texts, &Known { tools: &tools, skills: &skills });
    assert_eq!(named.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn an_input_and_its_skills_name_apps() {
    let text = |text: &str| UserInput::text(text.to_owned());
    let mention = |path: &str| UserInput::Mention { name: "x".to_owned(), path: path.to_owned() };
    check_named(&[text("[$x](app://any) [$y](app://) [$z](mcp://m) [$w]( app://two )")], &[], &[], &["any", "two"]);
    check_named(&[mention("app://cal"), mention("mcp://cal"), mention("app://")], &[], &[], &["cal"]);
    check_named(&[text("$drive")], &["Use $drive, $twin and [$q](app://linked)."], &[], &["drv", "linked"]);
    check_named(&[text("$drive")], &["Use $drive and $google-calendar."], &["Drive"], &["cal"]);
}

#[track_caller]
fn check_conversation(said: &[(&str, &str)], disabled: &[&str], skill_names: &[&str], expected: &Expect) {
    let (tools, skills) = (tools(), skills(skill_names));
    let choice = AppChoice { disabled: disabled.iter().map(|id| (*id).to_owned()).collect(), ..AppChoice::default() };
    let messages = said.iter().map(|(role, text)| Item::text(role, *text));
    let known = Known { tools: &tools, skills: &skills };
    let named = named_in_conversation(messages, &choice, &known, "Summary:");
    expected.assert_eq(&named.into_iter().collect::<Vec<_>>().join(" "));
}

#[test]
fn messages_of_people_name_apps_as_long_as_they_are_there() {
    let said = [("user", "Use $Google-Calendar"), ("assistant", "$drive"), ("user", "and [$n](app://notes), $twin")];
    check_conversation(&said, &[], &[], &expect!["cal notes"]);
    check_conversation(&said, &["a"], &[], &expect!["b cal notes"]);
    check_conversation(&said, &["cal"], &["TWIN"], &expect!["notes"]);
    check_conversation(
        &[("user", "Summary:\n$drive"), ("user", "<environment_context>$drive"), ("developer", "$drive")],
        &[],
        &[],
        &expect![""],
    );
}

#[test]
fn the_last_search_of_a_history_says_what_was_found() {
    let call = |id: &str, name: &str| Item::FunctionCall {
        id: None,
        name: name.to_owned(),
        arguments: "{}".to_owned(),
        call_id: id.to_owned(),
    };
    let output = |id: &str, text: &str| Item::FunctionCallOutput {
        call_id: id.to_owned(),
        output: ToolOutput::Text(text.to_owned()),
    };
    let mut found = FoundBefore::default();
    let items = [
        call("1", SEARCH),
        output("1", r#"{"active_selected_tools":["b","a"]}"#),
        call("2", "shell"),
        output("2", r#"{"active_selected_tools":["c"]}"#),
        call("3", SEARCH),
        output("3", "query must not be empty"),
        call("4", SEARCH),
        output("4", r#"{"active_selected_tools":["d",1]}"#),
    ];
    items.iter().for_each(|item| found.look_at(item));
    assert_eq!(found.into_names(), ["b", "a"]);
}
