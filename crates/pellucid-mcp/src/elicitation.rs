//! Questions of a server for a person: where they are asked, and how long they stay open.
//!
//! A question is open until it is answered, the server withdraws it, or the server's output ends. While a question is
//! open, the time limits of requests to its server do not run: a person needs longer than a program.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;
use std::time::Duration;

use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::elicitation::ElicitationRequest;
use tokio::io::AsyncRead;
use tokio::io::ReadBuf;
use tokio::sync::watch;
use tokio::time::Instant;

/// The answer to a question of a server, once there is one.
pub type Answering = Pin<Box<dyn Future<Output = ElicitationAnswer> + Send>>;

/// Asks a person for servers. A question is withdrawn by dropping the future.
pub trait Person: Send + Sync + std::fmt::Debug {
    /// Asks, and gives the answer.
    fn ask(&self, request: ElicitationRequest) -> Answering;

    /// Whether the person can be shown an address to open.
    fn sees_pages(&self) -> bool {
        false
    }
}

/// A person who is never there: every question is declined.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Person for Nobody {
    fn ask(&self, request: ElicitationRequest) -> Answering {
        tracing::warn!(server = request.server_name, "declined a question of an MCP server");
        Box::pin(async { ElicitationAnswer::without_content(ElicitationAction::Decline) })
    }
}

/// The questions of one server that are open.
#[derive(Debug)]
pub(crate) struct OpenQuestions {
    person: Arc<dyn Person>,
    n_open: watch::Sender<usize>,
    /// How often the server reported progress.
    n_progress: watch::Sender<u64>,
    /// Whether the server's output has ended, so that no answer can reach it.
    is_gone: watch::Sender<bool>,
}

impl OpenQuestions {
    pub(crate) fn new(person: Arc<dyn Person>) -> Arc<Self> {
        Arc::new(Self {
            person,
            n_open: watch::Sender::new(0),
            n_progress: watch::Sender::new(0),
            is_gone: watch::Sender::new(false),
        })
    }

    /// Asks a question of the server. It is cancelled if `withdrawn` ends first, or if the server is gone.
    pub(crate) async fn ask(
        &self,
        request: ElicitationRequest,
        withdrawn: impl Future<Output = ()>,
    ) -> ElicitationAnswer {
        let _open = OpenQuestion::count(&self.n_open);
        let mut is_gone = self.is_gone.subscribe();
        tokio::select! {
            biased;
            () = withdrawn => {}
            _ = is_gone.wait_for(|is_gone| *is_gone) => {}
            answer = self.person.ask(request) => return answer,
        }
        ElicitationAnswer::without_content(ElicitationAction::Cancel)
    }

    /// Whether the person can be shown an address to open.
    pub(crate) fn sees_pages(&self) -> bool {
        self.person.sees_pages()
    }

    /// Waits for work during which a question counts as open.
    pub(crate) async fn while_open<T>(&self, work: impl Future<Output = T>) -> T {
        let _open = OpenQuestion::count(&self.n_open);
        work.await
    }

    /// The output of the server, whose end closes the questions.
    pub(crate) fn watched<R>(self: &Arc<Self>, output: R) -> Watched<R> {
        Watched { output, questions: self.clone() }
    }

    /// Whether the server's output has ended.
    pub(crate) fn is_gone(&self) -> bool {
        *self.is_gone.borrow()
    }

    /// The server reports progress, so requests may take longer.
    pub(crate) fn progressed(&self) {
        self.n_progress.send_modify(|n| *n = n.wrapping_add(1));
    }

    /// Waits for a request to the server within these limits, without the time in which questions are open.
    ///
    /// # Errors
    /// The limit that is over.
    pub(crate) async fn within<T>(&self, limits: Limits, request: impl Future<Output = T>) -> Result<T, Duration> {
        let mut request = std::pin::pin!(request);
        let (mut n_open, mut n_progress) = (self.n_open.subscribe(), self.n_progress.subscribe());
        let (mut idle, mut total) = (limits.idle, limits.total);
        loop {
            let began = Instant::now();
            let runs = *n_open.borrow_and_update() == 0;
            let mut has_progressed = false;
            tokio::select! {
                biased;
                answer = &mut request => return Ok(answer),
                // The senders live as long as `self`.
                Ok(()) = n_open.changed() => {}
                Ok(()) = n_progress.changed() => has_progressed = true,
                () = tokio::time::sleep(idle.min(total)), if runs => {
                    return Err(if total < idle { limits.total } else { limits.idle });
                }
            }
            if runs {
                idle = idle.saturating_sub(began.elapsed());
                total = total.saturating_sub(began.elapsed());
            }
            if has_progressed {
                idle = limits.idle;
            }
        }
    }
}

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// How long a server may take that reports no progress.
    pub idle: Duration,
    /// In all, whatever progress there is.
    pub total: Duration,
}

/// A question that counts as open until it is dropped.
struct OpenQuestion<'a>(&'a watch::Sender<usize>);

impl<'a> OpenQuestion<'a> {
    fn count(n_open: &'a watch::Sender<usize>) -> Self {
        n_open.send_modify(|n_open| *n_open += 1);
        Self(n_open)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|n_open| *n_open -= 1);
    }
}

/// The output of a server.
#[derive(Debug)]
pub(crate) struct Watched<R> {
    output: R,
    questions: Arc<OpenQuestions>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let n_before = buf.filled().len();
        let polled = Pin::new(&mut self.output).poll_read(context, buf);
        let has_ended = match &polled {
            Poll::Ready(Ok(())) => buf.filled().len() == n_before && buf.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if has_ended {
            self.questions.is_gone.send_replace(true);
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::future::ready;
    use std::sync::Mutex;

    use pellucid_protocol::elicitation::ElicitationId;
    use tokio::io::AsyncReadExt;
    use tokio::sync::oneshot;

    use super::*;

    /// A person who answers when the test lets them.
    #[derive(Debug, Default)]
    struct Slow(Mutex<Option<oneshot::Receiver<ElicitationAction>>>);

    impl Person for Slow {
        fn ask(&self, _: ElicitationRequest) -> Answering {
            let answer = self.0.lock().unwrap().take();
            Box::pin(async move {
                let action = match answer {
                    Some(answer) => answer.await.unwrap(),
                    None => pending().await,
                };
                ElicitationAnswer::without_content(action)
            })
        }
    }

    fn slow() -> (Arc<OpenQuestions>, oneshot::Sender<ElicitationAction>) {
        let (answer, given) = oneshot::channel();
        (OpenQuestions::new(Arc::new(Slow(Mutex::new(Some(given))))), answer)
    }

    const NONE: Limits = Limits { idle: Duration::ZERO, total: Duration::ZERO };

    fn request() -> ElicitationRequest {
        ElicitationRequest {
            server_name: "depot".to_owned(),
            id: ElicitationId::Number(1),
            message: "May I?".to_owned(),
            schema: serde_json::Value::Null,
            url: None,
        }
    }

    #[tokio::test]
    async fn time_does_not_run_while_a_question_is_open() {
        let (questions, answer) = slow();
        let (asked, limited, ()) =
            tokio::join!(questions.ask(request(), pending()), questions.within(NONE, pending::<()>()), async move {
                answer.send(ElicitationAction::Accept).unwrap();
            });
        assert_eq!((asked.action, limited), (ElicitationAction::Accept, Err(Duration::ZERO)));
        assert_eq!(questions.within(NONE, ready(7)).await, Ok(7));
    }

    #[tokio::test(start_paused = true)]
    async fn progress_restarts_the_limit_up_to_the_total() {
        let questions = slow().0;
        let second = Duration::from_secs(1);
        let limits = Limits { idle: 3 * second, total: 10 * second };
        let reporting = async {
            for _ in 0..20 {
                tokio::time::sleep(2 * second).await;
                questions.progressed();
            }
        };
        let began = Instant::now();
        let (limited, ()) = tokio::join!(
            async {
                let limited = questions.within(limits, pending::<()>()).await;
                (limited, began.elapsed())
            },
            reporting
        );
        assert_eq!(limited, (Err(10 * second), 10 * second));
        let began = Instant::now();
        assert_eq!(questions.within(limits, pending::<()>()).await, Err(3 * second));
        assert_eq!(began.elapsed(), 3 * second);
    }

    #[tokio::test]
    async fn a_withdrawn_question_is_cancelled_and_time_runs_again() {
        let (questions, _answer) = slow();
        let asked = questions.ask(request(), ready(())).await;
        assert_eq!(asked.action, ElicitationAction::Cancel);
        assert_eq!(questions.within(NONE, pending::<()>()).await, Err(Duration::ZERO));
    }

    #[tokio::test]
    async fn the_end_of_the_output_cancels_questions() {
        let (questions, _answer) = slow();
        let mut output = questions.watched(&b"last words"[..]);
        let reading = async { output.read_to_end(&mut Vec::new()).await.unwrap() };
        let (asked, n_read) = tokio::join!(questions.ask(request(), pending()), reading);
        assert_eq!((asked.action, n_read), (ElicitationAction::Cancel, 10));
    }
}
