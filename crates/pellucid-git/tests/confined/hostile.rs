//! Every way in which a repository can name a program, and everything that the agent asks git.
//!
//! Each row is real: plain git runs the program. The agent's own git never does.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use pellucid_git::Git;
use pellucid_git::Repository;
use pellucid_git::apply::ApplyMode;
use pellucid_git::apply::DiffRoot;
use pellucid_git::ghost;
use pellucid_git::ghost::GhostLimits;
use pellucid_git::has_changes;
use pellucid_git::history;

use crate::world::World;

/// One trick of a hostile repository.
struct Row {
    name: &'static str,
    /// Prepares the repository for the trick.
    plant: fn(&Scene),
    /// Has plain git run the program.
    prove: fn(&Scene),
}

/// A repository with two branches that change the same line, in which a program waits to be run.
struct Scene {
    world: World,
    /// The path of the hostile program.
    evil: String,
    /// The last output of plain git.
    said: RefCell<String>,
}

impl Scene {
    fn new() -> Self {
        let world = World::new(&[("a", "one\n"), ("b", "one\n")]);
        let base = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
        world.git(&["update-ref", "refs/remotes/origin/main", &base]);
        world.git(&["checkout", "-q", "-b", "other"]);
        world.write("a", "two\n");
        world.commit("other");
        world.git(&["checkout", "-q", "main"]);
        world.write("a", "three\n");
        world.commit("main");
        world.write("b", "new\n");
        let evil = world.top.join("evil");
        let text = format!("#!/bin/sh\n: > '{}'\nexit 1\n", world.top.join("ran").display());
        world.write_program(&evil, &text);
        let evil = evil.to_str().unwrap().to_owned();
        Self { world, evil, said: RefCell::default() }
    }

    fn set(&self, key: &str, value: &str) {
        self.world.git(&["config", key, &value.replace("EVIL", &self.evil)]);
    }

    fn plain(&self, words: &[&str]) {
        let (_, said) = self.world.plain(&self.world.work(), words);
        *self.said.borrow_mut() = said;
    }

    /// Whether the program has run since the last time this was asked.
    fn has_run(&self) -> bool {
        fs::remove_file(self.world.top.join("ran")).is_ok()
    }

    fn in_git(&self, path: &str) -> PathBuf {
        self.world.work().join(".git").join(path)
    }

    fn put_hook(&self, folder: &Path) {
        for hook in ["post-index-change", "pre-commit", "post-checkout", "reference-transaction"] {
            fs::create_dir_all(folder).unwrap();
            fs::copy(&self.evil, folder.join(hook)).unwrap();
        }
    }
}

/// The program that a remote of the repository is.
fn plant_remote(scene: &Scene) {
    scene.set("protocol.ext.allow", "always");
    scene.set("remote.origin.url", "ext::EVIL");
    scene.set("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*");
}

const ROWS: &[Row] = &[
    Row {
        name: "a filter when files are read",
        plant: |scene| {
            scene.world.write(".gitattributes", "* filter=x\n");
            scene.set("filter.x.clean", "EVIL");
            scene.set("filter.x.smudge", "EVIL");
        },
        prove: |scene| scene.plain(&["status"]),
    },
    Row {
        name: "a filter that stays, by attributes in the repository",
        plant: |scene| {
            fs::create_dir_all(scene.in_git("info")).unwrap();
            fs::write(scene.in_git("info/attributes"), "* filter=x\n").unwrap();
            scene.set("filter.x.process", "EVIL");
            scene.set("filter.x.required", "true");
        },
        prove: |scene| scene.plain(&["add", "b"]),
    },
    Row {
        name: "a monitor of files",
        plant: |scene| scene.set("core.fsmonitor", "EVIL"),
        prove: |scene| scene.plain(&["status"]),
    },
    Row {
        name: "hooks",
        plant: |scene| scene.put_hook(&scene.in_git("hooks")),
        prove: |scene| scene.plain(&["add", "b"]),
    },
    Row {
        name: "hooks elsewhere",
        plant: |scene| {
            scene.put_hook(&scene.world.work().join("hooks"));
            scene.set("core.hooksPath", "hooks");
        },
        prove: |scene| scene.plain(&["add", "b"]),
    },
    Row {
        name: "an external diff",
        plant: |scene| scene.set("diff.external", "EVIL"),
        prove: |scene| scene.plain(&["diff"]),
    },
    Row {
        name: "a driver of differences",
        plant: |scene| {
            scene.world.write(".gitattributes", "* diff=x\n");
            scene.set("diff.x.command", "EVIL");
        },
        prove: |scene| scene.plain(&["diff"]),
    },
    Row {
        name: "a conversion to text",
        plant: |scene| {
            scene.world.write(".gitattributes", "* diff=x\n");
            scene.set("diff.x.textconv", "EVIL");
        },
        prove: |scene| scene.plain(&["diff"]),
    },
    Row {
        name: "a pager",
        plant: |scene| scene.set("core.pager", "EVIL"),
        prove: |scene| {
            // It is only for terminals.
            let git = ["-qec", "git --no-optional-locks log", "/dev/null"];
            let _ = Command::new("script").args(git).current_dir(scene.world.work()).env("TERM", "xterm").output();
        },
    },
    Row {
        name: "an alias",
        plant: |scene| {
            for name in ["status", "diff", "st", "rev-parse", "cat-file"] {
                scene.set(&format!("alias.{name}"), "!EVIL");
            }
        },
        prove: |scene| scene.plain(&["st"]),
    },
    Row {
        name: "an included file",
        plant: |scene| {
            scene.world.write("more", &format!("[core]\n\tfsmonitor = {}\n", scene.evil));
            scene.set("include.path", "../more");
        },
        prove: |scene| scene.plain(&["status"]),
    },
    Row {
        name: "settings of a work tree",
        plant: |scene| {
            scene.set("extensions.worktreeConfig", "true");
            fs::write(scene.in_git("config.worktree"), format!("[core]\n\tfsmonitor = {}\n", scene.evil)).unwrap();
        },
        prove: |scene| scene.plain(&["status"]),
    },
    Row {
        name: "settings of a submodule",
        plant: |scene| {
            let sub = scene.world.work().join("sub");
            fs::create_dir(&sub).unwrap();
            for words in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "first"]] {
                assert!(scene.world.plain(&sub, words).0);
            }
            scene.world.git(&["add", "sub"]);
            scene.world.git(&["commit", "-qm", "sub"]);
            scene.world.plain(&sub, &["config", "core.fsmonitor", &scene.evil]);
        },
        prove: |scene| scene.plain(&["status"]),
    },
    Row {
        name: "a bare repository in a folder",
        plant: |scene| {
            let bare = scene.world.work().join("bare");
            scene.world.git(&["clone", "-q", "--bare", ".", "bare"]);
            for (key, value) in [("core.bare", "false"), ("core.worktree", ".."), ("core.fsmonitor", &scene.evil)] {
                assert!(scene.world.plain(&bare, &["config", key, value]).0);
            }
        },
        prove: |scene| drop(scene.world.plain(&scene.world.work().join("bare"), &["status"])),
    },
    Row {
        name: "a driver of merges",
        plant: |scene| {
            scene.world.write(".gitattributes", "* merge=x\n");
            scene.set("merge.x.driver", "EVIL");
            scene.set("merge.default", "x");
        },
        prove: |scene| {
            scene.plain(&["reset", "-q", "--hard"]);
            scene.plain(&["merge", "other"]);
        },
    },
    Row {
        name: "a program that signs",
        plant: |scene| {
            scene.set("commit.gpgSign", "true");
            scene.set("gpg.program", "EVIL");
            scene.set("log.showSignature", "true");
        },
        prove: |scene| scene.plain(&["commit", "-S", "--allow-empty", "-m", "signed"]),
    },
    Row {
        name: "a way to other machines",
        plant: |scene| {
            scene.set("core.sshCommand", "EVIL");
            scene.set("remote.origin.url", "ssh://127.0.0.1/x");
            scene.set("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*");
        },
        prove: |scene| scene.plain(&["fetch", "origin"]),
    },
    Row { name: "a remote that is a program", plant: plant_remote, prove: |scene| scene.plain(&["fetch", "origin"]) },
    Row {
        name: "objects that are fetched when they are missed",
        plant: |scene| {
            plant_remote(scene);
            scene.set("core.repositoryFormatVersion", "1");
            scene.set("extensions.partialClone", "origin");
            scene.set("remote.origin.promisor", "true");
            let blob = scene.world.git(&["rev-parse", "HEAD:b"]);
            let (folder, name) = blob.trim().split_at(2);
            fs::remove_file(scene.in_git(&format!("objects/{folder}/{name}"))).unwrap();
        },
        prove: |scene| scene.plain(&["cat-file", "-p", "HEAD:b"]),
    },
    Row {
        name: "a git of the project's own",
        plant: |scene| {
            fs::create_dir(scene.world.work().join("bin")).unwrap();
            fs::copy(&scene.evil, scene.world.work().join("bin/git")).unwrap();
        },
        prove: |scene| drop(Command::new(scene.world.work().join("bin/git")).output()),
    },
];

/// Everything that the agent asks git.
fn ask_everything(scene: &Scene, git: &Git, cwd: &Path) {
    let work = scene.world.work();
    let repository = Repository::discover(cwd).unwrap();
    let commit = repository.head().unwrap().commit;
    repository.remote_urls();
    assert!(git.version(cwd).is_ok());
    assert_eq!(has_changes(git, cwd), Some(true));
    let _ = history::merge_base(git, cwd, "other");
    let _ = history::ahead_of_remotes(git, cwd);
    if let Ok(snapshot) = ghost::create(git, cwd, GhostLimits::default()) {
        let before = fs::read(work.join("a")).unwrap();
        scene.world.write("a", "after\n");
        let _ = ghost::restore(git, cwd, &snapshot.commit, GhostLimits::default());
        fs::write(work.join("a"), before).unwrap();
    }
    let place = DiffRoot::at(git, cwd).unwrap();
    let touched = BTreeSet::from([PathBuf::from("a")]);
    let _ = place.committed(&commit, &touched);
    let ours = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-three\n+four\n";
    // From the line that both branches began with.
    let index = "index 5626abf0f72e58d7a153368ba57db4c673c0e171..f719efd430d52bcfc8566a43b2eb655688d38871 100644";
    let theirs = format!("diff --git a/a b/a\n{index}\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n");
    for mode in [ApplyMode::Check, ApplyMode::CheckReversed, ApplyMode::Plain] {
        let _ = place.apply(ours, &touched, mode, &[]);
    }
    scene.world.write("a", "three\n");
    let merged = place.apply(&theirs, &touched, ApplyMode::ThreeWay, &[]);
    assert!(merged.is_err());
}

pub fn no_program_of_a_repository_runs() {
    for row in ROWS {
        let scene = Scene::new();
        (row.plant)(&scene);
        scene.has_run();
        let bin = [scene.world.work().join("bin"), PathBuf::from("bin"), PathBuf::from(".")];
        let git = scene.world.own_with(None, &bin);
        let inside = scene.world.work().join("bare");
        let folders = [Some(scene.world.work()), inside.is_dir().then_some(inside)];
        for cwd in folders.iter().flatten() {
            ask_everything(&scene, &git, cwd);
            assert!(!scene.has_run(), "{}: it ran in {}", row.name, cwd.display());
        }
        // What was merged is in the way of some commands.
        scene
            .world
            .plain(&scene.world.work(), &["-c", "core.hooksPath=/dev/null", "update-index", "--force-remove", "a"]);
        let _ = scene.has_run();
        (row.prove)(&scene);
        assert!(
            scene.has_run(),
            "{}: plain git does not run it, so it proves nothing: {}",
            row.name,
            scene.said.borrow()
        );
    }
}
