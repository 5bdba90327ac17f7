//! Answers to the questions of a strategy: summaries and vectors, by a model or without one.
//!
//! Summaries that may be asked for side by side go through a rate limiter; after one that fails,
//! those that have not begun are canceled.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::time::Duration;

use pellucid_engine::digest::Digest;
use pellucid_engine::digest::RequestDigest;
use pellucid_engine::encode::Encoded;
use pellucid_engine::encode::Encoder;
use pellucid_engine::encode::Span;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::fragment::Origin;
use pellucid_engine::memory::MemoryFailure;
use pellucid_engine::memory::Stop;
use pellucid_engine::memory::ask::MemoryAnswer;
use pellucid_engine::memory::ask::MemoryQuestion;
use pellucid_engine::memory::ask::SummaryMessage;
use pellucid_engine::memory::ask::VectorLifetime;
use pellucid_engine::memory::data::CardData;
use pellucid_engine::memory::entry::ChatRole;
use pellucid_engine::memory::layout::Embedder;
use pellucid_engine::memory::layout::MemoryLayout;
use pellucid_engine::memory::layout::MemoryStrategy;
use pellucid_engine::memory::layout::Summariser;
use pellucid_engine::memory::lexical;
use pellucid_engine::memory::ranking::KnownVectors;
use pellucid_engine::memory::rate_limiter::AfterFailure;
use pellucid_engine::memory::rate_limiter::Options;
use pellucid_engine::memory::rate_limiter::RateLimiter;
use pellucid_engine::memory::rate_limiter::TaskEnd;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::transcript::View;
use pellucid_model::Model;
use pellucid_model::Reply;
use pellucid_model::model::Ask;
use pellucid_model::transport::Attempts;
use pellucid_protocol::failure::FailureCode;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::ContentPart;
use pellucid_protocol::item::Item;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;
use pellucid_protocol::usage::TokenUsage;
use pellucid_store::moment::Moment;
use pellucid_store::requests::entry;
use pellucid_tasks::contained;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::job::Done;
use super::job::Job;
use crate::least::Least;
use crate::session::failure_word;

/// Where the texts come from that a memory asks about.
const MEMORY: &str = "the memory of this session";

/// The failure of a request that had not begun when another failed.
const CANCELED: &str = "canceled";

/// How many vectors are asked for at once.
const VECTORS_MAX: usize = 50;

/// Nothing in a request for a summary is cut.
pub(crate) const UNCUT: TruncationPolicy = TruncationPolicy { mode: TruncationMode::Bytes, limit: i64::MAX };

/// What came of a strategy.
#[derive(Debug)]
pub(crate) struct Remembered {
    pub result: Result<Done, MemoryFailure>,
    /// The cards now, where they are worth keeping.
    pub cards: Option<CardData>,
    /// Vectors that are worth keeping.
    pub vectors: KnownVectors,
    /// What kept a model from answering, if something did.
    pub failure: Option<FailureCode>,
}

/// The model that answers a strategy's questions, and how it is asked.
#[derive(Debug)]
pub(crate) struct Asker {
    pub model: Model,
    pub headers: Vec<(String, String)>,
    /// What surrounds the messages of a request for a summary.
    pub frame: Frame,
    pub ids: ItemIds,
    /// How the least that a request costs is counted.
    pub least: Least,
    /// What kept the model from answering, the first time.
    pub failure: FirstFailure,
    /// The turn that the questions belong to.
    pub turn: TurnId,
    /// Where requests are noted, if they are recorded or reported.
    pub asked: Option<AskedList>,
}

/// The first failure of several requests. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstFailure(Arc<OnceLock<FailureCode>>);

impl FirstFailure {
    /// Notes a failure, and gives its message.
    pub(crate) fn note(&self, error: ReplyError) -> String {
        self.0.get_or_init(|| error.failure.code);
        error.failure.plain.unwrap_or(error.message)
    }
}

/// A request that was sent for a memory.
#[derive(Debug)]
pub(crate) struct Asked {
    pub turn: TurnId,
    pub frame: Frame,
    /// The items of a request for a summary; absent for one for vectors, whose frame is all of it.
    pub items: Option<Vec<(Item, Arc<[Span]>)>>,
    pub account: RequestDigest,
    pub sent_at: Moment,
    pub attempts: Attempts,
    /// How the request ended; absent while that is unknown.
    pub over: Option<Over>,
}

/// How a request for a memory ended.
#[derive(Debug)]
pub(crate) struct Over {
    first_event_at: Option<Moment>,
    done_at: Moment,
    /// The id of the answer and what it cost; or why there is none, in a word.
    answer: Result<(String, Option<TokenUsage>), &'static str>,
}

impl Over {
    /// A request that ends now and had no event before.
    pub(crate) fn now(answer: Result<(String, Option<TokenUsage>), &'static str>) -> Self {
        let done_at = Moment::now();
        Self { first_event_at: answer.is_ok().then_some(done_at), done_at, answer }
    }

    /// What the record gets of the reply.
    pub(crate) fn reply(self, attempts: &Attempts) -> entry::ReplyEntry {
        let (answer, failure) = match self.answer {
            Ok(answer) => (Some(answer), None),
            Err(word) => (None, Some(word.to_owned())),
        };
        let (response_id, usage) = answer.unwrap_or_default();
        entry::ReplyEntry {
            response_id: (!response_id.is_empty()).then_some(response_id),
            usage,
            first_event_at: self.first_event_at.map(|moment| moment.to_string()),
            done_at: Some(self.done_at.to_string()),
            attempts: attempts.statuses(),
            failure,
            ..entry::ReplyEntry::default()
        }
    }
}

impl Asked {
    /// The request, and what it was made of.
    pub(crate) fn reported(&self, ids: ItemIds) -> (Request, Report) {
        let mut transcript = Transcript::new(ids, UNCUT);
        let origin = Origin::Provided { place: MEMORY.into() };
        for (item, spans) in self.items.iter().flatten() {
            transcript.record_with(item, spans, &origin);
        }
        let request = self.frame.request(&mut transcript);
        (request, Report::new(&self.frame, transcript.rendered(), self.frame.omissions().to_vec(), Vec::new()))
    }
}

/// The requests that were sent for a memory and are not recorded yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct AskedList(Arc<Mutex<Vec<Asked>>>);

impl AskedList {
    /// Takes all requests of the list.
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, asked: Asked) -> Place {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(asked);
        Place { list: self.clone(), n: list.len() - 1 }
    }
}

/// The place of a request in its list.
#[derive(Debug)]
struct Place {
    list: AskedList,
    n: usize,
}

impl Place {
    /// Notes how the request ended.
    fn over(self, over: Over) {
        let mut list = self.list.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = list.get_mut(self.n) {
            asked.over = Some(over);
        }
    }
}

/// Runs a strategy to its end.
pub(crate) async fn remember(job: Job, asker: Asker) -> Remembered {
    let mut given: Vec<MemoryAnswer> = Vec::new();
    let mut vectors = KnownVectors::new();
    let mut cards = CardData::default();
    let result = loop {
        match job.run(&given, &mut cards) {
            Ok(done) => break Ok(done),
            Err(Stop::Fails(failure)) => break Err(failure),
            Err(Stop::Asks(question)) => given.push(match without_a_model(&question, &job.layout) {
                Some(answer) => answer,
                None => asker.answer(&question, &job, &mut vectors).await,
            }),
        }
    };
    Remembered { failure: asker.failure.0.get().copied(), ..ended(&job, result, cards, vectors) }
}

/// How far a strategy comes without asking a model.
#[derive(Debug)]
pub(crate) enum Offline {
    /// The recall is over, with what it found.
    Done(Box<Remembered>),
    /// A summary of these messages is asked for first.
    AsksForSummary(Vec<SummaryMessage>),
    /// Vectors of these texts are asked for first.
    AsksForVectors(Vec<String>),
}

/// Runs a strategy as far as it comes without asking a model.
pub(crate) fn remember_offline(job: &Job) -> Offline {
    let mut given: Vec<MemoryAnswer> = Vec::new();
    let mut cards = CardData::default();
    let result = loop {
        match job.run(&given, &mut cards) {
            Ok(done) => break Ok(done),
            Err(Stop::Fails(failure)) => break Err(failure),
            Err(Stop::Asks(question)) => match (without_a_model(&question, &job.layout), question) {
                (Some(answer), _) => given.push(answer),
                (None, MemoryQuestion::Summaries(requests)) => match requests.into_iter().next() {
                    Some(first) => return Offline::AsksForSummary(first),
                    None => given.push(MemoryAnswer::Summaries(Vec::new())),
                },
                (None, MemoryQuestion::Vectors { texts, .. }) => return Offline::AsksForVectors(texts),
            },
        }
    };
    Offline::Done(Box::new(ended(job, result, cards, KnownVectors::new())))
}

fn ended(job: &Job, result: Result<Done, MemoryFailure>, cards: CardData, vectors: KnownVectors) -> Remembered {
    let is_worth = result.as_ref().map_or_else(|failure| !failure.is_raised, |_| true);
    let has_cards = job.layout.strategy() == MemoryStrategy::Cards;
    Remembered { result, cards: (has_cards && is_worth).then_some(cards), vectors, failure: None }
}

/// The answer where the layout wants none of a model.
fn without_a_model(question: &MemoryQuestion, layout: &MemoryLayout) -> Option<MemoryAnswer> {
    match question {
        MemoryQuestion::Summaries(requests) if layout.summaries == Some(Summariser::Lexical) => {
            Some(MemoryAnswer::Summaries(requests.iter().map(|messages| lexical::summary(messages)).collect()))
        }
        MemoryQuestion::Vectors { texts, .. } if layout.vectors.unwrap_or_default() == Embedder::Lexical => {
            Some(MemoryAnswer::Vectors(Ok(texts.iter().map(|text| lexical::vector(text)).collect())))
        }
        MemoryQuestion::Summaries(_) | MemoryQuestion::Vectors { .. } => None,
    }
}

impl Asker {
    async fn answer(&self, question: &MemoryQuestion, job: &Job, vectors: &mut KnownVectors) -> MemoryAnswer {
        match question {
            MemoryQuestion::Summaries(requests) => MemoryAnswer::Summaries(self.summaries(requests, job).await),
            MemoryQuestion::Vectors { texts, keep } => {
                let answer = self.vectors(texts, job).await;
                if let (Ok(fresh), VectorLifetime::Kept) = (&answer, keep) {
                    vectors.extend(texts.iter().cloned().zip(fresh.iter().cloned()));
                }
                MemoryAnswer::Vectors(answer)
            }
        }
    }

    /// Asks for summaries, as many at once and as fast as the settings allow.
    async fn summaries(&self, requests: &[Vec<SummaryMessage>], job: &Job) -> Vec<Result<String, String>> {
        let (per_minute, at_once) = job.cards.pace_of_summaries();
        limited(per_minute, at_once, requests.len(), |task| self.summary(&requests[task])).await
    }

    /// The first request for vectors of these texts, with what it is made of.
    pub(crate) fn reported_vectors(&self, texts: &[String], layout: &MemoryLayout) -> (Request, Report) {
        let frame = vectors_frame(vector_model(layout), &texts[..texts.len().min(VECTORS_MAX)]);
        let mut none = Transcript::new(self.ids, UNCUT);
        let request = frame.request(&mut none);
        (request, Report::new(&frame, none.rendered(), Vec::new(), Vec::new()))
    }

    /// Asks for vectors, a batch after the other and as fast as the settings allow.
    async fn vectors(&self, texts: &[String], job: &Job) -> Result<Vec<Vec<f32>>, String> {
        let name = vector_model(&job.layout);
        let batches: Vec<&[String]> = texts.chunks(VECTORS_MAX).collect();
        let (per_minute, at_once) = job.cards.pace_of_vectors();
        let ask = |task: usize| {
            let (model, name, batch) = (self.model.clone(), name.to_owned(), batches[task].to_vec());
            let attempts = Attempts::default();
            let place = self.note_vectors(&name, &batch, &attempts);
            let (headers, failure) = (self.headers.clone(), self.failure.clone());
            async move {
                let vectors = model.embed(&name, &batch, &headers, &attempts).await;
                if let Some(place) = place {
                    let answer = vectors.as_ref().map(|_| (String::new(), None));
                    place.over(Over::now(answer.map_err(|error| failure_word(error.kind))));
                }
                vectors.map_err(|error| failure.note(error))
            }
        };
        let answers = limited(per_minute, at_once, batches.len(), ask).await;
        // Of several failures, the first that is no cancellation is reported.
        let failed = answers.iter().filter_map(|answer| answer.as_ref().err()).find(|error| *error != CANCELED);
        match failed {
            Some(error) => Err(error.clone()),
            None => Ok(answers.into_iter().flatten().flatten().collect()),
        }
    }

    /// A request for one summary, to be awaited.
    fn summary(&self, messages: &[SummaryMessage]) -> impl Future<Output = Result<String, String>> + Send + 'static {
        let mut transcript = self.transcript(messages);
        let request = self.frame.request(&mut transcript);
        let ticket = self.least.admit(&self.model, &request.segments);
        let attempts = Attempts::default();
        let place = self.asked.as_ref().filter(|_| ticket.is_ok()).map(|asked| {
            let (frame, items) = (self.frame.clone(), Some(transcript.items_with_origins().collect()));
            let account = account(&request, transcript.rendered().len());
            let (turn, sent_at, attempts) = (self.turn.clone(), Moment::now(), attempts.clone());
            asked.push(Asked { turn, frame, items, account, sent_at, attempts, over: None })
        });
        let body = request.segments;
        let (model, headers, failure) = (self.model.clone(), self.headers.clone(), self.failure.clone());
        async move {
            let ticket = Some(ticket.map_err(|error| failure.note(error))?);
            let ask = Ask { body, headers, ticket, attempts, ..Ask::default() };
            let (said, over) = last_said(&model, ask, &failure).await;
            if let Some(place) = place {
                place.over(over);
            }
            said
        }
    }

    /// The request for one summary, with what it is made of.
    pub(crate) fn reported(&self, messages: &[SummaryMessage]) -> (Request, Report) {
        let mut transcript = self.transcript(messages);
        let request = self.frame.request(&mut transcript);
        let omissions = self.frame.omissions().to_vec();
        (request, Report::new(&self.frame, transcript.rendered(), omissions, Vec::new()))
    }

    /// The messages of a request for one summary.
    fn transcript(&self, messages: &[SummaryMessage]) -> Transcript {
        let mut transcript = Transcript::new(self.ids, UNCUT);
        for message in messages {
            let (part, role) = match message.role {
                ChatRole::User | ChatRole::Function => ("memory_source", "user"),
                ChatRole::System => ("memory_prompt", "developer"),
                ChatRole::Assistant => ("memory_source", "assistant"),
            };
            let text = vec![Fragment::provided(MEMORY, message.content.as_str())];
            transcript.record_draft(&Draft::text(part, role, text));
        }
        transcript
    }

    /// Notes that vectors are asked for.
    fn note_vectors(&self, model: &str, texts: &[String], attempts: &Attempts) -> Option<Place> {
        let asked = self.asked.as_ref()?;
        let frame = vectors_frame(model, texts);
        let request = frame.request(&mut Transcript::new(self.ids, UNCUT));
        let account = account(&request, 0);
        let (turn, sent_at, attempts) = (self.turn.clone(), Moment::now(), attempts.clone());
        Some(asked.push(Asked { turn, frame, items: None, account, sent_at, attempts, over: None }))
    }
}

fn vector_model(layout: &MemoryLayout) -> &str {
    layout.vector_model.as_deref().unwrap_or(MemoryLayout::VECTOR_MODEL)
}

/// A request for vectors, which is a frame without items.
fn vectors_frame(model: &str, texts: &[String]) -> Frame {
    let mut body = Encoder::new(&"memory_vectors".into());
    body.raw(&Model::vectors_body(model, texts), &Origin::Provided { place: MEMORY.into() });
    Frame::recorded(View::default(), body.finish(), Encoded::default())
}

pub(crate) fn account(request: &Request, n_items: usize) -> RequestDigest {
    RequestDigest { bytes: request.len(), body: Digest::of_body(request), n_items, marks: Vec::new() }
}

/// The last thing that a model says in answer to a request, and how the request ended.
pub(crate) async fn last_said(model: &Model, ask: Ask, failure: &FirstFailure) -> (Result<String, String>, Over) {
    let (mut said, mut first_event_at) = (None, None);
    let answer = match model.ask(ask).await {
        Ok(reply) => read(reply, &mut said, &mut first_event_at).await,
        Err(error) => Err(error),
    };
    let (text, answer) = match answer {
        Ok(answer) => (said.ok_or_else(|| "no answer".to_owned()), Ok(answer)),
        Err(error) => {
            let word = failure_word(error.kind);
            (Err(failure.note(error)), Err(word))
        }
    };
    (text, Over { first_event_at, done_at: Moment::now(), answer })
}

/// Reads a reply to its end: the id of the answer and its cost, as far as the server says.
async fn read(
    mut reply: Reply,
    said: &mut Option<String>,
    first_event_at: &mut Option<Moment>,
) -> Result<(String, Option<TokenUsage>), ReplyError> {
    while let Some(event) = reply.next().await {
        let event = event?;
        first_event_at.get_or_insert_with(Moment::now);
        match event {
            ReplyEvent::ItemDone(Item::Message { content, .. }) => {
                let text = |part: &ContentPart| match part {
                    ContentPart::OutputText { text } | ContentPart::InputText { text } => Some(text.clone()),
                    ContentPart::InputImage { .. } => None,
                };
                *said = Some(content.iter().filter_map(text).collect());
            }
            ReplyEvent::Completed { response_id, usage } => return Ok((response_id, usage)),
            _ => {}
        }
    }
    Ok((String::new(), None))
}

/// Runs tasks, as many at once and as many a minute as may be. After one that fails, those that have
/// not begun are canceled.
async fn limited<T, F>(
    per_minute: f64,
    at_once: f64,
    n_tasks: usize,
    task: impl Fn(usize) -> F,
) -> Vec<Result<T, String>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let mut answers: Vec<Result<T, String>> = (0..n_tasks).map(|_| Err(CANCELED.to_owned())).collect();
    let options = Options { tasks_per_minute: per_minute, tasks_at_once: at_once, after_failure: AfterFailure::Cancel };
    let mut limiter = match RateLimiter::new(options) {
        Ok(limiter) => limiter,
        Err(error) => return (0..n_tasks).map(|_| Err(error.to_string())).collect(),
    };
    let begun = Instant::now();
    let now_ms = || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut running: JoinSet<(usize, Result<T, String>)> = JoinSet::new();
    let start = |numbers: &[usize], running: &mut JoinSet<(usize, Result<T, String>)>| {
        for &number in numbers {
            let work = task(number);
            running.spawn(async move {
                let done = contained("question of the memory", work).await;
                (number, done.unwrap_or_else(|failed| Err(failed.to_string())))
            });
        }
    };
    let mut look_again = None;
    for _ in 0..n_tasks {
        let now = limiter.submit(now_ms());
        look_again = now.look_again_ms.or(look_again);
        start(&now.start, &mut running);
    }
    loop {
        let pause = look_again.take().map(Duration::from_millis);
        let now = tokio::select! {
            Some(ended) = running.join_next() => {
                let end = match ended {
                    Ok((number, answer)) => {
                        let end = if answer.is_ok() { TaskEnd::Done } else { TaskEnd::Failed };
                        answers[number] = answer;
                        end
                    }
                    Err(_) => TaskEnd::Failed,
                };
                limiter.end(end, now_ms())
            }
            () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => limiter.look(now_ms()),
            else => return answers,
        };
        look_again = now.look_again_ms;
        start(&now.start, &mut running);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    #[test]
    fn answers_keep_the_order_of_the_questions() {
        let answers = run(limited(100.0, 3.0, 5, |n| async move {
            for _ in n..5 {
                tokio::task::yield_now().await;
            }
            Ok(n)
        }));
        assert_eq!(answers, (0..5).map(Ok).collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_cancels_what_has_not_begun() {
        let begun = Arc::new(Mutex::new(Vec::new()));
        let answers = run(limited(100.0, 1.0, 4, |n| {
            let begun = begun.clone();
            async move {
                begun.lock().unwrap().push(n);
                if n == 1 { Err("no".to_owned()) } else { Ok(n) }
            }
        }));
        let canceled = Err(CANCELED.to_owned());
        assert_eq!(answers, [Ok(0), Err("no".to_owned()), canceled.clone(), canceled]);
        assert_eq!(*begun.lock().unwrap(), [0, 1]);
    }
}
