//! The reports of a terminal to its watchers: output as it comes, and the end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::buffer::BufferContent;
use super::state::News;
use super::state::State;
use crate::process::DELTA_BYTES;
use crate::process::DELTAS_MAX;

/// Something that happened in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalEvent {
    /// At most [`DELTA_BYTES`] of output, with whole characters if it is text.
    Output {
        /// The bytes that were written.
        bytes: Vec<u8>,
    },
    /// The end. Nothing comes after it.
    Ended {
        /// The exit code of the process.
        exit_code: i32,
        /// Everything that was written, from the beginning on.
        output: BufferContent,
        /// From start to end.
        duration: Duration,
        /// How many bytes were left out of the reports of output.
        n_unreported: u64,
    },
}

/// Sends everything to `reports`, as long as there is a receiver.
pub(super) async fn report(state: Arc<State>, started: Instant, reports: mpsc::Sender<TerminalEvent>) {
    let mut cutter = Cutter::default();
    let mut n_sent = 0;
    let mut n_unreported = 0;
    loop {
        let (deltas, end) = match state.news().await {
            News::Output(bytes) => (cutter.cut(&bytes), None),
            News::Ended { exit_code, output, n_dropped } => (cutter.finish(), Some((exit_code, output, n_dropped))),
        };
        for bytes in deltas {
            if n_sent == DELTAS_MAX {
                n_unreported += bytes.len() as u64;
            } else if reports.send(TerminalEvent::Output { bytes }).await.is_ok() {
                n_sent += 1;
            } else {
                return;
            }
        }
        if let Some((exit_code, output, n_dropped)) = end {
            let n_unreported = n_unreported + n_dropped;
            // A receiver that is gone needs no report.
            let _ = reports
                .send(TerminalEvent::Ended { exit_code, output, duration: started.elapsed(), n_unreported })
                .await;
            return;
        }
    }
}

/// Cuts a stream into deltas between characters.
#[derive(Debug, Default)]
struct Cutter {
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
}

impl Cutter {
    fn cut(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut bytes = [&std::mem::take(&mut self.begun), bytes].concat();
        self.begun = bytes.split_off(bytes.len() - len_of_begun(&bytes));
        let mut rest = bytes.as_slice();
        let mut deltas = Vec::new();
        while !rest.is_empty() {
            let longest = &rest[..rest.len().min(DELTA_BYTES)];
            let at = if longest.len() == rest.len() { rest.len() } else { longest.len() - len_of_begun(longest) };
            let (delta, more) = rest.split_at(at);
            deltas.push(delta.to_vec());
            rest = more;
        }
        deltas
    }

    fn finish(&mut self) -> Vec<Vec<u8>> {
        let begun = std::mem::take(&mut self.begun);
        if begun.is_empty() { Vec::new() } else { vec![begun] }
    }
}

/// The number of bytes at the end that begin an incomplete character.
fn len_of_begun(bytes: &[u8]) -> usize {
    let last = &bytes[bytes.len().saturating_sub(3)..];
    let begin = last.iter().rposition(|byte| *byte >= 0xc0);
    let Some(begun) = begin.map(|at| &last[at..]) else { return 0 };
    match std::str::from_utf8(begun) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() == 0 => begun.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_cuts(pieces: &[&[u8]], expected: &[&[u8]]) {
        let mut cutter = Cutter::default();
        let mut cuts: Vec<Vec<u8>> = pieces.iter().flat_map(|piece| cutter.cut(piece)).collect();
        cuts.extend(cutter.finish());
        assert_eq!(cuts, expected);
    }

    #[test]
    fn characters_stay_whole() {
        check_cuts(&[b"caf\xc3", b"\xa9!"], &[b"caf", b"\xc3\xa9!"]);
        check_cuts(&[b"\xf0\x9f", b"\xa6", b"\x80"], &[b"\xf0\x9f\xa6\x80"]);
    }

    #[test]
    fn what_is_no_text_is_passed_on() {
        check_cuts(&[b"a\xe9b", b"\xff"], &[b"a\xe9b", b"\xff"]);
        check_cuts(&[b"end\xe2\x82"], &[b"end", b"\xe2\x82"]);
    }

    #[test]
    fn deltas_are_short() {
        let text = "é".repeat(DELTA_BYTES);
        let mut shifted = b"x".to_vec();
        shifted.extend(text.as_bytes());
        let lengths: Vec<_> = Cutter::default().cut(&shifted).iter().map(Vec::len).collect();
        assert_eq!(lengths, [8191, 8192, 2]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..9)) {
            let mut cutter = Cutter::default();
            let mut cuts: Vec<Vec<u8>> = pieces.iter().flat_map(|piece| cutter.cut(piece)).collect();
            cuts.extend(cutter.finish());
            prop_assert_eq!(cuts.concat(), pieces.concat());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn output_comes_before_the_end() {
        let state = Arc::new(State::default());
        state.begin_reports();
        let (reports, mut received) = mpsc::channel(1);
        let reporting = tokio::spawn(report(Arc::clone(&state), Instant::now(), reports));
        state.wrote(b"a\xc3");
        assert_eq!(received.recv().await, Some(TerminalEvent::Output { bytes: b"a".to_vec() }));
        tokio::time::advance(Duration::from_secs(2)).await;
        state.exited(4);
        state.over();
        assert_eq!(received.recv().await, Some(TerminalEvent::Output { bytes: b"\xc3".to_vec() }));
        let output = BufferContent { bytes: b"a\xc3".to_vec(), n_omitted: 0 };
        let duration = Duration::from_secs(2);
        assert_eq!(
            received.recv().await,
            Some(TerminalEvent::Ended { exit_code: 4, output, duration, n_unreported: 0 })
        );
        assert_eq!(received.recv().await, None);
        reporting.await.unwrap();
    }
}
