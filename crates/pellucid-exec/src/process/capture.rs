//! Reading the streams of a command: what is kept, what is passed on, what is dropped.

use std::collections::VecDeque;

use pellucid_protocol::exec::OutputStream;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use crate::listener::Listening;
use crate::text;

/// How much of a stream is kept, and of both together.
pub const KEPT_BYTES: usize = 1024 * 1024;

/// How long a delta is at most.
pub const DELTA_BYTES: usize = 8192;

/// How many deltas of a stream are passed on.
pub const DELTAS_MAX: usize = 10_000;

/// The capacity of a pipe, so that one read empties it.
const READ_BYTES: usize = 64 * 1024;

/// Something that a command wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The stream that the bytes were written to.
    pub stream: OutputStream,
    /// The bytes: at most [`DELTA_BYTES`], cut anywhere.
    pub bytes: Vec<u8>,
}

/// The captured part of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The beginning of the stream, or nothing if the stream stayed open.
    pub bytes: Vec<u8>,
    /// How many bytes are not kept.
    pub n_dropped: u64,
    /// Whether a process still held the stream open when reading stopped.
    pub is_left_open: bool,
}

impl Captured {
    /// The captured bytes as text.
    pub fn text(&self) -> String {
        text::decode(self.bytes.clone())
    }

    fn keep(&mut self, bytes: &[u8]) {
        let (kept, dropped) = bytes.split_at(bytes.len().min(KEPT_BYTES - self.bytes.len()));
        self.bytes.extend_from_slice(kept);
        self.n_dropped += dropped.len() as u64;
    }
}

/// Reads one stream. Every future of it can be dropped without losing a byte.
pub(super) struct Reader<R> {
    /// The pipe, until it is closed.
    pipe: Option<R>,
    stream: OutputStream,
    captured: Captured,
    n_deltas: usize,
    /// Deltas that the receiver has not taken yet.
    waiting: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
    listening: Listening,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(super) fn new(pipe: Option<R>, stream: OutputStream, listening: Listening) -> Self {
        Self {
            pipe,
            stream,
            captured: Captured::default(),
            n_deltas: 0,
            waiting: VecDeque::new(),
            buffer: vec![0; READ_BYTES],
            listening,
        }
    }

    /// Reads until the pipe is closed.
    pub(super) async fn read(&mut self, deltas: Option<&mpsc::Sender<Delta>>) {
        loop {
            self.pass_on(deltas).await;
            let Some(pipe) = &mut self.pipe else { return };
            // A pipe that cannot be read has nothing more to say.
            match pipe.read(&mut self.buffer).await {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(n_bytes) => {
                    let bytes = &self.buffer[..n_bytes];
                    self.captured.keep(bytes);
                    if let Some(listener) = &self.listening {
                        listener.wrote(bytes);
                    }
                    if deltas.is_some() {
                        let left = DELTAS_MAX - self.n_deltas;
                        let before = self.waiting.len();
                        self.waiting.extend(bytes.chunks(DELTA_BYTES).take(left).map(<[u8]>::to_vec));
                        self.n_deltas += self.waiting.len() - before;
                    }
                }
            }
        }
    }

    async fn pass_on(&mut self, deltas: Option<&mpsc::Sender<Delta>>) {
        while !self.waiting.is_empty() {
            // The place comes first: a future that is dropped while it waits takes nothing along.
            let Some(place) = (match deltas {
                Some(deltas) => deltas.reserve().await.ok(),
                None => None,
            }) else {
                self.waiting.clear();
                return;
            };
            if let Some(bytes) = self.waiting.pop_front() {
                place.send(Delta { stream: self.stream, bytes });
            }
        }
    }

    /// The captured bytes. A stream that was not read to its end counts as empty.
    pub(super) fn finish(self) -> Captured {
        let Captured { bytes, n_dropped, .. } = self.captured;
        match self.pipe {
            None => Captured { bytes, n_dropped, is_left_open: false },
            Some(_) => Captured { bytes: Vec::new(), n_dropped: n_dropped + bytes.len() as u64, is_left_open: true },
        }
    }
}

/// Both streams, one after the other. If they are too long together, the first gets a third of the
/// room, the second the rest, and the first what the second leaves.
pub(super) fn aggregate(stdout: &[u8], stderr: &[u8], room: usize) -> Vec<u8> {
    let (n_stdout, n_stderr) = if stdout.len() + stderr.len() <= room {
        (stdout.len(), stderr.len())
    } else {
        let n_stderr = stderr.len().min(room - stdout.len().min(room / 3));
        (stdout.len().min(room - n_stderr), n_stderr)
    };
    [&stdout[..n_stdout], &stderr[..n_stderr]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_aggregate(stdout: &str, stderr: &str, room: usize, expected: &str) {
        let aggregated = aggregate(stdout.as_bytes(), stderr.as_bytes(), room);
        assert_eq!(String::from_utf8(aggregated).unwrap(), expected);
    }

    #[test]
    fn what_fits_is_whole() {
        check_aggregate("aaaa", "bb", 6, "aaaabb");
        check_aggregate("", "", 6, "");
    }

    #[test]
    fn of_two_long_streams_the_first_gets_a_third() {
        check_aggregate("aaaaaaaa", "bbbbbbbb", 6, "aabbbb");
        check_aggregate("aaaaaaaa", "bbbbbbbb", 7, "aabbbbb");
    }

    #[test]
    fn room_that_one_leaves_goes_to_the_other() {
        check_aggregate("aaaaaaaa", "b", 6, "aaaaab");
        check_aggregate("a", "bbbbbbbb", 6, "abbbbb");
        check_aggregate("aaaaaaaa", "", 6, "aaaaaa");
        check_aggregate("", "bbbbbbbb", 6, "bbbbbb");
    }

    /// Reads `bytes` through a pipe and gives the lengths of the deltas.
    async fn deltas_of(bytes: Vec<u8>) -> (Captured, Vec<usize>) {
        let (deltas, mut received) = mpsc::channel(1);
        let reading = async move {
            let mut reader = Reader::new(Some(bytes.as_slice()), OutputStream::Stdout, None);
            reader.read(Some(&deltas)).await;
            reader.finish()
        };
        let receiving = async {
            let mut lengths = Vec::new();
            while let Some(delta) = received.recv().await {
                lengths.push(delta.bytes.len());
            }
            lengths
        };
        tokio::join!(reading, receiving)
    }

    #[tokio::test]
    async fn deltas_are_short_and_few() {
        let (captured, lengths) = deltas_of(vec![b'x'; 20_000]).await;
        assert_eq!(lengths, [8192, 8192, 3616]);
        assert_eq!((captured.bytes.len(), captured.n_dropped), (20_000, 0));

        let n_bytes = DELTA_BYTES * (DELTAS_MAX + 3);
        let (captured, lengths) = deltas_of(vec![b'x'; n_bytes]).await;
        assert_eq!(lengths.len(), DELTAS_MAX);
        assert_eq!(captured.bytes.len(), KEPT_BYTES);
        assert_eq!(captured.n_dropped, (n_bytes - KEPT_BYTES) as u64);
    }

    #[tokio::test]
    async fn a_receiver_that_is_gone_stops_nothing() {
        let (deltas, received) = mpsc::channel(1);
        drop(received);
        let mut reader = Reader::new(Some(&b"abc"[..]), OutputStream::Stderr, None);
        reader.read(Some(&deltas)).await;
        assert_eq!(reader.finish().text(), "abc");
    }

    #[tokio::test]
    async fn a_stream_that_stays_open_counts_as_empty() {
        let (mut writing, reading) = tokio::io::duplex(64);
        tokio::io::AsyncWriteExt::write_all(&mut writing, b"abc").await.unwrap();
        let (deltas, mut received) = mpsc::channel(1);
        let mut reader = Reader::new(Some(reading), OutputStream::Stdout, None);
        tokio::select! {
            () = reader.read(Some(&deltas)) => unreachable!("it is open"),
            delta = received.recv() => assert_eq!(delta.unwrap().bytes, b"abc"),
        }
        assert_eq!(reader.finish(), Captured { bytes: Vec::new(), n_dropped: 3, is_left_open: true });
    }
}
