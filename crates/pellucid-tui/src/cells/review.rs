//! A review: what is reviewed, and the findings with place and body.

use pellucid_protocol::review::ReviewOutput;
use pellucid_protocol::review::ReviewTarget;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;
use super::heading;
use super::texts;
use crate::text::clean;
use crate::text::markdown;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap;

/// The beginning or the end of a review.
#[derive(Debug, Clone, PartialEq)]
pub enum ReviewCell {
    /// A review began; the text says what is reviewed.
    Began(String),
    /// A review ended; `None` if it was interrupted.
    Ended(Option<ReviewOutput>),
}

impl ReviewCell {
    /// The beginning of a review.
    pub fn began(target: &ReviewTarget, hint: Option<&str>) -> Self {
        let what = match target {
            ReviewTarget::UncommittedChanges => "uncommitted changes".to_owned(),
            ReviewTarget::BaseBranch { branch } => format!("the changes since {branch}"),
            ReviewTarget::Commit { sha, title } => {
                let short = &sha[..sha.floor_char_boundary(7)];
                title.as_ref().map_or_else(|| format!("commit {short}"), |title| format!("commit {short}: {title}"))
            }
            ReviewTarget::Custom { instructions } => instructions.lines().next().unwrap_or_default().to_owned(),
        };
        Self::Began(hint.filter(|it| !it.trim().is_empty()).map_or(what, str::to_owned))
    }

    /// The review as lines.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        match self {
            Self::Began(what) => {
                heading(palette.mode(), "Reviewing", vec![Span::raw(clean::line(what).into_owned())], canvas)
            }
            Self::Ended(None) => heading(palette.removed(), "The review was interrupted", Vec::new(), canvas),
            Self::Ended(Some(output)) => findings(output, canvas),
        }
    }
}

fn findings(output: &ReviewOutput, canvas: &CellCanvas) -> Vec<Line<'static>> {
    let palette = &canvas.palette;
    let count = match output.findings.len() {
        0 => "no findings".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let mut out = heading(palette.mode(), "Review:", vec![Span::raw(count)], canvas);
    let body = |markdown: &str, blanks: usize| {
        let columns = canvas.columns.saturating_sub(blanks).max(1);
        markdown::lines(markdown.trim(), columns, palette).into_iter().map(move |mut line| {
            if !line.spans.is_empty() {
                line.spans.insert(0, Span::raw(" ".repeat(blanks)));
            }
            line
        })
    };
    for finding in &output.findings {
        out.push(Line::default());
        let title = Span::styled(clean::line(&finding.title).into_owned(), palette.bold());
        let mark = Span::styled("  - ", palette.dim());
        out.extend(wrap(&[title], canvas.columns, &Indent::hanging(mark), Breaking::Words));
        let place = &finding.code_location;
        let (start, end) = (place.line_range.start, place.line_range.end);
        let range = if start == end { start.to_string() } else { format!("{start}-{end}") };
        let place = format!("{}:{range}", place.absolute_file_path);
        out.extend(texts([place.as_str()], palette.dim(), &Indent::blanks(4), canvas));
        out.extend(body(&finding.body, 4));
    }
    if !output.overall_explanation.trim().is_empty() {
        out.push(Line::default());
        out.extend(body(&output.overall_explanation, 2));
    }
    if !output.overall_correctness.trim().is_empty() {
        out.extend(texts([output.overall_correctness.trim()], palette.dim(), &Indent::blanks(2), canvas));
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::review::CodeLocation;
    use pellucid_protocol::review::LineRange;
    use pellucid_protocol::review::ReviewFinding;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    #[track_caller]
    fn check_review(cell: &ReviewCell, expected: &Expect) {
        expected.assert_eq(&shown(&cell.lines(&CANVAS(40))));
    }

    #[test]
    fn findings_have_place_and_body() {
        let finding = ReviewFinding {
            title: "[P1] Wrong sum".to_owned(),
            body: "It subtracts. `a - b` is not what\nwas asked for, which is longer.".to_owned(),
            confidence_score: 0.9,
            priority: 1,
            code_location: CodeLocation {
                absolute_file_path: "/x/a.txt".to_owned(),
                line_range: LineRange { start: 1, end: 2 },
            },
        };
        let output = ReviewOutput {
            findings: vec![finding],
            overall_correctness: "patch is incorrect".to_owned(),
            overall_explanation: "One bug.".to_owned(),
            overall_confidence_score: 0.8,
        };
        check_review(
            &ReviewCell::Ended(Some(output)),
            &expect![[r#"
            • Review: 1 finding|
            |
              - [P1] Wrong sum|
                /x/a.txt:1-2|
                It subtracts. a - b is not what|
                was asked for, which is longer.|
            |
              One bug.|
              patch is incorrect|
        "#]],
        );
        check_review(
            &ReviewCell::Ended(Some(ReviewOutput::default())),
            &expect![[r#"
            • Review: no findings|
        "#]],
        );
        check_review(
            &ReviewCell::Ended(None),
            &expect![[r#"
            • The review was interrupted|
        "#]],
        );
    }

    #[test]
    fn targets() {
        let commit = ReviewTarget::Commit { sha: "0123456789abcdef".to_owned(), title: Some("fix".to_owned()) };
        check_review(
            &ReviewCell::began(&commit, None),
            &expect![[r#"
            • Reviewing commit 0123456: fix|
        "#]],
        );
        check_review(
            &ReviewCell::began(&ReviewTarget::UncommittedChanges, Some("current changes")),
            &expect![[r#"
            • Reviewing current changes|
        "#]],
        );
    }
}
