use expect_test::Expect;
use expect_test::expect;

use super::*;

#[track_caller]
fn check(body: &str, expected: &Expect) {
    let text = match parse(&format!("{BEGIN}\n{body}{END}\n")) {
        Ok(patch) => format!("{:#?}\n", patch.hunks),
        Err(error) => format!("{error}\n{}\n", error.for_program()),
    };
    expected.assert_eq(&text);
}

#[test]
fn hunks_borrow_their_lines() {
    check(
        "*** Add File: a b\n+x\n*** Delete File: c\n*** Update File: d\n*** Move to: e\n@@ f\n g\n\n-h\n+i\n*** End of File\n",
        &expect![[r#"
            [
                Add {
                    path: "a b",
                    lines: [
                        "x",
                    ],
                },
                Delete {
                    path: "c",
                },
                Update {
                    path: "d",
                    move_to: Some(
                        "e",
                    ),
                    chunks: [
                        PatchChunk {
                            context: Some(
                                "f",
                            ),
                            old: [
                                "g",
                                "",
                                "h",
                            ],
                            new: [
                                "g",
                                "",
                                "i",
                            ],
                            is_at_end: true,
                        },
                    ],
                },
            ]
        "#]],
    );
}

#[test]
fn the_model_and_the_program_are_told_the_same_in_their_own_words() {
    check(
        "foo\n",
        &expect![[r#"
            invalid hunk at line 2, 'foo' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
            Invalid patch hunk on line 2: 'foo' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
        "#]],
    );
    let error = parse("foo").unwrap_err();
    assert_eq!(error.to_string(), "invalid patch: The first line of the patch must be '*** Begin Patch'");
    assert_eq!(error.for_program(), "Invalid patch: The first line of the patch must be '*** Begin Patch'");
}

#[test]
fn a_patch_is_known_by_its_text() {
    assert!(is_patch_text("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"));
    assert!(!is_patch_text("apply_patch <<EOF"));
    assert!(!is_patch_text("*** Begin Patch\nfoo\n*** End Patch"));
}
