//! `cargo xtask package --check --bin PATH`: makes every kind of package of a program that is there, and tries each on this machine.
//!
//! The program may be any that runs here, such as the one that tests are run with: what is tried is the packages. A check whose
//! tool is not installed says so.

mod bare;
mod install;
mod npm;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::about::About;
use super::archive::Effort;
use super::build::Built;
use super::platform::{PLATFORMS, Platform};
use super::{elf, packages, write};
use crate::Outcome;
use crate::program;
use crate::scratch::Scratch;

/// What a check found, if nothing is wrong.
enum Found {
    Good(String),
    /// The tool of the check is missing.
    Skipped(String),
}

/// The packages that are tried.
struct Made {
    folder: PathBuf,
    /// The program that was packed.
    program: PathBuf,
    scratch: Scratch,
    platform: Platform,
    version: String,
    /// The names of the packages that belong to the platform, and of the others.
    names: Vec<String>,
}

impl Made {
    /// The path of the package whose name ends so.
    fn package(&self, end: &str) -> Result<PathBuf> {
        let name =
            self.names.iter().find(|it| it.ends_with(end)).with_context(|| format!("no package ends with {end}"))?;
        Ok(self.folder.join(name))
    }

    /// A program that says its version is the one that was packed.
    fn check_program(&self, path: &Path) -> Result<()> {
        let said = program::text_of(Command::new(path).arg("--version"))?;
        ensure!(said.trim() == format!("pellucid {}", self.version), "{} says {said}", path.display());
        Ok(())
    }
}

type Check = fn(&Made) -> Result<Found>;

const CHECKS: &[(&str, Check)] = &[
    ("checksums", checksums),
    ("archive", archive),
    ("deb", deb),
    ("rpm", rpm),
    ("bill of materials", bill),
    ("npm", npm::installed),
    ("npm launcher", npm::launcher),
    ("install.sh", install::from_folder),
    ("install.sh by address", install::from_address),
    ("install.sh refuses", install::refusals),
    ("bare root", bare::installed),
    ("scripts", scripts),
    ("formula", formula),
    ("flake", flake),
    ("completions", completions),
    ("manual", manual),
];

/// Runs every check.
pub fn run(about: &About, bin: &Path) -> Result<Outcome> {
    let made = make(about, bin)?;
    let (mut n_good, mut n_skipped, mut n_bad) = (0, 0, 0);
    for (name, check) in CHECKS {
        match check(&made) {
            Ok(Found::Good(what)) => {
                n_good += 1;
                println!("ok       {name}: {what}");
            }
            Ok(Found::Skipped(why)) => {
                n_skipped += 1;
                println!("skipped  {name}: {why}");
            }
            Err(error) => {
                n_bad += 1;
                println!("FAILED   {name}: {error:#}");
            }
        }
    }
    println!("package: {n_good} checks passed, {n_skipped} skipped, {n_bad} failed");
    Ok(if n_bad == 0 { Outcome::Good } else { Outcome::Bad })
}

fn make(about: &About, bin: &Path) -> Result<Made> {
    let scratch = Scratch::new()?;
    let small = scratch.path().join("pellucid");
    // Names for debuggers are most of a program that is not optimised, and no check needs them.
    let is_stripped = program::is_installed("strip")
        && Command::new("strip").arg("-o").arg(&small).arg(bin).status().is_ok_and(|it| it.success());
    let from = if is_stripped { &small } else { bin };
    let machine = elf::needs(&fs::read(from).with_context(|| format!("could not read {}", from.display()))?)?.machine;
    let platform = PLATFORMS.iter().find(|it| it.machine == machine).context("packages are made for this processor")?;
    let built = Built::read(*platform, from)?;
    let packed = packages(about, &[built], bin, Effort::Quick)?;
    let folder = scratch.folder("packages")?;
    write(&folder, &packed)?;
    let names = packed.into_iter().map(|(name, _)| name).collect();
    let program = from.to_path_buf();
    Ok(Made { folder, program, scratch, platform: *platform, version: about.version.clone(), names })
}

fn skipped_without(tool: &str) -> Result<Found> {
    Ok(Found::Skipped(format!("{tool} is not installed")))
}

fn checksums(made: &Made) -> Result<Found> {
    let said = program::text_of(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&made.folder))?;
    let n = said.lines().filter(|it| it.ends_with(": OK")).count();
    ensure!(n == made.names.len() - 1, "{n} of {} files are listed", made.names.len() - 1);
    Ok(Found::Good(format!("{n} files")))
}

/// What every kind of package of a system must have.
const REQUIRED: [&str; 6] = [
    "bin/pellucid",
    "share/man/man1/pellucid.1.gz",
    "share/man/man1/pellucid-sessions-list.1.gz",
    "share/bash-completion/completions/pellucid",
    "share/doc/pellucid/LICENSE",
    "share/doc/pellucid/NOTICE",
];

/// Each required file is in the list, below `prefix`.
fn check_list(list: &str, prefix: &str) -> Result<Found> {
    for path in REQUIRED {
        let path = format!("{prefix}{path}");
        ensure!(list.lines().any(|line| line.ends_with(&path)), "{path} is missing in\n{list}");
    }
    Ok(Found::Good(format!("{} lines", list.lines().count())))
}

fn archive(made: &Made) -> Result<Found> {
    let list = program::text_of(Command::new("tar").arg("-tzf").arg(made.package("-musl.tar.gz")?))?;
    check_list(&list, &format!("pellucid-{}-{}/", made.version, made.platform.target))
}

fn deb(made: &Made) -> Result<Found> {
    if !program::is_installed("dpkg-deb") {
        return skipped_without("dpkg-deb");
    }
    let package = made.package(".deb")?;
    let about = program::text_of(Command::new("dpkg-deb").arg("--info").arg(&package))?;
    for line in ["Package: pellucid".to_string(), format!("Architecture: {}", made.platform.deb)] {
        ensure!(about.contains(&line), "`{line}` is missing in\n{about}");
    }
    let root = made.scratch.folder("deb")?;
    program::text_of(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&root))?;
    made.check_program(&root.join("usr/bin/pellucid"))?;
    check_list(&program::text_of(Command::new("dpkg-deb").arg("--contents").arg(&package))?, "./usr/")
}

fn rpm(made: &Made) -> Result<Found> {
    if !program::is_installed("rpm") {
        return skipped_without("rpm");
    }
    let package = made.package(".rpm")?;
    let scratch = made.scratch.folder("rpm")?;
    let rpm = |words: &[&str]| {
        let mut rpm = Command::new("rpm");
        program::text_of(rpm.arg("--dbpath").arg(scratch.join("db")).args(words).arg(&package))
    };
    let verdict = rpm(&["--checksig", "--nosignature"])?;
    ensure!(verdict.contains("OK") && !verdict.contains("NOT"), "{verdict}");
    let said = rpm(&["--query", "--package", "--queryformat", "%{NAME} %{ARCH} %{LICENSE}"])?;
    ensure!(said == format!("pellucid {} Apache-2.0", made.platform.rpm), "{said}");
    let root = scratch.join("root");
    rpm(&["--install", "--root", &root.to_string_lossy(), "--nodeps", "--ignoreos", "--ignorearch"])?;
    made.check_program(&root.join("usr/bin/pellucid"))?;
    check_list(&rpm(&["--query", "--package", "--list"])?, "/usr/")
}

fn bill(made: &Made) -> Result<Found> {
    let text = fs::read_to_string(made.package(".cdx.json")?)?;
    let bill: serde_json::Value = serde_json::from_str(&text).context("the bill is JSON")?;
    let n = bill["components"].as_array().map_or(0, Vec::len);
    ensure!(n > 0, "the bill has no components");
    Ok(Found::Good(format!("{n} crates")))
}

/// Runs the checkers that are installed, and names them.
fn checked(checkers: &[(&str, &[&str])], file: &Path) -> Result<Found> {
    let mut names = Vec::new();
    for (name, words) in checkers {
        if *name == "sh" || program::is_installed(name) || Path::new("/bin").join(name).exists() {
            program::text_of(Command::new(name).args(*words).arg(file))?;
            names.push(*name);
        }
    }
    match names.is_empty() {
        true => skipped_without(&checkers.iter().map(|it| it.0).collect::<Vec<_>>().join(" or ")),
        false => Ok(Found::Good(format!("read by {}", names.join(", ")))),
    }
}

fn scripts(made: &Made) -> Result<Found> {
    let script = made.folder.join("install.sh");
    checked(&[("sh", &["-n"]), ("dash", &["-n"]), ("busybox", &["sh", "-n"]), ("shellcheck", &["-s", "sh"])], &script)
}

fn formula(_: &Made) -> Result<Found> {
    checked(&[("ruby", &["-c"])], &program::root().join("packaging/pellucid.rb"))
}

fn flake(_: &Made) -> Result<Found> {
    checked(&[("nix-instantiate", &["--parse"])], &program::root().join("flake.nix"))
}

fn completions(made: &Made) -> Result<Found> {
    let share = made.scratch.path().join("deb/usr/share");
    if !share.exists() {
        return skipped_without("dpkg-deb");
    }
    let mut read = Vec::new();
    for (shell, path) in super::contents::COMPLETIONS {
        let path = share.join(path);
        ensure!(fs::read_to_string(&path)?.contains("PELLUCID_COMPLETE"), "{} asks for nothing", path.display());
        if ["bash", "zsh", "fish"].contains(shell) && program::is_installed(shell) {
            program::text_of(Command::new(shell).arg("-n").arg(&path))?;
            read.push(*shell);
        }
    }
    Ok(Found::Good(format!("read by {}", read.join(", "))))
}

fn manual(made: &Made) -> Result<Found> {
    let folder = made.scratch.path().join("deb/usr/share/man/man1");
    if !program::is_installed("man") || !folder.exists() {
        return skipped_without("man");
    }
    let mut n = 0;
    for page in fs::read_dir(&folder)? {
        let path = page?.path();
        let said =
            Command::new("man").args(["--warnings", "-E", "UTF-8", "-l"]).arg(&path).env("MANWIDTH", "80").output()?;
        let warnings = String::from_utf8_lossy(&said.stderr);
        ensure!(said.status.success() && warnings.trim().is_empty(), "{}: {warnings}", path.display());
        n += 1;
    }
    Ok(Found::Good(format!("{n} pages")))
}
