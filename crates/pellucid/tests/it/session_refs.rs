//! Every command that takes a session takes its id, the beginning of its id, its name, and `--last`.

use expect_test::expect;

use crate::World;

const ID: &str = "019a0000-0000-7000-8000-00000000000a";
const OTHER: &str = "019a0000-0000-7000-8000-00000000000b";
const NAME: &str = "my-work";

fn world() -> World {
    let world = World::new(
        "//- work/script.toml
[[reply]]
[[reply.call]]
name = \"shell_command\"
args = { command = \"seq 9; exit 3\" }

[[reply]]
[[reply.call]]
name = \"apply_patch\"
input = \"*** Begin Patch\\n*** Add File: new.txt\\n+hello\\n*** End Patch\"

[[reply]]
say = \"The file is there.\"
usage = { input = 100, output = 10 }
",
    );
    for id in [OTHER, ID] {
        let args =
            ["exec", "--skip-git-repo-check", "-s", "danger-full-access", "--script", "script.toml", "--session-id"];
        let ran = world.run(&[&args[..], &[id, "make a file"]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    assert_eq!(world.run(&["sessions", "rename", ID, NAME]).status, 0);
    world
}

/// Commands that change nothing; `SESSION` is where the session is named.
const READING: [&[&str]; 10] = [
    &["sessions", "show", "SESSION"],
    &["sessions", "show", "SESSION", "--json"],
    &["sessions", "calls", "SESSION"],
    &["sessions", "output", "SESSION"],
    &["sessions", "export", "SESSION"],
    &["sessions", "fsck", "SESSION"],
    &["replay", "SESSION"],
    &["cache", "SESSION"],
    &["context", "--script", "script.toml", "--session", "SESSION", "hi"],
    &["prompt", "--script", "script.toml", "--session", "SESSION", "hi"],
];

#[test]
fn every_command_takes_every_form_of_a_session() {
    let world = world();
    for command in READING {
        let with = |names: &[&str]| {
            let is_option = command.contains(&"--session");
            let mut args: Vec<&str> = Vec::new();
            for word in command {
                match *word {
                    "SESSION" => args.extend(names),
                    "--session" if is_option && names == ["--last"] => {}
                    word => args.push(word),
                }
            }
            let ran = world.run(&args);
            (ran.status, ran.out().to_owned(), ran.stderr.clone())
        };
        let by_id = with(&[ID]);
        assert_eq!(by_id.0, 0, "{command:?}: {}", by_id.2);
        for names in [&[NAME][..], &["--last"], &["019A0000-0000-7000-8000-00000000000a"]] {
            assert_eq!(with(names), by_id, "{command:?} {names:?}");
        }
        let beginning = with(&["019a0000"]);
        assert_ne!(beginning.0, 0, "{command:?}");
        assert!(beginning.2.contains("several sessions have an id that begins with `019a0000`"), "{}", beginning.2);
    }
    assert_eq!(world.run(&["sessions", "archive", OTHER]).status, 0);
    std::fs::remove_dir_all(world.files.path("home/archived_sessions")).unwrap();
    for command in READING {
        let args = |name: &'static str| -> Vec<&str> {
            command.iter().map(|word| if *word == "SESSION" { name } else { word }).collect()
        };
        let (by_id, beginning) = (world.run(&args(ID)), world.run(&args("019a0000")));
        assert_eq!((beginning.status, beginning.out()), (0, by_id.out()), "{command:?}: {}", beginning.stderr);
    }
}

#[test]
fn commands_that_change_a_session_take_every_form_too() {
    let world = world();
    let said = |args: &[&str]| {
        let ran = world.run(args);
        assert_eq!(ran.status, 0, "{args:?}: {}", ran.stderr);
        ran.out().to_owned()
    };
    assert_eq!(said(&["sessions", "rename", "--last", "one"]), format!("{ID} is now called one\n"));
    assert_eq!(said(&["sessions", "rename", ID, NAME]), format!("{ID} is now called {NAME}\n"));
    for session in [ID, NAME, "--last"] {
        assert!(said(&["resume", "--json", "--script", "script.toml", session, "again"]).contains(ID), "{session}");
        said(&["fork", "--script", "script.toml", ID]);
        assert!(said(&["sessions", "archive", NAME]).contains(ID), "{session}");
        assert!(said(&["sessions", "unarchive", ID]).contains(ID), "{session}");
    }
}

#[test]
fn a_session_is_shown_as_a_transcript() {
    let world = world();
    let ran = world.run(&["sessions", "show", NAME]);
    let shown = ran.out().split_once("\n\n").unwrap().1;
    // Times of commands differ from run to run.
    let lines = shown.lines().map(|line| match line.split_once(", ") {
        Some((exit, _)) if line.starts_with("  exit ") => format!("{exit}, TIME\n"),
        _ => format!("{line}\n"),
    });
    let text: String = lines.collect();
    expect![[r#"
        ── user ──
        make a file

        $ seq 9; exit 3
          exit 3, TIME
          1
          2
          3
          4
          5
          … 4 more lines

        apply_patch
          *** Add File: new.txt
          +hello
          exit 0, TIME
          Success. Updated the following files:
          A new.txt

        ── agent ──
        The file is there.

        request 1: 100 tokens sent, 0 of them cached, 10 answered; cache missed
    "#]]
    .assert_eq(&text);
}
