//! One client: what it said about itself, and the way to it.
//!
//! Messages to a client wait in a bounded queue. When that is full, whoever has something to say waits, so a
//! client that does not read slows its own sessions down and nothing is lost.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::view::ContextNotification;

/// How many messages may wait for a client.
const OUTGOING_MAX: usize = 1_024;

/// A client.
#[derive(Debug)]
pub struct Connection {
    /// By what it is known here.
    pub id: u64,
    outgoing: mpsc::Sender<Bytes>,
    hello: OnceLock<Hello>,
}

/// What a client said about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hello {
    /// Whether it wants what may still change.
    pub is_experimental: bool,
    /// Whether it wants to know what requests to models are made of.
    pub has_context_events: bool,
    /// Notifications that it does not want.
    pub opted_out: BTreeSet<String>,
}

impl Connection {
    /// A client, and its queue of messages.
    pub fn new(id: u64) -> (Self, mpsc::Receiver<Bytes>) {
        let (outgoing, queue) = mpsc::channel(OUTGOING_MAX);
        (Self { id, outgoing, hello: OnceLock::new() }, queue)
    }

    /// What it said about itself, once it did.
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.get()
    }

    /// Takes down what it says about itself.
    pub fn introduce(&self, hello: Hello) {
        // Only the first time counts; a second one is refused before it comes here.
        let _ = self.hello.set(hello);
    }

    /// Whether it wants notifications of this name.
    pub fn wants(&self, method: &str) -> bool {
        self.hello().is_some_and(|hello| !hello.opted_out.contains(method))
    }

    /// Whether it wants to know what requests to models are made of.
    pub fn wants_context_events(&self) -> bool {
        self.hello().is_some_and(|hello| hello.has_context_events) && self.wants(ContextNotification::METHOD)
    }

    /// Sends a message. To a client that is gone nothing is sent.
    pub async fn send(&self, message: Bytes) {
        let _gone = self.outgoing.send(message).await;
    }

    /// Sends a notification, if the client wants it.
    pub async fn notify(&self, method: &str, message: &Bytes) {
        if self.wants(method) {
            self.send(message.clone()).await;
        }
    }
}
