//! The answer to the model for a command that ended: as JSON, or as a few lines.
//!
//! Some tools answer with JSON. Models that were trained with the freeform patch tool get the same content as a few
//! lines.

use std::time::Duration;

use pellucid_protocol::settings::TruncationPolicy;
use serde::Deserialize;
use serde::Serialize;

use crate::cut::middle::truncate_middle;

/// A command that ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedCommand<'a> {
    /// The exit code of the command.
    pub exit_code: i32,
    /// The running time of the command.
    pub duration: Duration,
    /// The output of the command, both streams together.
    pub output: &'a str,
}

impl EndedCommand<'_> {
    /// As JSON. A cut output begins with how many lines it had.
    pub fn structured(&self, policy: TruncationPolicy) -> String {
        let output = with_heading(self.output, policy);
        let metadata = Metadata { exit_code: self.exit_code, duration_seconds: self.seconds() };
        serde_json::to_string(&Structured { output, metadata }).unwrap_or_default()
    }

    /// As lines. How many lines there were is said if the cut took some.
    pub fn freeform(&self, policy: TruncationPolicy) -> String {
        let cut = truncate_middle(self.output, policy);
        let n_lines = self.output.lines().count();
        let mut lines =
            vec![format!("Exit code: {}", self.exit_code), format!("Wall time: {} seconds", self.seconds())];
        if n_lines != cut.lines().count() {
            lines.push(format!("Total output lines: {n_lines}"));
        }
        lines.extend(["Output:".to_owned(), cut]);
        lines.join("\n")
    }

    fn seconds(&self) -> f32 {
        (self.duration.as_secs_f32() * 10.0).round() / 10.0
    }
}

/// A text within the policy; if it is cut, after a heading with the number of its lines.
pub fn with_heading(text: &str, policy: TruncationPolicy) -> String {
    let cut = truncate_middle(text, policy);
    if cut.len() == text.len() && cut == text {
        return cut;
    }
    format!("Total output lines: {}\n\n{cut}", text.lines().count())
}

/// The text form, if the output has the structure.
pub fn as_text(output: &str) -> Option<String> {
    let structured: Structured = serde_json::from_str(output).ok()?;
    let Metadata { exit_code, duration_seconds } = structured.metadata;
    let mut lines = vec![format!("Exit code: {exit_code}"), format!("Wall time: {duration_seconds} seconds")];
    let body = match split_line_count(&structured.output) {
        Some((n_lines, body)) => {
            lines.push(format!("Total output lines: {n_lines}"));
            body
        }
        None => structured.output.as_str(),
    };
    lines.push("Output:".to_owned());
    lines.push(body.to_owned());
    Some(lines.join("\n"))
}

#[derive(Serialize, Deserialize)]
struct Structured {
    output: String,
    metadata: Metadata,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    exit_code: i32,
    duration_seconds: f32,
}

/// Takes the heading off that a cut output begins with.
fn split_line_count(output: &str) -> Option<(u32, &str)> {
    let (n_lines, body) = output.strip_prefix("Total output lines: ")?.split_once('\n')?;
    Some((n_lines.parse().ok()?, body.strip_prefix('\n').unwrap_or(body)))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::settings::TruncationMode;

    use super::*;

    #[track_caller]
    fn check_text(output: &str, expected: &Expect) {
        expected.assert_eq(&as_text(output).unwrap_or_else(|| "(unchanged)".to_owned()));
    }

    #[test]
    fn a_cut_output_says_how_long_it_was() {
        let policy = TruncationPolicy { mode: TruncationMode::Bytes, limit: 6 };
        let ended = |output| EndedCommand { exit_code: 1, duration: Duration::from_millis(1234), output };
        expect![[r#"
            {"output":"a\nb","metadata":{"exit_code":1,"duration_seconds":1.2}}
            {"output":"Total output lines: 5\n\na\nb…3 chars truncated…d\ne","metadata":{"exit_code":1,"duration_seconds":1.2}}"#]]
        .assert_eq(&[ended("a\nb"), ended("a\nb\nc\nd\ne")].map(|ended| ended.structured(policy)).join("\n"));
        expect![[r#"
            Exit code: 1
            Wall time: 1.2 seconds
            Output:
            a
            b
            Exit code: 1
            Wall time: 1.2 seconds
            Total output lines: 5
            Output:
            a
            b…3 chars truncated…d
            e"#]]
        .assert_eq(&[ended("a\nb"), ended("a\nb\nc\nd\ne")].map(|ended| ended.freeform(policy)).join("\n"));
    }

    #[test]
    fn structure_becomes_lines() {
        check_text(
            r#"{"output":"Total output lines: 7\n\nabc","metadata":{"exit_code":1,"duration_seconds":12.3}}"#,
            &expect![[r#"
                Exit code: 1
                Wall time: 12.3 seconds
                Total output lines: 7
                Output:
                abc"#]],
        );
        check_text(
            r#"{"output":"hi\n","metadata":{"exit_code":0,"duration_seconds":0.0,"extra":1},"more":2}"#,
            &expect![[r#"
                Exit code: 0
                Wall time: 0 seconds
                Output:
                hi
            "#]],
        );
    }

    #[test]
    fn anything_else_is_left_alone() {
        check_text("plain", &expect!["(unchanged)"]);
        check_text(r#"{"output":"cut","metadata":{"exit_co…7 chars truncated…"#, &expect!["(unchanged)"]);
        check_text(r#"{"output":1,"metadata":{"exit_code":0,"duration_seconds":0}}"#, &expect!["(unchanged)"]);
    }

    #[test]
    fn a_heading_without_a_number_is_body() {
        check_text(
            r#"{"output":"Total output lines: x\nabc","metadata":{"exit_code":0,"duration_seconds":1}}"#,
            &expect![[r#"
                Exit code: 0
                Wall time: 1 seconds
                Output:
                Total output lines: x
                abc"#]],
        );
    }
}
