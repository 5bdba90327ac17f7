//! Events of the session, and what its turn is doing.

use std::time::Duration;

use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::SessionConfigured;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::settings::CollaborationMode;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::settings::CollaborationSettings;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::usage::TokenUsageInfo;

use super::App;
use super::Effect;
use super::look::LookState;
use super::spoken::Spoken;
use crate::cells::command::script;
use crate::cells::notice::NoticeKind;
use crate::cells::stored::StoredEntry;
use crate::cells::transcript::Transcript;
use crate::composer::Message;
use crate::composer::draft::Clip;
use crate::composer::popup::SkillEntry;
use crate::host::HostAnswer;
use crate::host::OpenedSession;
use crate::host::StoredRecord;
use crate::host::Topic;

/// What is known of the session.
#[derive(Debug, Default)]
pub(super) struct SessionState {
    /// The settings of the session; absent before it is ready.
    pub(super) configured: Option<SessionConfigured>,
    pub(super) name: Option<String>,
    pub(super) usage: Option<TokenUsageInfo>,
    /// The window that the model has, in tokens.
    pub(super) window: Option<i64>,
    /// The newest heading of the model's reasoning.
    pub(super) heading: Option<String>,
    /// Whether a turn runs.
    is_working: bool,
    /// Whether the next message has to select the mode first.
    pub(super) is_mode_due: bool,
    /// Whether the turn has proposed a plan.
    has_plan: bool,
    /// What was written for a screen reader.
    pub(super) spoken: Spoken,
    /// What is known of the next request, and what was paid.
    pub(super) look: LookState,
}

impl SessionState {
    /// Whether a turn runs.
    pub(super) fn is_working(&self) -> bool {
        self.is_working
    }
}

impl App {
    /// Takes an event of the session.
    pub fn event(&mut self, event: &Event, now: Duration) -> Vec<Effect> {
        self.now = now;
        let mut effects = Vec::new();
        if self.is_ending {
            return effects;
        }
        let changes = self.transcript.apply(&event.msg, now, &self.canvas());
        self.changed(changes);
        match &event.msg {
            EventMessage::SessionConfigured(configured) => self.ready(configured, &mut effects),
            EventMessage::TaskStarted { model_context_window, .. } => {
                self.session.is_working = true;
                self.session.has_plan = false;
                self.session.heading = None;
                self.session.window = model_context_window.or(self.session.window);
            }
            EventMessage::TaskComplete { last_agent_message, .. } => {
                self.session.is_working = false;
                self.forget_questions();
                self.notify_turn(last_agent_message.as_deref(), &mut effects);
                if self.queue.is_empty() && self.session.has_plan && self.mode == CollaborationModeKind::Plan {
                    self.open_plan();
                }
                self.send_waiting(&mut effects);
            }
            EventMessage::TurnAborted { .. } => {
                self.session.is_working = false;
                self.forget_questions();
                self.take_back_queue();
            }
            EventMessage::ItemCompleted { item: TurnItem::Plan { .. }, .. } => self.session.has_plan = true,
            EventMessage::TokenCount { info: Some(info), .. } => self.session.usage = Some(info.clone()),
            EventMessage::ThreadNameUpdated { thread_name, .. } => self.session.name.clone_from(thread_name),
            EventMessage::ExecCommandBegin(begin) if begin.process_id.is_some() => {
                self.processes.insert(begin.call_id.clone(), script(&begin.command));
            }
            EventMessage::ExecCommandEnd(end) => {
                self.processes.remove(&end.begin.call_id);
            }
            EventMessage::ExecApprovalRequest(_)
            | EventMessage::ApplyPatchApprovalRequest(_)
            | EventMessage::RequestUserInput(_)
            | EventMessage::ElicitationRequest(_) => self.asked(&event.msg, now, &mut effects),
            EventMessage::McpToolCallEnd(end) => self.server_answered(&end.invocation.server, now),
            _ => {}
        }
        self.look_after_event(&event.msg, &mut effects);
        effects
    }

    /// The session is ready, and what waited is sent.
    fn ready(&mut self, configured: &SessionConfigured, effects: &mut Vec<Effect>) {
        self.session.configured = Some(configured.clone());
        self.session.is_mode_due = self.settings.has_modes;
        if let Some(first) = self.settings.first.take() {
            let written = Clip::plain(first.text.clone());
            let message = Message { text: first.text, images: first.images, written, ..Message::default() };
            self.queue.push_front(message);
        }
        self.send_waiting(effects);
    }

    /// Takes an answer of the program around the client.
    pub fn answered(&mut self, answer: HostAnswer, now: Duration) -> Vec<Effect> {
        self.now = now;
        let mut effects = Vec::new();
        match answer {
            HostAnswer::Done => {}
            HostAnswer::Note(text) => self.say_note(&text),
            HostAnswer::Failed(why) => self.say_error(&why),
            HostAnswer::History(at, text) => {
                let wishes = self.composer.history_fetched(at, text);
                return self.composed(wishes, false);
            }
            HostAnswer::Files(query, files) => {
                self.files_found(&query, files, &mut effects);
            }
            HostAnswer::Image(_, Some(path)) => self.composer.attach_image(path),
            HostAnswer::Image(text, None) => {
                let context = self.settings.context(self.session.is_working());
                let wishes = self.composer.paste_text(&text, &context);
                return self.composed(wishes, false);
            }
            HostAnswer::Prompt(text) => self.send_text(&text, &mut effects),
            HostAnswer::Diff(diff) => self.show_diff(diff),
            HostAnswer::Opened(opened) => self.opened(*opened),
            HostAnswer::Text(topic, lines) => self.described(topic, &lines),
            HostAnswer::Entries(menu, entries) => self.entries_arrived(menu, entries),
            HostAnswer::Renamed(name) => {
                self.say_note(&format!("the session is now named {name}"));
                self.session.name = Some(name);
            }
            HostAnswer::Skills(skills) => {
                let entry = |(name, description, path)| SkillEntry { name, description, path };
                self.settings.skills = skills.into_iter().map(entry).collect();
            }
            HostAnswer::ServerPrompts(prompts) => self.settings.list_server_prompts(prompts),
            HostAnswer::LoggedOut => effects.push(Effect::Quit),
            HostAnswer::Looked(answer) => return self.looked(*answer),
            HostAnswer::Past(answer) => return self.past_answered(*answer),
        }
        effects
    }

    /// Shows a text that was wanted.
    fn described(&mut self, topic: Topic, lines: &[String]) {
        let name = match topic {
            Topic::Configuration => "/debug-config",
            Topic::McpServers => "/mcp",
            Topic::Apps => "/apps",
            Topic::Page => "/inspect",
            Topic::Phases => "/phase",
        };
        self.say(NoticeKind::Info, name, Some(lines.join("\n")));
    }

    /// Another session takes the place of the present one.
    fn opened(&mut self, opened: OpenedSession) {
        for line in self.farewell("pellucid") {
            self.say_note(&line);
        }
        let look = self.session.look.renewed();
        self.session = SessionState { name: opened.name.clone(), look, ..SessionState::default() };
        self.settings.list_server_prompts(Vec::new());
        self.forget_questions();
        self.processes.clear();
        self.begin_with(opened);
    }

    /// Shows what was said in a stored session, and what is to be said about its opening.
    pub fn begin_with(&mut self, opened: OpenedSession) {
        self.session.name = opened.name;
        self.session.usage = opened.history.iter().rev().find_map(|record| match record {
            StoredRecord::Event(EventMessage::TokenCount { info, .. }) => info.clone(),
            _ => None,
        });
        self.transcript = Transcript::new(self.settings.transcript.clone());
        let canvas = self.canvas();
        let entries: Vec<StoredEntry<'_>> = opened.history.iter().map(StoredRecord::entry).collect();
        let lines = self.transcript.restore(&entries, &canvas);
        self.pending.extend(lines);
        for note in opened.notes {
            self.say(NoticeKind::Warning, &note, None);
        }
        self.say_key_problems();
        self.offer_draft();
    }

    /// The change of settings that selects the mode, with the model and the effort of now.
    pub(super) fn mode_change(&self) -> Operation {
        let (model, effort) = match &self.session.configured {
            Some(session) => (session.model.clone(), session.reasoning_effort),
            None => (String::new(), None),
        };
        let effort = match self.mode {
            CollaborationModeKind::Plan => Some(ReasoningEffort::Medium),
            CollaborationModeKind::Default => effort,
        };
        let settings = CollaborationSettings { model, reasoning_effort: effort, developer_instructions: None };
        let mode = CollaborationMode { mode: self.mode, settings };
        Operation::OverrideTurnContext(SettingsChange { collaboration_mode: Some(mode), ..SettingsChange::default() })
    }

    /// When the client wants to be drawn again if nothing happens: the clock of a turn changes every second, and
    /// its mark every half second.
    pub fn next_tick(&self, now: Duration) -> Option<Duration> {
        [self.turn_tick(now), self.look_tick(), self.keep_tick()].into_iter().flatten().min()
    }

    fn turn_tick(&self, now: Duration) -> Option<Duration> {
        if !self.session.is_working || self.page.is_some() || self.asking.is_open() {
            return None;
        }
        let elapsed = self.transcript.elapsed(now);
        let second = Duration::from_secs(elapsed.as_secs());
        let half = second + Duration::from_millis(500);
        let next =
            if self.settings.manner.has_animations && elapsed < half { half } else { second + Duration::from_secs(1) };
        Some(now + next.saturating_sub(elapsed))
    }

    /// The moment of [`App::next_tick`] has come.
    pub fn tick(&mut self, now: Duration) -> Vec<Effect> {
        self.now = now;
        let mut effects = self.look_due(now);
        effects.extend(self.keep_due(now));
        effects
    }
}
