//! Requests that were rebuilt from the record, kept for the pages of rows and texts that follow.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;

use bytes::Bytes;
use pellucid_agent::replay;
use pellucid_agent::replay::RebuildError;
use pellucid_agent::replay::WantedRequest;
use pellucid_engine::report::Report;
use pellucid_engine::report::RowText;
use pellucid_store::read;

use crate::error::ApiError;
use crate::error::ErrorCode;
use crate::view::SessionFiles;
use crate::view::Stamp;

/// How many bytes of bodies are kept. The body that was asked for last is always kept.
const BYTES_MAX: usize = 32 << 20;

/// A request as it was sent.
#[derive(Debug)]
pub struct SentBody {
    session: String,
    stamp: Stamp,
    /// The number of the request, from 1.
    pub number: usize,
    /// The body as it was sent.
    pub body: Bytes,
    /// What the body is made of.
    pub report: Report,
    texts: OnceLock<Vec<RowText>>,
}

impl SentBody {
    /// A request that a walk through the record has come to.
    pub fn walked(files: &SessionFiles, number: usize, body: Vec<u8>, report: Report) -> Self {
        let (session, stamp) = (files.id.clone(), files.stamp());
        Self { session, stamp, number, body: body.into(), report, texts: OnceLock::new() }
    }

    /// The text of each row with its escapes undone.
    pub fn texts(&self) -> &[RowText] {
        self.texts.get_or_init(|| self.report.texts(&self.body))
    }
}

/// The requests that were asked for last.
#[derive(Debug, Default)]
pub struct Bodies {
    /// The one that was used last is at the end.
    kept: Mutex<Vec<Arc<SentBody>>>,
}

impl Bodies {
    /// A request of a session, rebuilt and proved.
    ///
    /// # Errors
    /// When there is no such request, or its bytes cannot be proved.
    pub fn get(&self, home: &Path, files: &SessionFiles, number: usize) -> Result<Arc<SentBody>, ApiError> {
        let stamp = files.stamp();
        let is_meant = |it: &Arc<SentBody>| it.session == files.id && it.number == number && it.stamp == stamp;
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = kept.iter().position(is_meant) {
                let found = kept.remove(at);
                kept.push(found.clone());
                return Ok(found);
            }
        }
        let file =
            read::open_damaged(&files.path).map_err(|error| ApiError::internal("reading the session", &error))?;
        let rebuilt = replay::rebuild(home, &file, WantedRequest::Number(number)).map_err(|error| match error {
            RebuildError::NoSuchRequest { .. } => ApiError::not_found(error.to_string()),
            RebuildError::NotProvable { .. } | RebuildError::Differs { .. } => {
                ApiError::new(ErrorCode::NotProvable, error.to_string())
            }
            error => ApiError::internal("rebuilding the request", &error),
        })?;
        let sent = Arc::new(SentBody {
            session: files.id.clone(),
            stamp,
            number,
            body: rebuilt.body.into(),
            report: rebuilt.report,
            texts: OnceLock::new(),
        });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(sent.clone());
        while kept.len() > 1 && kept.iter().map(|it| it.body.len()).sum::<usize>() > BYTES_MAX {
            kept.remove(0);
        }
        Ok(sent)
    }
}
