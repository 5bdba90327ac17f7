//! The packs of other systems: from end to end, and the examples of their pages.

use std::path::Path;

use expect_test::expect;
use pellucid_engine::assemble::assemble;
use pellucid_engine::bootstrap::BootstrapFile;
use pellucid_engine::bootstrap::LoadedFiles;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::concat;
use pellucid_engine::injection;
use pellucid_engine::injection::FileRead;
use pellucid_engine::injection::FileText;
use pellucid_engine::injection::InjectionRead;
use pellucid_engine::pack::Pack;
use pellucid_engine::prompt_sizes::PromptReport;
use pellucid_engine::prompt_sizes::reply::ReplyKind;
use pellucid_engine::prompt_sizes::reply::SessionTokens;
use pellucid_engine::prompt_sizes::reply::reply;
use pellucid_protocol::model::ModelInfo;
use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::World;

const FIXTURE: &str = "
//- work/AGENTS.md
Use tabs.
//- work/SOUL.md
Calm and dry.
//- work/items.json
{\"items\": [{\"target\": \"system_section\", \"content\": \"Answer in French.\"},
 {\"target\": \"preamble_message\", \"role\": \"assistant\", \"content\": \"Bien.\"}]}
";

/// Runs `exec` with a pack against a server and gives what the server got.
#[track_caller]
fn sent(pack: &str, wire: &str, more: &[&str]) -> Value {
    let reply = match wire {
        "chat" => MockReply::chat([
            json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Fine." }] }),
        ]),
        _ => MockReply::say("Fine."),
    };
    let server = MockServer::start([reply]);
    let world = World::new(FIXTURE);
    world.files.write(
        "home/config.toml",
        format!(
            "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nwire_api = \"{wire}\"\n",
            server.base_url()
        ),
    );
    let ran = world.run(&[&["exec", "--pack", pack], more, &["hi"]].concat());
    assert_eq!((ran.status, ran.out()), (0, "Fine.\n"), "{}", ran.stderr);
    let body = server.requests().remove(0).body;
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn openclaw_works_from_end_to_end() {
    let body = sent("openclaw", "responses", &[]);
    let instructions = body["instructions"].as_str().unwrap();
    for part in ["\n## Tooling\n", "work/AGENTS.md\nUse tabs.\n## ", "work/SOUL.md\nCalm and dry.\n## ", "[MISSING] "] {
        assert!(instructions.contains(part), "{part}: {instructions}");
    }
    assert_eq!(body["input"].as_array().unwrap().len(), 1, "{body}");
    let minimal = sent("openclaw", "chat", &["-c", "facts.session_key=subagent:1"]);
    let system = minimal["messages"][0]["content"].as_str().unwrap();
    assert!(!system.contains("Calm") && !system.contains("## Heartbeats"), "{system}");
}

#[test]
fn agentcore_works_from_end_to_end() {
    let body = sent("agentcore", "responses", &["--inject", "items.json"]);
    assert!(body["instructions"].as_str().unwrap().ends_with("\n\nAnswer in French."));
    let shown: Vec<String> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| format!("{} {}", item["role"].as_str().unwrap(), item["content"][0]["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        shown,
        [
            "user <user_instructions>\n# Repo Instructions\n\n## AGENTS.md\nUse tabs.\n\n</user_instructions>",
            "assistant Bien.",
            "user hi",
        ]
    );
}

#[test]
fn the_report_of_an_assistant_has_its_forms() {
    let world = World::new(FIXTURE);
    let shown = |form: &str| {
        let ran = world.run(&["context", "--pack", "openclaw", "--form", form, "hi"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        world.shown(ran.out())
    };
    let files: String = shown("list").split_inclusive('\n').filter(|line| line.contains(".md: ")).collect();
    expect![[r#"
        - AGENTS.md: OK | raw 9 chars (~3 tok) | injected 9 chars (~3 tok)
        - SOUL.md: OK | raw 13 chars (~4 tok) | injected 13 chars (~4 tok)
        - TOOLS.md: MISSING | raw 0 | injected 0
        - IDENTITY.md: MISSING | raw 0 | injected 0
        - USER.md: MISSING | raw 0 | injected 0
        - HEARTBEAT.md: MISSING | raw 0 | injected 0
        - BOOTSTRAP.md: MISSING | raw 0 | injected 0
    "#]]
    .assert_eq(&files);
    assert!(shown("detail").starts_with("🧠 Context breakdown (detailed)\nWorkspace: ROOT/work\n"));
    let json: Value = serde_json::from_str(&shown("json")).unwrap();
    assert_eq!(json["report"]["injectedWorkspaceFiles"][0]["rawChars"], 9);
    let map = shown("map");
    assert!(map.contains("  ROOT/work/AGENTS.md\n"), "{map}");
}

#[test]
fn what_became_of_each_item_is_an_event() {
    let world = World::new(FIXTURE);
    world.files.write("work/script.toml", "[[reply]]\nsay = \"Fine.\"\n");
    let ran = world.run(&[
        "exec",
        "--json",
        "--context-events",
        "--pack",
        "agentcore",
        "--inject",
        "items.json",
        "--script",
        "script.toml",
        "hi",
    ]);
    let events = ran.out().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let items: Vec<Value> = events.filter(|event| event["type"] == "prompt_injection.item").collect();
    let shown: Vec<String> = items
        .iter()
        .map(|it| {
            format!(
                "{} {} {}",
                it["source_type"].as_str().unwrap(),
                it["target"].as_str().unwrap(),
                it["outcome"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "repo_docs preamble_message injected",
            "provided system_section injected",
            "provided preamble_message injected"
        ]
    );
    assert!(items.iter().all(|it| it.get("content").is_none()));
}

#[test]
fn what_cannot_be_injected_is_said() {
    let world = World::new(FIXTURE);
    let said = |args: &[&str]| {
        let ran = world.run(&[&["context"], args].concat());
        assert_eq!(ran.status, 1, "{}", ran.out());
        ran.stderr
    };
    world.files.write("work/odd.json", "{\"itens\": []}");
    let slot = "[[slot]]\nid = 'base'\ntarget = 'instructions'\nsource = 'base_instructions'\n[updates]\norder = []\n";
    world.files.write("work/bare/pack.toml", format!("name = 'bare'\nfrom = 'codex'\n{slot}"));
    let all = [
        said(&["--pack", "./bare", "--inject", "items.json"]),
        said(&["--pack", "agentcore", "--inject", "no.json"]),
        said(&["--pack", "agentcore", "--inject", "odd.json"]),
    ];
    expect![[r#"
        error: the pack `bare` has no slot for injected items; add slots with the sources `injected_items` and `injected_preamble` to it
        error: ROOT/work/no.json: No such file or directory (os error 2)
        error: ROOT/work/odd.json: unknown field `itens`, expected one of `items`, `sources`, `store`, `attributes`, `memory`, `variables`; a list of items is expected, or a table with items, sources, store, attributes, memory, variables or settings of an agent
    "#]].assert_eq(&all.concat());
}

fn plain_facts(cwd: &str) -> Facts {
    let model: ModelInfo = serde_json::from_value(json!({
        "slug": "gpt-5.2-codex", "display_name": "m", "shell_type": "shell_command", "visibility": "list",
        "truncation_policy": { "mode": "tokens", "limit": 10_000 }, "context_window": 272_000,
    }))
    .unwrap();
    Facts::plain(cwd, model)
}

/// Compares the made parts of a page with these, or writes them.
#[track_caller]
fn check_page(name: &str, parts: &[(&str, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/packs").join(name);
    let written = std::fs::read_to_string(&path).unwrap();
    let mut page = written.clone();
    for (part, text) in parts {
        let open = format!("<!-- made by a test: {part} -->\n");
        let start = page.find(&open).unwrap_or_else(|| panic!("{name} has no part {part}")) + open.len();
        let end = start + page[start..].find("<!-- end -->").unwrap();
        page.replace_range(start..end, &format!("```text\n{}\n```\n", text.trim_end_matches('\n')));
    }
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
        return;
    }
    assert!(written == page, "docs/packs/{name} is not what the pack makes; run the tests with UPDATE_EXPECT=1");
}

#[test]
fn items_are_injected_with_every_pack_and_rebuilt() {
    for pack in Pack::builtin_names() {
        let body = sent(pack, "responses", &["--inject", "items.json"]).to_string();
        assert!(body.contains("Answer in French.") && body.contains("Bien."), "{pack}: {body}");
        let without = sent(pack, "responses", &[]).to_string();
        assert!(!without.contains("French"), "{pack}");
    }
    let world = World::new(FIXTURE);
    let id = "01a1b2c3-0000-7000-8000-000000000001";
    let server = MockServer::start([MockReply::say("Fine."), MockReply::say("Still fine.")]);
    world.files.write(
        "home/config.toml",
        format!(
            "model_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n",
            server.base_url()
        ),
    );
    for args in [
        &["exec", "--inject", "items.json", "--session-id", id, "hi"][..],
        &["exec", "--inject", "items.json", "resume", id, "go on"],
        &["replay", id],
    ] {
        let ran = world.run(args);
        assert_eq!(ran.status, 0, "{args:?}: {}{}", ran.out(), ran.stderr);
    }
}

#[test]
fn the_page_about_openclaw_is_up_to_date() {
    let workspace = "/home/ada/assistant";
    let place = |name: &str| format!("{workspace}/{name}");
    let rules: String = (1..=900).map(|n| format!("Rule {n}: write it down, then do it.\n")).collect();
    let pack = Pack::builtin("openclaw").unwrap();
    let set = pack.layout.bootstrap.as_ref().unwrap();
    let files: Vec<BootstrapFile> = set
        .names
        .iter()
        .map(|name| match name.as_str() {
            "AGENTS.md" => BootstrapFile::read(name, &place(name), rules.as_bytes()),
            "SOUL.md" => BootstrapFile::read(name, &place(name), b"Calm and dry. Says what it does not know.\n"),
            name => BootstrapFile::missing(name, &place(name)),
        })
        .collect();
    let mut facts = plain_facts(workspace);
    facts.system.files = LoadedFiles {
        placed: set.fit(&files, None, None).files,
        read: files,
        limits: set.rules.per_file.zip(set.rules.total),
    };
    let prompt = concat(&assemble(&pack, &facts).instructions);
    let report = PromptReport::of(&pack, &facts, &prompt, &[]);
    let tokens = SessionTokens { context: Some(272_000), ..SessionTokens::default() };
    let list = reply(ReplyKind::List, &report, tokens, workspace);
    let start = prompt.find("# Project Context\n").unwrap();
    let end = prompt.find("\n## Silent Replies\n").unwrap();
    let lines: Vec<&str> =
        prompt[start..end].lines().filter(|line| !line.starts_with("Rule ") || line.starts_with("Rule 1:")).collect();
    check_page("openclaw.md", &[("list", list), ("prompt", lines.join("\n"))]);
}

#[test]
fn the_page_about_agentcore_is_up_to_date() {
    let mut facts = plain_facts("/home/ada/app");
    let pack = Pack::builtin("agentcore").unwrap();
    let items = json!([
        { "target": "system_section", "content": "Answer in French.", "order": 300 },
        { "target": "preamble_message", "role": "user", "content": "The build is red since noon.", "max_bytes": 2000 },
    ]);
    let mut specs = pack.layout.injections.clone();
    specs.push(json!({ "type": "file_set", "files": [{ "path": "NOTES.md", "max_bytes": 60 }], "order": 400 }));
    let injection = &mut facts.system.injection;
    injection.sources = injection::sources(&Value::Array(specs));
    injection.attributes.insert("cwd".to_owned(), "/home/ada/app".into());
    injection.attributes.insert("prompt_injections".to_owned(), items);
    injection
        .places
        .insert("prompt_injections".to_owned(), vec!["notes.json[0]".to_owned(), "notes.json[1]".to_owned()]);
    injection.memory = vec!["prefers tabs".to_owned()];
    let notes = "Ask Grace about the release.\nThe staging server is down on Mondays.\nNever rename the tables.\n";
    let text = |path: &str, text: &str| FileRead::Text(FileText::whole(path, text.as_bytes().to_vec()));
    let mut read = InjectionRead::default();
    read.files.insert("/home/ada/app/NOTES.md".to_owned(), text("/home/ada/app/NOTES.md", notes));
    read.repo.documents = vec![("AGENTS.md".to_owned(), text("/home/ada/app/AGENTS.md", "Use tabs.\n"))];
    injection.reads = injection.sources.iter().map(|_| read.clone()).collect();
    let context = assemble(&pack, &facts);
    let mut prompt = format!("[system]\n{}\n", concat(&context.instructions));
    for message in &context.messages {
        prompt += &format!("\n[{}]\n{}\n", message.role, concat(&message.fragments));
    }
    let collected = facts.system.injection.collect(facts.system.prompt_mode, &pack.layout.source_texts);
    let line = |it: &injection::Injected| format!("{}\n", serde_json::to_value(it).unwrap());
    let injections: String = collected.injected.iter().map(line).collect();
    check_page("agentcore.md", &[("prompt", prompt), ("injections", injections)]);
}

/// The tokens of each part of a first request, in the order of the request.
#[track_caller]
fn tokens_of_parts(world: &World, args: &[&str]) -> Vec<(String, u64)> {
    let ran = world
        .run(&[&["context", "--json", "--session-id", "01a1b2c3-0000-7000-8000-000000000001"], args, &["hi"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let mut parts: Vec<(String, u64)> = Vec::new();
    for row in report["rows"].as_array().unwrap() {
        let (part, tokens) = (row["part"].as_str().unwrap(), row["tokens"].as_u64().unwrap());
        match parts.iter_mut().find(|(name, _)| name == part) {
            Some((_, sum)) => *sum += tokens,
            None => parts.push((part.to_owned(), tokens)),
        }
    }
    parts
}

#[test]
fn the_page_about_our_own_pack_is_up_to_date() {
    let world = World::new("//- work/empty\n");
    let columns = [
        tokens_of_parts(&world, &["--pack", "codex"]),
        tokens_of_parts(&world, &["--pack", "pellucid"]),
        tokens_of_parts(&world, &["--pack", "pellucid", "-c", "prompt_mode=minimal"]),
    ];
    let mut table = format!("{:<28} {:>7} {:>9} {:>9}\n", "part", "codex", "pellucid", "minimal");
    let of = |column: &[(String, u64)], part: &str| {
        column.iter().find(|(name, _)| name == part).map_or_else(|| "-".to_owned(), |(_, tokens)| tokens.to_string())
    };
    let [codex, full, minimal] = &columns;
    for (part, _) in full {
        table += &format!("{part:<28} {:>7} {:>9} {:>9}\n", of(codex, part), of(full, part), of(minimal, part));
    }
    let sums = columns.iter().map(|column| column.iter().map(|(_, tokens)| tokens).sum::<u64>());
    let [codex, full, minimal] = sums.collect::<Vec<_>>()[..] else { panic!("three columns") };
    table += &format!("{:<28} {codex:>7} {full:>9} {minimal:>9}", "all");
    check_page("pellucid.md", &[("tokens", table), ("deferred", tokens_of_servers())]);
}

/// The tokens of tools of an MCP server, by how many there are and how they are offered.
fn tokens_of_servers() -> String {
    let tools = McpScript::new(&[]);
    let world = World::new("//- work/empty\n");
    world
        .files
        .write("home/config.toml", format!("[mcp_servers.depot]\n{}startup_timeout_sec = 600\n", tools.config()));
    let mut table = format!("{:>5} {:>8} {:>9} {:>9}", "tools", "direct", "deferred", "pellucid");
    for n_tools in [3, 10, 15, 20, 50, 100, 300] {
        tools.answers("tools/list", &json!({ "tools": (0..n_tools).map(usual_tool).collect::<Vec<_>>() }));
        let of = |options: &[&str]| {
            let parts = tokens_of_parts(&world, &[&["--mcp", "connect", "--pack", "pellucid"], options].concat());
            let is_counted =
                |part: &str| part.starts_with("tools/mcp__") || ["tools/find_tools", "tools/call_tool"].contains(&part);
            parts.iter().filter(|(part, _)| is_counted(part)).map(|(_, tokens)| tokens).sum::<u64>()
        };
        let (direct, deferred) = (of(&["-c", "mcp_tools=direct"]), of(&["-c", "mcp_tools=deferred"]));
        table += &format!("\n{n_tools:>5} {direct:>8} {deferred:>9} {:>9}", of(&[]));
    }
    table
}

/// A tool of usual size: a description of two sentences, and three arguments.
fn usual_tool(n: usize) -> Value {
    let argument = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "name": format!("list_records_{n}"),
        "description": "Lists the records of a project that match a filter. Results have pages of 50, the newest record first.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "project": argument("The id of the project whose records are listed."),
                "filter": argument("An expression such as state:open or label:bug."),
                "cursor": argument("The cursor that the page before ended with."),
            },
            "required": ["project"],
        },
    })
}

#[test]
fn small_windows_are_served_with_all_tools_under_every_policy() {
    let world = World::new("//- work/empty\n");
    let n_tools = |parts: &[(String, u64)]| parts.iter().filter(|(part, _)| part.starts_with("tools/")).count();
    let all = n_tools(&tokens_of_parts(&world, &["--pack", "pellucid"]));
    for approval in ["never", "on-request", "on-failure", "untrusted"] {
        for sandbox in ["read-only", "workspace-write", "danger-full-access"] {
            let approval = format!("approval_policy={approval}");
            let args = ["--pack", "pellucid", "-c", "prompt_mode=minimal", "-c", &approval, "--sandbox", sandbox];
            let parts = tokens_of_parts(&world, &args);
            let tokens: u64 = parts.iter().map(|(_, tokens)| tokens).sum();
            assert!(tokens < 2_000, "{args:?}: {tokens} tokens in {parts:?}");
            assert_eq!(n_tools(&parts), all);
        }
    }
}
