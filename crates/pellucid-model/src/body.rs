//! A request's body: shared segments, sent one after the other and never copied together.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::task::Poll;

use bytes::Bytes;
use http_body::Frame;
use http_body::SizeHint;

/// The segments that are still to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Segments {
    segments: Arc<[Bytes]>,
    next: usize,
    n_bytes_left: u64,
}

impl Segments {
    pub(crate) fn new(segments: Vec<Bytes>) -> Self {
        let n_bytes_left = segments.iter().map(|segment| segment.len() as u64).sum();
        Self { segments: segments.into(), next: 0, n_bytes_left }
    }
}

impl http_body::Body for Segments {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        while let Some(segment) = self.segments.get(self.next).cloned() {
            self.next += 1;
            if !segment.is_empty() {
                self.n_bytes_left -= segment.len() as u64;
                return Poll::Ready(Some(Ok(Frame::data(segment))));
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.n_bytes_left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.n_bytes_left)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use http_body::Body;

    use super::*;

    #[test]
    fn segments_come_as_they_are_with_their_exact_size() {
        let first = Bytes::from_static(b"{\"a\":");
        let segments = vec![first.clone(), Bytes::new(), Bytes::from_static(b"1}"), Bytes::new()];
        let mut body = Segments::new(segments);
        assert_eq!(body.size_hint().exact(), Some(7));
        let mut context = Context::from_waker(Waker::noop());
        let mut frames = Vec::new();
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
            frames.push(frame.into_data().unwrap());
        }
        assert_eq!(frames, ["{\"a\":", "1}"]);
        assert_eq!(frames[0].as_ptr(), first.as_ptr(), "shared, not copied");
        assert_eq!(body.size_hint().exact(), Some(0));
        assert!(body.is_end_stream());
    }
}
