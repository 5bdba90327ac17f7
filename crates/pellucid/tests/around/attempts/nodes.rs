//! Pipes, devices and endless files where the agent reads: a confined command makes them, the next start must
//! neither wait for them nor read without end.

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::trial::Trial;
use crate::turn::Call;
use crate::turn::shell;

/// The kinds of file system nodes that may be where a file is expected.
const KINDS: &[(&str, &str, &str)] =
    &[("pipe", "a pipe", "mkfifo"), ("device", "a link to an endless device", "ln -s /dev/zero")];

/// Where the agent reads, and how the program is asked to.
const PLACES: &[(&str, &str, &str)] = &[
    ("config", "the project's settings", ".codex/config.toml"),
    ("rules", "the project's rules", ".codex/rules/a.rules"),
    ("skill", "a skill", ".agents/skills/x/SKILL.md"),
    ("skill-metadata", "a skill's metadata", ".agents/skills/x/agents/openai.yaml"),
    ("instructions", "the instruction file", "AGENTS.md"),
    ("override", "the instruction file that is stronger", "AGENTS.override.md"),
    ("git", "the repository's own name", ".git"),
    ("git-head", "the repository's branch", ".git/HEAD"),
    ("git-config", "the repository's configuration", ".git/config"),
    ("git-refs", "the repository's references", ".git/packed-refs"),
    ("git-commondir", "the name of the repository's common folder", ".git/commondir"),
];

pub fn attempts() -> Vec<Attempt> {
    let mut all = Vec::new();
    for (kind, what, make) in KINDS {
        for (place, of, path) in PLACES {
            all.push(
                attempt(format!("{kind}-{place}"), format!("{what} as {of}"), move |trial| {
                    // By hand, where a protected place could not be made by a command; the session comes after it.
                    prepare(trial, make, path);
                    trial.decide("work", "trusted");
                    trial.turn().by_server().run(&[shell("true")]);
                    trial.turn().by_server().resumed().run(&[]);
                    crashed(trial)
                })
                .earlier(),
            );
        }
    }
    all.extend(by_commands());
    all
}

fn by_commands() -> Vec<Attempt> {
    vec![
        attempt("pipe-by-command", "a command makes settings that are a pipe, for the next start", |trial| {
            trial.turn().run(&[shell("mkdir .codex; mkfifo .codex/config.toml")]);
            trial.turn().run(&[shell("true")]);
            crashed(trial)
        })
        .earlier(),
        attempt("pipe-git-by-command", "a command makes a repository that is a pipe, for the next start", |trial| {
            trial.decide("elsewhere", "trusted");
            trial.turn().run(&[shell("mkfifo .git")]);
            trial.turn().by_server().run(&[shell("true")]);
            crashed(trial)
        })
        .earlier(),
        attempt("pipe-skill-by-command", "a command makes a skill's metadata a pipe, for the next turn", |trial| {
            let make = "mkdir -p .agents/skills/x/agents; mkfifo .agents/skills/x/agents/openai.yaml; \
                        printf -- '---\\nname: x\\ndescription: y\\n---\\n' > .agents/skills/x/SKILL.md";
            trial.turn().run(&[shell(make)]);
            trial.turn().resumed().run(&[]);
            crashed(trial)
        })
        .earlier(),
        attempt("pipe-patch", "a patch changes a pipe", |trial| {
            let update = crate::turn::patch("*** Update File: f\n@@\n-a\n+b");
            trial.turn().run(&[shell("mkfifo f"), update, crate::turn::add("f", "x")]);
            crashed(trial)
        })
        .earlier(),
        attempt("device-patch", "a patch changes an endless device", |trial| {
            let update = crate::turn::patch("*** Update File: f\n@@\n-a\n+b");
            trial.turn().run(&[shell("ln -s /dev/zero f"), update]);
            crashed(trial)
        })
        .earlier(),
        attempt("pipe-image", "an image that is a pipe", |trial| {
            let look = Call::Tool("view_image".to_owned(), serde_json::json!({ "path": "f.png" }));
            trial.turn().run(&[shell("mkfifo f.png"), look]);
            crashed(trial)
        })
        .earlier(),
        attempt("device-image", "an image that is an endless device", |trial| {
            let look = Call::Tool("view_image".to_owned(), serde_json::json!({ "path": "f.png" }));
            trial.turn().run(&[shell("ln -s /dev/zero f.png"), look]);
            crashed(trial)
        })
        .earlier(),
        attempt("huge-instructions", "an instruction file of 5 GB without any text", |trial| {
            trial.turn().run(&[shell("truncate -s 5G AGENTS.md")]);
            trial.turn().run(&[shell("true")]);
            crashed(trial)
        })
        .earlier(),
        attempt("huge-settings", "settings of 5 GB", |trial| {
            trial.decide("work", "trusted");
            trial.by_hand("mkdir .codex && truncate -s 5G .codex/config.toml");
            trial.turn().run(&[shell("true")]);
            crashed(trial)
        })
        .earlier(),
        attempt("huge-image", "an image of 5 GB", |trial| {
            let look = Call::Tool("view_image".to_owned(), serde_json::json!({ "path": "f.png" }));
            trial.turn().run(&[shell("truncate -s 5G f.png"), look]);
            crashed(trial)
        })
        .earlier(),
    ]
}

fn prepare(trial: &Trial, make: &str, path: &str) {
    if path.starts_with(".git/") {
        trial.repository();
    }
    if path.ends_with("openai.yaml") {
        trial.write("work/.agents/skills/x/SKILL.md", "---\nname: x\ndescription: y\n---\n");
    }
    trial.by_hand(&format!("mkdir -p $(dirname {path}); rm -rf {path}; {make} {path}"));
}

/// A program that gave up under its limit of memory is as bad as one that hangs; that is looked at by all.
fn crashed(trial: &Trial) -> Tried {
    Tried::out_if(trial.is_crashed(), "the program crashed")
}
