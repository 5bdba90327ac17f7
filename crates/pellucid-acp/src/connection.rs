//! The client: what it said about itself, the lines that wait for it, and the questions that it has to answer.
//!
//! Lines wait in one queue. Each session has room for a number of bytes in it: if the client does not read, a session whose
//! room is full waits, and the others still have theirs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;

use agent_client_protocol::v1::schema::ClientCapabilities;
use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::RequestId;
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio::sync::watch;

use crate::wire;

/// How many bytes of lines may wait for the client in one lane. An update about a large file is a few megabytes.
pub const LANE_BYTES_MAX: u32 = 16 << 20;

/// How many bytes a line takes in its lane beside its text.
const LINE_BYTES: usize = 64;

/// A line that waits, with the room that it takes.
#[derive(Debug)]
struct Waiting {
    line: Bytes,
    _room: OwnedSemaphorePermit,
}

/// The lines that wait for the client, for the task that writes them.
#[derive(Debug)]
pub struct LineQueue {
    lines: mpsc::UnboundedReceiver<Waiting>,
    /// Turns `true` when no more lines are to be waited for.
    is_closed: watch::Receiver<bool>,
}

/// A way to the client with its own room. Its clones share the room.
#[derive(Debug, Clone)]
pub struct Lane {
    queue: mpsc::UnboundedSender<Waiting>,
    room: Arc<Semaphore>,
    bytes_max: u32,
}

impl Lane {
    fn new(queue: mpsc::UnboundedSender<Waiting>, bytes_max: u32) -> Self {
        Self { queue, room: Arc::new(Semaphore::new(bytes_max as usize)), bytes_max }
    }

    /// A lane beside this one, with as much room.
    pub fn beside(&self) -> Self {
        Self::new(self.queue.clone(), self.bytes_max)
    }

    /// Sends a line, and waits until there is room for it. If the client is gone, nothing is sent.
    pub async fn send(&self, line: Bytes) {
        // A line that is larger than the lane takes all of it.
        let room = u32::try_from(line.len() + LINE_BYTES).unwrap_or(u32::MAX).min(self.bytes_max);
        if let Ok(room) = self.room.clone().acquire_many_owned(room).await {
            let _gone = self.queue.send(Waiting { line, _room: room });
        }
    }

    /// Sends an answer.
    pub async fn answer<R: Serialize>(&self, id: &RequestId, outcome: Result<&R, &Error>) {
        self.send(wire::answer(id, outcome)).await;
    }
}

/// The client on the other end.
#[derive(Debug)]
pub struct AcpConnection {
    /// The lane of what belongs to no session.
    pub lane: Lane,
    hello: OnceLock<ClientCapabilities>,
    questions: Mutex<Questions>,
    is_closed: watch::Sender<bool>,
}

/// Questions that the client has not answered.
#[derive(Debug, Default)]
struct Questions {
    n_asked: i64,
    open: BTreeMap<i64, oneshot::Sender<Result<Value, Error>>>,
    is_closed: bool,
}

impl AcpConnection {
    /// A client, with the queue of lines for it. At most so many bytes wait in each lane.
    pub fn new(bytes_max: u32) -> (Self, LineQueue) {
        let (sender, lines) = mpsc::unbounded_channel();
        let lane = Lane::new(sender, bytes_max);
        let is_closed = watch::Sender::new(false);
        let queue = LineQueue { lines, is_closed: is_closed.subscribe() };
        (Self { lane, hello: OnceLock::new(), questions: Mutex::default(), is_closed }, queue)
    }

    /// What the client can do; absent before `initialize`.
    pub fn hello(&self) -> Option<&ClientCapabilities> {
        self.hello.get()
    }

    /// Keeps what the client can do. Gives whether it said so for the first time.
    pub fn introduce(&self, hello: ClientCapabilities) -> bool {
        self.hello.set(hello).is_ok()
    }

    /// Asks the client, and waits for the answer.
    ///
    /// # Errors
    /// If the client answers with an error, or is gone.
    pub async fn ask<P: Serialize>(&self, lane: &Lane, method: &str, params: &P) -> Result<Value, Error> {
        let gone = || wire::failed("the client is gone");
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut questions = self.questions();
            if questions.is_closed {
                return Err(gone());
            }
            questions.n_asked += 1;
            let id = questions.n_asked;
            questions.open.insert(id, sender);
            id
        };
        lane.send(wire::request(id, method, params)).await;
        receiver.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Passes an answer of the client on to who asked.
    pub fn answered(&self, id: &RequestId, outcome: Result<Value, Error>) {
        let asked = match id {
            RequestId::Number(id) => self.questions().open.remove(id),
            _ => None,
        };
        match asked {
            // Who asked may not wait any more.
            Some(sender) => drop(sender.send(outcome)),
            None => tracing::warn!(?id, "an answer to no open question is ignored"),
        }
    }

    /// Gives up all questions, because the client is gone.
    pub fn close(&self) {
        let mut questions = self.questions();
        questions.is_closed = true;
        questions.open.clear();
    }

    /// Lets the writer end once it has written the lines that wait.
    pub fn finish(&self) {
        self.is_closed.send_replace(true);
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the waiting lines, as many at a time as there are, until the connection is finished.
pub async fn write(LineQueue { mut lines, mut is_closed }: LineQueue, mut output: impl AsyncWrite + Unpin) {
    /// How many bytes are written at a time.
    const BATCH_BYTES: usize = 64 << 10;
    let mut batch = Vec::new();
    loop {
        let waiting = tokio::select! {
            biased;
            waiting = lines.recv() => waiting,
            _ = is_closed.wait_for(|it| *it) => None,
        };
        let Some(waiting) = waiting else { return };
        batch.extend_from_slice(&waiting.line);
        let mut rooms = vec![waiting];
        while batch.len() < BATCH_BYTES
            && let Ok(waiting) = lines.try_recv()
        {
            batch.extend_from_slice(&waiting.line);
            rooms.push(waiting);
        }
        if output.write_all(&batch).await.is_err() || output.flush().await.is_err() {
            // The client has stopped reading. Its lines are discarded until it closes its other end too.
            drop(rooms);
            while lines.recv().await.is_some() {}
            return;
        }
        batch.clear();
        batch.shrink_to(BATCH_BYTES);
    }
}
