//! The transcript of a session: events in, finished lines for the scrollback and live lines for the viewport out.
//!
//! Cells go into the scrollback in the order in which they end, each once. While a reply is arriving, other cells wait
//! until it is complete, so that no line comes between its lines; they are drawn below it meanwhile. Commands that only look
//! are one group, which ends with the next cell of another kind.
//!
//! Events that repeat others for older clients are left out here; [`super::stored`] reads them from session files.

mod opened;

use std::collections::HashSet;
use std::collections::VecDeque;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::event::AbortReason;
use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::MessagePhase;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use self::opened::OpenedText;
use self::opened::TextKind;
use super::CellCanvas;
use super::Folding;
use super::TranscriptCell;
use super::agents::agent_notice;
use super::command::CommandCell;
use super::command::CommandState;
use super::command::script;
use super::decision::AskedAbout;
use super::decision::DecisionCell;
use super::explored::ExploredCell;
use super::notice::NoticeCell;
use super::notice::NoticeKind;
use super::patch::PatchCell;
use super::plan::PlanCell;
use super::reasoning;
use super::reasoning::ReasoningCell;
use super::review::ReviewCell;
use super::session::SessionCell;
use super::texts;
use super::tool::ToolCell;
use super::user::UserCell;
use super::work::WorkClock;
use super::work::WorkedCell;
use crate::text::wrap::Indent;

/// Rows of reasoning that are shown while it arrives.
const THOUGHT_ROWS: usize = 3;

/// Messages that may wait for their event.
const SAID_MAX: usize = 32;

/// What a person wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranscriptOptions {
    /// The home folder, which is written as `~`.
    pub home: Option<PathBuf>,
    /// How much of the model's reasoning is shown.
    pub reasoning: ShownReasoning,
}

/// How much of the model's reasoning is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ShownReasoning {
    /// Nothing, with `hide_agent_reasoning`.
    Nothing,
    /// The summary, if the provider sends one.
    #[default]
    Summary,
    /// The reasoning itself, with `show_raw_agent_reasoning`.
    Raw,
}

/// What an event changed.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptChange {
    /// Lines that are final: they go into the scrollback, once, in this order.
    History(Vec<Line<'static>>),
    /// The live lines are different now.
    Live,
    /// The model's reasoning has a new heading, which is the status.
    Heading(String),
    /// Cells were removed, because turns were rolled back.
    RolledBack,
}

/// Everything that was said and done.
#[derive(Debug, Default)]
pub struct Transcript {
    options: TranscriptOptions,
    folder: Option<PathBuf>,
    cells: Vec<TranscriptCell>,
    live: LiveParts,
    turn: TurnParts,
    /// Messages that are shown already and whose event has not come.
    said: VecDeque<String>,
    /// The text of the message that repeats a review.
    review: Option<String>,
    out: Vec<Line<'static>>,
    is_begun: bool,
    folding: Folding,
}

/// What is not finished.
#[derive(Debug, Default)]
struct LiveParts {
    text: Option<OpenedText>,
    /// Cells that wait for the end of a reply.
    waiting: Vec<TranscriptCell>,
    explored: Option<ExploredCell>,
    running: Vec<RunningCall>,
    /// The reasoning that is shown while it arrives, and the summary whose heading is the status.
    thought: String,
    summary: String,
    heading: Option<String>,
    retry: Option<String>,
    is_changed: bool,
}

#[derive(Debug)]
struct RunningCall {
    id: String,
    /// Whether the call may outlive its turn.
    has_terminal: bool,
    cell: TranscriptCell,
}

impl LiveParts {
    fn clear_thought(&mut self) {
        self.thought.clear();
        self.summary.clear();
    }
}

/// What belongs to the turn.
#[derive(Debug, Default)]
struct TurnParts {
    clock: WorkClock,
    has_worked: bool,
    is_commentary: bool,
    /// Calls that have a cell.
    shown: HashSet<String>,
    /// Calls that were closed by an interruption.
    closed: HashSet<String>,
}

impl Transcript {
    /// An empty transcript.
    pub fn new(options: TranscriptOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// The same transcript for a client without a pager: more of a long output is shown.
    #[must_use]
    pub fn without_pager(self) -> Self {
        Self { folding: Folding::Longer, ..self }
    }

    /// The finished cells, in order.
    pub fn cells(&self) -> &[TranscriptCell] {
        &self.cells
    }

    /// The time that the turn has worked.
    pub fn elapsed(&self, now: Duration) -> Duration {
        self.turn.clock.elapsed(now)
    }

    /// Applies an event of the session; `now` is the time since the client was started.
    pub fn apply(&mut self, event: &EventMessage, now: Duration, canvas: &CellCanvas) -> Vec<TranscriptChange> {
        let before = (self.cells.len(), self.live.heading.clone());
        self.event(event, now, canvas);
        let mut changes = self.changes();
        if self.cells.len() < before.0 {
            changes.push(TranscriptChange::RolledBack);
        }
        if let Some(heading) = self.live.heading.clone().filter(|it| before.1.as_ref() != Some(it)) {
            changes.push(TranscriptChange::Heading(heading));
        }
        changes
    }

    /// Shows a message of the user that is being sent. The event of the same message is then not shown again.
    pub fn said(&mut self, inputs: &[UserInput], canvas: &CellCanvas) -> Vec<TranscriptChange> {
        let cell = UserCell::of(inputs);
        // A message that was never confirmed must not hide an equal one much later.
        while self.said.len() >= SAID_MAX {
            self.said.pop_front();
        }
        self.said.push_back(cell.text().to_owned());
        self.write(TranscriptCell::User(cell), canvas);
        self.changes()
    }

    /// Shows a cell that no event of the session makes.
    pub fn show(&mut self, cell: TranscriptCell, canvas: &CellCanvas) -> Vec<TranscriptChange> {
        self.write(cell, canvas);
        self.changes()
    }

    /// Shows a note of the client.
    pub fn notice(&mut self, notice: NoticeCell, canvas: &CellCanvas) -> Vec<TranscriptChange> {
        self.write(TranscriptCell::Notice(notice), canvas);
        self.changes()
    }

    /// Shows a decision of the user, and lets the clock run.
    pub fn decided(
        &mut self,
        about: AskedAbout,
        decision: ReviewDecision,
        now: Duration,
        canvas: &CellCanvas,
    ) -> Vec<TranscriptChange> {
        self.turn.clock.answer(now);
        if let AskedAbout::Command(command) = &about
            && !matches!(decision, ReviewDecision::Denied | ReviewDecision::Abort)
        {
            self.commands_wait(&script(command), false);
        }
        self.write(TranscriptCell::Decision(DecisionCell { about, decision }), canvas);
        self.changes()
    }

    /// A question of a kind that is no event is open; time does not count until it is answered.
    pub fn asked(&mut self, now: Duration) {
        self.turn.clock.ask(now);
    }

    /// A question was answered that leaves no cell.
    pub fn answered(&mut self, now: Duration) {
        self.turn.clock.answer(now);
    }

    /// The lines of what is not finished, for the viewport. They continue the scrollback: a blank line comes first where one
    /// belongs.
    pub fn live(&self, now: Duration, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        let mut block = |lines: Vec<Line<'static>>, is_continued: bool| {
            if !lines.is_empty() {
                let needs_gap = !is_continued && (self.is_begun || !out.is_empty());
                out.extend(needs_gap.then(Line::default));
                out.extend(lines);
            }
        };
        block(self.live.explored.as_ref().map(|cell| cell.lines(canvas)).unwrap_or_default(), false);
        if let Some(text) = &self.live.text {
            let tail = text.tail(canvas);
            if self.is_rule_due(text) && !tail.is_empty() {
                block(self.worked(now).lines(canvas), false);
            }
            block(tail, text.is_begun());
        }
        block(self.thought_lines(canvas), false);
        // The question about a command shows the command.
        let is_asked = |cell: &TranscriptCell| matches!(cell, TranscriptCell::Command(cell) if cell.state() == CommandState::Asked);
        for call in self.live.running.iter().filter(|call| !is_asked(&call.cell)) {
            block(call.cell.draw(canvas, self.folding), false);
        }
        for cell in &self.live.waiting {
            block(cell.draw(canvas, self.folding), false);
        }
        if let Some(retry) = &self.live.retry {
            let mark = Indent::hanging(Span::styled("• ", canvas.palette.dim()));
            block(texts(retry.lines(), canvas.palette.dim(), &mark, canvas), false);
        }
        out
    }

    /// Every cell unfolded, for the pager, in the places of [`Transcript::cells`]; then what is not finished. A block may be
    /// empty; other blocks are meant to be separated by blank lines.
    pub fn unfolded(&self, canvas: &CellCanvas) -> Vec<Vec<Line<'static>>> {
        let mut blocks: Vec<Vec<Line<'static>>> = self.cells.iter().map(|cell| cell.unfolded(canvas)).collect();
        if let Some(text) = &self.live.text {
            blocks.push(text.whole(canvas));
        }
        blocks.extend(self.live.explored.iter().map(|cell| cell.lines(canvas)));
        blocks.extend(self.live.running.iter().map(|call| call.cell.unfolded(canvas)));
        blocks.extend(self.live.waiting.iter().map(|cell| cell.unfolded(canvas)));
        blocks
    }

    /// The user's messages, oldest first, with the places of their cells.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = (usize, &UserCell)> {
        self.cells.iter().enumerate().filter_map(|(at, cell)| match cell {
            TranscriptCell::User(cell) => Some((at, cell)),
            _ => None,
        })
    }

    /// The folder of the session, if it is known.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// How much of the reasoning is shown.
    pub(super) fn reasoning(&self) -> ShownReasoning {
        self.options.reasoning
    }

    /// Adds cells that ended before, and draws them.
    pub(super) fn add_finished(&mut self, cells: Vec<TranscriptCell>, canvas: &CellCanvas) -> Vec<Line<'static>> {
        cells.into_iter().for_each(|cell| self.emit(cell, canvas));
        std::mem::take(&mut self.out)
    }

    /// Takes what is to be drawn.
    fn changes(&mut self) -> Vec<TranscriptChange> {
        let mut changes = Vec::new();
        let lines = std::mem::take(&mut self.out);
        if !lines.is_empty() {
            changes.push(TranscriptChange::History(lines));
        }
        if std::mem::take(&mut self.live.is_changed) {
            changes.push(TranscriptChange::Live);
        }
        changes
    }

    fn event(&mut self, event: &EventMessage, now: Duration, canvas: &CellCanvas) {
        match event {
            EventMessage::SessionConfigured(session) => {
                self.folder = Some(session.cwd.clone());
                let cell = SessionCell::new(session, self.options.home.as_deref());
                self.write(TranscriptCell::Session(cell), canvas);
            }
            EventMessage::TaskStarted { .. } => {
                self.turn = TurnParts::default();
                self.turn.clock.start(now);
            }
            EventMessage::TaskComplete { .. } => self.end_turn(None, now, canvas),
            EventMessage::TurnAborted { reason, .. } => self.end_turn(Some(*reason), now, canvas),
            EventMessage::StreamError { message, additional_details, plain, .. } => {
                let why = plain.as_ref().or(additional_details.as_ref());
                self.live.retry = Some(why.map_or(message.clone(), |why| format!("{message} ({why})")));
                self.live.clear_thought();
                self.live.is_changed = true;
                if let Some(text) = &mut self.live.text {
                    text.cut();
                }
            }
            EventMessage::Error { .. } => {
                self.close_text(now, canvas);
                self.notices(NoticeCell::of(event), canvas);
            }
            EventMessage::ExecApprovalRequest(request) => {
                // A command that asks for a host runs already.
                if request.network_approval_context.is_none() {
                    self.commands_wait(&script(&request.command), true);
                }
                self.turn.clock.ask(now);
            }
            EventMessage::ApplyPatchApprovalRequest(_)
            | EventMessage::RequestUserInput(_)
            | EventMessage::ElicitationRequest(_) => self.turn.clock.ask(now),
            EventMessage::ThreadRolledBack { num_turns } => self.roll_back(*num_turns),
            EventMessage::ItemStarted { item, .. } => self.item_started(item, canvas),
            EventMessage::ItemCompleted { item, .. } => self.item_completed(item, now, canvas),
            EventMessage::AgentMessageContentDelta { item_id, delta, .. } => {
                self.text_piece(TextKind::Reply, item_id, delta, now, canvas);
            }
            EventMessage::PlanDelta { item_id, delta, .. } => {
                self.text_piece(TextKind::Plan, item_id, delta, now, canvas);
            }
            EventMessage::ReasoningContentDelta { delta, .. } => self.thought(delta, false),
            EventMessage::ReasoningRawContentDelta { delta, .. } => self.thought(delta, true),
            EventMessage::AgentReasoningSectionBreak { .. } => self.live.clear_thought(),
            _ => self.call_event(event, now, canvas),
        }
    }

    /// Events about calls, and everything that is one cell.
    fn call_event(&mut self, event: &EventMessage, now: Duration, canvas: &CellCanvas) {
        match event {
            EventMessage::ExecCommandBegin(begin) => self.command_begins(begin, canvas),
            EventMessage::ExecCommandOutputDelta { call_id, chunk, .. } => self.command_output(call_id, chunk),
            EventMessage::ExecCommandEnd(end) => self.command_ends(end, canvas),
            EventMessage::TerminalInteraction { stdin, .. } if !stdin.is_empty() => {
                self.write(TranscriptCell::Tool(ToolCell::input(stdin)), canvas);
            }
            EventMessage::McpToolCallBegin(begin) => {
                self.run(&begin.call_id, false, TranscriptCell::Tool(ToolCell::mcp(&begin.invocation)), canvas);
            }
            EventMessage::McpToolCallEnd(end) => {
                self.ran(&end.call_id, TranscriptCell::Tool(ToolCell::mcp_ended(end)), canvas);
            }
            EventMessage::PatchApplyBegin(begin) => {
                self.turn.shown.insert(begin.call_id.clone());
            }
            EventMessage::PatchApplyEnd(end) => {
                let cell = PatchCell::new(end, self.folder.as_deref());
                self.ran(&end.call_id, TranscriptCell::Patch(cell), canvas);
            }
            EventMessage::ViewImageToolCall { call_id, path } => {
                let cell = ToolCell::image(path, self.folder.as_deref());
                self.ran(call_id, TranscriptCell::Tool(cell), canvas);
            }
            EventMessage::PlanUpdate(plan) => self.write(TranscriptCell::Plan(PlanCell { plan: plan.clone() }), canvas),
            EventMessage::EnteredReviewMode { target, user_facing_hint } => {
                let cell = ReviewCell::began(target, user_facing_hint.as_deref());
                self.write(TranscriptCell::Review(cell), canvas);
            }
            EventMessage::ExitedReviewMode { review_output } => {
                self.close_text(now, canvas);
                self.review = Some(pellucid_engine::review::render(review_output.as_ref()));
                self.write(TranscriptCell::Review(ReviewCell::Ended(review_output.clone())), canvas);
            }
            EventMessage::ToolCallFailed { call_id, name, why } if !self.turn.shown.contains(call_id) => {
                let text = format!("the call of `{name}` failed: {why}");
                self.notices(vec![NoticeCell::new(NoticeKind::Warning, text)], canvas);
            }
            other => {
                let notices = agent_notice(other).map_or_else(|| NoticeCell::of(other), |notice| vec![notice]);
                self.notices(notices, canvas);
            }
        }
    }

    fn notices(&mut self, notices: Vec<NoticeCell>, canvas: &CellCanvas) {
        notices.into_iter().for_each(|notice| self.write(TranscriptCell::Notice(notice), canvas));
    }

    /// Ends a cell: it goes into the scrollback, or waits for a reply that is arriving.
    fn write(&mut self, cell: TranscriptCell, canvas: &CellCanvas) {
        self.live.is_changed = true;
        if let Some(text) = &self.live.text {
            let is_over = text.is_cut() && !matches!(cell, TranscriptCell::Notice(_) | TranscriptCell::User(_));
            if !is_over {
                self.live.waiting.push(cell);
                return;
            }
            // After a retry the model did something else than to repeat its reply.
            self.close_text(Duration::ZERO, canvas);
        }
        self.flush_explored(canvas);
        self.emit(cell, canvas);
    }

    fn emit(&mut self, cell: TranscriptCell, canvas: &CellCanvas) {
        let lines = cell.draw(canvas, self.folding);
        if !lines.is_empty() {
            self.gap();
            self.out.extend(lines);
        }
        self.cells.push(cell);
    }

    fn gap(&mut self) {
        self.out.extend(self.is_begun.then(Line::default));
        self.is_begun = true;
    }

    fn flush_explored(&mut self, canvas: &CellCanvas) {
        if let Some(cell) = self.live.explored.take_if(|cell| !cell.is_running()) {
            self.live.is_changed = true;
            self.emit(TranscriptCell::Explored(cell), canvas);
        }
    }

    fn command_begins(&mut self, begin: &ExecCommandBegin, canvas: &CellCanvas) {
        if begin.source == ExecSource::UnifiedExecInteraction {
            return;
        }
        self.live.is_changed = true;
        self.live.retry = None;
        if ExploredCell::accepts(begin) {
            self.turn.shown.insert(begin.call_id.clone());
            self.live.explored.get_or_insert_default().begin(begin);
            return;
        }
        let cell = TranscriptCell::Command(CommandCell::begin(begin));
        self.run(&begin.call_id, begin.process_id.is_some(), cell, canvas);
    }

    /// Commands with this script begin to wait for the person's answer, or have it.
    fn commands_wait(&mut self, script: &str, is_asked: bool) {
        for call in &mut self.live.running {
            if let TranscriptCell::Command(cell) = &mut call.cell
                && cell.script() == script
            {
                cell.wait(is_asked);
                self.live.is_changed = true;
            }
        }
    }

    fn command_output(&mut self, call_id: &str, chunk: &str) {
        let call = self.live.running.iter_mut().find(|call| call.id == call_id);
        if let (Some(RunningCall { cell: TranscriptCell::Command(cell), .. }), Ok(bytes)) =
            (call, BASE64_STANDARD.decode(chunk))
        {
            cell.push_output(&String::from_utf8_lossy(&bytes));
            self.live.is_changed = true;
        }
    }

    fn command_ends(&mut self, end: &ExecCommandEnd, canvas: &CellCanvas) {
        let id = &end.begin.call_id;
        if end.begin.source == ExecSource::UnifiedExecInteraction || self.turn.closed.contains(id) {
            return;
        }
        if self.live.explored.as_mut().is_some_and(|cell| cell.end(id)) {
            self.turn.has_worked = true;
            self.live.is_changed = true;
            return;
        }
        self.ran(id, TranscriptCell::Command(CommandCell::ended(end)), canvas);
    }

    /// A call begins and is live.
    fn run(&mut self, id: &str, has_terminal: bool, cell: TranscriptCell, canvas: &CellCanvas) {
        self.flush_explored(canvas);
        self.turn.shown.insert(id.to_owned());
        self.live.running.push(RunningCall { id: id.to_owned(), has_terminal, cell });
        self.live.is_changed = true;
    }

    /// A call has ended.
    fn ran(&mut self, id: &str, cell: TranscriptCell, canvas: &CellCanvas) {
        self.live.running.retain(|call| call.id != id);
        self.turn.shown.insert(id.to_owned());
        self.turn.has_worked = true;
        self.write(cell, canvas);
    }

    fn item_started(&mut self, item: &TurnItem, canvas: &CellCanvas) {
        match item {
            TurnItem::AgentMessage { phase, .. } => {
                self.turn.is_commentary = *phase == Some(MessagePhase::Commentary);
            }
            TurnItem::WebSearch { id, .. } => {
                self.run(id, false, TranscriptCell::Tool(ToolCell::searching()), canvas);
            }
            _ => {}
        }
    }

    fn item_completed(&mut self, item: &TurnItem, now: Duration, canvas: &CellCanvas) {
        match item {
            TurnItem::UserMessage { content, .. } => {
                let cell = UserCell::of(content);
                match self.said.iter().position(|text| text == cell.text()) {
                    Some(at) => {
                        self.said.remove(at);
                    }
                    None => self.write(TranscriptCell::User(cell), canvas),
                }
            }
            TurnItem::AgentMessage { content, .. } => {
                let text: String = content.iter().map(|AgentContent::Text { text }| text.as_str()).collect();
                // The result of a review is drawn as such; the message repeats it for the model.
                if self.review.take().is_none_or(|review| review != text) {
                    self.text_ends(TextKind::Reply, item.id(), &text, now, canvas);
                }
            }
            TurnItem::Plan { id, text } => self.text_ends(TextKind::Plan, id, text, now, canvas),
            TurnItem::Reasoning { summary_text, raw_content, .. } => {
                self.live.clear_thought();
                self.live.is_changed = true;
                let shown: &[String] = match self.options.reasoning {
                    ShownReasoning::Nothing => &[],
                    ShownReasoning::Raw if !raw_content.is_empty() => raw_content,
                    ShownReasoning::Summary | ShownReasoning::Raw => summary_text,
                };
                if let Some(cell) = ReasoningCell::new(shown.iter().map(String::as_str)) {
                    self.write(TranscriptCell::Reasoning(cell), canvas);
                }
            }
            TurnItem::ContextCompaction { .. } => {
                self.notices(vec![NoticeCell::new(NoticeKind::Info, "The context was compacted")], canvas);
            }
            TurnItem::WebSearch { id, query, action } => {
                self.ran(id, TranscriptCell::Tool(ToolCell::searched(query, action)), canvas);
            }
        }
    }

    fn thought(&mut self, delta: &str, is_raw: bool) {
        const THOUGHT_MAX: usize = 64 * 1024;
        let is_shown = (self.options.reasoning == ShownReasoning::Raw) == is_raw;
        if is_shown && self.live.thought.len() < THOUGHT_MAX {
            self.live.thought.push_str(delta);
            self.live.is_changed = true;
        }
        if !is_raw && self.live.summary.len() < THOUGHT_MAX {
            self.live.summary.push_str(delta);
        }
        if !is_raw
            && let Some(heading) = reasoning::split(&self.live.summary).0
            && self.live.heading.as_deref() != Some(heading)
        {
            self.live.heading = Some(heading.to_owned());
        }
    }

    fn thought_lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        if self.options.reasoning == ShownReasoning::Nothing {
            return Vec::new();
        }
        // Only the end is shown, so only the end is drawn.
        let body = reasoning::split(&self.live.thought).1;
        let begin = body.ceil_char_boundary(body.len().saturating_sub(THOUGHT_ROWS * canvas.columns.max(1) * 4));
        let lines = ReasoningCell::new([&body[begin..]]).map(|cell| cell.lines(canvas)).unwrap_or_default();
        let skipped = lines.len().saturating_sub(THOUGHT_ROWS);
        lines.into_iter().skip(skipped).collect()
    }

    fn end_turn(&mut self, aborted: Option<AbortReason>, now: Duration, canvas: &CellCanvas) {
        self.close_text(now, canvas);
        if let Some(cell) = &mut self.live.explored {
            cell.stop();
        }
        self.flush_explored(canvas);
        for call in std::mem::take(&mut self.live.running) {
            match call.cell {
                TranscriptCell::Command(cell) if aborted.is_none() && call.has_terminal => {
                    self.emit(TranscriptCell::Command(cell.left(CommandState::Background)), canvas);
                }
                TranscriptCell::Command(cell) if aborted.is_some() => {
                    self.turn.closed.insert(call.id);
                    let was_asked = cell.state() == CommandState::Asked;
                    let state = if was_asked { CommandState::Declined } else { CommandState::Interrupted };
                    self.emit(TranscriptCell::Command(cell.left(state)), canvas);
                }
                _ => {}
            }
        }
        if aborted == Some(AbortReason::Interrupted) {
            self.notices(vec![NoticeCell::new(NoticeKind::Error, "The turn was interrupted")], canvas);
        }
        self.turn.clock.stop(now);
        (self.live.retry, self.live.heading) = (None, None);
        self.live.clear_thought();
        self.live.is_changed = true;
    }

    fn roll_back(&mut self, turns: usize) {
        let messages: Vec<usize> = self.messages().map(|(at, _)| at).collect();
        if let Some(at) = messages.len().checked_sub(turns.max(1)).and_then(|at| messages.get(at)).or(messages.first())
        {
            self.cells.truncate(*at);
        }
        self.live.is_changed = true;
    }

    fn worked(&self, now: Duration) -> WorkedCell {
        WorkedCell { duration: self.turn.clock.elapsed(now) }
    }
}

#[cfg(test)]
mod tests;
