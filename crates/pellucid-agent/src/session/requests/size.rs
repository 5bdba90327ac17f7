//! What is known of the size of a session's requests, so that few of them have to be counted.

/// What is known of the size of a session's requests. A byte is at most one token, so most requests need no count, and a
/// request that grew needs none until it grew by what is left of the window. What a provider reports counts more than what
/// is counted here: a provider may count otherwise, and only a request that is certain not to fit is refused.
#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    /// The bytes of the last request.
    bytes: u64,
    /// The bytes of a request whose tokens are known, and these tokens.
    known: Option<(u64, u64)>,
}

impl Size {
    /// How many tokens a request of so many bytes has at most.
    pub(super) fn tokens_max(&mut self, bytes: u64) -> u64 {
        self.bytes = bytes;
        match self.known {
            Some((before, tokens)) if before <= bytes => tokens.saturating_add(bytes - before),
            _ => bytes,
        }
    }

    /// Notes the least number of tokens of the last request.
    pub(super) fn counted(&mut self, tokens: u64) {
        self.known = Some((self.bytes, tokens));
    }

    /// Notes how many tokens the provider counted in the last request.
    pub(super) fn reported(&mut self, tokens: i64) {
        self.known = Some((self.bytes, u64::try_from(tokens).unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn the_figures_of_the_provider_count_more_than_ours() {
        let mut size = Size::default();
        assert_eq!(size.tokens_max(1_000), 1_000);
        size.counted(400);
        assert_eq!(size.tokens_max(1_100), 500);
        size.reported(90);
        assert_eq!(size.tokens_max(1_150), 140);
        // A history that was made shorter is another one.
        assert_eq!(size.tokens_max(800), 800);
    }
}
