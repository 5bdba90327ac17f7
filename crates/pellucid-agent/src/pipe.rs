//! Lines of a client on the other end of a pipe, a message to a line.

use std::io;

use tokio::io::AsyncBufReadExt;
use tokio::io::AsyncRead;
use tokio::io::BufReader;

/// The outcome of reading one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineRead {
    /// A line was read.
    Line,
    /// The line is longer than allowed, and was skipped.
    TooLong,
    /// The client closed its end.
    End,
}

/// Reads a line into `line`, without its end; a line of more than `bytes_max` bytes is skipped.
///
/// # Errors
/// When the client's end cannot be read.
pub async fn read_line(
    lines: &mut BufReader<impl AsyncRead + Unpin>,
    line: &mut Vec<u8>,
    bytes_max: usize,
) -> io::Result<LineRead> {
    line.clear();
    let mut is_too_long = false;
    loop {
        let available = lines.fill_buf().await?;
        if available.is_empty() {
            // A last line without its line end is a truncated message.
            return Ok(if line.is_empty() && !is_too_long { LineRead::End } else { finish(is_too_long) });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        is_too_long |= line.len() + part.len() > bytes_max;
        if is_too_long {
            *line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let n_read = part.len() + usize::from(end.is_some());
        lines.consume(n_read);
        if end.is_some() {
            return Ok(finish(is_too_long));
        }
    }
}

fn finish(is_too_long: bool) -> LineRead {
    if is_too_long { LineRead::TooLong } else { LineRead::Line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let text = format!("short\n{}\nexactly 10\n{}", "x".repeat(20_000), "y".repeat(11));
        let mut lines = BufReader::with_capacity(16, text.as_bytes());
        let mut line = Vec::new();
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), LineRead::Line);
        assert_eq!(line, b"short");
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), LineRead::TooLong);
        assert!(line.capacity() <= 16, "nothing of it is kept");
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), LineRead::Line);
        assert_eq!(line, b"exactly 10");
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), LineRead::TooLong);
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), LineRead::End);
    }
}
