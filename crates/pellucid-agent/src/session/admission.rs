//! Whether a request goes out: limits of the person, a key, the model's window.
//!
//! What does not go out is not written down as sent.

use pellucid_model::budget::Ticket;
use pellucid_model::failure::OVERFLOW_ADVICE;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;

use super::*;
use crate::cut_off;
use crate::cut_off::CUT_OFF;

/// What is known of the size of a session's requests. A byte is at most one token, so most requests need no count, and a
/// request that grew needs none until it grew by what is left of the window. What a provider reports counts more than what
/// is counted here: a provider may count otherwise, and only a request that is certain not to fit is refused.
#[derive(Debug, Default)]
pub(super) struct Size {
    /// The bytes of the last request.
    bytes: u64,
    /// The bytes of a request whose tokens are known, and these tokens.
    known: Option<(u64, u64)>,
}

impl Size {
    /// How many tokens a request of so many bytes has at most.
    fn tokens_max(&mut self, bytes: u64) -> u64 {
        self.bytes = bytes;
        match self.known {
            Some((before, tokens)) if before <= bytes => tokens.saturating_add(bytes - before),
            _ => bytes,
        }
    }

    /// Notes the least number of tokens of the last request.
    fn counted(&mut self, tokens: u64) {
        self.known = Some((self.bytes, tokens));
    }

    /// Notes how many tokens the provider counted in the last request.
    pub(super) fn reported(&mut self, tokens: i64) {
        self.known = Some((self.bytes, u64::try_from(tokens).unwrap_or_default()));
    }
}

impl Session {
    /// Lets a request out that asks for an answer.
    ///
    /// # Errors
    /// When it may not go out: there is no key, a limit is reached, or it is certain not to fit the window.
    pub(crate) fn admit(&mut self, request: &Request) -> Result<Ticket, ReplyError> {
        self.check_window(request)?;
        self.admit_again(request)
    }

    /// Lets a request out that was found to fit, or that asks for a summary, which is made shorter until it does.
    ///
    /// # Errors
    /// When it may not go out.
    pub(crate) fn admit_again(&self, request: &Request) -> Result<Ticket, ReplyError> {
        self.least().admit(&self.setup.model, &request.segments)
    }

    /// Forgets the last request, because it did not go out.
    pub(crate) fn take_request_back(&mut self) {
        self.last = self.previous.take();
        self.files.take_back();
        self.n_requests = self.n_requests.saturating_sub(1);
    }

    fn least(&self) -> Least {
        Least::new(self.setup.provider.wire_api, &self.setup.gathered.facts.model.slug)
    }

    /// The model's window, where the catalogue or the person says how large it is.
    fn known_window(&self) -> Option<u64> {
        let is_guess = self.setup.gathered.model_match == Match::Fallback
            && self.setup.sources.config.model.context_window.is_none();
        let window = self.setup.gathered.facts.model.context_window.filter(|_| !is_guess)?;
        u64::try_from(window).ok()
    }

    /// Refuses a request whose least number of tokens exceeds the window.
    fn check_window(&mut self, request: &Request) -> Result<(), ReplyError> {
        let Some(window) = self.known_window() else {
            return Ok(());
        };
        if self.size.tokens_max(request.len() as u64) <= window {
            return Ok(());
        }
        let least = self.least().tokens(&request.segments);
        self.size.counted(least);
        if least <= window {
            return Ok(());
        }
        let model = &self.setup.gathered.facts.model.slug;
        let message = format!(
            "the prompt has at least {least} tokens and the window of the model `{model}` has {window}, so it was not \
             sent; {OVERFLOW_ADVICE}"
        );
        Err(ReplyError::new(ReplyErrorKind::ContextWindowExceeded, message))
    }

    /// Keeps the text of an interrupted message beside the session file, whose format has no place for it.
    pub(crate) fn keep_cut_off(&mut self, turn: &TurnId, text: &str) {
        let texts = cut_off::with(&self.setup.side, turn, text);
        keep(&mut self.setup.side, CUT_OFF, texts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
