//! Cutting the middle out of a text that is too long.
//!
//! A token counts as four bytes here, as the reference estimates it. Cuts fall between characters
//! and the marker says how much is gone.

use pellucid_protocol::settings::TruncationMode;
use pellucid_protocol::settings::TruncationPolicy;

use crate::cut::first;
use crate::cut::last;
use crate::tokens::BYTES_PER_TOKEN;
use crate::tokens::tokens_of_bytes;

/// How many bytes of a text the policy lets stay.
pub fn byte_limit(policy: TruncationPolicy) -> usize {
    let limit = usize::try_from(policy.limit).unwrap_or(0);
    match policy.mode {
        TruncationMode::Bytes => limit,
        TruncationMode::Tokens => limit.saturating_mul(BYTES_PER_TOKEN),
    }
}

/// Keeps head and tail of `text` within the policy; the marker comes on top.
pub fn truncate_middle(text: &str, policy: TruncationPolicy) -> String {
    let budget = byte_limit(policy);
    if text.is_empty() || (budget > 0 && text.len() <= budget) {
        return text.to_owned();
    }
    let left = budget / 2;
    let (head, rest) = text.split_at(first(text, left).len());
    let tail = last(rest, budget - left);
    let gone = &rest[..rest.len() - tail.len()];
    let marker = match policy.mode {
        TruncationMode::Bytes => format!("…{} chars truncated…", gone.chars().count()),
        TruncationMode::Tokens => format!("…{} tokens truncated…", tokens_of_bytes(text.len() - budget)),
    };
    [head, &marker, tail].concat()
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_truncation(text: &str, mode: TruncationMode, limit: i64, expected: &Expect) {
        expected.assert_eq(&truncate_middle(text, TruncationPolicy { mode, limit }));
    }

    #[test]
    fn keeps_head_and_tail_and_counts_what_is_gone() {
        let letters = "abcdefghijklmnopqrst";
        check_truncation(letters, TruncationMode::Bytes, 10, &expect!["abcde…10 chars truncated…pqrst"]);
        check_truncation(letters, TruncationMode::Tokens, 2, &expect!["abcd…3 tokens truncated…qrst"]);
        check_truncation(letters, TruncationMode::Bytes, 20, &expect!["abcdefghijklmnopqrst"]);
        check_truncation(letters, TruncationMode::Bytes, 0, &expect!["…20 chars truncated…"]);
        check_truncation("", TruncationMode::Bytes, 0, &expect![""]);
    }

    #[test]
    fn never_splits_a_character() {
        check_truncation("ééééé", TruncationMode::Bytes, 5, &expect!["é…3 chars truncated…é"]);
        check_truncation("日本語日本語", TruncationMode::Tokens, 1, &expect!["…4 tokens truncated…"]);
    }

    proptest::proptest! {
        /// What is kept is the beginning and the end of the text, within the budget, and what is gone is counted right.
        #[test]
        fn a_cut_text_has_the_ends_of_the_whole(text in "[a-zé日\u{1f600}]{0,80}", limit in -5_i64..60, is_bytes: bool) {
            let mode = if is_bytes { TruncationMode::Bytes } else { TruncationMode::Tokens };
            let policy = TruncationPolicy { mode, limit };
            let cut = truncate_middle(&text, policy);
            let budget = byte_limit(policy);
            if text.is_empty() || (budget > 0 && text.len() <= budget) {
                proptest::prop_assert_eq!(cut, text);
                return Ok(());
            }
            let mut pieces = cut.splitn(3, '…');
            let (head, said, tail) = (pieces.next().unwrap(), pieces.next().unwrap(), pieces.next().unwrap());
            proptest::prop_assert!(text.starts_with(head) && text.ends_with(tail));
            proptest::prop_assert!(head.len() + tail.len() <= budget);
            let n: usize = said.split(' ').next().unwrap().parse().unwrap();
            let n_gone = match mode {
                TruncationMode::Bytes => text.chars().count() - head.chars().count() - tail.chars().count(),
                TruncationMode::Tokens => tokens_of_bytes(text.len() - budget),
            };
            proptest::prop_assert_eq!(n, n_gone);
        }
    }

    #[test]
    fn limits_without_end_are_no_trouble() {
        for limit in [i64::MAX, i64::MIN, 0, -1] {
            for mode in [TruncationMode::Bytes, TruncationMode::Tokens] {
                let policy = TruncationPolicy { mode, limit };
                assert_eq!(truncate_middle("text", policy) == "text", limit > 0, "{policy:?}");
            }
        }
        assert_eq!([0, 1, 4, 5, 8].map(tokens_of_bytes), [0, 1, 1, 2, 2]);
    }
}
