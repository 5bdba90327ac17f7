//! Every command that takes a session takes its id, the beginning of its id, its name, and `--last`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use expect_test::expect;

use crate::Ran;
use crate::World;

const ID: &str = "019b0000-0000-7000-8000-00000000000c";
const OTHERS: [&str; 2] = ["019a0000-0000-7000-8000-00000000000a", "019a0000-0000-7000-8000-00000000000b"];
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
//- work/say.toml
[[reply]]
say = \"Again.\"
//- work/summary.txt
A file was made.
",
    );
    for id in OTHERS.into_iter().chain([ID]) {
        let args =
            ["exec", "--skip-git-repo-check", "-s", "danger-full-access", "--script", "script.toml", "--session-id"];
        let ran = world.run(&[&args[..], &[id, "make a file"]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    assert_eq!(world.run(&["sessions", "rename", ID, NAME]).status, 0);
    world
}

/// A command that takes a session: the words of it, with `SESSION` or `--session SESSION` where the session is named.
#[derive(Clone, Copy)]
struct Taking {
    words: &'static str,
    /// The exit status with a session that exists.
    status: i32,
    /// What comes first, on the same session.
    before: &'static str,
    takes: Takes,
    /// Whether it changes something, so that the next run needs the state before.
    is_changing: bool,
}

/// The forms that a command takes besides the id, the beginning of the id, and the name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// `--last`; a session that does not exist is an error.
    Last,
    /// `--last`; a session that does not exist is begun, as the Codex CLI does it.
    LastOrNew,
    /// Names of requests: there is no `--last`.
    Request,
}

const fn taking(words: &'static str) -> Taking {
    Taking { words, status: 0, before: "", takes: Takes::Last, is_changing: false }
}

const fn changing(words: &'static str) -> Taking {
    Taking { is_changing: true, ..taking(words) }
}

const fn asking(words: &'static str) -> Taking {
    Taking { takes: Takes::Request, ..taking(words) }
}

/// Every command whose help has the word SESSION or REF.
const COMMANDS: &[Taking] = &[
    Taking { takes: Takes::LastOrNew, ..changing("exec resume SESSION --script say.toml again") },
    changing("resume SESSION --script say.toml again"),
    changing("fork SESSION --script script.toml"),
    taking("replay SESSION"),
    taking("prompt --session SESSION hi"),
    taking("context --session SESSION hi"),
    asking("context diff SESSION#1 SESSION#1"),
    taking("context why --script script.toml --tool apply_patch SESSION"),
    taking("context seen SESSION"),
    Taking { status: 1, ..asking("context bisect --sessions SESSION SESSION") },
    Taking { status: 1, ..asking("context bisect --script script.toml --run true --parts SESSION#1") },
    taking("cache SESSION"),
    taking("cost SESSION"),
    changing("compact SESSION --script script.toml --summary summary.txt"),
    taking("undo SESSION --dry-run"),
    Taking { before: "undo SESSION", ..changing("redo SESSION") },
    taking("apply SESSION --check"),
    taking("memory list --session SESSION"),
    Taking { status: 1, ..taking("memory show 1 --session SESSION") },
    Taking { status: 1, ..taking("memory edit 1 text --session SESSION") },
    Taking { status: 1, ..taking("memory pin 1 --session SESSION") },
    Taking { status: 1, ..taking("memory forget 1 --session SESSION") },
    Taking { status: 1, ..taking("memory merge 1,2 text --session SESSION") },
    taking("memory forget-session --dry-run SESSION"),
    asking("phase show --session SESSION --pack ads"),
    Taking { is_changing: true, ..asking("phase set review --session SESSION --pack ads") },
    Taking { is_changing: true, ..asking("phase next --session SESSION --pack ads") },
    Taking { is_changing: true, ..asking("phase clear --session SESSION --pack ads") },
    taking("sessions show SESSION"),
    taking("sessions show SESSION --json"),
    changing("sessions rename SESSION new-name"),
    changing("sessions archive SESSION"),
    Taking { before: "sessions archive SESSION", ..changing("sessions unarchive SESSION") },
    taking("sessions calls SESSION"),
    taking("sessions output SESSION"),
    taking("sessions grep hello --session SESSION"),
    taking("sessions delete SESSION --dry-run"),
    Taking { status: 1, ..taking("sessions certify SESSION --script script.toml") },
    taking("sessions capsule SESSION -o out.html"),
    taking("sessions export SESSION"),
    taking("sessions fsck SESSION"),
];

/// Commands whose help has one of the words, and which take no session, or serve it until they are ended.
const OTHER_COMMANDS: &[&str] = &["inspect"];

impl Taking {
    /// The names of the command, without its arguments.
    fn path(&self) -> Vec<&'static str> {
        let n = match self.words.split(' ').next() {
            Some("sessions" | "memory" | "phase") => 2,
            Some("exec") => 2,
            Some("context") if !self.words.starts_with("context --") => 2,
            _ => 1,
        };
        self.words.split(' ').take(n).collect()
    }

    /// The arguments with a session named so; `--last` takes the place of `--session SESSION`.
    fn args(words: &str, named: &str) -> Vec<String> {
        let words = if named == "--last" { words.replace("--session SESSION", "--last") } else { words.to_owned() };
        words.split(' ').map(|word| word.replace("SESSION", named)).collect()
    }

    fn run(&self, world: &World, named: &str) -> Ran {
        let run = |words: &str, named: &str| {
            let args = Self::args(words, named);
            world.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
        };
        if !self.before.is_empty() {
            let ran = run(self.before, ID);
            assert_eq!(ran.status, 0, "{}: {}", self.before, ran.stderr);
        }
        run(self.words, named)
    }
}

/// The names of all commands, by what their help lists.
pub fn commands(world: &World, path: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
    args.push("--help");
    let ran = world.run(&args);
    assert_eq!(ran.status, 0, "{path:?}: {}", ran.stderr);
    let help = ran.out().to_owned();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    for name in names.filter(|name| *name != "help") {
        commands(world, &[path, &[name.to_owned()]].concat(), found);
    }
    found.push((path.to_vec(), help));
}

fn has_word(help: &str, word: &str) -> bool {
    help.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').any(|it| it == word)
}

#[test]
fn every_command_that_takes_a_session_is_known_here() {
    let world = World::new("");
    let mut found = Vec::new();
    commands(&world, &[], &mut found);
    assert!(found.len() > 60, "{}", found.len());
    let taking: BTreeSet<String> = COMMANDS.iter().map(|it| it.path().join(" ")).collect();
    let with_session: BTreeSet<String> = found
        .iter()
        .filter(|(_, help)| has_word(help, "SESSION") || has_word(help, "REF"))
        .map(|(path, _)| path.join(" "))
        .filter(|path| !OTHER_COMMANDS.contains(&path.as_str()))
        .collect();
    assert_eq!(with_session, taking.iter().cloned().collect());
    for (path, help) in &found {
        let path = path.join(" ");
        let of_command = COMMANDS.iter().filter(|it| it.path().join(" ") == path);
        let takes_last = of_command.clone().any(|it| it.takes != Takes::Request);
        assert_eq!(takes_last, has_word(help, "last") && help.contains("--last\n"), "{path}");
        // One wording for all.
        let is_said =
            help.contains("the beginning of its id, or its name") || help.contains("beginnings of ids, or names");
        assert!(is_said || !takes_last, "{path}:\n{help}");
    }
}

/// What may differ between two runs: ids of new sessions, and times.
fn comparable(ran: &Ran, takes: Takes, named: &str) -> (i32, String, String) {
    let masked = |text: &str| {
        let mut masked = String::new();
        for word in text.split_inclusive(|it: char| !it.is_ascii_hexdigit() && it != '-') {
            let id = word.get(..36).filter(|id| id.matches('-').count() == 4 && word.len() <= 37);
            match id.filter(|id| *id != ID && !OTHERS.contains(id)) {
                Some(id) => masked += &format!("UUID{}", &word[id.len()..]),
                None => masked += word,
            }
        }
        masked
    };
    // Answers about requests have the names as they were given, in a column.
    let named = |text: &str| match takes {
        Takes::Request if ran.status < 2 => {
            text.replace(ID, "ID").replace(named, "ID").split_whitespace().collect::<Vec<_>>().join(" ")
        }
        _ => text.to_owned(),
    };
    (ran.status, masked(&named(ran.out())), masked(&named(&ran.stderr)))
}

/// Copies a folder, with the times of its files: the newest session stays the newest.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
            let modified = entry.metadata().unwrap().modified().unwrap();
            fs::File::options().append(true).open(&to).unwrap().set_modified(modified).unwrap();
        }
    }
}

/// Puts home and project back to what they were.
fn restore(world: &World) {
    for folder in ["home", "work"] {
        fs::remove_dir_all(world.files.path(folder)).unwrap();
        copy(&world.files.path(format!("kept/{folder}")), &world.files.path(folder));
    }
}

#[test]
fn every_command_takes_every_form_of_a_session() {
    let world = world();
    for folder in ["home", "work"] {
        copy(&world.files.path(folder), &world.files.path(format!("kept/{folder}")));
    }
    let mut wrong = String::new();
    for command in COMMANDS {
        let words = command.words;
        let mut check = |is_right: bool, named: &str, ran: &(i32, String, String)| {
            if !is_right {
                wrong += &format!("{words} with {named}: {ran:#?}\n");
            }
        };
        let run = |named: &str| {
            let ran = command.run(&world, named);
            if command.is_changing {
                restore(&world);
            }
            comparable(&ran, command.takes, named)
        };
        let by_id = run(ID);
        check(by_id.0 == command.status, ID, &by_id);
        let forms = [NAME, "019B", "--last"];
        let n = if command.takes == Takes::Request { 2 } else { 3 };
        for named in &forms[..n] {
            let ran = run(named);
            check(ran == by_id, named, &ran);
        }
        let ran = run("019a0000");
        let said = "several sessions have an id that begins with `019a0000`";
        check(ran.0 == 2 && ran.2.contains(said) && ran.2.contains("hint: give more of the id"), "019a0000", &ran);
        let ran = run("my-wrok");
        let status = if command.takes == Takes::LastOrNew { 0 } else { 2 };
        let said = ran.2.contains("no session has the id or name `my-wrok`") && ran.2.contains("near ones: my-work;");
        check(ran.0 == status && said, "my-wrok", &ran);
    }
    assert_eq!(wrong, "");
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

        request #3: 100 tokens sent, 0 of them cached, 10 answered; cache missed
    "#]]
    .assert_eq(&text);
}
