//! Questions beside the conversation: each is a separate request, with one message and no history.
//!
//! Several may be under way. Each is written down before it is sent, and its answer when it comes.

use pellucid_engine::encode::Span;
use pellucid_model::model::Ask;
use pellucid_model::transport::Attempts;
use pellucid_store::moment::Moment;
use pellucid_store::requests::entry;

use super::*;
use crate::memories;

/// The header that says for whom an agent works; a question has none.
const SUBAGENT: &str = "x-openai-subagent";

/// What the model said to a question.
#[derive(Debug)]
pub(crate) struct Answered {
    /// Its words, or why there are none.
    pub said: Result<String, String>,
    /// What is written down of the answer, or of its failure.
    reply: entry::Reply,
}

impl Session {
    /// Writes a question down. It is sent when the future is awaited.
    ///
    /// # Errors
    /// When it may not be sent.
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
        let mut transcript = Transcript::new(ids(&setup.provider), memory::UNCUT);
        transcript.record_draft(&Draft::text("memory_source", "user", text));
        let request = frame.request(&mut transcript);
        let least = Least::new(setup.provider.wire_api, &facts.model.slug);
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

    /// Writes down what was said to the question of a line.
    pub(crate) fn log_answer(&mut self, line: Option<u64>, answered: &Answered) {
        if let (Some(line), Some((sent, _))) = (line, self.log.sent()) {
            sent.reply_to(line, answered.reply.clone());
            self.spent.add(&answered.reply.split().unwrap_or_default());
        }
    }

    /// Begins to write memories of past sessions beside this one, where that is switched on.
    pub(crate) fn begin_memories(&mut self) {
        self.memories = memories::start(self);
    }

    /// Breaks that off.
    pub(crate) async fn end_memories(&mut self) {
        if let Some(background) = &mut self.memories {
            background.break_off().await;
        }
        self.log_memories();
        self.memories = None;
    }

    /// Writes down which session asks for memories beside this one, once there is one.
    pub(super) fn log_memories(&mut self) {
        if let Some(worker) = self.memories.as_mut().and_then(memories::Background::take_worker) {
            self.log_child(&worker, "memories");
        }
    }
}
