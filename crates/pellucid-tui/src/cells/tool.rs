//! Calls of tools that are no commands: tools of MCP servers, web searches, images that the model looks at.

use std::path::Path;

use pellucid_protocol::item::WebSearchAction;
use pellucid_protocol::mcp::McpInvocation;
use pellucid_protocol::mcp::McpToolCallEnd;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;
use serde_json::Value;

use super::CellCanvas;
use super::Folding;
use super::fold::FoldedOutput;
use super::heading;
use super::session::short_path;
use crate::text::clean;

/// Rows of a result that are shown.
const ROWS: usize = 5;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCell {
    word: &'static str,
    what: String,
    outcome: ToolOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ToolOutcome {
    Running,
    Succeeded(FoldedOutput),
    Failed(FoldedOutput),
}

impl ToolCell {
    /// A call of an MCP server's tool that runs.
    pub fn mcp(invocation: &McpInvocation) -> Self {
        Self { word: "Calling", what: called(invocation), outcome: ToolOutcome::Running }
    }

    /// A call of an MCP server's tool that has ended.
    pub fn mcp_ended(end: &McpToolCallEnd) -> Self {
        let output = match &end.result {
            Ok(result) => result.content.iter().map(content).collect::<Vec<_>>().join("\n"),
            Err(error) => error.clone(),
        };
        let output = FoldedOutput::new(&output);
        let outcome = if end.is_success() { ToolOutcome::Succeeded(output) } else { ToolOutcome::Failed(output) };
        Self { word: "Called", what: called(&end.invocation), outcome }
    }

    /// A web search that runs.
    pub fn searching() -> Self {
        Self { word: "Searching the web", what: String::new(), outcome: ToolOutcome::Running }
    }

    /// A web search that has ended.
    pub fn searched(query: &str, action: &WebSearchAction) -> Self {
        let (word, what) = match action {
            WebSearchAction::OpenPage { url } => ("Opened", url.clone()),
            WebSearchAction::FindInPage { url: Some(url), pattern: Some(pattern) } => {
                ("Searched", Some(format!("{pattern} in {url}")))
            }
            WebSearchAction::FindInPage { url, pattern } => ("Searched", pattern.clone().or_else(|| url.clone())),
            WebSearchAction::Search { queries: Some(queries), .. } if queries.len() > 1 => {
                ("Searched", Some(queries.join(", ")))
            }
            WebSearchAction::Search { query, .. } => ("Searched", query.clone()),
            WebSearchAction::Other => ("Searched", None),
        };
        let what = what.filter(|it| !it.is_empty()).unwrap_or_else(|| query.to_owned());
        let what = if what.is_empty() { "the web".to_owned() } else { what };
        Self { word, what, outcome: ToolOutcome::Succeeded(FoldedOutput::default()) }
    }

    /// An image that the model looks at.
    pub fn image(path: &Path, folder: Option<&Path>) -> Self {
        let what = short_path(path, folder, None);
        Self { word: "Looked at the image", what, outcome: ToolOutcome::Succeeded(FoldedOutput::default()) }
    }

    /// Text that was written to a command that runs.
    pub fn input(stdin: &str) -> Self {
        let output = FoldedOutput::new(stdin);
        Self { word: "Wrote to a running command", what: String::new(), outcome: ToolOutcome::Succeeded(output) }
    }

    /// A tool call of a session file, with its output.
    pub fn stored(name: &str, arguments: &str, output: &str) -> Self {
        let what = match mcp_name(name) {
            Some((server, tool)) => format!("{server}.{tool}({arguments})"),
            None => format!("{name}({arguments})"),
        };
        Self { word: "Called", what, outcome: ToolOutcome::Succeeded(FoldedOutput::new(output)) }
    }

    /// The call and its result.
    pub fn lines(&self, canvas: &CellCanvas, folding: Folding) -> Vec<Line<'static>> {
        let palette = &canvas.palette;
        let (mark, output) = match &self.outcome {
            ToolOutcome::Running => (palette.dim(), None),
            ToolOutcome::Succeeded(output) => (palette.added(), Some(output)),
            ToolOutcome::Failed(output) => (palette.removed(), Some(output)),
        };
        let rest: Vec<Span<'static>> = match self.what.as_str() {
            "" => Vec::new(),
            what => vec![Span::styled(clean::line(what).into_owned(), Style::new())],
        };
        let mut out = heading(mark, self.word, rest, canvas);
        let output = output.filter(|output| !output.is_empty());
        out.extend(output.map(|output| output.lines(canvas, folding.rows(ROWS), folding)).unwrap_or_default());
        out
    }
}

/// The server and the tool of a function whose name joins them.
fn mcp_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

fn called(invocation: &McpInvocation) -> String {
    let arguments = match &invocation.arguments {
        None | Some(Value::Null) => String::new(),
        Some(arguments) => arguments.to_string(),
    };
    format!("{}.{}({arguments})", invocation.server, invocation.tool)
}

/// One part of a result as text; what is no text is named.
fn content(part: &Value) -> String {
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    match text("type") {
        Some("text") => text("text").unwrap_or_default().to_owned(),
        Some("resource_link") => format!("<link {}>", text("uri").unwrap_or_default()),
        Some("resource") => {
            let resource = part.get("resource");
            let inner = |key: &str| resource.and_then(|it| it.get(key)).and_then(Value::as_str);
            inner("text").map_or_else(|| format!("<resource {}>", inner("uri").unwrap_or_default()), str::to_owned)
        }
        Some(kind) => format!("<{kind}>"),
        None => part.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::mcp::McpToolResult;
    use serde_json::json;

    use super::*;
    use crate::cells::testing::CANVAS;
    use crate::cells::testing::shown;

    #[track_caller]
    fn check_tool(cell: &ToolCell, expected: &Expect) {
        expected.assert_eq(&shown(&cell.lines(&CANVAS(40), Folding::Folded)));
    }

    fn call(result: Result<Vec<Value>, &str>) -> ToolCell {
        let (server, tool) = ("echoer".to_owned(), "echo_text".to_owned());
        let invocation = McpInvocation { server, tool, arguments: Some(json!({ "text": "ping" })) };
        let result = result.map_err(str::to_owned).map(|content| McpToolResult {
            content,
            structured_content: None,
            is_error: None,
            meta: None,
        });
        ToolCell::mcp_ended(&McpToolCallEnd { call_id: "c".to_owned(), invocation, duration: Duration::ZERO, result })
    }

    #[test]
    fn calls_of_servers() {
        let parts = vec![
            json!({ "type": "text", "text": "echo: ping" }),
            json!({ "type": "image", "data": "AAAA" }),
            json!({ "type": "resource_link", "uri": "file:///a" }),
        ];
        check_tool(
            &call(Ok(parts)),
            &expect![[r#"
            • Called|
              echoer.echo_text({"text":"ping"})|
              └ echo: ping|
                <image>|
                <link file:///a>|
        "#]],
        );
        check_tool(
            &call(Err("the server is gone")),
            &expect![[r#"
            • Called|
              echoer.echo_text({"text":"ping"})|
              └ the server is gone|
        "#]],
        );
        check_tool(
            &ToolCell::stored("mcp__echoer__echo_text", "{}", "x"),
            &expect![[r#"
            • Called echoer.echo_text({})|
              └ x|
        "#]],
        );
    }

    #[test]
    fn searches_and_images() {
        let search = |query: &str| WebSearchAction::Search { query: Some(query.to_owned()), queries: None };
        check_tool(
            &ToolCell::searched("", &search("pty in rust")),
            &expect![[r#"
            • Searched pty in rust|
        "#]],
        );
        check_tool(
            &ToolCell::searched("", &WebSearchAction::OpenPage { url: Some("https://a.test".into()) }),
            &expect![[r#"
            • Opened https://a.test|
        "#]],
        );
        check_tool(
            &ToolCell::searched("", &WebSearchAction::Other),
            &expect![[r#"
            • Searched the web|
        "#]],
        );
        check_tool(
            &ToolCell::image(Path::new("/w/dot.png"), Some(Path::new("/w"))),
            &expect![[r#"
            • Looked at the image dot.png|
        "#]],
        );
        check_tool(
            &ToolCell::input("yes\n"),
            &expect![[r#"
            • Wrote to a running command|
              └ yes|
        "#]],
        );
    }
}
