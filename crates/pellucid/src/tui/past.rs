//! Answers to the client's questions about the past of its session, by the functions behind `compact`, `undo` and `redo`.
//!
//! The session itself changes its history, because it is the only writer of its file; files of the project are changed
//! here.

use std::path::PathBuf;

use pellucid_agent::compact;
use pellucid_agent::door::LookQuestion;
use pellucid_agent::door::Sender;
use pellucid_agent::identity::new_turn_id;
use pellucid_agent::reshape::Reshape;
use pellucid_agent::reshape::ReshapeWish;
use pellucid_agent::reshape::Reshaped;
use pellucid_agent::reshape::SummaryAuthor;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::Submission;
use pellucid_store::record::Record;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;
use pellucid_tui::host::StoredRecord;
use pellucid_tui::past::LostFacts;
use pellucid_tui::past::PastAnswer;
use pellucid_tui::past::PastCall;
use pellucid_tui::past::Redone;
use pellucid_tui::past::SummaryView;
use pellucid_tui::past::WayBack;
use pellucid_tui::past::WentBack;
use tokio::sync::mpsc;
use tokio::sync::oneshot;

use crate::compact::answer;
use crate::compact::item_line;
use crate::fit;
use crate::start::ProgramFailure;
use crate::style::counted;
use crate::style::number;
use crate::tui::look::copy_of;
use crate::undo::LastingEffect;
use crate::undo::Stored;

/// Why nothing is known of a session that has no file.
const NO_FILE: &str = "nothing was said in this session yet";

/// Why a session does not answer.
const OVER: &str = "the session has ended";

/// What is needed to answer questions about the past.
#[derive(Debug, Clone)]
struct Ground {
    home: PathBuf,
    /// The folder that paths are shown relative to.
    folder: PathBuf,
    file: Option<PathBuf>,
    looks: Sender<LookQuestion>,
    reshapes: Sender<ReshapeWish>,
    submissions: Sender<Submission>,
}

/// Answers questions about the past of one session.
#[derive(Debug)]
pub struct Pasts {
    ground: Ground,
    answers: mpsc::UnboundedSender<PastAnswer>,
    ready: mpsc::UnboundedReceiver<PastAnswer>,
    tasks: Tasks,
}

/// Where a session's files are, and how it is reached.
#[derive(Debug)]
pub struct PastOf<'a> {
    pub home: PathBuf,
    pub folder: PathBuf,
    pub file: Option<PathBuf>,
    pub door: &'a pellucid_agent::door::Door,
}

impl Pasts {
    /// Answers questions about a session.
    pub fn new(of: PastOf<'_>) -> Self {
        let (answers, ready) = mpsc::unbounded_channel();
        let PastOf { home, folder, file, door } = of;
        let (looks, reshapes, submissions) = (door.looks.clone(), door.reshapes.clone(), door.submissions.clone());
        let ground = Ground { home, folder, file, looks, reshapes, submissions };
        Self { ground, answers, ready, tasks: Tasks::default() }
    }

    /// Takes a question. Its answer comes from [`Pasts::answer`].
    pub fn ask(&self, call: PastCall) {
        let (ground, answers) = (self.ground.clone(), self.answers.clone());
        self.tasks.spawn("looking at the past", async move {
            // The client is gone if this fails.
            let _ = answers.send(ground.answer(call).await);
        });
    }

    /// Waits for the next answer. May be cancelled.
    pub async fn answer(&mut self) -> PastAnswer {
        match self.ready.recv().await {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

impl Ground {
    async fn answer(self, call: PastCall) -> PastAnswer {
        match call {
            PastCall::TrySummary => {
                PastAnswer::Summary(self.reshape(Reshape::TrySummary).await.map(|it| Box::new(view(&it))))
            }
            PastCall::JudgeSummary(summary) => {
                let judged = self.copied(move |copy, _| Ok(copy.with_summary(&summary))).await;
                PastAnswer::Summary(judged.map(|it| Box::new(view(&it))))
            }
            PastCall::LastCompaction => {
                let found = self.copied(|copy, file| copy.last_compaction(&file.ok_or(NO_FILE)?)).await;
                PastAnswer::LastCompaction(found.map(|it| Box::new(view(&it))))
            }
            PastCall::StoreSummary { summary, is_edited } => {
                let author = if is_edited { SummaryAuthor::Person } else { SummaryAuthor::Model };
                let stored = self.reshape(Reshape::Summarise { summary, author }).await;
                let words = "the summary is in place of the history";
                let more = "/lost lists what it leaves out, /uncompact undoes it";
                PastAnswer::Reshaped(stored.map(|it| format!("{words}: {}; {more}", tokens_text(&it))))
            }
            PastCall::UndoCompaction => {
                let undone = self.reshape(Reshape::UndoCompaction).await;
                PastAnswer::Reshaped(undone.map(|it| format!("the last compaction is undone: {}", tokens_text(&it))))
            }
            PastCall::WayBack { n_messages } => PastAnswer::WayBack(self.way_back(n_messages).await.map(Box::new)),
            PastCall::GoBack { n_messages, message } => PastAnswer::WentBack(self.go_back(n_messages, message).await),
            PastCall::Redo => PastAnswer::Redone(self.redo().await.map(Box::new)),
        }
    }

    /// Has the session reshape its history.
    async fn reshape(&self, what: Reshape) -> Result<Reshaped, String> {
        let (answer, answered) = oneshot::channel();
        self.reshapes.send(ReshapeWish { what, answer }).await.map_err(|_closed| OVER)?;
        answered.await.map_err(|_ended| OVER)?
    }

    /// Asks a copy of the session, beside it.
    async fn copied<T: Send + 'static>(
        &self,
        ask: impl FnOnce(pellucid_agent::session::SessionCopy, Option<PathBuf>) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let copy = copy_of(&self.looks).await.ok_or(OVER)?;
        let file = self.file.clone();
        Task::blocking("looking at the past", move || ask(copy, file)).await.map_err(|_logged| OVER)?
    }

    /// Reads what the session's file and its edits say, beside the session.
    async fn stored<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Self, Stored) -> Result<T, ProgramFailure> + Send + 'static,
    ) -> Result<T, String> {
        let file = self.file.clone().filter(|file| file.is_file()).ok_or(NO_FILE)?;
        let ground = self.clone();
        let asked = Task::blocking("looking at the past", move || {
            let stored = Stored::of_file(ground.home.clone(), file)?;
            ask(&ground, stored)
        });
        asked.await.map_err(|_logged| OVER)?.map_err(|failure| failure.text().to_owned())
    }

    async fn way_back(&self, n_messages: usize) -> Result<WayBack, String> {
        self.stored(move |ground, stored| {
            let way = stored.way_back_by(n_messages)?;
            let kept = way.plan.kept.iter().map(|kept| format!("{}: {}", ground.path(&kept.path), kept.reason));
            let effect = |it: &LastingEffect| format!("turn {}  {}  {}", it.turn, it.tool, it.what);
            Ok(WayBack {
                turn: way.from,
                changes: way.plan.changes().map_err(ProgramFailure::new)?,
                kept: kept.collect(),
                effects: way.effects.iter().map(effect).collect(),
            })
        })
        .await
    }

    async fn go_back(&self, n_messages: usize, message: Option<String>) -> Result<WentBack, String> {
        let n_taken = if message.is_some() { n_messages } else { 0 };
        let words = self.stored(move |_, stored| {
            let way = stored.way_back_by(n_messages)?;
            stored.may_write_files("undo")?;
            stored.go_back(&way, n_taken)?;
            let kept = match way.plan.kept.len() {
                0 => String::new(),
                n => format!(", without {} that changed since", counted(n, "file")),
            };
            let (restored, turn) = (counted(way.plan.files.len(), "file"), way.from);
            Ok(format!("{restored} restored to before turn {turn}{kept}; /redo takes it back"))
        });
        let words = words.await?;
        if n_taken > 0 {
            let operation = Operation::ThreadRollback { num_turns: n_taken };
            // A session that has ended says so by its events.
            let _ = self.submissions.send(Submission { id: new_turn_id(), operation }).await;
        }
        Ok(WentBack { words, message })
    }

    /// Takes the last going back back: that with files, if there is one, else that of the conversation alone.
    async fn redo(&self) -> Result<Redone, String> {
        let last = self.stored(|_, stored| {
            let Some(last) = stored.last_undone() else { return Ok(None) };
            stored.go_forth(&last)?;
            Ok(Some((last.files.len(), last.turns)))
        });
        let (mut words, takes_turns) = match last.await? {
            Some((0, n_turns)) => (Vec::new(), n_turns > 0),
            Some((n_files, n_turns)) => (vec![format!("{} changed again", counted(n_files, "file"))], n_turns > 0),
            None => (Vec::new(), true),
        };
        if !takes_turns {
            return Ok(Redone { words: words.join(", "), history: None });
        }
        self.reshape(Reshape::RedoTurns).await.map_err(|why| match words.pop() {
            Some(done) => format!("{done}, but {why}"),
            None => why,
        })?;
        words.push("the turns are in the conversation again".to_owned());
        let file = self.file.clone();
        let records = Task::blocking("reading the session", move || {
            file.and_then(|file| pellucid_store::read::read(&file).ok()).map(|session| session.records)
        });
        let records = records.await.ok().flatten().unwrap_or_default();
        Ok(Redone { words: words.join(", "), history: Some(transcript(records)) })
    }

    fn path(&self, path: &std::path::Path) -> String {
        fit::relative(&path.to_string_lossy(), &self.folder, fit::user_folder().as_deref())
    }
}

/// The records of a session file that the client's transcript shows. Turns that were removed and are back count as never
/// removed.
pub fn transcript(records: Vec<Record>) -> Vec<StoredRecord> {
    let mut shown = Vec::new();
    for record in records {
        match record {
            Record::EventMsg(event) => shown.push(StoredRecord::Event(event)),
            Record::ResponseItem(item) => shown.push(StoredRecord::Item(item)),
            Record::Compacted(line) if compact::is_redo(&line) => {
                let is_removal =
                    |it: &StoredRecord| matches!(it, StoredRecord::Event(EventMessage::ThreadRolledBack { .. }));
                if let Some(at) = shown.iter().rposition(is_removal) {
                    shown.remove(at);
                }
            }
            Record::SessionMeta(_) | Record::Compacted(_) | Record::TurnContext(_) => {}
        }
    }
    shown
}

fn tokens_text(reshaped: &Reshaped) -> String {
    let (before, after) = reshaped.tokens;
    format!("{} tokens before, {} after", number(before), number(after))
}

/// What a summary does, for the client.
fn view(reshaped: &Reshaped) -> SummaryView {
    let answer = answer(reshaped);
    let lost =
        answer.lost().into_iter().map(|(kind, facts)| LostFacts { kind: kind.to_owned(), facts: facts.to_vec() });
    SummaryView {
        tokens: answer.tokens,
        leaves: answer.replaced.iter().map(item_line).collect(),
        stays: answer.kept.iter().map(item_line).collect(),
        summary: reshaped.summary.clone(),
        lost: lost.collect(),
    }
}

#[cfg(test)]
mod tests;
