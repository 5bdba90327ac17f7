//! A request that a session made: bytes, report, digest.

use pellucid_engine::digest::Digest;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::transcript::Rendered;
use pellucid_protocol::provider::WireApi;

use crate::diff;
use crate::diff::BuiltDiff;

/// A request with an account of its bytes.
#[derive(Debug, Clone)]
pub struct BuiltRequest {
    pub(crate) frame: Frame,
    pub(crate) request: Request,
    pub(crate) items: Vec<Rendered>,
    pub(crate) report: Report,
    pub(crate) wire: WireApi,
}

impl BuiltRequest {
    /// The body of the request, as it is sent.
    pub fn body(&self) -> Vec<u8> {
        self.request.body()
    }

    /// The body in pieces that requests share. Concatenated they are [`BuiltRequest::body`].
    pub fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.request.segments.iter().map(AsRef::as_ref)
    }

    /// What the body is made of: rows that cover it from the first byte to the last, and what was left out.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The SHA-256 digest of the body.
    pub fn digest(&self) -> Digest {
        Digest::of_body(&self.request)
    }

    /// The API format of the request.
    pub fn wire(&self) -> WireApi {
        self.wire
    }

    /// The bytes of a row of the report.
    pub fn bytes_of(&self, row: &Row) -> Vec<u8> {
        self.request.slice(row.start..row.start + row.bytes).into_owned()
    }

    /// The text of each row with its escapes undone; empty for images.
    pub fn texts(&self) -> Vec<String> {
        self.report.texts(&self.body()).into_iter().map(|row| row.text).collect()
    }

    /// The first row whose text contains this text.
    pub fn row_with(&self, text: &str) -> Option<&Row> {
        let texts = self.texts();
        let n = texts.iter().position(|row| row.contains(text))?;
        self.report.rows.get(n)
    }

    /// What is different in this request from an earlier one.
    pub fn diff(&self, before: &Self) -> BuiltDiff {
        diff::diff(before, self)
    }
}
