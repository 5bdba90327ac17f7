use std::path::Path;
use std::process::Command;

use expect_test::Expect;
use expect_test::expect;
use pellucid_testkit::fixture::Fixture;

use super::*;

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

/// The least that makes a folder a repository.
const SKELETON: &str = "w/.git/objects/\nw/.git/refs/heads/\n";

fn check(entries: &str, cwd: &str, expected: &Expect) {
    let fixture = Fixture::new(&format!("{SKELETON}{entries}").replace("ONE", ONE).replace("TWO", TWO));
    let text = match Repository::discover(&fixture.path(cwd)) {
        None => "no repository".to_owned(),
        Some(repository) => render(&repository),
    };
    expected.assert_eq(&fixture.shown(text).replace(ONE, "ONE").replace(TWO, "TWO"));
}

fn render(repository: &Repository) -> String {
    let mut lines = Vec::new();
    lines.push(match repository.head() {
        Some(Head { commit, branch }) => {
            format!("{commit} on {}", branch.unwrap_or("no branch".into()))
        }
        None => "no commit".to_owned(),
    });
    lines.extend(repository.remote_urls().into_iter().map(|(name, url)| format!("{name} = {url}")));
    lines.join("\n")
}

#[test]
fn loose_reference() {
    check(
        "w/.git/HEAD: ref: refs/heads/feature/x\\n\nw/.git/refs/heads/feature/x: ONE\\n\nw/a/b/",
        "w/a/b",
        &expect![[r#"
            ONE on feature/x"#]],
    );
}

#[test]
fn packed_reference() {
    check(
        "w/.git/HEAD: ref: refs/heads/main\nw/.git/packed-refs: # pack-refs with: peeled sorted\\nONE refs/heads/mai\\nTWO refs/heads/main\\n^ONE\\n",
        "w",
        &expect![[r#"
            TWO on main"#]],
    );
}

#[test]
fn a_loose_reference_is_newer_than_a_packed_one() {
    check(
        "w/.git/HEAD: ref: refs/heads/main\nw/.git/refs/heads/main: ONE\nw/.git/packed-refs: TWO refs/heads/main\\n",
        "w",
        &expect![[r#"
            ONE on main"#]],
    );
}

#[test]
fn detached() {
    check(
        "w/.git/HEAD: TWO\\n",
        "w",
        &expect![[r#"
        TWO on no branch"#]],
    );
}

#[test]
fn before_the_first_commit() {
    check(
        "w/.git/HEAD: ref: refs/heads/main\\n",
        "w",
        &expect![[r#"
        no commit"#]],
    );
}

#[test]
fn remotes_of_the_configuration() {
    check(
        "w/.git/HEAD: TWO\\n\nw/.git/config: [remote \"origin\"]\\n\\turl = https://x.test/a.git\\n[remote \"b\"]\\n\\turl = y\\n",
        "w",
        &expect![[r#"
            TWO on no branch
            b = y
            origin = https://x.test/a.git"#]],
    );
}

#[test]
fn a_further_work_tree_has_its_own_head_and_shares_the_rest() {
    check(
        "
        w/.git/HEAD: ref: refs/heads/main
        w/.git/refs/heads/main: ONE
        w/.git/refs/heads/side: TWO
        w/.git/config: [remote \"origin\"] url = u
        w/.git/worktrees/t/HEAD: ref: refs/heads/side
        w/.git/worktrees/t/commondir: ../..\\n
        t/.git: gitdir: ../w/.git/worktrees/t\\n
        t/a/
        ",
        "t/a",
        &expect![[r#"
            TWO on side
            origin = u"#]],
    );
}

#[test]
fn a_submodule_has_a_repository_of_its_own() {
    check(
        "
        w/.git/HEAD: ONE
        w/.git/modules/m/HEAD: TWO
        w/.git/modules/m/objects/
        w/.git/modules/m/refs/
        w/m/.git: gitdir: ../.git/modules/m
        ",
        "w/m",
        &expect![[r#"
            TWO on no branch"#]],
    );
}

#[test]
fn a_git_folder_that_is_no_repository_is_passed_over() {
    check(
        "w/.git/HEAD: ONE\nw/a/.git/junk: x",
        "w/a",
        &expect![[r#"
        ONE on no branch"#]],
    );
}

#[test]
fn a_git_file_that_leads_nowhere_ends_the_search() {
    check("w/.git/HEAD: ONE\nw/a/.git: gitdir: /nowhere", "w/a", &expect!["no repository"]);
    check("w/.git/HEAD: ONE\nw/a/.git: junk", "w/a", &expect!["no repository"]);
}

#[test]
fn broken_references_have_no_commit() {
    for entries in [
        "w/.git/HEAD: junk",
        "w/.git/HEAD:",
        "w/.git/HEAD: ref: refs/heads/../../../secret\nsecret: ONE",
        "w/.git/HEAD: ref: /etc/hostname",
        "w/.git/HEAD: ref: refs/heads/.invalid",
        "w/.git/HEAD: ref: refs/heads/main\nw/.git/refs/heads/main: 123",
        "w/.git/HEAD: ref: refs/heads/main\nw/.git/refs/heads/main: ref: refs/heads/main",
        "w/.git/HEAD: ref: refs/heads/main\nw/.git/packed-refs: xyz refs/heads/main\\n",
        "w/.git/HEAD -> /dev/zero",
    ] {
        let expected = expect![[r#"
            no commit"#]];
        check(entries, "w", &expected);
    }
}

#[test]
fn a_broken_configuration_has_no_remotes() {
    check(
        "w/.git/HEAD: ONE\nw/.git/config: [remote \"a\"] url = x\\n[broken",
        "w",
        &expect![[r#"
            ONE on no branch"#]],
    );
}

#[test]
fn no_repository_at_all() {
    let fixture = Fixture::new("w/");
    assert_eq!(Repository::discover(&fixture.path("w")), None);
    assert_eq!(Repository::discover(&fixture.path("gone")), None);
}

#[test]
fn the_root_of_a_work_tree_keeps_the_spelling() {
    let fixture = Fixture::new("w/.git: junk\nw/a/f.txt: x\nlink -> w\nn/");
    assert_eq!(work_tree_root(&fixture.path("link/a")), Some(fixture.path("link")));
    assert_eq!(work_tree_root(&fixture.path("w/a/f.txt")), Some(fixture.path("w")));
    assert_eq!(work_tree_root(&fixture.path("n")), None);
}

/// Runs git in a folder, without the user's configuration. Returns whether it succeeded.
fn git(folder: &Path, arguments: &[&str]) -> bool {
    Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.test", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
fn references_are_read_together() {
    let fixture = Fixture::new(
        &"
        r/packed-refs: # pack-refs\\nONE refs/heads/a\\nONE refs/heads/b\\n^TWO\\nONE refs/../x\\nxyz refs/heads/c\\n
        r/refs/heads/b: TWO\\n
        r/refs/heads/deep/d: TWO
        r/refs/heads/junk: xyz
        r/refs/heads/e.lock/
        r/refs/heads/link -> b
        r/refs/remotes/o/HEAD: ref: refs/remotes/o/m\\n
        r/refs/remotes/o/m: ref: refs/heads/a\\n
        r/refs/heads/loop: ref: refs/heads/loop
        "
        .replace("ONE", ONE)
        .replace("TWO", TWO),
    );
    let shown: String =
        refs::all(&fixture.path("r")).into_iter().map(|(name, id)| format!("{name} {}\n", &id[..1])).collect();
    expect![[r#"
        refs/heads/a 1
        refs/heads/b 2
        refs/heads/deep/d 2
        refs/remotes/o/HEAD 1
        refs/remotes/o/m 1
    "#]]
    .assert_eq(&shown);
}

#[test]
fn the_head_of_a_real_repository() {
    let fixture = Fixture::new("w/a.txt: a");
    let root = fixture.path("w");
    if !git(&root, &["init", "-q"]) {
        // Without git there is nothing to compare with.
        return;
    }
    assert!(git(&root, &["add", "."]) && git(&root, &["commit", "-q", "-m", "first"]));
    assert!(git(&root, &["worktree", "add", "-q", "-b", "side", "../t"]));
    assert!(git(&root, &["pack-refs", "--all"]));

    let main = Repository::discover(&root).unwrap();
    let side = Repository::discover(&fixture.path("t")).unwrap();
    let head = main.head().unwrap();
    assert_eq!(head.branch.as_deref(), Some("main"));
    assert_eq!(side.head(), Some(Head { branch: Some("side".into()), ..head }));
}
