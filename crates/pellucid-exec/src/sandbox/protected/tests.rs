//! The protected paths in folders of all kinds.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;

use super::*;

/// Below a folder with `root`, which is writable, the working folder, and the top of its project.
#[track_caller]
fn check(make: impl Fn(&Path), expected: &[&str]) {
    check_ground(|_, ground| ground, Nested::Known, make, expected);
}

#[track_caller]
fn check_ground(
    change: impl Fn(&Path, ProtectionBasis) -> ProtectionBasis,
    nested: Nested,
    make: impl Fn(&Path),
    expected: &[&str],
) {
    let folder = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(folder.path()).unwrap();
    let root = top.join("root");
    fs::create_dir(&root).unwrap();
    make(&root);
    let ground = ProtectionBasis { cwd: root.clone(), project_root: root.clone(), ..ProtectionBasis::default() };
    let found = find(&[root.clone(), root], &change(&top, ground), nested);
    let mut shown = Vec::new();
    for (mark, list) in [("", &found.there), ("- ", &found.missing), ("@ ", &found.links)] {
        shown.extend(list.iter().map(|it| format!("{mark}{}", it.strip_prefix(&top).unwrap().to_str().unwrap())));
    }
    assert_eq!(shown, expected);
}

#[test]
fn what_is_there_and_what_is_missing() {
    check(|_| (), &["- root/.agents", "- root/.codex", "- root/.pellucid"]);
    check(
        |root| {
            for name in [".pellucid", ".git", "src"] {
                fs::create_dir(root.join(name)).unwrap();
            }
            fs::write(root.join(".agents"), "a file").unwrap();
            fs::create_dir(root.join(".codex")).unwrap();
            let mode = fs::Permissions::from_mode(pellucid_files::PLACEHOLDER_MODE);
            fs::set_permissions(root.join(".codex"), mode).unwrap();
        },
        &["root/.git", "root/.agents", "root/.pellucid", "- root/.codex"],
    );
}

#[test]
fn a_link_is_named_and_its_target_protected() {
    check(
        |root| {
            for name in ["real", "config", ".agents"] {
                fs::create_dir(root.join(name)).unwrap();
            }
            symlink("real", root.join(".git")).unwrap();
            symlink("config", root.join(".codex")).unwrap();
            symlink("later/on", root.join(".pellucid")).unwrap();
        },
        &[
            "root/real",
            "root/.agents",
            "root/config",
            "- root/later",
            "@ root/.git",
            "@ root/.codex",
            "@ root/.pellucid",
        ],
    );
}

#[test]
fn a_work_tree_protects_its_repository() {
    check_ground(
        |_, ground| ProtectionBasis { protection: Protection::On, ..ground },
        Nested::Not,
        |root| {
            for name in AGENT_FOLDERS {
                fs::create_dir(root.join(name)).unwrap();
            }
            let own = root.join("main/.git/worktrees/w");
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("commondir"), "../..\n").unwrap();
            fs::write(root.join(".git"), "gitdir: main/.git/worktrees/w\n").unwrap();
        },
        &["root/.git", "root/main/.git/worktrees/w", "root/main/.git", "root/.agents", "root/.codex", "root/.pellucid"],
    );
}

#[test]
fn a_pipe_is_not_read_and_a_pointer_to_nothing_is_protected_itself() {
    let rest = ["root/.git", "- root/.agents", "- root/.codex", "- root/.pellucid"];
    check(|root| fs::write(root.join(".git"), "gitdir: /nowhere/at/all\n").unwrap(), &rest);
    let pipe = |root: &Path| {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, root.join(".git"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    check(pipe, &rest);
}

fn repository(folder: &Path) {
    fs::create_dir_all(folder.join("hooks")).unwrap();
    for name in ["HEAD", "config", "index"] {
        fs::write(folder.join(name), "").unwrap();
    }
}

/// A project of a folder below the root, with a submodule of each kind.
fn nested(root: &Path) {
    let project = root.join("proj");
    repository(&project.join(".git"));
    repository(&project.join(".git/modules/libs/new"));
    repository(&project.join("old/.git"));
    fs::create_dir_all(project.join("new")).unwrap();
    fs::write(project.join("new/.git"), "gitdir: ../.git/modules/libs/new\n").unwrap();
    let modules = "[submodule \"a\"]\n\tpath = new\n[submodule \"b\"]\n\tpath = \"old\" # by hand\n[submodule \"c\"]\n\tpath = ../..\n";
    fs::write(project.join(".gitmodules"), modules).unwrap();
    for name in AGENT_FOLDERS {
        fs::create_dir(project.join(name)).unwrap();
        fs::create_dir_all(project.join("sub").join(name)).unwrap();
    }
}

#[test]
fn repositories_that_are_known_keep_what_runs_programs() {
    let change = |top: &Path, ground: ProtectionBasis| {
        let cwd = top.join("root/proj/sub");
        ProtectionBasis { project_root: cwd.clone(), cwd, ..ground }
    };
    // The top of the project is not above the existing repository.
    let folders = ["root/proj/sub/.agents", "root/proj/sub/.codex", "root/proj/sub/.pellucid"];
    check_ground(change, Nested::Known, nested, &folders);
    let change = |top: &Path, ground: ProtectionBasis| ProtectionBasis { cwd: top.join("root/proj/sub"), ..ground };
    let above = ["root/proj/.agents", "root/proj/.codex", "root/proj/.pellucid"];
    check_ground(change, Nested::Not, nested, &[folders, above].concat());
    let parts = [
        "root/proj/.git/config",
        "root/proj/.git/hooks",
        "root/proj/.git/modules/libs/new/config",
        "root/proj/.git/modules/libs/new/hooks",
        "root/proj/new/.git",
        "root/proj/old/.git/config",
        "root/proj/old/.git/hooks",
        "- root/proj/.git/info",
        "- root/proj/.git/modules/libs/new/info",
        "- root/proj/old/.git/info",
    ];
    check_ground(change, Nested::Known, nested, &[&folders[..], &above, &parts].concat());
}

#[test]
fn the_home_folder_is_protected_whatever_is_switched_off() {
    let off = |home: &'static str| {
        move |top: &Path, ground: ProtectionBasis| ProtectionBasis {
            protection: Protection::Off,
            homes: vec![top.join(home)],
            ..ground
        }
    };
    let make = |root: &Path| fs::create_dir_all(root.join("h/deep")).unwrap();
    check_ground(off("root/h"), Nested::Known, make, &["root/h"]);
    check_ground(off("root/h/deep/not/yet"), Nested::Known, make, &["- root/h/deep/not"]);
    check_ground(off("elsewhere"), Nested::Known, make, &[]);
    let link = |root: &Path| {
        make(root);
        symlink("h/deep", root.join("link")).unwrap();
    };
    check_ground(off("root/link"), Nested::Known, link, &["root/h/deep", "@ root/link"]);
}

#[test]
fn a_root_in_the_home_folder_is_a_root() {
    let folder = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(folder.path()).unwrap();
    let work = top.join("home/work");
    fs::create_dir_all(&work).unwrap();
    let ground = ProtectionBasis {
        cwd: work.clone(),
        project_root: work.clone(),
        homes: vec![top.join("home")],
        ..ProtectionBasis::default()
    };
    let found = find(&[top.clone(), work.clone()], &ground, Nested::Known);
    assert_eq!(found.there, [top.join("home")]);
    assert_eq!(found.missing, AGENT_FOLDERS.map(|name| work.join(name)));
}

#[test]
fn a_root_that_is_a_project_has_no_settings_made_either() {
    let folder = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(folder.path()).unwrap();
    let (work, other, cache) = (top.join("work"), top.join("other"), top.join("cache"));
    for made in [&work, &other.join(".git"), &cache] {
        fs::create_dir_all(made).unwrap();
    }
    let ground = ProtectionBasis { cwd: work.clone(), project_root: work.clone(), ..ProtectionBasis::default() };
    let found = find(&[work.clone(), other.clone(), cache], &ground, Nested::Known);
    let expected: Vec<_> = [other, work].iter().flat_map(|root| AGENT_FOLDERS.map(|name| root.join(name))).collect();
    assert_eq!(found.missing, expected);
}
