//! npm packages: the launcher `pellucid`, and a package with the program for each platform.
//!
//! npm installs the one platform package that fits (`os`, `cpu`), because the launcher names all of them as optional. No script runs
//! at installation.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Packed;
use super::about::About;
use super::archive::{Effort, Folders, gzip, tar};
use super::entry::Entry;
use super::platform::{PLATFORMS, Platform};
use crate::program;

/// The files of the launcher beside its manifest, below `npm/pellucid`.
const LAUNCHER: &[&str] = &["bin/pellucid.js", "README.md"];

pub fn launcher(about: &About, effort: Effort) -> Result<Packed> {
    let folder = program::root().join("npm/pellucid");
    let manifest = launcher_manifest(about)?;
    let mut entries = vec![Entry::text("package.json", manifest)];
    for name in LAUNCHER {
        let mut entry = Entry::of_file(*name, &folder.join(name))?;
        entry.is_program = name.starts_with("bin/");
        entries.push(entry);
    }
    entries.push(Entry::of_file("LICENSE", &program::root().join("LICENSE"))?);
    pack("pellucid", about, &entries, effort)
}

/// The manifest as it is in the repository, with the version and the optional packages of this release.
fn launcher_manifest(about: &About) -> Result<String> {
    let text = std::fs::read_to_string(program::root().join("npm/pellucid/package.json"))
        .context("the launcher has a manifest")?;
    let mut manifest: Value = serde_json::from_str(&text).context("the launcher's manifest is JSON")?;
    manifest["version"] = json!(about.version);
    manifest["optionalDependencies"] = PLATFORMS.iter().map(|it| (it.npm(), json!(about.version))).collect();
    finished(manifest, about)
}

/// The package with the program of a platform.
pub fn platform(platform: &Platform, about: &About, program: &[u8], effort: Effort) -> Result<Packed> {
    let manifest = json!({
        "name": platform.npm(),
        "version": about.version,
        "description": format!("The program of the package pellucid for {}", platform.target),
        "license": about.license,
        "os": ["linux"],
        "cpu": [platform.node],
        "files": ["bin"],
        "preferUnplugged": true,
    });
    let entries = [
        Entry::text("package.json", finished(manifest, about)?),
        Entry::program("bin/pellucid", program.to_vec()),
        Entry::of_file("LICENSE", &program::root().join("LICENSE"))?,
        Entry::of_file("NOTICE", &program::root().join("NOTICE"))?,
    ];
    pack(&format!("pellucid-linux-{}", platform.node), about, &entries, effort)
}

fn finished(mut manifest: Value, about: &About) -> Result<String> {
    if !about.address.is_empty() {
        manifest["homepage"] = json!(about.address);
    }
    Ok(serde_json::to_string_pretty(&manifest)? + "\n")
}

fn pack(name: &str, about: &About, entries: &[Entry], effort: Effort) -> Result<Packed> {
    let packed = gzip(&tar(entries, "package/", Folders::Implied, about.time)?, effort)?;
    Ok((format!("npm-{name}-{}.tgz", about.version), packed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_finds_every_platform_and_runs_nothing_at_installation() {
        let about = About::read().unwrap();
        let manifest: Value = serde_json::from_str(&launcher_manifest(&about).unwrap()).unwrap();
        let script = std::fs::read_to_string(program::root().join("npm/pellucid/bin/pellucid.js")).unwrap();
        for platform in PLATFORMS {
            assert_eq!(manifest["optionalDependencies"][platform.npm()], about.version);
            assert!(script.contains(&format!("\"{}\"", platform.npm())), "{}", platform.npm());
        }
        assert!(manifest["scripts"].is_null());
    }
}
