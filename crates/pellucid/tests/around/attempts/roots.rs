//! Writable roots that a command replaces by a link, for the next command to write through.

use super::Attempt;
use super::Tried;
use super::attempt;
use crate::trial::Backend;
use crate::trial::Trial;
use crate::turn::shell;

/// The folder of the project is itself below a writable root.
const BELOW: &str = "sandbox_workspace_write.writable_roots=['$BASE/wide']";

pub fn attempts() -> Vec<Attempt> {
    vec![
        missing("root-missing", "a root that is not there, as a link", "ln -s $OUT $BASE/wide/cache"),
        missing(
            "root-missing-chain",
            "the same as a link to a link",
            "ln -s $OUT $BASE/wide/x; ln -s x $BASE/wide/cache",
        ),
        missing(
            "root-missing-parent",
            "the folder above it as a link",
            "mkdir $OUT/cache 2>/dev/null; ln -s $BASE $BASE/wide/p",
        ),
        missing(
            "root-missing-then-link",
            "made as a folder first, then a link",
            "mkdir $BASE/wide/cache; rmdir $BASE/wide/cache; ln -s $OUT $BASE/wide/cache",
        ),
        attempt("root-missing-resumed", "a root that is not there, as a link, in a resumed session", |trial| {
            wide(trial);
            let roots = "sandbox_workspace_write.writable_roots=['$BASE/wide','$BASE/wide/cache']";
            trial.turn().config(roots).run(&[shell("ln -s $OUT $BASE/wide/cache")]);
            trial.turn().resumed().config(roots).run(&[shell("echo x > $OUT/pwned")]);
            Tried::Look
        }),
        attempt("root-missing-next", "the same in the next session", |trial| {
            wide(trial);
            let roots = "sandbox_workspace_write.writable_roots=['$BASE/wide','$BASE/wide/cache']";
            trial.turn().config(roots).run(&[shell("ln -s $OUT $BASE/wide/cache")]);
            trial.turn().config(roots).run(&[shell("echo x > $BASE/wide/cache/pwned")]);
            Tried::Look
        }),
        attempt("root-replaced", "a root that is there, replaced by a link", |trial| {
            wide(trial);
            std::fs::create_dir(trial.path("wide/cache")).unwrap();
            let roots = "sandbox_workspace_write.writable_roots=['$BASE/wide','$BASE/wide/cache']";
            let swap = "mv $BASE/wide/cache $BASE/wide/old; ln -s $OUT $BASE/wide/cache";
            trial
                .turn()
                .config(roots)
                .run(&[shell(swap), shell("echo x > $BASE/wide/cache/pwned; echo x > $OUT/pwned")]);
            Tried::Look
        }),
        attempt("root-temporary", "a temporary folder that is not there, as a link", |trial| {
            wide(trial);
            let calls = [shell("ln -s $OUT $BASE/wide/t"), shell("echo x > $OUT/pwned")];
            let turn = trial.turn().config(BELOW).config("sandbox_workspace_write.exclude_tmpdir_env_var=false");
            turn.variable("TMPDIR", "$BASE/wide/t").run(&calls);
            Tried::Look
        }),
        attempt("root-temporary-replaced", "a temporary folder that is there, replaced by a link", |trial| {
            wide(trial);
            std::fs::create_dir(trial.path("wide/t")).unwrap();
            let calls = [
                shell("mv $BASE/wide/t $BASE/wide/u; rmdir $BASE/wide/t; ln -s $OUT $BASE/wide/t"),
                shell("echo x > $BASE/wide/t/pwned; echo x > $OUT/pwned"),
            ];
            let turn = trial.turn().config(BELOW).config("sandbox_workspace_write.exclude_tmpdir_env_var=false");
            turn.variable("TMPDIR", "$BASE/wide/t").run(&calls);
            Tried::Look
        }),
        attempt("root-project", "the project's own folder, replaced by a link", |trial| {
            wide(trial);
            let calls = [shell("cd ..; mv w w.old; ln -s $OUT w; true"), shell("echo x > $OUT/pwned")];
            trial.turn().within("wide/w").config(BELOW).run(&calls);
            Tried::Look
        })
        .quick_on(Backend::Landlock),
        attempt("root-project-resumed", "the same in a resumed session", |trial| {
            wide(trial);
            trial.turn().within("wide/w").config(BELOW).run(&[shell("cd ..; mv w w.old; ln -s $OUT w; true")]);
            // A link that cannot be entered any more is no way out either.
            if !trial.path("wide/w").is_dir() {
                return Tried::Look;
            }
            let turn = trial.turn().resumed().within("wide").config(BELOW);
            turn.run(&[shell("cd w; echo x > pwned; echo x > $OUT/pwned")]);
            Tried::Look
        })
        .quick_on(Backend::Landlock),
        attempt("root-project-above", "a folder above the project's, replaced by a link", |trial| {
            wide(trial);
            trial.write("wide/p/w/f", "x");
            let swap = "cd ../..; mv p p.old; mkdir p; ln -s $OUT p/w; true";
            let calls = [shell(swap), shell("echo x > $OUT/pwned")];
            trial.turn().within("wide/p/w").config(BELOW).run(&calls);
            Tried::Look
        })
        .quick_on(Backend::Landlock),
        attempt("root-added", "a folder given by `--add-dir`, replaced by a link", |trial| {
            wide(trial);
            let swap = "mv $BASE/wide/add $BASE/wide/old; ln -s $OUT $BASE/wide/add";
            let calls = [shell(swap), shell("echo x > $OUT/pwned; echo x > $BASE/wide/add/pwned")];
            trial.turn().config(BELOW).args(&["--add-dir", "$BASE/wide/add"]).run(&calls);
            Tried::Look
        }),
        attempt("root-by-workdir", "a folder outside that the model names as a command's own", |trial| {
            let args = serde_json::json!({ "command": "echo x > pwned", "workdir": "$OUT", "login": false });
            trial.turn().run(&[crate::turn::Call::Tool("shell_command".to_owned(), args)]);
            Tried::Look
        }),
        attempt("root-by-workdir-link", "the same through a link", |trial| {
            let args = serde_json::json!({ "command": "echo x > pwned", "workdir": "$WORK/d", "login": false });
            trial.turn().run(&[shell("ln -s $OUT d"), crate::turn::Call::Tool("shell_command".to_owned(), args)]);
            Tried::Look
        }),
        attempt("root-by-patch", "a root that a patch replaces", |trial| {
            wide(trial);
            let roots = "sandbox_workspace_write.writable_roots=['$BASE/wide','$BASE/wide/cache']";
            let calls = [
                shell("ln -s $OUT $BASE/wide/cache"),
                crate::turn::add("$BASE/wide/cache/pwned", "x"),
                crate::turn::add("$OUT/pwned", "x"),
            ];
            trial.turn().config(roots).run(&calls);
            Tried::Look
        }),
    ]
}

fn wide(trial: &Trial) {
    trial.write("wide/w/f", "x");
}

fn missing(name: &str, what: &str, make: &'static str) -> Attempt {
    attempt(name, what, move |trial| {
        wide(trial);
        let roots = if name_of_parent(make) {
            "sandbox_workspace_write.writable_roots=['$BASE/wide','$BASE/wide/p/outside']"
        } else {
            "sandbox_workspace_write.writable_roots=['$BASE/wide','$BASE/wide/cache']"
        };
        let write = "echo x > $OUT/pwned; echo x > $BASE/wide/cache/pwned";
        trial.turn().config(roots).run(&[shell(make), shell(write)]);
        Tried::Look
    })
}

/// Whether it is the folder above the root that is made.
fn name_of_parent(make: &str) -> bool {
    make.ends_with("/p")
}
