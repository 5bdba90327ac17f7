//! Queries to git about a repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use expect_test::expect;
use pellucid_git::GitError;
use pellucid_git::ghost;
use pellucid_git::ghost::GhostLimits;
use pellucid_git::has_changes;
use pellucid_git::history;
use pellucid_protocol::settings::TrustLevel;

use crate::world::World;

/// Every file below a folder, with its length and time.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let metadata = entry.path().symlink_metadata().unwrap();
            if metadata.is_dir() {
                folders.push(entry.path());
                found.insert(entry.path().display().to_string());
                continue;
            }
            found.insert(format!("{} {} {:?}", entry.path().display(), metadata.len(), metadata.modified().unwrap()));
        }
    }
    found
}

pub fn changes_are_seen_and_nothing_is_left_behind() {
    let world = World::new(&[("a", "1"), ("sub/b", "2"), (".gitignore", "ignored\n")]);
    let git = world.own();
    let before = files(&world.top);
    assert_eq!(has_changes(&git, &world.work()), Some(false));
    assert_eq!(has_changes(&git, &world.work().join("sub")), Some(false));
    assert_eq!(files(&world.top), before);
    world.write("ignored", "x");
    assert_eq!(has_changes(&git, &world.work()), Some(false));
    world.write("sub/b", "3");
    assert_eq!(has_changes(&git, &world.work()), Some(true));
    world.write("sub/b", "2");
    assert_eq!(has_changes(&git, &world.work()), Some(false));
    world.write("new", "x");
    assert_eq!(has_changes(&git, &world.work()), Some(true));
    world.git(&["config", "status.showUntrackedFiles", "no"]);
    assert_eq!(has_changes(&git, &world.work()), Some(false));
    world.git(&["rm", "-q", "--cached", "a"]);
    assert_eq!(has_changes(&git, &world.work()), Some(true));
}

pub fn kinds_of_repositories() {
    let world = World::without_repository();
    assert_eq!(has_changes(&world.own(), &world.work()), None);
    world.write(".git", "gitdir: /nowhere");
    assert_eq!(has_changes(&world.own(), &world.work()), None);

    let world = World::new(&[]);
    assert_eq!(has_changes(&world.own(), &world.work()), Some(false));
    world.write("a", "1");
    assert_eq!(has_changes(&world.own(), &world.work()), Some(true));
    world.commit("first");
    world.git(&["update-index", "--split-index"]);
    world.write("b", "1");
    world.git(&["add", "b"]);
    world.git(&["commit", "-qm", "second"]);
    world.git(&["worktree", "add", "-q", "../tree"]);
    world.git(&["pack-refs", "--all"]);
    for folder in ["work", "tree"] {
        let git = world.own();
        assert_eq!(has_changes(&git, &world.top.join(folder)), Some(false), "{folder}");
        fs::write(world.top.join(folder).join("new"), "x").unwrap();
        assert_eq!(has_changes(&git, &world.top.join(folder)), Some(true), "{folder}");
    }
    let ghost = ghost::create(&world.own(), &world.top.join("tree"), GhostLimits::default()).unwrap();
    assert_eq!(ghost.commit.preexisting_untracked_files, ["new"]);

    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let world = World::without_repository();
        let (is_known, _) = world.plain(&world.work(), &["init", "-q", format]);
        if !is_known {
            // Older versions of git have no such repositories.
            continue;
        }
        world.write("a", "1");
        world.commit("first");
        let expected = format.contains("sha256").then_some(false);
        assert_eq!(has_changes(&world.own(), &world.work()), expected, "{format}");
    }
}

pub fn no_git_where_nobody_wants_it() {
    let world = World::new(&[("a", "1")]);
    for (trust, expected) in
        [(None, Some(false)), (Some(TrustLevel::Trusted), Some(false)), (Some(TrustLevel::Untrusted), None)]
    {
        assert_eq!(has_changes(&world.own_with(trust, &[]), &world.work()), expected, "{trust:?}");
    }
    let untrusted = world.own_with(Some(TrustLevel::Untrusted), &[]);
    let error = ghost::create(&untrusted, &world.work(), GhostLimits::default()).unwrap_err();
    assert!(matches!(error, GitError::Untrusted(_)), "{error}");

    // One that is made or exchanged while the agent runs.
    let git = world.own();
    fs::create_dir(world.work().join("sub")).unwrap();
    assert_eq!(has_changes(&git, &world.work().join("sub")), Some(false));
    world.plain(&world.work().join("sub"), &["init", "-q"]);
    let error = ghost::create(&git, &world.work().join("sub"), GhostLimits::default()).unwrap_err();
    assert!(matches!(error, GitError::Appeared(_)), "{error}");
    assert!(has_changes(&git, &world.work()).is_some());
    fs::rename(world.work().join(".git"), world.top.join("away")).unwrap();
    world.git(&["init", "-q"]);
    assert_eq!(has_changes(&git, &world.work()), None);
    assert!(has_changes(&world.own(), &world.work()).is_some());
}

/// Replaces a file of the repository by a pipe without a writer.
fn make_pipe(path: &Path) {
    let _ = fs::remove_file(path);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
}

pub fn what_never_answers_has_no_answer() {
    for (name, expected) in [
        ("HEAD", None),
        ("index", None),
        ("config", None),
        ("packed-refs", Some(false)),
        ("info/exclude", Some(false)),
        ("info/attributes", Some(false)),
        ("shallow", Some(false)),
        ("commondir", Some(false)),
    ] {
        let world = World::new(&[("a", "1")]);
        make_pipe(&world.work().join(".git").join(name));
        assert_eq!(has_changes(&world.own(), &world.work()), expected, "{name}");
        let _ = history::merge_base(&world.own(), &world.work(), "main");
        let path: PathBuf = world.work().join(".git").join(name);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert_eq!(has_changes(&world.own(), &world.work()), expected, "{name}");
    }
    let world = World::new(&[("a", "1")]);
    make_pipe(&world.work().join("pipe"));
    make_pipe(&world.work().join("a"));
    assert_eq!(has_changes(&world.own(), &world.work()), Some(true));
    ghost::create(&world.own(), &world.work(), GhostLimits::default()).unwrap();
}

pub fn what_no_remote_has() {
    let world = World::without_repository();
    let answer = || match history::ahead_of_remotes(&world.own(), &world.work()) {
        Ok(ahead) => {
            assert_eq!(ahead.commit.len(), 40);
            ahead.diff
        }
        Err(reason) => reason.replace(world.top.to_str().unwrap(), "$"),
    };
    expect!["$/work is not in a git repository"].assert_eq(&answer());
    world.git(&["init", "-q", "-b", "main"]);
    world.write("file", "one\n");
    world.commit("one");
    expect!["there is no remote branch"].assert_eq(&answer());
    world.git(&["clone", "-q", "--bare", ".", "../bare"]);
    world.git(&["remote", "add", "origin", "../bare"]);
    world.git(&["fetch", "-q", "origin"]);
    assert_eq!(answer(), "");
    world.write("file", "one\ntwo\n");
    world.git(&["commit", "-qam", "two"]);
    world.write("file", "one\ntwo\nthree\n");
    world.write("new", "new\n");
    world.write(".gitignore", "ignored\n");
    world.write("ignored", "x\n");
    expect![[r#"
        diff --git a/file b/file
        index 5626abf..4cb29ea 100644
        --- a/file
        +++ b/file
        @@ -1 +1,3 @@
         one
        +two
        +three
        diff --git a/.gitignore b/.gitignore
        new file mode 100644
        index 0000000..ea10ec8
        --- /dev/null
        +++ b/.gitignore
        @@ -0,0 +1 @@
        +ignored
        diff --git a/new b/new
        new file mode 100644
        index 0000000..3e75765
        --- /dev/null
        +++ b/new
        @@ -0,0 +1 @@
        +new
    "#]]
    .assert_eq(&answer());
}

pub fn where_branches_part() {
    let world = World::new(&[("a", "1")]);
    let first = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let parted = |branch: &str| history::merge_base(&world.own(), &world.work(), branch);
    assert_eq!(parted("main").as_ref(), Some(&first));
    world.git(&["checkout", "-q", "-b", "side"]);
    world.write("a", "2");
    world.commit("side");
    assert_eq!(parted("main").as_ref(), Some(&first));
    assert_eq!(parted("nowhere"), None);
    assert_eq!(parted("--all"), None);
    // What a branch follows counts if that is ahead of it.
    let second = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    world.git(&["update-ref", "refs/remotes/origin/main", &second]);
    world.git(&["config", "remote.origin.url", "ext::false"]);
    world.git(&["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
    world.git(&["config", "branch.main.remote", "origin"]);
    world.git(&["config", "branch.main.merge", "refs/heads/main"]);
    assert_eq!(parted("main"), Some(second));
}

pub fn commits_along_first_parents() {
    let world = World::new(&[("a", "1")]);
    let id = |name: &str| world.git(&["rev-parse", name]).trim().to_owned();
    let listed = |from: &str, to: &str| match history::first_parents(&world.own(), &world.work(), from, to) {
        Ok(found) => {
            assert_eq!(found.from, id(from));
            let titles = found.commits.iter().map(|commit| format!("{} {}", commit.title, commit.parents.len()));
            titles.collect::<Vec<_>>().join(", ")
        }
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
    };
    world.git(&["tag", "start"]);
    world.git(&["checkout", "-q", "-b", "side"]);
    world.write("b", "1");
    world.commit("side one");
    world.git(&["tag", "aside"]);
    world.write("b", "2");
    world.commit("side two");
    world.git(&["checkout", "-q", "main"]);
    world.write("a", "2");
    world.git(&["add", "-A"]);
    let date = ["--date", "2026-01-05T10:00:00+01:00"];
    world.git(&["commit", "-q", "--no-verify", date[0], date[1], "-m", "main one\n\nBody \u{1f} of it."]);
    world.git(&["merge", "-q", "--no-ff", "--no-verify", "-m", "merge side", "side"]);
    world.write("a", "3");
    world.commit("main two");
    expect!["main one 1, merge side 2, main two 1"].assert_eq(&listed("start", "main"));
    expect!["merge side 2, main two 1"].assert_eq(&listed("main~2", "HEAD"));
    expect!["side one 1, side two 1"].assert_eq(&listed("start", "side"));
    expect![""].assert_eq(&listed("main", "HEAD"));
    // A merged commit is no first parent, and what comes later does not lead to what comes before.
    expect!["the first parents of `main` do not lead to `aside`"].assert_eq(&listed("aside", "main"));
    expect!["the first parents of `start` do not lead to `main`"].assert_eq(&listed("main", "start"));
    for (from, to) in [("nowhere", "main"), ("main", "nowhere")] {
        assert!(listed(from, to).starts_with("there is no revision `nowhere`: "), "{from} {to}");
    }
    assert!(listed("--all", "main").starts_with("there is no revision `--all`: "));
    let found = history::first_parents(&world.own(), &world.work(), "start", "main").unwrap();
    let commit = &found.commits[0];
    assert_eq!((&commit.id, &*commit.author_date), (&id("main~2"), "2026-01-05T10:00:00+01:00"));
    assert_eq!(found.commits[1].parents, [id("main~2"), id("side")]);
}

pub fn git_says_its_version() {
    let world = World::without_repository();
    let version = world.own().version(&world.work()).unwrap();
    assert!(version.starts_with("git version "), "{version}");
}
