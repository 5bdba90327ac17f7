//! An MCP server that is a shell script: it answers requests from files.
//!
//! The answer to a method is in a file of that name with `/` as `_`; a call of a tool has the tool's name in its file's
//! name too. A file contains the member of the response that is the answer: `"result":{…}` or `"error":{…}`. An empty
//! file means no answer. The file `asked` contains what the server was sent, a line each.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::Workspace;

/// Reads a line, finds the answer, sends it. Ids are numbers and come before any other member of that name.
const SCRIPT: &str = include_str!("mcp_script.sh");

/// A running MCP server; its files are removed when it is dropped.
#[derive(Debug)]
pub struct McpScript {
    files: Workspace,
}

impl McpScript {
    /// A server with these tools, which accept any arguments.
    pub fn new(tools: &[&str]) -> Self {
        let this = Self { files: Workspace::empty() };
        this.files.write("server.sh", SCRIPT);
        this.answers(
            "initialize",
            &json!({"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"script","version":"1"}}),
        );
        this.lists(tools);
        this
    }

    /// From now on the server has a prompt and a resource, and gives these contents of them.
    pub fn gives(&self, prompt: &Value, message: &str, text: &str) {
        let capabilities = json!({"tools":{},"resources":{},"prompts":{}});
        let greeting = json!({"protocolVersion":"2025-06-18","capabilities":capabilities,"serverInfo":{"name":"script","version":"1"}});
        self.answers("initialize", &greeting);
        self.answers("prompts/list", &json!({"prompts": [prompt]}));
        let content = json!({"type": "text", "text": message});
        self.answers("prompts/get", &json!({"messages": [{"role": "user", "content": content}]}));
        self.answers("resources/read", &json!({"contents": [{"uri": "note://a", "text": text}]}));
    }

    /// From now on the server has these tools, which accept any arguments.
    pub fn lists(&self, tools: &[&str]) {
        let tool =
            |name: &&str| json!({"name":name,"description":format!("Does {name}."),"inputSchema":{"type":"object"}});
        self.answers("tools/list", &json!({"tools": tools.iter().map(tool).collect::<Vec<_>>()}));
    }

    /// From now on the server answers this to a method, or a tool after `tools/call_`.
    pub fn answers(&self, method: &str, result: &Value) {
        self.files.write(method.replace('/', "_"), format!("\"result\":{result}"));
    }

    /// From now on the server answers with an error.
    pub fn refuses(&self, method: &str, code: i64, message: &str) {
        let error = json!({"code":code,"message":message});
        self.files.write(method.replace('/', "_"), format!("\"error\":{error}"));
    }

    /// From now on the server does not answer this method.
    pub fn ignores(&self, method: &str) {
        self.files.write(method.replace('/', "_"), "");
    }

    /// From now on the server asks a person before it answers a call of this tool. The id of the question is `q`.
    pub fn asks_before(&self, tool: &str, question: &Value) {
        self.files.write(format!("question_{tool}"), question.to_string());
    }

    /// The server ends as soon as it has asked a person.
    pub fn leaves_after_asking(&self) {
        self.files.write("leaves", "");
    }

    /// What the server got for its questions, in order.
    pub fn answers_to_questions(&self) -> Vec<Value> {
        self.asked().into_iter().filter(|line| line["id"] == "q").map(|line| line["result"].clone()).collect()
    }

    /// The server ends as soon as it is started.
    pub fn is_dead(&self) {
        self.files.write("exit", "");
    }

    /// The command line that starts the server.
    pub fn argv(&self) -> Vec<String> {
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        vec!["/bin/sh".to_owned(), shown(self.files.path("server.sh")), shown(self.files.path("."))]
    }

    /// The keys of a configuration for the server, after the header of its table.
    pub fn config(&self) -> String {
        let argv = self.argv();
        format!("command = {:?}\nargs = {:?}\n", argv[0], &argv[1..])
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Value> {
        let asked = std::fs::read_to_string(self.files.path("asked")).unwrap_or_default();
        asked.lines().map(|line| serde_json::from_str(line).expect("clients speak JSON")).collect()
    }
}
