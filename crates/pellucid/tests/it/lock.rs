//! `context lock` and `context check`: one file for all machines, and every planted regression found.

use std::collections::BTreeMap;
use std::fs;

use pellucid_testkit::McpScript;
use serde_json::Value;

use crate::Ran;
use crate::World;

const RULES: &str = "Use tabs.\nBe brief.\n";
const CONFIG: &str = "work/.codex/config.toml";
const SKILL: &str = "work/.agents/skills/sing/SKILL.md";

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

/// A project with instructions and a skill.
fn world() -> World {
    let world = World::new("//- work/AGENTS.md\nUse tabs.\nBe brief.\n");
    world.files.write(SKILL, skill("sing", "Sings."));
    world
}

#[track_caller]
fn run(world: &World, args: &[&str]) -> Ran {
    let ran = world.run(args);
    assert_eq!(ran.status, 0, "{args:?}: {}{}", ran.out(), ran.stderr);
    ran
}

/// A change to a project that the check must find.
struct Planted {
    name: &'static str,
    args: Vec<String>,
    before: Vec<(&'static str, String)>,
    change: Box<dyn Fn(&World)>,
    /// Level, kind and source of every finding.
    found: Vec<&'static str>,
    status: i32,
}

impl Planted {
    /// A change that writes files, which the check must find once, as an error.
    fn files(name: &'static str, files: &[(&'static str, &str)], found: &'static str) -> Self {
        let files: Vec<(&str, String)> = files.iter().map(|(file, text)| (*file, (*text).to_owned())).collect();
        Self::change(name, found, move |world| {
            for (file, text) in &files {
                world.files.write(file, text);
            }
        })
    }

    fn change(name: &'static str, found: &'static str, change: impl Fn(&World) + 'static) -> Self {
        let (args, before, change) = (Vec::new(), Vec::new(), Box::new(change));
        Self { name, args, before, change, found: vec![found], status: 1 }
    }

    /// A change of the lock itself.
    fn lock(name: &'static str, old: &'static str, new: &'static str, found: &'static str) -> Self {
        Self::change(name, found, move |world| edit(world, old, new))
    }

    fn before(mut self, files: &[(&'static str, &str)]) -> Self {
        self.before.extend(files.iter().map(|(file, text)| (*file, (*text).to_owned())));
        self
    }

    fn args(mut self, args: &[&str]) -> Self {
        self.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        self
    }

    fn and(mut self, found: &'static str) -> Self {
        self.found.push(found);
        self
    }

    fn status(mut self, status: i32) -> Self {
        self.status = status;
        self
    }

    /// Locks, changes, checks.
    fn check(&self) {
        let Self { name, args, before, change, found, status } = self;
        let world = world();
        for (file, text) in before {
            world.files.write(file, text);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        run(&world, &[&["context", "lock"], args.as_slice()].concat());
        // The lock has the folder of the session.
        let args = if args.first() == Some(&"-C") { &args[2..] } else { &args };
        let unchanged = check(&world, args);
        assert_eq!((unchanged.0, unchanged.1.as_slice()), (0, [].as_slice()), "{name}: {}", unchanged.2);
        change(&world);
        let (code, findings, output) = check(&world, args);
        assert_eq!(
            (findings.as_slice(), code),
            (found.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice(), *status),
            "{name}: {output}"
        );
    }
}

/// Replaces a text of the lock file.
fn edit(world: &World, old: &str, new: &str) {
    let text = world.files.read("work/context.lock");
    assert!(text.contains(old), "{old} is not in {text}");
    world.files.write("work/context.lock", text.replacen(old, new, 1));
}

/// The status of a check, its findings, and all that it printed. The folder of the session is that of the lock.
fn check(world: &World, args: &[&str]) -> (i32, Vec<String>, String) {
    let ran = world.run(&[&["context", "check", "--json"], args].concat());
    let output = format!("{}{}", ran.out(), ran.stderr);
    let value: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {output}"));
    assert_eq!(value["schema"], "pellucid.check/1");
    let word = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
    let line = |it: &Value| it["line"].as_u64().map_or_else(String::new, |line| format!(":{line}"));
    let finding = |it: &Value| format!("{} {} {}{}", word(it, "level"), word(it, "kind"), word(it, "source"), line(it));
    (ran.status, value["findings"].as_array().unwrap().iter().map(finding).collect(), output)
}

fn check_all(planted: Vec<Planted>) {
    for planted in planted {
        planted.check();
    }
}

#[test]
fn changes_of_instruction_files_are_found() {
    let long = "A long line of it.\n".repeat(1900);
    let almost = "A long line of it.\n".repeat(1724) + "aaaaaaa";
    let wide = |planted: Planted| {
        let Planted { change, .. } = planted;
        let change = move |world: &World| {
            edit(world, "user_instructions.tokens_max = 8000", "user_instructions.tokens_max = 12000");
            change(world);
        };
        Planted { change: Box::new(change), ..Planted::change(planted.name, planted.found[0], |_| {}) }
    };
    let mut leaf =
        wide(Planted::files("a long root that cuts a leaf", &[("work/AGENTS.md", &almost)], "error drift AGENTS.md"))
            .before(&[("work/sub/AGENTS.md", "Leaf rules.\n")])
            .and("error truncated sub/AGENTS.md:1");
    leaf.args = vec!["-C".to_owned(), "sub".to_owned()];
    check_all(vec![
        Planted::files("one byte", &[("work/AGENTS.md", "Use tabs!\nBe brief.\n")], "error drift AGENTS.md"),
        Planted::files("CRLF", &[("work/AGENTS.md", "Use tabs.\r\nBe brief.\r\n")], "error drift AGENTS.md"),
        Planted::files(
            "a byte-order mark",
            &[("work/AGENTS.md", "\u{feff}Use tabs.\nBe brief.\n")],
            "error drift AGENTS.md",
        ),
        Planted::files("no final newline", &[("work/AGENTS.md", RULES.trim_end())], "error drift AGENTS.md"),
        Planted::files("an override", &[("work/AGENTS.override.md", "Other.\n")], "error shadowed AGENTS.md"),
        wide(Planted::files("33 KiB", &[("work/AGENTS.md", &long)], "error truncated AGENTS.md:1725")),
        leaf,
        Planted::files(
            "hidden characters",
            &[("work/AGENTS.md", "Use\u{200b} tabs.\nBe \u{202e}brief.\n")],
            "error hidden AGENTS.md:1",
        )
        .and("error hidden AGENTS.md:2"),
        Planted::change("a file is gone", "error removed AGENTS.md", |world| {
            fs::remove_file(world.files.path("work/AGENTS.md")).unwrap();
        }),
        Planted::change("a file that cannot be read", "error removed AGENTS.md", |world| {
            fs::remove_file(world.files.path("work/AGENTS.md")).unwrap();
            fs::create_dir(world.files.path("work/AGENTS.md")).unwrap();
        }),
        Planted::files(
            "a fallback name",
            &[(CONFIG, "project_doc_fallback_filenames = [\"CLAUDE.md\"]\n")],
            "error added sub/CLAUDE.md",
        )
        .before(&[("work/sub/CLAUDE.md", "Leaf.\n")])
        .args(&["-C", "sub"]),
    ]);
}

#[cfg(unix)]
#[test]
fn a_link_that_leaves_the_project_is_found() {
    Planted::change("a link", "error removed AGENTS.md", |world| {
        world.files.write("outside.txt", "Secret.\n");
        fs::remove_file(world.files.path("work/AGENTS.md")).unwrap();
        std::os::unix::fs::symlink(world.files.path("outside.txt"), world.files.path("work/AGENTS.md")).unwrap();
    })
    .check();
}

#[test]
fn changes_of_imports_and_skills_are_found() {
    let imports = [(CONFIG, "[project_docs]\nimports = 3\n"), ("work/AGENTS.md", "Use tabs.\n@docs/rules.md\n")];
    let rules = ("work/docs/rules.md", "Rules.\n");
    check_all(vec![
        Planted::files("an import works now", &[rules], "error added docs/rules.md").before(&imports),
        Planted::change("an import is broken", "error removed docs/rules.md", |world| {
            fs::remove_file(world.files.path("work/docs/rules.md")).unwrap();
        })
        .before(&imports)
        .before(&[rules]),
        Planted::files(
            "an import is a cycle",
            &[("work/docs/rules.md", "Rules.\n@../AGENTS.md\n")],
            "error removed AGENTS.md (imported in docs/rules.md:2)",
        )
        .and("error drift docs/rules.md")
        .before(&imports)
        .before(&[rules]),
        Planted::files(
            "a skill is new",
            &[("work/.agents/skills/hum/SKILL.md", &skill("hum", "Hums."))],
            "error added .agents/skills/hum/SKILL.md",
        ),
        Planted::change("a skill is gone", "error removed .agents/skills/sing/SKILL.md", |world| {
            fs::remove_file(world.files.path(SKILL)).unwrap();
        }),
        Planted::files(
            "a skill has another name",
            &[(SKILL, &skill("song", "Sings."))],
            "error drift .agents/skills/sing/SKILL.md",
        ),
        Planted::files(
            "a skill says something else",
            &[(SKILL, &skill("sing", "Hums."))],
            "error drift .agents/skills/sing/SKILL.md",
        ),
        Planted::files(
            "two skills of one name",
            &[("work/.agents/skills/again/SKILL.md", &skill("sing", "Sings too."))],
            "error added .agents/skills/again/SKILL.md",
        ),
    ]);
}

#[test]
fn changes_of_settings_and_of_the_lock_are_found() {
    let chat = "model_provider = \"m\"\n[model_providers.m]\nname = \"M\"\nbase_url = \"http://127.0.0.1:9\"\nwire_api = \"chat\"\n";
    check_all(vec![
        Planted::files("the model", &[(CONFIG, "model = \"gpt-5.1\"\n")], "error settings model"),
        Planted::files("the API format", &[(CONFIG, chat)], "error settings wire"),
        Planted::files("the prompt mode", &[(CONFIG, "prompt_mode = \"minimal\"\n")], "error settings prompt_mode")
            .args(&["--pack", "openclaw"]),
        Planted::files("the effort", &[(CONFIG, "model_reasoning_effort = \"high\"\n")], "error settings settings"),
        Planted::files("the sandbox", &[(CONFIG, "sandbox_mode = \"read-only\"\n")], "error settings permissions"),
        Planted::files(
            "developer instructions",
            &[(CONFIG, "developer_instructions = \"Be kind.\"\n")],
            "error added developer_instructions",
        ),
        Planted::lock("a token limit", "tokens_max = 20000", "tokens_max = 10", "error over_budget request"),
        Planted::lock(
            "a limit of a part",
            "tokens_max = 8000",
            "tokens_max = 8",
            "error over_budget user_instructions",
        ),
        Planted::lock("a later format", "format = 1\n", "format = 2\n", "error lock_format context.lock:1").status(3),
        Planted::change("another version", concat!("warning program pellucid ", env!("CARGO_PKG_VERSION")), |world| {
            let version = env!("CARGO_PKG_VERSION");
            edit(world, &format!("made_with = \"pellucid {version}\""), "made_with = \"pellucid 0.0.1\"");
            let text = world.files.read("work/context.lock");
            let pack = text.lines().find(|line| line.starts_with("pack = ")).unwrap();
            edit(world, pack, "pack = { name = \"codex\", sha256 = \"00\" }");
        })
        .status(0),
    ]);
}

/// The files of a pack that changes a tool and a text, and has the layout of the pack beneath in its file.
fn pack() -> BTreeMap<&'static str, String> {
    let world = world();
    run(&world, &["pack", "new", "mine"]);
    let layout = world.files.read("home/packs/mine/pack.toml");
    assert!(layout.contains("name = \"mine\""), "{layout}");
    BTreeMap::from([
        ("work/prompts/pack.toml", with_from(&layout)),
        ("work/prompts/tools/update_plan.md", "Plans.".to_owned()),
        ("work/prompts/permissions/approval_never.md", "Never.\n".to_owned()),
    ])
}

/// The layout of a pack that takes its other files from the built-in one.
fn with_from(layout: &str) -> String {
    match layout.contains("\nfrom = ") {
        true => layout.to_owned(),
        false => layout.replacen("name = \"mine\"\n", "name = \"mine\"\nfrom = \"codex\"\n", 1),
    }
}

/// A text with two blocks that begin with these lines in the other order.
fn swapped(text: &str, first: &str, second: &str) -> String {
    let (a, b) = (text.find(first).unwrap(), text.find(second).unwrap());
    let end = text[b + 1..].find("\n[[").map_or(text.len(), |at| b + 2 + at);
    format!("{}{}{}{}", &text[..a], &text[b..end], &text[a..b], &text[end..])
}

#[test]
fn changes_of_a_pack_are_found() {
    let pack = pack();
    let layout = pack["work/prompts/pack.toml"].clone();
    let tools = swapped(&layout, "[[tool]]\nfile = \"exec_command\"", "[[tool]]\nfile = \"write_stdin\"");
    let slots = swapped(&layout, "[[slot]]\nid = \"user_instructions\"", "[[slot]]\nid = \"environment\"");
    let budget = layout.replacen(
        "{ source = \"home_document\" }",
        "{ source = \"home_document\", budget = { bytes = 4000, keep = \"head\" } }",
        1,
    );
    assert!(budget != layout, "{layout}");
    let before: Vec<(&str, &str)> = pack.iter().map(|(file, text)| (*file, text.as_str())).collect();
    let planted = vec![
        Planted::files(
            "a description",
            &[("work/prompts/tools/update_plan.md", "Plans well.")],
            "error tool_changed update_plan",
        ),
        Planted::files(
            "a parameter",
            &[("work/prompts/tools/update_plan.plan.status.md", "Its state.")],
            "error tool_changed update_plan",
        ),
        Planted::files("the order of tools", &[("work/prompts/pack.toml", &tools)], "error tool_changed write_stdin"),
        Planted::files("a text", &[("work/prompts/permissions/approval_never.md", "Not now.\n")], "error pack mine"),
        Planted::files("the order of slots", &[("work/prompts/pack.toml", &slots)], "error pack mine"),
        Planted::files("a budget", &[("work/prompts/pack.toml", &budget)], "error pack mine"),
    ];
    check_all(planted.into_iter().map(|it| it.before(&before).args(&["--pack", "./prompts"])).collect());
}

#[test]
fn changes_of_servers_are_found() {
    let script = McpScript::new(&["echo", "store"]);
    let config = format!("[mcp_servers.depot]\n{}", script.config());
    Planted::files("a server, not asked", &[(CONFIG, &config)], "error added mcp_servers.depot").check();
    Planted::files("a server", &[(CONFIG, &config)], "error tool_added mcp__depot__echo")
        .and("error tool_added mcp__depot__store")
        .args(&["--mcp", "connect"])
        .check();
    let tool = serde_json::json!({"name":"echo","description":"Does echo.","inputSchema":{"type":"object"}});
    Planted::change("a tool is gone", "error tool_removed mcp__depot__store", move |_| {
        script.answers("tools/list", &serde_json::json!({ "tools": [tool] }));
    })
    .before(&[(CONFIG, &config)])
    .args(&["--mcp", "connect"])
    .check();
    // A server that does not answer is an error, and a file of the repository starts none.
    let script = McpScript::new(&["echo"]);
    let world = world();
    world.files.write(CONFIG, format!("[mcp_servers.depot]\n{}", script.config()));
    run(&world, &["context", "lock", "--mcp", "connect"]);
    let refused = world.run(&["context", "check"]);
    assert_eq!((refused.status, refused.out()), (3, ""), "{}", refused.stderr);
    script.is_dead();
    let (status, findings, output) = check(&world, &["--mcp", "connect"]);
    assert_eq!(status, 1, "{output}");
    assert!(findings.contains(&"error removed mcp_servers.depot".to_owned()), "{output}");
}

#[test]
fn the_lock_is_the_same_on_every_machine() {
    let packs = ["ads", "agentcore", "codex", "openclaw", "risuai"];
    for pack in packs {
        let lock = |world: &World, variables: &[(&str, &str)]| {
            world.files.write(CONFIG, "developer_instructions = \"Be kind.\"\n[project_docs]\nimports = 3\n");
            world.files.write("work/AGENTS.md", "Use tabs.\n@docs/gone.md\n");
            let ran = world.run_in(&["context", "lock", "--pack", pack], variables);
            assert_eq!(ran.status, 0, "{pack}: {}", ran.stderr);
            world.files.read("work/context.lock")
        };
        let (one, two) = (world(), world());
        // Another user, with files and settings that are not the project's.
        two.files.write("home/AGENTS.md", "My own rules.\n");
        two.files.write("home/config.toml", "model = \"gpt-5.1\"\nmodel_reasoning_effort = \"high\"\n");
        two.files.write("home/skills/mine/SKILL.md", skill("mine", "Mine."));
        two.files.write("user/.agents/skills/own/SKILL.md", skill("own", "Own."));
        let other = [
            ("TZ", "Asia/Kathmandu"),
            ("LANG", "tr_TR.UTF-8"),
            ("LC_ALL", "tr_TR.UTF-8"),
            ("USER", "other"),
            ("SHELL", "/bin/zsh"),
            ("TMPDIR", "/var/tmp"),
            ("OPENAI_API_KEY", "sk-other"),
        ];
        let (first, second) = (lock(&one, &[]), lock(&two, &other));
        assert!(first == second, "{pack}:\n{first}\n{second}");
        assert!(!first.contains(one.files.root().to_str().unwrap()), "{pack}: {first}");
        assert!(first == lock(&one, &[]), "{pack}: a second time");
    }
}

#[test]
fn update_keeps_the_policy_and_explain_shows_sizes() {
    let world = world();
    run(&world, &["context", "lock"]);
    edit(&world, "hidden = \"deny\"", "hidden = \"allow\" # ours");
    world.files.write("work/AGENTS.md", "Use tabs and be brief, please.\n");
    let ran = world.run(&["context", "check", "--explain"]);
    assert_eq!(ran.status, 1, "{}", ran.out());
    assert!(ran.out().contains("~ user_instructions   part   +10 bytes\n"), "{}", ran.out());
    let diff = world.run(&["context", "diff", "lock", "now"]);
    assert_eq!(diff.status, 1, "{}", diff.stderr);
    assert!(diff.out().contains("~ user_instructions   part   +10 bytes\n"), "{}", diff.out());
    let github = world.run(&["context", "check", "--format", "github"]);
    let line = "::error file=AGENTS.md,line=1,title=context%3A drift::AGENTS.md: the text is not the locked one\n";
    assert!(github.out().starts_with(line), "{}", github.out());
    run(&world, &["context", "check", "--update"]);
    assert!(world.files.read("work/context.lock").contains("hidden = \"allow\" # ours"));
    assert_eq!(run(&world, &["context", "check"]).out(), "context.lock: the request is as locked\n");
    // The check is of the project, wherever in it a person is.
    world.files.folder("work/deep/er");
    assert_eq!(run(&world, &["context", "check", "-C", "deep/er"]).out(), "context.lock: the request is as locked\n");
}

#[test]
fn an_update_does_not_pass_what_the_policy_refuses_in_any_request() {
    let world = world();
    run(&world, &["context", "lock"]);
    world.files.write("work/AGENTS.md", "Use\u{200b} tabs.\n");
    let ran = world.run(&["context", "check", "--update"]);
    assert_eq!(ran.status, 1, "{}{}", ran.out(), ran.stderr);
    assert!(
        ran.stderr.contains("note: 1 error stays: the policy of the lock refuses this in every request"),
        "{}",
        ran.stderr
    );
    assert_eq!(world.run(&["context", "check"]).status, 1);
    edit(&world, "hidden = \"deny\"", "hidden = \"warn\"");
    assert_eq!(world.run(&["context", "check", "--update"]).status, 0);
}

#[test]
fn what_cannot_be_told_does_not_pass() {
    let world = world();
    let ran = world.run(&["context", "check"]);
    let said = "error: there is no ROOT/work/context.lock\nhint: `pellucid context lock` writes it\n";
    assert_eq!((ran.status, ran.out(), ran.stderr.as_str()), (3, "", said));
    assert_eq!(world.run(&["context", "diff", "lock", "now"]).status, 3);
    fs::remove_file(world.files.path("work/AGENTS.md")).unwrap();
    world.files.folder("work/AGENTS.md");
    let ran = world.run(&["context", "lock"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("  AGENTS.md: not a file\n"), "{}", ran.stderr);
    assert!(!world.files.path("work/context.lock").exists());
}

/// The commands of the steps in the workflow of the documentation.
fn workflow() -> Vec<String> {
    let page = include_str!("../../../../docs/ci.md");
    let workflow = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(!workflow.contains("OWNER") && !workflow.contains('<'), "nothing has to be filled in: {workflow}");
    workflow.lines().filter_map(|line| line.trim().strip_prefix("run: ")).map(str::to_owned).collect()
}

#[test]
fn the_workflow_of_the_documentation_runs_as_printed() {
    let steps = workflow();
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert!(steps[0].starts_with("cargo install --locked --git \"$PELLUCID_SOURCE\" pellucid"), "{steps:?}");
    let words: Vec<&str> = steps[1].split(' ').collect();
    assert_eq!(words.first(), Some(&"pellucid"));
    let world = world();
    run(&world, &["context", "lock"]);
    run(&world, &words[1..]);
    world.files.write("work/AGENTS.md", "Use spaces.\n");
    let ran = world.run(&words[1..]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.out().starts_with("::error file=AGENTS.md,line=1,"), "{}", ran.out());
}

#[test]
fn a_revision_is_compared_with_the_lock_as_the_lock_is_made() {
    let world = world();
    let git = |words: &[&str]| {
        let words = [&["-c", "user.name=A", "-c", "user.email=a@b"], words].concat();
        let ran = world.finish(world.command_of("git", &words), None);
        assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
    };
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    run(&world, &["context", "lock"]);
    run(&world, &["context", "diff", "lock", "now@HEAD"]);
    world.files.write("work/AGENTS.md", "Use spaces.\nBe brief.\n");
    run(&world, &["context", "diff", "lock", "now@HEAD"]);
    git(&["commit", "-qam", "two"]);
    let ran = world.run(&["context", "diff", "lock", "now@HEAD"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.out().contains("~ user_instructions   part   +2 bytes\n= "), "{}", ran.out());
    run(&world, &["context", "diff", "lock", "now@HEAD~1"]);
}
