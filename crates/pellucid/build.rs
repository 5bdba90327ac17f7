//! How the program is linked, and what `--version --verbose` says about its build.
//!
//! Released for Linux, the program is linked at a fixed address. The default position-independent program is relocated by
//! the loader at every start, table by table: with tables as large as ours that took a third of a start, and of every command
//! that runs through the sandbox's helper. Stack, heap and libraries are still placed at random. A static program gets its
//! fixed address from `relocation-model` (`.cargo/config.toml`).

use std::process::Command;

/// Packages whose versions the program prints.
const PRINTED: &[&str] = &[
    "hyper",
    "libsqlite3-sys",
    "mimalloc",
    "reqwest",
    "ring",
    "rmcp",
    "rustls",
    "starlark",
    "tree-sitter-bash",
    "zstd-sys",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    for name in ["TARGET", "PROFILE", "OPT_LEVEL"] {
        println!("cargo:rustc-env=PELLUCID_{name}={}", std::env::var(name).unwrap_or_default());
    }
    println!("cargo:rerun-if-env-changed=PELLUCID_COMMIT");
    println!("cargo:rustc-env=PELLUCID_COMPILER={}", compiler().unwrap_or_else(|| "unknown".to_owned()));
    println!("cargo:rerun-if-changed=../../Cargo.lock");
    let lock = std::fs::read_to_string("../../Cargo.lock").unwrap_or_default();
    for package in PRINTED {
        let name = package.to_uppercase().replace('-', "_");
        println!("cargo:rustc-env=PELLUCID_{name}={}", version(&lock, package).unwrap_or("unknown"));
    }
}

#[expect(clippy::disallowed_methods, reason = "a build asks the compiler what it is")]
fn compiler() -> Option<String> {
    let said = Command::new(std::env::var_os("RUSTC")?).arg("--version").output().ok()?;
    Some(String::from_utf8(said.stdout).ok()?.trim().to_owned())
}

/// The version that the lock file gives for a package.
fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let (_, after) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    Some(after.split_once('"')?.0)
}
