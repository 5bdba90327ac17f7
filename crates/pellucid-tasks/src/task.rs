//! One task and its owner.

use std::pin::Pin;
use std::task::Context;
use std::task::Poll;

use tokio::task::JoinHandle;

use crate::contained::Failed;
use crate::contained::contained_task;

/// A task. It is stopped when this is dropped; awaiting it gives its result.
#[derive(Debug)]
#[must_use = "a task is stopped when its owner drops it"]
pub struct Task<T> {
    name: &'static str,
    handle: JoinHandle<Result<T, Failed>>,
}

impl<T: Send + 'static> Task<T> {
    /// Starts a task. The name is what the log calls it.
    #[expect(clippy::disallowed_methods, reason = "the task has this owner")]
    pub fn spawn(name: &'static str, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { name, handle: tokio::spawn(contained_task(name, work)) }
    }

    /// Does work that waits for the disk or for a process, on a thread for such work. Work that has begun cannot be
    /// stopped: it runs to its end, and its result is dropped.
    #[expect(clippy::disallowed_methods, reason = "the task has this owner")]
    pub fn blocking(name: &'static str, work: impl FnOnce() -> T + Send + 'static) -> Self {
        // One type for all work with such a result, as for futures.
        let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
        let handle = tokio::task::spawn_blocking(move || {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|_panic| Failed::log(name))
        });
        Self { name, handle }
    }
}

impl<T> Task<T> {
    /// Whether it has ended, in whatever way.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Stops it, and waits until all that it held is dropped.
    pub async fn stop(&mut self) {
        self.handle.abort();
        // Stopping is no failure.
        let _ = (&mut self.handle).await;
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, Failed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let name = self.name;
        // A task that ended without a result was stopped with its runtime.
        Pin::new(&mut self.handle).poll(context).map(|ended| ended.unwrap_or(Err(Failed { task: name })))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.handle.abort();
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn the_owner_gets_the_result_or_the_failure() {
        assert_eq!(Task::spawn("sum", async { 1 + 1 }).await, Ok(2));
        assert_eq!(Task::blocking("sum", || 1 + 1).await, Ok(2));
        let broken = Task::spawn("broken", async { panic!("expected") });
        assert_eq!(broken.await, Err::<(), _>(Failed { task: "broken" }));
        let broken = Task::blocking("broken too", || panic!("expected"));
        assert_eq!(broken.await, Err::<(), _>(Failed { task: "broken too" }));
    }

    #[tokio::test]
    async fn a_dropped_task_is_stopped() {
        let (held, dropped) = oneshot::channel::<()>();
        let task = Task::spawn("endless", async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        drop(task);
        assert!(dropped.await.is_err(), "what the task held is dropped with it");
    }
}
