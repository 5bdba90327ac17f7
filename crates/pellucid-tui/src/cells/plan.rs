//! Plans: the steps that the model keeps, and a plan that it proposes.

use pellucid_protocol::event::PlanUpdate;
use pellucid_protocol::event::StepStatus;
use ratatui_core::style::Modifier;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::CellCanvas;
use super::details;
use super::heading;
use super::reply::ReplyStream;
use super::texts;
use crate::text::clean;
use crate::text::wrap::Breaking;
use crate::text::wrap::Indent;
use crate::text::wrap::wrap;

/// The steps of a plan and how far they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCell {
    /// The plan as the model wrote it.
    pub plan: PlanUpdate,
}

impl PlanCell {
    /// The explanation and the steps with their marks.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        let mut out = heading(palette.dim(), "Updated plan", Vec::new(), canvas);
        let explanation = self.plan.explanation.as_deref().unwrap_or_default().trim();
        let style = palette.dim().add_modifier(Modifier::ITALIC);
        out.extend(texts(explanation.lines(), style, &details(), canvas));
        if self.plan.plan.is_empty() {
            let indent = if explanation.is_empty() { details() } else { Indent::blanks(4) };
            out.extend(texts(["(no steps)"], palette.dim(), &indent, canvas));
        }
        for (number, step) in self.plan.plan.iter().enumerate() {
            let (mark, style) = match step.status {
                StepStatus::Completed => ("✔ ", palette.dim().add_modifier(Modifier::CROSSED_OUT)),
                StepStatus::InProgress => ("▸ ", palette.accent().add_modifier(Modifier::BOLD)),
                StepStatus::Pending => ("□ ", palette.dim()),
            };
            let before = if number == 0 && explanation.is_empty() { "  └ " } else { "    " };
            let mark = Span::styled(mark, style.remove_modifier(Modifier::CROSSED_OUT));
            let indent = Indent { first: vec![Span::raw(before), mark], rest: vec![Span::raw(" ".repeat(6))] };
            let text = Span::styled(clean::line(&step.step).into_owned(), style);
            out.extend(wrap(&[text], canvas.columns, &indent, Breaking::Words));
        }
        out
    }
}

/// A plan that the model proposes, as Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedPlanCell {
    /// The source, as the model wrote it.
    pub markdown: String,
}

impl ProposedPlanCell {
    /// The heading above a proposed plan.
    pub fn heading(canvas: &CellCanvas) -> Vec<Line<'static>> {
        heading(canvas.palette.mode(), "Proposed plan", Vec::new(), canvas)
    }

    /// The plan on its ground.
    pub fn lines(&self, canvas: &CellCanvas) -> Vec<Line<'static>> {
        let mut stream = ReplyStream::plan("", canvas);
        let mut out = Self::heading(canvas);
        out.extend(stream.push(&self.markdown));
        out.extend(stream.finish());
        out
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::event::PlanStep;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;
    use crate::text::palette::ColourDepth;
    use crate::text::palette::Palette;
    use crate::text::palette::Rgb;

    #[track_caller]
    fn check_plan(explanation: Option<&str>, steps: &[(&str, StepStatus)], expected: &Expect) {
        let plan = steps.iter().map(|(step, status)| PlanStep { step: (*step).to_owned(), status: *status }).collect();
        let cell = PlanCell { plan: PlanUpdate { explanation: explanation.map(str::to_owned), plan } };
        expected.assert_eq(&shown(&cell.lines(&CANVAS(24))));
    }

    #[test]
    fn steps_have_marks() {
        let steps = [
            ("step alpha", StepStatus::Completed),
            ("step beta is longer than others", StepStatus::InProgress),
            ("step gamma", StepStatus::Pending),
        ];
        check_plan(
            Some("Because of this."),
            &steps,
            &expect![[r#"
                • Updated plan|
                  └ Because of this.|
                    ✔ step alpha|
                    ▸ step beta is|
                      longer than others|
                    □ step gamma|
            "#]],
        );
        check_plan(
            None,
            &steps[2..],
            &expect![[r#"
            • Updated plan|
              └ □ step gamma|
        "#]],
        );
        check_plan(
            None,
            &[],
            &expect![[r#"
            • Updated plan|
              └ (no steps)|
        "#]],
        );
    }

    #[test]
    fn a_proposed_plan_is_on_its_ground() {
        let palette = Palette::new(ColourDepth::Exact, Some(Rgb(0, 0, 0)));
        let cell = ProposedPlanCell { markdown: "# The grand plan\n\n- do the thing".to_owned() };
        let lines = cell.lines(&CellCanvas { columns: 40, palette });
        expect![[r#"
            • Proposed plan|
              The grand plan|
            |
              - do the thing|
        "#]]
        .assert_eq(&shown(&lines));
        assert!(lines[1..].iter().all(|line| line.style.bg == palette.ground().bg));
    }
}
