//! A recorded conversation, had again without a model: the same input, answers and outputs of tools under the settings of
//! this session.
//!
//! Every turn is run by the value that the driver runs. Nothing is sent, no tool is called, and no file is written.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use pellucid_engine::facts::Provided;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::concat;
use pellucid_engine::presets;
use pellucid_engine::report::Report;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::turn::RunningTurn;
use pellucid_engine::turn::SummarisedBy;
use pellucid_engine::turn::SummaryModel;
use pellucid_engine::turn::TurnEvent;
use pellucid_engine::turn::Wish;
use pellucid_engine::turn::calls::CallEvent;
use pellucid_engine::turn::calls::CallWish;
use pellucid_engine::turn::compacting::CompactionWish;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::reply::ReplyError;
use pellucid_protocol::reply::ReplyErrorKind;
use pellucid_protocol::reply::ReplyEvent;
use pellucid_protocol::settings::CollaborationModeKind;
use pellucid_protocol::usage::TokenUsage;
use pellucid_store::record::TurnContext;
use pellucid_store::recorder::Recorder;
use serde_json::Value;

use super::Session;
use super::asked_skills::AskedSkills;
use super::next::NextPurpose;
use super::opening::Beginning;
use super::running_summary::RunningSummary;
use super::sending::INTERRUPTED;
use super::setup::Setup;
use super::shortening::Shortening;
use super::shortening::SummaryRequest;
use super::turns::LastTurn;
use crate::drive::input_text;
use crate::habits::Habits;
use crate::habits::Happened;
use crate::memory;
use crate::memory::Offline;
use crate::replay::SaidAnswer;
use crate::replay::SaidSession;
use crate::replay::SaidTurn;
use crate::rerun::RerunError;
use crate::rerun::RerunSettings;
use crate::rerun::RerunTools;

/// A request of a conversation that is had again.
#[derive(Debug)]
pub struct RerunRequest<'r> {
    /// What the request asks for.
    pub purpose: NextPurpose,
    /// What surrounds the items of the request.
    pub frame: &'r Frame,
    /// The request, byte for byte as it would be sent.
    pub request: &'r Request,
    /// What the body is made of.
    pub report: &'r Report,
    /// The recorded answer that the request gets.
    pub answer: &'r SaidAnswer,
}

/// Sees each request, and gives the token counts of its answer.
pub type RerunVisit<'v> = dyn FnMut(RerunRequest<'_>) -> Result<Option<TokenUsage>, RerunError> + 'v;

/// Has a recorded conversation again, in a session that is made of `setup`.
pub(crate) fn rerun(
    mut setup: Setup,
    said: &SaidSession,
    under: RerunSettings,
    visit: &mut RerunVisit<'_>,
) -> Result<(), RerunError> {
    let mut before: Option<&TurnContext> = None;
    set_limits(&mut setup, said.turns.first(), under);
    if under.tools == RerunTools::None {
        setup.gathered.facts.tools.has_mcp_servers = false;
    }
    let first = said.turns.first().and_then(|turn| turn.settings.as_deref());
    if let Some(settings) = first {
        let mut change = changed(None, settings);
        change.collaboration_mode = change.collaboration_mode.map(|mode| presets::completed(&setup.pack, mode));
        setup.sources.change(&mut setup.gathered, change);
        before = Some(settings);
    }
    let mut session = Session::open(setup, Recorder::none(), Beginning::Nothing)?;
    if under.tools == RerunTools::Kept {
        let (_, missing) = session.recall_server_tools();
        if let Some(server) = missing.first() {
            let why = format!("the tools of the MCP server `{server}` are not known, because it was not started yet");
            return Err(RerunError::Unknown(why));
        }
    }
    let mut summaries: VecDeque<&SaidAnswer> = said.summaries.iter().collect();
    for turn in &said.turns {
        if turn.is_resumed {
            session.reopen(turn, under)?;
        } else if let Some(settings) = turn.settings.as_deref() {
            session.change_settings(changed(before, settings));
        }
        before = turn.settings.as_deref().or(before);
        session.run_again(turn, &mut summaries, visit)?;
    }
    Ok(())
}

/// Sets the limits of the process that ran a turn, as far as its record has them.
fn set_limits(setup: &mut Setup, turn: Option<&SaidTurn>, under: RerunSettings) {
    let model = &mut Arc::make_mut(&mut setup.sources.config).model;
    if let Some(terms) = turn.and_then(|turn| turn.terms.as_ref()) {
        model.auto_compact_token_limit = terms.compact_at;
        model.context_window = terms.window;
    }
    model.auto_compact_token_limit = under.compact_at.or(model.auto_compact_token_limit);
}

/// The settings of a turn that the turn before did not have.
fn changed(before: Option<&TurnContext>, now: &TurnContext) -> SettingsChange {
    let is_other = |is_same: fn(&TurnContext, &TurnContext) -> bool| before.is_none_or(|before| !is_same(before, now));
    let is_mode_default =
        now.collaboration_mode.as_ref().is_none_or(|mode| mode.mode == CollaborationModeKind::Default);
    let has_mode =
        is_other(|one, two| one.collaboration_mode == two.collaboration_mode) && !(before.is_none() && is_mode_default);
    SettingsChange {
        cwd: is_other(|one, two| one.cwd == two.cwd).then(|| now.cwd.clone().into()),
        approval_policy: is_other(|one, two| one.approval_policy == two.approval_policy).then_some(now.approval_policy),
        sandbox_policy: is_other(|one, two| one.sandbox_policy == two.sandbox_policy)
            .then(|| now.sandbox_policy.clone()),
        model: is_other(|one, two| one.model == two.model).then(|| now.model.clone()),
        effort: is_other(|one, two| one.effort == two.effort).then_some(now.effort),
        summary: is_other(|one, two| one.summary == two.summary).then_some(now.summary),
        collaboration_mode: now.collaboration_mode.clone().filter(|_| has_mode),
        personality: now.personality,
    }
}

impl Session {
    /// Does what another process does first that continues the session.
    fn reopen(&mut self, turn: &SaidTurn, under: RerunSettings) -> Result<(), RerunError> {
        set_limits(&mut self.setup, Some(turn), under);
        let mut gathered = self.setup.gathered_now()?;
        gathered.facts.tools = self.setup.gathered.facts.tools.clone();
        let instructions = self.conversation.instructions().to_vec();
        let place = "the session file".to_owned();
        gathered.facts.world.recorded_instructions = Some(Provided { place, text: concat(&instructions) });
        gathered.facts.world.recorded_fragments = instructions;
        self.setup.gathered = gathered;
        if let Some(settings) = turn.settings.as_deref() {
            self.change_settings(changed(None, settings));
        }
        let model = self.last_turn.model().map(str::to_owned);
        self.last_turn = LastTurn::new(self.setup.gathered.facts.clone(), model, true);
        self.shortening = Shortening::default();
        self.skills = AskedSkills::default();
        self.habits = Habits::of(&mut self.setup);
        let origin = Origin::Recorded { path: "the session file".into() };
        self.habits.note(&mut self.setup, &Happened::Restored(self.conversation.transcript(), origin));
        Ok(())
    }

    /// Runs a turn with recorded answers.
    fn run_again(
        &mut self,
        said: &SaidTurn,
        summaries: &mut VecDeque<&SaidAnswer>,
        visit: &mut RerunVisit<'_>,
    ) -> Result<(), RerunError> {
        if let Some(inputs) = &said.inputs {
            self.prepare_input(inputs).map_err(RerunError::Unknown)?;
            self.begin_turn();
            drop(self.take_events());
        }
        let schema = said.settings.as_ref().and_then(|settings| settings.final_output_json_schema.clone());
        let settings = self.turn_settings(&TurnId::new(said.id.as_str()));
        let mut turn = RunningTurn::new(settings, self.conversation.take_meter(), &self.setup.pack);
        let frame = self.frame(schema.clone());
        let first = match &said.inputs {
            Some(inputs) => turn.begin(inputs),
            None => turn.begin_compaction(),
        };
        let mut run = TurnAgain {
            session: self,
            frame,
            schema,
            inputs: said.inputs.as_deref().unwrap_or_default(),
            answers: said.answers.iter().collect(),
            summaries,
            outputs: BTreeMap::new(),
            events: VecDeque::new(),
            summary: None,
            has_asked: false,
            visit,
        };
        run.run(&mut turn, first)?;
        if let Some(left) = run.answers.front() {
            let why = format!("the turn would end before the recorded answer to request #{}", left.number);
            return Err(RerunError::Unknown(why));
        }
        self.conversation.put_meter(turn.meter().clone());
        if said.inputs.is_some() {
            self.complete_turn();
        }
        self.end_task();
        Ok(())
    }
}

/// A turn that is run again.
struct TurnAgain<'a, 'v, 's, 'f> {
    session: &'a mut Session,
    frame: Frame,
    /// The schema of the answer.
    schema: Option<Value>,
    inputs: &'a [UserInput],
    /// The answers that were not given yet.
    answers: VecDeque<&'a SaidAnswer>,
    summaries: &'v mut VecDeque<&'s SaidAnswer>,
    /// The outputs of the calls of the last answer.
    outputs: BTreeMap<String, Item>,
    /// What happens next.
    events: VecDeque<TurnEvent>,
    summary: Option<RunningSummary>,
    has_asked: bool,
    visit: &'v mut RerunVisit<'f>,
}

/// What a turn waits for.
#[derive(PartialEq)]
enum Flow {
    On,
    Over,
}

impl TurnAgain<'_, '_, '_, '_> {
    fn run(&mut self, turn: &mut RunningTurn, first: Vec<Wish>) -> Result<(), RerunError> {
        let mut wishes = first;
        while self.fulfil(wishes)? == Flow::On {
            let event = self.events.pop_front();
            let waits = || RerunError::Unknown("a turn would wait for something that the record does not have".into());
            wishes = turn.step(event.ok_or_else(waits)?);
        }
        Ok(())
    }

    fn fulfil(&mut self, wishes: Vec<Wish>) -> Result<Flow, RerunError> {
        for wish in wishes {
            match wish {
                Wish::RecordInput(inputs) => drop(self.session.record_input(&inputs)),
                Wish::RecordSteered(inputs) => self.session.record_message(&inputs),
                Wish::Record(item, origin) => self.session.record(&item, &origin),
                Wish::RecordDraft(draft) => self.session.record_draft(&draft),
                Wish::RecordSkills => self.session.record_skills(),
                Wish::AskModel => self.ask_model()?,
                Wish::Call(CallWish::Run { index, call }) => self.answer_call(index, &call),
                Wish::Call(CallWish::Interrupt) => {
                    self.events.push_back(TurnEvent::Interrupted { running: Vec::new() });
                }
                Wish::Measure(reasoning) => {
                    let unreported = self.session.measure(&input_text(self.inputs), reasoning);
                    self.events.push_back(TurnEvent::Measured { unreported });
                }
                Wish::Compact(wish) => self.compact(wish)?,
                Wish::Finish => return Ok(Flow::Over),
                Wish::AskAgain | Wish::Pause(_) => {
                    return Err(RerunError::Unknown("a request would be sent once more".to_owned()));
                }
                Wish::Emit(_)
                | Wish::Persist
                | Wish::LeaveWebSocket
                | Wish::Ask(_)
                | Wish::Call(CallWish::Cancel | CallWish::ShowDiff | CallWish::Over)
                | Wish::KeepCutOff(_)
                | Wish::Notify(_) => {}
            }
        }
        Ok(Flow::On)
    }

    fn ask_model(&mut self) -> Result<(), RerunError> {
        self.session.record_before_request();
        if self.session.choose_apps_again() {
            self.frame = self.session.frame(self.schema.clone());
        }
        let is_first = !std::mem::replace(&mut self.has_asked, true);
        if let Some(job) = self.session.memory_job(&self.frame, is_first) {
            match memory::remember_offline(&job) {
                Offline::Done(remembered) => {
                    self.session.remembered(*remembered).map_err(RerunError::Unknown)?;
                }
                Offline::AsksForSummary(_) | Offline::AsksForVectors(_) => {
                    return Err(RerunError::Unknown("the memory of the pack would ask a model".to_owned()));
                }
            }
        }
        let Some(answer) = self.answers.pop_front() else {
            return Err(RerunError::Unknown("a turn would ask the model once more than the recorded one".to_owned()));
        };
        let request = self.session.request(&self.frame);
        let none = || RerunError::Unknown("no request was made".to_owned());
        let report = self.session.report().ok_or_else(none)?;
        let (frame, request, report) = (&self.frame, &request, &report);
        let usage = (self.visit)(RerunRequest { purpose: NextPurpose::Answer, frame, request, report, answer })?;
        self.outputs.clone_from(&answer.outputs);
        self.give(answer, usage);
        Ok(())
    }

    /// Has the turn receive an answer.
    fn give(&mut self, answer: &SaidAnswer, usage: Option<TokenUsage>) {
        let done = answer.items.iter().map(|item| TurnEvent::Reply(ReplyEvent::ItemDone(item.clone())));
        self.events.extend(done);
        let images: Vec<PathBuf> = answer.items.iter().filter_map(|item| self.image_path(item)).collect();
        if !answer.attached.is_empty() && images.is_empty() {
            self.events.push_back(TurnEvent::Steered(answer.attached.clone()));
        }
        for path in images.iter().take(answer.attached.len()) {
            let image = self.session.attached_image(path);
            self.events.push_back(TurnEvent::Attached(image));
        }
        self.events.push_back(match answer.failure.as_deref() {
            None => TurnEvent::Reply(ReplyEvent::Completed { response_id: String::new(), usage }),
            Some(INTERRUPTED) => TurnEvent::InterruptRequested,
            Some("context_window_exceeded") => {
                TurnEvent::ReplyFailed(ReplyError::new(ReplyErrorKind::ContextWindowExceeded, ""))
            }
            Some(_) => TurnEvent::ReplyFailed(ReplyError::new(ReplyErrorKind::Local, "")),
        });
    }

    /// The image that a call looks at.
    fn image_path(&self, item: &Item) -> Option<PathBuf> {
        let Item::FunctionCall { name, arguments, .. } = item else { return None };
        let arguments: Value = serde_json::from_str(arguments).ok().filter(|_| name == "view_image")?;
        Some(Path::new(&self.session.setup.gathered.facts.settings.cwd).join(arguments["path"].as_str()?))
    }

    fn answer_call(&mut self, index: usize, call: &ToolCall) {
        self.session.touch(call);
        // A call without an output was interrupted.
        if let Some(answer) = self.outputs.remove(&call.call_id) {
            self.events.push_back(TurnEvent::Call(CallEvent::Finished { index, answer: Some(answer) }));
        }
    }

    fn compact(&mut self, wish: CompactionWish) -> Result<(), RerunError> {
        match wish {
            CompactionWish::Start(summariser) => self.start_compaction(summariser)?,
            CompactionWish::Note(item, origin) => {
                RunningSummary::note(self.summary.as_mut(), self.session, item, origin);
            }
            CompactionWish::SummariseLocally => {
                let event = self.summary.take().map(|summary| summary.rebuild_locally(self.session));
                self.events.extend(event);
            }
            CompactionWish::Rebuild => {
                let event = self.summary.take().map(|summary| summary.rebuild(self.session));
                self.events.extend(event);
            }
            CompactionWish::Log => self.session.log_summary(),
            CompactionWish::AskAgain
            | CompactionWish::DropOldest
            | CompactionWish::DropHalf
            | CompactionWish::Replace(_) => {
                return Err(RerunError::Unknown("a summary would be asked for once more".to_owned()));
            }
        }
        Ok(())
    }

    fn start_compaction(&mut self, summariser: SummaryModel) -> Result<(), RerunError> {
        let compaction = self.session.compaction(Some(&input_text(self.inputs)));
        let facts = self.session.summary_facts(summariser);
        if let Some(error) = compaction.failure() {
            self.events.push_back(TurnEvent::WindowExceeded(error.clone()));
            return Ok(());
        }
        if !compaction.has_question() {
            let rebuilt = self.session.rebuild(compaction, &facts);
            self.events.push_back(TurnEvent::Rebuilt(rebuilt));
            return Ok(());
        }
        let asked = self.session.summary_request(&compaction, &facts);
        let asked = asked.filter(|_| self.session.summarised_by() == SummarisedBy::Model);
        let Some(SummaryRequest { frame, request, report }) = asked else {
            return Err(RerunError::Unknown("the provider would summarise the history".to_owned()));
        };
        let Some(answer) = self.summaries.pop_front() else {
            let next =
                self.answers.front().map_or_else(String::new, |next| format!(" before request #{}", next.number));
            let why = format!("the model would be asked for a summary{next}, and the record has no answer to that");
            return Err(RerunError::Unknown(why));
        };
        let (frame, request, report) = (&frame, &request, &report);
        let usage = (self.visit)(RerunRequest { purpose: NextPurpose::Summary, frame, request, report, answer })?;
        self.summary = Some(RunningSummary::new(self.session, compaction, facts));
        self.give(answer, usage);
        Ok(())
    }
}
