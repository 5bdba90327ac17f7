//! One client on standard input and output, a message to a line.

use std::io;
use std::sync::Arc;

use pellucid_agent::pipe::LineRead;
use pellucid_agent::pipe::read_line;
use pellucid_tasks::Task;
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
            Ok(LineRead::Line) => server.receive(&connection, &line).await,
            Ok(LineRead::TooLong) => {
                let error = RpcError::invalid(format!("a message is longer than {MESSAGE_BYTES_MAX} bytes"));
                connection.send(rpc::refusal(None, &error)).await;
            }
            Ok(LineRead::End) => break Ok(()),
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
