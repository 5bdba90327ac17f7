//! What a client may do to the history between two turns: try a summary, accept one, and take either back.
//!
//! A summary on trial is made by a copy of the session, which runs the turn of a compaction as any other and is dropped
//! afterwards. The copy has the session's log meanwhile, so the request for the summary is recorded; the session file stays
//! as it is.

use std::path::Path;

use pellucid_engine::fragment::Origin;
use pellucid_engine::turn::compacting::ADVICE;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_store::read;
use pellucid_store::read::SessionFile;
use pellucid_store::record::Record;
use tokio::sync::oneshot;

use crate::door;
use crate::door::ClientGone;
use crate::door::Inside;
use crate::drive;
use crate::drive::TurnInput;
use crate::identity::new_turn_id;
use crate::session::Session;
use crate::session::SessionCopy;

/// Why a history cannot be reshaped that no file has yet.
const NO_FILE: &str = "nothing was said in this session yet";

/// What a client wants done to the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reshape {
    /// Ask for a summary, and change nothing.
    TrySummary,
    /// Put a summary in place of the history.
    Summarise {
        /// The summary in its own words.
        summary: String,
        /// Who wrote the summary.
        author: SummaryAuthor,
    },
    /// Go back to the history without the last compaction.
    UndoCompaction,
    /// Put the turns back that were removed last.
    RedoTurns,
}

/// Who wrote a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryAuthor {
    /// The model wrote all of it.
    Model,
    /// A person wrote or changed it.
    Person,
}

/// A wish to reshape the history. Its answer says what was done, or why nothing was.
#[derive(Debug)]
pub struct ReshapeWish {
    /// What is wished.
    pub what: Reshape,
    /// Takes the answer.
    pub answer: oneshot::Sender<Result<Reshaped, String>>,
}

/// The history before and after it was reshaped, or would be.
#[derive(Debug, Clone, PartialEq)]
pub struct Reshaped {
    /// The items before.
    pub before: Vec<Item>,
    /// The items after.
    pub after: Vec<Item>,
    /// The estimated tokens of instructions and items, before and after.
    pub tokens: (usize, usize),
    /// The summary in its own words; absent where there is none or a provider sealed it.
    pub summary: Option<String>,
    /// The whole message that has the summary.
    pub message: Option<String>,
}

impl Reshaped {
    /// What became of a history that had these items and tokens.
    pub fn since((before, tokens): (Vec<Item>, usize), session: &Session) -> Self {
        Self {
            before,
            after: session.items(),
            tokens: (tokens, session.tokens()),
            summary: session.last_summary(),
            message: session.last_summary_message(),
        }
    }
}

impl SessionCopy {
    /// What this summary would do in place of the history.
    pub fn with_summary(self, summary: &str) -> Reshaped {
        let mut session = self.into_session();
        let before = (session.items(), session.tokens());
        session.compact_with(summary);
        Reshaped::since(before, &session)
    }

    /// What the last compaction that is not undone did, by the session's file.
    ///
    /// # Errors
    /// The file cannot be read, or has no such compaction.
    pub fn last_compaction(self, file: &Path) -> Result<Reshaped, String> {
        let (file, records) = stored(Some(file))?;
        let reshaped = self.into_session().last_compaction(&file, &records);
        reshaped.ok_or_else(|| "the session was not compacted, or every compaction is undone".to_owned())
    }
}

/// Does what a client wishes and answers. Events that follow from it go to the client as any others.
pub(crate) async fn fulfil(session: &mut Session, wish: ReshapeWish, inside: &mut Inside) -> Result<(), ClientGone> {
    let ReshapeWish { what, answer } = wish;
    let before = (session.items(), session.tokens());
    let done = match what {
        Reshape::TrySummary => try_summary(session, inside).await?,
        Reshape::Summarise { summary, author } => {
            let origin = match author {
                SummaryAuthor::Model => Origin::Model,
                SummaryAuthor::Person => Origin::User,
            };
            let mut events = session.put_summary(&summary, &origin).to_vec();
            events.push(EventMessage::Warning { message: ADVICE.to_owned() });
            Ok((events, None))
        }
        Reshape::UndoCompaction => stored(session.path()).and_then(|(file, records)| {
            let figures = session.take_compaction_back(&file, &records).map_err(|error| error.to_string())?;
            Ok((vec![figures], None))
        }),
        Reshape::RedoTurns => stored(session.path()).and_then(|(file, records)| {
            let figures = session.put_turns_back(&file, &records).map_err(|error| error.to_string())?;
            Ok((vec![figures], None))
        }),
    };
    let done = match done {
        Ok((events, tried)) => {
            for event in events {
                inside.events.send(&mut session.log, "", event).await?;
            }
            Ok(tried.unwrap_or_else(|| Reshaped::since(before, session)))
        }
        Err(why) => Err(why),
    };
    // A client that asks something else meanwhile does not wait any more.
    let _ = answer.send(done);
    Ok(())
}

/// The session file and its lines.
fn stored(path: Option<&Path>) -> Result<(SessionFile, Vec<Record>), String> {
    let path = path.filter(|path| path.is_file()).ok_or(NO_FILE)?;
    let file = read::open(path).map_err(|error| error.to_string())?;
    let records = read::read(path).map_err(|error| error.to_string())?.records;
    Ok((file, records))
}

/// Has a copy of the session make a summary. Gives the warnings that the client has to see, and what the summary would do.
async fn try_summary(
    session: &mut Session,
    inside: &mut Inside,
) -> Result<Result<(Vec<EventMessage>, Option<Reshaped>), String>, ClientGone> {
    if session.log.written().is_none() {
        return Ok(Err(NO_FILE.to_owned()));
    }
    let mut copy = session.copy().into_session();
    std::mem::swap(&mut copy.log, &mut session.log);
    copy.log.hold_still();
    let before = (copy.items(), copy.tokens());
    let mut heard = Heard::default();
    let end = run(&mut copy, session, inside, &mut heard).await;
    copy.log.let_go();
    std::mem::swap(&mut copy.log, &mut session.log);
    session.count_spent(&copy);
    session.log_items();
    end?;
    Ok(match heard.failure {
        Some(why) => Err(why),
        None => Ok((heard.warnings, Some(Reshaped::since(before, &copy)))),
    })
}

/// What the turn of a copy said.
#[derive(Debug, Default)]
struct Heard {
    warnings: Vec<EventMessage>,
    /// Why there is no summary.
    failure: Option<String>,
}

impl Heard {
    fn hear(&mut self, event: EventMessage) {
        match event {
            // The history is not summarised before a client accepts the summary.
            EventMessage::Warning { message } if message == ADVICE => {}
            EventMessage::Warning { .. } => self.warnings.push(event),
            EventMessage::Error { message, .. } => {
                self.failure.get_or_insert(message);
            }
            EventMessage::TurnAborted { .. } => {
                self.failure.get_or_insert_with(|| "the summary was interrupted".to_owned());
            }
            _ => {}
        }
    }
}

/// Runs the turn of a compaction on a copy. The client of the session can interrupt it; everything else that the client
/// submits waits for its end.
async fn run(
    copy: &mut Session,
    session: &mut Session,
    inside: &mut Inside,
    heard: &mut Heard,
) -> Result<(), ClientGone> {
    let (mut door, mut copy_inside) = door::open(copy);
    let turn = TurnInput { id: new_turn_id(), task: drive::Task::Compact, items: Vec::new(), output_schema: None };
    let mut is_gone = false;
    let mut turn = std::pin::pin!(drive::drive(copy, turn, &mut copy_inside));
    loop {
        let is_stopped = tokio::select! {
            biased;
            Some(event) = door.events.recv() => {
                heard.hear(event.msg);
                false
            }
            submission = inside.submissions.recv(), if !is_gone => match submission {
                Some(Submission { operation: Operation::Interrupt, .. }) => true,
                Some(submission) => {
                    let is_end = matches!(submission.operation, Operation::Shutdown);
                    inside.waiting.push_back(submission);
                    is_end
                }
                None => {
                    is_gone = true;
                    true
                }
            },
            Some(question) = inside.looks.recv() => {
                question.between_turns(session);
                false
            }
            _ended = &mut turn => break,
        };
        if is_stopped {
            // The copy takes it unless its turn has ended, and then there is nothing to stop.
            let _ = door.submissions.send(Submission { id: new_turn_id(), operation: Operation::Interrupt }).await;
        }
    }
    while let Ok(event) = door.events.try_recv() {
        heard.hear(event.msg);
    }
    if is_gone { Err(ClientGone) } else { Ok(()) }
}
