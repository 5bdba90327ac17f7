//! Every command of the blocks of the documentation runs, in a throw-away home with a model that answers by itself.
//!
//! `docs/not-run.md` lists the commands that no test runs, each with its reason. A row that no page has fails, and so does a
//! command that fails and is not listed.
//!
//! Not here: what the commands print (`doc_examples`, `readme`).

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;

use crate::World;

/// The page with the commands that are not run.
const NOT_RUN: &str = "docs/not-run.md";

/// The packs whose pages are followed from a checkout.
const EXAMPLES: &str = "examples/packs";

/// The session that pages speak of.
const ID: &str = "019a7d31-0000-7000-8000-000000000001";

/// What pages write for what a reader has, and what that is here.
const PLACES: [(&str, &str); 5] =
    [("ID_OR_NAME", ID), ("SESSION", ID), ("CALL", "c1"), ("DIR", "../out"), ("NAME", "tidy")];

/// How many requests the commands of a page may make.
const N_REPLIES: usize = 24;

/// A block of commands: where it begins, and its lines.
#[derive(Debug)]
struct Block {
    page: String,
    line: usize,
    lines: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pages for users and for those who change the project, by their paths, and those of the example packs.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "README.zh-CN.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    for folder in ["docs", "docs/packs", "docs/zh"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                pages.push(format!("{folder}/{name}"));
            }
        }
    }
    for pack in fs::read_dir(root().join(EXAMPLES)).unwrap() {
        pages.push(format!("{EXAMPLES}/{}/README.md", pack.unwrap().file_name().into_string().unwrap()));
    }
    pages.sort();
    pages
}

/// The blocks of a page: `sh` as they are, and of `console` the lines behind a prompt.
fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut kind = None;
    for (at, line) in text.lines().enumerate() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            kind = if kind.is_some() { None } else { Some(fence.to_owned()) };
            if matches!(kind.as_deref(), Some("sh" | "console")) {
                blocks.push(Block { page: page.to_owned(), line: at + 1, lines: Vec::new() });
            }
            continue;
        }
        let command = match kind.as_deref() {
            Some("sh") => Some(line),
            Some("console") => line.strip_prefix("$ "),
            _ => None,
        };
        if let (Some(command), Some(block)) = (command, blocks.last_mut()) {
            block.lines.push(command.to_owned());
        }
    }
    blocks
}

/// The command of a line, without the remark behind it.
fn command_of(line: &str) -> &str {
    line.split("  #").next().unwrap_or_default().split(" # ").next().unwrap_or_default().trim()
}

/// The rows of the list: page, command, reason.
fn not_run() -> Vec<(String, String, String)> {
    let text = fs::read_to_string(root().join(NOT_RUN)).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.filter_map(|row| {
        let mut cells = row.split(" | ");
        let (page, command, why) = (cells.next()?, cells.next()?, cells.next()?);
        let command = command.strip_prefix('`')?.strip_suffix('`')?;
        Some((page.to_owned(), command.replace("\\|", "|"), why.to_owned()))
    })
    .collect()
}

/// A home, a project with a session of two turns, and a server that says "done" to every request.
struct Scene {
    world: World,
    server: MockServer,
}

impl Scene {
    fn new(page: &str) -> Self {
        let world = World::new(
            r#"
//- work/AGENTS.md
Never push.
Keep names short.
//- work/a.txt
1
2
//- work/replies.toml
[[reply]]
say = "done"
//- work/notes.md
A summary.
//- work/key.txt
sk-of-a-test
//- work/my-project/AGENTS.md
Be brief.
//- other/x
//- out/
//- user/.zfunc/
//- user/.config/fish/completions/
//- user/.claude/projects/
//- user/.codex/sessions/
//- first.toml
[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Update File: a.txt\n@@\n-2\n+two\n*** End Patch", id = "c0" }]
[[reply]]
call = [{ name = "shell_command", args = { command = "seq 2000; echo marmot", login = false }, id = "c1" }]
usage = { input = 3000, output = 10 }
[[reply]]
say = "done"
usage = { input = 4000, cached = 2900, output = 10 }
//- second.toml
[[reply]]
say = "more"
usage = { input = 4200, cached = 4000, output = 10 }
"#,
        );
        // Notes of callers, in the form that the page about them shows first.
        for name in ["notes.json", "agent.json"] {
            world.files.write(format!("work/{name}"), "{ \"items\": [] }\n");
        }
        if let Some(pack) = page.strip_suffix("/README.md").filter(|it| it.starts_with(EXAMPLES)) {
            for file in fs::read_dir(root().join(pack)).unwrap() {
                let file = file.unwrap();
                let place = format!("work/{pack}/{}", file.file_name().to_string_lossy());
                world.files.write(place, fs::read_to_string(file.path()).unwrap());
            }
        }
        let server = MockServer::start((0..N_REPLIES).map(|_| MockReply::say("done")));
        let scene = Self { world, server };
        // A page about a pack is for those who use it.
        let pack = page.strip_prefix("docs/packs/").and_then(|it| it.strip_suffix(".md")).unwrap_or("codex");
        scene.write_settings(pack);
        for line in [
            format!(
                "pellucid exec -s danger-full-access --script ../first.toml --session-id {ID} 'explain this repository'"
            ),
            format!("pellucid exec -s danger-full-access --script ../second.toml resume {ID} 'go on'"),
        ] {
            let (status, said) = scene.run(&line);
            assert_eq!(status, 0, "{page}: {line}: {said}");
        }
        scene
    }

    fn write_settings(&self, pack: &str) {
        let base_url = self.server.base_url();
        let settings = format!(
            "pack = \"{pack}\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{base_url}\"\nwire_api = \"responses\"\n\
             request_max_retries = 0\nstream_max_retries = 0\n"
        );
        self.world.files.write("user/.pellucid/config.toml", settings);
    }

    /// Runs lines in a shell: the status, and what was said.
    fn run(&self, script: &str) -> (i32, String) {
        let files = &self.world.files;
        let program = crate::program();
        // A difference, and something that cannot be proved, are answers and no failures.
        let around = "pellucid() { local said status=0; said=$(mktemp); \"$PROGRAM\" \"$@\" 2>\"$said\" || status=$?; cat \"$said\" >&2; \
                      case $status in 1|3) grep -q '^error: ' \"$said\" || status=0;; esac; rm -f \"$said\"; return $status; }\n";
        let script = format!("set -eu\n{around}{script}\n");
        let mut command: Command = self.world.command_of("bash", &["-c", &script]);
        command
            .env_remove("PELLUCID_HOME")
            .env_remove("CODEX_HOME")
            .env("HOME", files.path("user"))
            .env("PROGRAM", program)
            .env("EDITOR", "true")
            .env("OPENAI_API_KEY", "sk-of-a-test")
            .env("WIKI_TOKEN", "of-a-test")
            .env("TMPDIR", files.path("out"));
        let ran = self.world.finish(command, None);
        (ran.status, format!("{}{}", String::from_utf8_lossy(&ran.stdout), ran.stderr))
    }
}

/// The lines of a block that are run, with what a reader has in the place of words for it.
fn script(block: &Block, is_run: impl Fn(&str) -> bool) -> String {
    let mut script = String::new();
    for line in block.lines.iter().filter(|line| is_run(command_of(line))) {
        let line = PLACES.iter().fold(line.clone(), |line, (word, here)| replaced(&line, word, here));
        script.push_str(&line);
        script.push('\n');
    }
    script
}

/// A line with a word replaced where it stands alone.
fn replaced(line: &str, word: &str, here: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(word) {
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '$';
        let before = rest[..at].chars().next_back().is_some_and(is_part);
        let after = rest[at + word.len()..].chars().next().is_some_and(is_part);
        text.push_str(&rest[..at]);
        text.push_str(if before || after { word } else { here });
        rest = &rest[at + word.len()..];
    }
    text + rest
}

/// Pages are independent, so a part of them runs in each of several tests beside each other.
fn check_pages(of: impl Fn(usize) -> bool) {
    let not_run = not_run();
    let mut wrong = String::new();
    let (mut n_run, pages) = (0, pages());
    for (_, page) in pages.iter().enumerate().filter(|(at, _)| of(*at)) {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let blocks = blocks(page, &text);
        let is_run = |command: &str| {
            !command.is_empty() && !not_run.iter().any(|(listed, it, _)| listed == page && it == command)
        };
        if !blocks.iter().any(|it| it.lines.iter().any(|line| is_run(command_of(line)))) {
            continue;
        }
        let scene = Scene::new(page);
        for block in &blocks {
            let script = script(block, is_run);
            if script.is_empty() {
                continue;
            }
            n_run += 1;
            let (status, said) = scene.run(&script);
            if status != 0 {
                wrong += &format!("{}:{}: ended with {status}\n{script}{said}\n", block.page, block.line);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(n_run > 10, "{n_run}");
}

#[test]
fn the_commands_of_every_second_page_run() {
    check_pages(|at| at % 2 == 0);
}

#[test]
fn the_commands_of_the_other_pages_run() {
    check_pages(|at| at % 2 == 1);
}

#[test]
fn what_is_not_run_is_in_its_page_and_says_why() {
    let rows = not_run();
    assert!(!rows.is_empty());
    for (page, command, why) in rows {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        let is_there = blocks(&page, &text).iter().any(|it| it.lines.iter().any(|line| command_of(line) == command));
        assert!(is_there && !why.is_empty(), "{page} has no command {command}");
    }
}

#[test]
fn words_are_replaced_where_they_stand_alone() {
    assert_eq!(replaced("show SESSION#1 SESSION_ID $SESSION", "SESSION", "x"), "show x#1 SESSION_ID $SESSION");
    assert_eq!(command_of("pellucid replay x   # look"), "pellucid replay x");
}
