//! Finds git: the first in the user's `PATH` that a project cannot have put there.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// Folders of the system, looked at after those of `PATH`.
const SYSTEM: [&str; 4] = ["/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin"];

/// Git, and the folders in which it may look for more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitProgram {
    /// The path of the git program.
    pub path: PathBuf,
    /// The value of `PATH` for it.
    pub folders: OsString,
}

/// Finds git outside of the folders that are avoided: the project, and wherever commands may write.
pub fn find(variables: &BTreeMap<OsString, OsString>, avoided: &[PathBuf]) -> Option<GitProgram> {
    let avoided: Vec<PathBuf> = avoided.iter().filter_map(|folder| fs::canonicalize(folder).ok()).collect();
    let is_fine = |path: &Path| !avoided.iter().any(|folder| path.starts_with(folder));
    let named = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    // A relative folder is one of the project.
    let absolute = env::split_paths(&named).filter(|folder| folder.is_absolute());
    let real = |folder: PathBuf| fs::canonicalize(folder).ok().filter(|folder| is_fine(folder));
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in absolute.chain(SYSTEM.iter().map(PathBuf::from)).filter_map(real) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    let program = |folder: &PathBuf| {
        let path = folder.join("git");
        let is_program = path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
        // The target of a link is checked; the program is started by the name of the link, which may decide its
        // behaviour.
        (is_program && fs::canonicalize(&path).is_ok_and(|real| is_fine(&real))).then_some(path)
    };
    let path = folders.iter().find_map(program)?;
    // Names with a colon cannot be in such a list, and were not before.
    let folders =
        env::join_paths(folders.iter().filter(|it| !it.as_os_str().as_encoded_bytes().contains(&b':'))).ok()?;
    Some(GitProgram { path, folders })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_project_cannot_bring_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let make = |path: &str| {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        make("project/bin/git");
        make("good/git");
        fs::create_dir(top.join("linked")).unwrap();
        symlink("../project/bin/git", top.join("linked/git")).unwrap();
        symlink("project/bin", top.join("inside")).unwrap();
        let found = |folders: &[&str]| {
            let folders = folders.iter().map(|it| if it.starts_with('.') { it.into() } else { top.join(it) });
            let variables = BTreeMap::from([("PATH".into(), env::join_paths(folders).unwrap())]);
            let found = find(&variables, &[top.join("project")])?;
            let is_clean = !found.folders.to_string_lossy().contains("project");
            assert!(is_clean, "{:?}", found.folders);
            found.path.strip_prefix(&top).map(Path::to_owned).ok()
        };
        let good = Some(PathBuf::from("good/git"));
        assert_eq!(found(&["good"]), good);
        assert_eq!(found(&["project/bin", "inside", "linked", ".", "./bin", "gone", "good", "project"]), good);
        assert_eq!(found(&["project/bin"]), None);
    }
}
