//! The answers of the interface, one file for each group of paths.
//!
//! - `sessions`: the list of sessions, and one of them
//! - `timeline`: the requests of a session as columns
//! - `request`: one request: its head, rows, bytes, text, and what the model does not see
//! - `diff`: two requests of a session
//! - `items`: the items of a session, with the requests that had them
//! - `compactions`: the summaries that took the place of a history
//! - `calls`: the calls of a session's tools
//! - `paging`: how much of a list fits into an answer

mod calls;
mod compactions;
mod diff;
mod items;
mod paging;
mod request;
mod sessions;
mod timeline;

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use bytes::Bytes;
use http::HeaderName;
use http::header;
use pellucid_agent::prices::price_table;
use pellucid_agent::replay;
use pellucid_agent::replay::ReplayStatus;
use pellucid_engine::prices::PriceTable;
use pellucid_store::called::Called;
use pellucid_store::called::called;
use pellucid_store::find;
use pellucid_store::index::SessionIndex;
use pellucid_store::read;
use pellucid_store::redact::Redactor;
use pellucid_store::requests::entry;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

use crate::answer::sessions::Totals;
use crate::bodies::Bodies;
use crate::bodies::SentBody;
use crate::error::ApiError;
use crate::error::ErrorCode;
use crate::mask;
use crate::page;
use crate::questions::NoAnswer;
use crate::questions::Question;
use crate::questions::Questions;
use crate::reply::Reply;
use crate::route::Asked;
use crate::route::OfRequest;
use crate::route::OfSession;
use crate::route::Route;
use crate::view::SessionFiles;
use crate::view::SessionView;
use crate::view::Stamp;
use crate::view::Views;

/// The version of the interface.
const API_VERSION: u32 = 1;

/// How long an answer may be, except those that are one file.
pub const ANSWER_BYTES_MAX: usize = 1 << 20;

/// The header that says how many secrets are hidden.
pub const MASKED: HeaderName = HeaderName::from_static("pellucid-masked");

/// What the server was started for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartedFor {
    /// The id of a session, if one was named.
    pub session: Option<String>,
    /// The number of a request of that session, if one was named.
    pub request: Option<usize>,
    /// Whether the page follows the newest session.
    pub is_live: bool,
    /// Whether the page may copy sessions.
    pub allows_fork: bool,
    /// The name by which commands know the session, if it is that of a capsule: `file:` and the path.
    pub capsule: Option<String>,
}

/// Everything that answers are made from.
pub struct Answers {
    home: PathBuf,
    started_for: StartedFor,
    questions: Arc<dyn Questions>,
    redactor: Redactor,
    index: Mutex<SessionIndex>,
    views: Views,
    bodies: Bodies,
    totals: Totals,
    /// What came of replaying sessions, by id.
    proofs: Mutex<BTreeMap<String, (Stamp, &'static str)>>,
}

impl std::fmt::Debug for Answers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answers").field("home", &self.home).finish_non_exhaustive()
    }
}

/// The body of `POST export`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportAsked {
    session: String,
    #[serde(default)]
    request: Option<usize>,
    #[serde(default)]
    redact: Option<String>,
}

/// The body of `POST fork`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForkAsked {
    session: String,
    request: usize,
}

impl Answers {
    /// Answers about the sessions of a home folder.
    pub fn new(home: PathBuf, started_for: StartedFor, questions: Arc<dyn Questions>, redactor: Redactor) -> Self {
        let index = Mutex::new(SessionIndex::in_memory(&home));
        Self {
            home,
            started_for,
            questions,
            redactor,
            index,
            views: Views::default(),
            bodies: Bodies::default(),
            totals: Totals::default(),
            proofs: Mutex::default(),
        }
    }

    /// The answer to a request. `body` is what a `POST` brought, `range` the value of its header.
    pub fn answer(&self, route: &Route, body: &[u8], range: Option<&str>) -> Reply {
        let answered = self.try_answer(route, body, range);
        answered.unwrap_or_else(|error| error.reply())
    }

    fn try_answer(&self, route: &Route, body: &[u8], range: Option<&str>) -> Result<Reply, ApiError> {
        let text = match &route.asked {
            Asked::Index => return page::index().ok_or_else(|| ApiError::not_found("the page has no first file")),
            Asked::PageFile(name) => {
                return page::file(name).ok_or_else(|| ApiError::not_found("the page has no such file"));
            }
            Asked::Events { .. } => return Err(ApiError::internal("following a session", &"it is not an answer")),
            Asked::Export => return self.export(body),
            Asked::Fork => self.fork(body)?,
            Asked::Session { session, what: OfSession::Request { number, what: OfRequest::Body } } => {
                let files = self.session(session)?;
                let sent = self.sent(&files, *number)?;
                return request::body(&sent, &self.redactor, route.reveals, range);
            }
            // A proof may be long, and a part of it proves nothing.
            Asked::Session { session, what: OfSession::Proof } => self.proof(session)?,
            Asked::Hello => self.hello(),
            Asked::Sessions(asked) => within_limit(self.sessions(asked)?)?,
            Asked::Session { session, what } => within_limit(self.of_session(session, what)?)?,
            Asked::Question(question) => within_limit(self.ask(question)?)?,
        };
        let text = Bytes::from(text);
        let (text, n_masked) = if route.reveals { (text, 0) } else { mask::masked(&self.redactor, text) };
        let reply = Reply::json(text);
        Ok(if n_masked > 0 { reply.with(MASKED, &n_masked.to_string()) } else { reply })
    }

    fn hello(&self) -> Vec<u8> {
        self.hello_of(&Value::Null)
    }

    /// The versions and what is allowed; of a page in one file also what is said about the file.
    pub fn hello_of(&self, file: &Value) -> Vec<u8> {
        let StartedFor { session, request, is_live, allows_fork, capsule } = &self.started_for;
        let mut hello = json!({
            "api": API_VERSION,
            "program": env!("CARGO_PKG_VERSION"),
            "read_only": !allows_fork,
            "allow_fork": allows_fork,
            "live": is_live,
            "session": session,
            "request": request,
            "capsule": capsule,
            "formats": { "record": entry::FORMAT },
        });
        if !file.is_null() {
            hello["file"] = file.clone();
        }
        line(&hello)
    }

    /// The answer to a question about one session, however long it is.
    ///
    /// # Errors
    /// When there is no such session, or it cannot be read.
    pub fn of_session(&self, session: &str, what: &OfSession) -> Result<Vec<u8>, ApiError> {
        let files = self.session(session)?;
        match what {
            OfSession::Summary => self.summary(&files),
            OfSession::Timeline { stretch, by } => {
                timeline::timeline(&*self.view(&files)?, &self.prices()?, *stretch, *by)
            }
            OfSession::Request { number, what } => self.of_request(&files, *number, *what),
            OfSession::Items(stretch) => self.items(&files, *stretch),
            OfSession::Item(k) => self.item(&files, *k),
            OfSession::Compactions => compactions::list(&self.home, &*self.view(&files)?, &self.prices()?),
            OfSession::Compaction(k) => compactions::one(&self.home, &*self.view(&files)?, &self.prices()?, *k),
            OfSession::Calls(stretch) => calls::list(&self.home, &files, *stretch),
            OfSession::Call(call) => calls::one(&self.home, &files, call),
            OfSession::CallOutput { call, from } => calls::output(&self.home, &files, call, *from),
            OfSession::Breaks => self.ask(&Question::Cache { session: files.id }),
            OfSession::Proof => self.proof(session),
        }
    }

    fn of_request(&self, files: &SessionFiles, number: usize, what: OfRequest) -> Result<Vec<u8>, ApiError> {
        let sent = || self.sent(files, number);
        match what {
            OfRequest::Head => {
                let view = self.view(files)?;
                request::head(&view, number, sent, &self.prices()?)
            }
            OfRequest::Rows(stretch) => request::rows(&files.id, &*sent()?, stretch),
            OfRequest::Text { item, from, offset } => request::text(&files.id, &*sent()?, item, from, offset),
            OfRequest::Absent => request::absent(&files.id, &*sent()?),
            OfRequest::Body => Err(ApiError::internal("answering", &"a body is answered elsewhere")),
        }
    }

    /// The files of the session that a text names.
    pub fn session(&self, text: &str) -> Result<SessionFiles, ApiError> {
        let none = || ApiError::not_found(format!("no session has the id or name `{text}`"));
        match called(&self.home, text) {
            Called::One { id } => {
                let path = find::anywhere(&self.home, &id).ok_or_else(none)?;
                Ok(SessionFiles::new(&self.home, &id, path))
            }
            Called::Several { ids } => {
                Err(ApiError::bad(format!("{} sessions have an id that begins with `{text}`", ids.len())))
            }
            Called::Nothing => Err(none()),
        }
    }

    /// What is known of a session.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn view(&self, files: &SessionFiles) -> Result<Arc<SessionView>, ApiError> {
        self.views.get(&self.home, files.clone())
    }

    fn sent(&self, files: &SessionFiles, number: usize) -> Sent {
        let survey = |stamp: &Stamp| self.views.known(files, stamp).map(|view| view.survey.clone()).unwrap_or_default();
        self.bodies.get(&self.home, files, number, survey)
    }

    /// The prices of the home folder.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn prices(&self) -> Result<PriceTable, ApiError> {
        price_table(&self.home).map_err(|error| ApiError::internal("reading the prices", &error))
    }

    /// What a command answers.
    ///
    /// # Errors
    /// When the command would print nothing.
    pub fn ask(&self, question: &Question) -> Result<Vec<u8>, ApiError> {
        if let Question::Diff { a, b } = question
            && let Some(answer) = self.sent_diff(a, b)?
        {
            return Ok(answer);
        }
        // A command reads sessions by itself. What is kept is let go first, so that a long session is not held twice.
        self.bodies.let_go();
        self.questions.ask(question).map_err(|none| match none {
            NoAnswer::Wrong(message) => ApiError::bad(message),
            NoAnswer::Unknown(message) => ApiError::new(ErrorCode::Unknown, message),
            NoAnswer::Failed(message) => ApiError::new(ErrorCode::Internal, message),
        })
    }

    /// The home folder that is asked about.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// All calls of a session that are not within another one, each with its answer.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn every_call(&self, files: &SessionFiles) -> Result<Vec<(String, Vec<u8>)>, ApiError> {
        calls::every(&self.home, files)
    }

    /// The head of the report of a request that was rebuilt already.
    ///
    /// # Errors
    /// When there is no such request, or it was not rebuilt although its bytes are known.
    pub fn head(&self, view: &SessionView, number: usize, sent: Option<Arc<SentBody>>) -> Result<Vec<u8>, ApiError> {
        let none = || ApiError::not_found("the request was not rebuilt");
        request::head(view, number, || sent.ok_or_else(none), &self.prices()?)
    }

    /// What the model does not see of a request that was rebuilt already.
    ///
    /// # Errors
    /// None; the answer has the form of all others.
    pub fn absent(&self, files: &SessionFiles, sent: &SentBody) -> Result<Vec<u8>, ApiError> {
        request::absent(&files.id, sent)
    }

    /// What `replay --json` prints.
    fn proof(&self, session: &str) -> Result<Vec<u8>, ApiError> {
        let files = self.session(session)?;
        let failed = |error: &dyn std::fmt::Display| ApiError::internal("replaying the session", error);
        let stamp = files.stamp();
        let file = read::open_damaged(&files.path).map_err(|error| failed(&error))?;
        let replay = replay::replay(&self.home, &file, None).map_err(|error| failed(&error))?;
        let word = match replay.status() {
            ReplayStatus::Proved => "proved",
            ReplayStatus::NotProvable => "not_provable",
            ReplayStatus::Refuted => "refuted",
        };
        self.proofs.lock().unwrap_or_else(PoisonError::into_inner).insert(files.id, (stamp, word));
        let text = serde_json::to_string(&replay).map_err(|error| failed(&error))?;
        Ok(format!("{text}\n").into_bytes())
    }

    /// Copies a session up to the turn of a request.
    fn fork(&self, body: &[u8]) -> Result<Vec<u8>, ApiError> {
        if !self.started_for.allows_fork {
            let why = "the page copies sessions only if it was started with `pellucid inspect --allow-fork`";
            return Err(ApiError::new(ErrorCode::Forbidden, why));
        }
        let ForkAsked { session, request } = serde_json::from_slice(body)
            .map_err(|error| ApiError::bad(format!("the body is not what a fork takes: {error}")))?;
        let SessionFiles { id, .. } = self.session(&session)?;
        let made = self.ask(&Question::Fork { session: id, request })?;
        Ok(line(&json!({ "session": String::from_utf8_lossy(&made).trim_end() })))
    }

    /// A session in one file that a person opens in a browser.
    fn export(&self, body: &[u8]) -> Result<Reply, ApiError> {
        let asked: ExportAsked = serde_json::from_slice(body)
            .map_err(|error| ApiError::bad(format!("the body is not what an export takes: {error}")))?;
        let ExportAsked { session, request, redact } = asked;
        let SessionFiles { id, .. } = self.session(&session)?;
        let html = self.ask(&Question::Export { session: id.clone(), request, redact })?;
        let name = format!("attachment; filename=\"{id}.html\"");
        Ok(Reply::bytes("text/html; charset=utf-8", html).with(header::CONTENT_DISPOSITION, &name))
    }
}

/// A value as a line of JSON.
fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

/// An answer, if it is not too long. Lists are shortened before; what a command answers cannot be cut.
fn within_limit(text: Vec<u8>) -> Result<Vec<u8>, ApiError> {
    if text.len() <= ANSWER_BYTES_MAX {
        return Ok(text);
    }
    let message = format!(
        "the answer has {} bytes, which is too long; the command that answers the same prints all of it with --json",
        text.len()
    );
    Err(ApiError::new(ErrorCode::TooLarge, message))
}

/// A request whose bytes are known, or why they are not.
type Sent = Result<Arc<SentBody>, ApiError>;
