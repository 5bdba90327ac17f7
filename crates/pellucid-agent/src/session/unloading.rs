//! Drops of an idle session what its files have, and reads it again.
//!
//! A server with thousands of sessions holds the items of few of them. Before a session drops its items, it reads its files
//! and compares: only if the items that come back are the same in every byte, origin and decision are they dropped. A session
//! in which nothing was said has no file yet; its items are made again from its facts. Settings, facts, grants, counts and the
//! state of habits stay in memory.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use pellucid_engine::assemble;
use pellucid_engine::compaction;
use pellucid_engine::fragment::Origin;
use pellucid_engine::transcript::Outline;
use pellucid_protocol::event::EventMessage;
use pellucid_store::read;
use pellucid_store::read::ReadError;
use pellucid_store::read::SessionFile;
use pellucid_store::record::SessionMeta;
use pellucid_store::recorder::Recorder;
use pellucid_store::requests::entry::How;

use super::Beginning;
use super::Session;
use super::requests::Requests;
use super::setup::Past;
use crate::habits::Happened;
use crate::sent::OpeningRecord;

/// What is needed to have the items of a session again.
#[derive(Debug)]
pub(crate) enum UnloadedItems {
    /// The session's files have them.
    InFile {
        outline: Outline,
        /// How many bytes of the session file have the items.
        upto: u64,
    },
    /// Nothing was said yet: the items follow from the facts.
    InFacts {
        outline: Outline,
        /// The first line of the file that there will be.
        head: Box<SessionMeta>,
    },
}

/// Why a session stays loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StaysLoaded(pub &'static str);

/// Why the items of an unloaded session cannot be read again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The session file cannot be opened, or another process writes it.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The session file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Session {
    /// Drops what the session's files have.
    ///
    /// # Errors
    /// Why the session stays loaded: something would be lost or interrupted. Nothing is dropped then.
    pub(crate) fn unload(&mut self) -> Result<UnloadedItems, StaysLoaded> {
        self.check_rest()?;
        let outline = self.conversation.transcript().outline().ok_or(StaysLoaded("turns were taken back"))?;
        if self.log.n_waiting().is_some() { self.unload_new(outline) } else { self.unload_written(outline) }
    }

    /// Whether nothing runs, and nothing waits to be sent or written.
    fn check_rest(&mut self) -> Result<(), StaysLoaded> {
        let memories = self.memories.as_ref();
        let reasons = [
            (!self.jobs.is_at_rest(), "a command or a tool runs"),
            (self.servers.is_some(), "it has MCP servers"),
            (!self.setup.crew.is_empty(), "it has agents"),
            (memories.is_some_and(|memories| !memories.is_over()), "it writes memories"),
            (self.has_memory(), "its memory decides what requests show"),
            (self.notices.has_events() || self.shortening.is_pending(), "something is not reported yet"),
        ];
        match reasons.into_iter().find(|(is_so, _)| *is_so) {
            Some((_, reason)) => Err(StaysLoaded(reason)),
            None => Ok(()),
        }
    }

    /// The same for a session in which nothing was said.
    fn unload_new(&mut self, outline: Outline) -> Result<UnloadedItems, StaysLoaded> {
        if self.requests.n() > 0 || self.last_turn.model().is_some() || self.setup.telemetry.is_on() {
            return Err(StaysLoaded("it has a history without a file"));
        }
        let mut new = self.begin_again().map_err(|_| StaysLoaded("it could not begin again"))?;
        new.conversation.transcript_mut().show_again(outline.clone());
        let is_same = new.conversation.transcript().is_same(self.conversation.transcript());
        if !is_same || new.log.n_waiting() != self.log.n_waiting() {
            return Err(StaysLoaded("it would begin with other items"));
        }
        let head = self.log.take_head().ok_or(StaysLoaded("its file would not begin as files do"))?;
        self.drop_items();
        Ok(UnloadedItems::InFacts { outline, head })
    }

    /// The same for a session that has a file.
    fn unload_written(&mut self, outline: Outline) -> Result<UnloadedItems, StaysLoaded> {
        let upto = self.log.written().filter(|_| self.log.is_written()).ok_or(StaysLoaded("it is not written"))?;
        let (_, mut past) = self.read_items(upto).map_err(|_| StaysLoaded("its file cannot be read"))?;
        past.restored.transcript.show_again(outline.clone());
        if !self.log.sent_from_start().is_kept_in(&past.recalled) {
            return Err(StaysLoaded("its record does not have all that is known"));
        }
        if !past.restored.transcript.is_same(self.conversation.transcript()) {
            return Err(StaysLoaded("its file does not have all items as they are"));
        }
        self.log.unload();
        self.drop_items();
        Ok(UnloadedItems::InFile { outline, upto })
    }

    fn drop_items(&mut self) {
        self.conversation.transcript_mut().drop_items();
        self.jobs.forget_turn();
        self.requests.unload();
        self.framed = Mutex::default();
    }

    /// The session as it was when it began, under its first facts.
    fn begin_again(&self) -> Result<Self, ReadError> {
        let mut setup = self.setup.clone();
        setup.gathered.facts = self.last_turn.facts().clone();
        setup.notices = Vec::new();
        let path = self.log.path().unwrap_or(Path::new("")).to_owned();
        let recorder = Recorder::new(self.log.disk().clone(), path).keeping(self.log.detail());
        Self::open(setup, recorder, Beginning::Nothing)
    }

    /// Reads the items of an unloaded session again. If another program wrote the session file meanwhile, the session continues
    /// with what the file has, as a resumed session does, and the event says so.
    ///
    /// # Errors
    /// The session file cannot be opened or read.
    pub(crate) fn load_again(&mut self, items: UnloadedItems) -> Result<Option<EventMessage>, LoadError> {
        match items {
            UnloadedItems::InFile { outline, upto } => self.load_written(outline, upto),
            UnloadedItems::InFacts { outline, head } => {
                let mut new = self.begin_again()?;
                new.log.put_head(head);
                new.conversation.transcript_mut().show_again(outline);
                std::mem::swap(&mut self.log, &mut new.log);
                std::mem::swap(self.conversation.transcript_mut(), new.conversation.transcript_mut());
                Ok(None)
            }
        }
    }

    fn load_written(&mut self, outline: Outline, upto: u64) -> Result<Option<EventMessage>, LoadError> {
        let is_same = self.log.load_again()?;
        let upto = if is_same { upto } else { self.log.written().unwrap_or(upto) };
        let (file, mut past) = self.read_items(upto)?;
        past.restored.transcript.show_again(outline);
        let sent = self.log.sent_from_start();
        let event = (!is_same).then(|| {
            let prefix = compaction::summary_prefix(&self.setup.pack);
            let opening =
                OpeningRecord { summaries: past.summaries(&prefix), ..self.setup.opening(How::Resumed, upto) };
            sent.open(&opening);
            let path = file.path.display().to_string();
            self.requests = Requests::after(Some(file), past.recalled.files.clone(), past.restored.cause.take());
            let why = "while this session was idle; the session continues with what the file has";
            EventMessage::Warning { message: format!("another program wrote {path} {why}") }
        });
        sent.load_again(&mut past.recalled);
        *self.conversation.transcript_mut() = past.restored.transcript;
        if event.is_some() {
            let origin =
                Origin::Recorded { path: self.log.path().unwrap_or(Path::new("")).to_string_lossy().as_ref().into() };
            self.habits.note(&mut self.setup, &Happened::Replaced(self.conversation.transcript(), origin));
        }
        Ok(event)
    }

    /// The items that the session's files have, up to a byte of the session file, with what the record says of them.
    fn read_items(&self, upto: u64) -> Result<(SessionFile, Past), ReadError> {
        let file = read::open(self.log.path().unwrap_or(Path::new("")))?;
        let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
        let past = self.setup.past(&file, upto, &context)?;
        Ok((file, past))
    }
}
