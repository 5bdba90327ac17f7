//! A future whose panic becomes an error of its caller.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::pin::pin;
use std::task::Poll;

/// A task that panicked, or was stopped by somebody else than its owner.
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
///
/// # Errors
/// If the future panicked.
pub async fn contained<T>(name: &'static str, work: impl Future<Output = T>) -> Result<T, Failed> {
    let mut work = pin!(work);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(_panic) => Poll::Ready(Err(Failed::log(name))),
    })
    .await
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
