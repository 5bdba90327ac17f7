//! Which files, ports and processes a confined command reaches (Landlock).
//!
//! Landlock only ever grants: a right on a folder is a right on everything beneath, and nothing can
//! be taken out again. So where `.git` must stay as it is and no mount protects it, the folder above
//! it is not granted; its other entries are, one by one. What is there can then be changed, and
//! nothing can be added to or removed from that one folder.
//!
//! Not here: what Landlock does not see, such as owners and times of files.

use std::os::fd::AsFd;
use std::path::Path;
use std::path::PathBuf;

use landlock::ABI;
use landlock::Access;
use landlock::AccessFs;
use landlock::AccessNet;
use landlock::BitFlags;
use landlock::LandlockStatus;
use landlock::PathBeneath;
use landlock::PathFd;
use landlock::Ruleset;
use landlock::RulesetAttr;
use landlock::RulesetCreated;
use landlock::RulesetCreatedAttr;
use landlock::RulesetError;
use landlock::RulesetStatus;
use landlock::Scope;

use super::HelperError;
use crate::sandbox::Backend;
use crate::sandbox::order::Order;

/// The newest interface that is made use of; an older kernel's fences are lower.
const NEWEST: ABI = ABI::V9;

/// Fences that are ready and not put up yet.
#[derive(Debug)]
pub struct Fences {
    ruleset: RulesetCreated,
}

/// Applies the fences to this process for good. Says which version of the interface the kernel has;
/// nothing if it has none.
pub fn apply(order: &Order) -> Result<Option<u32>, HelperError> {
    prepare(order)?.put_up()
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn failed(error: RulesetError) -> HelperError {
    HelperError::Landlock(error.to_string())
}

/// Makes the fences, for a process that has not been given its files yet.
pub fn prepare(order: &Order) -> Result<Fences, HelperError> {
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(NEWEST)).map_err(failed)?;
    if !order.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST)).map_err(failed)?;
    }
    let ruleset = ruleset.scope(Scope::Signal | Scope::AbstractUnixSocket).map_err(failed)?;
    let mut ruleset = ruleset.create().map_err(failed)?;

    let mut reading = AccessFs::from_read(NEWEST);
    // With network access, services of this machine are reached as before.
    reading.set(AccessFs::ResolveUnix, order.network);
    ruleset = grant(ruleset, Path::new("/"), reading)?;
    ruleset = grant(ruleset, Path::new("/dev/null"), AccessFs::from_all(NEWEST))?;
    for path in writable(order) {
        ruleset = grant(ruleset, &path, AccessFs::from_all(NEWEST))?;
    }
    Ok(Fences { ruleset })
}

impl Fences {
    /// Puts them up around this process, with the terminals that it has in hand. Says which version of the interface
    /// the kernel has; nothing if it has none.
    pub fn put_up(self) -> Result<Option<u32>, HelperError> {
        let status = grant_terminals(self.ruleset)?.restrict_self().map_err(failed)?;
        match (status.ruleset, status.landlock) {
            (RulesetStatus::NotEnforced, _) => Ok(None),
            (_, LandlockStatus::Available { effective_abi, .. }) => Ok(Some(effective_abi as u32)),
            _ => Ok(None),
        }
    }
}

/// What is granted for writing: the roots, or what is in them where something must be spared.
fn writable(order: &Order) -> Vec<PathBuf> {
    if order.backend != Backend::Landlock {
        // A mount spares what must be spared.
        return order.writable.clone();
    }
    let mut granted = Vec::new();
    for root in &order.writable {
        grant_but(root, &order.protected, &mut granted);
    }
    granted
}

/// Adds a folder, or its entries if something in it must be spared.
fn grant_but(path: &Path, spared: &[PathBuf], granted: &mut Vec<PathBuf>) {
    if spared.iter().any(|it| path.starts_with(it)) {
        return;
    }
    if !spared.iter().any(|it| it.starts_with(path)) {
        granted.push(path.to_owned());
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        // A link is not followed: what it points to may be what must be spared.
        if entry.file_type().is_ok_and(|it| !it.is_symlink()) {
            grant_but(&entry.path(), spared, granted);
        }
    }
}

fn grant(ruleset: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, HelperError> {
    // What is gone since it was listed needs no right.
    let Ok(opened) = PathFd::new(path) else { return Ok(ruleset) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    ruleset
        .add_rule(PathBeneath::new(opened, access))
        .map_err(|error| HelperError::Landlock(format!("{}: {error}", path.display())))
}

/// A terminal that the command already has in hand may be opened again by its name.
fn grant_terminals(mut ruleset: RulesetCreated) -> Result<RulesetCreated, HelperError> {
    let (input, output, errors) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    for file in [input.as_fd(), output.as_fd(), errors.as_fd()] {
        if rustix::termios::isatty(file) {
            ruleset = ruleset
                .add_rule(PathBeneath::new(file, AccessFs::from_file(NEWEST)))
                .map_err(|error| HelperError::Landlock(format!("the terminal: {error}")))?;
        }
    }
    Ok(ruleset)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check_granted(files: &[&str], spared: &[&str], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let spared: Vec<_> = spared.iter().map(|it| folder.path().join(it)).collect();
        let mut granted = Vec::new();
        grant_but(folder.path(), &spared, &mut granted);
        let mut granted: Vec<_> =
            granted.iter().map(|it| it.strip_prefix(folder.path()).unwrap().to_str().unwrap()).collect();
        granted.sort_unstable();
        assert_eq!(granted, expected);
    }

    #[test]
    fn a_folder_without_anything_to_spare_is_granted_whole() {
        check_granted(&["a", "b/c"], &[], &[""]);
    }

    #[test]
    fn what_surrounds_something_to_spare_is_granted_piece_by_piece() {
        check_granted(&[".git/config", "a", "b/c"], &[".git"], &["a", "b"]);
        check_granted(&["proj/.git/config", "proj/src/x", "other/y"], &["proj/.git"], &["other", "proj/src"]);
    }

    #[test]
    fn a_root_inside_of_what_is_spared_is_not_granted() {
        check_granted(&[".git/config"], &[""], &[]);
    }
}
