//! The exit statuses of commands that answer questions: 0 nothing to complain of, 1 a difference, a violation or a finding,
//! 2 wrong usage, 3 the answer is unknown. Commands that change something end with 1 if nothing was changed.

use std::fs;
use std::path::PathBuf;

use crate::World;

const ID: &str = "019a0000-0000-7000-8000-000000000001";
const BROKEN: &str = "019b0000-0000-7000-8000-000000000002";
const UNPRICED: &str = "019c0000-0000-7000-8000-000000000003";
const UNRECORDED: &str = "019d0000-0000-7000-8000-000000000004";
const CHANGED: &str = "019e0000-0000-7000-8000-000000000005";
const GARBLED: &str = "019f0000-0000-7000-8000-000000000006";

fn git(world: &World, words: &[&str]) {
    let mut command = world.command_of("git", &[&["-c", "user.name=A", "-c", "user.email=a@b"], words].concat());
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    let ran = world.finish(command, None);
    assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
}

/// The file of a session, or of its record, below a folder.
pub fn file(world: &World, folder: &str, id: &str) -> PathBuf {
    let mut folders = vec![world.files.path(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_str().unwrap().contains(id) {
                return path;
            }
        }
    }
    panic!("{folder} has no file of {id}");
}

/// A project with two commits, the second of which loses a rule, and sessions of every kind.
fn world() -> World {
    let world = World::new(
        "//- work/AGENTS.md
Use tabs.
Never push.
//- work/other/AGENTS.md
Sing.
//- work/script.toml
[[reply]]
[[reply.call]]
name = \"apply_patch\"
input = \"*** Begin Patch\\n*** Add File: new.txt\\n+hello\\n*** End Patch\"
[[reply]]
say = \"The file is there.\"
usage = { input = 100, output = 10 }
//- work/say.toml
[[reply]]
say = \"Done.\"
usage = { input = 100, output = 10 }
",
    );
    git(&world, &["add", "AGENTS.md"]);
    git(&world, &["commit", "-qm", "one"]);
    world.files.write("work/AGENTS.md", "Use tabs.\n");
    git(&world, &["commit", "-qam", "two"]);
    let turn = |words: &str| {
        let ran = world.run(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.status, 0, "{words}: {}", ran.stderr);
    };
    turn(&format!("exec -s danger-full-access --script script.toml --session-id {ID} hi"));
    turn(&format!("exec --script say.toml --session-id {BROKEN} hi"));
    turn(&format!("exec -s danger-full-access --script say.toml resume {BROKEN} again"));
    turn(&format!("exec -m nosuch-model --script say.toml --session-id {UNPRICED} hi"));
    for id in [CHANGED, GARBLED] {
        turn(&format!("exec --script say.toml --session-id {id} hi"));
    }
    // As another program leaves a session: without a record, and without token counts.
    let path = file(&world, "home/sessions", ID);
    let text = fs::read_to_string(&path).unwrap().replace(ID, UNRECORDED);
    let lines = text.lines().filter(|line| !line.contains("token_count")).map(|line| format!("{line}\n"));
    fs::write(path.to_str().unwrap().replace(ID, UNRECORDED), lines.collect::<String>()).unwrap();
    let path = file(&world, "home/sessions", CHANGED);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("Done.", "Gone.")).unwrap();
    fs::write(file(&world, "home/sessions", GARBLED), "not JSON\n").unwrap();
    world
}

#[test]
fn every_question_ends_with_the_status_of_its_answer() {
    let world = world();
    let mut wrong = String::new();
    let mut ends = |status: i32, words: &str| {
        let words = words.replace("ID", ID).replace("BROKEN", BROKEN).replace("UNPRICED", UNPRICED);
        let words = words.replace("UNRECORDED", UNRECORDED).replace("CHANGED", CHANGED).replace("GARBLED", GARBLED);
        // `_` is a space within a word.
        let words: Vec<String> = words.split(' ').map(|word| word.replace('_', " ")).collect();
        let ran = world.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        if ran.status != status {
            wrong += &format!("{words:?} ended with {} for {status}: {}{}\n", ran.status, ran.out(), ran.stderr);
        }
        if status > 1 && !ran.stderr.contains("error: ") && ran.out().is_empty() {
            wrong += &format!("{words:?} ended with {status} and says nothing: {}\n", ran.stderr);
        }
    };

    ends(0, "context diff now now");
    ends(1, "context diff now@HEAD~1 now");
    ends(2, "context diff nosuch now");
    ends(2, "context diff now@nosuch now");
    ends(2, "context diff now");
    ends(3, "context diff lock now");
    ends(3, "context diff UNRECORDED now");
    ends(3, "context diff GARBLED now");
    ends(3, "context diff UNRECORDED ID");

    ends(3, "context check");
    ends(0, "context lock");
    ends(0, "context check");
    ends(2, "context check --format nosuch");
    world.files.write("work/AGENTS.md", "Use spaces.\n");
    ends(1, "context check");
    ends(1, "context check --format github");
    ends(1, "context check --json");
    ends(0, "context check --update");
    ends(0, "context check");
    world.files.write("work/context.lock", "format = \n");
    ends(1, "context check");
    world.files.write("work/context.lock", "format = 9\n");
    ends(3, "context check");
    ends(3, "context lock");

    ends(0, "context bisect --good HEAD~1 --bad HEAD --lacks Never_push.");
    ends(1, "context bisect --good HEAD~1 --bad HEAD --contains Never_push.");
    ends(2, "context bisect --good nosuch --bad HEAD --contains x");
    ends(2, "context bisect --good HEAD~1 --bad HEAD");
    ends(3, "context bisect --good HEAD~1 --bad HEAD --finding drift");
    ends(3, "context bisect --sessions UNRECORDED ID");
    ends(2, "context bisect --sessions nosuch ID");

    ends(0, "context why AGENTS.md:1");
    ends(1, "context why other/AGENTS.md:1");
    ends(2, "context why AGENTS.md:0");
    ends(2, "context why");
    ends(3, "context why --text no_such_text_anywhere");
    ends(3, "context why --tool apply_patch UNRECORDED");

    ends(0, "context packs");
    ends(2, "context packs --nosuch");
    ends(2, "context packs --with-pack nosuch");
    ends(2, "context packs --with-pack ./no/such/folder");

    ends(0, "cache ID");
    ends(0, "cache BROKEN");
    ends(1, "cache BROKEN --max-breaks 0");
    ends(1, "cache BROKEN --max-rebilled 0");
    ends(0, "cache BROKEN --explain 2");
    ends(2, "cache BROKEN --explain 9");
    ends(2, "cache nosuch");
    ends(2, "cache");
    ends(3, "cache UNRECORDED");

    ends(0, "cost ID");
    ends(2, "cost nosuch");
    ends(2, "cost ID --as nosuch=1");
    ends(3, "cost UNPRICED");
    ends(3, "cost UNRECORDED");

    ends(0, "replay ID");
    ends(1, "replay CHANGED");
    ends(2, "replay nosuch");
    ends(3, "replay UNRECORDED");

    ends(0, "sessions grep hello");
    ends(1, "sessions grep no_such_text");
    ends(2, "sessions grep (");
    ends(2, "sessions grep x --since nosuch");
    ends(2, "sessions grep x --session nosuch");

    ends(0, "sessions list");
    ends(2, "sessions list --cursor nosuch");
    ends(0, "sessions show ID");
    ends(2, "sessions show nosuch");
    ends(0, "sessions show GARBLED");
    ends(0, "sessions calls ID");
    ends(2, "sessions calls ID nosuch");
    ends(2, "sessions output ID nosuch");
    ends(0, "sessions fsck ID");
    ends(1, "sessions fsck CHANGED");
    ends(2, "sessions fsck nosuch");
    ends(3, "sessions certify UNRECORDED --script say.toml");
    ends(2, "sessions certify nosuch");
    ends(2, "sessions capsule nosuch -o out.html");
    ends(2, "sessions capsule ID#0 -o out.html");
    ends(1, "sessions capsule ID -o no/such/folder/out.html");

    ends(0, "schema diff");
    ends(2, "schema nosuch");
    ends(0, "models list");
    ends(2, "models list --nosuch");

    ends(0, "undo ID --dry-run");
    ends(2, "undo ID --turn 9");
    ends(2, "undo nosuch");
    ends(1, "undo UNPRICED");
    ends(1, "redo ID");
    ends(2, "redo nosuch");
    ends(0, "apply ID --check");
    ends(1, "apply UNPRICED");
    ends(2, "apply nosuch");
    ends(0, "sessions delete ID --dry-run");
    ends(1, "sessions delete ID");
    ends(2, "sessions delete nosuch --yes");
    ends(2, "sessions archive");
    assert_eq!(wrong, "");
}
