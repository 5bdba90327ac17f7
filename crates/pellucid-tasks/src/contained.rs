//! A future whose panic becomes an error of its caller.

use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;

/// A task that panicked, or was not stopped by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{task} failed inside Pellucid; the log names the place")]
pub struct Failed {
    /// The name of the task, as it is in the log.
    pub task: &'static str,
}

impl Failed {
    /// Logs that a task panicked. The hook has logged the place before.
    pub(crate) fn log(task: &'static str) -> Self {
        tracing::error!(task, "a task panicked");
        Self { task }
    }
}

/// Runs a future. If it panics, the panic is logged under this name and the caller gets an error.
///
/// Values that the future only borrowed may be left half changed: the caller either drops them or knows that every
/// change of theirs is one step.
pub fn contained<F: Future>(name: &'static str, work: F) -> Contained<F> {
    Contained { name, work: Box::pin(work) }
}

/// The same for a future that a task runs. The runtime's code around a task is compiled for each type of future; with one
/// type for all tasks of a result, the program has that code once.
pub(crate) fn contained_task<T: 'static>(
    name: &'static str,
    work: impl Future<Output = T> + Send + 'static,
) -> Contained<dyn Future<Output = T> + Send> {
    Contained { name, work: Box::pin(work) }
}

/// A future whose panic is an error.
///
/// The work has a place on the heap: an `async fn` in its place would hold it twice, as argument and as what it waits for.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Contained<F: ?Sized> {
    name: &'static str,
    work: Pin<Box<F>>,
}

impl<F: Future + ?Sized> Future for Contained<F> {
    type Output = Result<F::Output, Failed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_unwind(AssertUnwindSafe(|| self.work.as_mut().poll(context))) {
            Ok(done) => done.map(Ok),
            Err(_panic) => Poll::Ready(Err(Failed::log(self.name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_before_or_after_waiting_is_an_error_of_the_caller() {
        assert_eq!(contained("sum", async { 1 + 1 }).await, Ok(2));
        let at_once = contained("at once", async { panic!("expected") });
        assert_eq!(at_once.await, Err::<(), _>(Failed { task: "at once" }));
        let later = contained("later", async {
            tokio::task::yield_now().await;
            panic!("expected")
        });
        assert_eq!(later.await, Err::<(), _>(Failed { task: "later" }));
    }
}
