//! `pellucid apply`: what a session's last turn changed, with `git apply`.

use std::fmt::Write;

use expect_test::Expect;
use expect_test::expect;
use serde_json::json;

use crate::Ran;
use crate::World;

/// Ten lines, of which patches change some.
const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// A repository with files `a`, `gone` and `sub/b`, in which a session has changed them in two turns.
struct Scene {
    world: World,
}

impl Scene {
    fn new() -> Self {
        let world = World { files: pellucid_testkit::Workspace::new("//- home/config.toml\n") };
        for path in ["work/a", "work/gone", "work/sub/b"] {
            world.files.write(path, LINES);
        }
        let scene = Self { world };
        scene.git(&["init", "-q", "-b", "main"]);
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-qm", "first"]);
        let commit = scene.git(&["rev-parse", "HEAD"]);
        scene.write_session(Some(commit.trim()));
        scene
    }

    fn git(&self, words: &[&str]) -> String {
        let settings = ["-c", "user.name=t", "-c", "user.email=t@example.test"];
        let command = self.world.command_of("git", &[&settings, words].concat());
        let ran = self.world.finish(command, None);
        assert_eq!(ran.status, 0, "git {words:?}: {}", ran.stderr);
        ran.out().to_owned()
    }

    /// The file of a session that worked in `sub` and began at this commit.
    fn write_session(&self, commit: Option<&str>) {
        let work = self.world.files.path("work").canonicalize().unwrap();
        let cwd = work.join("sub");
        let mut text = String::new();
        let mut line = |kind: &str, payload: serde_json::Value| {
            writeln!(text, "{}", json!({"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload}))
                .unwrap();
        };
        let id = "00000000-0000-7000-8000-000000000001";
        let mut meta = json!({"id": id, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": cwd, "originator": "o", "cli_version": "v", "source": "cli"});
        if let Some(commit) = commit {
            meta["git"] = json!({"commit_hash": commit});
        }
        line("session_meta", meta);
        let first = "*** Update File: ../a\n@@\n-1\n+one\n 2\n";
        let last = format!(
            "*** Update File: {}\n@@\n one\n-2\n+two\n 3\n*** Update File: b\n*** Move to: c\n@@\n-10\n+ten\n*** Delete File: ../gone\n*** Add File: new/d\n+d\n",
            work.join("a").display()
        );
        for (n, body) in [first, &last].into_iter().enumerate() {
            line(
                "event_msg",
                json!({"type": "task_started", "turn_id": "t", "model_context_window": null, "collaboration_mode_kind": "default"}),
            );
            let (call, patch) = (format!("c{n}"), format!("*** Begin Patch\n{body}*** End Patch\n"));
            line(
                "response_item",
                json!({"type": "custom_tool_call", "call_id": call, "name": "apply_patch", "input": patch}),
            );
            let output = json!({"output": "", "metadata": {"exit_code": 0, "duration_seconds": 0.0}}).to_string();
            line("response_item", json!({"type": "custom_tool_call_output", "call_id": call, "output": output}));
        }
        line("event_msg", json!({"type": "user_message", "message": "change", "images": []}));
        self.world.files.write(format!("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{id}.jsonl"), text);
    }

    fn apply(&self, words: &[&str]) -> Ran {
        let id = "00000000-0000-7000-8000-000000000001";
        self.world.run(&[&["apply", id], words].concat())
    }

    /// What happened, and what git says about the work tree.
    fn check(&self, ran: &Ran, expected: &Expect) {
        let status = self.git(&["status", "--short", "--no-renames", "-uall"]);
        expected.assert_eq(&format!("{}\n{}{}{status}", ran.status, ran.out(), ran.stderr));
    }

    /// As the tree was when the last turn began.
    fn go_to_last_turn(&self) {
        self.world.files.write("work/a", LINES.replace("1\n2", "one\n2"));
        self.git(&["commit", "-qam", "second"]);
    }
}

#[test]
fn the_diff_of_the_last_turn_is_applied_and_not_staged() {
    let scene = Scene::new();
    scene.go_to_last_turn();
    let ran = scene.apply(&["--check"]);
    scene.check(
        &ran,
        &expect![[r#"
        0
        The diff of session 00000000-0000-7000-8000-000000000001 fits:
        M a
        D gone
        D sub/b
        A sub/c
        A sub/new/d
    "#]],
    );
    let ran = scene.apply(&[]);
    scene.check(
        &ran,
        &expect![[r#"
        0
        Applied the diff of session 00000000-0000-7000-8000-000000000001:
        M a
        D gone
        D sub/b
        A sub/c
        A sub/new/d
         M a
         D gone
         D sub/b
        ?? sub/c
        ?? sub/new/d
    "#]],
    );
    assert_eq!(scene.world.files.read("work/a"), LINES.replace("1\n2\n", "one\ntwo\n"));
    assert_eq!(scene.world.files.read("work/sub/c"), LINES.replace("10", "ten"));
    let again = scene.apply(&[]);
    assert_eq!((again.status, again.out().contains("in the files already")), (0, true), "{}", again.stderr);
}

#[test]
fn the_diff_is_that_of_the_turn_whatever_is_here() {
    let scene = Scene::new();
    let ran = scene.apply(&["--print"]);
    scene.check(
        &ran,
        &expect![[r#"
        0
        diff --git a/a b/a
        index 1b6662b76713eb633ad70b8074cb463f0b74849b..cc689d37d7f8de2c3ebe0c6d2353632b9b6fa8d2
        --- a/a
        +++ b/a
        @@ -1,5 +1,5 @@
         one
        -2
        +two
         3
         4
         5
        diff --git a/gone b/gone
        deleted file mode 100644
        index f00c965d8307308469e537302baa73048488f162..0000000000000000000000000000000000000000
        --- a/gone
        +++ /dev/null
        @@ -1,10 +0,0 @@
        -1
        -2
        -3
        -4
        -5
        -6
        -7
        -8
        -9
        -10
        diff --git a/sub/b b/sub/b
        deleted file mode 100644
        index f00c965d8307308469e537302baa73048488f162..0000000000000000000000000000000000000000
        --- a/sub/b
        +++ /dev/null
        @@ -1,10 +0,0 @@
        -1
        -2
        -3
        -4
        -5
        -6
        -7
        -8
        -9
        -10
        diff --git a/sub/c b/sub/c
        new file mode 100644
        index 0000000000000000000000000000000000000000..088bd5d92c2a8e0203ca8e7e4c2a5c692f6ae3f7
        --- /dev/null
        +++ b/sub/c
        @@ -0,0 +1,10 @@
        +1
        +2
        +3
        +4
        +5
        +6
        +7
        +8
        +9
        +ten
        diff --git a/sub/new/d b/sub/new/d
        new file mode 100644
        index 0000000000000000000000000000000000000000..4bcfe98e640c8284511312660fb8709b0afa888e
        --- /dev/null
        +++ b/sub/new/d
        @@ -0,0 +1 @@
        +d
    "#]],
    );
}

/// The mode of the file that the last turn moves.
#[cfg(unix)]
fn check_mode_of_moved(scene: &Scene) {
    use std::os::unix::fs::PermissionsExt;

    let ran = scene.apply(&[]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let moved = std::fs::metadata(scene.world.files.path("work/sub/c")).unwrap();
    assert_eq!(moved.permissions().mode() & 0o111, 0o111);
}

#[cfg(unix)]
#[test]
fn a_program_that_was_moved_can_still_be_run() {
    use std::os::unix::fs::PermissionsExt;

    for is_known in [true, false] {
        let scene = Scene::new();
        let program = scene.world.files.path("work/sub/b");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        scene.git(&["commit", "-qam", "a program"]);
        let commit = scene.git(&["rev-parse", "HEAD"]);
        scene.write_session(is_known.then_some(commit.trim()));
        scene.go_to_last_turn();
        check_mode_of_moved(&scene);
    }
}

#[cfg(unix)]
#[test]
fn lines_end_where_git_has_them_end() {
    let scene = Scene::new();
    let bars = LINES.replace("5\n", "five\r5\n");
    scene.world.files.write("work/a", bars.replace("1\n2", "one\n2"));
    scene.git(&["commit", "-qam", "a bar that moves"]);
    scene.write_session(None);
    let ran = scene.apply(&[]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let text = std::fs::read_to_string(scene.world.files.path("work/a")).unwrap();
    assert_eq!(text, bars.replace("1\n2", "one\ntwo"));
}

#[test]
fn what_has_moved_on_is_found_by_its_context_and_nothing_is_done_by_halves() {
    let scene = Scene::new();
    scene.go_to_last_turn();
    // Another neighbour: a diff does not fit, the patch does.
    scene.world.files.write("work/a", format!("0\n{}", LINES.replace("1\n2\n3\n4\n", "one\n2\n3\nfour\n")));
    assert_eq!(scene.apply(&["--check"]).status, 0);
    scene.world.files.write("work/sub/b", "something else\n");
    let ran = scene.apply(&[]);
    scene.check(
        &ran,
        &expect![[r#"
        1
        error: patch 1 of 1 does not fit here: Failed to find expected lines in ROOT/work/sub/b:
        10
        Nothing was changed; --3way merges and marks conflicts.
         M a
         M sub/b
    "#]],
    );
}

#[test]
fn a_merge_marks_conflicts() {
    let scene = Scene::new();
    scene.go_to_last_turn();
    scene.world.files.write("work/a", LINES.replace("1\n2\n", "one\nzwei\n"));
    scene.git(&["commit", "-qam", "third"]);
    let ran = scene.apply(&["--3way"]);
    scene.check(
        &ran,
        &expect![[r#"
        1
        error: the diff was applied with conflicts, which are marked in:
        a
        The rest is applied and staged.
        UU a
        D  gone
        D  sub/b
        A  sub/c
        A  sub/new/d
    "#]],
    );
}

#[test]
fn without_the_commit_or_a_repository_patches_find_their_places() {
    let scene = Scene::new();
    scene.go_to_last_turn();
    scene.write_session(None);
    let ran = scene.apply(&["--3way"]);
    assert_eq!(ran.status, 1);
    expect![[r#"
        error: --3way needs the commit at which the session began, which is not available here; nothing was changed
    "#]]
    .assert_eq(&ran.stderr);
    assert_eq!(scene.apply(&["--check"]).status, 0);
    let work = scene.world.files.path("work");
    std::fs::remove_dir_all(work.join(".git")).unwrap();
    // Outside of a repository the current folder takes the place of the folder that the session worked in.
    let ran = scene.apply(&[]);
    assert_eq!(ran.status, 1);
    expect![[r#"
        error: the session changed files outside of ROOT/work/sub (it worked in ROOT/work/sub)
        Nothing was changed.
    "#]]
    .assert_eq(&ran.stderr);
}

#[test]
fn what_is_there_already_is_not_applied_twice() {
    let scene = Scene::new();
    scene.go_to_last_turn();
    assert_eq!(scene.apply(&[]).status, 0);
    for options in [&[][..], &["--check"], &["--3way"]] {
        let ran = scene.apply(options);
        let there = "is in the files already; nothing was changed\n";
        assert_eq!((ran.status, ran.out().ends_with(there)), (0, true), "{options:?}: {} {}", ran.out(), ran.stderr);
    }
}

#[test]
fn a_session_without_patches_has_nothing_to_apply() {
    let scene = Scene::new();
    let ran = scene.world.run(&["apply", "nobody"]);
    assert_eq!(
        (ran.status, ran.stderr.contains("no session has the id or name `nobody`")),
        (2, true),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_that_has_its_change_already_is_not_listed() {
    let world = World::new(
        r#"//- work/a
one
//- work/script.toml
[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Add File: new\n+hello\n*** Update File: a\n@@\n-one\n+two\n*** End Patch" }]
[[reply]]
say = "Done."
"#,
    );
    let ran = world.run(&["exec", "-s", "danger-full-access", "--script", "script.toml", "go"]);
    assert_eq!((ran.status, world.files.read("work/a").as_str()), (0, "two\n"), "{}", ran.stderr);
    world.files.write("work/a", "one\n");
    let ran = world.run(&["apply", "--last"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.out().ends_with(":\nM a\n"), "{}", ran.out());
    assert_eq!((world.files.read("work/a").as_str(), world.files.read("work/new").as_str()), ("two\n", "hello\n"));
}
