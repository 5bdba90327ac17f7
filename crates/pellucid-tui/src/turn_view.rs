//! One turn that a person watches without a composer, as `exec` shows it at a terminal.
//!
//! Everything is pure: events and times go in, final lines and the rows below them come out. The cells are those of the
//! client, so that both draw a command, a patch or a reply the same way.

use std::time::Duration;

use pellucid_protocol::event::AgentContent;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::TurnItem;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::mcp::McpStartupStatus;
use pellucid_protocol::usage::TokenUsage;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use crate::app::farewell::grouped;
use crate::app::status::short;
use crate::cells::CellCanvas;
use crate::cells::TranscriptCell;
use crate::cells::command::script;
use crate::cells::notice::NoticeCell;
use crate::cells::notice::NoticeKind;
use crate::cells::reply::ReplyCell;
use crate::cells::transcript::Transcript;
use crate::cells::transcript::TranscriptChange;
use crate::cells::transcript::TranscriptOptions;
use crate::cells::user::UserCell;
use crate::cells::work::elapsed;
use crate::screen::ScreenSize;
use crate::text::clean;
use crate::text::palette::Palette;
use crate::text::width;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap;

/// Lines and bytes of the prompt that are shown. The person who sent it has the rest.
const PROMPT_LINES: usize = 20;
const PROMPT_BYTES: usize = 8 * 1024;

/// The columns that are kept for what runs before the hint and the tokens are left out.
const WORD_COLUMNS: usize = 12;

/// A turn, as far as it has come.
#[derive(Debug)]
pub struct TurnView {
    transcript: Transcript,
    canvas: CellCanvas,
    /// Final lines that were not taken yet.
    history: Vec<Line<'static>>,
    usage: Option<TokenUsage>,
    heading: Option<String>,
    /// The calls that run, oldest first: the id and what it does.
    running: Vec<(String, String)>,
    /// The MCP servers that are being started.
    starting: Vec<String>,
    is_working: bool,
}

impl TurnView {
    /// A turn that has not begun.
    pub fn new(options: TranscriptOptions, palette: Palette, size: ScreenSize) -> Self {
        Self {
            transcript: Transcript::new(options).without_pager(),
            canvas: CellCanvas { columns: usize::from(size.columns), palette },
            history: Vec::new(),
            usage: None,
            heading: None,
            running: Vec::new(),
            starting: Vec::new(),
            is_working: false,
        }
    }

    /// Lines are drawn for another width from now on.
    pub fn resize(&mut self, size: ScreenSize) {
        self.canvas.columns = usize::from(size.columns.max(1));
    }

    /// Shows the settings of the session, a paragraph for each text. The first word has weight.
    pub fn head(&mut self, texts: &[String]) {
        let palette = self.canvas.palette;
        for (n, text) in texts.iter().enumerate() {
            let text = clean::line(text).into_owned();
            let (name, rest) = if n == 0 { text.split_at(text.find(' ').unwrap_or(text.len())) } else { ("", &*text) };
            let spans = [Span::styled(name.to_owned(), palette.bold()), Span::styled(rest.to_owned(), palette.dim())];
            self.history.extend(wrap(&spans, self.canvas.columns, &Indent::blanks(0), Breaking::Words));
        }
    }

    /// Takes an event of the session.
    pub fn event(&mut self, event: &EventMessage, now: Duration) {
        self.note(event);
        match event {
            EventMessage::SessionConfigured(_) => {
                // The box of the client names keys that are not there; `head` shows the settings instead.
                let _ = self.transcript.apply(event, now, &self.canvas);
            }
            EventMessage::ItemCompleted { item: TurnItem::UserMessage { content, .. }, .. } => {
                let cell = UserCell::of(content);
                let cell = UserCell::new(&prompt_beginning(cell.text()), cell.images());
                self.show(TranscriptCell::User(cell));
            }
            EventMessage::BackgroundEvent { message } => self.notice(NoticeKind::Info, message),
            _ => {
                let changes = self.transcript.apply(event, now, &self.canvas);
                self.take(changes);
            }
        }
    }

    /// Takes an event of an agent that the session started. Of an agent, finished calls, messages and failures are shown: its
    /// pieces of text would come between those of the session.
    pub fn agent_event(&mut self, event: &EventMessage, now: Duration) {
        match event {
            EventMessage::ItemCompleted { item: TurnItem::AgentMessage { content, .. }, .. } => {
                let markdown = content.iter().map(|AgentContent::Text { text }| text.as_str()).collect();
                self.show(TranscriptCell::Reply(ReplyCell { markdown }));
            }
            EventMessage::ExecCommandBegin(_)
            | EventMessage::ExecCommandOutputDelta { .. }
            | EventMessage::ExecCommandEnd(_)
            | EventMessage::PatchApplyBegin(_)
            | EventMessage::PatchApplyEnd(_)
            | EventMessage::McpToolCallBegin(_)
            | EventMessage::McpToolCallEnd(_)
            | EventMessage::ViewImageToolCall { .. }
            | EventMessage::ToolCallFailed { .. }
            | EventMessage::Warning { .. } => {
                self.note(event);
                let changes = self.transcript.apply(event, now, &self.canvas);
                self.take(changes);
            }
            EventMessage::Error { .. } => NoticeCell::of(event).into_iter().for_each(|notice| {
                self.show(TranscriptCell::Notice(notice));
            }),
            _ => {}
        }
    }

    /// Shows a note of the program.
    pub fn notice(&mut self, kind: NoticeKind, text: &str) {
        self.show(TranscriptCell::Notice(NoticeCell::new(kind, text)));
    }

    /// The final lines since the last call.
    pub fn take_history(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.history)
    }

    /// The rows below the final lines: what is not finished, and what is being done. `now` is the time since the start.
    pub fn rows(&self, now: Duration) -> Vec<Line<'static>> {
        let mut rows = self.transcript.live(now, &self.canvas);
        if let Some(word) = self.status_word() {
            rows.push(Line::default());
            rows.push(self.status_row(&word, now));
        }
        rows
    }

    /// When the rows change if nothing happens, as the time since the start.
    pub fn next_tick(&self, now: Duration) -> Option<Duration> {
        self.status_word().map(|_| Duration::from_secs(now.as_secs() + 1))
    }

    /// Whether a reply or a review with this text was shown.
    pub fn has_shown(&self, text: &str) -> bool {
        self.transcript.cells().iter().rev().any(|cell| match cell {
            TranscriptCell::Reply(cell) => cell.markdown.trim() == text.trim(),
            TranscriptCell::Review(_) => true,
            _ => false,
        })
    }

    /// Shows what the turn took, after its end.
    pub fn end(&mut self, now: Duration) {
        if let Some(usage) = self.usage {
            let text = format!("{} tokens in {}", grouped(usage.blended_total()), elapsed(now));
            self.history.push(Line::default());
            self.history.push(Line::from(Span::styled(text, self.canvas.palette.dim())));
        }
    }

    fn show(&mut self, cell: TranscriptCell) {
        let changes = self.transcript.show(cell, &self.canvas);
        self.take(changes);
    }

    fn take(&mut self, changes: Vec<TranscriptChange>) {
        for change in changes {
            match change {
                TranscriptChange::History(lines) => self.history.extend(lines),
                TranscriptChange::Heading(heading) => self.heading = Some(heading),
                TranscriptChange::Live | TranscriptChange::RolledBack => {}
            }
        }
    }

    /// Notes what the status row says.
    fn note(&mut self, event: &EventMessage) {
        match event {
            EventMessage::TaskStarted { .. } => self.is_working = true,
            EventMessage::TaskComplete { .. } | EventMessage::TurnAborted { .. } => {
                self.is_working = false;
                self.running.clear();
            }
            EventMessage::TokenCount { info: Some(info), .. } => self.usage = Some(info.total_token_usage),
            EventMessage::ExecCommandBegin(begin) if begin.source != ExecSource::UnifiedExecInteraction => {
                let script = script(&begin.command);
                self.running.push((begin.call_id.clone(), format!("Running {}", script.lines().next().unwrap_or(""))));
            }
            EventMessage::ExecCommandEnd(end) => self.running.retain(|(id, _)| *id != end.begin.call_id),
            EventMessage::McpToolCallBegin(begin) => {
                let called = format!("Calling {}.{}", begin.invocation.server, begin.invocation.tool);
                self.running.push((begin.call_id.clone(), called));
            }
            EventMessage::McpToolCallEnd(end) => self.running.retain(|(id, _)| *id != end.call_id),
            EventMessage::McpStartupUpdate { server, status } => {
                self.starting.retain(|it| it != server);
                if matches!(status, McpStartupStatus::Starting) {
                    self.starting.push(server.clone());
                }
            }
            EventMessage::McpStartupComplete { .. } => self.starting.clear(),
            _ => {}
        }
    }

    /// What is being done; absent if nothing is.
    fn status_word(&self) -> Option<String> {
        let running = self.running.last().map(|(_, word)| word.clone());
        let starting =
            (!self.starting.is_empty()).then(|| format!("Starting MCP servers: {}", self.starting.join(", ")));
        let working = || self.heading.clone().unwrap_or_else(|| "Working".to_owned());
        running.or(starting).or_else(|| self.is_working.then(working))
    }

    /// What is being done, for how long and with how many tokens. On a narrow terminal the hint and the tokens are left out.
    fn status_row(&self, word: &str, now: Duration) -> Line<'static> {
        let palette = &self.canvas.palette;
        let time = elapsed(now);
        let tokens = self.usage.map(|usage| format!(" • {} tokens", short(usage.blended_total()))).unwrap_or_default();
        let forms =
            [format!(" ({time}{tokens} • ctrl-c to interrupt)"), format!(" ({time}{tokens})"), format!(" ({time})")];
        let word = clean::line(word);
        // A column for the cursor and two for the mark.
        let room = |form: &String| self.canvas.columns.saturating_sub(3 + width::columns(form));
        let wanted = width::columns_at_most(&word).min(WORD_COLUMNS);
        let form = forms.iter().find(|form| room(form) >= wanted).unwrap_or(&forms[2]);
        Line::from(vec![
            Span::styled("• ", palette.dim()),
            Span::styled(width::shortened(&word, room(form)), palette.bold()),
            Span::styled(form.clone(), palette.dim()),
        ])
    }
}

/// The beginning of a prompt, with how many lines are missing.
fn prompt_beginning(text: &str) -> String {
    let end = text.floor_char_boundary(PROMPT_BYTES);
    let shown: Vec<&str> = text[..end].lines().take(PROMPT_LINES).collect();
    let missing = text.lines().count() - shown.len();
    let shown = shown.join("\n");
    match missing {
        0 if end == text.len() => shown,
        0 => format!("{shown}… +{} bytes", text.len() - end),
        _ => format!("{shown}\n… +{missing} lines"),
    }
}

#[cfg(test)]
mod tests;
