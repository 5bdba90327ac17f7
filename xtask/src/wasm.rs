//! `cargo xtask wasm`: builds the engine for JavaScript, and compares its bytes in Node with those of the Rust crate.
//!
//! The cases are in `npm/engine/test/cases`; this program makes the bytes of each with the crate. With `--release` the
//! engine is built small, and the npm package and the playground are put together in the target folder. Where the target or Node is missing, the
//! command says so and counts as good.
//!
//! Not here: what is compared (`npm/engine/test`), and the playground's page (`docs/playground`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use pellucid_context::RequestInput;

use crate::Outcome;
use crate::args::Args;
use crate::inspector;
use crate::program;

const TARGET: &str = "wasm32-unknown-unknown";

/// The files of the npm package beside the engine.
const PACKAGE: [&str; 4] = ["package.json", "index.js", "index.d.ts", "README.md"];

/// The files of the playground beside the engine.
const PAGE: [&str; 3] = ["index.html", "playground.css", "playground.js"];

/// Runs `cargo xtask wasm`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let is_release = args.flag("--release");
    args.finish()?;
    if !program::has_target(TARGET) {
        return Ok(skipped(&format!("the target {TARGET} is not installed; `rustup target add {TARGET}` adds it")));
    }
    if !program::is_installed("node") {
        return Ok(skipped("node is not installed"));
    }
    let target = program::target_folder();
    let (profile, folder) = if is_release { ("wasm", "wasm") } else { ("dev", "debug") };
    let build = ["build", "--quiet", "--package", "pellucid-wasm", "--target", TARGET, "--profile", profile];
    if program::outcome_of(program::cargo().args(build))? == Outcome::Bad {
        bail!("the engine could not be built for {TARGET}");
    }
    let wasm = target.join(TARGET).join(folder).join("pellucid_wasm.wasm");
    if is_release {
        put_together(&target, &wasm)?;
    }
    let package = program::root().join("npm/engine");
    let bodies = target.join("wasm-bodies");
    let n_cases = write_bodies(&package.join("test/cases"), &bodies)?;
    let mut node = Command::new("node");
    node.args(["--test", "--test-reporter=dot", "test/"]).current_dir(&package);
    node.env("PELLUCID_WASM", &wasm).env("PELLUCID_BODIES", &bodies);
    let output = node.output().context("could not start node")?;
    if !output.status.success() {
        print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        return Ok(Outcome::Bad);
    }
    println!("wasm: the bytes of {n_cases} cases are those of the crate");
    if is_release { check_page(&target.join("playground")) } else { Ok(Outcome::Good) }
}

/// Makes the npm package and the playground in the target folder.
fn put_together(target: &Path, wasm: &Path) -> Result<()> {
    let (package, page) = (target.join("npm/engine"), target.join("playground"));
    let (script, root) = (program::root().join("npm/engine"), program::root().join("docs/playground"));
    let mut copies: Vec<(PathBuf, PathBuf)> =
        PACKAGE.iter().map(|name| (script.join(name), package.join(name))).collect();
    copies.extend(PAGE.iter().map(|name| (root.join(name), page.join(name))));
    // The playground is served from its folder alone.
    copies.push((script.join("index.js"), page.join("engine.js")));
    copies.extend([&package, &page].map(|folder| (wasm.to_owned(), folder.join("engine.wasm"))));
    for folder in [&package, &page] {
        fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    }
    for (from, to) in copies {
        fs::copy(&from, &to).with_context(|| format!("could not copy {} to {}", from.display(), to.display()))?;
    }
    let bytes = fs::metadata(wasm).with_context(|| format!("could not read {}", wasm.display()))?.len();
    println!("wasm: engine.wasm has {bytes} bytes; made {} and {}", package.display(), page.display());
    Ok(())
}

/// Drives the playground in a browser, if there is one.
fn check_page(page: &Path) -> Result<Outcome> {
    let (Some(browser), true) = (inspector::browser(), program::is_installed("npm")) else {
        println!("wasm: the playground is not checked, because npm or a browser is not installed");
        return Ok(Outcome::Good);
    };
    let mut node = Command::new("node");
    node.arg(program::root().join("docs/playground/check.mjs")).env("PLAYGROUND", page).env("CHROMIUM", browser);
    node.env("INSPECTOR_MODULES", inspector::modules(&program::root().join("inspector"))?);
    let outcome = program::outcome_of(&mut node)?;
    if outcome == Outcome::Good {
        println!("wasm: the playground works in a browser");
    }
    Ok(outcome)
}

/// Writes the bytes of every case, and returns how many there are.
fn write_bodies(cases: &Path, bodies: &Path) -> Result<usize> {
    fs::create_dir_all(bodies).with_context(|| format!("could not make {}", bodies.display()))?;
    let mut n_cases = 0;
    for entry in fs::read_dir(cases).with_context(|| format!("could not read {}", cases.display()))? {
        let path = entry?.path();
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        let input: RequestInput = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let body = input.build().with_context(|| path.display().to_string())?.body();
        let name = path.with_extension("body");
        fs::write(bodies.join(name.file_name().context("a case has a name")?), body)?;
        n_cases += 1;
    }
    if n_cases == 0 {
        bail!("{} has no cases", cases.display());
    }
    Ok(n_cases)
}

fn skipped(why: &str) -> Outcome {
    println!("wasm: skipped, {why}");
    Outcome::Good
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_of_the_package_makes_a_request() {
        let bodies = std::env::temp_dir().join(format!("pellucid-wasm-cases-{}", std::process::id()));
        let n_cases = write_bodies(&program::root().join("npm/engine/test/cases"), &bodies).unwrap();
        assert_eq!(fs::read_dir(&bodies).unwrap().count(), n_cases);
        fs::remove_dir_all(&bodies).unwrap();
    }
}
