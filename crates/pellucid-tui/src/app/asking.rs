//! Approvals and questions of the model: what is asked, and the answers.

use std::collections::VecDeque;
use std::time::Duration;

use pellucid_engine::elicitation;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserAnswers;
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use super::App;
use super::Effect;
use super::amending::Amending;
use crate::cells::decision::AskedAbout;
use crate::cells::patch::PatchCell;
use crate::composer::draft::Clip;
use crate::host::HostCall;
use crate::key::Key;
use crate::lists::approval::Answered;
use crate::lists::approval::ApprovalRequest;
use crate::lists::approval::Approvals;
use crate::lists::approval::command_text;
use crate::lists::approval::resolve;
use crate::lists::options::Appeared;
use crate::lists::options::ListOutcome;
use crate::lists::question::NOTE;
use crate::lists::question::QuestionForm;
use crate::lists::question::QuestionOutcome;
use crate::text::clean;

/// How much of a command a notification has.
const COMMAND_MAX: usize = 30;

/// The beginning of a command, for a notification.
fn cut(command: &str) -> String {
    if command.graphemes(true).count() <= COMMAND_MAX {
        return command.to_owned();
    }
    let shown: String = command.graphemes(true).take(COMMAND_MAX - 3).collect();
    format!("{shown}...")
}

/// Who wants the answers of a form.
#[derive(Debug)]
pub(super) enum FormPurpose {
    /// The model, which asks the person with a tool.
    Model(RequestUserInput),
    /// An MCP server, whose request the person has accepted.
    Server(Box<ElicitationRequest>),
}

/// What the model and its tools ask the person.
#[derive(Debug, Default)]
pub(super) struct Asking {
    pub(super) approvals: Approvals,
    pub(super) questions: VecDeque<(FormPurpose, QuestionForm)>,
    /// Whether changes of blanks are left out of diffs.
    pub(super) hides_blanks: bool,
    /// What a person changes about the answer.
    pub(super) amending: Option<Amending>,
    /// The note that goes with the answer.
    pub(super) note: Option<String>,
}

impl Asking {
    /// Whether something is asked now.
    pub(super) fn is_open(&self) -> bool {
        self.approvals.open().is_some() || !self.questions.is_empty()
    }

    /// Takes pasted text; false if nothing is asked that takes one.
    pub(super) fn paste(&mut self, text: &str, now: Duration) -> bool {
        if let Some(amending) = &mut self.amending {
            return amending.paste(text);
        }
        match self.questions.front_mut() {
            Some((_, form)) if self.approvals.open().is_none() => form.paste(text, now),
            _ => false,
        }
    }

    /// Forgets everything, because the turn ended. Returns what the person has written as answers.
    fn forget(&mut self) -> Vec<Clip> {
        self.approvals.forget();
        let written = self.questions.iter().flat_map(|(_, form)| form.written()).map(Clip::plain);
        let amended = self.amending.take().and_then(|amending| amending.written());
        let note = self.note.take().map(|note| Clip::plain(&note));
        let written = written.chain(amended).chain(note).collect();
        self.questions.clear();
        written
    }
}

impl App {
    /// Forgets what is asked, because the turn ended. Answers that the person was writing go to the draft.
    pub(super) fn forget_questions(&mut self) {
        let written = self.asking.forget();
        if !written.is_empty() {
            self.add_to_draft(written);
        }
    }

    /// Takes an event that asks something.
    pub(super) fn asked(&mut self, event: &EventMessage, now: Duration, effects: &mut Vec<Effect>) {
        let (request, text) = match event {
            EventMessage::ExecApprovalRequest(request) => {
                let text = format!("Approval requested{}: {}", self.in_folder(), cut(&request.command.join(" ")));
                (ApprovalRequest::Command(Box::new(request.clone())), text)
            }
            EventMessage::ApplyPatchApprovalRequest(request) => {
                let text = match request.changes.len() {
                    1 => format!(
                        "Approval requested{}: {}",
                        self.in_folder(),
                        request.changes.keys().next().map_or_else(String::new, |it| it.display().to_string())
                    ),
                    n => format!("Approval requested{}: {n} files", self.in_folder()),
                };
                (ApprovalRequest::Patch(Box::new(request.clone())), text)
            }
            EventMessage::RequestUserInput(request) => {
                let form = QuestionForm::new(&request.questions, Appeared::ByItself(now));
                self.asking.questions.push_back((FormPurpose::Model(request.clone()), form));
                let question = request.questions.first().map_or("", |question| question.question.as_str());
                self.notify_question(&format!("Question{}: {question}", self.in_folder()), effects);
                return;
            }
            EventMessage::ElicitationRequest(request) => {
                let text = format!("Approval requested{} by {}", self.in_folder(), request.server_name);
                (ApprovalRequest::Server(Box::new(request.clone())), text)
            }
            _ => return,
        };
        self.asking.approvals.ask(request, now);
        self.notify_question(&text, effects);
    }

    /// Takes a key while something is asked.
    pub(super) fn asking_key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.asking.amending.is_some() {
            return self.amending_key(key, now);
        }
        if let Some(list) = self.asking.approvals.list_mut() {
            match list.press(key, now, &self.settings.keymap) {
                ListOutcome::Draft(key) => return self.composer_key(key, now),
                ListOutcome::Whole => self.show_request(),
                ListOutcome::Explain => self.explain_request(),
                ListOutcome::Blanks => self.switch_blanks(),
                ListOutcome::Amend => self.amend(),
                ListOutcome::Note => self.write_note(),
                outcome => {
                    if let Some(answered) = self.asking.approvals.outcome(outcome, now) {
                        self.decided(answered, now, &mut effects);
                    }
                }
            }
            return effects;
        }
        let Some((_, form)) = self.asking.questions.front_mut() else {
            return effects;
        };
        match form.press(key, now, &self.settings.keymap) {
            QuestionOutcome::Open => {}
            QuestionOutcome::Draft(key) => return self.composer_key(key, now),
            QuestionOutcome::Answered(response) => match self.asking.questions.pop_front() {
                Some((FormPurpose::Model(request), _)) => {
                    self.transcript.answered(now);
                    self.say_answers(&request, &response);
                    let id = request.turn_id;
                    effects.push(Effect::Submit(Operation::UserInputAnswer { id, response }));
                }
                Some((FormPurpose::Server(request), form)) => match elicitation::content(&request.schema, &response) {
                    Ok(content) => self.resolve(&request, ElicitationAction::Accept, Some(content), now, &mut effects),
                    Err(why) => {
                        self.say_error(&why.to_string());
                        self.asking.questions.push_front((FormPurpose::Server(request), form));
                    }
                },
                None => {}
            },
            QuestionOutcome::Interrupted => match self.asking.questions.pop_front() {
                Some((FormPurpose::Server(request), _)) => {
                    self.resolve(&request, ElicitationAction::Cancel, None, now, &mut effects);
                }
                _ => {
                    self.asking.questions.clear();
                    effects.push(Effect::Submit(Operation::Interrupt));
                }
            },
        }
        effects
    }

    /// Answers an MCP server, and shows that.
    fn resolve(
        &mut self,
        request: &ElicitationRequest,
        action: ElicitationAction,
        content: Option<Value>,
        now: Duration,
        effects: &mut Vec<Effect>,
    ) {
        let decision = match action {
            ElicitationAction::Accept => ReviewDecision::Approved,
            ElicitationAction::Decline => ReviewDecision::Denied,
            ElicitationAction::Cancel => ReviewDecision::Abort,
        };
        let about = AskedAbout::Server(request.server_name.clone());
        let changes = self.transcript.decided(about, decision, now, &self.canvas());
        self.changed(changes);
        effects.push(Effect::Submit(resolve(request, action, content)));
    }

    /// A call of an MCP server has ended: its questions cannot be answered any more.
    pub(super) fn server_answered(&mut self, server: &str, now: Duration) {
        let mut was_open = self.asking.approvals.forget_server(server, now);
        let mut written = Vec::new();
        self.asking.questions.retain(|(purpose, form)| {
            let is_kept = !matches!(purpose, FormPurpose::Server(request) if request.server_name == server);
            if !is_kept {
                written.extend(form.written().map(Clip::plain));
                was_open = true;
            }
            is_kept
        });
        if !written.is_empty() {
            self.add_to_draft(written);
        }
        if was_open {
            self.transcript.answered(now);
            self.say_note(&format!("the MCP server {server} does not wait for an answer any more"));
        }
    }

    /// Shows the questions with the answers.
    fn say_answers(&mut self, request: &RequestUserInput, response: &UserAnswers) {
        let mut lines = vec!["Questions answered".to_owned()];
        for question in &request.questions {
            lines.push(question.question.clone());
            let given = response.answers.get(&question.id).map(|answer| answer.answers.as_slice()).unwrap_or_default();
            let in_words =
                |it: &String| it.strip_prefix(NOTE).map_or_else(|| it.clone(), |note| format!("note: {note}"));
            let answer = given.iter().map(in_words).collect::<Vec<_>>().join("; ");
            let shown = match answer.as_str() {
                "" => "no answer",
                _ if question.is_secret => "(not shown)",
                answer => answer,
            };
            lines.push(format!("  {shown}"));
        }
        self.say_lines(&lines);
    }

    pub(super) fn decided(&mut self, mut answered: Answered, now: Duration, effects: &mut Vec<Effect>) {
        let about = match &answered.request {
            ApprovalRequest::Server(request) if answered.decision == ReviewDecision::Approved => {
                let questions = elicitation::questions(&request.schema);
                if questions.is_empty() {
                    if let Some(url) = &request.url {
                        effects.push(Effect::Ask(HostCall::OpenPage(url.clone())));
                    }
                    self.resolve(request, ElicitationAction::Accept, None, now, effects);
                } else {
                    let form = QuestionForm::new(&questions, Appeared::Opened);
                    self.asking.questions.push_front((FormPurpose::Server(request.clone()), form));
                }
                return;
            }
            ApprovalRequest::Server(request) => AskedAbout::Server(request.server_name.clone()),
            ApprovalRequest::Command(request) => match &request.network_approval_context {
                Some(network) => AskedAbout::Host(network.host.clone()),
                None => AskedAbout::Command(request.command.clone()),
            },
            ApprovalRequest::Patch(request) => {
                AskedAbout::Patch(request.changes.keys().map(|path| path.display().to_string()).collect())
            }
        };
        self.send_note(&mut answered.decision, effects);
        let changes = self.transcript.decided(about, answered.decision.clone(), now, &self.canvas());
        self.changed(changes);
        effects.push(Effect::Submit(answered.request.operation(answered.decision)));
    }

    /// Explains on a page why the question is asked, and how far the answers reach.
    fn explain_request(&mut self) {
        let Some((request, _)) = self.asking.approvals.open() else { return };
        let mut lines = match request {
            ApprovalRequest::Command(request) => request.explanation.clone(),
            ApprovalRequest::Patch(request) => request.explanation.clone(),
            ApprovalRequest::Server(request) => vec![format!(
                "The MCP server {} asks while its tool runs. It gets your answer, and what you fill in if it has a form.",
                request.server_name
            )],
        };
        if lines.is_empty() {
            lines.push("The session gives no explanation for this question.".to_owned());
        }
        let lines = lines.iter().map(|line| clean::line(line).into_owned().into()).collect();
        self.open_text("Why you are asked", lines);
    }

    /// Shows the whole request on a page.
    fn show_request(&mut self) {
        let Some((request, _)) = self.asking.approvals.open() else { return };
        match request {
            ApprovalRequest::Command(request) => {
                let command = command_text(&request.command);
                let lines = clean::lines(&command).map(|line| line.into_owned().into()).collect();
                self.open_text("Request", lines);
            }
            ApprovalRequest::Server(request) => {
                let lines = clean::lines(&request.message).map(|line| line.into_owned().into()).collect();
                self.open_text("Request", lines);
            }
            ApprovalRequest::Patch(request) => {
                let changes = PatchCell::proposed(&request.changes, None);
                self.show_changes("Request", changes);
            }
        }
    }
}
