//! A connection whose other side has to read: one that takes nothing for a while is closed, so that it does not hold memory.

use std::io;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;
use std::task::ready;
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::ReadBuf;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio::time::Sleep;
use tokio::time::sleep;

/// A stream that fails when a write waits longer than a limit.
#[derive(Debug)]
pub struct Paced {
    stream: TcpStream,
    limit: Duration,
    /// When the write that waits now fails; absent while none waits.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    /// A stream whose writes wait at most this long.
    pub fn new(stream: TcpStream, limit: Duration) -> Self {
        Self { stream, limit, deadline: None }
    }

    /// The outcome of a write, or the failure if it has waited for too long.
    fn paced<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let limit = self.limit;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        debug_assert!(deadline.deadline() <= Instant::now() + limit, "a deadline is never later than its limit");
        ready!(deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side does not read")))
    }
}

impl AsyncRead for Paced {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Paced {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.paced(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.paced(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn a_write_fails_when_the_other_side_takes_nothing() {
        let (client, server) = pair().await;
        let mut paced = Paced::new(server, Duration::from_millis(20));
        let error = paced.write_all(&vec![0; 64 << 20]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(client);
    }

    #[tokio::test]
    async fn a_write_that_is_taken_succeeds_however_long_it_is() {
        let (mut client, server) = pair().await;
        let mut paced = Paced::new(server, Duration::from_secs(60));
        let bytes = vec![7; 8 << 20];
        let (mut taken, n) = (Vec::new(), bytes.len());
        let write = async {
            paced.write_all(&bytes).await.unwrap();
            paced.shutdown().await.unwrap();
        };
        let ((), read) = tokio::join!(write, client.read_to_end(&mut taken));
        assert_eq!(read.unwrap(), n);
    }
}
