//! Structured output of commands, written out as text.
//!
//! Some tools answer with JSON. Models that were trained with the freeform patch tool get the
//! same as a few lines.

use serde::Deserialize;

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

#[derive(Deserialize)]
struct Structured {
    output: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
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

    use super::*;

    #[track_caller]
    fn check_text(output: &str, expected: &Expect) {
        expected.assert_eq(&as_text(output).unwrap_or_else(|| "(unchanged)".to_owned()));
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
