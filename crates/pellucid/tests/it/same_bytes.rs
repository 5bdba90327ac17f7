//! Answers about a stored session and the lock are the same bytes in other time zones, locales, user names, home folders of
//! the user, and working folders reached by a link, and each time they are made. So are the requests of all packs, in
//! processes whose hash tables have other seeds.

use std::fs;
use std::path::Path;

use pellucid_engine::pack::Pack;

use crate::World;

const FIXTURE: &str = "//- work/AGENTS.md
Be brief, and say \"caf\u{e9}\".
//- work/sub/AGENTS.md
Use tabs.
//- work/script.toml
[[reply]]
say = \"I look first.\"
call = [{ name = \"exec_command\", args = { cmd = \"cat AGENTS.md\" } }]
usage = { input = 1000, output = 10 }
[[reply]]
say = \"Done.\"
usage = { input = 1100, cached = 900, output = 10 }
//- home/config.toml
model_reasoning_effort = \"low\"
";

const ID: &str = "019a0000-0000-7000-8000-000000000001";

/// Surroundings that no answer may depend on.
const AROUND: [&[(&str, &str)]; 6] = [
    &[],
    &[("TZ", "Pacific/Auckland")],
    &[("TZ", "America/St_Johns"), ("LANG", "de_DE.UTF-8"), ("LC_ALL", "de_DE.UTF-8")],
    &[("LANG", "C"), ("LC_ALL", "C"), ("LC_NUMERIC", "fr_FR.UTF-8"), ("COLUMNS", "40"), ("LINES", "10")],
    &[("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8"), ("USER", "ada"), ("LOGNAME", "ada"), ("HOSTNAME", "other")],
    &[("TZ", "UTC"), ("HOME", "/nonexistent"), ("USER", ""), ("TMPDIR", "/tmp")],
];

fn answers() -> Vec<Vec<String>> {
    let of = |words: &[&str]| words.iter().map(|word| word.replace("ID", ID)).collect::<Vec<String>>();
    vec![
        of(&["sessions", "certify", "ID"]),
        of(&["context", "diff", "--json", "ID#1", "ID#2"]),
        of(&["context", "diff", "ID#1", "ID#2"]),
        of(&["context", "diff", "--json", "ID", "ID"]),
        of(&["context", "why", "--json", "AGENTS.md", "ID#1"]),
        of(&["context", "why", "AGENTS.md", "ID#2"]),
        of(&["context", "--json", "ID#2"]),
        of(&["prompt", "--format", "body", "ID#2"]),
        of(&["replay", "--json", "ID"]),
        of(&["cache", "--json", "ID"]),
        of(&["cost", "--json", "ID"]),
    ]
}

/// Commands that write a file, and the file.
fn files() -> Vec<(Vec<&'static str>, &'static str)> {
    let capsule = |redact| (vec!["sessions", "capsule", ID, "-o", "../made.html", "--redact", redact], "made.html");
    vec![capsule("content"), capsule("secrets"), capsule("none"), (vec!["context", "lock"], "work/context.lock")]
}

#[test]
fn answers_do_not_depend_on_what_is_around_them() {
    let world = World::new(FIXTURE);
    let ran = world.run(&["exec", "--skip-git-repo-check", "--session-id", ID, "--script", "script.toml", "begin"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    #[cfg(unix)]
    std::os::unix::fs::symlink(world.files.path("work"), world.files.path("linked")).unwrap();
    let folders: &[&str] = if cfg!(unix) { &["work", "linked"] } else { &["work"] };
    let around: Vec<_> = AROUND.iter().zip(folders.iter().cycle()).collect();
    for words in answers() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let first = world.run(&words);
        assert!(first.status < 2, "{words:?}: {}", first.stderr);
        for (variables, folder) in &around {
            let mut command = world.command(&words);
            command.envs(variables.iter().copied()).current_dir(world.files.path(folder));
            let again = world.finish(command, None);
            assert_eq!(again.out(), first.out(), "{words:?} with {variables:?} in {folder}");
            assert_eq!(again.status, first.status, "{words:?} with {variables:?} in {folder}");
        }
    }
    for (words, file) in files() {
        let mut first = None;
        for (variables, folder) in &around {
            let mut command = world.command(&words);
            command.envs(variables.iter().copied()).current_dir(world.files.path(folder));
            let ran = world.finish(command, None);
            assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
            let bytes = fs::read(world.files.path(file)).unwrap();
            fs::remove_file(world.files.path(file)).unwrap();
            let first = first.get_or_insert_with(|| bytes.clone());
            assert!(*first == bytes, "{words:?} with {variables:?} in {folder}");
        }
    }
}

/// How many processes make the first request of each pack; `cargo xtask same-bytes` sets 1,000.
const VARIABLE: &str = "PELLUCID_SAME_BYTES_RUNS";

/// A pack whose texts go through tables, loops, filters and macros, so an order that depends on a seed would show.
const COMPUTED: &str = "//- home/packs/computed/pack.toml
name = \"computed\"
from = \"codex\"

[facts]
letters = { b = 2, a = 1, z = 26, m = 13, q = 17, c = 3, y = 25 }

[[slot]]
id = \"letters\"
target = \"developer\"
file = \"letters.jinja\"
//- home/packs/computed/letters.jinja
{% macro row(name, n) %}{{ name | upper }}={{ n }}{% endmacro %}
{% for pair in given.letters | items %}{{ row(pair[0], pair[1]) }} {% endfor %}
{{ given.letters | json }} {{ given.letters | items | map(\"first\") | sort | join(\",\") }}
";

#[test]
fn every_pack_has_the_same_bytes_in_every_process() {
    let n_runs: usize = std::env::var(VARIABLE).map_or(3, |text| text.parse().expect("a number of runs"));
    let world = World::new(&format!("{FIXTURE}{COMPUTED}"));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/packs");
    let mut packs: Vec<String> = Pack::builtin_names().into_iter().map(str::to_owned).collect();
    packs.push("computed".to_owned());
    for example in fs::read_dir(examples).unwrap() {
        packs.push(example.unwrap().path().to_str().unwrap().to_owned());
    }
    for pack in packs {
        let words = ["prompt", "--format", "body", "--session-id", ID, "--pack", &pack, "begin"];
        let first = world.run(&words);
        assert_eq!(first.status, 0, "{pack}: {}", first.stderr);
        for run in 1..n_runs {
            assert!(world.run(&words).stdout == first.stdout, "{pack}: run {run} has other bytes");
        }
    }
}
