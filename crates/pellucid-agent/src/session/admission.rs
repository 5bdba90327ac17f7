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

    /// Refuses a request whose least number of tokens exceeds the window. A byte is at most one token, so most requests
    /// need no count, and one that grew needs none until it grew by what was left.
    fn check_window(&mut self, request: &Request) -> Result<(), ReplyError> {
        let Some(window) = self.known_window() else {
            return Ok(());
        };
        let bytes = request.len() as u64;
        let most = match self.counted {
            Some((before, tokens)) if before <= bytes => tokens.saturating_add(bytes - before),
            _ => bytes,
        };
        if most <= window {
            return Ok(());
        }
        let least = self.least().tokens(&request.segments);
        self.counted = Some((bytes, least));
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
