//! Finds the session files whose session contains a text, without reading them as JSON.
//!
//! A session's texts are in its file, in its record of requests, and in the long texts that the record refers to. All of
//! these are searched as bytes, a block of whole lines at a time, by several threads. The result says which sessions
//! are worth being rebuilt.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use memchr::memmem;

use crate::name;
use crate::name::REQUESTS;
use crate::walk;
use crate::walk::FoundSession;

/// How many bytes are read at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// The text in a record before the name of a long text.
const PART_KEY: &[u8] = b"\"sha256\":\"";

/// The length of such a name.
const PART_CHARS: usize = 64;

/// Whether bytes contain what is searched for. The bytes are whole lines.
pub type BytesMatch<'m> = dyn Fn(&[u8]) -> bool + Sync + 'm;

/// What a search found.
#[derive(Debug, Default)]
pub struct FoundTexts {
    /// The sessions that may contain the text, in the order in which they were given.
    pub sessions: Vec<FoundSession>,
    /// Files that cannot be read, and why not.
    pub unreadable: Vec<(PathBuf, io::Error)>,
}

/// The sessions that contain a match.
pub fn search(home: &Path, sessions: &[FoundSession], is_match: &BytesMatch<'_>) -> FoundTexts {
    let mut found = FoundTexts::default();
    let parts = part_files(home);
    let (hits, unreadable) = each(&parts, &|path| has_match(path, is_match));
    found.unreadable.extend(unreadable);
    let names = hits.iter().filter_map(|at| parts[*at].file_name()?.to_str());
    let names: BTreeSet<&[u8]> = names.map(str::as_bytes).collect();
    let is_match_or_part =
        |bytes: &[u8]| is_match(bytes) || (!names.is_empty() && referred(bytes).any(|name| names.contains(name)));
    let files: Vec<(PathBuf, Option<PathBuf>)> = sessions
        .iter()
        .map(|session| (home.join(&session.relative), name::requests_path(home, session.name())))
        .collect();
    let of_session = |(file, record): &(PathBuf, Option<PathBuf>)| {
        let is_found = has_match(file, is_match)?;
        match record {
            Some(record) if !is_found => match has_match(record, &is_match_or_part) {
                Err((_, error)) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                found => found,
            },
            _ => Ok(is_found),
        }
    };
    let (hits, unreadable) = each(&files, &of_session);
    found.sessions = hits.into_iter().map(|at| sessions[at].clone()).collect();
    found.unreadable.extend(unreadable);
    found
}

type Outcome = Result<bool, (PathBuf, io::Error)>;

/// Asks a question about every value, with several threads. Gives the indexes for which the answer is yes, in order, and
/// the failures.
fn each<T: Sync>(all: &[T], ask: &(dyn Fn(&T) -> Outcome + Sync)) -> (Vec<usize>, Vec<(PathBuf, io::Error)>) {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new((Vec::new(), Vec::new()));
    let work = || {
        while let Some((at, value)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, all.get(at)?)))
        {
            let outcome = ask(value);
            if let Ok(mut outcomes) = outcomes.lock() {
                match outcome {
                    Ok(true) => outcomes.0.push(at),
                    Ok(false) => {}
                    Err(error) => outcomes.1.push(error),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..walk::n_threads().min(all.len()) {
            scope.spawn(work);
        }
        work();
    });
    let (mut hits, mut failures) = outcomes.into_inner().unwrap_or_default();
    hits.sort_unstable();
    failures.sort_by(|(a, _), (b, _)| a.cmp(b));
    (hits, failures)
}

/// The files of all long texts.
fn part_files(home: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let folders = below(&home.join(REQUESTS).join("parts"));
    let is_part = |path: &PathBuf| path.file_name().is_some_and(|name| name.len() == PART_CHARS);
    let mut files: Vec<PathBuf> = folders.iter().flat_map(|folder| below(folder)).filter(is_part).collect();
    files.sort_unstable();
    files
}

/// The names of the long texts that lines of a record refer to, and digests of other things.
pub(crate) fn referred(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    memmem::find_iter(bytes, PART_KEY).filter_map(|at| {
        let start = at + PART_KEY.len();
        bytes.get(start..start + PART_CHARS)
    })
}

/// Whether a file contains a match. Blocks end with a line, so that no match is cut.
fn has_match(path: &Path, is_match: &BytesMatch<'_>) -> Outcome {
    let failed = |error| (path.to_owned(), error);
    let mut file = pellucid_files::open(path).map_err(failed)?;
    let mut buffer: Vec<u8> = Vec::with_capacity(2 * BLOCK_BYTES);
    loop {
        let n_left = buffer.len();
        let n = file.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut buffer).map_err(failed)?;
        if n == 0 {
            return Ok(!buffer.is_empty() && is_match(&buffer));
        }
        if let Some(end) = memchr::memrchr(b'\n', &buffer[n_left..]).map(|at| n_left + at + 1) {
            if is_match(&buffer[..end]) {
                return Ok(true);
            }
            buffer.drain(..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

    use super::*;
    use crate::walk::SessionPlace;

    fn name(n: usize) -> String {
        format!("2026-01-02T03-04-05-019a0000-0000-7000-8000-{n:012}.jsonl")
    }

    #[test]
    fn files_records_and_long_texts_are_searched_wherever_blocks_end() {
        let home = Workspace::empty();
        let day = "2026/01/02";
        let sha = "ab".repeat(32);
        let filler = "x".repeat(BLOCK_BYTES - 3);
        home.write(format!("sessions/{day}/rollout-{}", name(1)), format!("{filler}needle\nmore\n"));
        home.write(format!("sessions/{day}/rollout-{}", name(2)), "nothing\n");
        home.write(format!("requests/{day}/requests-{}", name(2)), "a\nneedle without an end");
        home.write(format!("sessions/{day}/rollout-{}", name(3)), "nothing\n");
        home.write(format!("requests/{day}/requests-{}", name(3)), format!("{{\"sha256\":\"{sha}\",\"bytes\":9}}\n"));
        home.write(format!("sessions/{day}/rollout-{}", name(4)), "nothing, and no record\n");
        home.write(format!("requests/parts/ab/{sha}"), "a needle in a long text");
        home.write(format!("archived_sessions/rollout-{}", name(5)), "needle\n");
        let mut sessions: Vec<FoundSession> = [SessionPlace::Live, SessionPlace::Archived]
            .into_iter()
            .flat_map(|place| walk::walk(home.root(), place))
            .collect();
        sessions.sort_by(|a, b| a.name().cmp(b.name()));
        let found = search(home.root(), &sessions, &|bytes| memmem::find(bytes, b"needle").is_some());
        let ids: Vec<&str> = found.sessions.iter().map(|it| &it.id()[35..]).collect();
        assert_eq!((ids, found.unreadable.len()), (vec!["1", "2", "3", "5"], 0));
    }
}
