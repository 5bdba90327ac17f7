//! Counting tokens: an estimate that needs nothing, or whatever the caller brings.
//!
//! The engine itself estimates, because every decision that depends on sizes must be the same for every model and
//! every build. An exact count needs the model's table, which is large and is in a separate crate; it arrives here as
//! a [`Counter`] and changes only what is shown.

/// How many bytes stand for one token in estimates.
pub const BYTES_PER_TOKEN: usize = 4;

/// The estimated number of tokens in so many bytes.
pub fn tokens_of_bytes(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Something that can say how many tokens a text has.
pub trait Counter {
    /// The name of the encoding, for reports.
    fn name(&self) -> &str;

    /// How many tokens the text has.
    fn count(&self, text: &str) -> usize;
}

/// The estimate: four bytes are a token, and a part of four is one too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate;

impl Estimate {
    /// The name of the estimate in reports.
    pub const NAME: &str = "estimate";
}

impl Counter for Estimate {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn count(&self, text: &str) -> usize {
        tokens_of_bytes(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_a_token_whatever_they_say() {
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本", 2)] {
            assert_eq!(Estimate.count(text), tokens, "{text}");
        }
    }
}
