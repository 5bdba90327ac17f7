//! The last hash of every session, in one file of the home folder.
//!
//! Every record has the hash of the one before, so a changed record shows; but a record whose end was cut off is as
//! whole as before. So behind every seal the hash of its line, the *anchor*, is also added to a file that all sessions
//! share. To hide that the end of a record was cut, or that it was removed, that file has to be cut as well. Against that, keep an
//! anchor elsewhere.
//!
//! Many processes add lines at the same time: each adds one whole line with a single write to a file that is open for
//! appending. Lines that cannot be read are counted and passed over. Nothing is locked: a confined command that can read
//! the file could hold a lock for ever.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use pellucid_files::Disk;
use serde::Deserialize;
use serde::Serialize;

use crate::lines::Forwards;

/// The file, in the home folder.
pub const FILE: &str = "anchors.jsonl";

/// At most this many bytes are read, from the end of the file: the last seals of about half a million turns.
const BYTES_MAX: u64 = 64 << 20;

/// The hash of a session's last line at some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The id of the session.
    pub session: String,
    /// The number of the record.
    pub n: u64,
    /// The hash of its line.
    pub sha256: String,
}

/// The hashes of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anchors {
    all: BTreeMap<String, Vec<Anchor>>,
    /// How many lines cannot be read.
    pub n_unreadable: usize,
    /// How many bytes at the start of the file were not looked at, because it is too long.
    pub n_bytes_passed: u64,
    /// Why the file cannot be read, if it exists.
    pub failure: Option<String>,
}

impl Anchors {
    /// Reads the file of a home folder, for one session or for all. Without a file the result is empty.
    pub fn read(home: &Path, only: Option<&str>) -> Self {
        let mut anchors = Self::default();
        if let Err(error) = anchors.add_all(home, only)
            && error.kind() != io::ErrorKind::NotFound
        {
            anchors.failure = Some(error.to_string());
        }
        anchors
    }

    fn add_all(&mut self, home: &Path, only: Option<&str>) -> io::Result<()> {
        let file = pellucid_files::open(&home.join(FILE))?;
        self.n_bytes_passed = file.metadata()?.len().saturating_sub(BYTES_MAX);
        let mut lines = Forwards::new(file, self.n_bytes_passed, u64::MAX)?;
        if self.n_bytes_passed > 0 {
            // The first line begins before what is read.
            lines.next_line()?;
        }
        while let Some(line) = lines.next_line()? {
            if line.is_blank() || only.is_some_and(|id| memchr::memmem::find(line.bytes, id.as_bytes()).is_none()) {
                continue;
            }
            match serde_json::from_slice::<Anchor>(line.bytes) {
                Ok(anchor) => {
                    self.all.entry(anchor.session.clone()).or_default().push(anchor);
                }
                Err(_) => self.n_unreadable += 1,
            }
        }
        Ok(())
    }

    /// The hashes of a session, the last one at the end. All count: a record that was cut and then continued has the last
    /// one, but not those before.
    pub fn of(&self, session: &str) -> &[Anchor] {
        self.all.get(session).map(Vec::as_slice).unwrap_or_default()
    }

    /// A warning for the user about damage of the file itself.
    pub fn warning(&self) -> Option<String> {
        if let Some(failure) = &self.failure {
            return Some(format!("{FILE} cannot be read, so a truncated record would not be detected: {failure}"));
        }
        (self.n_unreadable > 0).then(|| {
            let n = self.n_unreadable;
            format!("{FILE} has {n} unreadable lines; the last hashes in them are lost")
        })
    }
}

/// Adds the last hash of a session.
///
/// # Errors
/// When the file cannot be written.
pub fn append(disk: &dyn Disk, home: &Path, anchor: &Anchor) -> io::Result<()> {
    let mut line = serde_json::to_vec(anchor)?;
    line.push(b'\n');
    pellucid_files::add_line(disk, &home.join(FILE), &line)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pellucid_files::RealDisk;
    use pellucid_testkit::Workspace;

    use super::*;

    fn anchor(session: &str, n: u64) -> Anchor {
        Anchor { session: session.to_owned(), n, sha256: format!("{n:064x}") }
    }

    #[test]
    fn every_line_of_a_session_counts() {
        let home = Workspace::empty();
        assert_eq!(Anchors::read(home.root(), None), Anchors::default());
        for (session, n) in [("a", 1), ("b", 7), ("a", 2)] {
            append(&RealDisk, home.root(), &anchor(session, n)).unwrap();
        }
        let anchors = Anchors::read(home.root(), None);
        assert_eq!(anchors.of("a"), [anchor("a", 1), anchor("a", 2)]);
        assert_eq!((anchors.of("c"), anchors.warning()), (&[][..], None));
        assert_eq!(Anchors::read(home.root(), Some("b")).of("b"), [anchor("b", 7)]);
    }

    #[test]
    fn a_torn_line_costs_no_more_than_itself() {
        let home = Workspace::empty();
        append(&RealDisk, home.root(), &anchor("a", 1)).unwrap();
        let text = home.read(FILE);
        home.write(FILE, &text[..text.len() - 9]);
        append(&RealDisk, home.root(), &anchor("b", 1)).unwrap();
        let anchors = Anchors::read(home.root(), None);
        assert_eq!((anchors.of("a"), anchors.of("b")), (&[][..], &[anchor("b", 1)][..]));
        let warning = "anchors.jsonl has 1 unreadable lines; the last hashes in them are lost";
        assert_eq!(anchors.warning().as_deref(), Some(warning));
    }

    #[test]
    fn many_writers_lose_nothing() {
        let home = Workspace::empty();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let root = home.root();
                scope.spawn(move || {
                    for n in 0..50 {
                        append(&RealDisk, root, &anchor(&format!("s{writer}"), n)).unwrap();
                    }
                });
            }
        });
        let anchors = Anchors::read(home.root(), None);
        for writer in 0..8 {
            let session = format!("s{writer}");
            let expected: Vec<Anchor> = (0..50).map(|n| anchor(&session, n)).collect();
            assert_eq!(anchors.of(&session), expected);
        }
        assert_eq!(anchors.n_unreadable, 0);
    }

    #[test]
    fn a_folder_in_its_place_is_named() {
        let home = Workspace::empty();
        fs::create_dir(home.path(FILE)).unwrap();
        let warning =
            "anchors.jsonl cannot be read, so a truncated record would not be detected: Is a directory (os error 21)";
        assert_eq!(Anchors::read(home.root(), None).warning().as_deref(), Some(warning));
        assert!(append(&RealDisk, home.root(), &anchor("a", 1)).is_err());
    }
}
