//! Records a model's replies as a script that plays them back.
//!
//! Every event and every error is kept, so that a failure can be played again and again. A reply is written when it is
//! over. A recording never contains headers, addresses, or the provider's key, which is blanked wherever a text repeats
//! it.
//!
//! - `tape`: the file
//!
//! Not here: how a script is read ([`crate::script`]); when replies come ([`crate::model`]).

mod tape;

use std::sync::Arc;

use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyEvent;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::model::ProviderSummary;
use crate::redactor::Redactor;
use crate::script::EventForm;
use crate::script::RecordedError;
use crate::script::WholeItem;
use crate::script::without_nulls;
pub use tape::Tape;
pub use tape::TapeError;

/// The placeholder for the token of a turn, which a server sends in a header.
const TURN_STATE: &str = "(not recorded)";

/// How a reply ended.
#[derive(Debug, Clone, Copy)]
enum End<'a> {
    /// The last event completes the reply.
    Completed,
    Failed(&'a ReplyError),
    /// The caller dropped the reply.
    Dropped,
}

/// A tape, and the redactor of what is written to it.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    tape: Tape,
    redactor: Arc<Redactor>,
}

impl Recorder {
    pub(crate) fn new(tape: Tape, redactor: Arc<Redactor>) -> Self {
        Self { tape, redactor }
    }

    /// Records a reply that begins.
    pub(crate) fn listen(&self) -> Listener {
        Listener { recorder: self.clone(), events: Some(Vec::new()) }
    }

    /// Records that no reply began.
    pub(crate) fn failed(&self, error: &ReplyError) {
        self.tape.write(&reply(Vec::new(), End::Failed(error), &self.redactor));
    }

    /// Records a provider's summary, or why there is none.
    pub(crate) fn summarised(&self, summary: &Result<ProviderSummary, ReplyError>) {
        match summary {
            Ok(ProviderSummary { items, .. }) => {
                let items: Vec<WholeItem> = items.iter().cloned().map(WholeItem).collect();
                self.tape.write(&self.redactor.value(json!({ "compact": items })));
            }
            Err(error) => self.failed(error),
        }
    }
}

/// Collects the events of one reply and writes them when it is over.
#[derive(Debug)]
pub(crate) struct Listener {
    recorder: Recorder,
    /// The events so far; `None` once they are written.
    events: Option<Vec<ReplyEvent>>,
}

impl Listener {
    pub(crate) fn hear(&mut self, heard: &Result<ReplyEvent, ReplyError>) {
        let Some(events) = &mut self.events else {
            return;
        };
        match heard {
            Ok(event) => {
                events.push(event.clone());
                if matches!(event, ReplyEvent::Completed { .. }) {
                    self.end(End::Completed);
                }
            }
            Err(error) => self.end(End::Failed(error)),
        }
    }

    fn end(&mut self, end: End<'_>) {
        if let Some(events) = self.events.take() {
            self.recorder.tape.write(&reply(events, end, &self.recorder.redactor));
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.end(End::Dropped);
    }
}

/// A reply in the format of scripts.
fn reply(mut events: Vec<ReplyEvent>, end: End<'_>, redactor: &Redactor) -> Value {
    redactor.deltas(&mut events);
    let mut reply = Map::new();
    if !events.is_empty() {
        let events: Vec<EventForm> = events.into_iter().map(without_header_text).map(EventForm::from).collect();
        reply.insert("events".to_owned(), json!(events));
    }
    match end {
        End::Completed => {}
        End::Failed(error) => {
            reply.insert("error".to_owned(), json!(RecordedError::from(error.clone())));
        }
        End::Dropped => {
            reply.insert("error".to_owned(), json!({ "cut": true }));
        }
    }
    let mut reply = redactor.value(Value::Object(reply));
    without_nulls(&mut reply);
    reply
}

fn without_header_text(event: ReplyEvent) -> ReplyEvent {
    match event {
        ReplyEvent::TurnState(_) => ReplyEvent::TurnState(TURN_STATE.to_owned()),
        event => event,
    }
}

#[cfg(test)]
mod tests;
