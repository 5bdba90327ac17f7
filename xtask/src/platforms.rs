//! `cargo xtask platforms`: type-checks the program for macOS, and the crates without a platform for Windows.
//!
//! Nothing is linked or run, so a machine needs the targets and no other tools: what is written in C is skipped by a compiler
//! that makes empty files. A warning is an error, as everywhere. Where a target is not installed, the command says so and
//! counts as good.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// What is checked for one platform.
#[derive(Debug)]
struct Platform {
    name: &'static str,
    target: &'static str,
    packages: &'static [&'static str],
}

const PLATFORMS: [Platform; 2] = [
    Platform { name: "macOS", target: "aarch64-apple-darwin", packages: &["pellucid"] },
    Platform {
        name: "Windows",
        target: "x86_64-pc-windows-gnu",
        packages: &["pellucid-protocol", "pellucid-script", "pellucid-engine", "pellucid-files", "pellucid-patch"],
    },
];

/// Used as compiler and as `ar`: makes each file that it is asked for, and leaves the file empty.
const STUB: &str = r#"#!/bin/sh
is_output=
for word in "$@"; do
  case $is_output$word in yes*|*.a) : > "$word" ;; esac
  is_output=
  [ "$word" = -o ] && is_output=yes
done
exit 0
"#;

/// Runs `cargo xtask platforms`.
pub fn run(args: Args) -> Result<Outcome> {
    args.finish()?;
    let (mut said, mut outcome) = (Vec::new(), Outcome::Good);
    for platform in &PLATFORMS {
        let Platform { name, target, packages } = platform;
        if !program::has_target(target) {
            said.push(format!("{name} skipped (`rustup target add {target}` adds its target)"));
            continue;
        }
        let stub = stub(&program::target_folder().join("platforms"))?;
        let mut check = program::cargo();
        check.args(["check", "--quiet", "--target", target]);
        check.args(packages.iter().flat_map(|package| ["--package", package]));
        let variable = target.replace('-', "_");
        check.env(format!("CC_{variable}"), &stub).env(format!("AR_{variable}"), &stub);
        // Nothing of an SDK is read, but the compiler's caller looks for its folder.
        check.env("SDKROOT", "/").env("RUSTFLAGS", "-D warnings");
        if program::outcome_of(&mut check)? == Outcome::Bad {
            outcome = Outcome::Bad;
            said.push(format!("{name} FAILED"));
        } else {
            said.push(format!("{name} checked ({} named packages)", packages.len()));
        }
    }
    println!("platforms: {}", said.join(", "));
    Ok(outcome)
}

/// Writes the compiler that makes empty files.
fn stub(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("cc");
    let write = || {
        fs::create_dir_all(folder)?;
        fs::write(&path, STUB)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
    };
    write().with_context(|| format!("could not write {}", path.display()))?;
    Ok(path)
}
