//! A turn of the real program with a model that plays a given script.
//!
//! Not here: what becomes of it (`suite`).

use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::RecordedRequest;
use serde_json::Value;
use serde_json::json;

use crate::trial::Ran;
use crate::trial::Trial;
use crate::trial::Way;

/// Something that the model asks for.
#[derive(Debug, Clone)]
pub enum Call {
    /// A command that is waited for.
    Shell(String),
    /// A command in a terminal, which continues while the next call is made.
    Terminal(String),
    /// A patch in its own format.
    Patch(String),
    /// A call of any tool: name and arguments.
    Tool(String, Value),
}

pub fn shell(script: &str) -> Call {
    Call::Shell(script.to_owned())
}

pub fn terminal(script: &str) -> Call {
    Call::Terminal(script.to_owned())
}

pub fn patch(text: &str) -> Call {
    Call::Patch(format!("*** Begin Patch\n{}\n*** End Patch", text.trim_end()))
}

/// A patch that adds a file.
pub fn add(path: &str, text: &str) -> Call {
    let lines: Vec<String> = text.lines().map(|line| format!("+{line}")).collect();
    patch(&format!("*** Add File: {path}\n{}", lines.join("\n")))
}

/// The model that answers in the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    /// The embedded model with a script.
    Script,
    /// A server, as a real provider is.
    Server,
}

/// A turn that is being described.
#[derive(Debug)]
pub struct Turn<'a> {
    trial: &'a Trial,
    sandbox: &'static str,
    folder: String,
    words: Vec<String>,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    model: Model,
    is_always_confined: bool,
}

impl<'a> Turn<'a> {
    pub fn new(trial: &'a Trial) -> Self {
        Self {
            trial,
            sandbox: "workspace-write",
            folder: "work".to_owned(),
            words: vec!["exec".to_owned()],
            args: Vec::new(),
            variables: Vec::new(),
            model: Model::Script,
            is_always_confined: false,
        }
    }

    /// Commands are confined even where the attempt is only to be shown to be real.
    pub fn always_confined(mut self) -> Self {
        self.is_always_confined = true;
        self
    }

    /// Nothing may be written.
    pub fn reading(mut self) -> Self {
        self.sandbox = "read-only";
        self
    }

    /// The last session continues.
    pub fn resumed(mut self) -> Self {
        self.words = vec!["exec".to_owned(), "resume".to_owned(), "--last".to_owned()];
        self
    }

    /// A review of what is not committed.
    pub fn review(mut self) -> Self {
        self.words = vec!["exec".to_owned(), "review".to_owned(), "--uncommitted".to_owned()];
        self
    }

    /// In another folder of the world.
    pub fn within(mut self, folder: &str) -> Self {
        self.folder = folder.to_owned();
        self
    }

    /// Uses a mock server as the model, so that the test sees the requests with the repository's state.
    pub fn by_server(mut self) -> Self {
        self.model = Model::Server;
        self
    }

    pub fn config(self, setting: &str) -> Self {
        self.args(&["-c", setting])
    }

    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| self.trial.fill(arg)));
        self
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), self.trial.fill(value)));
        self
    }

    /// Arguments that say how commands are confined.
    fn confinement(&self) -> Vec<String> {
        match self.trial.way() {
            Way::Free if self.is_always_confined => vec!["-c".to_owned(), format!("sandbox_mode={}", self.sandbox)],
            Way::Free => vec!["-c".to_owned(), "sandbox_mode=danger-full-access".to_owned()],
            Way::Confined(backend) => vec![
                "-c".to_owned(),
                format!("sandbox_mode={}", self.sandbox),
                "-c".to_owned(),
                format!("sandbox_backend={}", backend.as_str()),
            ],
        }
    }

    /// Runs it: the model makes these calls one after the other, then says that it is done.
    pub fn run(self, calls: &[Call]) -> Ran {
        self.run_seen(calls).0
    }

    /// The same, with what the server was asked.
    pub fn run_seen(self, calls: &[Call]) -> (Ran, Vec<RecordedRequest>) {
        let trial = self.trial;
        let is_unified = calls.iter().any(|call| matches!(call, Call::Terminal(_)));
        let mut command = trial.product();
        command.args(&self.words);
        // Options of a turn may be before or after `resume`; these are known to all commands.
        command.args(self.confinement()).args(["--skip-git-repo-check", "--json"]);
        command.args(if is_unified { ["--enable", "unified_exec"] } else { ["--disable", "unified_exec"] });
        command.args(&self.args);
        let items: Vec<Value> = calls.iter().enumerate().map(|(at, call)| item(trial, call, at, is_unified)).collect();
        let mut server = None;
        match self.model {
            Model::Script => {
                let path = trial.write(&trial.fresh("script.jsonl"), &script(&items));
                command.arg("--script").arg(path);
            }
            Model::Server => {
                let started = server.insert(MockServer::start(replies(items)));
                command.args(["-c", "model_provider=mock", "-c", &provider(&started.base_url())]);
                command.env("MOCK_KEY", "key");
            }
        }
        if !self.words.contains(&"review".to_owned()) {
            command.arg("go");
        }
        trial.around(&mut command, &self.folder);
        command.env("MOCK_KEY", "key").envs(self.variables);
        let ran = trial.run(&mut command, None);
        let requests = server.map(|server| server.requests()).unwrap_or_default();
        if std::env::var_os("AROUND_SHOW").is_some() {
            println!("{command:?}\n{}", ran.said());
        }
        (ran, requests)
    }
}

/// A provider at this address, as a setting.
pub fn provider(base_url: &str) -> String {
    format!(
        "model_providers.mock={{name='mock',base_url='{base_url}',env_key='MOCK_KEY',wire_api='responses',\
         request_max_retries=0,stream_max_retries=0}}"
    )
}

/// What a model says to make a call.
pub fn item(trial: &Trial, call: &Call, at: usize, is_unified: bool) -> Value {
    let (name, args) = match call {
        Call::Shell(script) if !is_unified => {
            ("shell_command", json!({ "command": trial.fill(script), "login": false, "timeout_ms": 20_000 }))
        }
        Call::Shell(script) => {
            ("exec_command", json!({ "cmd": trial.fill(script), "login": false, "yield_time_ms": 10_000 }))
        }
        Call::Terminal(script) => {
            ("exec_command", json!({ "cmd": trial.fill(script), "login": false, "yield_time_ms": 250 }))
        }
        Call::Patch(text) => {
            let input = trial.fill(text);
            return json!({ "type": "custom_tool_call", "id": format!("ct_{at}"), "call_id": format!("call_{at}"),
                "name": "apply_patch", "input": input });
        }
        Call::Tool(name, args) => (name.as_str(), args.clone()),
    };
    let arguments = trial.fill(&args.to_string());
    json!({ "type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"), "name": name,
        "arguments": arguments })
}

/// A script for the embedded model: a call in each reply, then an end.
pub fn script(items: &[Value]) -> String {
    let mut lines: Vec<_> = items.iter().map(|item| json!({ "items": [item] }).to_string()).collect();
    lines.push(json!({ "say": "done" }).to_string());
    lines.join("\n") + "\n"
}

fn replies(items: Vec<Value>) -> Vec<MockReply> {
    let mut replies: Vec<_> = items.into_iter().map(|item| MockReply::items([item])).collect();
    replies.push(MockReply::say("done"));
    replies
}
