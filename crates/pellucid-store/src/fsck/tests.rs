//! Everything that is not as it should be in a home folder is found, each with the file and what it is.

use std::fs;

use expect_test::Expect;
use expect_test::expect;
use pellucid_testkit::Workspace;

use super::*;
use crate::tests::ID;
use crate::tests::RECORD;
use crate::tests::Recorded;
use crate::tests::SESSION;
use crate::tests::look;

const NOTHING: Looked = Looked { problems: Vec::new(), is_unproved: false };

/// What is found in a home folder, a line for each problem; those that are serious have a mark.
fn shown(findings: &FsckReport, home: &Workspace) -> String {
    let line = |it: &FsckProblem| format!("{} {}: {}\n", if it.is_serious { "!" } else { "-" }, it.path, it.what);
    let lines: String = findings.problems.iter().map(line).collect();
    let counts =
        format!("{} sessions, {} records, {} unproved\n", findings.n_sessions, findings.n_chains, findings.n_unproved);
    (counts + &lines).replace(home.root().to_str().unwrap(), "~")
}

#[track_caller]
fn check_home(home: &Workspace, expected: &Expect) {
    expected.assert_eq(&shown(&check(home.root(), None, &mut |_| NOTHING), home));
}

fn other(n: u8) -> String {
    format!("019a0000-0000-7000-8000-00000000000{n}")
}

fn file_of(id: &str) -> String {
    format!("rollout-2026-01-02T03-04-05-{id}.jsonl")
}

#[test]
fn a_home_that_is_whole_or_empty_has_no_problems() {
    check_home(
        &Workspace::empty(),
        &expect![[r#"
        0 sessions, 0 records, 0 unproved
    "#]],
    );
    let home = Recorded::with_turns(2).closed();
    expect![[r#"
        1 sessions, 1 records, 0 unproved
    "#]]
    .assert_eq(&shown(&check(home.root(), None, &mut |path| look(home.root(), path)), &home));
    assert_eq!(check(&home.path("nowhere"), None, &mut |_| NOTHING), FsckReport::default());
}

#[test]
fn every_line_of_a_session_and_of_its_record_that_was_changed_is_found() {
    let home = Recorded::with_turns(2).closed();
    for file in [SESSION, RECORD] {
        let whole = home.read(file);
        let n_lines = whole.lines().count();
        for at in 0..n_lines {
            let tamper = |(n, line): (usize, &str)| {
                if n == at {
                    format!("{}\n", line.replacen("\"timestamp\":\"2", "\"timestamp\":\"3", 1))
                } else {
                    format!("{line}\n")
                }
            };
            let changed: String = whole.lines().enumerate().map(tamper).collect();
            assert_ne!(changed, whole);
            home.write(file, changed);
            let found = check(home.root(), None, &mut |path| look(home.root(), path)).problems;
            let place = if file == SESSION { "session" } else { "record" };
            let expected = format!("{place}: line {} (byte", at + 1);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].is_serious && found[0].path == SESSION && found[0].what.starts_with(&expected),
                "{found:?}"
            );
        }
        home.write(file, whole);
    }
}

#[test]
fn every_line_that_is_gone_is_found() {
    let home = Recorded::with_turns(2).closed();
    for file in [SESSION, RECORD] {
        let whole = home.read(file);
        for at in 0..whole.lines().count() {
            let rest: String =
                whole.lines().enumerate().filter(|(n, _)| *n != at).map(|(_, line)| format!("{line}\n")).collect();
            home.write(file, rest);
            let found = check(home.root(), Some(ID), &mut |path| look(home.root(), path)).problems;
            assert!(found.iter().any(|it| it.is_serious && it.what.ends_with("is missing")), "{file} {at}: {found:?}");
        }
        home.write(file, whole);
    }
    fs::remove_file(home.path(RECORD)).unwrap();
    let found = check(home.root(), None, &mut |path| look(home.root(), path)).problems;
    assert_eq!(found.len(), 1, "a record that was removed is missed by its anchors: {found:?}");
}

#[test]
fn lines_that_cannot_be_read_are_counted() {
    let home = Workspace::empty();
    let good = r#"{"timestamp":"t","type":"compacted","payload":{"message":"x"}}"#;
    home.write(SESSION, format!("garbage\n{good}\n\n   \n{{\"type\":\"hologram\",\"payload\":{{}}}}\n{good}\n{{\"tim"));
    check_home(
        &home,
        &expect![[r#"
        1 sessions, 0 records, 0 unproved
        - sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl: lines that cannot be read are set aside: 1, 5, 7
    "#]],
    );
    let mut bytes = vec![0xff, 0xfe, b'\n'];
    bytes.extend_from_slice(good.as_bytes());
    home.write(SESSION, bytes);
    check_home(
        &home,
        &expect![[r#"
        1 sessions, 0 records, 0 unproved
        - sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl: lines that cannot be read are set aside: 1
    "#]],
    );
}

#[test]
fn two_files_of_one_session_are_found() {
    let home = Workspace::empty();
    home.write(SESSION, "");
    home.write(format!("archived_sessions/{}", file_of(ID)), "");
    home.write(format!("sessions/2026/01/03/{}", file_of(ID)), "");
    check_home(
        &home,
        &expect![[r#"
        3 sessions, 0 records, 0 unproved
        ! sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl: another file has the same session
        ! sessions/2026/01/03/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl: another file has the same session
    "#]],
    );
}

#[test]
fn names_that_cannot_be_read_are_found() {
    let home = Workspace::empty();
    names::set(home.root(), ID, "mine").unwrap();
    let text = home.read("session_index.jsonl");
    home.write("session_index.jsonl", format!("{{\n\n{text}not json\n{{}}\n"));
    check_home(
        &home,
        &expect![[r#"
        0 sessions, 0 records, 0 unproved
        - session_index.jsonl: line 1 cannot be read
        - session_index.jsonl: line 4 cannot be read
    "#]],
    );
    fs::remove_file(home.path("session_index.jsonl")).unwrap();
    home.folder("session_index.jsonl");
    check_home(
        &home,
        &expect![[r#"
        0 sessions, 0 records, 0 unproved
        - session_index.jsonl: cannot be read: Is a directory (os error 21)
    "#]],
    );
}

#[test]
fn records_without_a_session_are_found_and_what_is_no_record_is_not() {
    let home = Workspace::empty();
    home.write(SESSION, "");
    home.write(RECORD, "");
    for n in [3, 2] {
        home.write(format!("requests/2026/01/02/requests-2026-01-02T03-04-05-{}.jsonl", other(n)), "");
    }
    home.write("requests/parts/ab/abc", "");
    home.write("requests/2026/01/02/notes.txt", "");
    home.write("requests/2026/99999/requests-2026-01-02T03-04-05-not-an-id.jsonl", "");
    check_home(
        &home,
        &expect![[r#"
        1 sessions, 1 records, 0 unproved
        - requests/2026/01/02/requests-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000002.jsonl: its session file is gone
        - requests/2026/01/02/requests-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000003.jsonl: its session file is gone
    "#]],
    );
}

#[test]
fn a_broken_index_is_named_and_no_index_is_made() {
    let home = Workspace::empty();
    check(home.root(), None, &mut |_| NOTHING);
    assert!(!home.path(crate::index::FILE).exists());
    home.write(
        crate::index::FILE,
        "this is no database, this is a text that is long enough to be read as one ".repeat(40),
    );
    check_home(
        &home,
        &expect![[r#"
            0 sessions, 0 records, 0 unproved
            - pellucid_index.sqlite: file is not a database; the next list of sessions rebuilds it
        "#]],
    );
    assert!(home.read(crate::index::FILE).starts_with("this is no database"), "looking changes nothing");
    let home = Workspace::empty();
    home.folder(crate::index::FILE);
    check_home(
        &home,
        &expect![[r#"
            0 sessions, 0 records, 0 unproved
            - pellucid_index.sqlite: it is not a regular file
        "#]],
    );
}

#[test]
fn one_session_alone_is_looked_at_when_it_is_named() {
    let home = Workspace::empty();
    home.write(SESSION, "torn");
    home.write(format!("sessions/2026/01/02/{}", file_of(&other(2))), "torn");
    home.write("session_index.jsonl", "torn");
    let mut paths = Vec::new();
    let found = check(home.root(), Some(&other(2)), &mut |path| {
        paths.push(path.to_owned());
        Looked { problems: Vec::new(), is_unproved: true }
    });
    assert_eq!(paths, [home.path(format!("sessions/2026/01/02/{}", file_of(&other(2))))]);
    expect![[r#"
        1 sessions, 0 records, 1 unproved
        - sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000002.jsonl: lines that cannot be read are set aside: 1
    "#]].assert_eq(&shown(&found, &home));
    assert_eq!(check(home.root(), Some("nothing"), &mut |_| NOTHING), FsckReport::default());
}

#[test]
fn what_the_caller_finds_is_among_the_findings_in_the_order_of_files() {
    let home = Workspace::empty();
    home.write(format!("sessions/2026/01/02/{}", file_of(&other(2))), "torn");
    home.write(SESSION, "");
    let found = check(home.root(), None, &mut |path| {
        let finding = |what: &str| FsckProblem { path: "p".to_owned(), what: what.to_owned(), is_serious: true };
        let is_first = path.ends_with(SESSION);
        Looked { problems: vec![finding(if is_first { "one" } else { "two" })], is_unproved: is_first }
    });
    expect![[r#"
        2 sessions, 0 records, 1 unproved
        ! p: one
        - sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000002.jsonl: lines that cannot be read are set aside: 1
        ! p: two
    "#]].assert_eq(&shown(&found, &home));
}

#[cfg(target_os = "linux")]
#[test]
fn links_pipes_folders_and_odd_names_are_passed_over() {
    use std::os::unix::ffi::OsStringExt;

    let home = Workspace::empty();
    let target = home.write("elsewhere.jsonl", "torn");
    home.write(SESSION, "");
    home.symlink(format!("sessions/2026/01/02/{}", file_of(&other(2))), &target);
    home.folder(format!("sessions/2026/01/02/{}", file_of(&other(3))));
    let pipe = home.path(format!("sessions/2026/01/02/{}", file_of(&other(4))));
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let name = std::ffi::OsString::from_vec(b"rollout-\xff.jsonl".to_vec());
    fs::write(home.path("sessions/2026/01/02").join(name), "torn").unwrap();
    home.symlink("requests", "requests");
    check_home(
        &home,
        &expect![[r#"
        1 sessions, 0 records, 0 unproved
    "#]],
    );
}

#[test]
fn findings_are_given_to_programs_whole() {
    let home = Workspace::empty();
    home.write(SESSION, "torn");
    expect![[r#"{"n_sessions":1,"n_chains":0,"n_unproved":0,"problems":[{"path":"sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl","what":"lines that cannot be read are set aside: 1","is_serious":false}]}"#]].assert_eq(&serde_json::to_string(&check(home.root(), None, &mut |_| NOTHING)).unwrap());
}
