//! What a server reports of itself while it runs: that its list of tools has changed, or a resource that was read.
//!
//! The list is read again at once, beside whatever runs, and a session takes it between turns. A server that changes its list
//! all the time is asked once a second.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::Peer;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio::time::sleep;
use tokio::time::timeout;

use crate::failure;
use crate::listing;
use crate::listing::Listing;
use crate::listing::Pages;

/// How long nothing is read after a list was.
const PAUSE: Duration = Duration::from_secs(1);

/// How many resources of a server are followed.
const RESOURCES_MAX: usize = 256;

/// The tools of a server, as it listed them last.
#[derive(Debug)]
pub(crate) struct News {
    server: String,
    /// Whether changes are followed, and all pages read.
    follows: bool,
    /// How long the server may take to list its tools.
    limit: Duration,
    listing: Mutex<Arc<Listing>>,
    /// How often the list was read again.
    n_changes: watch::Sender<u64>,
    is_stale: AtomicBool,
    reading: tokio::sync::Mutex<()>,
    resources: Mutex<BTreeMap<String, ResourceState>>,
}

/// What is known of a resource that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceState {
    AsRead,
    Changed,
}

impl News {
    pub(crate) fn new(server: String, follows: bool, limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            server,
            follows,
            limit,
            listing: Mutex::default(),
            n_changes: watch::Sender::new(0),
            is_stale: AtomicBool::new(false),
            reading: tokio::sync::Mutex::default(),
            resources: Mutex::default(),
        })
    }

    /// Notes that a resource was read. Gives whether the server has to be asked to report its changes.
    pub(crate) fn was_read(&self, uri: &str) -> bool {
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.follows || (resources.len() >= RESOURCES_MAX && !resources.contains_key(uri)) {
            return false;
        }
        resources.insert(uri.to_owned(), ResourceState::AsRead).is_none()
    }

    /// The server says that a resource has changed. It counts if the resource was read.
    pub(crate) fn resource_changed(&self, uri: &str) {
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = resources.get_mut(uri) {
            *state = ResourceState::Changed;
        }
    }

    /// The resources that have changed since they were read, each once.
    pub(crate) fn take_changed_resources(&self) -> Vec<String> {
        let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = resources.iter_mut().filter(|(_, state)| **state == ResourceState::Changed);
        changed
            .map(|(uri, state)| {
                *state = ResourceState::AsRead;
                uri.clone()
            })
            .collect()
    }

    /// Which pages of lists are read.
    pub(crate) fn pages(&self) -> Pages {
        if self.follows { Pages::All } else { Pages::First }
    }

    /// The tools that the server listed last.
    pub(crate) fn listing(&self) -> Arc<Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, listing: Listing) {
        *self.listing.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(listing);
    }

    /// How often the list was read again since the start.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.n_changes.subscribe()
    }

    /// Whether the server said that its list lasts until a time that is over, and no one has read it since.
    pub(crate) fn is_over(&self) -> bool {
        self.follows && self.listing().fresh_until.is_some_and(|until| until <= Instant::now())
    }

    /// The server says that its list has changed.
    pub(crate) async fn changed(&self, server: &Peer<RoleClient>) {
        if !self.follows {
            return;
        }
        self.is_stale.store(true, Ordering::Release);
        // A task that reads the list now looks again afterwards.
        while let Ok(_reading) = self.reading.try_lock() {
            if !self.is_stale.swap(false, Ordering::AcqRel) {
                return;
            }
            match timeout(self.limit, listing::read(server, Pages::All, &failure::of_request)).await {
                Ok(Ok(listing)) => {
                    self.set(listing);
                    self.n_changes.send_modify(|n| *n += 1);
                }
                Ok(Err(error)) => {
                    tracing::warn!(server = self.server, error, "the changed tools of an MCP server are not known");
                }
                Err(_) => tracing::warn!(server = self.server, "an MCP server does not list its changed tools in time"),
            }
            sleep(PAUSE).await;
        }
    }
}
