//! The events of a stream, each of a limited size. In place of one that is larger comes an error, and the stream ends.

use std::io;

use futures_util::StreamExt;
use futures_util::stream;
use reqwest::Response;
use rmcp::model::RequestId;
use sse_stream::SseStream;

use super::Events;
use super::too_large;

/// Reads the events of an answer. An event with more than `max` bytes becomes the answer to `asks`.
pub(super) fn read(response: Response, max: usize, asks: Option<RequestId>) -> Events {
    let reading = Reading { response, pending: Vec::new(), cutter: EventCutter::new(max), is_over: false };
    let bytes = stream::unfold((reading, asks), move |(mut reading, asks)| async move {
        let piece = reading.next().await?;
        let piece = piece.map(|piece| match piece {
            Piece::Events(bytes) => bytes,
            Piece::TooLarge => {
                let answer = asks.clone().map(|asks| too_large(&format!("more than {max}"), max, asks));
                // An error has a form in JSON.
                let answer = answer.and_then(|answer| serde_json::to_string(&answer).ok());
                answer.map_or_else(Vec::new, |answer| format!("data: {answer}\n\n").into_bytes())
            }
        });
        Some((piece.map(io::Cursor::new).map_err(io::Error::other), (reading, asks)))
    });
    SseStream::from_bytes_stream(bytes).boxed()
}

struct Reading {
    response: Response,
    pending: Vec<u8>,
    cutter: EventCutter,
    is_over: bool,
}

enum Piece {
    /// Whole events; what is left at the end of the stream may be a part of one.
    Events(Vec<u8>),
    TooLarge,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<Piece, reqwest::Error>> {
        while !self.is_over {
            match self.response.chunk().await {
                Ok(Some(chunk)) => {
                    self.pending.extend_from_slice(&chunk);
                    match self.cutter.cut(&self.pending) {
                        Ok(0) => {}
                        Ok(end) => {
                            let rest = self.pending.split_off(end);
                            self.cutter.emitted(end);
                            return Some(Ok(Piece::Events(std::mem::replace(&mut self.pending, rest))));
                        }
                        Err(TooLarge) => {
                            self.is_over = true;
                            return Some(Ok(Piece::TooLarge));
                        }
                    }
                }
                Ok(None) => {
                    self.is_over = true;
                    return Some(Ok(Piece::Events(std::mem::take(&mut self.pending))));
                }
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// An event has more bytes than its limit.
#[derive(Debug, PartialEq, Eq)]
struct TooLarge;

/// Finds where events end, in bytes that arrive one after the other.
#[derive(Debug)]
struct EventCutter {
    max: usize,
    /// How many of the bytes were looked at.
    at: usize,
    /// How many bytes of lines the event has so far that are no comments.
    event: usize,
    /// How many bytes the line has so far.
    line: usize,
    is_comment: bool,
    /// Whether the last byte was a carriage return, which a line feed may follow.
    is_return: bool,
}

impl EventCutter {
    fn new(max: usize) -> Self {
        Self { max, at: 0, event: 0, line: 0, is_comment: false, is_return: false }
    }

    /// The first `n` bytes have left.
    fn emitted(&mut self, n: usize) {
        self.at -= n;
    }

    /// Up to which byte there are only whole events and comments. Bytes that were looked at before are not looked at again.
    fn cut(&mut self, bytes: &[u8]) -> Result<usize, TooLarge> {
        let mut end = 0;
        for (at, byte) in bytes.iter().enumerate().skip(self.at) {
            let is_second_half = std::mem::replace(&mut self.is_return, *byte == b'\r') && *byte == b'\n';
            if is_second_half {
                continue;
            }
            if !matches!(byte, b'\n' | b'\r') {
                self.is_comment = if self.line == 0 { *byte == b':' } else { self.is_comment };
                self.line += 1;
                self.event += usize::from(!self.is_comment);
                if self.event > self.max || self.line > self.max {
                    return Err(TooLarge);
                }
                continue;
            }
            if self.line == 0 {
                self.event = 0;
            }
            if self.event == 0 {
                end = at + 1;
            }
            (self.line, self.is_comment) = (0, false);
        }
        self.at = bytes.len();
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the cutter cuts a text that arrives in pieces of each size.
    fn cuts(text: &str, max: usize) -> Vec<Result<String, TooLarge>> {
        let of_size = |size: usize| {
            let (mut cutter, mut pending, mut cut) = (EventCutter::new(max), Vec::new(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                pending.extend_from_slice(piece);
                match cutter.cut(&pending) {
                    Ok(end) => {
                        cut.extend(pending.drain(..end));
                        cutter.emitted(end);
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(String::from_utf8(cut).unwrap())
        };
        let all: Vec<_> = (1..=text.len()).map(of_size).collect();
        let mut once = Vec::new();
        for cut in all {
            if !once.contains(&cut) {
                once.push(cut);
            }
        }
        once
    }

    #[test]
    fn events_are_cut_alike_however_they_arrive() {
        assert_eq!(cuts("data: a\n\ndata: b\n\ndata", 9), [Ok("data: a\n\ndata: b\n\n".to_owned())]);
        assert_eq!(cuts("data: a\r\rdata: b\r\rd", 9), [Ok("data: a\r\rdata: b\r\r".to_owned())]);
        assert_eq!(cuts(": ping\n: ping\ndata: a\n: p\n", 9), [Ok(": ping\n: ping\n".to_owned())]);
        assert_eq!(cuts("data: aaaa\n\n", 9), [Err(TooLarge)]);
        assert_eq!(cuts("data: a\n: p\ndata: b\n", 9), [Err(TooLarge)]);
        assert_eq!(cuts(": a long comment\n", 9), [Err(TooLarge)]);
    }
}
