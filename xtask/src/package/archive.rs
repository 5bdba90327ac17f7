//! Archives that are the same bytes for the same files: order, owner, times and modes are fixed.
//!
//! `tar.gz` for people, npm and `.deb`; `ar` is the envelope of a `.deb`.

use std::io::Write;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};

use super::entry::{Entry, folders};

/// How much time an archive may take to become small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// None, for checks: the result is thrown away.
    Quick,
    /// For people who download.
    Small,
}

/// A gzip stream without a name and with a fixed time.
pub fn gzip(bytes: &[u8], effort: Effort) -> Result<Vec<u8>> {
    let level = if effort == Effort::Quick { Compression::none() } else { Compression::best() };
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), level);
    gzip.write_all(bytes).and_then(|()| gzip.finish()).context("could not compress")
}

/// Whether an archive lists folders besides files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folders {
    Listed,
    Implied,
}

/// A `tar` archive of entries whose paths begin with `prefix`. `time` is the time of every file, in seconds of Unix time.
pub fn tar(entries: &[Entry], prefix: &str, folders_are: Folders, time: u64) -> Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut append = |path: &str, kind: tar::EntryType, mode: u32, bytes: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(time);
        header.set_uid(0);
        header.set_gid(0);
        header.set_username("root")?;
        header.set_groupname("root")?;
        header.set_size(bytes.len() as u64);
        // The path is written as it is: `./` in front belongs to a `.deb`.
        let name = format!("{prefix}{path}");
        let place = header.as_ustar_mut().context("the header is a ustar header")?;
        let (folder, rest) = halves(&name).with_context(|| format!("{name} is too long for an archive"))?;
        place.prefix[..folder.len()].copy_from_slice(folder.as_bytes());
        place.name[..rest.len()].copy_from_slice(rest.as_bytes());
        header.set_cksum();
        builder.append(&header, bytes).with_context(|| format!("could not pack {path}"))
    };
    if folders_are == Folders::Listed {
        append("", tar::EntryType::Directory, 0o755, &[])?;
        for folder in folders(entries) {
            append(&format!("{folder}/"), tar::EntryType::Directory, 0o755, &[])?;
        }
    }
    for entry in entries {
        append(&entry.path, tar::EntryType::Regular, entry.mode(), &entry.bytes)?;
    }
    builder.into_inner().context("could not finish the archive")
}

/// A path in the two fields of a header: a folder of at most 155 bytes if 100 bytes are too few for the path, and the rest.
fn halves(path: &str) -> Option<(&str, &str)> {
    if path.len() <= 100 {
        return Some(("", path));
    }
    let at = path.match_indices('/').map(|(at, _)| at).find(|at| path.len() - at - 1 <= 100)?;
    (at <= 155).then(|| (&path[..at], &path[at + 1..]))
}

/// An `ar` archive, whose members have no folder.
pub fn ar(members: &[(&str, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, member) in members {
        let header = format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", member.len());
        bytes.extend(header.as_bytes());
        bytes.extend(member);
        if member.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_the_same_bytes() {
        let entries = [Entry::program("bin/p", vec![1, 2, 3]), Entry::text("share/t", "text")];
        let pack = || gzip(&tar(&entries, "top/", Folders::Implied, 7).unwrap(), Effort::Quick).unwrap();
        assert_eq!(pack(), pack());
    }

    #[test]
    fn a_tar_keeps_paths_modes_and_bytes() {
        let entries = [Entry::program("bin/p", vec![1, 2, 3]), Entry::text("share/t", "text")];
        let bytes = tar(&entries, "./", Folders::Listed, 7).unwrap();
        let mut found = Vec::new();
        for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
            let entry = entry.unwrap();
            let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            found.push(format!(
                "{path} {:o} {} {}",
                entry.header().mode().unwrap(),
                entry.size(),
                entry.header().mtime().unwrap()
            ));
        }
        assert_eq!(found, ["./ 755 0 7", "./bin/ 755 0 7", "./share/ 755 0 7", "./bin/p 755 3 7", "./share/t 644 4 7"]);
    }

    #[test]
    fn a_long_path_is_kept() {
        let path = format!("{}/{}", "f".repeat(90), "n".repeat(90));
        let bytes = tar(&[Entry::text(&path, "")], "", Folders::Implied, 7).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let paths: Vec<_> = archive.entries().unwrap().map(|it| it.unwrap().path_bytes().into_owned()).collect();
        assert_eq!(paths, [path.into_bytes()]);
        assert!(tar(&[Entry::text("n".repeat(101), "")], "", Folders::Implied, 7).is_err());
    }

    #[test]
    fn members_of_an_ar_begin_at_even_places() {
        let bytes = ar(&[("one", vec![b'x']), ("two", vec![b'y'])], 0);
        assert_eq!(bytes.len(), 8 + 60 + 2 + 60 + 2);
        assert_eq!(&bytes[8 + 60..8 + 62], b"x\n");
    }
}
