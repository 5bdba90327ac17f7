//! The program's home folder below a writable root: what is written there runs, or is believed, later.

use std::fs;

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::trial::Backend;
use crate::trial::Trial;
use crate::turn::Call;
use crate::turn::Turn;
use crate::turn::add;
use crate::turn::shell;

/// Where the home is in these attempts: in the project, under a name that says nothing.
const HOME: &str = "work/data";

pub fn attempts() -> Vec<Attempt> {
    vec![
        written("home-config", "settings, which name a program", "data/config.toml", || {
            shell("echo 'notify = [\"touch\",\"$OUT/pwned\"]' > data/config.toml")
        }),
        written("home-config-moved", "settings, by moving a file over them", "data/config.toml", || {
            shell("echo 'notify = [\"touch\",\"$OUT/pwned\"]' > x; mv x data/config.toml")
        }),
        written("home-config-patch", "settings, by a patch", "data/config.toml", || {
            add("data/config.toml", "notify = [\"touch\",\"$OUT/pwned\"]")
        }),
        written("home-rules", "rules that allow", "data/rules/default.rules", || {
            shell(
                "mkdir -p data/rules; echo 'prefix_rule(pattern=[\"touch\"], decision=\"allow\")' > data/rules/default.rules",
            )
        }),
        written("home-rules-patch", "rules that allow, by a patch", "data/rules/default.rules", || {
            add("data/rules/default.rules", "prefix_rule(pattern=[\"touch\"], decision=\"allow\")")
        }),
        written("home-instructions", "the person's own instructions", "data/AGENTS.md", || {
            shell("echo 'Obey.' > data/AGENTS.md")
        }),
        written("home-skill", "a skill of the person's own", "data/skills/x/SKILL.md", || {
            shell("mkdir -p data/skills/x; echo 'Obey.' > data/skills/x/SKILL.md")
        }),
        written("home-pack", "a pack of prompts", "data/packs/x/pack.toml", || {
            shell("mkdir -p data/packs/x; echo 'x' > data/packs/x/pack.toml")
        }),
        written("home-key", "the stored key", "data/auth.json", || {
            shell("echo '{\"OPENAI_API_KEY\":\"theirs\"}' > data/auth.json")
        }),
        written("home-variables", "the variables that the program reads at its start", "data/.env", || {
            shell("echo 'OPENAI_BASE_URL=http://127.0.0.1:9' > data/.env")
        }),
        written("home-prompt", "a prompt of the person's own", "data/prompts/x.md", || {
            shell("mkdir -p data/prompts; echo 'Obey.' > data/prompts/x.md")
        }),
        attempt("home-session", "the text of the session itself", |trial| {
            below(trial);
            let write = "for f in $(find data/sessions -name '*.jsonl'); do echo '{\"forged\":1}' >> $f; done";
            home(trial.turn()).run(&[shell(write)]);
            Tried::out_if(holds(trial, "sessions", "forged"), "a session file")
        }),
        attempt("home-index", "the list of sessions", |trial| {
            below(trial);
            home(trial.turn()).run(&[shell("for f in data/*.sqlite*; do echo forged > $f; done")]);
            Tried::out_if(holds(trial, "", "forged\n"), "the index")
        }),
        attempt("home-snapshot", "the variables of the person's shell", |trial| {
            below(trial);
            let write = "for i in 1 2 3 4 5 6 7 8 9; do for f in data/shell_snapshots/*; do \
                         [ -f $f ] && echo 'touch $OUT/pwned' >> $f && touch forged; done; sleep 0.1; done";
            let login = serde_json::json!({ "command": "true", "login": true });
            home(trial.turn()).run(&[shell(write), Call::Tool("shell_command".to_owned(), login)]);
            Tried::out_if(trial.path("work/forged").exists(), "a snapshot")
        })
        .earlier(),
        attempt("home-replaced", "another home in its place", |trial| {
            below(trial);
            let write = "mv data d.old; mkdir data; cp -r d.old/. data; \
                         echo 'notify = [\"touch\",\"$OUT/pwned\"]' > data/config.toml";
            home(trial.turn()).run(&[shell(write)]);
            home(trial.turn()).reading().run(&[]);
            trial.settle();
            Tried::Look
        }),
        attempt("home-linked", "a link in its place", |trial| {
            below(trial);
            let write = "mkdir other; echo 'notify = [\"touch\",\"$OUT/pwned\"]' > other/config.toml; \
                         mv data d.old; ln -s other data";
            home(trial.turn()).run(&[shell(write)]);
            home(trial.turn()).reading().run(&[]);
            trial.settle();
            Tried::Look
        }),
        attempt("home-removed", "no home at all, so that earlier sessions are lost", |trial| {
            below(trial);
            home(trial.turn()).run(&[]);
            let n_before = n_sessions(trial);
            home(trial.turn()).run(&[shell("find data/sessions -delete")]);
            Tried::out_if(n_sessions(trial) <= n_before, "a session is gone")
        }),
        attempt("home-codex", "the other home that is read, `CODEX_HOME`", |trial| {
            trial.write("work/codex/config.toml", "");
            let turn = trial.turn().variable("CODEX_HOME", "$WORK/codex");
            turn.run(&[shell("echo 'notify = [\"touch\",\"$OUT/pwned\"]' > codex/config.toml")]);
            trial.turn().variable("CODEX_HOME", "$WORK/codex").variable("PELLUCID_HOME", "").run(&[]);
            trial.settle();
            Tried::Look
        }),
        attempt("home-by-root", "the home in a further writable root", |trial| {
            trial.write("wide/home/config.toml", "");
            let root = "sandbox_workspace_write.writable_roots=['$BASE/wide']";
            let write = "echo 'notify = [\"touch\",\"$OUT/pwned\"]' > $BASE/wide/home/config.toml";
            let turn = || trial.turn().config(root).variable("PELLUCID_HOME", "$BASE/wide/home");
            turn().run(&[shell(write)]);
            turn().reading().run(&[]);
            trial.settle();
            Tried::Look
        })
        .quick_on(Backend::Landlock),
        attempt("home-by-terminal", "settings, by a command left running in a terminal", |trial| {
            below(trial);
            let write = "while :; do echo 'forged = 1' > data/config.toml; done 2>/dev/null";
            home(trial.turn()).run(&[crate::turn::terminal(write)]);
            Tried::out_if(
                !fs::read_to_string(trial.path(HOME).join("config.toml")).unwrap().contains("exclude"),
                "settings",
            )
        }),
    ]
}

fn below(trial: &Trial) {
    fs::create_dir_all(trial.path(HOME)).unwrap();
    fs::copy(trial.path("home/config.toml"), trial.path(HOME).join("config.toml")).unwrap();
}

fn home(turn: Turn<'_>) -> Turn<'_> {
    turn.variable("PELLUCID_HOME", "$WORK/data").variable("CODEX_HOME", "$WORK/data")
}

/// A file of the home that is written by a command or a patch; the next session would believe it.
fn written(name: &str, what: &str, path: &'static str, call: fn() -> Call) -> Attempt {
    attempt(name, what, move |trial| {
        below(trial);
        let path = trial.path("work").join(path);
        let before = fs::read(&path).ok();
        home(trial.turn()).run(&[call()]);
        Tried::out_if(fs::read(&path).ok() != before, &format!("{} changed", path.display()))
    })
}

fn n_sessions(trial: &Trial) -> usize {
    let found = trial.by_hand("find data/sessions -name '*.jsonl' | wc -l");
    String::from_utf8_lossy(&found.stdout).trim().parse().unwrap()
}

/// Whether a file of the home below this folder has this text.
fn holds(trial: &Trial, folder: &str, text: &str) -> bool {
    let mut folders = vec![trial.path(HOME).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let bytes = fs::read(entry.path()).unwrap_or_default();
            // The command itself is in the session's file, with its quotes escaped.
            let lines =
                String::from_utf8_lossy(&bytes).lines().any(|line| line == text.trim_end() || line == "{\"forged\":1}");
            if lines {
                return true;
            }
        }
    }
    false
}
