//! Queues whose places are small.
//!
//! A queue keeps room for a few dozen messages from its beginning. A server has thousands of queues that are empty
//! most of the time, so each message is boxed and the queue holds only its address.

use std::task::Context;
use std::task::Poll;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

/// Puts messages into a queue.
#[derive(Debug)]
pub struct Sender<T>(mpsc::Sender<Box<T>>);

/// Takes messages out of a queue.
#[derive(Debug)]
pub struct Receiver<T>(Option<mpsc::Receiver<Box<T>>>);

/// The receiver is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no receiver is left")]
pub struct Closed;

/// A queue in which so many messages may wait.
pub fn channel<T>(waiting_max: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::channel(waiting_max);
    (Sender(sender), Receiver(Some(receiver)))
}

/// The end of a queue that no one puts anything into. It takes no memory.
pub fn closed<T>() -> Receiver<T> {
    Receiver(None)
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Sender<T> {
    /// Puts a message in, when there is room.
    ///
    /// # Errors
    /// If the receiver is gone.
    pub async fn send(&self, message: T) -> Result<(), Closed> {
        self.0.send(Box::new(message)).await.map_err(|_| Closed)
    }

    /// Whether the receiver is gone.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Waits until every message was taken; at most so many may wait in this queue.
    pub async fn emptied(&self, waiting_max: usize) {
        // If the receiver is gone, no message waits.
        let _nobody_listens = self.0.reserve_many(waiting_max).await.is_err();
    }
}

impl<T> Receiver<T> {
    /// The next message; absent when there will be none.
    pub async fn recv(&mut self) -> Option<T> {
        self.0.as_mut()?.recv().await.map(|message| *message)
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(mpsc::Receiver::is_empty)
    }

    /// The next message, for futures that are written by hand.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        match &mut self.0 {
            Some(receiver) => receiver.poll_recv(context).map(|message| message.map(|message| *message)),
            None => Poll::Ready(None),
        }
    }

    /// The next message, if one waits.
    ///
    /// # Errors
    /// If none waits, or none will come.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let receiver = self.0.as_mut().ok_or(TryRecvError::Disconnected)?;
        receiver.try_recv().map(|message| *message)
    }
}
