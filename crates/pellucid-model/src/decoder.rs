//! The decoder of a reply, whichever wire it comes over.
//!
//! Not here: the formats of the wires ([`crate::responses`], [`crate::chat`], [`crate::messages`]).

use std::collections::VecDeque;

use pellucid_protocol::provider::WireApi;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyEvent;

use crate::chat;
use crate::messages;
use crate::responses;

/// A decoder in the middle of a stream.
#[derive(Debug)]
pub(crate) enum Decoder {
    Responses(responses::ResponsesDecoder),
    Chat(chat::ChatDecoder),
    Messages(messages::MessagesDecoder),
}

impl Decoder {
    /// A decoder for a stream whose headers may have named the model.
    pub fn new(wire: WireApi, server_model: Option<String>) -> Self {
        match wire {
            WireApi::Responses => Self::Responses(responses::ResponsesDecoder::new(server_model)),
            WireApi::Chat => Self::Chat(chat::ChatDecoder::default()),
            WireApi::Messages => Self::Messages(messages::MessagesDecoder::default()),
        }
    }

    /// Appends the events of one payload to `events`.
    pub fn decode(&mut self, payload: &[u8], events: &mut VecDeque<ReplyEvent>) -> Result<(), ReplyError> {
        match self {
            Self::Responses(decoder) => {
                decoder.decode(payload, events);
                Ok(())
            }
            Self::Chat(decoder) => decoder.decode(payload, events),
            Self::Messages(decoder) => decoder.decode(payload, events),
        }
    }

    /// Handles the end of the stream: emits the last events of a complete reply, or returns why it is incomplete.
    pub fn finish(&mut self, events: &mut VecDeque<ReplyEvent>) -> Result<(), ReplyError> {
        match self {
            Self::Responses(decoder) => Err(decoder.finish()),
            Self::Chat(decoder) => decoder.finish(events),
            Self::Messages(decoder) => decoder.finish(events),
        }
    }
}
