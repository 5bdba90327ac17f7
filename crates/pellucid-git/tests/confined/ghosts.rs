//! Snapshots, and going back to them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use expect_test::Expect;
use expect_test::expect;
use pellucid_git::GitError;
use pellucid_git::ghost::GhostLimits;
use pellucid_git::ghost::create;
use pellucid_git::ghost::restore;

use crate::world::World;

const SMALL: GhostLimits = GhostLimits { file_bytes: Some(10), folder_files: Some(3) };

/// Takes a snapshot, makes changes, restores the snapshot, and shows the files.
#[track_caller]
fn check_back(world: &World, cwd: &str, change: impl FnOnce(&Path), expected: &Expect) {
    let (git, cwd) = (world.own(), world.work().join(cwd));
    let ghost = create(&git, &cwd, SMALL).unwrap();
    change(&world.work());
    restore(&git, &cwd, &ghost.commit, SMALL).unwrap();
    expected.assert_eq(&world.shown());
}

pub fn what_was_there_comes_back_and_what_came_goes() {
    let world = World::new(&[("a", "1"), ("sub/b", "2"), ("gone", "3")]);
    world.write("a", "1 changed");
    world.write("new", "untracked");
    fs::remove_file(world.work().join("gone")).unwrap();
    check_back(
        &world,
        "",
        |root| {
            fs::write(root.join("a"), "again").unwrap();
            fs::remove_file(root.join("new")).unwrap();
            fs::write(root.join("gone"), "back").unwrap();
            fs::create_dir_all(root.join("x/y")).unwrap();
            fs::write(root.join("x/y/z"), "late").unwrap();
            // A folder takes the place of a file, and a file that of a folder.
            fs::remove_file(root.join("sub/b")).unwrap();
            fs::create_dir(root.join("sub/b")).unwrap();
            fs::write(root.join("sub/b/c"), "late").unwrap();
        },
        &expect![[r#"
            a: 1 changed
            new: untracked
            sub/b: 2
        "#]],
    );
    assert!(!world.work().join("x").exists());
    check_back(
        &world,
        "",
        |root| {
            fs::remove_dir_all(root.join("sub")).unwrap();
            fs::write(root.join("sub"), "late").unwrap();
            // Something was committed meanwhile.
            world.git(&["commit", "-qam", "late"]);
        },
        &expect![[r#"
            a: 1 changed
            new: untracked
            sub/b: 2
        "#]],
    );
}

pub fn only_the_working_folder_counts() {
    let world = World::new(&[("a", "1"), ("sub/b", "2")]);
    check_back(
        &world,
        "sub",
        |root| {
            fs::write(root.join("a"), "outside").unwrap();
            fs::write(root.join("sub/b"), "inside").unwrap();
        },
        &expect![[r#"
            a: outside
            sub/b: 2
        "#]],
    );
}

pub fn large_files_and_what_programs_leave_stay_as_they_are() {
    let world = World::new(&[("a", "1")]);
    for (path, text) in
        [("large", "12345678901"), ("many/1", ""), ("many/2", ""), ("many/3", ""), ("node_modules/m", "before")]
    {
        world.write(path, text);
    }
    let git = world.own();
    let ghost = create(&git, &world.work(), SMALL).unwrap();
    assert_eq!(ghost.large_files, [("large".to_owned(), 11)]);
    assert_eq!(ghost.large_folders, [("many".to_owned(), 3)]);
    assert_eq!(ghost.commit.preexisting_untracked_files, ["large"]);
    for (path, text) in [("large", "changed too!"), ("many/1", "x"), ("many/4", "y"), ("node_modules/n", "late")] {
        world.write(path, text);
    }
    restore(&git, &world.work(), &ghost.commit, SMALL).unwrap();
    expect![[r#"
        a: 1
        large: changed too!
        many/1: x
        many/2: 
        many/3: 
        many/4: y
        node_modules/m: before
        node_modules/n: late
    "#]]
    .assert_eq(&world.shown());
}

pub fn a_repository_without_a_commit_has_snapshots_too() {
    let world = World::new(&[]);
    let git = world.own();
    let ghost = create(&git, &world.work(), SMALL).unwrap();
    assert_eq!(ghost.commit.parent, None);
    world.write("late", "x");
    restore(&git, &world.work(), &ghost.commit, SMALL).unwrap();
    assert_eq!(world.shown(), "");
}

pub fn outside_of_repositories_there_is_none() {
    let world = World::without_repository();
    assert!(matches!(create(&world.own(), &world.work(), SMALL), Err(GitError::NoRepository(_))));
}

pub fn bytes_modes_and_links_come_back_exactly() {
    let world = World::new(&[("lines", "1\n2\n"), ("script", "#!"), ("odd \u{e4}\n\"name", "x")]);
    let root = world.work();
    world.git(&["config", "core.autocrlf", "true"]);
    fs::remove_file(root.join("lines")).unwrap();
    world.git(&["checkout", "-q", "--", "lines"]);
    fs::set_permissions(root.join("script"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("lines", root.join("link")).unwrap();
    world.write("odd \u{e4}\n\"name", "y");
    assert_eq!(world.read("lines"), "1\r\n2\r\n");
    let git = world.own();
    let ghost = create(&git, &root, SMALL).unwrap();
    world.write("lines", "other\n");
    world.write("odd \u{e4}\n\"name", "z");
    fs::set_permissions(root.join("script"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(root.join("link")).unwrap();
    world.write("link", "no link");
    restore(&git, &root, &ghost.commit, SMALL).unwrap();
    assert_eq!(world.read("lines"), "1\r\n2\r\n");
    assert_eq!(world.read("odd \u{e4}\n\"name"), "y");
    assert_eq!(fs::metadata(root.join("script")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(fs::read_link(root.join("link")).unwrap(), Path::new("lines"));
}

pub fn a_repository_of_somebody_else_is_not_written() {
    let world = World::new(&[("a", "1")]);
    let forged = world.top.join("forged");
    fs::create_dir(&forged).unwrap();
    fs::write(forged.join(".git"), "gitdir: ../work/.git\n").unwrap();
    fs::write(forged.join("secret"), "x").unwrap();
    let error = create(&world.own(), &forged, SMALL).unwrap_err();
    assert!(error.to_string().contains("names a repository that does not name this folder"), "{error}");
}
