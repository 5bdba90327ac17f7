//! `cargo xtask package`: makes every kind of package for every platform, in `target/packages`.
//!
//! - `about`, `platform`: what packages say of the program, and the platforms
//! - `build`, `zig`, `elf`: the static program, a compiler of C for it, and the proof that it is static
//! - `contents`, `entry`, `archive`: the files of a package, and archives of them
//! - `deb`, `rpm`, `npm`, `sbom`, `texts`: the kinds that are not an archive alone
//! - `check`: tries each kind on this machine
//! - `crates`: the crates that can be published
//!
//! Not here: uploading. `docs/release.md` says how a release is made.

mod about;
mod archive;
mod build;
mod check;
mod contents;
mod crates;
mod deb;
mod elf;
mod entry;
mod npm;
mod platform;
mod rpm;
mod sbom;
mod texts;
mod zig;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::scratch::Scratch;
use about::About;
use archive::{Effort, Folders};
use build::Built;
use platform::{PLATFORMS, Platform};

/// A package: the name of its file, and its bytes.
type Packed = (String, Vec<u8>);

/// Runs `cargo xtask package`.
pub fn run(mut args: Args) -> Result<Outcome> {
    if args.flag("--crates") {
        args.finish()?;
        return crates::run();
    }
    let is_check = args.flag("--check");
    let bin = args.value("--bin")?.map(PathBuf::from);
    let profile = args.value("--profile")?.unwrap_or_else(|| "release".to_string());
    let out = args.value("--out")?.map_or_else(|| program::target_folder().join("packages"), PathBuf::from);
    let is_verified = args.flag("--verify");
    let mut platforms = Vec::new();
    while let Some(target) = args.value("--target")? {
        platforms.push(Platform::named(&target)?);
    }
    args.finish()?;
    let about = About::read()?;
    match (is_check, bin) {
        (true, Some(bin)) => check::run(&about, &bin),
        (false, None) => {
            let platforms = if platforms.is_empty() { PLATFORMS.to_vec() } else { platforms };
            make(&about, &platforms, &profile, &out, is_verified)
        }
        (true, None) => bail!("--check needs --bin PATH, a program that runs here"),
        (false, Some(_)) => bail!("--bin goes with --check: packages are made of a program that is built for them"),
    }
}

fn make(about: &About, platforms: &[Platform], profile: &str, out: &Path, is_verified: bool) -> Result<Outcome> {
    let first = program::target_folder();
    let packed = all(about, platforms, profile, &first)?;
    if is_verified {
        // Another folder, so that every crate is compiled again.
        let second = Scratch::new()?;
        let again = all(about, platforms, profile, second.path())?;
        if let Some(((name, _), _)) = packed.iter().zip(&again).find(|(one, other)| one != other) {
            println!("package: {name} differs when it is made again");
            return Ok(Outcome::Bad);
        }
        println!("package: {} files are the same when they are made again", packed.len());
    }
    write(out, &packed)?;
    for (name, bytes) in &packed {
        println!("{:>11}  {name}", bytes.len());
    }
    println!("package: {} files in {}", packed.len(), out.display());
    if about.address.is_empty() {
        println!("package: no Homebrew formula, because the project has no address yet (xtask/src/package/about.rs)");
    }
    Ok(Outcome::Good)
}

fn all(about: &About, platforms: &[Platform], profile: &str, target_folder: &Path) -> Result<Vec<Packed>> {
    let mut built = Vec::new();
    for platform in platforms {
        built.push(build::program(*platform, about, profile, target_folder)?);
    }
    let runs_here = match built.iter().find(|it| it.runs_here()) {
        Some(it) => it.path.clone(),
        None => build::host_program()?,
    };
    packages(about, &built, &runs_here, Effort::Small)
}

/// All packages of these programs, with their checksums at the end. `runs_here` prints pages and completions.
fn packages(about: &About, built: &[Built], runs_here: &Path, effort: Effort) -> Result<Vec<Packed>> {
    let shared = contents::shared(runs_here)?;
    let mut packed = Vec::new();
    for Built { platform, bytes, .. } in built {
        let files = contents::installed(bytes, &shared);
        let top = platform.archive(&about.version);
        let tar = archive::tar(&files, &format!("{top}/"), Folders::Implied, about.time)?;
        packed.push((format!("{top}.tar.gz"), archive::gzip(&tar, effort)?));
        let on_system: Vec<_> = files.iter().map(|it| it.below("usr")).collect();
        let deb = deb::package(platform, about, &on_system, effort)?;
        packed.push((format!("pellucid_{}_{}.deb", about.deb_version(), platform.deb), deb));
        let rpm = rpm::package(platform, about, &on_system, effort)?;
        packed.push((format!("pellucid-{}-1.{}.rpm", about.rpm_version(), platform.rpm), rpm));
        packed.push(npm::platform(platform, about, bytes, effort)?);
        packed.push((format!("{top}.cdx.json"), sbom::bill(platform, about)?.into_bytes()));
    }
    packed.push(npm::launcher(about, effort)?);
    packed.push(("install.sh".to_string(), texts::install_script(about)?.into_bytes()));
    if let Some(formula) = texts::formula(about, &packed)? {
        packed.push(("pellucid.rb".to_string(), formula.into_bytes()));
    }
    packed.push(("SHA256SUMS".to_string(), sums(&packed).into_bytes()));
    Ok(packed)
}

/// A line for each file, as `sha256sum` prints and checks them.
fn sums(packed: &[Packed]) -> String {
    packed.iter().fold(String::new(), |mut text, (name, bytes)| {
        let _ = writeln!(text, "{}  {name}", sum(bytes));
        text
    })
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn write(out: &Path, packed: &[Packed]) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("could not make {}", out.display()))?;
    for (name, bytes) in packed {
        let path = out.join(name);
        fs::write(&path, bytes).with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_what_programs_check() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sums(&[("a".to_string(), b"abc".to_vec())]), format!("{abc}  a\n"));
    }

    #[test]
    fn options_that_exclude_each_other_are_refused() {
        let refusal = |words: &[&str]| {
            run(Args::new(words.iter().map(|it| (*it).to_string()).collect())).unwrap_err().to_string()
        };
        assert_eq!(refusal(&["--check"]), "--check needs --bin PATH, a program that runs here");
        assert!(refusal(&["--bin", "x"]).starts_with("--bin goes with --check"));
        assert!(refusal(&["--target", "riscv"]).starts_with("no packages are made for riscv; there are x86_64"));
    }
}
