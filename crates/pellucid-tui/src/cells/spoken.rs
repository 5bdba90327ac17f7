//! Cells for a screen reader: plain lines, with words in place of marks and colours.
//!
//! Lines are not wrapped and not drawn side by side: a screen reader reads them one after the other.

use pellucid_protocol::event::StepStatus;
use ratatui_core::text::Line;

use super::CellCanvas;
use super::Folding;
use super::TranscriptCell;
use super::command::CommandCell;
use super::command::CommandState;
use super::notice::NoticeKind;
use super::plan::PlanCell;
use super::work::elapsed;
use crate::text::clean;
use crate::text::palette::Palette;

/// Cells that are drawn for the eye are drawn this wide, so that their lines do not break.
const COLUMNS: usize = 400;

/// The canvas of lines that are only read.
fn canvas() -> CellCanvas {
    CellCanvas { columns: COLUMNS, palette: Palette::plain() }
}

impl TranscriptCell {
    /// The cell as lines for a screen reader. The first one begins with what the cell is.
    pub fn spoken(&self) -> Vec<String> {
        match self {
            Self::Session(cell) => vec![cell.spoken()],
            Self::User(cell) => {
                let images = match cell.images() {
                    0 => "You: ".to_owned(),
                    1 => "You, with 1 image: ".to_owned(),
                    n => format!("You, with {n} images: "),
                };
                said(&images, cell.text())
            }
            Self::Reply(cell) => said("Answer: ", &cell.markdown),
            Self::ProposedPlan(cell) => said("Proposed plan: ", &cell.markdown),
            Self::Reasoning(cell) => behind("Thinking: ", &cell.lines(&canvas())),
            Self::Command(cell) => command(cell),
            Self::Explored(cell) => behind("Looked: ", &cell.lines(&canvas())),
            Self::Patch(cell) => {
                let lines = cell.lines(&canvas(), Folding::Folded);
                lines.iter().map(|line| changed(&without_mark(&line.to_string()))).collect()
            }
            Self::Plan(cell) => plan(cell),
            Self::Tool(cell) => behind("Tool: ", &cell.lines(&canvas(), Folding::Folded)),
            Self::Decision(cell) => behind("", &cell.lines(&canvas())),
            Self::Notice(cell) => {
                let word = match cell.kind {
                    NoticeKind::Error => "Error: ",
                    NoticeKind::Warning => "Warning: ",
                    NoticeKind::Info => "Note: ",
                };
                behind(word, &cell.lines(&canvas()))
            }
            Self::Worked(cell) => cell.spoken().into_iter().collect(),
            Self::Review(cell) => behind("Review: ", &cell.lines(&canvas())),
        }
    }
}

/// A text behind a word, each of its lines cleaned of what a terminal would carry out.
fn said(word: &str, text: &str) -> Vec<String> {
    let mut lines: Vec<String> = clean::lines(text).map(|line| line.trim_end().to_owned()).collect();
    match lines.first_mut() {
        Some(first) => first.insert_str(0, word),
        None => lines.push(word.trim_end().to_owned()),
    }
    lines
}

/// Drawn lines behind a word, without their marks.
fn behind(word: &str, lines: &[Line<'static>]) -> Vec<String> {
    let lines: Vec<String> = lines.iter().map(|line| without_mark(&line.to_string())).collect();
    said(word, lines.join("\n").trim())
}

/// A drawn line without the mark at its beginning.
pub(crate) fn without_mark(line: &str) -> String {
    let text = line.trim_start();
    let marks = ["• ", "› ", "└ ", "✔ ", "✗ ", "■ ", "⚠ ", "□ ", "↳ ", "│ "];
    let text = marks.iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    clean::line(text.trim_end()).into_owned()
}

fn command(cell: &CommandCell) -> Vec<String> {
    let word = if cell.is_users() { "Your command: " } else { "Command: " };
    let mut lines = said(word, cell.script());
    lines.push(match cell.state() {
        CommandState::Asked => "It waits for your answer.".to_owned(),
        CommandState::Running => "It is running.".to_owned(),
        CommandState::Background => "It continues in the background.".to_owned(),
        CommandState::Ended { code: 0, duration } => format!("It succeeded after {}.", elapsed(duration)),
        CommandState::Ended { code, duration } => format!("It failed with code {code} after {}.", elapsed(duration)),
        CommandState::Declined => "It was not run.".to_owned(),
        CommandState::Interrupted => "It was interrupted.".to_owned(),
    });
    let output = cell.output_lines(&canvas());
    if !output.is_empty() {
        lines.extend(behind("Output: ", &output));
    }
    lines
}

fn plan(cell: &PlanCell) -> Vec<String> {
    let mut lines = said("Plan: ", cell.plan.explanation.as_deref().unwrap_or_default().trim());
    for step in &cell.plan.plan {
        let word = match step.status {
            StepStatus::Completed => "Done: ",
            StepStatus::InProgress => "In progress: ",
            StepStatus::Pending => "To do: ",
        };
        lines.extend(said(word, &step.step));
    }
    lines
}

/// A line of a diff with words for its signs; other lines as they are.
fn changed(line: &str) -> String {
    let digits = line.len() - line.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    let (number, rest) = line.split_at(digits);
    let mut chars = rest.chars();
    if number.is_empty() || chars.next() != Some(' ') {
        return line.to_owned();
    }
    match chars.next() {
        Some('-') => format!("Line {number} removed: {}", chars.as_str()),
        Some('+') => format!("Line {number} added: {}", chars.as_str()),
        _ => format!("Line {number}: {}", rest.trim_start()),
    }
}
