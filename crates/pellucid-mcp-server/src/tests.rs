//! The server as a client sees it: lines in, lines out, and HTTP.

mod http;
mod standard;

use std::collections::VecDeque;
use std::sync::Arc;

use pellucid_agent::ground::Ground;
use pellucid_config::Env;
use pellucid_model::Script;
use pellucid_testkit::Workspace;
use serde_json::Value;
use serde_json::json;
use tokio::io::AsyncBufReadExt;
use tokio::io::AsyncWriteExt;
use tokio::io::BufReader;
use tokio::io::DuplexStream;
use tokio::io::Lines;
use tokio::io::ReadHalf;
use tokio::io::WriteHalf;
use tokio::task::JoinHandle;

use crate::server::ToolServer;

/// A server whose model answers from this script.
fn server(home: &Workspace, script: &str) -> Arc<ToolServer> {
    home.folder("work");
    ToolServer::new(Ground {
        home: home.root().to_owned(),
        env: Env::from_pairs([("PATH", "/usr/bin:/bin"), ("HOME", &home.root().to_string_lossy())]),
        cwd: home.path("work"),
        overrides: Vec::new(),
        script: Some(Script::parse("script.toml", script).unwrap()),
    })
}

/// A client on one end of a pipe, the server on the other.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    served: JoinHandle<std::io::Result<()>>,
    home: Workspace,
    n_sent: i64,
    /// What came and was not looked at.
    came: VecDeque<Value>,
}

impl Client {
    fn connect(script: &str) -> Self {
        let home = Workspace::empty();
        let (ours, theirs) = tokio::io::duplex(1 << 12);
        let (input, output) = tokio::io::split(theirs);
        let server = server(&home, script);
        let served = tokio::spawn(crate::standard::serve(server, input, output, std::future::pending()));
        let (output, input) = tokio::io::split(ours);
        Self { lines: BufReader::new(output).lines(), input, served, home, n_sent: 0, came: VecDeque::new() }
    }

    /// A client that was greeted, with these capabilities.
    async fn greeted(script: &str, capabilities: Value) -> Self {
        let mut client = Self::connect(script);
        let about = json!({ "name": "probe", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": about });
        let answer = client.ask("initialize", hello).await.unwrap();
        assert_eq!(answer["protocolVersion"], "2025-06-18");
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    async fn write(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> bool {
        let Some(line) = self.lines.next_line().await.unwrap() else { return false };
        self.came.push_back(serde_json::from_str(&line).unwrap());
        true
    }

    /// Waits for a message for which this holds.
    async fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.came.iter().position(&holds) {
                return self.came.remove(at).unwrap();
            }
            assert!(self.read().await, "the server ended; what came: {:?}", self.came);
        }
    }

    async fn send(&mut self, method: &str, params: Value) -> i64 {
        self.n_sent += 1;
        let id = self.n_sent;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    async fn answer(&mut self, id: i64) -> Result<Value, Value> {
        let mut message = self.until(|it| it["id"] == id && it.get("method").is_none()).await;
        match message.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(message["error"].take()),
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Calls a tool, and gives its structured content.
    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await.unwrap();
        assert_ne!(result["isError"], true, "{result}");
        result["structuredContent"].clone()
    }

    /// Closes this end, and waits for the server.
    async fn leave(mut self) -> Workspace {
        self.input.shutdown().await.unwrap();
        while self.read().await {}
        self.served.await.unwrap().unwrap();
        self.home
    }
}
