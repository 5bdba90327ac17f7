//! Logs what MCP servers write to standard error.

use tokio::io::AsyncBufReadExt;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::io::BufReader;

/// How many bytes of a line are logged at a time.
const LINE_MAX: u64 = 4096;

/// Logs a server's standard error until the server closes it. A line that is too long is logged in pieces, so that a
/// server cannot fill the memory.
pub(crate) async fn log(server: String, stderr: impl AsyncRead + Unpin) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line).await {
            Ok(0) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                tracing::info!(server, "MCP server stderr: {}", text.trim_end());
            }
            Err(error) => {
                tracing::debug!(server, %error, "the standard error of an MCP server cannot be read");
                return;
            }
        }
    }
}
