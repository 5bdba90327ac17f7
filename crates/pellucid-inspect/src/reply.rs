//! Answers as HTTP has them: status, headers and a body that is known or comes piece by piece.
//!
//! Every answer has the headers that keep a browser from loading, running or sharing anything else.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;

use bytes::Bytes;
use http::HeaderMap;
use http::HeaderName;
use http::HeaderValue;
use http::Response;
use http::StatusCode;
use http::header;
use http_body::Frame;
use http_body::SizeHint;
use tokio::sync::mpsc;

/// What the page may load and do: its own files and this interface, nothing else.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                          base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                          trusted-types 'none'";

/// The headers of every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The type of JSON answers.
pub const JSON: &str = "application/json; charset=utf-8";

/// An answer before it is handed to the HTTP library.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: ReplyBody,
}

/// The body of an answer.
#[derive(Debug)]
pub enum ReplyBody {
    /// All bytes are known; absent once they are handed over.
    Whole(Option<Bytes>),
    /// Pieces come while something happens.
    Pieces(mpsc::Receiver<Bytes>),
}

impl Reply {
    /// Bytes of this type.
    pub fn bytes(kind: &'static str, bytes: impl Into<Bytes>) -> Self {
        Self::new(kind, ReplyBody::Whole(Some(bytes.into())))
    }

    /// A JSON text.
    pub fn json(text: impl Into<Bytes>) -> Self {
        Self::bytes(JSON, text)
    }

    /// Pieces that come one by one.
    pub fn pieces(kind: &'static str, pieces: mpsc::Receiver<Bytes>) -> Self {
        Self::new(kind, ReplyBody::Pieces(pieces))
    }

    fn new(kind: &'static str, body: ReplyBody) -> Self {
        let headers = HEADERS.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value)));
        let mut headers: HeaderMap = headers.collect();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        Self { status: StatusCode::OK, headers, body }
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same with one more header. A value that no header can have is left out.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// The answer without its body, for `HEAD`.
    pub fn without_body(mut self) -> Self {
        if let ReplyBody::Whole(Some(bytes)) = &self.body {
            self.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        }
        self.body = ReplyBody::Whole(None);
        self
    }

    /// The answer for the HTTP library.
    pub fn into_response(self) -> Response<ReplyBody> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

impl http_body::Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pieces(pieces) => pieces.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}
