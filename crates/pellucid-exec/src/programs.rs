//! Looks up the programs of a command, and whether a confined command could have put them there.
//!
//! No program is run. Names are looked for as a shell would: names with a folder in them from the working folder, the
//! others on `PATH`, in its order.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::approval::part::CommandParts;
use pellucid_engine::approval::program::FoundProgram;
use pellucid_engine::approval::program::ProgramPlace;
use pellucid_engine::approval::program::Programs;

/// The folders of a system's programs.
const SYSTEM_FOLDERS: &[&str] =
    &["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/run/current-system/sw/bin"];
/// The folders that links in those may lead to.
const SYSTEM_TREES: &[&str] = &["/usr", "/nix/store"];
/// Folders in which every user may write.
const COMMON_FOLDERS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// The surroundings in which a command looks for programs.
#[derive(Debug, Clone)]
pub struct ProgramSearch<'a> {
    /// The working folder of the command.
    pub cwd: &'a Path,
    /// The `PATH` of the command.
    pub search_path: Option<&'a OsStr>,
    /// The folders in which commands may write, in this or another turn.
    pub writable: Vec<PathBuf>,
    /// The person's own shell.
    pub shell: &'a Path,
}

/// Looks up every program that the parts of a command name.
pub fn look_up(parts: &CommandParts, ground: &ProgramSearch<'_>) -> Programs {
    let finder = Finder::new(ground);
    let mut programs = Programs::new(ground.shell.to_str().map(str::to_owned));
    let inner = parts.iter().flat_map(|part| part.inner.iter());
    let names = parts.iter().chain(inner).filter_map(|part| part.words.first()).map(String::as_str);
    for name in names.chain(parts.shell()) {
        programs.add(name, finder.find(name));
    }
    programs
}

struct Finder<'a> {
    ground: &'a ProgramSearch<'a>,
    /// The places that commands may write to, links resolved.
    writable: Vec<PathBuf>,
}

impl<'a> Finder<'a> {
    fn new(ground: &'a ProgramSearch<'a>) -> Self {
        let common = COMMON_FOLDERS.iter().map(PathBuf::from);
        let all = ground.writable.iter().cloned().chain([ground.cwd.to_owned()]).chain(common);
        let writable = all.flat_map(|path| [fs::canonicalize(&path).ok(), Some(path)]).flatten().collect();
        Self { ground, writable }
    }

    fn find(&self, name: &str) -> FoundProgram {
        if name.contains('/') {
            return FoundProgram { place: self.place(&self.ground.cwd.join(name)), behind: None };
        }
        let mut behind = None;
        for folder in self.ground.search_path.into_iter().flat_map(std::env::split_paths) {
            let folder = self.ground.cwd.join(folder);
            let path = folder.join(name);
            if is_executable(&path) {
                return FoundProgram { place: self.place(&path), behind };
            }
            if behind.is_none() && self.is_changeable(&folder) {
                behind = Some(folder.to_string_lossy().into_owned());
            }
        }
        FoundProgram { place: ProgramPlace::Nowhere, behind }
    }

    fn place(&self, path: &Path) -> ProgramPlace {
        let Ok(real) = fs::canonicalize(path) else {
            return ProgramPlace::Nowhere;
        };
        let text = || path.to_string_lossy().into_owned();
        let is_changeable = self.is_changeable(path) || self.is_changeable(&real);
        match (is_systems(path, &real), is_changeable) {
            (true, false) => ProgramPlace::System,
            // Paths that only the administrator may write are out of reach, even where the sandbox would allow
            // writing.
            (true, true) if !is_administrator() => ProgramPlace::System,
            (_, true) => ProgramPlace::Changeable { path: text() },
            (false, false) => ProgramPlace::Elsewhere { path: text() },
        }
    }

    fn is_changeable(&self, path: &Path) -> bool {
        let real = fs::canonicalize(path);
        let is_below = |path: &Path| self.writable.iter().any(|root| path.starts_with(root));
        is_below(path) || real.is_ok_and(|real| is_below(&real))
    }
}

/// Whether a program is found in a folder of the system, and only the administrator writes to it. Links may lead
/// to other places that are the system's.
fn is_systems(path: &Path, real: &Path) -> bool {
    let (Some(Ok(named)), Some(folder)) = (path.parent().map(fs::canonicalize), real.parent()) else {
        return false;
    };
    let is_known = SYSTEM_FOLDERS.iter().any(|known| fs::canonicalize(known).is_ok_and(|known| known == named));
    let is_kept = SYSTEM_TREES.iter().any(|tree| real.starts_with(tree)) || folder == named;
    is_known && is_kept && [&named, folder, real].into_iter().all(is_administrators)
}

#[cfg(unix)]
fn is_administrators(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // A group other than the administrator's may write if its letter is set.
    let is_open = |mode: u32, group: u32| mode & 0o002 != 0 || (mode & 0o020 != 0 && group != 0);
    fs::metadata(path).is_ok_and(|found| found.uid() == 0 && !is_open(found.mode(), found.gid()))
}

#[cfg(not(unix))]
fn is_administrators(_path: &Path) -> bool {
    false
}

#[cfg(unix)]
fn is_administrator() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_administrator() -> bool {
    false
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;

    use super::*;

    fn ground<'a>(cwd: &'a Path, search_path: &'a OsStr, writable: Vec<PathBuf>) -> ProgramSearch<'a> {
        ProgramSearch { cwd, search_path: Some(search_path), writable, shell: Path::new("/bin/sh") }
    }

    fn program(path: &Path) {
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn names_are_what_lies_under_them() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().canonicalize().unwrap();
        fs::create_dir(cwd.join("bin")).unwrap();
        for name in ["cat", "bin/cat", "bin/own"] {
            program(&cwd.join(name));
        }
        symlink("/bin/cat", cwd.join("linked")).unwrap();
        let after = std::env::join_paths(["/usr/bin", "/bin", "bin"]).unwrap();
        let usual = ground(&cwd, &after, Vec::new());
        let finder = Finder::new(&usual);
        assert_eq!(finder.find("cat"), FoundProgram { place: ProgramPlace::System, behind: None });
        assert_eq!(finder.find("/bin/cat").place, ProgramPlace::System);
        assert_eq!(finder.find("/bin/../bin/cat").place, ProgramPlace::System);
        assert_eq!(finder.find("no such program").behind, Some(cwd.join("bin").to_string_lossy().into_owned()));
        for name in ["./cat", "bin/cat", "own", "./linked"] {
            assert!(matches!(finder.find(name).place, ProgramPlace::Changeable { .. }), "{name}");
        }
        let before = std::env::join_paths(["bin", "/usr/bin", "/bin"]).unwrap();
        let shadowed = ground(&cwd, &before, Vec::new());
        assert!(matches!(Finder::new(&shadowed).find("cat").place, ProgramPlace::Changeable { .. }));
        let behind = Finder::new(&shadowed).find("ls");
        assert_eq!(
            behind,
            FoundProgram { place: ProgramPlace::System, behind: Some(cwd.join("bin").to_string_lossy().into_owned()) }
        );
    }

    #[test]
    fn a_link_from_elsewhere_into_the_project_is_the_projects() {
        let (project, other) = (tempfile::tempdir_in("/dev/shm"), tempfile::tempdir_in("/var/lib"));
        let (Ok(project), Ok(other)) = (project, other) else {
            return eprintln!("skipped: needs a folder outside of those that every user may write");
        };
        program(&project.path().join("tool"));
        symlink(project.path().join("tool"), other.path().join("tool")).unwrap();
        program(&other.path().join("own"));
        let path = other.path().as_os_str();
        let ground = ground(project.path(), path, Vec::new());
        let finder = Finder::new(&ground);
        assert!(matches!(finder.find("tool").place, ProgramPlace::Changeable { .. }));
        assert!(matches!(finder.find("own").place, ProgramPlace::Elsewhere { .. }));
        let all = ProgramSearch { writable: vec![other.path().to_owned()], ..ground.clone() };
        assert!(matches!(Finder::new(&all).find("own").place, ProgramPlace::Changeable { .. }));
    }
}
