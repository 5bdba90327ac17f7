//! A session with its record, written as the program writes both, for the tests of this crate.

use std::path::Path;
use std::path::PathBuf;

use pellucid_files::RealDisk;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_testkit::Workspace;
use serde_json::json;

use crate::fsck::FsckProblem;
use crate::fsck::Looked;
use crate::record::Record;
use crate::recorder::Recorder;
use crate::requests::LogEntry;
use crate::requests::anchors::Anchors;
use crate::requests::chain::Chain;
use crate::requests::log::RequestLog;
use crate::requests::verify::verify;

/// The id of the session.
pub(crate) const ID: &str = "019a0000-0000-7000-8000-000000000001";

/// The file of the session, from the home folder.
pub(crate) const SESSION: &str =
    "sessions/2026/01/02/rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";

/// The file of its record.
pub(crate) const RECORD: &str =
    "requests/2026/01/02/requests-2026-01-02T03-04-05-019a0000-0000-7000-8000-000000000001.jsonl";

/// A session that is being written.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub home: Workspace,
    pub recorder: Recorder,
    pub log: RequestLog,
}

impl Recorded {
    /// A session without a turn.
    pub fn new() -> Self {
        let home = Workspace::empty();
        let mut recorder = Recorder::new(RealDisk::shared(), home.path(SESSION));
        recorder.record(meta(ID));
        recorder.persist();
        Self::with(home, recorder, "new")
    }

    /// The same session, opened by another process.
    pub fn resumed(self) -> Self {
        let Self { home, recorder, log } = self;
        drop((recorder, log));
        let recorder = Recorder::resume(RealDisk::shared(), home.path(SESSION)).unwrap();
        Self::with(home, recorder, "resumed")
    }

    fn with(home: Workspace, recorder: Recorder, how: &str) -> Self {
        let mut log = RequestLog::new(RealDisk::shared(), home.root(), &home.path(SESSION));
        log.write(opened(how, recorder.len().unwrap_or(0)));
        Self { home, recorder, log }
    }

    /// A session of so many turns.
    pub fn with_turns(n_turns: usize) -> Self {
        let mut recorded = Self::new();
        (1..=n_turns).for_each(|n| recorded.turn(n));
        recorded
    }

    /// A turn: a question, a request with its reply, an answer, and the seal.
    pub fn turn(&mut self, n: usize) {
        self.recorder.event(&event(json!({ "type": "user_message", "message": format!("question {n}") })));
        self.recorder.record_part(Record::ResponseItem(Item::text("user", format!("question {n}"))), "user");
        let at = self.recorder.len().unwrap_or(0);
        let request = self.log.write(entry(json!({
            "kind": "request", "turn": format!("t{n}"), "purpose": "answer", "at": at, "frame": "f", "bytes": 1,
            "items": n, "body": "b",
        })));
        self.log.write(entry(json!({ "kind": "reply", "request": request, "usage": null })));
        self.recorder.record(Record::ResponseItem(Item::text("assistant", format!("answer {n}"))));
        self.seal(&format!("t{n}"));
    }

    /// Seals what was written.
    pub fn seal(&mut self, turn: &str) {
        let piece = self.recorder.take_unsealed().expect("something was written");
        self.log.seal(piece, Some(turn.to_owned()));
        assert_eq!((self.recorder.failure(), self.log.failure()), (None, None));
    }

    /// The session ends: the files have no writer any more.
    pub fn closed(self) -> Workspace {
        self.home
    }
}

/// The line that says which session a file is of.
pub(crate) fn meta(id: &str) -> Record {
    serde_json::from_value(json!({ "type": "session_meta", "payload": {
        "id": id, "timestamp": "2026-01-02T03:04:05Z", "cwd": "/p", "originator": "o", "cli_version": "1",
        "source": "exec", "model_provider": "openai",
    } }))
    .unwrap()
}

/// The entry that a process begins its work on a session with.
pub(crate) fn opened(how: &str, at: u64) -> LogEntry {
    entry(json!({
        "kind": "opened", "format": 2, "session": ID, "version": "1", "how": how, "at": at, "ids": null,
        "truncation": { "mode": "bytes", "limit": 10 },
    }))
}

/// An entry of a record, as its line has it.
#[track_caller]
pub(crate) fn entry(json: serde_json::Value) -> LogEntry {
    serde_json::from_value(json).unwrap()
}

/// An event, as session files have it.
#[track_caller]
pub(crate) fn event(json: serde_json::Value) -> EventMessage {
    serde_json::from_value(json).unwrap()
}

/// What the record of a session says is not as it was written, each as one text.
#[track_caller]
pub(crate) fn damages(home: &Path, session: &str) -> Vec<String> {
    let record = PathBuf::from(session).file_name().and_then(|it| it.to_str()).map(str::to_owned).unwrap();
    let record = crate::name::requests_path(home, &record).unwrap();
    let anchors = Anchors::read(home, Some(ID));
    let chain = Chain::read_anchored(&record, anchors.of(ID)).unwrap();
    let broken = chain.broken.as_ref().map(|it| it.damage("record").to_string());
    let verified = verify(home, &home.join(session), &chain).unwrap();
    broken.into_iter().chain(verified.damages.iter().map(|it| format!("session: {}", it.what()))).collect()
}

/// Looks at a session as `sessions fsck` does.
pub(crate) fn look(home: &Path, path: &Path) -> Looked {
    let relative = path.strip_prefix(home).unwrap().to_str().unwrap().to_owned();
    let finding = |what| FsckProblem { path: relative.clone(), what, is_serious: true };
    Looked { problems: damages(home, &relative).into_iter().map(finding).collect(), is_unproved: false }
}

#[test]
fn a_session_that_was_left_alone_is_as_it_was_written() {
    let home = Recorded::with_turns(3).resumed().closed();
    assert_eq!(damages(home.root(), SESSION), Vec::<String>::new());
    let chain = Chain::read(&home.path(RECORD)).unwrap();
    let kinds: Vec<&str> = chain.links.iter().map(|link| link.entry.kind()).collect();
    let turn = ["request", "reply", "sealed"];
    assert_eq!(kinds, [&["opened"][..], &turn, &turn, &turn, &["opened"]].concat());
}
