//! The panel is the report, and the report is what a server receives.

use std::path::PathBuf;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::pack::Pack;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use pellucid_tui::host::Host;
use pellucid_tui::host::HostAnswer;
use pellucid_tui::host::HostCall;
use pellucid_tui::host::HostNews;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::args::turn::TurnArgs;
use crate::start::Opening;
use crate::start::Persistence;
use crate::tui::host::SessionHost;

pub const WIRES: [&str; 3] = ["responses", "chat", "messages"];

const FIXTURE: &str = "
//- home/AGENTS.md
Answer briefly.
//- work/AGENTS.md
Use \"tabs\".
And \\ no spaces, caf\u{e9} \u{8a9e}.
//- work/.codex/skills/tidy/SKILL.md
---
name: tidy
description: Tidy up.
---
Put things away.
";

pub fn reply(wire: &str, items: impl IntoIterator<Item = Value>) -> MockReply {
    match wire {
        "responses" => MockReply::items(items),
        "chat" => MockReply::chat(items),
        _ => MockReply::messages(items),
    }
}

pub fn answer(text: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text }]);
    json!({ "type": "message", "id": "msg", "role": "assistant", "content": content })
}

fn call(name: &str) -> Value {
    json!({ "type": "function_call", "id": "fc", "call_id": "call-1", "name": name, "arguments": "{}" })
}

/// A project with a server that answers for the model.
pub struct Desk {
    pub files: Workspace,
    pub server: MockServer,
    wire: &'static str,
    pack: String,
    pub config: Vec<String>,
}

impl Desk {
    pub fn new(pack: &str, wire: &'static str) -> Self {
        let files = Workspace::new(FIXTURE);
        files.folder("home");
        files.git("work");
        let server = MockServer::start([]);
        let config = format!(
            "model = \"gpt-5.2-codex\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nwire_api = \"{wire}\"\n[projects.{:?}]\ntrust_level = \"trusted\"\n",
            server.base_url(),
            files.path("work"),
        );
        files.write("home/config.toml", config);
        Self { files, server, wire, pack: pack.to_owned(), config: Vec::new() }
    }

    /// Opens a session of the client: a new one, or that of a file.
    pub async fn open(&self, file: Option<PathBuf>) -> Talk<'_> {
        let keep = Persistence::File;
        self.open_with(match file {
            None => Opening::New { session_id: None, keep },
            Some(path) => Opening::Resumed { file: Box::new(read::open(&path).unwrap()), keep },
        })
        .await
    }

    /// Opens a session of the client.
    pub async fn open_with(&self, opening: Opening) -> Talk<'_> {
        let shared = Shared { pack: Some(self.pack.clone()), config: self.config.clone(), ..Shared::default() };
        let args = StartArgs { cd: Some(self.files.path("work")), ..StartArgs::default() };
        let start = Start::in_home(&self.files.path("home"), &shared, &args).unwrap();
        let turn = TurnArgs { start: args, ..TurnArgs::default() };
        let how = HowToOpen { shared, turn, policy: None };
        let (mut host, _) = SessionHost::open(how, start, opening).await.unwrap();
        // The tools of servers are known from here on, however long a server takes to start.
        while !matches!(host.event().await.expect("an event").msg, EventMessage::McpStartupComplete { .. }) {}
        Talk { desk: self, host }
    }
}

/// A conversation with the session of a client.
pub struct Talk<'a> {
    desk: &'a Desk,
    pub host: SessionHost,
}

impl Talk<'_> {
    pub async fn answer(&mut self, call: LookCall) -> LookAnswer {
        assert_eq!(self.host.ask(HostCall::Look(call)).await, HostAnswer::Done);
        loop {
            match self.host.news().await {
                HostNews::Answer(HostAnswer::Looked(answer)) => return *answer,
                HostNews::Answer(other) => panic!("{other:?}"),
                HostNews::Event(event) => assert!(event.is_some(), "the session ended"),
            }
        }
    }

    pub async fn look(&mut self, draft: &LookDraft) -> LookReport {
        match self.answer(LookCall::Report { draft: draft.clone(), is_exact: false }).await {
            LookAnswer::Report(report) => *report.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub async fn preview(&mut self, draft: &LookDraft) -> RequestPreview {
        match self.answer(LookCall::Preview(draft.clone())).await {
            LookAnswer::Preview(preview) => *preview.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Sends a draft, which the model answers with these items, each in a reply. Gives the requests of the turn.
    pub async fn say(&mut self, draft: &LookDraft, replies: Vec<Value>) -> Vec<Vec<u8>> {
        let wire = self.desk.wire;
        self.desk.server.add(replies.into_iter().map(|item| reply(wire, [item])));
        let before = self.desk.server.requests().len();
        if let Some(change) = &draft.change {
            self.host.submit(Operation::OverrideTurnContext(SettingsChange::clone(change))).await;
        }
        let items = draft.inputs.clone();
        self.host.submit(Operation::UserInput { items, final_output_json_schema: None }).await;
        loop {
            match self.host.event().await.expect("an event").msg {
                EventMessage::TaskComplete { .. } => break,
                EventMessage::Error { message, .. } => panic!("{message}"),
                _ => {}
            }
        }
        self.desk.server.requests().into_iter().skip(before).map(|request| request.body).collect()
    }

    /// Ends the session and gives its file.
    pub async fn end(mut self) -> PathBuf {
        let file = self.host.session_file().unwrap();
        self.host.submit(Operation::Shutdown).await;
        while let Some(event) = self.host.event().await {
            if matches!(event.msg, EventMessage::ShutdownComplete) {
                break;
            }
        }
        file
    }
}

pub fn draft(text: &str) -> LookDraft {
    LookDraft { inputs: vec![UserInput::text(text)], change: None }
}

/// Looks at a draft, sends it, and checks that every figure and byte is that of the request that the server received.
async fn check_same(talk: &mut Talk<'_>, draft: &LookDraft, replies: Vec<Value>, about: &str) {
    let report = talk.look(draft).await;
    let preview = talk.preview(draft).await;
    let again = talk.look(draft).await;
    assert_eq!(report, again, "{about}: looking changes nothing");
    let sent = talk.say(draft, replies).await;
    let body = &sent[0];
    assert_eq!(preview.body, String::from_utf8_lossy(body), "{about}: the bytes");
    assert_eq!(report.size.bytes, body.len(), "{about}");
    let of_groups: usize = report.groups.iter().map(|group| group.size.bytes).sum();
    let rows = || report.groups.iter().flat_map(|group| &group.rows);
    assert_eq!(of_groups, body.len(), "{about}: groups");
    assert_eq!(rows().map(|row| row.size.bytes).sum::<usize>(), body.len(), "{about}: rows");
    assert_eq!(rows().map(|row| row.size.tokens).sum::<usize>(), report.size.tokens, "{about}: tokens");
    assert_eq!(rows().map(|row| row.size.tokens_kept).sum::<usize>(), report.size.tokens_kept, "{about}: kept");
    let prices = rows().map(|row| row.size.cost.clone()).collect::<Option<Vec<_>>>();
    assert_eq!(prices.and_then(Money::sum), report.size.cost, "{about}: the price is that of the rows");
    assert!(report.size.cost.is_some(), "{about}: the model has a price");
}

#[tokio::test]
async fn the_panel_is_the_request_that_is_sent_under_every_pack_and_wire() {
    for pack in Pack::builtin_names() {
        for wire in WIRES {
            let desk = Desk::new(pack, wire);
            let mut talk = desk.open(None).await;
            let about = format!("{pack} on {wire}");
            check_same(&mut talk, &draft("one \"quoted\"\nline"), vec![answer("First.")], &about).await;
            let replies = vec![call("no_such_tool"), answer("Second.")];
            check_same(&mut talk, &draft("two"), replies, &about).await;
            let model = Some("gpt-5.1-codex-max".to_owned());
            let change = Some(Box::new(SettingsChange { model, ..SettingsChange::default() }));
            let third = LookDraft { change, ..draft("three") };
            check_same(&mut talk, &third, vec![answer("Third.")], &about).await;
            let file = talk.end().await;
            let mut talk = desk.open(Some(file)).await;
            check_same(&mut talk, &draft("four"), vec![answer("Fourth.")], &format!("{about}, resumed")).await;
            talk.end().await;
        }
    }
}

/// What a report says of the cache.
pub fn outlook_text(report: &LookReport) -> String {
    match &report.outlook {
        CacheOutlook::First => "first".to_owned(),
        CacheOutlook::Extends => "extends".to_owned(),
        CacheOutlook::Shortens => "shortens".to_owned(),
        CacheOutlook::Sent => "sent".to_owned(),
        CacheOutlook::Breaks(broken) => {
            assert!(broken.tokens > 0 && broken.cost.is_some() && !broken.advice.is_empty(), "{broken:?}");
            format!("breaks by {}: {}", broken.cause, broken.what)
        }
    }
}

/// Sends a message, changes something, continues the session in a new process, and checks what is said before the next
/// message; and that the server then receives what was said.
async fn check_alarm(mutate: impl FnOnce(&mut Desk), expected: &Expect) {
    let mut desk = Desk::new("codex", "responses");
    let mut talk = desk.open(None).await;
    let first = talk.say(&draft("one"), vec![answer("First.")]).await.remove(0);
    let file = talk.end().await;
    mutate(&mut desk);
    let mut talk = desk.open(Some(file)).await;
    let report = talk.look(&draft("two")).await;
    let sent = talk.say(&draft("two"), vec![answer("Second.")]).await.remove(0);
    if let CacheOutlook::Breaks(broken) = &report.outlook {
        assert_ne!(first.get(broken.byte..broken.byte + 40), sent.get(broken.byte..broken.byte + 40), "{broken:?}");
    }
    talk.end().await;
    expected.assert_eq(&desk.files.root().to_str().map_or_else(String::new, |root| {
        let lines = std::iter::once(outlook_text(&report)).chain(report.notes.iter().cloned());
        lines.collect::<Vec<_>>().join("\n").replace(root, "ROOT")
    }));
}

#[tokio::test]
async fn the_alarm_names_what_changed() {
    check_alarm(|_| {}, &expect!["extends"]).await;
    check_alarm(
        |desk| desk.config.push("model=\"gpt-5.1-codex-max\"".to_owned()),
        &expect!["breaks by model: model changed, from fact model"],
    )
    .await;
    check_alarm(
        |desk| desk.config.push("features.shell_tool=false".to_owned()),
        &expect!["breaks by tools: tools/exec_command removed, from pack tools/exec_command.toml"],
    )
    .await;
    let wiki = McpScript::new(&["find"]);
    let argv = wiki.argv();
    check_alarm(
        |desk| desk.config.push(format!("mcp_servers.wiki={{command={:?},args={:?}}}", argv[0], &argv[1..])),
        &expect!["breaks by tools: tools/mcp__wiki__find added, from provided mcp_servers.wiki"],
    )
    .await;
    check_alarm(|desk| drop(desk.files.write("work/AGENTS.md", "Use spaces.\n")), &expect![[r#"
        extends
        AGENTS.md changed since the last request, sha256 738c80a7f8ebaa047b66f3bb8986364882f38b3ddf11ac3d0be653a72f7a08c0 -> d9d69cfc9e52e68ebf95daffcc836dc547005ed753b097cb5d86aad654488a4f"#]]).await;
    check_alarm(
        |desk| {
            let skill = "---\nname: tidy\ndescription: Tidy up, and then again.\n---\nPut things away.\n";
            desk.files.write("work/.codex/skills/tidy/SKILL.md", skill);
        },
        &expect!["extends"],
    )
    .await;
    check_alarm(|desk| desk.config.push("sandbox_mode=\"read-only\"".to_owned()), &expect!["extends"]).await;
    check_alarm(
        |desk| desk.config.push("web_search=\"live\"".to_owned()),
        &expect!["breaks by tools: tools/web_search changed, from fact web_search"],
    )
    .await;
}

#[tokio::test]
async fn many_turns_without_a_change_are_no_alarm() {
    let desk = Desk::new("codex", "responses");
    let mut talk = desk.open(None).await;
    for turn in 0..40 {
        let said = draft(&format!("message {turn}"));
        let report = talk.look(&said).await;
        assert_eq!(outlook_text(&report), if turn == 0 { "first" } else { "extends" }, "turn {turn}");
        let replies = if turn % 3 == 0 { vec![call("no_such_tool"), answer("Yes.")] } else { vec![answer("Yes.")] };
        talk.say(&said, replies).await;
    }
    let change = SettingsChange { approval_policy: Some(ApprovalPolicy::OnRequest), ..SettingsChange::default() };
    let said = LookDraft { change: Some(Box::new(change)), ..draft("with other permissions") };
    assert_eq!(outlook_text(&talk.look(&said).await), "extends");
    talk.end().await;
}

#[tokio::test]
async fn every_row_says_why_it_is_there() {
    let desk = Desk::new("codex", "responses");
    let mut talk = desk.open(None).await;
    talk.say(&draft("one"), vec![answer("First.")]).await;
    let report = talk.look(&draft("two")).await;
    for row in report.groups.iter().flat_map(|group| &group.rows) {
        match talk.answer(LookCall::Why(row.start)).await {
            LookAnswer::Page { lines, .. } => {
                assert!(lines[0].starts_with("in the request: bytes "), "{row:?}: {lines:?}");
            }
            other => panic!("{row:?}: {other:?}"),
        }
    }
    let mut files =
        report.groups.iter().flat_map(|group| &group.rows).filter(|row| row.origin.starts_with("AGENTS.md"));
    assert_eq!(files.next().map(|row| row.origin.as_str()), Some("AGENTS.md:1-2"));
    for at in 0..report.left_out.len() {
        match talk.answer(LookCall::WhyNot(at)).await {
            LookAnswer::Page { lines, .. } => {
                assert!(lines[1].starts_with("not in the request: "), "{lines:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    talk.end().await;
}

#[tokio::test]
async fn the_price_of_a_turn_is_within_a_twentieth_of_its_bill() {
    let desk = Desk::new("codex", "responses");
    let mut talk = desk.open(None).await;
    assert_eq!(talk.look(&draft("turn 0")).await.turn, None, "nothing is known before the first turn");
    let (mut paid, mut expected) = (0.0, 0.0);
    for turn in 0..6 {
        let said = draft(&format!("turn {turn}"));
        let report = talk.look(&said).await;
        let spent = |talk: &Talk<'_>| -> f64 {
            let file = talk.host.session_file().unwrap();
            let cost = cache::session_cost(&desk.files.path("home"), &file);
            cost.map_or(0.0, |cost| cost.decimal().parse().unwrap())
        };
        let before = if turn == 0 { 0.0 } else { spent(&talk) };
        desk.server
            .add([call("no_such_tool"), answer("Yes, that is so.")].map(|item| MockReply::items([item]).charged()));
        talk.say(&said, Vec::new()).await;
        if let Some(price) = report.turn {
            assert_eq!(price.n_turns, turn);
            paid += spent(&talk) - before;
            expected += price.cost.unwrap().decimal().parse::<f64>().unwrap();
        }
    }
    assert!(paid > 0.0 && (paid - expected).abs() <= paid * 0.05, "paid {paid}, expected {expected}");
    talk.end().await;
}

#[tokio::test]
async fn prompts_of_servers_are_listed_and_sent_under_every_pack() {
    for pack in Pack::builtin_names() {
        let script = McpScript::new(&[]);
        script.gives(&json!({ "name": "fix", "description": "Fixes." }), "Fix what is broken.", "a note");
        let mut desk = Desk::new(pack, "responses");
        let [command, args] = [script.argv()[0].clone(), format!("{:?}", &script.argv()[1..])];
        desk.config = vec![format!("mcp_servers.depot={{ command = {command:?}, args = {args} }}")];
        let mut talk = desk.open(None).await;
        let listed = loop {
            if let HostNews::Answer(HostAnswer::ServerPrompts(listed)) = talk.host.news().await {
                break listed;
            }
        };
        let listed: Vec<_> = listed.iter().map(|it| (it.command.as_str(), it.description.as_str())).collect();
        assert_eq!(listed, [("mcp:depot:fix", "Fixes.")], "{pack}");
        let sent = talk.say(&draft("/mcp:depot:fix"), vec![answer("Done.")]).await;
        let body = String::from_utf8_lossy(&sent[0]).into_owned();
        assert!(body.contains("Fix what is broken.\"") && !body.contains("/mcp:"), "{pack}");
        let sent = talk.say(&draft("See @depot:note://a"), vec![answer("Done.")]).await;
        let body = String::from_utf8_lossy(&sent[0]).into_owned();
        assert!(body.contains(r#"note://a\n```\na note\n```""#), "{pack}");
        talk.end().await;
    }
}
