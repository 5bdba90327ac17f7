//! A reply or a proposed plan that is arriving.
//!
//! After an interrupted stream the provider sends the reply again from its beginning. As long as the new text repeats the
//! old one nothing is drawn; the lines that are in the scrollback stay there once.

use std::time::Duration;

use ratatui_core::text::Line;

use super::Transcript;
use crate::cells::CellCanvas;
use crate::cells::TranscriptCell;
use crate::cells::notice::NoticeCell;
use crate::cells::notice::NoticeKind;
use crate::cells::plan::ProposedPlanCell;
use crate::cells::reply::ReplyCell;
use crate::cells::reply::ReplyStream;

/// What kind of text is arriving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A message of the model.
    Reply,
    /// A plan that the model proposes.
    Plan,
}

/// A text that is arriving.
#[derive(Debug)]
pub(super) struct OpenedText {
    kind: TextKind,
    stream: ReplyStream,
    /// After an interrupted stream: the text that has come again.
    again: Option<String>,
}

impl OpenedText {
    fn new(kind: TextKind, id: &str, canvas: &CellCanvas) -> Self {
        let stream = match kind {
            TextKind::Reply => ReplyStream::new(id, canvas),
            TextKind::Plan => ReplyStream::plan(id, canvas),
        };
        Self { kind, stream, again: None }
    }

    /// The stream was interrupted; what comes next repeats the text.
    pub(super) fn cut(&mut self) {
        self.again = Some(String::new());
    }

    pub(super) fn is_cut(&self) -> bool {
        self.again.is_some()
    }

    /// Whether lines of the text are in the scrollback.
    pub(super) fn is_begun(&self) -> bool {
        self.stream.is_begun()
    }

    pub(super) fn is_reply(&self) -> bool {
        self.kind == TextKind::Reply
    }

    pub(super) fn tail(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let is_gone = self.is_cut() && !self.is_begun();
        let mut lines = if is_gone { Vec::new() } else { self.stream.tail() };
        if self.kind == TextKind::Plan && !self.is_begun() && !lines.is_empty() {
            lines.splice(0..0, ProposedPlanCell::heading(canvas));
        }
        lines
    }

    pub(super) fn whole(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        self.cell().unfolded(canvas)
    }

    fn cell(&self) -> TranscriptCell {
        let markdown = self.stream.source().to_owned();
        match self.kind {
            TextKind::Reply => TranscriptCell::Reply(ReplyCell { markdown }),
            TextKind::Plan => TranscriptCell::ProposedPlan(ProposedPlanCell { markdown }),
        }
    }
}

/// How a text that has come again relates to the one that was cut.
enum Repetition {
    /// All of it is known.
    Known,
    /// It continues the text with these words.
    Continues(String),
    /// It is another text.
    Differs(String),
}

impl Transcript {
    /// The next piece of a text.
    pub(super) fn text_piece(&mut self, kind: TextKind, id: &str, piece: &str, now: Duration, canvas: &CellCanvas) {
        self.live.is_changed = true;
        self.live.retry = None;
        if self.live.text.as_ref().is_some_and(|text| text.kind != kind || !text.is_cut() && text.stream.id != id) {
            self.close_text(now, canvas);
        }
        let text = self.live.text.get_or_insert_with(|| OpenedText::new(kind, id, canvas));
        let Some(again) = &mut text.again else {
            return self.add(piece, now, canvas);
        };
        again.push_str(piece);
        match repetition(text.stream.source(), again) {
            Repetition::Known => {}
            Repetition::Continues(rest) => {
                text.again = None;
                text.stream.id = id.to_owned();
                self.add(&rest, now, canvas);
            }
            Repetition::Differs(whole) => {
                self.begin_again(kind, id, now, canvas);
                self.add(&whole, now, canvas);
            }
        }
    }

    /// The text is complete. `whole` is all of it.
    pub(super) fn text_ends(&mut self, kind: TextKind, id: &str, whole: &str, now: Duration, canvas: &CellCanvas) {
        let whole = whole.trim_start_matches('\n');
        let arrived =
            self.live.text.as_ref().filter(|text| text.kind == kind).map(|text| text.stream.source().to_owned());
        match arrived {
            None => {
                self.close_text(now, canvas);
                self.text_piece(kind, id, whole, now, canvas);
            }
            Some(arrived) => {
                if let Some(rest) = whole.strip_prefix(arrived.as_str()) {
                    if let Some(text) = &mut self.live.text {
                        text.again = None;
                    }
                    self.add(rest, now, canvas);
                } else if self.live.text.as_ref().is_some_and(|text| text.is_cut() || !text.is_begun()) {
                    self.begin_again(kind, id, now, canvas);
                    self.add(whole, now, canvas);
                }
            }
        }
        self.close_text(now, canvas);
    }

    /// Ends the text that is arriving, then shows what waited for it.
    pub(super) fn close_text(&mut self, now: Duration, canvas: &CellCanvas) {
        if let Some(mut text) = self.live.text.take() {
            self.live.is_changed = true;
            // What came of a reply that is not repeated is dropped, unless a part of it is in the scrollback.
            if !text.is_cut() || text.is_begun() {
                text.stream.set_columns(canvas.columns);
                let is_begun = text.is_begun();
                let lines = text.stream.finish();
                self.text_lines(&text, is_begun, lines, now, canvas);
                if !text.stream.source().trim().is_empty() {
                    self.cells.push(text.cell());
                }
            }
        }
        for cell in std::mem::take(&mut self.live.waiting) {
            self.write(cell, canvas);
        }
    }

    fn add(&mut self, piece: &str, now: Duration, canvas: &CellCanvas) {
        let Some(mut text) = self.live.text.take() else {
            return;
        };
        text.stream.set_columns(canvas.columns);
        let is_begun = text.is_begun();
        let lines = text.stream.push(piece);
        self.text_lines(&text, is_begun, lines, now, canvas);
        self.live.text = Some(text);
    }

    fn text_lines(
        &mut self,
        text: &OpenedText,
        is_begun: bool,
        lines: Vec<Line<'static>>,
        now: Duration,
        canvas: &CellCanvas,
    ) {
        if lines.is_empty() {
            return;
        }
        if !is_begun {
            self.flush_explored(canvas);
            if text.is_reply() && self.turn.has_worked && !self.turn.is_commentary {
                self.turn.has_worked = false;
                let worked = self.worked(now);
                self.emit(TranscriptCell::Worked(worked), canvas);
            }
            self.gap();
            if text.kind == TextKind::Plan {
                self.out.extend(ProposedPlanCell::heading(canvas));
            }
        }
        self.out.extend(lines);
    }

    /// Whether the rule comes before the text that is arriving.
    pub(super) fn is_rule_due(&self, text: &OpenedText) -> bool {
        text.is_reply() && !text.is_begun() && self.turn.has_worked && !self.turn.is_commentary
    }

    /// Another text takes the place of the one that was cut.
    fn begin_again(&mut self, kind: TextKind, id: &str, now: Duration, canvas: &CellCanvas) {
        let was_begun = self.live.text.as_ref().is_some_and(OpenedText::is_begun);
        if was_begun {
            let waiting = std::mem::take(&mut self.live.waiting);
            self.close_text(now, canvas);
            let notice = NoticeCell::new(NoticeKind::Info, "The reply was interrupted; the model begins again");
            self.emit(TranscriptCell::Notice(notice), canvas);
            self.live.waiting = waiting;
        }
        self.live.text = Some(OpenedText::new(kind, id, canvas));
    }
}

fn repetition(before: &str, again: &str) -> Repetition {
    let again = again.trim_start_matches('\n');
    if before.starts_with(again) {
        return Repetition::Known;
    }
    match again.strip_prefix(before) {
        Some(rest) => Repetition::Continues(rest.to_owned()),
        None => Repetition::Differs(again.to_owned()),
    }
}
