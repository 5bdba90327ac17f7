//! The first phase: a model reads each session that was taken, one request for each.

use std::collections::BTreeMap;

use pellucid_engine::fragment::Fragment;
use pellucid_engine::memories::AT_ONCE_MAX;
use pellucid_engine::memories::extraction;
use pellucid_engine::memories::extraction::ExtractionAnswer;
use pellucid_protocol::item::Item;
use pellucid_store::read;
use pellucid_store::record::Record;
use pellucid_store::redact::Redactor;
use serde::Serialize;
use tokio::task::JoinSet;

use super::Pipeline;
use super::blocking;
use super::ledger;
use super::ledger::Taken;
use crate::identity;
use crate::session::Answered;
use crate::session::Session;

/// A session that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadSession {
    /// The id of the past session.
    pub session: String,
    /// What came of it.
    #[serde(flatten)]
    pub reading: SessionReading,
}

/// What came of reading a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum SessionReading {
    /// The session gave something to remember.
    Kept,
    /// The session has nothing worth remembering.
    Nothing,
    /// The session could not be read.
    Failed {
        /// Why the session could not be read.
        why: String,
    },
}

/// What one request of several came to.
struct Ended {
    n: usize,
    line: Option<u64>,
    answered: Answered,
}

impl Pipeline {
    /// Takes the sessions that are to be read now.
    pub(super) async fn take_sessions(&self) -> Result<Vec<Taken>, String> {
        let config = self.setup.sources.config.clone();
        let (own, worker) = (self.session.to_string(), self.worker.to_string());
        let taken = blocking(move || ledger::take_sessions(&config, &own, &worker)).await?;
        taken.map_err(|error| error.to_string())
    }

    /// Reads sessions, some at a time. What comes of each is kept at once.
    pub(super) async fn read(
        &self,
        taken: Vec<Taken>,
        worker: &mut Option<Session>,
    ) -> Result<Vec<ReadSession>, String> {
        let worker = self.worker(worker).await?;
        let redactor = self.redactor();
        let mut read = BTreeMap::new();
        let mut running: JoinSet<Ended> = JoinSet::new();
        let mut waiting = taken.iter().enumerate();
        loop {
            while running.len() < AT_ONCE_MAX
                && let Some((n, next)) = waiting.next()
            {
                match self.ask(next, worker).await {
                    Ok((line, question)) => {
                        running.spawn(async move { Ended { n, line, answered: question.await } });
                    }
                    Err(why) => drop(read.insert(n, self.finish(next, Err(why)).await)),
                }
            }
            let Some(ended) = running.join_next().await else { break };
            let Ended { n, line, answered } = ended.map_err(|error| format!("a request ended early: {error}"))?;
            worker.log_answer(line, &answered);
            let answer = answered.said.and_then(|said| extraction::parse(&said));
            let answer = answer.map(|answer| answer.map(|answer| redacted(&redactor, answer)));
            read.insert(n, self.finish(&taken[n], answer).await);
        }
        let read = read.into_iter();
        Ok(read.map(|(n, reading)| ReadSession { session: taken[n].session.clone(), reading }).collect())
    }

    /// Asks about a session: the request is written down, and is sent when the future is awaited.
    async fn ask(
        &self,
        taken: &Taken,
        worker: &mut Session,
    ) -> Result<(Option<u64>, impl Future<Output = Answered> + Send + use<>), String> {
        let model = &self.config().tools.memories.reading_model;
        let mut facts = worker.facts().clone();
        facts.settings.model = self.setup.sources.model(model).0;
        facts.settings.effort = self.setup.gathered.facts.settings.effort;
        let (path, cwd) = (self.config().folders.home.join(&taken.path), taken.cwd.clone());
        let (pack, window) = (self.setup.pack.clone(), facts.settings.model.effective_window());
        let input: Vec<Fragment> = blocking(move || {
            let loaded = read::read(&path).map_err(|error| error.to_string())?;
            let items: Vec<Item> = loaded.records.into_iter().filter_map(item).collect();
            let session = extraction::ExtractionSource { path: &path.to_string_lossy(), cwd: &cwd, items: &items };
            Ok::<_, String>(extraction::input(&pack, &session, window))
        })
        .await??;
        let instructions = extraction::instructions(&self.setup.pack);
        let turn = identity::new_turn_id();
        worker.ask_apart(&turn, &facts, &instructions, input, extraction::schema())
    }

    /// Keeps what came of a session.
    async fn finish(&self, taken: &Taken, answer: Result<Option<ExtractionAnswer>, String>) -> SessionReading {
        let (home, taken) = (self.config().folders.home.clone(), taken.clone());
        let reading = match &answer {
            Ok(Some(_)) => SessionReading::Kept,
            Ok(None) => SessionReading::Nothing,
            Err(why) => SessionReading::Failed { why: why.clone() },
        };
        let kept = blocking(move || match answer {
            Ok(answer) => ledger::finish_session(&home, &taken, answer),
            Err(why) => ledger::fail_session(&home, &taken, &why),
        });
        match kept.await.and_then(|kept| kept.map_err(|error| error.to_string())) {
            Ok(()) => reading,
            Err(why) => SessionReading::Failed { why },
        }
    }

    /// Blanks what looks like a secret, and the keys that we use.
    fn redactor(&self) -> Redactor {
        let names = self.setup.key_variables();
        Redactor::new(names.iter().filter_map(|name| self.setup.sources.env.text(name)))
    }
}

fn item(record: Record) -> Option<Item> {
    match record {
        Record::ResponseItem(item) => Some(item),
        _ => None,
    }
}

fn redacted(redactor: &Redactor, answer: ExtractionAnswer) -> ExtractionAnswer {
    let blank = |text: String| redactor.text(&text).0;
    ExtractionAnswer {
        raw_memory: blank(answer.raw_memory),
        rollout_summary: blank(answer.rollout_summary),
        rollout_slug: answer.rollout_slug.map(blank),
    }
}
