//! `cargo xtask inspector`: drives the page of `pellucid inspect` in a headless browser.
//!
//! Node modules go into a folder of the target directory, in the versions that `inspector/package.json` names. Where node, npm or a
//! browser is missing, the command says so and counts as good.
//!
//! Not here: what is checked (`inspector/checks.mjs`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// The names under which a browser is looked for, after the one that `CHROMIUM` names.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Runs `cargo xtask inspector`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let pattern = args.value("--match")?;
    // Cargo runs this program in the caller's folder, and the checks run in the root.
    let binary: Option<PathBuf> = args.value("--bin")?.map(std::path::absolute).transpose()?;
    let (is_sample, is_images, is_screens) = (args.flag("--sample"), args.flag("--images"), args.flag("--screens"));
    args.finish()?;
    let Some(browser) = browser() else {
        return Ok(skipped("no Chromium is installed; CHROMIUM can name one"));
    };
    for name in ["node", "npm"] {
        if !program::is_installed(name) {
            return Ok(skipped(&format!("{name} is not installed")));
        }
    }
    let folder = program::root().join("inspector");
    let modules = modules(&folder)?;
    let binary = match binary {
        Some(binary) => binary,
        None => program::release_binary()?,
    };
    let mut command = Command::new("node");
    command.arg(folder.join("run.mjs")).arg("--bin").arg(&binary);
    command.env("INSPECTOR_MODULES", &modules).env("CHROMIUM", &browser);
    if let Some(pattern) = &pattern {
        command.args(["--match", pattern]);
    }
    if is_sample {
        command.arg("--sample");
    }
    if is_screens {
        command.arg("--screens");
    }
    if is_images {
        command.arg("--images").arg(program::root().join("docs/images"));
    }
    program::outcome_of(&mut command)
}

/// The first browser that is there.
pub fn browser() -> Option<String> {
    let named = std::env::var("CHROMIUM").ok();
    named
        .into_iter()
        .chain(BROWSERS.map(str::to_owned))
        .find(|name| program::is_installed(name))
        .map(|name| path_of(&name))
}

/// Where a program of the `PATH` is; the browser's driver takes no bare name.
fn path_of(name: &str) -> String {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.map_or_else(|| name.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// The folder with the modules, installed unless it has those of this `package.json` already.
pub fn modules(folder: &Path) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| program::root().join("target"), PathBuf::from);
    let modules = target.join("inspector");
    let wanted = fs::read_to_string(folder.join("package.json")).context("could not read inspector/package.json")?;
    let list = modules.join("package.json");
    if fs::read_to_string(&list).is_ok_and(|it| it == wanted) && modules.join("node_modules/playwright-core").is_dir() {
        return Ok(modules);
    }
    fs::create_dir_all(&modules).with_context(|| format!("could not make {}", modules.display()))?;
    fs::write(&list, wanted).with_context(|| format!("could not write {}", list.display()))?;
    let quiet = ["install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    let status = Command::new("npm").args(quiet).current_dir(&modules).status().context("could not start npm")?;
    if !status.success() {
        bail!("npm could not install the modules of inspector/package.json");
    }
    Ok(modules)
}

fn skipped(why: &str) -> Outcome {
    println!("inspector: skipped, {why}");
    Outcome::Good
}
