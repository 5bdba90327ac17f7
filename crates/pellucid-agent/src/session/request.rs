//! The requests of a session: what each is made of, what is known of the last, and how it may go out.

use super::*;

/// Which attempt a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The first.
    First,
    /// Another.
    Again,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskKind {
    /// What the session's last request says.
    LastRequest,
    /// A summary.
    Summary,
}

impl Session {
    /// What surrounds the items in the requests of a turn.
    pub fn frame(&self, output_schema: Option<Value>) -> Frame {
        let wire = self.setup.wire(output_schema);
        Frame::new(&self.setup.pack, &self.setup.gathered.facts, &self.instructions, &wire)
    }

    /// Writes down that the last request goes out, for the first time or again.
    pub(crate) fn log_request(&mut self, turn: &TurnId, attempt: Attempt) {
        let cache_break = match attempt {
            Attempt::First if self.log.is_recording() => self.cache_break(),
            Attempt::First | Attempt::Again => None,
        };
        self.log_origins();
        let sent_at = self.cache.sends(None);
        let Some(last) = &self.last else {
            return;
        };
        if let (Some(account), Some((sent, at))) = (&last.account, self.log.sent()) {
            match attempt {
                Attempt::First => {
                    sent.request(at, turn, Purpose::Answer, &last.frame, account, cache_break, sent_at);
                }
                Attempt::Again => {
                    let account = Account { marks: Vec::new(), ..account.clone() };
                    sent.request(at, turn, Purpose::AnswerAgain, &last.frame, &account, None, sent_at);
                }
            }
        }
    }

    /// Writes down that a turn ended before it sent anything.
    pub(crate) fn log_not_sent(&mut self, turn: &TurnId, why: &str) {
        if let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open()) {
            sent.not_sent(at, turn, why);
        }
    }

    /// Writes down where the bytes of items came from, as far as that has to be.
    pub(crate) fn log_origins(&mut self) {
        self.log_origins_of(Extent::Told);
    }

    /// The same behind a history that was replaced, where this process may send no request any more, or copied. Of items
    /// whose origins are lost nothing is claimed.
    pub(crate) fn log_origins_of(&mut self, extent: Extent) {
        if let Some((sent, at)) = self.log.sent().filter(|(sent, _)| sent.is_open()) {
            sent.origins(at, &mut self.transcript, extent);
        }
    }

    /// Writes down that another session was started from this one.
    pub(crate) fn log_child(&mut self, child: &SessionId, purpose: &str) {
        if let Some((sent, at)) = self.log.sent() {
            sent.child(at, child, purpose);
        }
    }

    /// The estimated tokens of instructions and items.
    pub(crate) fn prompt_tokens(&self) -> usize {
        let instructions: usize = self.instructions.iter().map(|fragment| fragment.text.len()).sum();
        tokens_of_bytes(instructions) + self.transcript.tokens()
    }

    /// The request with everything recorded so far.
    pub fn request(&mut self, frame: &Frame) -> Request {
        let request = frame.request(&mut self.transcript);
        let divergence = self.transcript.take_divergence();
        let items = if divergence.is_some() { Items::Changed } else { Items::Extended };
        let rows = self.transcript.rendered();
        let account = self.log.is_recording().then(|| self.ledger.account(frame, &request, rows, items));
        let continuity = self.continuity(frame, &request, divergence);
        self.cache.next_request();
        let known = self.last.as_ref().zip(continuity.as_ref()).and_then(|(last, continuity)| {
            let step = Step { sent: &last.sent, frame, continuity, items: self.transcript.rendered() };
            let Increment { known_bytes, n_returned } = Increment::of(&step)?;
            Some(Known { number: self.n_requests, bytes: known_bytes, n_returned })
        });
        self.n_requests += 1;
        let changed_files = self.files.take_changed();
        let n_items = self.transcript.rendered().len();
        self.previous = self.last.replace(LastRequest {
            frame: frame.clone(),
            n_items,
            sent: Sent::new(frame, self.transcript.shown_len(), n_items),
            continuity,
            changed_files,
            account,
            known,
        });
        request
    }

    /// How the model is spoken to over a WebSocket, if provider, features and model allow it.
    pub(crate) fn socket_version(&self) -> Option<SocketVersion> {
        let facts = &self.setup.gathered.facts;
        let provider = &self.setup.provider;
        if !provider.supports_websockets || provider.wire_api != WireApi::Responses {
            None
        } else if facts.features.is_on(Feature::ResponsesWebsocketsV2) {
            Some(SocketVersion::V2)
        } else if facts.features.is_on(Feature::ResponsesWebsockets) || facts.model.prefer_websockets {
            Some(SocketVersion::V1)
        } else {
            None
        }
    }

    /// How the last request may go over a WebSocket, or one that no other adds to.
    pub(crate) fn socket_ask(&self, turn_id: &TurnId, kind: AskKind) -> Option<SocketAsk> {
        let last = self.last.as_ref().filter(|_| kind == AskKind::LastRequest);
        Some(SocketAsk {
            version: self.socket_version()?,
            turn: turn_id.as_str().into(),
            number: last.map(|_| self.n_requests),
            known: last.and_then(|last| last.known),
            wants_timings: self.setup.gathered.facts.features.is_on(Feature::RuntimeMetrics),
        })
    }
}
