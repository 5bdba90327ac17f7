//! The npm packages, installed from their files without a registry.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, ensure};

use super::{Found, Made, skipped_without};
use crate::program;

/// A program that ends with 7 when it is asked to end. It waits for its standard input, so it ends with this test.
const WAITS: &str = "#!/bin/sh\ntrap 'exit 7' INT TERM HUP\necho ready\nread line\nexit 1\n";

/// A program that is killed.
const KILLED: &str = "#!/bin/sh\nkill -KILL $$\n";

fn npm(made: &Made) -> Result<PathBuf> {
    let folder = made.scratch.folder("npm")?;
    if !folder.join("node_modules").exists() {
        fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error", "--cache"]);
        npm.arg(made.scratch.folder("npm-cache")?).current_dir(&folder);
        npm.arg(made.package(&format!("npm-pellucid-{}.tgz", made.version))?);
        npm.arg(made.package(&format!("npm-pellucid-linux-{}-{}.tgz", made.platform.node, made.version))?);
        program::text_of(&mut npm)?;
    }
    Ok(folder)
}

/// `npx pellucid demo` runs, and the statuses of the program arrive.
pub fn installed(made: &Made) -> Result<Found> {
    if !program::is_installed("npm") {
        return skipped_without("npm");
    }
    let folder = npm(made)?;
    let npx = |words: &[&str]| {
        let mut npx = Command::new("npx");
        npx.args(["--offline", "--no", "pellucid"]).args(words).current_dir(&folder);
        npx.env("PELLUCID_HOME", folder.join("home")).stdin(Stdio::null());
        npx
    };
    let said = program::text_of(&mut npx(&["demo"]))?;
    let expected = Command::new(folder.join("node_modules").join(made.platform.npm()).join("bin/pellucid"))
        .arg("demo")
        .env("PELLUCID_HOME", folder.join("home"))
        .output()?;
    ensure!(said.lines().count() == String::from_utf8_lossy(&expected.stdout).lines().count(), "the demo says {said}");
    let refused = Command::new(folder.join("node_modules/.bin/pellucid")).arg("--no-such-option").output()?;
    ensure!(refused.status.code() == Some(2), "wrong usage ends with {}", refused.status);
    Ok(Found::Good(format!("`npx pellucid demo` prints {} lines; wrong usage ends with 2", said.lines().count())))
}

/// The launcher passes on signals, and ends as the program ends.
pub fn launcher(made: &Made) -> Result<Found> {
    if !program::is_installed("npm") {
        return skipped_without("npm");
    }
    let folder = npm(made)?.join("node_modules");
    let program = folder.join(made.platform.npm()).join("bin/pellucid");
    let launcher = folder.join("pellucid/bin/pellucid.js");
    let put = |script: &str| -> Result<()> {
        fs::remove_file(&program).context("the program is there")?;
        fs::write(&program, script)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).context("the program may be run")
    };
    let ended = |signal: Option<&str>| -> Result<ExitStatus> {
        let mut node = Command::new("node");
        let mut child = node.arg(&launcher).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        if let Some(signal) = signal {
            let mut line = String::new();
            BufReader::new(child.stdout.take().context("standard output is a pipe")?).read_line(&mut line)?;
            ensure!(line == "ready\n", "the program says {line}");
            program::text_of(Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()))?;
            let input = child.stdin.take();
            let status = child.wait()?;
            drop(input);
            return Ok(status);
        }
        Ok(child.wait()?)
    };
    put(WAITS)?;
    for signal in ["INT", "TERM", "HUP"] {
        let status = ended(Some(signal))?;
        ensure!(status.code() == Some(7), "after {signal} the launcher ends with {status}");
    }
    put(KILLED)?;
    let status = ended(None)?;
    ensure!(status.signal() == Some(9), "a killed program ends the launcher with {status}");
    fs::remove_dir_all(folder.join(made.platform.npm()))?;
    let missing = Command::new("node").arg(&launcher).output()?;
    let said = String::from_utf8_lossy(&missing.stderr);
    ensure!(missing.status.code() == Some(1) && said.contains(&made.platform.npm()), "without the program: {said}");
    Ok(Found::Good("INT, TERM and HUP arrive; status 7 and signal 9 come back; a missing package is named".to_string()))
}
