//! `list_mcp_resources`, `list_mcp_resource_templates`, `read_mcp_resource`: what MCP servers have to read.

use std::sync::Arc;

use pellucid_engine::approval::grounds::Unasked;
use pellucid_protocol::call::ToolCall;
use pellucid_protocol::item::ToolOutput;
use pellucid_protocol::mcp::McpFailure;
use pellucid_protocol::mcp::McpInvocation;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpToolResult;
use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::Asks;
use crate::CallContext;
use crate::Effect;
use crate::Failed;
use crate::Takes;
use crate::Tool;
use crate::When;
use crate::mcp_tool::Asking;
use crate::mcp_tool::Listed;
use crate::mcp_tool::ListingAll;
use crate::mcp_tool::ShownCall;
use crate::mcp_tool::ToolServers;
use crate::text_of;

pub(crate) const LIST: Tool = Tool {
    name: "list_mcp_resources",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::Server),
    run: |call, job| Box::pin(list(call, job, Listed::Resources)),
};

pub(crate) const LIST_TEMPLATES: Tool = Tool {
    name: "list_mcp_resource_templates",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::Server),
    run: |call, job| Box::pin(list(call, job, Listed::Templates)),
};

pub(crate) const READ: Tool = Tool {
    name: "read_mcp_resource",
    takes: &[Takes::Function],
    when: When::Offered,
    effect: Effect::Nothing,
    asks: Asks::Nothing(Unasked::Server),
    run: |call, job| Box::pin(read(call, job)),
};

/// The server in events when a call names none.
const NO_SERVER: &str = "codex";

#[derive(Default, Deserialize)]
#[serde(default)]
struct ListArguments {
    server: Option<String>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct ReadArguments {
    server: String,
    uri: String,
}

async fn list(call: &ToolCall, job: &CallContext, what: Listed) -> Result<ToolOutput, Failed> {
    let arguments = given(call)?;
    let wanted: ListArguments = match &arguments {
        Some(arguments) => parsed(arguments)?,
        None => ListArguments::default(),
    };
    let (server, cursor) = (stated(wanted.server), stated(wanted.cursor));
    let named = server.clone().unwrap_or_else(|| NO_SERVER.to_owned());
    telling(call, job, named, arguments, |servers| async move { listing(&*servers, what, server, cursor).await }).await
}

/// The entries of one server, or of all servers.
async fn listing(
    servers: &dyn ToolServers,
    what: Listed,
    server: Option<String>,
    cursor: Option<String>,
) -> Result<Value, String> {
    let (key, method) = match what {
        Listed::Resources => ("resources", "resources/list"),
        Listed::Templates => ("resourceTemplates", "resources/templates/list"),
    };
    let mut answer = Map::new();
    if let Some(server) = server {
        let page =
            servers.list(what, &server, cursor).await.map_err(|failure| format!("{method} failed: {failure}"))?;
        answer.insert("server".to_owned(), server.clone().into());
        answer.insert(key.to_owned(), page.entries.into_iter().map(|entry| of_server(&server, entry)).collect());
        if let Some(next) = page.next_cursor {
            answer.insert("nextCursor".to_owned(), next.into());
        }
    } else if cursor.is_some() {
        return Err("cursor can only be used when a server is specified".to_owned());
    } else {
        let mut all = servers.list_all(what).await;
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let entries = all
            .into_iter()
            .flat_map(|(server, entries)| entries.into_iter().map(move |entry| of_server(&server, entry)));
        answer.insert(key.to_owned(), entries.collect());
    }
    Ok(Value::Object(answer))
}

async fn read(call: &ToolCall, job: &CallContext) -> Result<ToolOutput, Failed> {
    let arguments = given(call)?;
    let Some(wanted) = &arguments else {
        return Err(Failed::answered("failed to parse function arguments: expected value"));
    };
    let ReadArguments { server, uri } = parsed(wanted)?;
    let server = required("server", server)?;
    let uri = required("uri", uri)?;
    telling(call, job, server.clone(), arguments, |servers| async move {
        let contents =
            servers.read(&server, &uri).await.map_err(|failure| format!("resources/read failed: {failure}"))?;
        let mut answer = Map::from_iter([("server".to_owned(), server.into()), ("uri".to_owned(), uri.into())]);
        answer.extend(contents);
        Ok(Value::Object(answer))
    })
    .await
}

/// Asks servers, and emits the events of a tool call.
async fn telling<F>(
    call: &ToolCall,
    job: &CallContext,
    server: String,
    arguments: Option<Value>,
    ask: impl FnOnce(Arc<dyn ToolServers>) -> F,
) -> Result<ToolOutput, Failed>
where
    F: Future<Output = Result<Value, String>>,
{
    let invocation = McpInvocation { server, tool: call.name.clone(), arguments };
    let shown_call = ShownCall::begin(&job.desk, call, invocation).await;
    let servers = job.toolbox.servers().unwrap_or_else(|| Arc::new(NoServers));
    match ask(servers).await {
        Ok(answer) => {
            let text = answer.to_string();
            let content = vec![json!({ "type": "text", "text": text })];
            let result = McpToolResult { content, is_error: Some(false), ..McpToolResult::default() };
            shown_call.end(&job.desk, Ok(result)).await;
            Ok(text.into())
        }
        Err(message) => {
            shown_call.end(&job.desk, Err(message.clone())).await;
            Err(Failed::Answered(message))
        }
    }
}

/// The servers of a session that has none: connected apps offer these tools without any.
#[derive(Debug)]
struct NoServers;

impl NoServers {
    fn unknown<'a, T: Send + 'a>(server: &str) -> Asking<'a, T> {
        let failure = McpFailure::new(format!("unknown MCP server '{server}'"));
        Box::pin(async move { Err(failure) })
    }
}

impl ToolServers for NoServers {
    fn call<'a>(&'a self, server: &'a str, _: &'a str, _: Option<Map<String, Value>>) -> Asking<'a, McpToolResult> {
        Self::unknown(server)
    }

    fn list<'a>(&'a self, _: Listed, server: &'a str, _: Option<String>) -> Asking<'a, McpPage> {
        Self::unknown(server)
    }

    fn list_all(&self, _: Listed) -> ListingAll<'_> {
        Box::pin(async { Vec::new() })
    }

    fn read<'a>(&'a self, server: &'a str, _: &'a str) -> Asking<'a, Map<String, Value>> {
        Self::unknown(server)
    }
}

/// An entry of a server, with the server's name added.
fn of_server(server: &str, entry: Value) -> Value {
    let mut with_server = Map::from_iter([("server".to_owned(), server.into())]);
    if let Value::Object(entry) = entry {
        with_server.extend(entry);
    }
    Value::Object(with_server)
}

/// The arguments of a call, if it has any.
fn given(call: &ToolCall) -> Result<Option<Value>, Failed> {
    let text = text_of(call);
    if text.trim().is_empty() {
        return Ok(None);
    }
    let arguments: Value = serde_json::from_str(text).map_err(|error| wrong(&error))?;
    Ok((!arguments.is_null()).then_some(arguments))
}

fn parsed<T: serde::de::DeserializeOwned>(arguments: &Value) -> Result<T, Failed> {
    T::deserialize(arguments).map_err(|error| wrong(&error))
}

fn wrong(error: &serde_json::Error) -> Failed {
    Failed::Answered(format!("failed to parse function arguments: {error}"))
}

/// A text that says something.
fn stated(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn required(field: &str, text: String) -> Result<String, Failed> {
    stated(Some(text)).ok_or_else(|| Failed::Answered(format!("{field} must be provided")))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use crate::bench::Bench;
    use crate::bench::function;
    use crate::mcp_tool::tests::Rote;

    /// Checks the answer to the model, and the server in the events.
    #[track_caller]
    fn check_answer(tool: &str, arguments: &str, expected: &Expect) {
        let mut bench = Bench::new();
        bench.servers = Some(std::sync::Arc::new(Rote));
        check_answer_of(&bench, tool, arguments, expected);
    }

    #[track_caller]
    fn check_answer_of(bench: &Bench, tool: &str, arguments: &str, expected: &Expect) {
        let shown = bench.show(&function(tool, arguments));
        let begins = shown.lines().filter(|line| line.contains("_begin")).filter_map(|line| {
            let from = line.find("\"server\":\"")? + "\"server\":\"".len();
            line[from..].split('"').next().map(|server| format!("begins at {server}\n"))
        });
        let answer = shown.lines().filter(|line| line.starts_with("=>")).map(|line| format!("{line}\n"));
        expected.assert_eq(&begins.chain(answer).collect::<String>());
    }

    #[test]
    fn resources_are_listed() {
        check_answer(
            "list_mcp_resources",
            "",
            &expect![[r#"
                begins at codex
                => {"resources":[{"server":"library","uri":"book://1","name":"One"}]}
            "#]],
        );
        check_answer(
            "list_mcp_resources",
            r#"{"server":" library ","cursor":"2"}"#,
            &expect![[r#"
                begins at library
                => {"server":"library","resources":[{"server":"library","uri":"book://1","name":"One"}],"nextCursor":"2+"}
            "#]],
        );
        check_answer(
            "list_mcp_resource_templates",
            "null",
            &expect![[r#"
                begins at codex
                => {"resourceTemplates":[{"server":"library","uriTemplate":"book://{id}","name":"Any"}]}
            "#]],
        );
    }

    #[test]
    fn resources_are_read() {
        check_answer(
            "read_mcp_resource",
            r#"{"server":"library","uri":"book://1"}"#,
            &expect![[r#"
                begins at library
                => {"server":"library","uri":"book://1","contents":[{"uri":"book://1","text":"Once."}]}
            "#]],
        );
    }

    #[test]
    fn without_servers_nothing_is_listed_and_none_is_known() {
        let check = |tool, arguments, expected| check_answer_of(&Bench::new(), tool, arguments, expected);
        let nothing = expect![[r#"
            begins at codex
            => {"resources":[]}
        "#]];
        check("list_mcp_resources", "{}", &nothing);
        let unknown = expect![[r#"
            begins at nobody
            => resources/read failed: unknown MCP server 'nobody'
        "#]];
        check("read_mcp_resource", r#"{"server":"nobody","uri":"memo://one"}"#, &unknown);
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        check_answer(
            "list_mcp_resources",
            r#"{"cursor":"2"}"#,
            &expect![[r#"
                begins at codex
                => cursor can only be used when a server is specified
            "#]],
        );
        check_answer(
            "list_mcp_resources",
            r#"{"server":"nowhere"}"#,
            &expect![[r#"
                begins at nowhere
                => resources/list failed: unknown MCP server 'nowhere'
            "#]],
        );
        check_answer(
            "read_mcp_resource",
            r#"{"server":"library"}"#,
            &expect![[r#"
                => failed to parse function arguments: missing field `uri`
            "#]],
        );
        check_answer(
            "read_mcp_resource",
            r#"{"server":"library","uri":" "}"#,
            &expect![[r#"
                => uri must be provided
            "#]],
        );
        check_answer(
            "read_mcp_resource",
            "",
            &expect![[r#"
                => failed to parse function arguments: expected value
            "#]],
        );
    }
}
