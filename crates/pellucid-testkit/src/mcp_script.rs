//! A server of tools that is a shell script: it answers MCP requests from files.
//!
//! What it answers to a method is in a file of that name with `/` as `_`; a call of a tool has the tool's name in its file's
//! name too. A file holds the member of the response that is the answer: `"result":{…}` or `"error":{…}`. An empty
//! file is silence. What it is asked is in the file `asked`, a line each.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::Workspace;

/// Reads a line, finds the answer, says it. Ids are numbers and come before anything else named so.
const SCRIPT: &str = include_str!("mcp_script.sh");

/// Such a server; its files are gone when it is dropped.
#[derive(Debug)]
pub struct McpScript {
    files: Workspace,
}

impl McpScript {
    /// A server with these tools, which take anything.
    pub fn new(tools: &[&str]) -> Self {
        let this = Self { files: Workspace::empty() };
        this.files.write("server.sh", SCRIPT);
        this.answers(
            "initialize",
            &json!({"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"script","version":"1"}}),
        );
        let tool =
            |name: &&str| json!({"name":name,"description":format!("Does {name}."),"inputSchema":{"type":"object"}});
        this.answers("tools/list", &json!({"tools": tools.iter().map(tool).collect::<Vec<_>>()}));
        this
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

    /// From now on the server says nothing to this.
    pub fn ignores(&self, method: &str) {
        self.files.write(method.replace('/', "_"), "");
    }

    /// The server ends as soon as it is started.
    pub fn is_dead(&self) {
        self.files.write("exit", "");
    }

    /// How it is started.
    pub fn argv(&self) -> Vec<String> {
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        vec!["/bin/sh".to_owned(), shown(self.files.path("server.sh")), shown(self.files.path("."))]
    }

    /// What a configuration says of it, after the header of its table.
    pub fn config(&self) -> String {
        let argv = self.argv();
        format!("command = {:?}\nargs = {:?}\n", argv[0], &argv[1..])
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Value> {
        let asked = std::fs::read_to_string(self.files.path("asked")).unwrap_or_default();
        asked.lines().map(|line| serde_json::from_str(line).expect("clients speak JSON")).collect()
    }
}
