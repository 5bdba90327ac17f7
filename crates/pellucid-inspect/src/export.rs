//! The page of one session as one file: the same modules, and the answers that they ask for.
//!
//! A browser opens the file without a server: what the interface would answer is in it, compressed, and the page may load
//! nothing.
//!
//! - `joined`: the modules of the page as one script, and the file around it
//! - `chunks`: values in compressed blocks that the page unpacks when it needs them
//! - `requests`: the rows and texts of requests, each of them once
//! - `kept`: the answers that a page about one session asks for
//!
//! Not here: the files of the session, which the caller adds as one more block.

mod chunks;
mod joined;
mod kept;
mod requests;

use std::path::PathBuf;
use std::sync::Arc;

use pellucid_store::redact::Redactor;
use serde_json::Value;

use crate::answer::Answers;
use crate::answer::StartedFor;
use crate::error::ApiError;
use crate::questions::Questions;

/// What is put into one file.
pub struct ExportPlan {
    /// The home folder that has the session as it is to be shown: what is to be blanked is blanked there.
    pub home: PathBuf,
    /// The id of the session.
    pub session: String,
    /// Answers about this home folder.
    pub questions: Arc<dyn Questions>,
    /// What the page says about the file itself.
    pub about: Value,
    /// A block of data for the end of the file.
    pub data: String,
}

impl std::fmt::Debug for ExportPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExportPlan").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Why a session cannot be put into one file.
#[derive(Debug, thiserror::Error)]
#[error("the page cannot be made: {0}")]
pub struct ExportError(String);

impl From<ApiError> for ExportError {
    fn from(error: ApiError) -> Self {
        Self(error.message)
    }
}

/// The page about a session, as one file.
///
/// # Errors
/// When the session cannot be read.
pub fn page(plan: ExportPlan) -> Result<String, ExportError> {
    let ExportPlan { home, session, questions, about, data } = plan;
    let started_for = StartedFor { session: Some(session.clone()), ..StartedFor::default() };
    // The files are blanked already, so nothing is left to hide.
    let answers = Answers::new(home, started_for, questions, Redactor::default());
    let kept = kept::of(&answers, &session, &about)?;
    joined::file(&kept.first, &(kept.rest + &data))
        .ok_or_else(|| ExportError("its files do not fit together".to_owned()))
}
