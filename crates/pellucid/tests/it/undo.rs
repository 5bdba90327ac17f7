//! `pellucid undo` and `redo`: back to before a turn, without git.

use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;
use crate::schemas::check_form;

/// A session of two turns that worked on `a`, made `sub/new` and moved `old` to `there`. The folder is no repository.
struct Scene {
    world: World,
    id: String,
}

const FIRST: &str = r#"
[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Update File: a\n@@\n-2\n+two\n*** Add File: sub/new\n+x\n*** End Patch", id = "c1" }]
[[reply]]
call = [
  { name = "shell_command", args = { command = "echo made > by_command", login = false }, id = "c2" },
  { name = "update_plan", args = { plan = [] }, id = "c3" },
]
[[reply]]
say = "Done."
"#;

const SECOND: &str = r#"
[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Update File: a\n@@\n-3\n+three\n*** Delete File: gone\n*** Update File: old\n*** Move to: there\n@@\n-o\n+O\n*** End Patch", id = "c1" }]
[[reply]]
say = "Done."
"#;

impl Scene {
    fn new() -> Self {
        let files = pellucid_testkit::Workspace::new("//- home/config.toml\n");
        for (path, text) in [("work/a", "1\n2\n3"), ("work/gone", "no newline"), ("work/old", "o\n")] {
            files.write(path, text);
        }
        files.write("first.toml", FIRST);
        files.write("second.toml", SECOND);
        let world = World { files };
        let options = ["--json", "--skip-git-repo-check", "-s", "danger-full-access", "--script"];
        let ran = world.run(&[&["exec"], &options[..], &["../first.toml", "go"]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let started: Value = serde_json::from_str(ran.out().lines().next().unwrap()).unwrap();
        let id = started["thread_id"].as_str().unwrap().to_owned();
        let ran = world.run(&[&["exec"], &options[..], &["../second.toml", "resume", &id, "more"]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let scene = Self { world, id };
        assert_eq!(scene.files(), AFTER_SECOND);
        scene
    }

    fn run(&self, command: &str, words: &[&str]) -> Ran {
        self.world.run(&[&[command, &self.id], words].concat())
    }

    /// Runs a command that has to end with this status. Gives its JSON.
    #[track_caller]
    fn json(&self, command: &str, words: &[&str], status: i32) -> Value {
        let ran = self.run(command, &[words, &["--json"]].concat());
        assert_eq!(ran.status, status, "{}{}", ran.out(), ran.stderr);
        serde_json::from_slice(&ran.stdout).unwrap()
    }

    /// The files of the folder, in one line.
    fn files(&self) -> String {
        let names = ["a", "gone", "old", "there", "sub/new", "by_command"];
        let text = |name: &str| std::fs::read_to_string(self.world.files.path("work").join(name));
        let shown = names.iter().map(|name| text(name).map_or_else(|_| "-".to_owned(), |text| text.replace('\n', "|")));
        shown.collect::<Vec<_>>().join(" ")
    }

    /// The messages that the next request would have, from a person.
    fn messages(&self) -> usize {
        let ran =
            self.world.run(&["prompt", "--script", "../first.toml", "--format", "body", "--session", &self.id, "next"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let body = ran.out();
        ["\"go\"", "\"more\""].iter().filter(|said| body.contains(**said)).count()
    }
}

const BEFORE: &str = "1|2|3 no newline o| - - made|";
const AFTER_FIRST: &str = "1|two|3| no newline o| - x| made|";
const AFTER_SECOND: &str = "1|two|three| - - O| x| made|";

#[test]
fn files_go_back_turn_by_turn_and_forth_again_to_the_byte() {
    let scene = Scene::new();
    let seen = scene.json("undo", &["--dry-run"], 0);
    assert_eq!((&seen["state"], &seen["from_turn"]), (&json!("dry_run"), &json!(2)));
    assert_eq!(scene.files(), AFTER_SECOND);
    let done = scene.json("undo", &[], 0);
    assert_eq!((&done["schema"], &done["state"]), (&json!("pellucid.undo/1"), &json!("done")));
    check_form(&scene.world, &done);
    let actions: Vec<&str> =
        done["files"].as_array().unwrap().iter().map(|file| file["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["restore", "create", "create", "delete"]);
    assert_eq!(scene.files(), AFTER_FIRST);
    // The next undo reaches further back, and the commands of that turn are named.
    let done = scene.json("undo", &[], 0);
    assert_eq!(done["from_turn"], 1);
    assert_eq!(
        done["lasting_effects"],
        json!([{"turn": 1, "tool": "shell_command", "what": "echo made > by_command"}])
    );
    assert_eq!(scene.files(), BEFORE);
    assert_eq!(scene.run("undo", &[]).status, 1);
    scene.json("redo", &[], 0);
    assert_eq!(scene.files(), AFTER_FIRST);
    scene.json("redo", &[], 0);
    assert_eq!(scene.files(), AFTER_SECOND);
    assert_eq!(scene.run("redo", &[]).status, 1);
}

#[test]
fn any_turn_is_reached_at_once() {
    let scene = Scene::new();
    scene.json("undo", &["--turn", "1"], 0);
    assert_eq!(scene.files(), BEFORE);
    assert_eq!(scene.run("undo", &["--turn", "3"]).status, 2);
}

#[test]
fn a_file_that_changed_since_is_named_and_nothing_is_written() {
    let scene = Scene::new();
    scene.world.files.write("work/a", "mine");
    let seen = scene.json("undo", &[], 1);
    assert_eq!(seen["state"], "refused");
    let kept = &seen["kept"][0];
    assert!(kept["path"].as_str().unwrap().ends_with("/a"), "{kept}");
    assert_eq!(scene.files(), "mine - - O| x| made|");
    // A patch that moved files is undone as a whole or not at all.
    scene.json("undo", &["--skip-changed", "--dry-run"], 1);
    scene.world.files.write("work/a", "1\ntwo\nthree\n");
    scene.json("undo", &[], 0);
    scene.world.files.write("work/there", "new");
    let ran = scene.run("redo", &[]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("there"), "{}", ran.stderr);
    assert_eq!(scene.files(), "1|two|3| no newline o| new x| made|");
}

#[cfg(unix)]
#[test]
fn a_link_that_a_command_left_is_not_written_through() {
    let scene = Scene::new();
    let outside = scene.world.files.path("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("new"), "x\n").unwrap();
    let sub = scene.world.files.path("work").join("sub");
    std::fs::remove_dir_all(&sub).unwrap();
    std::os::unix::fs::symlink(&outside, &sub).unwrap();
    let ran = scene.run("undo", &["--turn", "1"]);
    assert_eq!(ran.status, 1, "{}", ran.out());
    assert!(outside.join("new").exists());
    assert!(scene.files().starts_with("1|two|three|"));
}

#[test]
fn the_conversation_goes_back_and_forth() {
    let scene = Scene::new();
    assert_eq!(scene.messages(), 2);
    let done = scene.json("undo", &["--both"], 0);
    assert_eq!(done["messages"], 1);
    assert_eq!((scene.messages(), scene.files().as_str()), (1, AFTER_FIRST));
    scene.json("redo", &[], 0);
    assert_eq!((scene.messages(), scene.files().as_str()), (2, AFTER_SECOND));
    // What is back can be undone again.
    scene.json("undo", &["--conversation", "--turn", "1"], 0);
    assert_eq!((scene.messages(), scene.files().as_str()), (0, AFTER_SECOND));
    assert_eq!(scene.world.run(&["sessions", "fsck", &scene.id]).status, 0);
}

#[test]
fn a_session_that_kept_nothing_is_undone_by_the_lines_of_its_patches() {
    let scene = Scene::new();
    std::fs::remove_dir_all(scene.world.files.path("home").join("edits")).unwrap();
    let seen = scene.json("undo", &["--turn", "2"], 1);
    assert_eq!(seen["state"], "refused");
    let kept: Vec<&str> =
        seen["kept"].as_array().unwrap().iter().map(|file| file["reason"].as_str().unwrap()).collect();
    assert_eq!(kept, ["the session did not keep its text from before the patch"]);
    let done = scene.json("undo", &["--turn", "2", "--skip-changed"], 1);
    assert_eq!(done["files"][0]["exact"], false);
    assert_eq!(scene.files(), "1|two|3| - o| - x| made|");
    scene.json("redo", &[], 0);
    assert_eq!(scene.files(), AFTER_SECOND);
}

#[cfg(unix)]
#[test]
fn a_program_that_comes_back_may_be_run_again() {
    use std::os::unix::fs::PermissionsExt;
    const SCRIPT: &str = r##"
[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Delete File: tool\n*** Update File: old\n*** Move to: there\n@@\n-o\n+O\n*** Add File: new\n+x\n*** End Patch", id = "c1" }]
[[reply]]
say = "Done."
"##;
    let world = World::new("//- work/plain\n1\n");
    let mode = |name: &str| std::fs::metadata(world.files.path("work").join(name)).unwrap().permissions().mode();
    let set = |name: &str| {
        let path = world.files.path("work").join(name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    world.files.write("work/script.toml", SCRIPT);
    for (name, text) in [("tool", "t\n"), ("old", "o\n")] {
        world.files.write(format!("work/{name}"), text);
        set(name);
    }
    let ran = world.run(&["exec", "-s", "danger-full-access", "--script", "script.toml", "go"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    set("new");
    let ran = world.run(&["undo", "--last"]);
    assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
    for name in ["tool", "old"] {
        assert_eq!(mode(name) & 0o100, 0o100, "{name}");
    }
    assert!(!world.files.path("work/new").exists());
    let ran = world.run(&["redo", "--last"]);
    assert_eq!(ran.status, 0, "{}{}", ran.out(), ran.stderr);
    for name in ["there", "new"] {
        assert_eq!(mode(name) & 0o100, 0o100, "{name}");
    }
    assert_eq!(mode("plain") & 0o111, 0);
}
