//! Builds the static program of a platform.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::about::About;
use super::elf;
use super::platform::Platform;
use super::zig;
use crate::program;

/// A program for a platform.
#[derive(Debug)]
pub struct Built {
    pub platform: Platform,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

impl Built {
    pub fn read(platform: Platform, path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("could not read {}", path.display()))?;
        Ok(Self { platform, path: path.to_path_buf(), bytes })
    }

    /// Whether the program starts on this machine.
    pub fn runs_here(&self) -> bool {
        Command::new(&self.path).arg("--version").output().is_ok_and(|it| it.status.success())
    }
}

/// Builds the program of a platform with a profile, and checks that it needs nothing of the system.
pub fn program(platform: Platform, about: &About, profile: &str, target_folder: &Path) -> Result<Built> {
    let Platform { target, compilers, .. } = platform;
    println!("building for {target} with the profile {profile}");
    let key = target.replace('-', "_");
    let mut cargo = program::cargo();
    cargo.args(["build", "--quiet", "--locked", "--package", "pellucid", "--bin", "pellucid"]);
    cargo.args(["--target", target, "--profile", profile, "--target-dir"]).arg(target_folder);
    cargo.env("PELLUCID_COMMIT", &about.commit).env("SOURCE_DATE_EPOCH", about.time.to_string());
    let compiler_key = format!("CC_{key}");
    if std::env::var_os(&compiler_key).is_none() {
        match compilers.iter().find(|it| program::is_installed(it)) {
            Some(compiler) => cargo.env(&compiler_key, compiler),
            None => {
                let scripts = zig::scripts(target, &target_folder.join("zig")).with_context(|| {
                    format!("{} are not installed, and {compiler_key} names no other compiler", compilers.join(", "))
                })?;
                cargo.env(&compiler_key, scripts.compiler).env(format!("AR_{key}"), scripts.archiver)
            }
        };
    }
    // The folders of this machine are in no message of the program, so that another folder gives the same bytes.
    let root = program::root().display().to_string();
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|it| format!("{it}/.cargo")));
    let mut flags = Vec::new();
    let mut c_flags = Vec::new();
    let built_in = target_folder.display().to_string();
    for (from, to) in [(Some(root), "/pellucid"), (home.ok(), "/cargo"), (Some(built_in), "/target")] {
        let Some(from) = from else { continue };
        flags.push(format!("--remap-path-prefix={from}={to}"));
        c_flags.push(format!("-ffile-prefix-map={from}={to}"));
    }
    cargo.env(format!("CFLAGS_{key}"), c_flags.join(" "));
    // Cargo adds these flags to those of `.cargo/config.toml`; flags from variables would replace both.
    cargo.arg("--config").arg(format!("target.{target}.rustflags = {flags:?}"));
    for name in [
        "RUSTFLAGS".to_owned(),
        "CARGO_ENCODED_RUSTFLAGS".to_owned(),
        format!("CARGO_TARGET_{}_RUSTFLAGS", key.to_uppercase()),
    ] {
        cargo.env_remove(name);
    }
    let status = cargo.status().context("could not start cargo")?;
    if !status.success() {
        bail!("the build for {target} failed; `rustup target add {target}` adds the target");
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    let built = Built::read(platform, &target_folder.join(target).join(folder).join("pellucid"))?;
    let needs = elf::needs(&built.bytes)?;
    if needs.machine != platform.machine || !needs.is_static() {
        bail!("{} is no static program for {target}: {needs:?}", built.path.display());
    }
    Ok(built)
}

/// A program for this machine, for a platform whose programs do not run here.
pub fn host_program() -> Result<PathBuf> {
    program::debug_binary()
}
