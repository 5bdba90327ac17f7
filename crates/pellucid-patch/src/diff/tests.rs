use expect_test::Expect;
use expect_test::expect;

use super::*;

fn file(bytes: &[u8]) -> Option<FileSnapshot> {
    Some(FileSnapshot { bytes: bytes.to_vec(), mode: FileMode::Regular })
}

#[track_caller]
fn check(turn: &TurnDiff, now: &[(&str, Option<FileSnapshot>)], expected: &Expect) {
    let now: BTreeMap<_, _> = now.iter().cloned().collect();
    let text = turn.unified(
        |path| now.get(path.to_str().unwrap()).cloned().flatten(),
        |path| path.strip_prefix("/w").unwrap().display().to_string(),
    );
    expected.assert_eq(&text.unwrap_or_default());
}

#[test]
fn files_come_by_name_in_the_notation_of_git() {
    let mut turn = TurnDiff::default();
    turn.remember(Path::new("/w/b"), file(b"1\n2\n3\n4\n5\n"));
    turn.remember(Path::new("/w/a/new"), None);
    turn.remember(Path::new("/w/gone"), file(b"x\n"));
    turn.remember(Path::new("/w/same"), file(b"x\n"));
    // Only the first state counts.
    turn.remember(Path::new("/w/b"), file(b"later\n"));
    check(
        &turn,
        &[("/w/b", file(b"1\n2\n3\n4\nfive\n")), ("/w/a/new", file(b"hello\n")), ("/w/same", file(b"x\n"))],
        &expect![[r#"
            diff --git a/a/new b/a/new
            new file mode 100644
            index 0000000000000000000000000000000000000000..ce013625030ba8dba906f756967f9e9ca394464a
            --- /dev/null
            +++ b/a/new
            @@ -0,0 +1 @@
            +hello
            diff --git a/b b/b
            index 8a1218a1024a212bb3db30becd860315f9f3ac52..0372994eea0a65e8b38a15775442f850af0b9284
            --- a/b
            +++ b/b
            @@ -2,4 +2,4 @@
             2
             3
             4
            -5
            +five
            diff --git a/gone b/gone
            deleted file mode 100644
            index 587be6b4c3f93f93c489c0111bba5596147a26cb..0000000000000000000000000000000000000000
            --- a/gone
            +++ /dev/null
            @@ -1 +0,0 @@
            -x
        "#]],
    );
}

#[test]
fn moves_are_followed() {
    let mut turn = TurnDiff::default();
    turn.remember(Path::new("/w/a"), file(b"x\n"));
    turn.follow(Path::new("/w/a"), Path::new("/w/b"));
    turn.follow(Path::new("/w/b"), Path::new("/w/c"));
    check(
        &turn,
        &[("/w/c", file(b"y\n"))],
        &expect![[r#"
            diff --git a/a b/c
            index 587be6b4c3f93f93c489c0111bba5596147a26cb..975fbec8256d3e8a3797e7a3611380f27c49f4ac
            --- a/a
            +++ b/c
            @@ -1 +1 @@
            -x
            +y
        "#]],
    );
    check(&turn, &[("/w/c", file(b"x\n"))], &expect![""]);
}

#[test]
fn modes_and_bytes() {
    let mut turn = TurnDiff::default();
    turn.remember(Path::new("/w/a"), file(b"x\n"));
    turn.remember(Path::new("/w/b"), file(b"\xFF"));
    turn.remember(Path::new("/w/l"), Some(FileSnapshot { bytes: b"a".to_vec(), mode: FileMode::Link }));
    let executable = Some(FileSnapshot { bytes: b"y".to_vec(), mode: FileMode::Executable });
    check(
        &turn,
        &[("/w/a", executable), ("/w/b", file(b"\xFE"))],
        &expect![[r#"
            diff --git a/a b/a
            old mode 100644
            new mode 100755
            index 587be6b4c3f93f93c489c0111bba5596147a26cb..e25f1814e51579d5f55c0f1fe0135ddb28a47f4a
            --- a/a
            +++ b/a
            @@ -1 +1 @@
            -x
            +y
            \ No newline at end of file
            diff --git a/b b/b
            index ce542efaa5124a0437f0c4db329d7ec4b7ba70a7..050ac90ecbd9ce5a88212058fad711b4231d104d
            --- a/b
            +++ b/b
            Binary files differ
            diff --git a/l b/l
            deleted file mode 120000
            index 2e65efe2a145dda7ee51d1741299f848e5bf752e..0000000000000000000000000000000000000000
            --- a/l
            +++ /dev/null
            @@ -1 +0,0 @@
            -a
            \ No newline at end of file
        "#]],
    );
}

#[test]
fn a_patch_on_disk_is_remembered_and_shown_by_its_place_in_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at(".git")).unwrap();
    fs::create_dir_all(at("src")).unwrap();
    fs::write(at("src/a"), "1\n").unwrap();
    let text = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n-1\n+2\n*** End Patch\n";
    let patch = crate::parse(text).unwrap();
    let patch = crate::verify(&patch, &at("src"), &crate::files::Disk, crate::Reader::Model).unwrap();
    let mut turn = TurnDiff::default();
    turn.begin(&patch);
    assert_eq!(turn.unified_on_disk().map(|text| text.lines().count()), Some(7), "it is not there yet");
    patch.apply(&crate::Writable::folder(folder.path())).unwrap();
    expect![[r#"
        diff --git a/src/a b/src/b
        index d00491fd7e5bb6fa28c517a0bb32b8b506539d4d..0cfbf08886fca9a91cb753ec8734c84fcbe52c9f
        --- a/src/a
        +++ b/src/b
        @@ -1 +1 @@
        -1
        +2
    "#]]
    .assert_eq(&turn.unified_on_disk().unwrap());
}
