//! One client on standard input and output, a message to a line.

use std::io;
use std::sync::Arc;

use pellucid_tasks::Task;
use tokio::io::AsyncBufReadExt;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::io::BufReader;

use crate::connection::Queue;
use crate::rpc;
use crate::rpc::RpcError;
use crate::server::Server;

/// The size limit of a message in bytes. An image fits in it many times.
pub const MESSAGE_BYTES_MAX: usize = 128 << 20;

/// Serves one client until it closes its end, then ends all sessions.
///
/// # Errors
/// When the client's end cannot be read.
pub async fn serve(
    server: Arc<Server>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let (connection, outgoing) = server.connect();
    let writer = Task::spawn("writing to a client", write(outgoing, output));
    let mut lines = BufReader::new(input);
    let mut line = Vec::new();
    let end = loop {
        match read_line(&mut lines, &mut line, MESSAGE_BYTES_MAX).await {
            Ok(Read::Line) => server.receive(&connection, &line).await,
            Ok(Read::TooLong) => {
                let error = RpcError::invalid(format!("a message is longer than {MESSAGE_BYTES_MAX} bytes"));
                connection.send(rpc::refusal(None, &error)).await;
            }
            Ok(Read::End) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    server.disconnect(&connection).await;
    server.shut_down().await;
    drop(connection);
    // Wait for the last messages; if the client has stopped reading, it has closed the pipe.
    let _ = writer.await;
    end
}

/// The outcome of reading one line.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Line,
    TooLong,
    End,
}

/// Reads a line; a line that is too long is skipped.
async fn read_line(
    lines: &mut BufReader<impl AsyncRead + Unpin>,
    line: &mut Vec<u8>,
    bytes_max: usize,
) -> io::Result<Read> {
    line.clear();
    let mut is_too_long = false;
    loop {
        let available = lines.fill_buf().await?;
        if available.is_empty() {
            // A last line without its line end is a truncated message.
            return Ok(if line.is_empty() && !is_too_long { Read::End } else { finish(is_too_long) });
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

fn finish(is_too_long: bool) -> Read {
    if is_too_long { Read::TooLong } else { Read::Line }
}

/// Writes the waiting messages, as many at a time as there are.
async fn write(mut outgoing: Queue, mut output: impl AsyncWrite + Unpin) {
    /// How many bytes are written at a time.
    const BATCH_BYTES: usize = 64 << 10;
    let mut batch = Vec::new();
    while let Some(message) = outgoing.recv().await {
        append(&mut batch, &message);
        while batch.len() < BATCH_BYTES
            && let Some(message) = outgoing.try_recv()
        {
            append(&mut batch, &message);
        }
        if output.write_all(&batch).await.is_err() || output.flush().await.is_err() {
            // The client has stopped reading. Discard its messages until it closes its other end too.
            while outgoing.recv().await.is_some() {}
            return;
        }
        batch.clear();
        batch.shrink_to(BATCH_BYTES);
    }
}

fn append(batch: &mut Vec<u8>, message: &[u8]) {
    batch.extend_from_slice(message);
    batch.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let text = format!("short\n{}\nexactly 10\n{}", "x".repeat(20_000), "y".repeat(11));
        let mut lines = BufReader::with_capacity(16, text.as_bytes());
        let mut line = Vec::new();
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), Read::Line);
        assert_eq!(line, b"short");
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), Read::TooLong);
        assert!(line.capacity() <= 16, "nothing of it is kept");
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), Read::Line);
        assert_eq!(line, b"exactly 10");
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), Read::TooLong);
        assert_eq!(read_line(&mut lines, &mut line, 10).await.unwrap(), Read::End);
    }
}
