//! Other programs: finding them, building the product, running them in the project's root.
//!
//! Not here: what the programs do.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::Outcome;
use crate::args::Args;

/// The oldest Python the harnesses run on.
const PYTHON_MIN: (u32, u32) = (3, 11);

/// The root of the project: the folder above this crate.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies in a folder of the project")
}

/// The Python interpreter, or why there is none to use.
pub fn python() -> Result<String, String> {
    let name = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let Ok(output) = Command::new(&name).arg("--version").output() else {
        return Err(format!("{name} is not installed"));
    };
    let said = String::from_utf8_lossy(&output.stdout).trim().to_string();
    match python_version(&said) {
        Some(version) if version >= PYTHON_MIN => Ok(name),
        _ => Err(format!("{name} is too old ({said}; {}.{} is needed)", PYTHON_MIN.0, PYTHON_MIN.1)),
    }
}

fn python_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("Python ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Whether a program of this name is on the `PATH`.
pub fn is_installed(name: &str) -> bool {
    Command::new(name)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|it| it.success())
}

/// Whether Rust can compile for this target.
pub fn has_target(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    asked.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// A command of the Cargo that runs this program.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// What Cargo says of the workspace, without a network.
pub fn metadata(options: &[&str]) -> Result<Value> {
    let described = text_of(cargo().args(["metadata", "--offline", "--locked", "--format-version=1"]).args(options))?;
    serde_json::from_str(&described).context("cargo describes the workspace as JSON")
}

/// The package of this name among those that Cargo described.
pub fn package_of<'a>(described: &'a Value, name: &str) -> Result<&'a Value> {
    let mut packages = described["packages"].as_array().into_iter().flatten();
    packages.find(|it| it["name"] == name).with_context(|| format!("the workspace has no package {name}"))
}

/// Builds the product as it is released and returns its path.
pub fn release_binary() -> Result<PathBuf> {
    println!("building the release binary");
    let output = cargo()
        .args(["build", "--release", "--quiet", "--bin", "pellucid"])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("could not start cargo")?;
    if !output.status.success() {
        bail!("the release build failed");
    }
    // Cargo reports the path, because a target folder can be configured in several places.
    let messages = String::from_utf8_lossy(&output.stdout);
    executable_in(&messages).context("cargo built no binary named pellucid")
}

/// Builds the product for this machine, without optimising it, and returns its path.
pub fn debug_binary() -> Result<PathBuf> {
    println!("building a program for this machine");
    let build =
        ["build", "--quiet", "--package", "pellucid", "--bin", "pellucid", "--message-format=json-render-diagnostics"];
    executable_in(&text_of(cargo().args(build).stderr(Stdio::inherit()))?)
        .context("cargo built no binary named pellucid")
}

/// The folder that Cargo builds into.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Builds a benchmark of one of our crates and returns its path.
pub fn bench_binary(package: &str, name: &str) -> Result<PathBuf> {
    println!("building the benchmark {name}");
    let output = cargo()
        .args(["bench", "--no-run", "--quiet", "--package", package, "--bench", name])
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("could not start cargo")?;
    if !output.status.success() {
        bail!("the benchmark {name} could not be built");
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    executable_in(&messages).with_context(|| format!("cargo built no benchmark named {name}"))
}

fn executable_in(messages: &str) -> Option<PathBuf> {
    let (_, after) = messages.rsplit_once("\"executable\":\"")?;
    let (path, _) = after.split_once('"')?;
    Some(PathBuf::from(path.replace("\\\\", "\\")))
}

/// Takes `--bin PATH`, the program that tests of the product drive in place of the one that is built with them.
pub fn named_program(args: &mut Args) -> Result<Option<PathBuf>> {
    // Tests run in the folders of their crates.
    let path = args.value("--bin")?.map(std::path::absolute).transpose()?;
    match path {
        Some(path) if !path.is_file() => bail!("{} is no program", path.display()),
        path => Ok(path),
    }
}

/// The variable that tests find that program by.
pub const TESTED: &str = "PELLUCID_PROGRAM";

/// Lets the tests that a command runs drive this program.
pub fn drive(command: &mut Command, program: Option<&PathBuf>) {
    match program {
        Some(path) => command.env(TESTED, path),
        None => command.env_remove(TESTED),
    };
}

/// Runs a command to its end with our output; a failing status is an outcome, not an error.
pub fn outcome_of(command: &mut Command) -> Result<Outcome> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("could not start {name}"))?;
    Ok(if status.success() { Outcome::Good } else { Outcome::Bad })
}

/// Runs a command to its end and returns its standard output; a failing status is an error.
pub fn text_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("could not start {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} failed: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_python_says_of_itself() {
        assert_eq!(python_version("Python 3.11.7"), Some((3, 11)));
        assert_eq!(python_version("Python 3.9.2"), Some((3, 9)));
        assert_eq!(python_version("command not found"), None);
    }

    #[test]
    fn finds_the_executable_among_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"serde"},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"pellucid"},"executable":"/t/release/pellucid","fresh":true}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(executable_in(messages), Some(PathBuf::from("/t/release/pellucid")));
        assert_eq!(executable_in("{}"), None);
    }
}
