//! The answers of Codex CLI 0.104.0, over pipes: a JSON-RPC message to a line.
//!
//! Where that program has no answer (`resources/*`, `prompts/*`, `logging/setLevel`, `completion/complete`, a call whose
//! turn was interrupted), there is none here either. `outbox` has the lines for the client, `tools` what it can call,
//! `approval` the questions and replies, `events` what it receives of a turn.

mod approval;
mod events;
mod outbox;
mod tools;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering;

use pellucid_agent::identity::ClientIdentity;
use pellucid_agent::identity::VERSION;
use pellucid_agent::identity::new_turn_id;
use pellucid_agent::pipe::LineRead;
use pellucid_agent::pipe::read_line;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::RawItems;
use pellucid_protocol::id::TurnId;
use pellucid_tasks::Task;
use rmcp::model::CallToolRequestParams;
use rmcp::model::ClientNotification;
use rmcp::model::ClientRequest;
use rmcp::model::ErrorCode;
use rmcp::model::ErrorData;
use rmcp::model::InitializeRequestParams;
use rmcp::model::JsonRpcMessage;
use rmcp::model::RequestId;
use serde_json::Value;
use serde_json::json;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::BufReader;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use self::outbox::Outbox;
use self::tools::CODEX;
use self::tools::CODEX_REPLY;
use self::tools::CodexCall;
use self::tools::CodexReplyCall;
use self::tools::ToolAnswer;
use crate::open::OpenFailure;
use crate::question::CallQuestion;
use crate::question::CallReply;
use crate::server::END_WAIT;
use crate::server::ToolServer;
use crate::session::Boxed;
use crate::session::CalledSession;
use crate::session::ToolCaller;

/// The size limit of a line in bytes.
const LINE_BYTES_MAX: usize = 64 << 20;

/// How many calls may be worked on.
const CALLS_MAX: usize = 1_000;

/// How providers know sessions of this server.
const ORIGINATOR: &str = "codex_cli_rs";

/// What a client sends. Its answers are read where they are waited for, because they have another form.
type Message = JsonRpcMessage<ClientRequest, Value, ClientNotification>;

/// The client on the other end.
struct Client {
    server: Arc<ToolServer>,
    outbox: Outbox,
    identity: OnceLock<ClientIdentity>,
    /// How many questions were asked. Their ids count from 0.
    n_asked: AtomicI64,
    questions: Mutex<BTreeMap<i64, oneshot::Sender<Option<Value>>>>,
    /// The calls that are worked on, by the ids of their requests as JSON.
    calls: Mutex<BTreeMap<String, CancellationToken>>,
}

/// Serves the client until it closes its end, then ends all sessions.
///
/// # Errors
/// When the client's end cannot be read.
pub async fn serve(
    server: Arc<ToolServer>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let (outbox, queue) = Outbox::new();
    let writer = Task::spawn("writing to the client", outbox::write(queue, output));
    let client = Arc::new(Client {
        server,
        outbox,
        identity: OnceLock::new(),
        n_asked: AtomicI64::new(0),
        questions: Mutex::default(),
        calls: Mutex::default(),
    });
    let mut lines = BufReader::new(input);
    let mut line = Vec::new();
    tokio::pin!(end);
    let ended = loop {
        let read = tokio::select! {
            biased;
            () = &mut end => break Ok(()),
            read = read_line(&mut lines, &mut line, LINE_BYTES_MAX) => read,
        };
        match read {
            Ok(LineRead::Line) => client.receive(&line).await,
            Ok(LineRead::TooLong) => tracing::error!("a line of more than {LINE_BYTES_MAX} bytes is skipped"),
            Ok(LineRead::End) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    // Who still asks gets no answer, so nothing waits for one.
    held(&client.questions).clear();
    client.server.shut_down().await;
    client.outbox.close();
    // The last lines are written; if the client has stopped reading, it has closed the pipe.
    let _ = tokio::time::timeout(END_WAIT, writer).await;
    ended
}

impl Client {
    async fn receive(self: &Arc<Self>, line: &[u8]) {
        match serde_json::from_slice::<Message>(line) {
            Ok(JsonRpcMessage::Request(message)) => self.request(message.id, message.request).await,
            Ok(JsonRpcMessage::Notification(message)) => self.notified(&message.notification),
            Ok(JsonRpcMessage::Response(message)) => self.answered(&message.id, Some(message.result)),
            Ok(JsonRpcMessage::Error(message)) => match message.id {
                Some(id) => self.answered(&id, None),
                None => tracing::warn!("an error without an id is ignored"),
            },
            // What the line says may be private, so it is not logged.
            Err(_) => tracing::error!("a line that is no message is skipped"),
        }
    }

    async fn request(self: &Arc<Self>, id: RequestId, request: ClientRequest) {
        let outcome = match request {
            ClientRequest::InitializeRequest(request) => self.initialize(&request.params),
            ClientRequest::PingRequest(_) => Ok(json!({})),
            ClientRequest::ListToolsRequest(_) => Ok(json!({ "tools": tools::list() })),
            ClientRequest::CallToolRequest(request) => return self.call(id, request.params).await,
            ClientRequest::CompleteRequest(_)
            | ClientRequest::SetLevelRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ListPromptsRequest(_)
            | ClientRequest::ListResourcesRequest(_)
            | ClientRequest::ListResourceTemplatesRequest(_)
            | ClientRequest::ReadResourceRequest(_)
            | ClientRequest::SubscribeRequest(_)
            | ClientRequest::UnsubscribeRequest(_) => return,
            other => {
                let method = other.method();
                let text = format!("method not found: {method}");
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, Some(json!({ "method": method }))))
            }
        };
        self.answer(&id, outcome).await;
    }

    async fn answer(&self, id: &RequestId, outcome: Result<Value, ErrorData>) {
        self.outbox
            .send(&match outcome {
                Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
            })
            .await;
    }

    fn initialize(&self, hello: &InitializeRequestParams) -> Result<Value, ErrorData> {
        let client = &hello.client_info;
        let identity = ClientIdentity::for_client(ORIGINATOR, &client.name, &client.version, &self.server.ground.env);
        let user_agent = identity.user_agent.clone();
        if self.identity.set(identity).is_err() {
            return Err(ErrorData::invalid_request("initialize called more than once", None));
        }
        Ok(json!({
            "protocolVersion": hello.protocol_version,
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": {
                "name": "codex-mcp-server",
                "title": "Codex",
                "version": VERSION,
                "user_agent": user_agent,
            },
        }))
    }

    fn notified(&self, notification: &ClientNotification) {
        if let ClientNotification::CancelledNotification(cancelled) = notification
            && let Some(id) = &cancelled.params.request_id
        {
            match held(&self.calls).get(&key(id)) {
                Some(call) => call.cancel(),
                None => tracing::warn!("a call that is not worked on is cancelled"),
            }
        }
    }

    fn answered(&self, id: &RequestId, result: Option<Value>) {
        let asked = match id {
            RequestId::Number(id) => held(&self.questions).remove(id),
            RequestId::String(_) => None,
        };
        match asked {
            // Who asked may not wait any more.
            Some(sender) => drop(sender.send(result)),
            None => tracing::warn!("an answer to no open question is ignored"),
        }
    }

    /// Begins to work on the call of a tool.
    async fn call(self: &Arc<Self>, id: RequestId, params: CallToolRequestParams) {
        let called_off = CancellationToken::new();
        let is_full = {
            let mut calls = held(&self.calls);
            let is_full = calls.len() >= CALLS_MAX;
            if !is_full {
                calls.insert(key(&id), called_off.clone());
            }
            is_full
        };
        if is_full {
            let answer = ToolAnswer::error(format!("{CALLS_MAX} calls are worked on already"));
            return self.answer(&id, Ok(answer.json())).await;
        }
        let client = self.clone();
        self.server.tasks.spawn("a call", async move {
            let arguments = params.arguments.map(Value::Object);
            let answer = match &*params.name {
                CODEX => client.codex(&id, arguments, &called_off).await,
                CODEX_REPLY => client.codex_reply(&id, arguments, &called_off).await,
                other => Some(ToolAnswer::error(format!("Unknown tool '{other}'"))),
            };
            held(&client.calls).remove(&key(&id));
            if let Some(answer) = answer {
                client.answer(&id, Ok(answer.json())).await;
            }
        });
    }

    async fn codex(
        self: &Arc<Self>,
        id: &RequestId,
        arguments: Option<Value>,
        called_off: &CancellationToken,
    ) -> Option<ToolAnswer> {
        let call = match CodexCall::read(arguments) {
            Ok(call) => call,
            Err(why) => return Some(ToolAnswer::error(why)),
        };
        let opened = self.server.open(call.settings, self.identity.get().cloned(), RawItems::Shown).await;
        let (session, feed) = match opened {
            Ok(opened) => opened,
            Err(OpenFailure::Config(why)) => {
                let text = format!("Failed to load Codex configuration from overrides: {why}");
                return Some(ToolAnswer::error(text));
            }
            Err(OpenFailure::Session(why)) => {
                return Some(ToolAnswer::error(format!("Failed to start Codex session: {why}")));
            }
        };
        // The first turn has the id of its request.
        let turn = (TurnId::new(id.to_string()), call.prompt);
        let end = session.turn(&self.server, Some(feed), turn, self.caller(id), called_off).await;
        ToolAnswer::of_turn(&session.id, end)
    }

    async fn codex_reply(
        self: &Arc<Self>,
        id: &RequestId,
        arguments: Option<Value>,
        called_off: &CancellationToken,
    ) -> Option<ToolAnswer> {
        let call = match CodexReplyCall::read(arguments) {
            Ok(call) => call,
            Err(why) => return Some(ToolAnswer::error(why)),
        };
        let Some(session) = self.server.find(&call.session) else {
            let text = format!("Session not found for thread_id: {}", call.session);
            return Some(ToolAnswer::error(text).of(&call.session));
        };
        let turn = (new_turn_id(), call.prompt);
        let end = session.turn(&self.server, None, turn, self.caller(id), called_off).await;
        ToolAnswer::of_turn(&session.id, end)
    }

    fn caller(self: &Arc<Self>, id: &RequestId) -> Arc<dyn ToolCaller> {
        Arc::new(ParityCaller { client: self.clone(), request: id.clone() })
    }
}

/// A call of this client.
struct ParityCaller {
    client: Arc<Client>,
    request: RequestId,
}

impl ToolCaller for ParityCaller {
    fn event<'a>(&'a self, session: &'a CalledSession, event: &'a Event) -> Boxed<'a, ()> {
        Box::pin(async move {
            let home = &self.client.server.ground.home;
            if let Some(told) = events::notification(event, &self.request, session, home) {
                self.client.outbox.send(&told).await;
            }
        })
    }

    #[expect(clippy::async_yields_async, reason = "the question is sent at once, and its answer is awaited later")]
    fn ask<'a>(
        &'a self,
        session: &'a str,
        event: &'a str,
        question: &'a CallQuestion,
    ) -> Boxed<'a, Boxed<'static, CallReply>> {
        Box::pin(async move {
            let nothing: Boxed<'static, CallReply> = Box::pin(std::future::ready(CallReply::Nothing));
            let place = approval::QuestionPlace { session, request: &self.request.to_string(), event };
            let Some(params) = approval::params(question, &place) else { return nothing };
            let id = self.client.n_asked.fetch_add(1, Ordering::Relaxed);
            let (sender, answer) = oneshot::channel();
            held(&self.client.questions).insert(id, sender);
            let line = json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params });
            self.client.outbox.send(&line).await;
            let reply: Boxed<'static, CallReply> =
                Box::pin(async move { approval::reply(answer.await.ok().flatten().as_ref()) });
            reply
        })
    }

    fn hears_late(&self) -> bool {
        true
    }
}

/// What distinguishes the id of a request: the number 1 is another id than the text "1".
fn key(id: &RequestId) -> String {
    json!(id).to_string()
}

/// Locks, even if another holder of the lock panicked.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
