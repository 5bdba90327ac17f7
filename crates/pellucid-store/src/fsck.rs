//! Looks whether session files, names and index are whole. Changes nothing.
//!
//! The caller passes the function that verifies one session, which `replay` uses as well, so that both commands find
//! the same.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde::Serialize;

use crate::index::SessionIndex;
use crate::lines::Forwards;
use crate::name;
use crate::name::REQUESTS;
use crate::names;
use crate::read::LineReading;
use crate::read::read_line;
use crate::walk;
use crate::walk::FoundSession;
use crate::walk::SessionPlace;

/// How much of the names of sessions is looked at.
const NAMES_BYTES_MAX: u64 = 256 << 20;

/// The number of files that were checked, and their problems.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FsckReport {
    /// The number of session files.
    pub n_sessions: usize,
    /// How many of them have a record of what was sent.
    pub n_chains: usize,
    /// How many sessions have requests that cannot be proved, though nothing is known to be different.
    pub n_unproved: usize,
    /// Every problem, in the order of the files.
    pub problems: Vec<FsckProblem>,
}

/// The result of verifying one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Looked {
    /// Every problem of the session and its record.
    pub problems: Vec<FsckProblem>,
    /// Whether not everything can be proved.
    pub is_unproved: bool,
}

/// One problem, with the path of its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FsckProblem {
    /// The file, from the home folder.
    pub path: String,
    /// A sentence about the problem, without the path.
    pub what: String,
    /// Whether something is lost or was changed, and not only torn.
    pub is_serious: bool,
}

/// Checks everything in a home folder, or one session alone. `look` verifies one session file against its record.
pub fn check(home: &Path, only: Option<&str>, look: &mut dyn FnMut(&Path) -> Looked) -> FsckReport {
    let mut findings = FsckReport::default();
    let mut files = walk::walk(home, SessionPlace::Live);
    files.extend(walk::walk(home, SessionPlace::Archived));
    files.retain(|file| only.is_none_or(|id| file.id() == id));
    files.sort();
    let mut ids = BTreeSet::new();
    for file in &files {
        findings.n_sessions += 1;
        findings.session(home, file);
        let looked = look(&home.join(&file.relative));
        findings.n_unproved += usize::from(looked.is_unproved);
        findings.problems.extend(looked.problems);
        if !ids.insert(file.id().to_owned()) {
            findings.add(&file.relative, "another file has the same session", true);
        }
        if let Some(path) = name::requests_path(home, file.name())
            && path.exists()
        {
            findings.n_chains += 1;
        }
    }
    if only.is_none() {
        findings.names(home);
        findings.lone_chains(home, &ids);
        findings.index(home);
    }
    findings
}

impl FsckReport {
    fn add(&mut self, path: &str, what: impl Into<String>, is_serious: bool) {
        self.problems.push(FsckProblem { path: path.to_owned(), what: what.into(), is_serious });
    }

    fn session(&mut self, home: &Path, file: &FoundSession) {
        let lines = pellucid_files::open(&home.join(&file.relative)).and_then(|it| Forwards::new(it, 0, u64::MAX));
        let mut lines = match lines {
            Ok(lines) => lines,
            Err(error) => return self.add(&file.relative, format!("cannot be read: {error}"), true),
        };
        let (mut n, mut set_aside) = (0, Vec::new());
        loop {
            let line = match lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => return self.add(&file.relative, format!("cannot be read: {error}"), true),
            };
            n += 1;
            if read_line(line.bytes) == LineReading::SetAside && !line.is_blank() {
                set_aside.push(n.to_string());
            }
        }
        if !set_aside.is_empty() {
            let what = format!("lines that cannot be read are set aside: {}", set_aside.join(", "));
            self.add(&file.relative, what, false);
        }
    }

    fn names(&mut self, home: &Path) {
        let text = match pellucid_files::read(&names::path(home), NAMES_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.add("session_index.jsonl", format!("cannot be read: {error}"), false),
        };
        for (n, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let is_blank = line.iter().all(u8::is_ascii_whitespace);
            if !is_blank && serde_json::from_slice::<serde_json::Value>(line).is_err() {
                self.add("session_index.jsonl", format!("line {} cannot be read", n + 1), false);
            }
        }
    }

    /// Records of sessions whose files are gone.
    fn lone_chains(&mut self, home: &Path, ids: &BTreeSet<String>) {
        let mut folders = vec![home.join(REQUESTS)];
        let mut lone = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path: PathBuf = entry.path();
                let name = entry.file_name().to_string_lossy().into_owned();
                if path.is_dir() && name.parse::<u16>().is_ok() {
                    folders.push(path);
                } else if let Some(rest) = name.strip_prefix("requests-")
                    && let Some(id) = name::session_id(&format!("rollout-{rest}"))
                    && !ids.contains(id)
                {
                    lone.push(path.strip_prefix(home).unwrap_or(&path).to_string_lossy().into_owned());
                }
            }
        }
        lone.sort();
        for path in lone {
            self.add(&path, "its session file is gone", false);
        }
    }

    fn index(&mut self, home: &Path) {
        if let Some(Err(what)) = SessionIndex::look(home) {
            let is_file = home.join(crate::index::FILE).is_file();
            let hint = if is_file { "; the next list of sessions rebuilds it" } else { "" };
            self.add(crate::index::FILE, format!("{what}{hint}"), false);
        }
    }
}

#[cfg(test)]
mod tests;
