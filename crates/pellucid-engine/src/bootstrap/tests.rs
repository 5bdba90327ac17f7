//! Bootstrap files within their budgets, and who sees which of them.

use expect_test::Expect;
use expect_test::expect;
use serde_json::json;

use super::*;
use crate::fragment::concat;
use crate::pack::Pack;

/// The set of a built-in pack.
fn set() -> FileSetLayout {
    Pack::builtin("openclaw").and_then(|pack| pack.layout.bootstrap).unwrap()
}

fn read(name: &str, text: &str) -> BootstrapFile {
    BootstrapFile::read(name, &format!("/w/{name}"), text.as_bytes())
}

fn missing(name: &str) -> BootstrapFile {
    BootstrapFile::missing(name, &format!("/w/{name}"))
}

/// What becomes of files: each with its size and text, then warnings, cuts and what was left out.
#[track_caller]
fn check_fit(files: &[BootstrapFile], max: Option<usize>, total: Option<usize>, expected: &Expect) {
    let fitted = set().fit(files, max, total);
    let mut lines = String::new();
    for file in &fitted.files {
        assert_eq!(file.n_units, file.units.len());
        lines += &format!("{} {} {:?}\n", file.path, file.n_units, concat(&file.content));
    }
    for warning in &fitted.warnings {
        lines += &format!("warning: {warning}\n");
    }
    lines += &format!("cut {:?}\nleft out {:?}\n", fitted.cut, fitted.left_out);
    expected.assert_eq(&lines);
}

#[test]
fn small_files_stand_as_they_are_and_missing_ones_are_named() {
    check_fit(
        &[
            read("AGENTS.md", "Be brief.\n\n"),
            missing("SOUL.md"),
            read("TOOLS.md", ""),
            read("USER.md", " \n\t"),
            read("A", "é\u{1f600}"),
        ],
        None,
        None,
        &expect![[r#"
            /w/AGENTS.md 9 "Be brief."
            /w/SOUL.md 33 "[MISSING] Expected at: /w/SOUL.md"
            /w/A 3 "é😀"
            cut []
            left out []
        "#]],
    );
    check_fit(
        &[],
        None,
        None,
        &expect![[r#"
        cut []
        left out []
    "#]],
    );
}

#[test]
fn a_long_file_loses_its_middle() {
    let text: String = ('a'..='z').cycle().take(300).collect();
    check_fit(
        &[read("AGENTS.md", &text)],
        Some(20),
        None,
        &expect![[r#"
        /w/AGENTS.md 120 "abcdefghijklmn\n\n[...truncated, read AGENTS.md for full content...]\n…(truncated AGENTS.md: kept 14+4 chars of 300)…\n\nklmn"
        warning: workspace bootstrap file AGENTS.md is 300 chars (limit 20); truncating in injected context
        cut [("/w/AGENTS.md", 120, 300)]
        left out []
    "#]],
    );
    check_fit(
        &[read("AGENTS.md", &text[..20]), read("SOUL.md", &text[..21])],
        Some(20),
        None,
        &expect![[r#"
        /w/AGENTS.md 20 "abcdefghijklmnopqrst"
        /w/SOUL.md 115 "abcdefghijklmn\n\n[...truncated, read SOUL.md for full content...]\n…(truncated SOUL.md: kept 14+4 chars of 21)…\n\nrstu"
        warning: workspace bootstrap file SOUL.md is 21 chars (limit 20); truncating in injected context
        cut [("/w/SOUL.md", 115, 21)]
        left out []
    "#]],
    );
}

#[test]
fn the_budget_of_all_files_ends_the_list() {
    let files = [
        read("AGENTS.md", &"a".repeat(60)),
        read("SOUL.md", &"b".repeat(60)),
        missing("TOOLS.md"),
        read("USER.md", "c"),
    ];
    check_fit(
        &files,
        None,
        Some(200),
        &expect![[r#"
        /w/AGENTS.md 60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        /w/SOUL.md 60 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
        /w/TOOLS.md 34 "[MISSING] Expected at: /w/TOOLS.md"
        warning: remaining bootstrap budget is 46 chars (<64); skipping additional bootstrap files
        cut []
        left out [("/w/USER.md", 1)]
    "#]],
    );
    check_fit(
        &files,
        None,
        Some(120),
        &expect![[r#"
        /w/AGENTS.md 60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        warning: remaining bootstrap budget is 60 chars (<64); skipping additional bootstrap files
        cut []
        left out [("/w/SOUL.md", 60), ("/w/TOOLS.md", 0), ("/w/USER.md", 1)]
    "#]],
    );
    check_fit(
        &files,
        None,
        Some(100),
        &expect![[r#"
        /w/AGENTS.md 60 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        warning: remaining bootstrap budget is 40 chars (<64); skipping additional bootstrap files
        cut []
        left out [("/w/SOUL.md", 60), ("/w/TOOLS.md", 0), ("/w/USER.md", 1)]
    "#]],
    );
    check_fit(
        &files,
        None,
        Some(60),
        &expect![[r#"
        warning: remaining bootstrap budget is 60 chars (<64); skipping additional bootstrap files
        cut []
        left out [("/w/AGENTS.md", 60), ("/w/SOUL.md", 60), ("/w/TOOLS.md", 0), ("/w/USER.md", 1)]
    "#]],
    );
    check_fit(
        &files,
        None,
        Some(0),
        &expect![[r#"
        warning: remaining bootstrap budget is 1 chars (<64); skipping additional bootstrap files
        cut []
        left out [("/w/AGENTS.md", 60), ("/w/SOUL.md", 60), ("/w/TOOLS.md", 0), ("/w/USER.md", 1)]
    "#]],
    );
}

#[test]
fn a_file_of_wide_characters_is_cut_at_any_limit_and_counted_whole() {
    let text = "\u{1f600}".repeat(40);
    for max in 1..30 {
        let fitted = set().fit(&[read("A", &text)], Some(max), None);
        let shown = concat(&fitted.files[0].content);
        assert!(shown.contains("truncated"), "{max}");
        assert_eq!(fitted.cut, [("/w/A".to_owned(), fitted.files[0].n_units, 80)], "{max}");
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such_and_hashed_as_they_are() {
    let file = BootstrapFile::read("A", "/w/A", b"a\xffb");
    assert_eq!((file.content.as_deref(), file.size, file.missing), (Some("a\u{fffd}b"), 3, false));
    assert_eq!(file.sha256, Some(Digest::of([b"a\xffb".as_slice()])));
    assert!(file.not_utf8.is_some());
    let none = missing("B");
    assert_eq!((none.content, none.size, none.sha256, none.not_utf8), (None, 0, None, None));
    let plain = ContextFile::new("/w/A", "é\u{1f600}");
    assert_eq!((plain.n_units, plain.units.len()), (3, 3));
}

#[test]
fn a_limit_is_a_number_above_nothing() {
    for (value, expected) in [
        (json!(5), 5),
        (json!(5.9), 5),
        (json!(0.5), 0),
        (json!(0), 7),
        (json!(-1), 7),
        (json!("5"), 7),
        (json!(null), 7),
        (json!([5]), 7),
        (json!(1e300), usize::MAX),
    ] {
        assert_eq!(limit(&value, 7), expected, "{value}");
    }
}

#[test]
fn a_small_prompt_has_two_files() {
    let all = || set().names.iter().chain(&set().optional).map(|name| missing(name)).collect::<Vec<_>>();
    let names = |is_minimal| set().for_session(all(), is_minimal).into_iter().map(|file| file.name).collect::<Vec<_>>();
    assert_eq!((names(true), names(false).len()), (set().minimal.clone(), 9));
}

#[test]
fn the_preset_lists_every_file_with_its_modes() {
    let files: Vec<String> = set().entries().map(|file| file.to_string()).collect();
    expect![[r#"
        {"path":"AGENTS.md","prompt_modes":["full","minimal"]}
        {"path":"SOUL.md","prompt_modes":["full"]}
        {"path":"TOOLS.md","prompt_modes":["full","minimal"]}
        {"path":"IDENTITY.md","prompt_modes":["full"]}
        {"path":"USER.md","prompt_modes":["full"]}
        {"path":"HEARTBEAT.md","prompt_modes":["full"]}
        {"path":"BOOTSTRAP.md","prompt_modes":["full"]}
        {"path":"MEMORY.md","prompt_modes":["full"],"only_if_there":true}
        {"path":"memory.md","prompt_modes":["full"],"only_if_there":true}"#]]
    .assert_eq(&files.join("\n"));
}

#[test]
fn one_text_is_trimmed_by_the_same_rules() {
    let placed = set().trim(&"x".repeat(100), "NOTES.md", 10);
    assert!(placed.is_cut);
    assert_eq!((placed.original, placed.max), (100, Some(10)));
    expect![[r#"
        xxxxxxx

        [...truncated, read NOTES.md for full content...]
        …(truncated NOTES.md: kept 7+2 chars of 100)…

        xx"#]]
    .assert_eq(&String::from_utf16_lossy(&placed.units));
    assert!(!set().trim("short", "NOTES.md", 10).is_cut);
}

#[test]
fn a_list_of_files_is_changed_by_settings() {
    let swap = |name: &str, file: BootstrapFile| FileListChange::Swap { name: name.to_owned(), by: Box::new(file) };
    let files = vec![read("AGENTS.md", "a"), missing("SOUL.md"), read("USER.md", "u"), read("AGENTS.md", "again")];
    let changes = [
        swap("SOUL.md", read("moods/winter.md", "cold")),
        swap("GONE.md", read("x.md", "x")),
        FileListChange::LeaveOut { name: "AGENTS.md".to_owned() },
        FileListChange::Failed { what: "b.md".to_owned(), reason: "it is not there".to_owned() },
        FileListChange::Add(Box::new(read("TODAY.md", "rain"))),
    ];
    let (files, notes) = changed(files, &changes);
    let rows: Vec<String> = files
        .iter()
        .map(|it| format!("{} {} {:?} of {}", it.name, it.path, it.content.as_deref(), it.text_path()))
        .chain(notes.iter().map(|note| format!("{}: {:?}", note.what, note.reason)))
        .collect();
    expect![[r#"
        SOUL.md /w/SOUL.md Some("cold") of /w/moods/winter.md
        USER.md /w/USER.md Some("u") of /w/USER.md
        TODAY.md /w/TODAY.md Some("rain") of /w/TODAY.md
        GONE.md: Some("no file of that name is here, so /w/x.md takes no place")
        /w/AGENTS.md: None
        /w/AGENTS.md: None
        b.md: Some("it is not there")"#]]
    .assert_eq(&rows.join("\n"));
    // The heading has the file's own path, the bytes have the path that they were read from.
    let fitted = set().fit(&files[..1], None, None);
    assert_eq!(fitted.files[0].path, "/w/SOUL.md");
    assert_eq!(fitted.files[0].content[0].origin.detail(), "/w/moods/winter.md");
}

#[test]
fn changes_of_a_pack_come_before_those_of_the_configuration() {
    let keys = |name: &str, path: &str| FileChangeKeys {
        swap: [(name.to_owned(), path.to_owned())].into(),
        leave_out: vec![name.to_owned()],
        add: vec![path.to_owned()],
    };
    let both = keys("A", "1").then(&keys("A", "2"));
    assert_eq!(both.swap.get("A").map(String::as_str), Some("2"));
    assert_eq!((both.leave_out, both.add), (vec!["A".to_owned(); 2], vec!["1".to_owned(), "2".to_owned()]));
}

#[test]
fn other_packs_change_the_list_by_their_layout() {
    let layout = "name = \"mine\"\nfrom = \"openclaw\"\n[bootstrap]\nextra = [\"*/AGENTS.md\"]\nleave_out = [\"BOOTSTRAP.md\"]\nadd = [\"notes/TODAY.md\"]\nswap = { \"SOUL.md\" = \"moods/winter.md\" }\n";
    let files = [("pack.toml".to_owned(), layout.to_owned())].into();
    let set = Pack::load_user(&files, "/mine").unwrap().layout.bootstrap.unwrap();
    assert_eq!(set.extra, ["*/AGENTS.md"]);
    assert_eq!(set.changes.add, ["notes/TODAY.md"]);
    assert_eq!(set.changes.leave_out, ["BOOTSTRAP.md"]);
    assert_eq!(set.changes.swap.get("SOUL.md").map(String::as_str), Some("moods/winter.md"));
    assert_eq!(set.names.len(), 7, "the rest is as beneath");
}
