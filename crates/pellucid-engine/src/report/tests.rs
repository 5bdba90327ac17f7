//! What a report says of every omission, every file that was looked for, and every row.

use expect_test::expect;

use super::*;
use crate::digest::Digest;
use crate::file_version::FileVersion;
use crate::hidden::HiddenKind;

/// A report of these rows, omissions and files, of a request that is not there.
fn report(rows: Vec<Row>, omissions: Vec<Omission>, candidates: Vec<Candidate>) -> Report {
    Report {
        rows,
        omissions,
        candidates,
        files: Vec::new(),
        changed_files: Vec::new(),
        continuity: None,
        said_again: BTreeMap::new(),
        phase: None,
        counted_by: Estimate::NAME.into(),
        image_bytes: 0,
        watched: None,
    }
}

/// Rows one behind the other.
fn rows(of: &[(&str, Origin, usize)]) -> Vec<Row> {
    let mut all = Rows::default();
    for (part, origin, len) in of {
        let span = Span { part: (*part).into(), origin: origin.clone(), len: *len, raw_len: *len };
        all.push(&span, None, None);
    }
    all.rows
}

fn file(path: &str, range: Range<u64>, size: u64) -> Origin {
    Origin::File { path: FileVersion::of(path, b"x"), range, size }
}

fn omitted(what: &str, why: Why) -> Omission {
    Omission { slot: "docs".into(), what: what.to_owned(), why }
}

fn reasons() -> Vec<Why> {
    vec![
        Why::Cut { kept: 3, of: 10 },
        Why::OverBudget { of: 11 },
        Why::LeftWindow { of: 12, kept_as: String::new() },
        Why::LeftWindow { of: 12, kept_as: "a summary".to_owned() },
        Why::Blank,
        Why::Missing,
        Why::Duplicate,
        Why::SwitchedOff,
        Why::OnlyOnMention,
        Why::Shadowed { by: "/a".to_owned() },
        Why::Replaced { by: "config".to_owned() },
        Why::Outside { target: "/etc".to_owned() },
        Why::Untrusted,
        Why::NotAccepted { is_changed: true },
        Why::NotAccepted { is_changed: false },
        Why::Unusable { error: "it is broken".to_owned() },
        Why::NotUtf8(NotUtf8 { first: 4, count: 1 }),
        Why::NotUtf8(NotUtf8 { first: 4, count: 2 }),
    ]
}

fn fates() -> Vec<Fate> {
    vec![
        Fate::Read,
        Fate::Absent,
        Fate::Shadowed { by: "/a".to_owned() },
        Fate::NotAFile,
        Fate::Unreadable { error: "Permission denied".to_owned() },
        Fate::Blank,
        Fate::Outside { target: "/etc".to_owned() },
        Fate::Untrusted,
        Fate::NotAccepted { is_changed: false },
    ]
}

#[test]
fn every_omission_is_told_whole() {
    let omissions = reasons().into_iter().map(|why| omitted("/w/a.md", why)).collect();
    let json = report(Vec::new(), omissions, Vec::new()).to_json().head;
    let lines: Vec<String> = json["omissions"].as_array().unwrap().iter().map(ToString::to_string).collect();
    expect![[r#"
        {"part":"docs","what":"/w/a.md","kind":"cut","status":"truncated","why":"cut after 3 of 10 bytes, the budget is spent","bytes":7}
        {"part":"docs","what":"/w/a.md","kind":"over_budget","status":"omitted","why":"all 11 bytes left out, the budget is spent","bytes":11}
        {"part":"docs","what":"/w/a.md","kind":"left_window","status":"left the window","why":"12 bytes left the window","bytes":12}
        {"part":"docs","what":"/w/a.md","kind":"left_window","status":"left the window","why":"12 bytes left the window for a summary","bytes":12}
        {"part":"docs","what":"/w/a.md","kind":"blank","status":"omitted","why":"blank","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"missing","status":"missing","why":"there is no such file","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"duplicate","status":"duplicate","why":"it is in the context already","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"switched_off","status":"disabled","why":"switched off in the configuration","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"on_mention","status":"on mention","why":"used only when it is mentioned","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"shadowed","status":"shadowed","why":"/a has the same name and comes first","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"replaced","status":"shadowed","why":"config takes its place","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"outside","status":"omitted","why":"left out, as it is a link out of the project, to /etc","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"untrusted","status":"omitted","why":"left out, as the project is marked as untrusted","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"not_accepted","status":"omitted","why":"left out, as it has changed since you accepted it; `pellucid trust accept --instructions` shows and accepts it","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"not_accepted","status":"omitted","why":"left out, as you accepted other files of this project, not it; `pellucid trust accept --instructions` shows and accepts it","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"unusable","status":"omitted","why":"it is broken","bytes":0}
        {"part":"docs","what":"/w/a.md","kind":"not_utf8","status":"altered","why":"the byte at offset 4 is not UTF-8, the model sees U+FFFD in its place","bytes":1,"first_byte":4}
        {"part":"docs","what":"/w/a.md","kind":"not_utf8","status":"altered","why":"2 bytes are not UTF-8, the first at offset 4; the model sees U+FFFD in their place","bytes":2,"first_byte":4}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn every_file_that_was_looked_for_is_told_whole() {
    let candidates = fates().into_iter().map(|fate| Candidate { path: "/w/a.md".to_owned(), fate }).collect();
    let json = report(Vec::new(), Vec::new(), candidates).to_json().head;
    let lines: Vec<String> = json["candidates"].as_array().unwrap().iter().map(ToString::to_string).collect();
    expect![[r#"
        {"path":"/w/a.md","status":"read","why":"read"}
        {"path":"/w/a.md","status":"missing","why":"not there"}
        {"path":"/w/a.md","status":"shadowed","why":"/a comes first"}
        {"path":"/w/a.md","status":"unusable","why":"not a file"}
        {"path":"/w/a.md","status":"unusable","why":"cannot be read: Permission denied"}
        {"path":"/w/a.md","status":"blank","why":"blank"}
        {"path":"/w/a.md","status":"outside","why":"not read, as it leads out of the project, to /etc"}
        {"path":"/w/a.md","status":"untrusted","why":"not read, as the project is marked as untrusted"}
        {"path":"/w/a.md","status":"not accepted","why":"not used, as you accepted other files of this project, not it"}"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn every_source_has_one_row_with_what_became_of_it() {
    let name = |n: usize| format!("/w/{n}.md");
    let omissions = reasons().into_iter().enumerate().map(|(n, why)| omitted(&name(n), why)).collect();
    let mut candidates: Vec<Candidate> =
        fates().into_iter().enumerate().map(|(n, fate)| Candidate { path: name(100 + n), fate }).collect();
    // A file that is listed among those that were looked for is not listed again.
    candidates.push(Candidate { path: name(4), fate: Fate::Blank });
    let sources = report(Vec::new(), omissions, candidates).sources();
    let lines: Vec<String> = sources
        .iter()
        .map(|it| format!("{} {:?} {} {} {}", it.source, it.part, it.status.as_str(), it.bytes, it.why))
        .collect();
    expect![[r#"
        /w/100.md None omitted 0 read
        /w/101.md None missing 0 not there
        /w/102.md None shadowed 0 /a comes first
        /w/103.md None omitted 0 not a file
        /w/104.md None omitted 0 cannot be read: Permission denied
        /w/105.md None omitted 0 blank
        /w/106.md None omitted 0 not read, as it leads out of the project, to /etc
        /w/107.md None omitted 0 not read, as the project is marked as untrusted
        /w/108.md None omitted 0 not used, as you accepted other files of this project, not it
        /w/4.md None omitted 0 blank
        /w/0.md Some("docs") truncated 3 cut after 3 of 10 bytes, the budget is spent
        /w/1.md Some("docs") omitted 0 all 11 bytes left out, the budget is spent
        /w/2.md Some("docs") omitted 0 12 bytes left the window
        /w/3.md Some("docs") omitted 0 12 bytes left the window for a summary
        /w/5.md Some("docs") missing 0 there is no such file
        /w/6.md Some("docs") duplicate 0 it is in the context already
        /w/7.md Some("docs") omitted 0 switched off in the configuration
        /w/8.md Some("docs") omitted 0 used only when it is mentioned
        /w/9.md Some("docs") shadowed 0 /a has the same name and comes first
        /w/10.md Some("docs") shadowed 0 config takes its place
        /w/11.md Some("docs") omitted 0 left out, as it is a link out of the project, to /etc
        /w/12.md Some("docs") omitted 0 left out, as the project is marked as untrusted
        /w/13.md Some("docs") omitted 0 left out, as it has changed since you accepted it; `pellucid trust accept --instructions` shows and accepts it
        /w/14.md Some("docs") omitted 0 left out, as you accepted other files of this project, not it; `pellucid trust accept --instructions` shows and accepts it
        /w/15.md Some("docs") omitted 0 it is broken
        /w/16.md Some("docs") altered 0 the byte at offset 4 is not UTF-8, the model sees U+FFFD in its place
        /w/17.md Some("docs") altered 0 2 bytes are not UTF-8, the first at offset 4; the model sees U+FFFD in their place"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn a_file_that_was_read_counts_as_loaded_only_if_its_bytes_are_there() {
    let read = |path: &str, size: u64| InstructionFile {
        path: path.to_owned(),
        target: None,
        size,
        n_read: size,
        hash: Digest::of([b"x".as_slice()]),
        hidden: Vec::new(),
        is_in_history: path.contains("history"),
    };
    let rows = rows(&[("docs", file("/w/full.md", 0..9, 9), 9), ("docs", file("/w/cut.md", 0..4, 9), 4)]);
    let mut report = report(rows, vec![omitted("/w/cut.md", Why::Cut { kept: 4, of: 9 })], Vec::new());
    report.files = ["/w/full.md", "/w/cut.md", "/w/lost.md", "/w/history.md"].map(|path| read(path, 9)).into();
    let lines: Vec<String> = report
        .sources()
        .iter()
        .map(|it| format!("{} {} {} {:?}", it.source, it.status.as_str(), it.bytes, it.why))
        .collect();
    expect![[r#"
        /w/full.md full 9 ""
        /w/cut.md truncated 4 "cut after 4 of 9 bytes, the budget is spent"
        /w/lost.md omitted 0 "read, but not in the request"
        /w/history.md full 9 """#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(report.rows.iter().map(Row::is_cut).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn rows_follow_each_other_and_add_up() {
    let report = report(
        rows(&[
            ("model", Origin::Wire, 10),
            ("base", Origin::Layout, 0),
            ("base", Origin::Layout, 5),
            ("user", Origin::User, 3),
        ]),
        Vec::new(),
        Vec::new(),
    );
    let places: Vec<(usize, usize)> = report.rows.iter().map(|row| (row.start, row.bytes)).collect();
    assert_eq!(places, [(0, 10), (10, 5), (15, 3)], "a run of no bytes is no row");
    assert_eq!((report.bytes(), report.tokens()), (18, tokens_of_bytes(18)));
    let part = |byte| report.row_at(byte).map(|row| row.part.to_string());
    assert_eq!([0, 9, 10, 17].map(part).map(Option::unwrap), ["model", "model", "base", "user"]);
    assert_eq!(part(18), None);
    assert!(!report.is_counted());
}

#[test]
fn an_event_has_a_line_for_each_part_and_only_the_rows_that_are_new() {
    let first = rows(&[("model", Origin::Wire, 10), ("user", Origin::User, 3)]);
    let report = report(
        rows(&[
            ("model", Origin::Wire, 10),
            ("user", Origin::User, 3),
            ("model", Origin::Model, 4),
            ("model", Origin::Wire, 1),
        ]),
        Vec::new(),
        Vec::new(),
    );
    let since = report.since(&first);
    let parts: Vec<(&str, usize)> = since.parts.iter().map(|it| (it.part.as_str(), it.bytes)).collect();
    assert_eq!(parts, [("model", 15), ("user", 3)]);
    assert_eq!((since.rows_kept, since.rows.len(), since.bytes, since.kept_bytes), (2, 2, 18, 0));
    assert_eq!(since.tokens, report.tokens());
    let other = rows(&[("model", Origin::Wire, 9)]);
    assert_eq!((report.since(&other).rows_kept, report.since(&[]).rows.len()), (0, 4));
}

#[test]
fn a_row_of_a_file_names_its_bytes_and_its_hash() {
    let report = report(
        rows(&[
            ("docs", file("/w/a.md", 2..6, 9), 4),
            ("picture", file("/w/p.png", 0..0, 0), 7),
            ("user", Origin::User, 1),
        ]),
        Vec::new(),
        Vec::new(),
    );
    let lines: Vec<String> = report.rows_json().map(|row| row.to_string()).collect();
    expect![[r#"
        {"part":"docs","item":null,"role":null,"source":"file","origin":"/w/a.md","start":0,"bytes":4,"raw_bytes":4,"tokens":1,"status":"truncated","file_range":[2,6],"file_bytes":9,"file_sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}
        {"part":"picture","item":null,"role":null,"source":"file","origin":"/w/p.png","start":4,"bytes":7,"raw_bytes":7,"tokens":2,"status":"full","file_sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}
        {"part":"user","item":null,"role":null,"source":"user","origin":"","start":11,"bytes":1,"raw_bytes":1,"tokens":0,"status":"full"}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn rows_that_were_read_back_are_noted() {
    let plain = report(rows(&[("user", Origin::User, 1)]), Vec::new(), Vec::new());
    assert_eq!(plain.notes(), Vec::<&str>::new());
    let lost = report(rows(&[("input", Origin::Recorded { path: "/s.jsonl".into() }, 1)]), Vec::new(), Vec::new());
    assert_eq!(
        lost.notes(),
        ["origins were not kept for the rows of source `session`: another program or an older version sent them"]
    );
}

#[test]
fn what_hides_in_a_file_is_told_with_its_place() {
    let hidden =
        Hidden { line: 3, column: 14, kind: HiddenKind::Bidirectional, characters: vec!['\u{202e}', '\u{202d}'] };
    let mut report = report(Vec::new(), Vec::new(), Vec::new());
    report.files = vec![InstructionFile {
        path: "/w/a.md".to_owned(),
        target: Some("/elsewhere".to_owned()),
        size: 9,
        n_read: 4,
        hash: Digest::of([b"x".as_slice()]),
        hidden: vec![hidden],
        is_in_history: false,
    }];
    expect![[r#"[{"path":"/w/a.md","target":"/elsewhere","bytes":9,"read_bytes":4,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","hidden":[{"line":3,"column":14,"kind":"bidirectional","code_points":["U+202E","U+202D"]}]}]"#]].assert_eq(&report.to_json().head["instruction_files"].to_string());
}

/// Rows are written in their place, and the JSON is one value as before.
#[test]
fn rows_are_written_one_by_one_where_they_belong() {
    let report = report(Vec::new(), Vec::new(), Vec::new());
    let mut json = report.to_json();
    json.head["added"] = 1.into();
    let written: Value = serde_json::from_str(&serde_json::to_string(&json).unwrap()).unwrap();
    assert_eq!(written["rows"], report.rows_json().collect::<Value>());
    let keys: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!((keys[4].as_str(), keys[keys.len() - 1].as_str()), ("rows", "added"));
}
