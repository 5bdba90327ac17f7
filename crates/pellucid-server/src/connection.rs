//! One client: what it said about itself, and the queue of messages to it.
//!
//! The queue is bounded by bytes. If the only client of a session stops reading, the session waits and no message is
//! lost. If other clients follow the same session, the session does not wait: a client whose queue is full is
//! disconnected, and can connect again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;
use tokio::sync::TryAcquireError;
use tokio::sync::mpsc;
use tokio::sync::watch;

use crate::surface::Surface;
use crate::view::ContextNotification;

/// How many bytes of messages may wait for a client. It is large because the events of a long answer and of large
/// outputs come at once, faster than any client reads.
pub(crate) const WAITING_BYTES_MAX: u32 = 64 << 20;

/// How many bytes a queued message takes beside its text.
const MESSAGE_BYTES: usize = 64;

/// The reason given to a client that is disconnected because it does not read while others do.
pub const TOO_SLOW: &str = "messages are not read fast enough while other clients follow the session; connect again";

/// A connected client: its introduction and the queue of messages to it.
#[derive(Debug)]
pub struct Connection {
    /// A number that is unique among the clients of the server.
    pub id: u64,
    queue: mpsc::UnboundedSender<Waiting>,
    room: Arc<Semaphore>,
    bytes_max: u32,
    /// Whether the client read too slowly and receives nothing more.
    is_given_up: watch::Sender<bool>,
    hello: OnceLock<Hello>,
    /// Whether the client is known to be one of today.
    is_newest: AtomicBool,
}

/// A message in the queue, with the room that it takes.
#[derive(Debug)]
struct Waiting {
    message: Bytes,
    _room: OwnedSemaphorePermit,
}

/// The messages that wait for a client, for the task that writes them.
#[derive(Debug)]
pub struct Queue {
    queue: mpsc::UnboundedReceiver<Waiting>,
    is_given_up: watch::Receiver<bool>,
}

/// What a client said about itself in `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hello {
    /// The name of the client.
    pub name: String,
    /// The protocol that the client speaks.
    pub surface: Surface,
    /// Whether the user chose the protocol, so that nothing the client does changes it.
    pub is_surface_chosen: bool,
    /// Whether the client uses the experimental API.
    pub is_experimental: bool,
    /// Whether the client wants context events: what requests to models are made of.
    pub has_context_events: bool,
    /// Methods of the notifications that the client does not want.
    pub opted_out: BTreeSet<String>,
}

impl Connection {
    /// A client and its queue, in which at most `bytes_max` bytes of messages may wait.
    pub fn new(id: u64, bytes_max: u32) -> (Self, Queue) {
        let (sender, queue) = mpsc::unbounded_channel();
        let is_given_up = watch::Sender::new(false);
        let queue = Queue { queue, is_given_up: is_given_up.subscribe() };
        let room = Arc::new(Semaphore::new(bytes_max as usize));
        let (hello, is_newest) = (OnceLock::new(), AtomicBool::new(false));
        (Self { id, queue: sender, room, bytes_max, is_given_up, hello, is_newest }, queue)
    }

    /// What the client said about itself; absent before `initialize`.
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.get()
    }

    /// Keeps what the client said about itself.
    pub fn introduce(&self, hello: Hello) {
        self.is_newest.store(hello.surface == Surface::Newest, Ordering::Relaxed);
        // Only the first introduction is kept; a second `initialize` is refused before it comes here.
        let _ = self.hello.set(hello);
    }

    /// Whether the client speaks the protocol of today.
    pub fn is_newest(&self) -> bool {
        self.is_newest.load(Ordering::Relaxed)
    }

    /// Notes that the client called a method that 0.104.0 does not have, which only clients of today do.
    pub fn called_newer_method(&self) {
        if self.hello().is_some_and(|hello| !hello.is_surface_chosen) {
            self.is_newest.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the client wants notifications of this method.
    pub fn wants(&self, method: &str) -> bool {
        self.hello().is_some_and(|hello| !hello.opted_out.contains(method))
    }

    /// Whether the client wants context events: what requests to models are made of.
    pub fn wants_context_events(&self) -> bool {
        self.hello().is_some_and(|hello| hello.has_context_events) && self.wants(ContextNotification::METHOD)
    }

    /// Sends a message, and waits until the queue has room for it. If the client is gone, nothing is sent.
    ///
    /// The future can be dropped; then nothing was sent.
    pub async fn send(&self, message: Bytes) {
        if let Ok(room) = self.room.clone().acquire_many_owned(self.room_for(&message)).await {
            self.put(message, room);
        }
    }

    /// Sends a notification that is for this client alone, if the client wants it.
    pub async fn notify(&self, method: &str, message: Bytes) {
        if self.wants(method) {
            self.send(message).await;
        }
    }

    /// Sends a message without waiting. A client whose queue has no room for it is given up.
    pub fn send_now(&self, message: Bytes) {
        match self.room.clone().try_acquire_many_owned(self.room_for(&message)) {
            Ok(room) => self.put(message, room),
            Err(TryAcquireError::NoPermits) => self.give_up(),
            Err(TryAcquireError::Closed) => {}
        }
    }

    /// How many bytes of the queue a message takes. A message larger than the queue takes all of it.
    fn room_for(&self, message: &Bytes) -> u32 {
        u32::try_from(message.len() + MESSAGE_BYTES).unwrap_or(u32::MAX).min(self.bytes_max)
    }

    fn put(&self, message: Bytes, room: OwnedSemaphorePermit) {
        let _gone = self.queue.send(Waiting { message, _room: room });
    }

    fn give_up(&self) {
        tracing::warn!(client = self.id, "a client is disconnected: {TOO_SLOW}");
        self.room.close();
        self.is_given_up.send_replace(true);
    }

    /// Waits until the client is given up; forever, if that never happens.
    pub async fn given_up(&self) {
        // The connection owns the sender, so waiting cannot fail.
        let _ = self.is_given_up.subscribe().wait_for(|it| *it).await;
    }

    /// Whether the client is given up.
    pub fn is_given_up(&self) -> bool {
        *self.is_given_up.borrow()
    }
}

impl Queue {
    /// The next message; `None` after the last one, or if the client is given up.
    pub async fn recv(&mut self) -> Option<Bytes> {
        tokio::select! {
            biased;
            Ok(_) = self.is_given_up.wait_for(|it| *it) => None,
            waiting = self.queue.recv() => waiting.map(|it| it.message),
        }
    }

    /// The next message, if one is queued.
    pub fn try_recv(&mut self) -> Option<Bytes> {
        if *self.is_given_up.borrow() {
            return None;
        }
        self.queue.try_recv().ok().map(|it| it.message)
    }

    /// Whether the client is given up.
    pub fn is_given_up(&self) -> bool {
        *self.is_given_up.borrow()
    }
}
