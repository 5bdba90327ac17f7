//! What every package says of the program.

use anyhow::{Context, Result};

use crate::program;

/// The address that releases are downloaded from, without a slash at the end. Everything that names an address takes this one.
///
/// Empty until the project has one; then `repository` in `Cargo.toml` is the project's page, for `cargo binstall`. With an
/// empty address, packages name none, and `install.sh` asks for a folder or an address.
pub const ADDRESS: &str = "";

/// What a package says of the program.
#[derive(Debug, Clone)]
pub struct About {
    pub version: String,
    pub license: String,
    pub summary: String,
    pub description: String,
    pub address: &'static str,
    /// The time of the commit, in seconds of Unix time: that of every file in every package.
    pub time: u64,
    /// The commit that the program is built from, with ` and changes` if files were changed since.
    pub commit: String,
}

impl About {
    /// Reads the manifest and the state of the checkout.
    pub fn read() -> Result<Self> {
        let described = program::metadata(&["--no-deps"])?;
        let package = program::package_of(&described, "pellucid")?;
        let text =
            |key: &str| package[key].as_str().with_context(|| format!("the manifest of pellucid has no `{key}`"));
        let git = |words: &[&str]| {
            let mut git = std::process::Command::new("git");
            program::text_of(git.current_dir(program::root()).args(words)).map(|it| it.trim().to_string())
        };
        // A source archive has no commit. Its files get the time 0.
        let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|_| "not a checkout".to_string());
        let changes = git(&["status", "--porcelain"]).unwrap_or_default();
        Ok(Self {
            version: text("version")?.to_string(),
            license: text("license")?.to_string(),
            summary: text("description")?.to_string(),
            description:
                "Pellucid works like the Codex CLI: same configuration, same instruction files, same requests. It also \
                          shows what the model receives, where every byte of it comes from, and what was left out."
                    .to_string(),
            address: ADDRESS,
            time: git(&["log", "-1", "--format=%ct"])
                .unwrap_or_else(|_| "0".to_string())
                .parse()
                .context("git says when the commit was made")?,
            commit: if changes.is_empty() { commit } else { format!("{commit} and changes") },
        })
    }

    /// The version in a `.rpm`, where `-` separates it from the release. `~` sorts before everything.
    pub fn rpm_version(&self) -> String {
        self.version.replace('-', "~")
    }

    /// The version in a `.deb`.
    pub fn deb_version(&self) -> String {
        format!("{}-1", self.rpm_version())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_said_once() {
        let described = program::metadata(&["--no-deps"]).unwrap();
        let repository = &program::package_of(&described, "pellucid").unwrap()["repository"];
        assert_eq!(repository.as_str().unwrap_or_default().is_empty(), ADDRESS.is_empty());
        assert!(!ADDRESS.ends_with('/'));
    }

    #[test]
    fn a_version_before_a_release_sorts_before_it() {
        let mut about = About::read().unwrap();
        about.version = "1.2.0-rc.1".to_string();
        assert_eq!((about.rpm_version().as_str(), about.deb_version().as_str()), ("1.2.0~rc.1", "1.2.0~rc.1-1"));
    }
}
