//! Between turns: what changed since the last turn, what a turn begins with, and what is noted when it ends.

use pellucid_engine::assemble;
use pellucid_engine::assemble::Context;
use pellucid_engine::continuity::Cause;
use pellucid_engine::documents::change::NewText;
use pellucid_engine::file_states::FileStates;
use pellucid_engine::presets;
use pellucid_engine::reinject::again::Again;
use pellucid_engine::transcript::Draft;
use pellucid_engine::update::FactsChange;
use pellucid_engine::update::Updates;
use pellucid_engine::update::updates;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::settings::ResumeContext;

use super::Session;
use crate::cut_off;
use crate::cut_off::CUT_OFF;
use crate::habits::ComingInput;
use crate::habits::Effect;
use crate::habits::Happened;
use crate::habits::Moment;
use crate::habits::Prepared;
use crate::notify;
use crate::notify::TurnOver;
use crate::shared_facts::SharedFacts;

/// What held in the last turn, so that the next one can record what changed.
#[derive(Debug, Clone)]
pub(super) struct LastTurn {
    /// The facts of the last turn that began, or of the start.
    facts: SharedFacts,
    /// The model of the last task that ended.
    model: Option<String>,
    /// Whether the layout's messages have to be recorded before the next turn.
    context_is_due: bool,
}

impl LastTurn {
    /// Before the first turn of this process, with the model that an earlier one used.
    pub(super) fn new(facts: SharedFacts, model: Option<String>, context_is_due: bool) -> Self {
        Self { facts, model, context_is_due }
    }

    /// The model of the last task that ended.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The facts of the last turn that began, or of the start.
    pub(super) fn facts(&self) -> &SharedFacts {
        &self.facts
    }

    fn end(&mut self, model: &str) {
        self.model = Some(model.to_owned());
    }
}

impl Session {
    /// Has the habits look at a person's input before anything is recorded. Gives warnings for the person.
    ///
    /// # Errors
    /// Why the input is not sent.
    pub(crate) fn prepare_input(&mut self, inputs: &[UserInput]) -> Result<Vec<EventMessage>, String> {
        let window = self.setup.gathered.facts.settings.model.effective_window();
        let input = ComingInput { inputs, occupancy: self.conversation.occupancy(window) };
        let Prepared { warnings, omissions } = self.habits.prepare(&mut self.setup, &input)?;
        let lost = self.notices.accept(omissions)?;
        Ok(warnings.into_iter().chain(lost).map(|message| EventMessage::Warning { message }).collect())
    }

    /// Changes settings for the turns to come.
    pub fn change_settings(&mut self, mut change: SettingsChange) {
        change.collaboration_mode = change.collaboration_mode.map(|mode| presets::completed(&self.setup.pack, mode));
        self.setup.sources.change(&mut self.setup.gathered, change);
        self.conversation.transcript_mut().set_truncation(self.setup.gathered.facts.settings.model.truncation_policy);
    }

    /// Records what changed since the last turn began, before the next one does.
    pub fn begin_turn(&mut self) {
        self.placing.turn_begins();
        self.habits.note(&mut self.setup, &Happened::TurnBegins);
        let text = if self.last_turn.context_is_due { NewText::Above } else { NewText::Here };
        self.record_due_context();
        let LastTurn { facts: before, model: previous_model, .. } = &self.last_turn;
        let facts = &self.setup.gathered.facts;
        let change =
            FactsChange { pack: &self.setup.pack, before, after: facts, previous_model: previous_model.as_deref() };
        let Updates { messages, omissions } = updates(&change);
        self.last_turn.facts = facts.clone();
        for message in messages {
            self.record_layout(&Draft::from(message));
        }
        for omission in omissions {
            self.notices.warn_once_of(omission);
        }
        let n_items = self.conversation.transcript().n_items();
        let effects = self.habits.due(&mut self.setup, &Moment::TurnBegan { text, n_items });
        self.carry_out(effects);
        self.look_at_files();
    }

    /// Records the layout's messages, if that has to be done yet.
    pub(crate) fn record_due_context(&mut self) {
        if std::mem::take(&mut self.last_turn.context_is_due) {
            let context = assemble::assemble(&self.setup.pack, &self.setup.gathered.facts);
            self.record_context_after_history(context);
        }
    }

    /// Records the layout's messages behind a history: all of them, or those that the history does not have.
    pub(super) fn record_context_after_history(&mut self, mut context: Context) {
        match self.setup.sources.config.prompt.resume_context {
            ResumeContext::Again => self.habits.note(&mut self.setup, &Happened::ContextRecorded),
            ResumeContext::Changed => {
                let known: Vec<Item> = self.conversation.transcript().messages().collect();
                context.messages.retain(|message| !known.contains(&message.item()));
            }
        }
        self.record_context(context);
    }

    /// Notes that a tool is called.
    pub(crate) fn touch(&mut self, call: &ToolCall) {
        self.habits.note(&mut self.setup, &Happened::Called(call));
    }

    /// Records what habits add before a request.
    pub(crate) fn record_before_request(&mut self) {
        let n_items = self.conversation.transcript().n_items();
        let effects = self.habits.due(&mut self.setup, &Moment::BeforeRequest { n_items });
        let has_messages = effects.iter().any(|effect| matches!(effect, Effect::Record(_)));
        self.carry_out(effects);
        if has_messages {
            self.look_at_files();
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Record(draft) => self.record_draft(&draft),
                Effect::SayAgain(again) => self.note_again(&again),
                Effect::Omit(omission) => self.notices.warn_of(omission),
                Effect::Report(event) => {
                    if self.setup.context_events.are_wanted() {
                        self.notices.send(*event);
                    }
                }
            }
        }
    }

    /// Writes down that a message was said before, and sends that to clients that ask for it.
    pub(super) fn note_again(&mut self, again: &Again) {
        if let Some((sent, at)) = self.log.sent() {
            sent.said_again(at, again);
        }
        if self.setup.context_events.are_wanted() {
            let Again { part, reason, sha256, tokens } = again.clone();
            self.notices.send(EventMessage::ContextReinjection { part: part.to_string(), reason, sha256, tokens });
        }
    }

    /// Notes which files the next request is made from.
    pub(super) fn look_at_files(&mut self) {
        let mut now = FileStates::of(&self.setup.gathered.facts, &self.setup.pack);
        self.habits.add_files(&mut now, &self.requests.known_files());
        let now = self.requests.read_files(now, &self.setup.frames);
        self.log.sent_from_start().files_are(now);
    }

    /// Keeps the text of an interrupted message beside the session file, whose format has no place for it.
    pub(crate) fn keep_cut_off(&mut self, turn: &TurnId, text: &str) {
        let texts = cut_off::with(&self.setup.side, turn, text);
        self.setup.keep(CUT_OFF, texts);
    }

    /// Notes that the input of a turn was sent, whatever the answer was.
    pub(crate) fn complete_turn(&mut self) {
        self.habits.note(&mut self.setup, &Happened::TurnSent);
    }

    /// Notes that a task ended, whatever it was.
    pub(crate) fn end_task(&mut self) {
        self.log_memory_requests();
        self.log_memories();
        // A history that no file will have needs no record of its origins.
        if !self.log.is_held() {
            self.log_origins();
        }
        self.last_turn.end(&self.setup.gathered.facts.settings.model.slug);
    }

    /// Removes the person's last turns. Gives the event with the token figures.
    pub(crate) fn roll_back(&mut self, n_turns: usize) -> EventMessage {
        let transcript = self.conversation.transcript_mut();
        transcript.roll_back(n_turns);
        let n_items = transcript.n_items();
        self.habits.note(&mut self.setup, &Happened::RolledBack { n_turns, n_items });
        self.requests.expect_break(Cause::RollBack);
        let model = &self.setup.gathered.facts.settings.model;
        self.last_turn.end(&model.slug);
        self.conversation.estimate(model.effective_window())
    }

    /// Runs the user's `notify` program, if there is one, because a turn has its final answer.
    pub(crate) fn notify(&self, turn_id: &TurnId, last_assistant_message: Option<&str>) {
        let Some(program) = &self.setup.sources.config.records.notify else { return };
        let over = TurnOver {
            thread_id: &self.setup.session_id,
            turn_id,
            cwd: &self.setup.gathered.facts.settings.cwd,
            input_messages: notify::input_messages(self.conversation.transcript().messages()),
            last_assistant_message,
        };
        notify::notify(program, &over, &self.setup.key_variables());
    }
}
