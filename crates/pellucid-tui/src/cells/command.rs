//! A command that ran, or is running: what it was, how it ended, what it wrote.

use std::time::Duration;

use pellucid_engine::command_line;
use pellucid_protocol::exec::ExecCommandBegin;
use pellucid_protocol::exec::ExecCommandEnd;
use pellucid_protocol::exec::ExecSource;
use pellucid_protocol::exec::ExecStatus;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::BULLET;
use super::CellCanvas;
use super::Folding;
use super::details;
use super::fold::FoldedOutput;
use super::texts;
use super::work::elapsed;
use crate::text::clean;
use crate::text::code::Highlighter;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap;

/// Rows of output that are shown: of the model's commands, of the user's, and of a command that runs.
const ROWS: usize = 5;
const USER_ROWS: usize = 50;
const RUNNING_ROWS: usize = 3;

/// The same without a pager.
const LONGER_RUNNING_ROWS: usize = 8;

/// Lines of the command itself that are shown when it is folded.
const SCRIPT_ROWS: usize = 4;

/// A command with its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCell {
    script: String,
    is_users: bool,
    end: CommandState,
    output: FoldedOutput,
}

/// The state of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandState {
    /// The command waits for the person's answer.
    Asked,
    /// The command is running.
    Running,
    /// The command continues after the turn.
    Background,
    /// The command ended with an exit code.
    Ended {
        /// The exit code; 0 is success.
        code: i32,
        /// How long the command ran.
        duration: Duration,
    },
    /// The command was not run.
    Declined,
    /// The command was ended with the turn.
    Interrupted,
}

impl CommandCell {
    /// A command that begins.
    pub fn begin(begin: &ExecCommandBegin) -> Self {
        Self {
            script: script(&begin.command),
            is_users: begin.source == ExecSource::UserShell,
            end: CommandState::Running,
            output: FoldedOutput::default(),
        }
    }

    /// A command that has ended.
    pub fn ended(end: &ExecCommandEnd) -> Self {
        let state = match end.status {
            ExecStatus::Declined => CommandState::Declined,
            _ => CommandState::Ended { code: end.exit_code, duration: end.duration },
        };
        let output = if end.aggregated_output.is_empty() { &end.formatted_output } else { &end.aggregated_output };
        Self { end: state, output: FoldedOutput::new(output), ..Self::begin(&end.begin) }
    }

    /// A command of a session file, of which only the call and its output are known.
    pub fn stored(command: &[String], code: i32, duration: Duration, output: &str) -> Self {
        let (script, output) = (script(command), FoldedOutput::new(output));
        Self { script, is_users: false, end: CommandState::Ended { code, duration }, output }
    }

    /// The same command in another state, as it is when its turn ends.
    #[must_use]
    pub fn left(self, end: CommandState) -> Self {
        Self { end, ..self }
    }

    /// The command begins to wait for the person's answer, or has it.
    pub fn wait(&mut self, is_asked: bool) {
        self.end = match self.end {
            CommandState::Running if is_asked => CommandState::Asked,
            CommandState::Asked if !is_asked => CommandState::Running,
            end => end,
        };
    }

    /// The command as it was given to the shell.
    pub fn script(&self) -> &str {
        &self.script
    }

    /// What the command wrote.
    pub fn output(&self) -> &str {
        self.output.text()
    }

    /// Whether a person ran the command.
    pub fn is_users(&self) -> bool {
        self.is_users
    }

    /// The state of the command.
    pub fn state(&self) -> CommandState {
        self.end
    }

    /// The folded output without the command; empty if nothing was written.
    pub fn output_lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let rows = if self.is_users { USER_ROWS } else { ROWS };
        if self.output.is_empty() { Vec::new() } else { self.output.lines(canvas, rows, Folding::Folded) }
    }

    /// Adds output of a running command.
    pub fn push_output(&mut self, text: &str) {
        self.output.push_newest(text);
    }

    /// The command and its output.
    pub fn lines(&self, canvas: &CellCanvas, folding: Folding) -> Vec<Line<'static>> {
        let mut out = self.head(canvas, folding);
        match self.end {
            CommandState::Running | CommandState::Asked => {
                let rows = if folding == Folding::Longer { LONGER_RUNNING_ROWS } else { RUNNING_ROWS };
                out.extend(self.output.newest(rows, canvas));
            }
            _ if self.output.is_empty() => {
                let is_over = matches!(self.end, CommandState::Ended { .. });
                out.extend(
                    is_over
                        .then(|| texts(["(no output)"], canvas.palette.dim(), &details(), canvas))
                        .into_iter()
                        .flatten(),
                );
            }
            _ => {
                let rows = folding.rows(if self.is_users { USER_ROWS } else { ROWS });
                out.extend(self.output.lines(canvas, rows, folding));
            }
        }
        out
    }

    fn head(&self, canvas: &CellCanvas, folding: Folding) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        let (mark, word) = match (self.end, self.is_users) {
            (CommandState::Asked, _) => (palette.dim(), "Asks to run"),
            (CommandState::Running, false) => (palette.dim(), "Running"),
            (CommandState::Running, true) => (palette.dim(), "You run"),
            (CommandState::Background, _) => (palette.dim(), "Running in the background"),
            (CommandState::Declined, _) => (palette.removed(), "Did not run"),
            (CommandState::Interrupted, _) => (palette.removed(), "Interrupted"),
            (CommandState::Ended { code: 0, .. }, _) => (palette.added(), self.ran()),
            (CommandState::Ended { .. }, _) => (palette.removed(), self.ran()),
        };
        let script: Vec<&str> = self.script.trim_end().lines().collect();
        let rows = folding.rows(SCRIPT_ROWS);
        let shown = if script.len() > rows { rows - 1 } else { script.len() };
        let mut out = Vec::new();
        let mut highlighter = Highlighter::of_commands();
        for (number, line) in script.iter().take(shown.max(1)).enumerate() {
            let line = clean::line(line);
            let text = match &mut highlighter {
                Some(highlighter) => highlighter.line(&line, palette),
                None => vec![Span::raw(line.into_owned())],
            };
            let (spans, indent) = if number == 0 {
                let spans = [vec![Span::styled(word, palette.bold()), Span::raw(" ")], text].concat();
                (spans, Indent { first: vec![Span::styled(BULLET, mark)], rest: continued(palette.dim()) })
            } else {
                (text, Indent { first: continued(palette.dim()), rest: continued(palette.dim()) })
            };
            out.extend(wrap(&spans, canvas.columns, &indent, Breaking::Words));
        }
        let missing = script.len().saturating_sub(shown);
        let mut notes = Vec::new();
        notes.extend((missing > 0).then(|| format!("… +{missing} lines")));
        notes.extend(self.ending());
        if let (false, Some(last)) = (notes.is_empty(), out.last_mut()) {
            let note = format!(" ({})", notes.join(", "));
            if last.width() + note.len() <= canvas.columns {
                last.push_span(Span::styled(note, palette.dim()));
            } else {
                let indent = Indent { first: continued(palette.dim()), rest: continued(palette.dim()) };
                let note = Span::styled(note.trim_start().to_owned(), palette.dim());
                out.extend(wrap(&[note], canvas.columns, &indent, Breaking::Words));
            }
        }
        out
    }

    fn ran(&self) -> &'static str {
        if self.is_users { "You ran" } else { "Ran" }
    }

    /// How the command ended, if that is worth words.
    fn ending(&self) -> Option<String> {
        let CommandState::Ended { code, duration } = self.end else {
            return None;
        };
        let mut words = Vec::new();
        words.extend((code != 0).then(|| format!("exit code {code}")));
        words.extend((duration >= Duration::from_secs(10)).then(|| elapsed(duration)));
        (!words.is_empty()).then(|| words.join(", "))
    }
}

fn continued(style: Style) -> Vec<Span<'static>> {
    vec![Span::styled("  │ ", style)]
}

/// What a person would have typed: the script, if the command is a shell with a script.
pub fn script(command: &[String]) -> String {
    match command {
        [shell, flag, script] if matches!(flag.as_str(), "-c" | "-lc") && is_shell(shell) => script.trim().to_owned(),
        _ => command_line::joined(command),
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "sh" | "bash" | "zsh" | "dash" | "fish" | "ksh")
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    fn command(script: &str, code: i32, seconds: u64, output: &str) -> CommandCell {
        let command = ["/bin/bash", "-lc", script].map(str::to_owned);
        CommandCell::stored(&command, code, Duration::from_secs(seconds), output)
    }

    #[track_caller]
    fn check_command(cell: &CommandCell, expected: &Expect) {
        let mut text = shown(&cell.lines(&CANVAS(40), Folding::Folded));
        text += "unfolded:\n";
        text += &shown(&cell.lines(&CANVAS(40), Folding::Unfolded));
        expected.assert_eq(&text);
    }

    #[test]
    fn a_command_shows_its_result_and_the_ends_of_its_output() {
        check_command(
            &command("echo oops >&2; exit 7", 7, 0, "oops\n"),
            &expect![[r#"
            • Ran echo oops >&2; exit 7|
              │ (exit code 7)|
              └ oops|
            unfolded:
            • Ran echo oops >&2; exit 7|
              │ (exit code 7)|
              └ oops|
        "#]],
        );
        check_command(
            &command("true", 0, 75, ""),
            &expect![[r#"
            • Ran true (1m 15s)|
              └ (no output)|
            unfolded:
            • Ran true (1m 15s)|
              └ (no output)|
        "#]],
        );
        check_command(
            &command("seq 7", 0, 0, "1\n2\n3\n4\n5\n6\n7\n"),
            &expect![[r#"
            • Ran seq 7|
              └ 1|
                2|
                … +3 lines|
                6|
                7|
            unfolded:
            • Ran seq 7|
              └ 1|
                2|
                3|
                4|
                5|
                6|
                7|
        "#]],
        );
    }

    #[test]
    fn scripts_of_many_lines_are_folded() {
        check_command(
            &command("a\nb\nc\nd\ne is a line that is longer than the terminal\n", 1, 0, "\u{1b}[31mx"),
            &expect![[r#"
            • Ran a|
              │ b|
              │ c (… +2 lines, exit code 1)|
              └ x|
            unfolded:
            • Ran a|
              │ b|
              │ c|
              │ d|
              │ e is a line that is longer than the|
              │ terminal (exit code 1)|
              └ x|
        "#]],
        );
    }

    #[test]
    fn other_states() {
        check_command(
            &command("sleep 300", 0, 0, "").left(CommandState::Background),
            &expect![[r#"
            • Running in the background sleep 300|
            unfolded:
            • Running in the background sleep 300|
        "#]],
        );
        let mut running = command("make", 0, 0, "").left(CommandState::Running);
        running.push_output("one\ntwo\nthr");
        running.push_output("ee\nfour\n");
        check_command(
            &running,
            &expect![[r#"
            • Running make|
              └ two|
                three|
                four|
            unfolded:
            • Running make|
              └ two|
                three|
                four|
        "#]],
        );
        let declined = CommandCell { is_users: true, ..command("rm x", 0, 0, "") };
        check_command(
            &declined.left(CommandState::Declined),
            &expect![[r#"
            • Did not run rm x|
            unfolded:
            • Did not run rm x|
        "#]],
        );
    }

    #[test]
    fn a_command_that_is_no_script_is_quoted() {
        assert_eq!(script(&["git", "commit", "-m", "a b"].map(str::to_owned)), "git commit -m 'a b'");
        assert_eq!(script(&["python", "-c", "x"].map(str::to_owned)), "python -c x");
    }
}
