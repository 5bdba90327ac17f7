//! Pausing what confined commands left running, while something runs that is not confined.
//!
//! A person who allows `./build.sh` has looked at it. A confined command that still runs could change the file
//! between the look and the start, and so write what runs outside of its confinement. So code that asks the user, and
//! code that runs something unconfined, first takes a [`SandboxPause`]: every confined process that can write where it
//! matters is stopped, and no other is started, until the pause is dropped, for whatever reason.
//!
//! A process that cannot be stopped is killed, and if that fails too there is no pause.
//!
//! - `tree`: the processes of a confined command, stopped, continued and ended
//!
//! Not here: who asks whom. On systems without `/proc` nothing can be stopped.

#![cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "processes are paused in trees on Linux"))]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_engine::approval::reach;
use pellucid_tasks::Task;
use tokio::sync::Notify;

#[cfg(target_os = "linux")]
pub(crate) use self::tree::Kind;
pub(crate) use self::tree::Root;
pub(crate) use self::tree::Tree;

#[cfg(target_os = "linux")]
mod tree;
#[cfg(not(target_os = "linux"))]
#[path = "pause/no_tree.rs"]
mod tree;

/// All confined commands and all pauses of this process.
static YARD: Mutex<Yard> = Mutex::new(Yard::new());

/// Notified when a pause has ended or a command has begun.
static CHANGED: Notify = Notify::const_new();

/// Held while processes are stopped or continued, so that no two do it at once.
static SIGNALLING: Mutex<()> = Mutex::new(());

#[derive(Debug)]
struct Yard {
    n_given: u64,
    /// Commands that run, or left something running.
    trees: BTreeMap<u64, Arc<Tree>>,
    /// The writable folders of commands that are being started.
    starting: BTreeMap<u64, Vec<PathBuf>>,
    /// The folders that must not change now.
    pauses: BTreeMap<u64, Vec<PathBuf>>,
}

impl Yard {
    const fn new() -> Self {
        Self { n_given: 0, trees: BTreeMap::new(), starting: BTreeMap::new(), pauses: BTreeMap::new() }
    }

    fn number(&mut self) -> u64 {
        self.n_given += 1;
        self.n_given
    }

    fn is_paused(&self, writable: &[PathBuf]) -> bool {
        self.pauses.values().any(|it| reach::can_change(writable, it))
    }

    /// The commands that can write there, without those that have ended.
    fn trees_at(&mut self, places: &[PathBuf]) -> Vec<Arc<Tree>> {
        self.trees.retain(|_, tree| !tree.is_over());
        self.trees.values().filter(|it| reach::can_change(&it.writable, places)).cloned().collect()
    }
}

fn yard() -> MutexGuard<'static, Yard> {
    // Every change under the lock is done in one step.
    YARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `found` finds something.
async fn wait_for<T>(mut found: impl FnMut(&mut Yard) -> Option<T>) -> T {
    loop {
        // Listening begins before looking, so that no change is missed between the two.
        let mut changed = std::pin::pin!(CHANGED.notified());
        changed.as_mut().enable();
        let result = found(&mut yard());
        if let Some(result) = result {
            return result;
        }
        changed.await;
    }
}

/// A command that is being started. A pause waits for it.
#[derive(Debug)]
pub(crate) struct Start(u64);

impl Start {
    /// Begins to start a command that may write here, as soon as no pause forbids it.
    pub(crate) async fn begin(writable: Vec<PathBuf>) -> Self {
        wait_for(|yard| {
            if yard.is_paused(&writable) {
                return None;
            }
            let number = yard.number();
            yard.starting.insert(number, writable.clone());
            Some(Self(number))
        })
        .await
    }

    /// The command was started, and this is the root of its processes.
    pub(crate) fn done(self, root: Root) -> Arc<Tree> {
        let mut yard = yard();
        yard.trees.retain(|_, tree| !tree.is_over());
        let tree = Arc::new(Tree::new(root, yard.starting.get(&self.0).cloned().unwrap_or_default()));
        yard.trees.insert(self.0, Arc::clone(&tree));
        drop(yard);
        tree
    }
}

/// A helper has ended, and this is the root of what its command left running.
#[cfg(target_os = "linux")]
pub(crate) fn left_behind(root: Root, writable: Vec<PathBuf>) {
    let mut yard = yard();
    let number = yard.number();
    yard.trees.insert(number, Arc::new(Tree::new(root, writable)));
}

impl Drop for Start {
    fn drop(&mut self) {
        yard().starting.remove(&self.0);
        CHANGED.notify_waiters();
    }
}

/// A time in which nothing confined changes certain places. It ends when this is dropped.
#[derive(Debug)]
pub struct SandboxPause {
    number: u64,
    n_ended: usize,
}

/// Why there is no pause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PauseError {
    /// A process could not be stopped.
    #[error(
        "a confined command that was left running can be neither paused nor ended, and could change what is about to \
         run; end it and try again"
    )]
    GoesOn,
}

impl SandboxPause {
    /// Pauses all that is confined and can write in these places. Costs nothing where there is no such thing.
    ///
    /// # Errors
    /// Something can be neither paused nor ended.
    pub async fn begin(places: Vec<PathBuf>) -> Result<Self, PauseError> {
        let pause = {
            let mut yard = yard();
            let number = yard.number();
            yard.pauses.insert(number, places.clone());
            Self { number, n_ended: 0 }
        };
        let trees = wait_for(|yard| {
            let is_free = !yard.starting.values().any(|it| reach::can_change(it, &places));
            is_free.then(|| yard.trees_at(&places))
        })
        .await;
        if trees.is_empty() {
            return Ok(pause);
        }
        // If the caller is gone, the result is dropped, and with it the pause.
        let stopped = Task::blocking("pausing commands", move || pause.stop(&trees)).await;
        stopped.unwrap_or(Err(PauseError::GoesOn))
    }

    /// How many commands were ended because they could not be paused.
    pub fn n_ended(&self) -> usize {
        self.n_ended
    }

    fn stop(mut self, trees: &[Arc<Tree>]) -> Result<Self, PauseError> {
        self.n_ended = stop_or_end(trees)?;
        Ok(self)
    }
}

/// Stops all of these, and ends those that cannot be stopped. How many those were.
fn stop_or_end(trees: &[Arc<Tree>]) -> Result<usize, PauseError> {
    let _signalling = SIGNALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut n_ended = 0;
    for tree in trees {
        if !tree.stop() {
            n_ended += 1;
            if !tree.end() {
                return Err(PauseError::GoesOn);
            }
        }
    }
    Ok(n_ended)
}

impl Drop for SandboxPause {
    fn drop(&mut self) {
        let trees: Vec<_> = {
            let mut yard = yard();
            yard.pauses.remove(&self.number);
            yard.trees.values().filter(|it| it.is_stopped()).cloned().collect()
        };
        if !trees.is_empty() {
            let _signalling = SIGNALLING.lock().unwrap_or_else(PoisonError::into_inner);
            for tree in trees {
                if !yard().is_paused(&tree.writable) {
                    tree.go_on();
                }
            }
        }
        CHANGED.notify_waiters();
    }
}
