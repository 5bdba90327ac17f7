//! Connections that have not shown the path yet. Any program of the machine can open one, so there are few of them: a new one takes the
//! place of the oldest, and the command, which shows the path at once, is not held back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;

/// How many strangers there may be.
pub const N_STRANGERS_MAX: usize = 64;

/// A connection, and whether it is known.
#[derive(Debug, Default)]
pub struct Guest {
    /// Whether the connection has shown the path, or has ended.
    is_settled: AtomicBool,
    sent_away: Notify,
}

impl Guest {
    /// Notes that the connection has shown the path, or has ended.
    pub fn settle(&self) {
        self.is_settled.store(true, Ordering::Relaxed);
    }

    /// Waits until the connection has to end.
    pub async fn sent_away(&self) {
        self.sent_away.notified().await;
    }

    fn is_stranger(&self) -> bool {
        !self.is_settled.load(Ordering::Relaxed)
    }
}

/// The strangers, the oldest first.
#[derive(Debug, Default)]
pub struct Strangers {
    guests: VecDeque<Arc<Guest>>,
}

impl Strangers {
    /// A new connection. The oldest stranger is sent away if there are too many.
    pub fn come(&mut self) -> Arc<Guest> {
        self.guests.retain(|guest| guest.is_stranger());
        if self.guests.len() >= N_STRANGERS_MAX
            && let Some(oldest) = self.guests.pop_front()
        {
            oldest.sent_away.notify_one();
        }
        let guest = Arc::<Guest>::default();
        self.guests.push_back(guest.clone());
        guest
    }
}
