//! Whether everything in a home folder is whole: what `pellucid_store::fsck` sees, and of every session what its replay
//! says. One function is below both, so they find the same and end with the same status.

use std::path::Path;

use pellucid_store::fsck;
use pellucid_store::fsck::FsckProblem;
use pellucid_store::fsck::FsckReport;
use pellucid_store::fsck::Looked;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::read::ReadError;
use pellucid_store::requests::anchors;
use pellucid_store::requests::anchors::Anchors;

use crate::replay;
use crate::replay::Replay;
use crate::replay::ReplayStatus;
use crate::replay::Verdict;

/// The note about an empty session file without a record.
const NEVER_WRITTEN: &str = "the session file is empty: the session ended before its first line was written";

/// Looks at everything of a home folder, or at one session alone.
pub fn check(home: &Path, only: Option<&str>) -> FsckReport {
    let kept = Anchors::read(home, only);
    let mut findings = fsck::check(home, only, &mut |path| look(home, path, &kept));
    if let Some(what) = kept.warning() {
        findings.problems.push(note(anchors::FILE, what));
    }
    findings
}

/// What came of it, in a word: that of the worst session.
pub fn status(findings: &FsckReport) -> ReplayStatus {
    if findings.problems.iter().any(|problem| problem.is_serious) {
        ReplayStatus::Refuted
    } else if findings.n_unproved > 0 {
        ReplayStatus::NotProvable
    } else {
        ReplayStatus::Proved
    }
}

/// What `replay` says of a session.
fn look(home: &Path, path: &Path, kept: &Anchors) -> Looked {
    let shown = path.strip_prefix(home).unwrap_or(path).to_string_lossy().into_owned();
    let file = match read::open_damaged(path) {
        Ok(file) => Ok(file),
        // A process that is killed before its first line leaves an empty file. Only a record shows that something was lost.
        Err(ReadError::Empty { .. }) if !has_record(home, path) => {
            return Looked { problems: vec![note(&shown, NEVER_WRITTEN.to_owned())], is_unproved: false };
        }
        Err(error) => Err(error.to_string()),
    };
    let replayed =
        file.and_then(|file| replay::replay_with(home, &file, None, kept).map_err(|error| error.to_string()));
    match replayed {
        Ok(replay) => {
            Looked { is_unproved: replay.status() == ReplayStatus::NotProvable, problems: problems(&shown, &replay) }
        }
        Err(what) => Looked { problems: vec![FsckProblem { path: shown, what, is_serious: true }], is_unproved: false },
    }
}

/// Whether the session of a file has a record of what it sent.
fn has_record(home: &Path, path: &Path) -> bool {
    let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name::requests_path(home, file_name).is_some_and(|path| path.exists())
}

fn note(path: &str, what: String) -> FsckProblem {
    FsckProblem { path: path.to_owned(), what, is_serious: false }
}

fn problems(path: &str, replay: &Replay) -> Vec<FsckProblem> {
    let mut problems = Vec::new();
    for damage in &replay.damages {
        problems.push(FsckProblem { path: damage.file.clone(), what: damage.what().to_string(), is_serious: true });
    }
    for (n, outcome) in replay.requests.iter().enumerate() {
        if let Verdict::Differs(_) = outcome.verdict {
            let what = format!("request {} of turn {} {}", n + 1, outcome.turn, outcome.verdict);
            problems.push(FsckProblem { path: path.to_owned(), what, is_serious: true });
        }
    }
    let unproved = replay
        .requests
        .iter()
        .find(|outcome| matches!(outcome.verdict, Verdict::NotProvable { .. } | Verdict::EqualInLength));
    if let Some(first) = unproved {
        let n = replay.counts().2;
        problems.push(note(path, format!("{n} of {} requests {}", replay.requests.len(), first.verdict)));
    } else if replay.is_redacted {
        problems.push(note(path, replay::REDACTED.to_owned()));
    } else if replay.is_filled {
        problems.push(note(path, replay::FILLED.to_owned()));
    }
    problems.extend(replay.foreign.iter().map(|foreign| note(path, foreign.to_string())));
    if !replay.torn.is_empty() {
        let lines: Vec<String> = replay.torn.iter().map(ToString::to_string).collect();
        problems.push(note(path, format!("torn lines in its record: {}", lines.join(", "))));
    }
    problems
}
