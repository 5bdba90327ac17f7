use expect_test::Expect;
use expect_test::expect;

use super::*;
use crate::files::FileTable;
use crate::parse::parse;

fn table() -> FileTable {
    [("/w/a", &b"1\n2\n3\n"[..]), ("/w/b", b"x\n"), ("/w/bytes", b"\xFF\n"), ("/w/d/e", b"y\n")].into_iter().collect()
}

#[track_caller]
fn check(reader: Reader, body: &str, expected: &Expect) {
    let text = format!("*** Begin Patch\n{body}*** End Patch\n");
    let result = verify(&parse(&text).unwrap(), Path::new("/w"), &table(), reader);
    expected.assert_eq(&match result {
        Ok(verified) => {
            let changes: String =
                verified.changes().iter().map(|(path, change)| format!("{}: {change:?}\n", path.display())).collect();
            let blocked = verified.blocked.map(|blocked| format!("blocked: {blocked}\n")).unwrap_or_default();
            changes + &blocked
        }
        Err(error) => format!("{error}\n"),
    });
}

#[test]
fn each_kind_of_change_is_shown() {
    check(
        Reader::Model,
        "*** Add File: ./n\n+x\n*** Delete File: b\n*** Update File: d/../a\n 1\n-2\n+two\n*** Update File: d/e\n*** Move to: m\n-y\n+z\n",
        &expect![[r#"
            /w/b: Delete { content: "x\n" }
            /w/d/../a: Update { unified_diff: "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n", move_path: None }
            /w/d/e: Update { unified_diff: "@@ -1 +1 @@\n-y\n+z\n", move_path: Some("/w/m") }
            /w/./n: Add { content: "x\n" }
        "#]],
    );
}

#[test]
fn changes_are_under_the_paths_that_the_patch_writes() {
    check(
        Reader::Model,
        "*** Add File: x//n\n+x\n*** Update File: /w/d/./e\n*** Move to: .//m\n-y\n+z\n",
        &expect![[r#"
            /w/d/./e: Update { unified_diff: "@@ -1 +1 @@\n-y\n+z\n", move_path: Some("/w/.//m") }
            /w/x//n: Add { content: "x\n" }
        "#]],
    );
}

#[test]
fn several_hunks_for_a_file_are_one_change() {
    check(
        Reader::Model,
        "*** Update File: a\n-1\n+one\n*** Update File: a\n*** Move to: m\n-one\n+uno\n*** Update File: m\n-3\n+tre\n",
        &expect![[r#"
            /w/a: Update { unified_diff: "@@ -1,3 +1,3 @@\n-1\n+uno\n 2\n-3\n+tre\n", move_path: Some("/w/m") }
        "#]],
    );
    check(
        Reader::Model,
        "*** Add File: n\n+x\n*** Delete File: n\n*** Update File: a\n-1\n*** Delete File: a\n",
        &expect![[r#"
            /w/a: Delete { content: "1\n2\n3\n" }
        "#]],
    );
    check(
        Reader::Model,
        "*** Update File: a\n*** Move to: m\n 1\n*** Add File: a\n+x\n",
        &expect![[r#"
            /w/a: Add { content: "x\n" }
            /w/m: Add { content: "1\n2\n3\n" }
        "#]],
    );
}

#[test]
fn the_model_is_told_absolute_paths() {
    check(
        Reader::Model,
        "*** Update File: a\n-foo\n",
        &expect![[r#"
            Failed to find expected lines in /w/a:
            foo
        "#]],
    );
    check(
        Reader::Model,
        "*** Update File: a\n@@ foo\n-1\n",
        &expect![[r#"
            Failed to find context 'foo' in /w/a
        "#]],
    );
    check(
        Reader::Program,
        "*** Update File: ./a\n@@ foo\n-1\n",
        &expect![[r#"
            Failed to find context 'foo' in ./a
        "#]],
    );
    check(
        Reader::Model,
        "*** Update File: bytes\n-1\n",
        &expect![[r#"
            Failed to read file to update /w/bytes: stream did not contain valid UTF-8
        "#]],
    );
}

#[test]
fn what_the_model_deletes_must_be_there_and_be_text() {
    check(
        Reader::Model,
        "*** Delete File: bytes\n",
        &expect![[r#"
            Failed to read /w/bytes: stream did not contain valid UTF-8
        "#]],
    );
    check(
        Reader::Model,
        "*** Delete File: a\n*** Delete File: a\n",
        &expect![[r#"
            Failed to read /w/a: No such file or directory (os error 2)
        "#]],
    );
    check(
        Reader::Program,
        "*** Delete File: bytes\n",
        &expect![[r#"
            /w/bytes: Delete { content: "" }
        "#]],
    );
}

#[test]
fn the_model_is_told_later_what_only_writing_finds_out() {
    check(
        Reader::Model,
        "*** Add File: d\n+x\n",
        &expect![[r#"
            /w/d: Add { content: "x\n" }
            blocked: Failed to write file d
        "#]],
    );
    check(
        Reader::Program,
        "*** Add File: d\n+x\n",
        &expect![[r#"
            Failed to write file d
        "#]],
    );
}

#[test]
fn paths_are_made_normal_by_their_text() {
    for (path, expected) in [("/a/./b/../c", "/a/c"), ("/../a", "/a"), ("/a/", "/a/"), ("/", "/")] {
        assert_eq!(normal(Path::new(path)).as_os_str(), expected);
    }
}
