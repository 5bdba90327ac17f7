//! An answer on its way to the command, with a copy for the record.

use std::pin::Pin;
use std::task::Context;
use std::task::Poll;

use bytes::Bytes;
use http_body::Body;
use http_body::Frame;
use http_body::SizeHint;
use pellucid_store::moment::Moment;
use tokio::sync::mpsc;

use crate::held::HeldBytes;
use crate::record::AnswerContent;
use crate::record::AnswerNote;
use crate::record::ForwardNote;

/// How many bytes of an answer are copied for the record. The command gets all.
const COPY_BYTES_MAX: usize = 64 << 20;

/// What a piece of an answer counts for at least, so that very many short ones are bounded too.
const PIECE_BYTES_MIN: usize = 64;

/// The body of an answer.
#[derive(Debug)]
pub enum AnswerBody {
    /// An answer of the upstream server, with its copy where one is kept.
    Forwarded(reqwest::Body, Option<AnswerCopy>),
    /// A text of ours.
    Own(Option<Bytes>),
}

/// A copy of an answer. It is handed over when it is dropped, however the answer ends.
#[derive(Debug)]
pub struct AnswerCopy {
    note: Option<AnswerNote>,
    permit: Option<mpsc::OwnedPermit<ForwardNote>>,
    n_bytes: usize,
    is_whole: bool,
}

impl AnswerCopy {
    /// A copy of the answer to an exchange, for which there is a place in the queue.
    pub fn new(exchange: u64, permit: mpsc::OwnedPermit<ForwardNote>, held: HeldBytes) -> Self {
        let note = AnswerNote {
            exchange,
            status: None,
            first_at: None,
            done_at: Moment::now(),
            encoding: None,
            content: AnswerContent::Body(Vec::new()),
            held,
            failure: None,
        };
        Self { note: Some(note), permit: Some(permit), n_bytes: 0, is_whole: false }
    }

    /// Notes the head of the answer.
    pub fn head(&mut self, status: u16, encoding: Option<String>) {
        if let Some(note) = &mut self.note {
            (note.status, note.encoding) = (Some(status), encoding);
        }
    }

    /// Notes that there is no answer, for this reason.
    pub fn fail(&mut self, why: &'static str) {
        if let Some(note) = &mut self.note {
            note.failure = Some(why);
        }
    }

    /// Notes the messages of a WebSocket.
    pub fn messages(&mut self, messages: Vec<Vec<u8>>, held: HeldBytes) {
        if let Some(note) = &mut self.note {
            note.first_at = note.first_at.or_else(|| Some(Moment::now()));
            (note.content, note.held) = (AnswerContent::Messages(messages), held);
        }
        self.is_whole = true;
    }

    fn add(&mut self, data: &Bytes) {
        self.n_bytes += data.len();
        if let Some(AnswerNote { first_at, content: AnswerContent::Body(chunks), held, .. }) = &mut self.note {
            first_at.get_or_insert_with(Moment::now);
            // A copy ends where it would be too long. A piece counts for no less than what it takes.
            if self.n_bytes <= COPY_BYTES_MAX && held.add(data.len().max(PIECE_BYTES_MIN)) {
                chunks.push(data.clone());
            } else {
                self.n_bytes = self.n_bytes.max(COPY_BYTES_MAX + 1);
            }
        }
    }
}

impl Drop for AnswerCopy {
    fn drop(&mut self) {
        if let (Some(mut note), Some(permit)) = (self.note.take(), self.permit.take()) {
            note.done_at = Moment::now();
            if !self.is_whole && note.failure.is_none() {
                note.failure = Some("interrupted");
            }
            permit.send(ForwardNote::Answered(Box::new(note)));
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let (body, copy) = match self.get_mut() {
            Self::Own(text) => return Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Forwarded(body, copy) => (body, copy),
        };
        let frame = std::task::ready!(Pin::new(&mut *body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                if let (Some(data), Some(copy)) = (frame.data_ref(), copy.as_mut()) {
                    copy.add(data);
                }
            }
            Some(Err(_)) => drop(copy.take()),
            None => {
                if let Some(copy) = copy {
                    copy.is_whole = true;
                }
                drop(copy.take());
            }
        }
        // An answer of known length ends with its last byte, and the end is not asked for.
        if body.is_end_stream()
            && let Some(mut copy) = copy.take()
        {
            copy.is_whole = !matches!(frame, Some(Err(_)));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Forwarded(body, _) => body.is_end_stream(),
            Self::Own(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Forwarded(body, _) => body.size_hint(),
            Self::Own(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
        }
    }
}
