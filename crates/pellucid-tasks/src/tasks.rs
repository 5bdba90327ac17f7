//! Many tasks with one owner.

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;

use tokio::task::JoinSet;

use crate::contained::contained_task;

/// Tasks that are not awaited one by one. All of them are stopped when this is dropped.
#[derive(Debug, Default)]
pub struct Tasks {
    running: Mutex<JoinSet<()>>,
}

impl Tasks {
    /// The tasks of this process: each ends by itself soon after what it serves, such as a child process, has ended.
    pub fn of_process() -> &'static Self {
        static TASKS: OnceLock<Tasks> = OnceLock::new();
        TASKS.get_or_init(Self::default)
    }

    /// Starts a task. The name is what the log calls it.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let mut running = self.running();
        // Those that have ended are forgotten, so that the set does not grow. A panic is logged where it happens.
        while running.try_join_next().is_some() {}
        // Outside of the block, which would keep a second place for the work.
        let work = contained_task(name, work);
        running.spawn(async move {
            let _is_logged = work.await;
        });
    }

    fn running(&self) -> MutexGuard<'_, JoinSet<()>> {
        // Every change of the set is one step.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_panic_ends_one_task_and_dropping_the_owner_ends_all() {
        let tasks = Tasks::default();
        let (held, dropped) = oneshot::channel::<()>();
        tasks.spawn("endless", async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        let (done, is_done) = oneshot::channel();
        tasks.spawn("broken", async { panic!("expected") });
        tasks.spawn("after it", async move { done.send(()).unwrap() });
        assert_eq!(is_done.await, Ok(()));
        drop(tasks);
        assert!(dropped.await.is_err());
    }
}
