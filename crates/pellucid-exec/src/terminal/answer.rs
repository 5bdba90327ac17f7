//! The model's view of a terminal, and how long a call may wait.

use std::time::Duration;

use pellucid_engine::cut::middle::truncate_middle;
use pellucid_engine::tokens::tokens_of_bytes;
use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use super::TerminalOutput;

/// How many tokens of output the model gets if it does not say.
pub const DEFAULT_OUTPUT_TOKENS: usize = 10_000;

/// How long a command that starts is waited for if the model does not say, in milliseconds.
pub const DEFAULT_YIELD_START: u64 = 10_000;

/// The same for a command that is written to.
pub const DEFAULT_YIELD_WRITE: u64 = 250;

const YIELD_MIN: u64 = 250;
const YIELD_MIN_SILENT: u64 = 5_000;
const YIELD_MAX: u64 = 30_000;

/// How long output is collected from a command that starts.
pub fn yield_start(milliseconds: Option<u64>) -> Duration {
    Duration::from_millis(milliseconds.unwrap_or(DEFAULT_YIELD_START).clamp(YIELD_MIN, YIELD_MAX))
}

/// How long output is collected after `characters` were written. Looking without writing is slow
/// on purpose: a model that polls would fill its context.
pub fn yield_write(milliseconds: Option<u64>, characters: &str) -> Duration {
    let min = if characters.is_empty() { YIELD_MIN_SILENT } else { YIELD_MIN };
    Duration::from_millis(milliseconds.unwrap_or(DEFAULT_YIELD_WRITE).clamp(min, YIELD_MAX))
}

/// Six hexadecimal digits that distinguish chunks.
pub fn chunk_id() -> String {
    format!("{:06x}", super::chance() & 0xff_ffff)
}

/// The answer to a call: what happened, then the output, cut to so many tokens. `number` is where a
/// command that has not ended can be found again.
pub fn answer(chunk_id: &str, chunk: &TerminalOutput, number: u32, max_output_tokens: usize) -> String {
    let output = chunk.text();
    let state = match chunk.exit_code {
        Some(code) => format!("Process exited with code {code}"),
        None => format!("Process running with session ID {number}"),
    };
    let limit = i64::try_from(max_output_tokens).unwrap_or(i64::MAX);
    let cut = truncate_middle(&output, TruncationPolicy { mode: TruncationMode::Tokens, limit });
    let heading =
        if cut == output { String::new() } else { format!("Total output lines: {}\n\n", output.lines().count()) };
    format!(
        "Chunk ID: {chunk_id}\nWall time: {:.4} seconds\n{state}\nOriginal token count: {}\nOutput:\n{heading}{cut}",
        chunk.wall_time.as_secs_f64(),
        tokens_of_bytes(output.len()),
    )
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::terminal::BufferContent;

    #[track_caller]
    fn check_answer(output: &[u8], exit_code: Option<i32>, max_output_tokens: usize, expected: &Expect) {
        let output = BufferContent { bytes: output.to_vec(), n_omitted: 0 };
        let chunk = TerminalOutput { output, exit_code, wall_time: Duration::from_micros(1_234_567) };
        expected.assert_eq(&answer("0af3c9", &chunk, 4711, max_output_tokens));
    }

    #[test]
    fn ended_and_running() {
        check_answer(
            b"caf\xc3\xa9\n",
            Some(-1),
            DEFAULT_OUTPUT_TOKENS,
            &expect![[r#"
                Chunk ID: 0af3c9
                Wall time: 1.2346 seconds
                Process exited with code -1
                Original token count: 2
                Output:
                café
            "#]],
        );
        check_answer(
            b"",
            None,
            DEFAULT_OUTPUT_TOKENS,
            &expect![[r#"
                Chunk ID: 0af3c9
                Wall time: 1.2346 seconds
                Process running with session ID 4711
                Original token count: 0
                Output:
            "#]],
        );
    }

    #[test]
    fn long_output_is_cut_and_says_how_long_it_was() {
        check_answer(
            b"one\ntwo\nthree\nfour\n",
            Some(0),
            2,
            &expect![[r#"
                Chunk ID: 0af3c9
                Wall time: 1.2346 seconds
                Process exited with code 0
                Original token count: 5
                Output:
                Total output lines: 4

                one
                …3 tokens truncated…our
            "#]],
        );
    }

    /// Tokens are counted in the text, so bytes that are no text count as their replacement does.
    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        check_answer(
            b"\xe9\xe9\xe9\xe9",
            Some(0),
            DEFAULT_OUTPUT_TOKENS,
            &expect![[r#"
                Chunk ID: 0af3c9
                Wall time: 1.2346 seconds
                Process exited with code 0
                Original token count: 3
                Output:
                ����"#]],
        );
    }

    #[test]
    fn waiting_times_have_bounds() {
        let start = |ms| yield_start(ms).as_millis();
        assert_eq!([start(None), start(Some(0)), start(Some(700)), start(Some(60_000))], [10_000, 250, 700, 30_000]);
        let write = |ms, characters| yield_write(ms, characters).as_millis();
        assert_eq!([write(None, "x"), write(Some(100), "x"), write(Some(60_000), "x")], [250, 250, 30_000]);
        assert_eq!([write(None, ""), write(Some(100), ""), write(Some(7_000), "")], [5_000, 5_000, 7_000]);
    }

    #[test]
    fn chunk_ids_have_six_digits() {
        let id = chunk_id();
        assert!(id.len() == 6 && id.chars().all(|digit| digit.is_ascii_hexdigit()), "{id}");
    }
}
