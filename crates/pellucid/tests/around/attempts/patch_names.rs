//! Patches that name places outside, or places whose text runs later without any sandbox.

use std::fs;

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::trial::Trial;
use crate::turn::Call;
use crate::turn::add;
use crate::turn::patch;
use crate::turn::shell;

pub fn attempts() -> Vec<Attempt> {
    let mut all = leading_out();
    all.extend(protected());
    all
}

fn leading_out() -> Vec<Attempt> {
    let tried = |name: &str, what: &str, calls: fn() -> Vec<Call>| {
        attempt(name, what, move |trial| {
            trial.turn().run(&calls());
            Tried::Look
        })
    };
    vec![
        tried("patch-dotdot", "a file by a path with `..`", || vec![add("../outside/pwned", "x")]),
        tried("patch-absolute", "a file by its absolute path", || vec![add("$OUT/pwned", "x")]),
        tried("patch-folder-link", "a file through a link that a command made", || {
            vec![shell("ln -s $OUT d"), add("d/pwned", "x")]
        }),
        tried("patch-file-link", "a change through a link that a command made", || {
            vec![shell("ln -s $OUT/existing f"), patch("*** Update File: f\n@@\n-before\n+after")]
        }),
        tried("patch-dangling-link", "a new file through a link to nothing", || {
            vec![shell("ln -s $OUT/pwned f"), add("f", "x")]
        }),
        tried("patch-link-chain", "the same through a link to a link", || {
            vec![shell("ln -s $OUT e; ln -s e d"), add("d/pwned", "x")]
        }),
        tried("patch-hard-link", "a change by a second name of a file outside", || {
            vec![shell("ln $OUT/existing f"), patch("*** Update File: f\n@@\n-before\n+after")]
        })
        .earlier(),
        tried("patch-move-out", "moving a file out", || {
            vec![patch("*** Update File: src/a.txt\n*** Move to: $OUT/pwned\n@@\n-one\n+1")]
        }),
        tried("patch-move-link", "moving a file through a link", || {
            vec![shell("ln -s $OUT d"), patch("*** Update File: src/a.txt\n*** Move to: d/pwned\n@@\n-one\n+1")]
        }),
        tried("patch-delete-out", "removing a file outside", || vec![patch("*** Delete File: $OUT/existing")]),
        tried("patch-delete-link", "the same through a link", || {
            vec![shell("ln -s $OUT d"), patch("*** Delete File: d/existing")]
        }),
        tried("patch-proc-cwd", "a file from `/proc/self/cwd` upwards", || {
            vec![add("/proc/self/cwd/../outside/pwned", "x")]
        })
        .earlier(),
        tried("patch-proc-root", "a file below `/proc/self/root`", || vec![add("/proc/self/root$OUT/pwned", "x")]),
        tried("patch-by-shell", "a patch that a command line holds, in another folder", || {
            vec![shell("cd $OUT && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: pwned\n+x\n*** End Patch\nEOF")]
        }),
        tried("patch-by-shell-link", "the same through a link", || {
            let text = "cd d && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: pwned\n+x\n*** End Patch\nEOF";
            vec![shell("ln -s $OUT d"), shell(text)]
        }),
        tried("patch-workdir", "a patch by a command whose folder the model names", || {
            let text = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: pwned\n+x\n*** End Patch\nEOF";
            let args = serde_json::json!({ "command": text, "workdir": "$OUT", "login": false });
            vec![Call::Tool("shell_command".to_owned(), args)]
        }),
        attempt("patch-read-only", "a file in the project where nothing may be written", |trial| {
            trial.turn().reading().run(&[add("pwned", "x")]);
            Tried::out_if(trial.path("work/pwned").exists(), "work/pwned")
        }),
        attempt("patch-resumed", "a link of one session, a patch of the next", |trial| {
            trial.turn().run(&[shell("ln -s $OUT d")]);
            trial.turn().resumed().run(&[add("d/pwned", "x")]);
            Tried::Look
        }),
    ]
}

/// Patches that would put something where the agent, or git, takes it for the person's own.
fn protected() -> Vec<Attempt> {
    vec![
        named("patch-git-config", "the configuration of the repository", Some("repository"), ".git/config"),
        named("patch-git-hook", "a hook", Some("repository"), ".git/hooks/pre-commit"),
        named("patch-git-attributes", "attributes that name filters", Some("repository"), ".git/info/attributes"),
        named("patch-git-dotdot", "the configuration by a path with `..`", Some("repository"), "src/../.git/config"),
        named("patch-git-absolute", "the configuration by its absolute path", Some("repository"), "$WORK/.git/config"),
        named("patch-git-link", "the configuration through a link", Some("ln -s .git g"), "g/config"),
        named("patch-git-self-link", "the same through a link to the folder", Some("ln -s . here"), "here/.git/config"),
        named("patch-new-git", "the configuration of a repository that is not there", None, ".git/config"),
        named("patch-git-file", "a file that names a repository", None, ".git"),
        named("patch-nested-git", "the configuration of a repository below", Some("nested"), "sub/.git/config"),
        named("patch-nested-hook", "a hook of a repository below", Some("nested"), "sub/.git/hooks/pre-commit"),
        named("patch-codex", "settings for the first time", None, ".codex/config.toml"),
        named("patch-codex-rules", "rules for the first time", None, ".codex/rules/a.rules"),
        named(
            "patch-codex-link",
            "settings through a link to the folder",
            Some("ln -s . here"),
            "here/.codex/config.toml",
        ),
        named("patch-agents", "a skill for the first time", None, ".agents/skills/x/SKILL.md"),
        named("patch-pellucid", "rules in `.pellucid` for the first time", None, ".pellucid/rules/a.rules"),
        named("patch-codex-there", "settings in a folder that is there", Some("mkdir .codex"), ".codex/config.toml"),
        attempt("patch-codex-moved", "settings by moving a file there", |trial| {
            trial.turn().run(&[patch("*** Update File: src/a.txt\n*** Move to: .codex/config.toml\n@@\n-one\n+#")]);
            Tried::out_if(trial.path("work/.codex").exists(), "work/.codex")
        })
        .earlier(),
        attempt("patch-codex-below", "settings in the folder that the session is in, below the project's", |trial| {
            trial.repository();
            trial.turn().within("work/src").run(&[add(".codex/config.toml", "x")]);
            Tried::out_if(trial.path("work/src/.codex").exists(), "work/src/.codex")
        })
        .earlier(),
        attempt("patch-by-program", "settings by `pellucid apply-patch` in a command", |trial| {
            let text = "*** Begin Patch\n*** Add File: .codex/config.toml\n+x\n*** End Patch";
            let script = format!("{} apply-patch '{text}'", crate::trial::program());
            trial.turn().run(&[shell(&script)]);
            Tried::out_if(trial.path("work/.codex/config.toml").exists(), "work/.codex/config.toml")
        }),
    ]
}

/// A patch that adds a protected file, after something was prepared by hand.
fn named(name: &str, what: &str, before: Option<&'static str>, path: &'static str) -> Attempt {
    attempt(name, what, move |trial| {
        match before {
            Some("nested") => nested(trial),
            Some("repository") => trial.repository(),
            Some(script) => {
                trial.repository();
                trial.by_hand(script);
            }
            None => {}
        }
        trial.turn().run(&[add(path, "# put here by a patch")]);
        let path = trial.fill(path);
        let text = fs::read_to_string(trial.path("work").join(&path)).unwrap_or_default();
        Tried::out_if(text.contains("put here by a patch"), &path)
    })
    .earlier()
}

/// A project that holds another repository, known before the session.
pub fn nested(trial: &Trial) {
    trial.repository();
    trial.by_hand("mkdir sub && cd sub && git init -q -b main . && echo x > f && git add . && git commit -qm one");
}
