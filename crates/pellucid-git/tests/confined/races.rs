//! Writing into a work tree while another process swaps its folders for links.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use pellucid_git::apply::ApplyMode;
use pellucid_git::apply::DiffRoot;
use pellucid_git::ghost;
use pellucid_git::ghost::GhostLimits;
use pellucid_testkit::Swapper;
use pellucid_testkit::n_race_rounds;

use crate::world::World;

/// The number of files written in each round.
const N_FILES: usize = 40;

/// A repository with many files in two folders, and a folder outside that links lead to.
fn world() -> (World, Vec<PathBuf>, PathBuf) {
    let names: Vec<String> = (0..N_FILES).map(|n| format!("{}/f{n}", ["one", "two/deep"][n % 2])).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "before\n")).collect();
    let world = World::new(&files);
    let outside = world.top.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f0"), "outside").unwrap();
    fs::write(outside.join("f1"), "outside").unwrap();
    (world, names.into_iter().map(PathBuf::from).collect(), outside)
}

#[track_caller]
fn check_outside(outside: &std::path::Path) {
    let mut found: Vec<_> = fs::read_dir(outside).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert_eq!(found, [outside.join("f0"), outside.join("f1")]);
    assert!(found.iter().all(|path| fs::read(path).unwrap() == b"outside"));
}

/// Stops swapping and puts folders back. A writer may have made a folder, or removed a link, in the moment in which the
/// swapper wanted to; that one has given up then.
fn settle(swapper: Swapper, folders: &[PathBuf]) {
    drop(swapper);
    for folder in folders {
        let beside = folder.with_extension("swapped");
        for path in [folder, &beside] {
            if path.is_symlink() {
                fs::remove_file(path).unwrap();
            }
        }
        if beside.is_dir() {
            let _ = fs::remove_dir_all(folder);
            fs::rename(&beside, folder).unwrap();
        }
        fs::create_dir_all(folder).unwrap();
    }
}

pub fn race_of_a_restore_against_folders_that_become_links() {
    let (world, paths, outside) = world();
    let git = world.own();
    let folders = [world.work().join("one"), world.work().join("two/deep")];
    let snapshot = ghost::create(&git, &world.work(), GhostLimits::default()).unwrap().commit;
    for _ in 0..n_race_rounds() {
        for path in &paths {
            fs::write(world.work().join(path), "after\n").unwrap();
        }
        fs::write(world.work().join("one/late"), "late").unwrap();
        let swapper = Swapper::start(&folders, &outside);
        // Whether it gets through depends on who is quicker; where it writes does not.
        let _ = ghost::restore(&git, &world.work(), &snapshot, GhostLimits::default());
        settle(swapper, &folders);
        check_outside(&outside);
    }
    ghost::restore(&git, &world.work(), &snapshot, GhostLimits::default()).unwrap();
    assert!(paths.iter().all(|path| fs::read(world.work().join(path)).unwrap() == b"before\n"));
}

pub fn race_of_a_diff_against_folders_that_become_links() {
    let (world, paths, outside) = world();
    let folders = [world.work().join("one"), world.work().join("two/deep")];
    let mut diff = String::new();
    for path in &paths {
        let path = path.display();
        diff.push_str(&format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-before\n+after\n"
        ));
    }
    let git = world.own();
    let place = DiffRoot::at(&git, &world.work()).unwrap();
    let touched: BTreeSet<PathBuf> = paths.iter().cloned().collect();
    for n in 0..n_race_rounds() {
        for path in &paths {
            fs::write(world.work().join(path), "before\n").unwrap();
        }
        world.git(&["reset", "-q"]);
        let swapper = Swapper::start(&folders, &outside);
        let mode = if n % 2 == 0 { ApplyMode::Plain } else { ApplyMode::ThreeWay };
        let _ = place.apply(&diff, &touched, mode, &[]);
        settle(swapper, &folders);
        check_outside(&outside);
    }
    for path in &paths {
        fs::write(world.work().join(path), "before\n").unwrap();
    }
    place.apply(&diff, &touched, ApplyMode::Plain, &[]).unwrap();
    assert!(paths.iter().all(|path| fs::read(world.work().join(path)).unwrap() == b"after\n"));
}
