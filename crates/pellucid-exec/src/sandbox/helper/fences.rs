//! The files, ports and processes that a confined command reaches (Landlock).
//!
//! Landlock only ever grants: a right on a folder is a right on everything beneath, and nothing can be taken out
//! again. So where `.git` must not change and no mount protects it, the folder above it is not granted; its other
//! entries are, one by one. Existing entries can then be changed, and nothing can be added to or removed from that
//! one folder.
//!
//! Not here: what Landlock does not see, such as owners and times of files.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

use landlock::ABI;
use landlock::Access;
use landlock::AccessFs;
use landlock::AccessNet;
use landlock::BitFlags;
use landlock::LandlockStatus;
use landlock::PathBeneath;
use landlock::Ruleset;
use landlock::RulesetAttr;
use landlock::RulesetCreated;
use landlock::RulesetCreatedAttr;
use landlock::RulesetError;
use landlock::RulesetStatus;
use landlock::Scope;
use rustix::fs::FileType;
use rustix::fs::Mode;
use rustix::fs::OFlags;

use super::HelperError;
use super::handles;
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
    grant(&mut ruleset, Path::new("/"), reading)?;
    grant(&mut ruleset, Path::new("/dev/null"), AccessFs::from_all(NEWEST))?;
    grant_roots(&mut ruleset, order)?;
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

/// Grants the roots for writing, or what is in them where something must be spared.
fn grant_roots(ruleset: &mut RulesetCreated, order: &Order) -> Result<(), HelperError> {
    // Elsewhere a mount spares what must be spared.
    let spared: &[PathBuf] = if order.backend == Backend::Landlock { &order.protected } else { &[] };
    for root in &order.writable {
        let opened = handles::open_root(root)?;
        // A root in something protected, such as a work tree in the home folder, is a root.
        let is_around = |path: &PathBuf| root.path.starts_with(path) && root.path != *path;
        let spared: Vec<PathBuf> = spared.iter().filter(|path| !is_around(path)).cloned().collect();
        grant_but(&root.path, &opened, &spared, &mut |path, opened| {
            grant_opened(ruleset, path, opened, AccessFs::from_all(NEWEST))
        })?;
    }
    Ok(())
}

/// Takes a folder, or its entries if something in it must be spared. All are held from the moment in which they are
/// looked at: a name could lead elsewhere the next moment.
fn grant_but(
    path: &Path,
    opened: &OwnedFd,
    spared: &[PathBuf],
    take: &mut impl FnMut(&Path, &OwnedFd) -> Result<(), HelperError>,
) -> Result<(), HelperError> {
    if spared.iter().any(|it| path.starts_with(it)) {
        return Ok(());
    }
    if !spared.iter().any(|it| it.starts_with(path)) {
        return take(path, opened);
    }
    let readable = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::openat(opened, ".", readable, Mode::empty()) else { return Ok(()) };
    let Ok(entries) = rustix::fs::Dir::new(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        // An entry that is gone since it was listed needs no right.
        let held = rustix::fs::openat(opened, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        let Ok(held) = held else { continue };
        // A link is not followed: what it points to may be what must be spared.
        let kind = rustix::fs::fstat(&held).map(|stat| FileType::from_raw_mode(stat.st_mode));
        if kind.is_ok_and(|kind| kind != FileType::Symlink) {
            grant_but(&path.join(name), &held, spared, take)?;
        }
    }
    Ok(())
}

/// Grants something of this machine. What is missing needs no right.
fn grant(ruleset: &mut RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<(), HelperError> {
    match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(opened) => grant_opened(ruleset, path, &opened, access),
        Err(_) => Ok(()),
    }
}

fn grant_opened(
    ruleset: &mut RulesetCreated,
    path: &Path,
    opened: &OwnedFd,
    access: BitFlags<AccessFs>,
) -> Result<(), HelperError> {
    let is_folder =
        rustix::fs::fstat(opened).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory);
    let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
    ruleset
        .add_rule(PathBeneath::new(opened, access))
        .map(drop)
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
        let mut take = |path: &Path, _: &OwnedFd| {
            granted.push(path.to_owned());
            Ok(())
        };
        grant_but(folder.path(), &handles::open(folder.path()).unwrap(), &spared, &mut take).unwrap();
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
