//! The lines that wait for the client. They have room for a number of bytes: a client that does not read is waited for.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;
use tokio::sync::mpsc;
use tokio::sync::watch;

/// How many bytes of lines may wait.
const BYTES_MAX: u32 = 16 << 20;

/// How many bytes a line takes beside its text.
const LINE_BYTES: usize = 64;

/// A line that waits, with the room that it takes.
struct Waiting {
    line: Bytes,
    _room: OwnedSemaphorePermit,
}

/// The way to the client.
pub struct Outbox {
    queue: mpsc::UnboundedSender<Waiting>,
    room: Arc<Semaphore>,
    is_closed: watch::Sender<bool>,
}

/// The lines for the task that writes them.
pub struct OutboxQueue {
    lines: mpsc::UnboundedReceiver<Waiting>,
    is_closed: watch::Receiver<bool>,
}

impl Outbox {
    /// An empty outbox, and the other end of its queue.
    pub fn new() -> (Self, OutboxQueue) {
        let (queue, lines) = mpsc::unbounded_channel();
        let is_closed = watch::Sender::new(false);
        let other = OutboxQueue { lines, is_closed: is_closed.subscribe() };
        (Self { queue, room: Arc::new(Semaphore::new(BYTES_MAX as usize)), is_closed }, other)
    }

    /// Sends a message, and waits until there is room for it. If the client is gone, nothing is sent.
    pub async fn send(&self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        // A line that is larger than the outbox takes all of it.
        let room = u32::try_from(line.len() + LINE_BYTES).unwrap_or(u32::MAX).min(BYTES_MAX);
        if let Ok(room) = self.room.clone().acquire_many_owned(room).await {
            let _gone = self.queue.send(Waiting { line: line.into(), _room: room });
        }
    }

    /// Lets the writer end once it has written the lines that wait.
    pub fn close(&self) {
        self.is_closed.send_replace(true);
    }
}

/// Writes the waiting lines until the outbox is closed and empty.
pub async fn write(OutboxQueue { mut lines, mut is_closed }: OutboxQueue, mut output: impl AsyncWrite + Unpin) {
    loop {
        let waiting = tokio::select! {
            biased;
            waiting = lines.recv() => waiting,
            _ = is_closed.wait_for(|it| *it) => None,
        };
        let Some(waiting) = waiting else { return };
        if output.write_all(&waiting.line).await.is_err() || output.flush().await.is_err() {
            // The client has stopped reading. Its lines are discarded until it closes its other end too.
            drop(waiting);
            while lines.recv().await.is_some() {}
            return;
        }
    }
}
