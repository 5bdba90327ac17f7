//! Where the sources of another agent are: in a checkout that is there, in those that were fetched before, or at their address.
//!
//! The command says which of these it takes before it does. Fetched files are kept in the folder `cache` of the home folder, and
//! only those that the import reads.
//!
//! Not here: running git (`pellucid_git::fetch`), and what is looked for in the sources (`pellucid_workspace::pack_import`).

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_agent::own_git;
use pellucid_agent::sandbox;
use pellucid_git::Git;
use pellucid_git::GitError;
use pellucid_git::GitSettings;
use pellucid_git::Repository;
use pellucid_git::fetch;
use pellucid_git::fetch::RemoteTag;
use pellucid_workspace::pack_import;
use serde_json::Value;
use serde_json::json;

use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

/// The folder of the home folder with what was fetched.
const CACHE: &str = "cache";

/// The file in fetched sources that says where they are from.
const FETCHED: &str = ".fetched.json";

/// The folders of the user's home in which a checkout is looked for.
const USUAL: [&str; 3] = ["codex", "codex-src", "src/codex"];

/// Sources of another agent.
#[derive(Debug, PartialEq, Eq)]
pub struct Sources {
    /// The folder with the sources.
    pub folder: PathBuf,
    /// The commit that the sources are of, if that is known.
    pub commit: Option<String>,
}

impl Sources {
    /// The checkout that the user names.
    pub fn given(folder: &Path) -> Self {
        let head = Repository::discover(folder).and_then(|repository| repository.head());
        Self { folder: folder.to_owned(), commit: head.map(|head| head.commit) }
    }
}

/// Finds the sources, or fetches them. With an address they are always fetched.
pub fn find(shared: &Shared, from: Option<&str>) -> Result<Sources, ProgramFailure> {
    let start = Start::new(shared, &StartArgs::default())?;
    let folders = &start.config.folders;
    let kept = folders.home.join(CACHE).join(format!("codex-{}", pack_import::VERSION));
    if from.is_none() {
        let person = start.env.var_os("HOME").map(PathBuf::from);
        if let Some(folder) = person.as_deref().and_then(checkout) {
            style::line(&format!("Reading the texts from the checkout {}", folder.display()));
            return Ok(Sources::given(&folder));
        }
        if pack_import::version_of(&kept).as_deref() == Some(pack_import::VERSION) {
            style::line(&format!("Reading the texts from the sources that were fetched before, {}", kept.display()));
            return Ok(Sources { commit: commit(&kept), folder: kept });
        }
    }
    fetched(&start, from.unwrap_or(pack_import::URL), kept)
}

/// A checkout of the release at a usual place of the user's home folder. The working folder is not looked at: a project of others
/// must not give the texts of a pack unless the user names it.
fn checkout(person: &Path) -> Option<PathBuf> {
    USUAL
        .iter()
        .map(|name| person.join(name))
        .find(|folder| pack_import::version_of(folder).as_deref() == Some(pack_import::VERSION))
}

fn commit(folder: &Path) -> Option<String> {
    let text = pellucid_files::read_text(&folder.join(FETCHED), pellucid_files::TEXT_BYTES_MAX).ok()?;
    let fetched: Value = serde_json::from_str(&text).ok()?;
    Some(fetched["commit"].as_str()?.to_owned())
}

fn fetched(start: &Start, url: &str, kept: PathBuf) -> Result<Sources, ProgramFailure> {
    let failed = |error: GitError| {
        let tag = pack_import::TAG;
        ProgramFailure::new(format!(
            "the sources could not be fetched: {error}\nhint: make a checkout of the tag {tag} yourself and name its folder: \
             `pellucid pack import codex DIR`"
        ))
    };
    let config = &start.config;
    // The working folder has no part in this, and whether it is trusted neither.
    let git = Git::new(GitSettings {
        sandbox: sandbox::of(config),
        home: config.folders.home.clone(),
        variables: start.env.variables().clone(),
        trust: None,
        writable: own_git::writable(config, &start.env),
    });
    let remote = RemoteTag { url, tag: pack_import::TAG };
    remote.check().map_err(failed)?;
    let program = fetch::program(&git, &config.folders.cwd).map_err(failed)?;
    style::line(&format!(
        "Fetching the tag {} of {url} with {}, confined, into {}",
        pack_import::TAG,
        program.display(),
        kept.display()
    ));
    let revision = fetch::read(&git, remote, &config.folders.cwd, &pack_import::reads).map_err(failed)?;
    keep(&revision, url, &kept).map_err(|error| {
        ProgramFailure::new(format!("could not write the sources into {}: {error}", kept.display()))
    })?;
    Ok(Sources { folder: kept, commit: Some(revision.commit) })
}

/// Writes the files beside their place, and moves them there when all are written.
fn keep(revision: &pellucid_git::revision::Revision, url: &str, kept: &Path) -> std::io::Result<()> {
    let new = kept.with_extension("new");
    remove(&new)?;
    pellucid_files::make_private_folder(&new)?;
    for file in revision.files.iter().filter(|file| !file.is_link) {
        let path = new.join(&file.path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, &file.bytes)?;
    }
    let about = json!({ "url": url, "tag": pack_import::TAG, "commit": revision.commit });
    fs::write(new.join(FETCHED), format!("{about:#}\n"))?;
    remove(kept)?;
    fs::rename(&new, kept)
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_of_the_release_is_found_and_one_of_another_is_not() {
        let top = tempfile::tempdir().unwrap();
        let make = |folder: &str, version: &str| {
            let folder = top.path().join(folder);
            fs::create_dir_all(folder.join("codex-rs")).unwrap();
            let manifest = format!("[workspace.package]\nversion = \"{version}\"\n");
            fs::write(folder.join("codex-rs/Cargo.toml"), manifest).unwrap();
            folder
        };
        make("codex", "0.0.0");
        make("elsewhere", pack_import::VERSION);
        assert_eq!(checkout(top.path()), None);
        let usual = make("src/codex", pack_import::VERSION);
        assert_eq!(checkout(top.path()), Some(usual));
    }
}
