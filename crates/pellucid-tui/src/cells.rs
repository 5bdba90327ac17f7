//! The transcript as cells: what was said and done, each kind drawn in its file.
//!
//! A cell is a finished value. Its lines go into the terminal's scrollback once; the pager draws the same cell unfolded.
//! [`spoken`] has each cell as plain lines for a screen reader. [`transcript`] makes cells of events, [`stored`] of a session file, and [`fold`] shortens long output.

pub mod agents;
pub mod command;
pub mod decision;
pub mod explored;
pub mod fold;
pub mod notice;
pub mod patch;
pub mod plan;
pub mod reasoning;
pub mod reply;
pub mod review;
pub mod session;
pub mod spoken;
pub mod stored;
pub mod tool;
pub mod transcript;
pub mod user;
pub mod work;

use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use self::command::CommandCell;
use self::decision::DecisionCell;
use self::explored::ExploredCell;
use self::notice::NoticeCell;
use self::patch::PatchCell;
use self::plan::PlanCell;
use self::plan::ProposedPlanCell;
use self::reasoning::ReasoningCell;
use self::reply::ReplyCell;
use self::review::ReviewCell;
use self::session::SessionCell;
use self::tool::ToolCell;
use self::user::UserCell;
use self::work::WorkedCell;
use crate::text::clean;
use crate::text::palette::Palette;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap;

/// Where cells are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellCanvas {
    /// The width of the terminal.
    pub columns: usize,
    /// The styles that the terminal can show.
    pub palette: Palette,
}

/// A finished part of the transcript.
#[expect(missing_docs, reason = "each kind is documented at its type")]
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptCell {
    Session(SessionCell),
    User(UserCell),
    Reply(ReplyCell),
    Reasoning(ReasoningCell),
    Command(CommandCell),
    Explored(ExploredCell),
    Patch(PatchCell),
    Plan(PlanCell),
    ProposedPlan(ProposedPlanCell),
    Tool(ToolCell),
    Decision(DecisionCell),
    Notice(NoticeCell),
    Worked(WorkedCell),
    Review(ReviewCell),
}

impl TranscriptCell {
    /// The lines for the scrollback; long output is folded.
    ///
    /// A line is wider than the canvas only if it has a URL. A line whose style has a ground colour is meant to be filled with
    /// it to the right edge.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        self.draw(canvas, Folding::Folded)
    }

    /// The lines for the pager, with everything that is known.
    pub fn unfolded(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        self.draw(canvas, Folding::Unfolded)
    }

    fn draw(&self, canvas: &CellCanvas, folding: Folding) -> Vec<Line<'static>> {
        match self {
            Self::Session(cell) => cell.lines(canvas),
            Self::User(cell) => cell.lines(canvas),
            Self::Reply(cell) => cell.lines(canvas),
            Self::Reasoning(cell) => cell.lines(canvas),
            Self::Command(cell) => cell.lines(canvas, folding),
            Self::Explored(cell) => cell.lines(canvas),
            Self::Patch(cell) => cell.lines(canvas, folding),
            Self::Plan(cell) => cell.lines(canvas),
            Self::ProposedPlan(cell) => cell.lines(canvas),
            Self::Tool(cell) => cell.lines(canvas, folding),
            Self::Decision(cell) => cell.lines(canvas),
            Self::Notice(cell) => cell.lines(canvas),
            Self::Worked(cell) => cell.lines(canvas),
            Self::Review(cell) => cell.lines(canvas),
        }
    }
}

/// Whether long output is shortened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Folding {
    /// Long output is shortened to its first and last lines.
    #[default]
    Folded,
    /// The same, but more of it is kept: for a client that has no pager for the rest.
    Longer,
    /// All output is shown.
    Unfolded,
}

impl Folding {
    /// How many rows are kept where a folded cell keeps `folded` rows.
    fn rows(self, folded: usize) -> usize {
        match self {
            Self::Folded => folded,
            Self::Longer => folded.max(LONGER_ROWS),
            Self::Unfolded => usize::MAX,
        }
    }
}

/// Rows that are kept of a long output without a pager.
const LONGER_ROWS: usize = 20;

/// The mark at the beginning of most cells.
const BULLET: &str = "• ";

/// What the details under a heading begin with.
fn details() -> Indent {
    Indent { first: vec![Span::raw("  └ ")], rest: vec![Span::raw("    ")] }
}

/// A heading of a cell: a mark, a word with weight, and the rest.
fn heading(mark: Style, word: &str, rest: Vec<Span<'static>>, canvas: &CellCanvas) -> Vec<Line<'static>> {
    let mut spans = vec![Span::styled(word.to_owned(), canvas.palette.bold())];
    if !rest.is_empty() {
        spans.push(Span::raw(" "));
        spans.extend(rest);
    }
    wrap(&spans, canvas.columns, &Indent::hanging(Span::styled(BULLET, mark)), Breaking::Words)
}

/// Texts of one style, each on lines below the other; the first begins as `indent` says.
fn texts<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    style: Style,
    indent: &Indent,
    canvas: &CellCanvas,
) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    for text in texts {
        let rest = Indent { first: indent.rest.clone(), rest: indent.rest.clone() };
        let indent = if out.is_empty() { indent } else { &rest };
        let span = Span::styled(clean::line(text).into_owned(), style);
        out.extend(wrap(&[span], canvas.columns, indent, Breaking::Words));
    }
    out
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    pub(crate) const CANVAS: fn(usize) -> CellCanvas = |columns| CellCanvas { columns, palette: Palette::plain() };

    /// Lines as text, with the end of each visible.
    pub(crate) fn shown(lines: &[Line<'static>]) -> String {
        lines.iter().map(|line| format!("{line}|\n")).collect()
    }
}
