//! Requests that were rebuilt from the record, kept for the pages of rows and texts that follow.
//!
//! A request is rebuilt together with those that it extends, and all of them share their bytes. So a neighbour of a request that
//! was just seen costs only what is around its items.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;

use pellucid_agent::replay::FileSurvey;
use pellucid_agent::replay::RebuildError;
use pellucid_agent::replay::ReplaySource;
use pellucid_agent::replay::SharedRequests;
use pellucid_agent::replay::WantedRequest;
use pellucid_engine::report::Report;
use pellucid_engine::report::RowText;
use pellucid_engine::report::TextPlace;
use pellucid_engine::request::Request;
use pellucid_protocol::provider::WireApi;
use pellucid_store::read;

use crate::error::ApiError;
use crate::error::ErrorCode;
use crate::view::SessionFiles;
use crate::view::Stamp;

/// How many requests are kept. Neighbours share their bytes.
const N_KEPT_MAX: usize = 8;

/// A request as it was sent.
#[derive(Debug)]
pub struct SentBody {
    /// The number of the request, from 1.
    pub number: usize,
    /// The body as it was sent, in segments.
    pub request: Request,
    /// What the body is made of.
    pub report: Report,
    /// The model that the body asks and its API format; absent where the record is broken or does not say it.
    pub asked: Option<(String, WireApi)>,
    places: OnceLock<Vec<TextPlace>>,
}

impl SentBody {
    /// A request that a walk through the record has come to.
    pub fn walked(number: usize, request: Request, report: Report, asked: Option<(String, WireApi)>) -> Self {
        Self { number, request, report, asked, places: OnceLock::new() }
    }

    /// The text of a row with its escapes undone. The texts of other rows are not made.
    pub fn text(&self, n: usize) -> RowText {
        let places = self.places.get_or_init(|| self.report.text_places(&self.request));
        self.report.rows[n].text_at(&self.request, places[n]).0
    }
}

/// The requests that were asked for last, of one session.
#[derive(Debug, Default)]
pub struct Bodies {
    kept: Mutex<Option<KeptSession>>,
}

/// A session with the requests that were asked for last.
#[derive(Debug)]
struct KeptSession {
    files: SessionFiles,
    stamp: Stamp,
    source: ReplaySource,
    shared: Option<SharedRequests>,
    /// The one that was used last is at the end.
    sent: Vec<Arc<SentBody>>,
}

impl Bodies {
    /// A request of a session, rebuilt and proved. `survey` is what is known of the session file.
    ///
    /// # Errors
    /// When there is no such request, or its bytes cannot be proved.
    pub fn get(
        &self,
        home: &Path,
        files: &SessionFiles,
        number: usize,
        survey: impl FnOnce(&Stamp) -> FileSurvey,
    ) -> Result<Arc<SentBody>, ApiError> {
        let stamp = files.stamp();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |it: &KeptSession| it.files == *files && it.stamp == stamp;
        let session = match kept.take().filter(is_meant) {
            Some(session) => session,
            None => {
                let failed = |error: &dyn std::fmt::Display| ApiError::internal("reading the session", error);
                let file = read::open_damaged(&files.path).map_err(|error| failed(&error))?;
                let source =
                    ReplaySource::open_surveyed(home, &file, survey(&stamp)).map_err(|error| failed(&error))?;
                KeptSession { files: files.clone(), stamp, source, shared: None, sent: Vec::new() }
            }
        };
        kept.insert(session).get(number)
    }

    /// Lets all requests go.
    pub fn let_go(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl KeptSession {
    fn get(&mut self, number: usize) -> Result<Arc<SentBody>, ApiError> {
        if let Some(at) = self.sent.iter().position(|it| it.number == number) {
            let found = self.sent.remove(at);
            self.sent.push(found.clone());
            return Ok(found);
        }
        let is_shared = self.shared.as_ref().is_some_and(|shared| shared.has(number));
        if !is_shared {
            // Their bytes are let go before others are made.
            self.sent.clear();
        }
        let rebuilt = self.source.rebuild(WantedRequest::Number(number), &mut self.shared);
        let rebuilt = rebuilt.map_err(|error| match error {
            RebuildError::NoSuchRequest { .. } => ApiError::not_found(error.to_string()),
            RebuildError::NotProvable { .. } | RebuildError::Differs { .. } => {
                ApiError::new(ErrorCode::NotProvable, error.to_string())
            }
            error => ApiError::internal("rebuilding the request", &error),
        })?;
        let asked = rebuilt.model.filter(|_| rebuilt.broken.is_none()).map(|model| (model, rebuilt.wire));
        let sent = Arc::new(SentBody::walked(number, rebuilt.request, rebuilt.report, asked));
        if self.sent.len() >= N_KEPT_MAX {
            self.sent.remove(0);
        }
        self.sent.push(sent.clone());
        Ok(sent)
    }
}
