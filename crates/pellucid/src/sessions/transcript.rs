//! Draws the transcript of a session: per turn the user's words, commands with their outcome, patches, answers, and what
//! each request cost.

use pellucid_answers::transcript::CallOutput;
use pellucid_answers::transcript::CallTime;
use pellucid_answers::transcript::TranscriptEntry;
use pellucid_answers::transcript::TranscriptRequest;

use crate::fit;
use crate::replay::verdict_text;
use crate::style::Paint;
use crate::style::counted;
use crate::style::thousands;

/// How many lines of a thought are shown.
const THOUGHT_LINES: usize = 5;

/// How many bytes are drawn before they are written.
const PIECE_BYTES: usize = 64 << 10;

/// Draws the entries of a transcript one after the other.
pub struct Drawing {
    columns: usize,
    paint: Paint,
    text: String,
}

impl Drawing {
    /// Draws the whole transcript behind a head, and gives it away in pieces. Each entry is dropped when it is drawn, so that
    /// a long session is not held twice.
    ///
    /// # Errors
    /// As `write` says.
    pub fn write<E>(
        head: String,
        entries: Vec<TranscriptEntry>,
        (columns, paint): (usize, Paint),
        write: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut drawing = Self { columns, paint, text: head };
        for entry in entries {
            drawing.add(&entry);
            if drawing.text.len() >= PIECE_BYTES {
                write(&drawing.text)?;
                drawing.text.clear();
            }
        }
        write(&drawing.text)
    }

    fn add(&mut self, entry: &TranscriptEntry) {
        match entry {
            TranscriptEntry::User { text } => self.said("user", text),
            TranscriptEntry::Agent { text, is_interrupted: false } => self.said("agent", text),
            TranscriptEntry::Agent { text, is_interrupted: true } => self.said("agent, interrupted", text),
            TranscriptEntry::Reasoning { text } => {
                self.text.push('\n');
                self.lines(text, THOUGHT_LINES, Paint::dim);
            }
            TranscriptEntry::Command { command } => self.command(command),
            TranscriptEntry::Patch { patch } => self.patch(patch),
            TranscriptEntry::Call { tool, arguments } => {
                let line = fit::end(&format!("{tool} {arguments}"), self.columns);
                self.text += &format!("\n{}\n", self.paint.bold(&line));
            }
            TranscriptEntry::Output(output) => self.output(output),
            TranscriptEntry::Request(request) => self.request(request),
            TranscriptEntry::Summarised => self.heading("summarised"),
            TranscriptEntry::TakenBack { n_turns } => {
                self.heading(&format!("{} taken back", counted(*n_turns, "turn")));
            }
            TranscriptEntry::Interrupted => {
                self.text += &format!("{}\n", self.paint.yellow("the turn was interrupted"));
            }
            TranscriptEntry::Error { message } => {
                let line = fit::end(&format!("error: {message}"), self.columns);
                self.text += &format!("\n{}\n", self.paint.red(&line));
            }
        }
    }

    fn heading(&mut self, what: &str) {
        self.text += &format!("\n{}\n", self.paint.bold(&format!("── {what} ──")));
    }

    fn said(&mut self, who: &str, text: &str) {
        self.heading(who);
        self.text += &format!("{text}\n");
    }

    fn command(&mut self, command: &str) {
        let mut lines = command.trim_end().lines();
        let first = lines.next().unwrap_or_default();
        self.text += &format!("\n{}\n", self.paint.bold(&format!("$ {first}")));
        for line in lines {
            self.text += &format!("  {}\n", self.paint.bold(line));
        }
    }

    /// A patch with the lines that it adds and removes in colours.
    fn patch(&mut self, patch: &str) {
        self.text += &format!("\n{}\n", self.paint.bold("apply_patch"));
        for line in patch.lines() {
            let painted = match line.as_bytes().first() {
                Some(b'+') => self.paint.green(line),
                Some(b'-') => self.paint.red(line),
                Some(b'*') => self.paint.bold(line),
                Some(b'@') => self.paint.dim(line),
                _ => line.to_owned(),
            };
            if !matches!(line, "*** Begin Patch" | "*** End Patch") {
                self.text += &format!("  {painted}\n");
            }
        }
    }

    /// How a call ended, how long it took, and the first lines of what came out.
    fn output(&mut self, output: &CallOutput) {
        let mut facts: Vec<String> = output.exit_code.map(|code| format!("exit {code}")).into_iter().collect();
        facts.extend(output.time.as_ref().map(|time| match time {
            CallTime::Milliseconds(milliseconds) => duration(*milliseconds),
            CallTime::Written(time) => time.clone(),
        }));
        facts.extend(output.is_denied.then(|| "stopped by the sandbox".to_owned()));
        if !facts.is_empty() {
            let line = facts.join(", ");
            let is_failure = output.exit_code.is_some_and(|code| code != 0);
            let painted = if is_failure { self.paint.red(&line) } else { self.paint.dim(&line) };
            self.text += &format!("  {painted}\n");
        }
        self.lines(&output.body, usize::MAX - 1, |_, line| line.to_owned());
        self.more_lines(output.n_more_lines);
    }

    /// The first lines of a text, indented, each on one line of the terminal.
    fn lines(&mut self, text: &str, max: usize, paint: impl Fn(Paint, &str) -> String) {
        let lines: Vec<&str> = text.trim_end().lines().collect();
        // One line more takes no more space than the line that would count it.
        let n_shown = if lines.len() <= max + 1 { lines.len() } else { max };
        for line in &lines[..n_shown] {
            let line = paint(self.paint, &fit::end(line, self.columns.saturating_sub(2)));
            self.text += format!("  {line}").trim_end();
            self.text.push('\n');
        }
        self.more_lines(lines.len() - n_shown);
    }

    /// How many lines are not shown.
    fn more_lines(&mut self, n: usize) {
        if n > 0 {
            self.text += &format!("  {}\n", self.paint.dim(&format!("… {}", counted(n, "more line"))));
        }
    }

    fn request(&mut self, request: &TranscriptRequest) {
        let number = request.number.map_or_else(String::new, |number| format!(" #{number}"));
        let [sent, cached, answered] = [request.sent, request.cached, request.answered].map(thousands);
        let verdict = request.verdict.as_ref().map(|verdict| format!("; cache {}", verdict_text(verdict)));
        let spent = format!("{sent} tokens sent, {cached} of them cached, {answered} answered");
        let line = format!("request{number}: {spent}{}", verdict.unwrap_or_default());
        self.text += &format!("\n{}\n", self.paint.dim(&line));
    }
}

fn duration(milliseconds: u64) -> String {
    match milliseconds {
        ..1_000 => format!("{milliseconds} ms"),
        _ => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
    }
}
