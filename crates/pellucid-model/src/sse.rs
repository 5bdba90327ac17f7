//! Server-sent events: bytes in, the data of each event out.
//!
//! The decoder accepts pieces of any size, cut anywhere. Lines end with LF, CR LF or CR; several `data` lines are
//! joined with LF; comments and all other fields are skipped, and so are events without data and an event that is not
//! closed by an empty line.
//!
//! Not here: what the data means ([`crate::responses`]), waiting, and text: data stays bytes, because only its parser
//! knows how to treat broken UTF-8.

/// How many bytes a decoder holds before it gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseLimits {
    /// The limit of one line, in bytes.
    pub line_bytes_max: usize,
    /// The limit of the data of one event, in bytes.
    pub event_bytes_max: usize,
}

impl Default for SseLimits {
    fn default() -> Self {
        // The last event of a response repeats all of it, images included.
        Self { line_bytes_max: 64 << 20, event_bytes_max: 64 << 20 }
    }
}

/// Why a stream cannot be decoded further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line exceeds the limit.
    #[error("a line of the stream is longer than {limit} bytes")]
    LineTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The data of an event exceeds the limit.
    #[error("an event of the stream is longer than {limit} bytes")]
    EventTooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

/// A decoder in the middle of a stream.
///
/// ```
/// use pellucid_model::sse::SseDecoder;
///
/// let mut decoder = SseDecoder::default();
/// decoder.push(b"data: {\"a\":");
/// assert_eq!(decoder.next(), None);
/// decoder.push(b"1}\n\n");
/// assert_eq!(decoder.next(), Some(Ok(b"{\"a\":1}".to_vec())));
/// ```
#[derive(Debug, Default)]
pub struct SseDecoder {
    limits: SseLimits,
    /// The bytes that came and are not yet read, from `start` on.
    buffer: Vec<u8>,
    start: usize,
    /// Where the search for the end of the line continues, so that no byte is examined twice.
    searched: usize,
    /// The last line ended with CR, so that an LF directly after it belongs to it.
    after_cr: bool,
    /// The stream's first line, which may begin with a byte order mark, was seen.
    begun: bool,
    /// The data of the event that is being read.
    data: Option<Vec<u8>>,
    broken: Option<SseError>,
}

impl SseDecoder {
    /// A decoder with other limits.
    pub fn with_limits(limits: SseLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Adds more bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The data of the next complete event. `None` means that more bytes are needed; an error stays.
    #[expect(clippy::should_implement_trait, reason = "`None` means not yet, not the end")]
    pub fn next(&mut self) -> Option<Result<Vec<u8>, SseError>> {
        if let Some(error) = self.broken {
            return Some(Err(error));
        }
        while let Some(line) = self.next_line() {
            let event = match line {
                Ok((from, to)) => self.read_line(from, to),
                Err(error) => Err(error),
            };
            match event {
                Ok(None) => {}
                Ok(Some(data)) => return Some(Ok(data)),
                Err(error) => {
                    self.broken = Some(error);
                    self.buffer = Vec::new();
                    (self.start, self.searched) = (0, 0);
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// The bounds of the next complete line, without its end.
    fn next_line(&mut self) -> Option<Result<(usize, usize), SseError>> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.searched = self.searched.max(self.start);
            }
        }
        let limit = self.limits.line_bytes_max;
        let end = self.buffer[self.searched..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(end) = end.map(|at| at + self.searched) else {
            self.searched = self.buffer.len();
            let too_long = self.buffer.len() - self.start > limit;
            return too_long.then_some(Err(SseError::LineTooLong { limit }));
        };
        if end - self.start > limit {
            return Some(Err(SseError::LineTooLong { limit }));
        }
        self.after_cr = self.buffer[end] == b'\r';
        let line = (self.start, end);
        self.start = end + 1;
        self.searched = self.start;
        Some(Ok(line))
    }

    fn read_line(&mut self, from: usize, to: usize) -> Result<Option<Vec<u8>>, SseError> {
        let mut line = &self.buffer[from..to];
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.data.take().filter(|data| !data.is_empty()));
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        if field != b"data" {
            return Ok(None);
        }
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let limit = self.limits.event_bytes_max;
        let held = self.data.as_ref().map_or(0, |data| data.len() + 1);
        if held + value.len() > limit {
            return Err(SseError::EventTooLong { limit });
        }
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    fn decode(pieces: &[&[u8]], limits: SseLimits) -> Vec<String> {
        let mut decoder = SseDecoder::with_limits(limits);
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece);
            while let Some(event) = decoder.next() {
                match event {
                    Ok(data) => events.push(String::from_utf8_lossy(&data).into_owned()),
                    Err(error) => {
                        events.push(format!("error: {error}"));
                        assert_eq!(decoder.next(), Some(Err(error)));
                        return events;
                    }
                }
            }
        }
        events
    }

    /// Decodes the stream at once, byte by byte and cut in two at every place: always the same.
    #[track_caller]
    fn check_sse_within(limits: SseLimits, stream: &str, expected: Expect) {
        let bytes = stream.as_bytes();
        let whole = decode(&[bytes], limits);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(&single, limits), whole, "byte by byte");
        for at in 0..=bytes.len() {
            let (left, right) = bytes.split_at(at);
            assert_eq!(decode(&[left, right], limits), whole, "cut at {at}");
        }
        expected.assert_debug_eq(&whole);
    }

    #[track_caller]
    fn check_sse(stream: &str, expected: Expect) {
        check_sse_within(SseLimits::default(), stream, expected);
    }

    #[test]
    fn all_line_ends_are_read() {
        check_sse(
            "data: lf\n\ndata: crlf\r\n\r\ndata: cr\r\rdata: mixed\r\n\ndata:no space\n\n",
            expect![[r#"
                [
                    "lf",
                    "crlf",
                    "cr",
                    "mixed",
                    "no space",
                ]
            "#]],
        );
    }

    #[test]
    fn other_fields_and_comments_are_skipped() {
        check_sse(
            ": keep-alive\n\nevent: response.created\nid: 1\nretry: 5\ndata:  two spaces é🙂\n\ndatabase: no\n\n",
            expect![[r#"
                [
                    " two spaces é🙂",
                ]
            "#]],
        );
    }

    #[test]
    fn data_lines_are_joined() {
        check_sse(
            "\u{feff}data: a\ndata\ndata:b\n: between\ndata: c\n\n",
            expect![[r#"
                [
                    "a\n\nb\nc",
                ]
            "#]],
        );
    }

    #[test]
    fn an_event_without_data_or_end_is_none() {
        check_sse(
            "data:\n\ndata\n\nevent: x\n\n\n\ndata: unfinished\n",
            expect![[r#"
                []
            "#]],
        );
        check_sse(
            "data: unfinished",
            expect![[r#"
                []
            "#]],
        );
    }

    #[test]
    fn broken_text_is_passed_on() {
        let mut decoder = SseDecoder::default();
        decoder.push(b"data: \xff\xfe\n\n");
        assert_eq!(decoder.next(), Some(Ok(b"\xff\xfe".to_vec())));
    }

    #[test]
    fn lines_and_events_are_bounded() {
        let limits = SseLimits { line_bytes_max: 10, event_bytes_max: 7 };
        check_sse_within(
            limits,
            "data: 1234\n\ndata: 12345\n\n",
            expect![[r#"
                [
                    "1234",
                    "error: a line of the stream is longer than 10 bytes",
                ]
            "#]],
        );
        check_sse_within(
            limits,
            "data: 123\ndata: 456\n\ndata: 123\ndata: 4567\n\n",
            expect![[r#"
                [
                    "123\n456",
                    "error: an event of the stream is longer than 7 bytes",
                ]
            "#]],
        );
    }
}
