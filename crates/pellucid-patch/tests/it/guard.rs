//! Nothing is written outside of the writable folders, and nothing at all if one path is outside.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use pellucid_patch::PatchApplyError;
use pellucid_patch::PatchError;
use pellucid_patch::PatchFolder;
use pellucid_patch::Writable;
use pellucid_patch::run;
use pellucid_protocol::protected::GitAccess;
use tempfile::TempDir;

use crate::Tree;
use crate::folder_with;
use crate::read_tree;

/// A workspace `w` beside a folder `out`, with links of every kind in it.
fn world() -> TempDir {
    let files = [("w/a", "1\n"), ("w/.git/config", "1\n"), ("w/in/x", "1\n"), ("out/x", "1\n")];
    let tree: Tree = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    let world = folder_with(&tree);
    let root = world.path();
    for (link, target) in [
        ("w/link_in", "a"),
        ("w/link_out", "../out/x"),
        ("w/dangling_in", "in/new"),
        ("w/dangling_out", "../out/new"),
        ("w/folder_in", "in"),
        ("w/folder_out", "../out"),
        ("w/twice", "folder_out"),
        ("w/loop", "loop"),
        ("w/round", "in/../../out/x"),
    ] {
        symlink(target, root.join(link)).unwrap();
    }
    symlink(root.join("out/x"), root.join("w/link_absolute")).unwrap();
    world
}

fn workspace(root: &Path) -> Writable {
    let path = root.join("w");
    let protected = vec![path.join(".git")];
    Writable::In(vec![PatchFolder { path, identity: None, protected, git: GitAccess::Protected }])
}

#[track_caller]
fn check_refused(body: &str) {
    let world = world();
    let root = world.path().canonicalize().unwrap();
    let before = read_tree(&root);
    let body = body.replace("$", root.to_str().unwrap());
    // A good hunk before it must not be written either.
    let patch = format!("*** Begin Patch\n*** Add File: good\n+x\n{body}*** End Patch\n");
    match run(&patch, &root.join("w"), &workspace(&root)) {
        Err(PatchError::Apply(PatchApplyError::Outside { .. })) => {}
        other => panic!("{body}: {other:?}"),
    }
    assert_eq!(read_tree(&root), before, "{body}");
}

#[track_caller]
fn check_allowed(body: &str, written: &str) {
    let world = world();
    let root = world.path().canonicalize().unwrap();
    let patch = format!("*** Begin Patch\n{}*** End Patch\n", body.replace("$", root.to_str().unwrap()));
    run(&patch, &root.join("w"), &workspace(&root)).unwrap_or_else(|error| panic!("{body}: {error}"));
    assert_eq!(fs::read_to_string(root.join(written)).unwrap(), "x\n", "{body}");
    assert!(!fs::symlink_metadata(root.join(written)).unwrap().is_symlink(), "{body}");
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in [
        "../out/x",
        "in/../../out/x",
        "$/out/x",
        "/pellucid-test-that-must-not-exist",
        "link_out",
        "link_absolute",
        "dangling_out",
        "folder_out/x",
        "folder_out/new/deep",
        "twice/x",
        "round",
        "in/../folder_out/../folder_out/x",
        ".git/config",
        ".git/hooks/pre-commit",
        "in/../.git/config",
        "in/.git/config",
        "in/.GIT",
    ] {
        check_refused(&format!("*** Add File: {path}\n+x\n"));
    }
    for path in ["../out/x", "$/out/x", "folder_out/x", ".git/config"] {
        check_refused(&format!("*** Delete File: {path}\n"));
        check_refused(&format!("*** Update File: {path}\n-1\n+x\n"));
        check_refused(&format!("*** Update File: a\n*** Move to: {path}\n-1\n+x\n"));
        check_refused(&format!("*** Update File: {path}\n*** Move to: b\n-1\n+x\n"));
    }
    check_refused("*** Update File: link_out\n-1\n+x\n");
}

#[test]
fn links_that_stay_inside_are_written_through() {
    check_allowed("*** Update File: link_in\n-1\n+x\n", "w/a");
    check_allowed("*** Add File: dangling_in\n+x\n", "w/in/new");
    check_allowed("*** Update File: folder_in/x\n-1\n+x\n", "w/in/x");
    check_allowed("*** Add File: $/w/new\n+x\n", "w/new");
    check_allowed("*** Add File: in/../../w/new\n+x\n", "w/new");
    check_allowed("*** Add File: folder_out/../new\n+x\n", "w/new");
}

#[test]
fn a_link_is_deleted_and_what_it_leads_to_stays() {
    let world = world();
    let root = world.path().canonicalize().unwrap();
    let patch = "*** Begin Patch\n*** Delete File: link_out\n*** Delete File: loop\n*** End Patch\n";
    run(patch, &root.join("w"), &workspace(&root)).unwrap();
    assert!(fs::symlink_metadata(root.join("w/link_out")).is_err());
    assert_eq!(fs::read_to_string(root.join("out/x")).unwrap(), "1\n");
}

#[test]
fn without_roots_nothing_is_written_and_everywhere_everything() {
    let world = world();
    let root = world.path().canonicalize().unwrap();
    let patch = "*** Begin Patch\n*** Update File: link_out\n-1\n+x\n*** End Patch\n";
    assert!(run(patch, &root.join("w"), &Writable::In(Vec::new())).is_err());
    run(patch, &root.join("w"), &Writable::Everywhere).unwrap();
    assert_eq!(fs::read_to_string(root.join("out/x")).unwrap(), "x\n");
}

#[test]
fn two_names_of_one_file_are_refused() {
    let world = world();
    let root = world.path().canonicalize().unwrap();
    let before = read_tree(&root);
    let patch = "*** Begin Patch\n*** Update File: a\n-1\n+x\n*** Update File: link_in\n-1\n+y\n*** End Patch\n";
    match run(patch, &root.join("w"), &workspace(&root)) {
        Err(PatchError::Apply(PatchApplyError::SameFile { .. })) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(read_tree(&root), before);
}

#[test]
fn modes_are_kept_and_nothing_is_left_behind() {
    let world = world();
    let root = world.path().join("w");
    let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
    fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(root.join("in/x"), fs::Permissions::from_mode(0o640)).unwrap();
    let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: moved\n-1\n+x\n*** Add File: in/x\n+x\n*** Add File: new\n+x\n*** End Patch\n";
    run(patch, &root, &Writable::Everywhere).unwrap();
    assert_eq!((mode("moved"), mode("in/x")), (0o751, 0o640));
    assert_eq!(mode("new") & 0o111, 0);
    let left: Vec<_> = read_tree(world.path()).into_keys().filter(|path| path.contains("pellucid")).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_moved_file_is_whole_where_its_folder_had_to_be_made() {
    let world = world();
    let root = world.path().join("w");
    let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: new/deep/b\n-1\n+x\n*** End Patch\n";
    run(patch, &root, &Writable::Everywhere).unwrap();
    assert_eq!(fs::read_to_string(root.join("new/deep/b")).unwrap(), "x\n");
    assert!(!root.join("a").exists());
}

/// A process that has a file open keeps reading the old text, and another name of the file keeps it too.
#[test]
fn readers_and_other_names_keep_the_old_text() {
    use std::io::Read;

    let world = world();
    let root = world.path().join("w");
    fs::hard_link(root.join("a"), root.join("other")).unwrap();
    let mut reader = fs::File::open(root.join("a")).unwrap();
    run("*** Begin Patch\n*** Update File: a\n-1\n+x\n*** End Patch\n", &root, &Writable::Everywhere).unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), fs::read_to_string(root.join("other")).unwrap().as_str()), ("1\n", "1\n"));
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "x\n");
}
