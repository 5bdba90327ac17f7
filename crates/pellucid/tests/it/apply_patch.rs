//! Patches from the command line: every way in, every status.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;

use crate::Ran;
use crate::World;

const ADD: &str = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch\n";
const ADDED: &str = "Success. Updated the following files:\nA new\n";
const BAD: &str = "*** Begin Patch\n*** Add File: new\n+x\n*** Update File: nowhere\n-x\n*** End Patch\n";

/// Runs the program under another name.
fn run_as(world: &World, name: &str, args: &[&OsStr], stdin: &[u8]) -> Ran {
    let mut command = world.command(&[]);
    command.arg0(name).args(args);
    world.finish(command, Some(stdin))
}

#[track_caller]
fn check(world: &World, ran: &Ran, status: i32, stdout: &str, stderr: &str) {
    assert_eq!((ran.status, ran.out(), ran.stderr.as_str()), (status, stdout, stderr));
    assert_eq!(world.files.path("work/new").exists(), status == 0);
}

#[test]
fn a_patch_comes_as_an_argument_or_as_input() {
    for run in [
        |world: &World| world.run(&["apply-patch", ADD]),
        |world: &World| world.run_with(&["apply-patch"], Some(ADD.as_bytes())),
        |world: &World| world.run(&["-c", "model=x", "apply-patch", ADD]),
        |world: &World| world.run(&["--codex-run-as-apply-patch", ADD]),
        |world: &World| world.run(&["--codex-run-as-apply-patch", ADD, "more"]),
        |world: &World| run_as(world, "apply_patch", &[OsStr::new(ADD)], b""),
        |world: &World| run_as(world, "/some/where/applypatch", &[], ADD.as_bytes()),
    ] {
        let world = World::new("");
        // It is not read: a broken one would stop everything else.
        world.files.write("home/config.toml", "model = 5\n");
        check(&world, &run(&world), 0, ADDED, "");
    }
}

#[test]
fn a_patch_that_does_not_fit_changes_nothing() {
    let expected = "Failed to read file to update nowhere: No such file or directory (os error 2)\n";
    let world = World::new("");
    check(&world, &world.run(&["apply-patch", BAD]), 1, "", expected);
    check(&world, &world.run(&["--codex-run-as-apply-patch", BAD]), 1, "", expected);
    check(&world, &run_as(&world, "apply_patch", &[], BAD.as_bytes()), 1, "", expected);
}

#[test]
fn what_is_no_patch_is_said() {
    let world = World::new("");
    let bytes = OsStr::from_bytes(b"\xFF");
    let by_name = |args: &[&OsStr], stdin: &[u8]| run_as(&world, "apply_patch", args, stdin);
    let usage = "Usage: apply_patch 'PATCH'\n       echo 'PATCH' | apply_patch\n";
    check(&world, &by_name(&[], b""), 2, "", usage);
    let too_many = "Error: apply_patch accepts exactly one argument.\n";
    check(&world, &by_name(&[OsStr::new(ADD), OsStr::new("more")], b""), 2, "", too_many);
    let not_text = "Error: apply_patch requires a UTF-8 PATCH argument.\n";
    check(&world, &by_name(&[bytes], b""), 1, "", not_text);
    let not_text = "Error: Failed to read PATCH from stdin.\nstream did not contain valid UTF-8\n";
    check(&world, &by_name(&[], b"\xFF"), 1, "", not_text);
    let missing = "Error: --codex-run-as-apply-patch requires a UTF-8 PATCH argument.\n";
    check(&world, &world.run(&["--codex-run-as-apply-patch"]), 1, "", missing);
    check(&world, &run_as(&world, "pellucid", &[OsStr::new("--codex-run-as-apply-patch"), bytes], b""), 1, "", missing);
    let usage = "Usage: pellucid apply-patch 'PATCH'\n       echo 'PATCH' | pellucid apply-patch\n";
    check(&world, &world.run_with(&["apply-patch"], Some(b"")), 2, "", usage);
    let first = "Invalid patch: The first line of the patch must be '*** Begin Patch'\n";
    check(&world, &world.run(&["apply-patch", "hello"]), 1, "", first);
}

#[test]
fn it_has_help() {
    let world = World::new("");
    let ran = world.run(&["apply-patch", "--help"]);
    assert_eq!(ran.status, 0);
    assert!(ran.out().contains("Usage: pellucid apply-patch [OPTIONS] [PATCH]"), "{}", ran.out());
    let ran = world.run(&["apply-patch", ADD, "more"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}
