//! The one kernel of a session: started when it is first needed, kept between calls, ended when it
//! breaks, takes too long, is reset, or may no longer do what it may.

use std::time::Duration;

use tokio::sync::Mutex;

use super::input::Piece;
use super::kernel::Kernel;
use super::kernel::Limits;
use super::kernel::Trouble;
use crate::CallContext;

/// The default time limit of a piece.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The place of a session's kernel. The holder of the lock runs the only piece.
#[derive(Debug, Default)]
pub(crate) struct KernelSeat {
    kernel: Mutex<Option<Kernel>>,
}

impl KernelSeat {
    /// Whether no kernel runs, and none is in use.
    pub(crate) fn is_empty(&self) -> bool {
        self.kernel.try_lock().is_ok_and(|kernel| kernel.is_none())
    }

    /// Runs a piece, in the existing kernel or a new one. Returns its output, or the text for the model instead.
    pub(super) async fn execute(&self, job: &CallContext, piece: &Piece) -> Result<String, String> {
        let mut seat = self.kernel.lock().await;
        // The kernel leaves its seat for the time being: if this call is interrupted, the state of the kernel is
        // unknown, and it ends with the call.
        let kept = seat.take();
        let limits = Limits::of(&job.situation);
        let mut kernel = match kept {
            Some(kernel) if kernel.limits() == &limits => kernel,
            other => {
                if let Some(other) = other {
                    other.end().await;
                }
                Kernel::start(job, limits).await?
            }
        };
        job.notes.runs(kernel.sandbox.clone());
        let timeout = piece.timeout.unwrap_or(DEFAULT_TIMEOUT);
        match kernel.execute(job, &piece.code, timeout).await {
            Ok(ran) => {
                *seat = Some(kernel);
                ran
            }
            Err(Trouble::TimedOut) => {
                kernel.end().await;
                Err("js_repl execution timed out; kernel reset, rerun your request".to_owned())
            }
            Err(Trouble::Silent(silence)) => Err(kernel.post_mortem(&silence).await),
        }
    }

    /// Ends the kernel, if there is one.
    pub(crate) async fn reset(&self) {
        if let Some(kernel) = self.kernel.lock().await.take() {
            kernel.end().await;
        }
    }
}
