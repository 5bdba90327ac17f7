//! `read_file`: numbered lines of a file, as a slice or as the block around a line.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::approval::grounds::Unasked;
use pellucid_engine::cut;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ToolOutput;
use serde::Deserialize;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::arguments;
use crate::blocking;
use crate::indentation;

pub(crate) const TOOL: Tool = Tool {
    name: "read_file",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::ReadsOnly),
    run: |call, job| Box::pin(run(call, job)),
};

/// A line is cut after so many bytes.
const LINE_MAX: usize = 500;

/// At most this many bytes of a line are kept; enough to see how far it is indented.
const LINE_KEPT: u64 = 16 * 1024;

#[derive(Deserialize)]
struct Arguments {
    file_path: PathBuf,
    #[serde(default = "one")]
    offset: usize,
    #[serde(default = "limit")]
    limit: usize,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    indentation: Option<Indentation>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Slice,
    Indentation,
}

#[derive(Deserialize, Clone)]
#[serde(default)]
struct Indentation {
    anchor_line: Option<usize>,
    max_levels: usize,
    include_siblings: bool,
    include_header: bool,
    max_lines: Option<usize>,
}

impl Default for Indentation {
    fn default() -> Self {
        Self { anchor_line: None, max_levels: 0, include_siblings: false, include_header: true, max_lines: None }
    }
}

fn one() -> usize {
    1
}

fn limit() -> usize {
    2000
}

async fn run(call: &ToolCall, _job: &CallContext) -> Result<ToolOutput, Failed> {
    let wanted: Arguments = arguments(call)?;
    if wanted.offset == 0 {
        return Err(Failed::answered("offset must be a 1-indexed line number"));
    }
    if wanted.limit == 0 {
        return Err(Failed::answered("limit must be greater than zero"));
    }
    if !wanted.file_path.is_absolute() {
        return Err(Failed::answered("file_path must be an absolute path"));
    }
    blocking(move || read(&wanted)).await.map(ToolOutput::Text)
}

fn read(wanted: &Arguments) -> Result<String, Failed> {
    match wanted.mode {
        Mode::Slice => slice(&wanted.file_path, wanted.offset, wanted.limit),
        Mode::Indentation => block(wanted),
    }
}

/// The lines from one on. Only what comes before and what is shown is read.
fn slice(path: &Path, offset: usize, limit: usize) -> Result<String, Failed> {
    let mut shown = Vec::new();
    let mut n_lines = 0;
    for line in lines(path)? {
        let line = line?;
        n_lines += 1;
        if n_lines >= offset {
            shown.push(numbered(n_lines, &line));
        }
        if shown.len() == limit {
            break;
        }
    }
    if shown.is_empty() {
        return Err(Failed::answered("offset exceeds file length"));
    }
    Ok(shown.join("\n"))
}

fn block(wanted: &Arguments) -> Result<String, Failed> {
    let options = wanted.indentation.clone().unwrap_or_default();
    let anchor = options.anchor_line.unwrap_or(wanted.offset);
    if anchor == 0 {
        return Err(Failed::answered("anchor_line must be a 1-indexed line number"));
    }
    let lines_max = options.max_lines.unwrap_or(wanted.limit);
    if lines_max == 0 {
        return Err(Failed::answered("max_lines must be greater than zero"));
    }
    let lines = lines(&wanted.file_path)?.collect::<Result<Vec<_>, _>>()?;
    if anchor > lines.len() {
        return Err(Failed::answered("anchor_line exceeds file length"));
    }
    let rules = indentation::Rules {
        levels_max: options.max_levels,
        has_siblings: options.include_siblings,
        has_header: options.include_header,
        lines_max: lines_max.min(wanted.limit),
    };
    let range = indentation::block(&lines, anchor - 1, &rules);
    let shown = range.map(|n| numbered(n + 1, &lines[n]));
    Ok(shown.collect::<Vec<_>>().join("\n"))
}

fn numbered(n: usize, line: &str) -> String {
    format!("L{n}: {}", cut::first(line, LINE_MAX))
}

/// The lines of a file, decoded as well as can be, without their ends. Of a very long one only the
/// beginning is kept. What is no regular file has no end that could be waited for.
fn lines(path: &Path) -> Result<impl Iterator<Item = Result<String, Failed>>, Failed> {
    let failed = |error: std::io::Error| Failed::answered(format!("failed to read file: {error}"));
    let mut reader = BufReader::new(pellucid_files::open(path).map_err(failed)?);
    Ok(std::iter::from_fn(move || match next_line(&mut reader) {
        Ok(line) => line.map(Ok),
        Err(error) => Some(Err(failed(error))),
    }))
}

/// The next line; absent at the end.
fn next_line(reader: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut line = Vec::new();
    let n_read = reader.by_ref().take(LINE_KEPT).read_until(b'\n', &mut line)?;
    if n_read == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    } else {
        reader.skip_until(b'\n')?;
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use crate::bench::Bench;
    use crate::bench::function;

    const CODE: &str = "mod a {\r\n    // about f\n    fn f() {\n        if x {\n            y();\n        }\n    }\n\n    fn g() {}\n}\n";

    #[track_caller]
    fn check_read(arguments: &str, expected: &Expect) {
        let bench = Bench::new();
        std::fs::write(bench.path().join("f"), CODE).unwrap();
        let folder = bench.path().to_string_lossy().into_owned();
        expected.assert_eq(&bench.show(&function("read_file", &arguments.replace("DIR", &folder))));
    }

    #[test]
    fn a_slice_has_numbered_lines() {
        check_read(
            r#"{"file_path":"DIR/f","offset":2,"limit":2}"#,
            &expect![[r#"
            => L2:     // about f
            L3:     fn f() {
        "#]],
        );
    }

    #[test]
    fn a_block_is_what_is_indented_as_deep() {
        let with = |options: &str| {
            format!(r#"{{"file_path":"DIR/f","offset":5,"mode":"indentation","indentation":{{{options}}}}}"#)
        };
        check_read(
            &with(""),
            &expect![[r#"
            => L1: mod a {
            L2:     // about f
            L3:     fn f() {
            L4:         if x {
            L5:             y();
            L6:         }
            L7:     }
            L8: 
            L9:     fn g() {}
            L10: }
        "#]],
        );
        check_read(
            &with(r#""max_levels":1"#),
            &expect![[r#"
            => L4:         if x {
            L5:             y();
            L6:         }
        "#]],
        );
        check_read(
            &with(r#""max_levels":2"#),
            &expect![[r#"
            => L2:     // about f
            L3:     fn f() {
            L4:         if x {
            L5:             y();
            L6:         }
            L7:     }
        "#]],
        );
        check_read(
            &with(r#""max_levels":2,"include_siblings":true"#),
            &expect![[r#"
            => L2:     // about f
            L3:     fn f() {
            L4:         if x {
            L5:             y();
            L6:         }
            L7:     }
            L8: 
            L9:     fn g() {}
        "#]],
        );
        check_read(
            &with(r#""max_levels":2,"include_header":false"#),
            &expect![[r#"
            => L3:     fn f() {
            L4:         if x {
            L5:             y();
            L6:         }
            L7:     }
        "#]],
        );
        check_read(
            &with(r#""max_lines":3"#),
            &expect![[r#"
            => L4:         if x {
            L5:             y();
            L6:         }
        "#]],
        );
        check_read(
            &with(r#""max_lines":1"#),
            &expect![[r#"
            => L5:             y();
        "#]],
        );
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        check_read(
            r#"{"file_path":"DIR/f","offset":0}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"read_file","why":"the model got the reason"}
                => offset must be a 1-indexed line number
            "#]],
        );
        check_read(
            r#"{"file_path":"DIR/f","limit":0}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"read_file","why":"the model got the reason"}
                => limit must be greater than zero
            "#]],
        );
        check_read(
            r#"{"file_path":"f"}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"read_file","why":"the model got the reason"}
                => file_path must be an absolute path
            "#]],
        );
        check_read(
            r#"{"file_path":"DIR/none"}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"read_file","why":"the model got the reason"}
                => failed to read file: No such file or directory (os error 2)
            "#]],
        );
        check_read(
            r#"{"file_path":"DIR/f","offset":99}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"read_file","why":"the model got the reason"}
                => offset exceeds file length
            "#]],
        );
        check_read(
            r#"{"file_path":"DIR/f","offset":99,"mode":"indentation"}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"read_file","why":"the model got the reason"}
                => anchor_line exceeds file length
            "#]],
        );
        check_read(
            r#"{"file_path":"DIR/f","mode":"indentation","indentation":{"max_lines":0,"anchor_line":1}}"#,
            &expect![[r#"
                {"type":"tool_call_failed","call_id":"c","name":"read_file","why":"the model got the reason"}
                => max_lines must be greater than zero
            "#]],
        );
    }
}
