//! Questions beside the conversation: each is a separate request, with one message and no history.
//!
//! Several may be under way. Each is recorded before it is sent, and its answer when it comes.

use std::sync::Arc;

use pellucid_engine::encode::Span;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Fragment;
use pellucid_engine::request::Frame;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::Transcript;
use pellucid_model::model::Ask;
use pellucid_model::transport::Attempts;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::Item;
use pellucid_store::moment::Moment;
use pellucid_store::requests::entry;
use pellucid_store::requests::entry::Purpose;
use serde_json::Value;

use super::Session;
use super::headers::TurnHeaders;
use crate::least::Least;
use crate::memories;
use crate::memory;
use crate::memory::FirstFailure;
use crate::metadata::Repositories;

/// The header that names the kind of an agent; a question has none.
const SUBAGENT: &str = "x-openai-subagent";

/// What the model answered to a question.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The text of the answer, or why there is none.
    pub said: Result<String, String>,
    /// What the record gets of the answer, or of its failure.
    reply: entry::ReplyEntry,
}

impl Session {
    /// Records a question. The question is sent when the future is awaited.
    ///
    /// # Errors
    /// Why the question may not be sent.
    pub(crate) fn ask_apart(
        &mut self,
        turn: &TurnId,
        facts: &Facts,
        instructions: &[Fragment],
        text: Vec<Fragment>,
        schema: Value,
    ) -> Result<(Option<u64>, impl Future<Output = Answered> + Send + use<>), String> {
        let setup = &self.setup;
        let frame = Frame::for_question(&setup.pack, facts, instructions, &setup.wire(Some(schema)));
        let mut transcript = Transcript::new(setup.item_ids(), memory::UNCUT);
        transcript.record_draft(&Draft::text("memory_source", "user", text));
        let request = frame.request(&mut transcript);
        let least = Least::new(setup.provider.wire_api, &facts.settings.model.slug);
        let failure = FirstFailure::default();
        let ticket = least.admit(&setup.model, &request.segments).map_err(|error| failure.note(error))?;
        let repositories = Repositories::default();
        let mut headers = self.headers(&TurnHeaders { turn_id: turn, repositories: &repositories, state: None });
        headers.retain(|(name, _)| name != SUBAGENT);
        let line = self.log.sent().filter(|(sent, _)| sent.is_open()).and_then(|(sent, at)| {
            let items: Vec<(Item, Arc<[Span]>)> = transcript.items_with_origins().collect();
            let spans: Vec<&[Span]> = items.iter().map(|(_, spans)| &**spans).collect();
            let origins = sent.spans(&spans);
            let items = items.iter().map(|(item, _)| sent.item(item)).collect();
            let purpose = Purpose::MemorySummary { items, origins };
            let account = memory::account(&request, transcript.rendered().len());
            sent.request(at, turn, purpose, &frame, &account, None, Moment::now());
            sent.take_line()
        });
        let attempts = Attempts::default();
        let (body, noted) = (request.segments, attempts.clone());
        let ask = Ask { body, headers, ticket: Some(ticket), attempts: noted, ..Ask::default() };
        let model = self.setup.model.clone();
        Ok((line, async move {
            let (said, over) = memory::last_said(&model, ask, &failure).await;
            Answered { said, reply: over.reply(&attempts) }
        }))
    }

    /// Records the answer to the question of a line.
    pub(crate) fn log_answer(&mut self, line: Option<u64>, answered: &Answered) {
        if let (Some(line), Some((sent, _))) = (line, self.log.sent()) {
            sent.reply_to(line, answered.reply.clone());
            self.requests.spend_apart(&answered.reply.split().unwrap_or_default());
        }
    }

    /// Begins to write memories of past sessions beside this one, where that is switched on.
    pub(crate) fn begin_memories(&mut self) {
        self.memories = memories::start(self);
    }

    /// Stops the work on memories of past sessions.
    pub(crate) async fn end_memories(&mut self) {
        if let Some(background) = &mut self.memories {
            background.break_off().await;
        }
        self.log_memories();
        self.memories = None;
    }

    /// Records which session asks for memories beside this one, once there is one.
    pub(super) fn log_memories(&mut self) {
        if let Some(worker) = self.memories.as_mut().and_then(memories::Background::take_worker) {
            self.log_child(&worker, "memories");
        }
    }
}
