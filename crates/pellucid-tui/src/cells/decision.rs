//! What the user approved or refused, and for how long.

use pellucid_protocol::approval::ReviewDecision;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;
use super::command::script;
use crate::text::clean;
use crate::text::width;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap;

/// A longer command is shortened, because the command is shown above or below as a whole.
const COMMAND_MAX: usize = 80;

/// What the user was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedAbout {
    /// Whether a command may run.
    Command(Vec<String>),
    /// Whether a patch of these files may be applied.
    Patch(Vec<String>),
    /// Whether a host may be reached.
    Host(String),
    /// Whether an MCP server receives what it asks for.
    Server(String),
}

/// A decision of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionCell {
    /// The thing that was decided about.
    pub about: AskedAbout,
    /// The answer of the user.
    pub decision: ReviewDecision,
}

impl DecisionCell {
    /// The decision in one sentence.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        let is_approved = !matches!(self.decision, ReviewDecision::Denied | ReviewDecision::Abort);
        let (mark, style) = if is_approved { ("✔ ", palette.added()) } else { ("✗ ", palette.removed()) };
        let (before, what, after) = self.sentence();
        let spans = [Span::raw(before), Span::styled(clean::line(&what).into_owned(), palette.dim()), Span::raw(after)];
        wrap(&spans, canvas.columns, &Indent::hanging(Span::styled(mark, style)), Breaking::Words)
    }

    fn sentence(&self) -> (&'static str, String, &'static str) {
        let thing = match &self.about {
            AskedAbout::Command(command) => one_line(&script(command)),
            AskedAbout::Patch(files) => match &files[..] {
                [file] => file.clone(),
                files => format!("{} files", files.len()),
            },
            AskedAbout::Host(host) => host.clone(),
            AskedAbout::Server(server) => server.clone(),
        };
        let is_command = matches!(self.about, AskedAbout::Command(_));
        let yes = match self.about {
            AskedAbout::Command(_) => "You approved running ",
            AskedAbout::Patch(_) => "You approved the change of ",
            AskedAbout::Host(_) => "You approved access to ",
            AskedAbout::Server(_) => "You accepted the request of ",
        };
        match &self.decision {
            ReviewDecision::Approved if is_command => (yes, thing, " this time"),
            ReviewDecision::Approved => (yes, thing, ""),
            ReviewDecision::ApprovedForSession => (yes, thing, " for the rest of this session"),
            ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment } => {
                let prefix = one_line(&script(proposed_execpolicy_amendment));
                ("You allowed all commands that begin with ", prefix, " from now on")
            }
            ReviewDecision::Denied | ReviewDecision::Abort => match self.about {
                AskedAbout::Command(_) => ("You refused running ", thing, ""),
                AskedAbout::Patch(_) => ("You refused the change of ", thing, ""),
                AskedAbout::Host(_) => ("You refused access to ", thing, ""),
                AskedAbout::Server(_) if self.decision == ReviewDecision::Abort => {
                    ("You left the request of ", thing, " without an answer")
                }
                AskedAbout::Server(_) => ("You refused the request of ", thing, ""),
            },
        }
    }
}

fn one_line(script: &str) -> String {
    let mut lines = script.trim().lines();
    let first = lines.next().unwrap_or_default();
    let shown = width::shortened(&clean::line(first), COMMAND_MAX);
    if lines.next().is_some() && !shown.ends_with('…') { format!("{shown} …") } else { shown }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    #[test]
    fn every_answer_to_every_question() {
        let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let about = [
            AskedAbout::Command(words(&["bash", "-lc", "touch made.txt; echo made\nmore"])),
            AskedAbout::Patch(words(&["a.txt"])),
            AskedAbout::Patch(words(&["a.txt", "b.txt"])),
            AskedAbout::Host("a.test".to_owned()),
            AskedAbout::Server("echoer".to_owned()),
        ];
        let decisions = [
            ReviewDecision::Approved,
            ReviewDecision::ApprovedForSession,
            ReviewDecision::Denied,
            ReviewDecision::Abort,
            ReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment: words(&["touch", "a b"]) },
        ];
        let mut text = String::new();
        for (about, decision) in about.iter().flat_map(|about| decisions.iter().map(move |it| (about, it))) {
            let is_prefix = matches!(decision, ReviewDecision::ApprovedExecpolicyAmendment { .. });
            if is_prefix && !matches!(about, AskedAbout::Command(_)) {
                continue;
            }
            let cell = DecisionCell { about: about.clone(), decision: decision.clone() };
            text += &shown(&cell.lines(&CANVAS(90)));
        }
        let expected: Expect = expect![[r#"
            ✔ You approved running touch made.txt; echo made … this time|
            ✔ You approved running touch made.txt; echo made … for the rest of this session|
            ✗ You refused running touch made.txt; echo made …|
            ✗ You refused running touch made.txt; echo made …|
            ✔ You allowed all commands that begin with touch 'a b' from now on|
            ✔ You approved the change of a.txt|
            ✔ You approved the change of a.txt for the rest of this session|
            ✗ You refused the change of a.txt|
            ✗ You refused the change of a.txt|
            ✔ You approved the change of 2 files|
            ✔ You approved the change of 2 files for the rest of this session|
            ✗ You refused the change of 2 files|
            ✗ You refused the change of 2 files|
            ✔ You approved access to a.test|
            ✔ You approved access to a.test for the rest of this session|
            ✗ You refused access to a.test|
            ✗ You refused access to a.test|
            ✔ You accepted the request of echoer|
            ✔ You accepted the request of echoer for the rest of this session|
            ✗ You refused the request of echoer|
            ✗ You left the request of echoer without an answer|
        "#]];
        expected.assert_eq(&text);
    }
}
