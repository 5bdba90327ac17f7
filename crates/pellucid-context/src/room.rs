//! Room for the next message, in layouts that drop the oldest turns (`strategy = "window"`).
//!
//! The engine decides what has to go; the program asks a model for summaries. A question for a model is a whole request.

use pellucid_engine::assemble::assemble;
use pellucid_engine::compaction::Compaction;
use pellucid_engine::compaction::Fit;
use pellucid_engine::fragment::Origin;
use pellucid_engine::pack::CompactionStrategy;
use pellucid_engine::request::Frame;
use pellucid_engine::request::WireSettings;
use pellucid_engine::turn::SummarisedBy;
pub use pellucid_engine::window::WindowExceeded;
use pellucid_engine::window::settings::WindowKeys;
use pellucid_engine::window::summary;
use pellucid_protocol::item::Item;

use crate::built::BuiltRequest;
use crate::recording::RecordedStep;
use crate::session::EngineSession;

/// A request for a summary of turns that have to go.
#[derive(Debug)]
pub struct SummaryQuestion {
    compaction: Compaction,
    next: String,
    request: BuiltRequest,
}

impl SummaryQuestion {
    /// The request for the summary.
    pub fn request(&self) -> &BuiltRequest {
        &self.request
    }
}

impl EngineSession {
    /// Makes room for the person's next message: recalled texts go first, then the oldest turns. If a summary of turns is
    /// wanted, gives the question for it. Answer it with [`EngineSession::summarised`], then ask for room again. `None`
    /// means that the message fits, which is always so in layouts that keep all turns.
    ///
    /// ```
    /// use pellucid_context::{Engine, Facts, ModelInfo, SessionId, WireSettings};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut model = ModelInfo::named("small");
    /// model.context_window = Some(12_000);
    /// let wire = WireSettings::new(SessionId::new("example"));
    /// let mut session = Engine::builtin("agentcore")?.begin(Facts::plain("/", model), wire)?;
    /// let mut n_summaries = 0;
    /// for n in 0..12 {
    ///     let message = format!("message {n} {}", "word ".repeat(1_000));
    ///     while let Some(question) = session.make_room(&message)? {
    ///         n_summaries += 1;
    ///         session.summarised(question, Some("They said words."));
    ///     }
    ///     session.say(&message);
    ///     session.request();
    /// }
    /// assert!(n_summaries > 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If nothing is left that could go.
    pub fn make_room(&mut self, next: &str) -> Result<Option<SummaryQuestion>, WindowExceeded> {
        loop {
            let Some(compaction) = self.plan(next) else {
                return Ok(None);
            };
            if let Some(error) = compaction.failure() {
                return Err(error.clone());
            }
            if compaction.has_question() {
                let request = self.question(&compaction);
                return Ok(Some(SummaryQuestion { compaction, next: next.to_owned(), request }));
            }
            self.shorten(compaction, next, None);
        }
    }

    /// Puts a summary in the place of the turns that it was asked about. Without an answer these turns are lost.
    pub fn summarised(&mut self, question: SummaryQuestion, answer: Option<&str>) {
        let SummaryQuestion { compaction, next, .. } = question;
        self.shorten(compaction, &next, answer);
    }

    /// What has to go for the message to fit; absent if it fits.
    pub(crate) fn plan(&self, next: &str) -> Option<Compaction> {
        if self.engine().pack().layout.compaction.strategy != CompactionStrategy::Window {
            return None;
        }
        let fit = self.fit(next);
        let is_too_much = fit.limit().is_some_and(|limit| fit.estimate(&self.transcript) > limit);
        is_too_much.then(|| Compaction::by_window(&self.transcript, fit))
    }

    fn window_keys(&self) -> WindowKeys {
        self.facts().system.injection.window.over(self.engine().pack().layout.compaction.window)
    }

    fn fit<'a>(&'a self, next: &'a str) -> Fit<'a> {
        Fit {
            pack: self.engine().pack(),
            facts: self.facts(),
            instructions: &self.instructions,
            input: Some(next),
            summary: self.running_summary.as_deref(),
            n_context: self.n_context,
            keys: self.window_keys(),
        }
    }

    fn question(&self, compaction: &Compaction) -> BuiltRequest {
        let pack = self.engine().pack();
        let tokens = summary::output_tokens(self.window_keys().summary_max_output_tokens);
        let wire = WireSettings { output_tokens_max: u64::try_from(tokens).ok(), ..self.wire.clone() };
        let frame = Frame::for_summary(pack, self.facts(), &pack.template(summary::INSTRUCTIONS).text(), &wire);
        let (request, report) = compaction.reported(SummarisedBy::Model, &frame);
        let items = compaction.items_with_prompt().rendered().to_vec();
        BuiltRequest { frame, request, items, report, wire: self.wire.wire }
    }

    pub(crate) fn shorten(&mut self, compaction: Compaction, next: &str, answer: Option<&str>) {
        if let Some(left) = compaction.recalled_left() {
            self.facts_mut().system.injection.memory.truncate(left);
        }
        let context = assemble(self.engine().pack(), self.facts());
        if compaction.recalled_left().is_some() {
            self.instructions = context.instructions.clone();
            self.frame = Frame::new(self.engine().pack(), self.facts(), &self.instructions, &self.wire);
        }
        if let Some(answer) = answer {
            self.transcript.record(&Item::text("assistant", answer), &Origin::Model);
        }
        self.n_context = context.messages.len();
        let pack = self.engine().clone();
        self.running_summary = compaction.rebuild_window(&mut self.transcript, context, pack.pack());
        let (next, answer) = (next.to_owned(), answer.map(str::to_owned));
        self.note_step(RecordedStep::Shortened { next, answer });
    }
}
