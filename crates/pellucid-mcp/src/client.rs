//! A connection to one MCP server.
//!
//! Every request has a time limit; a request that takes too long is cancelled at the server too. A connection that has
//! ended stays so: `servers` makes another one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pellucid_engine::mcp::is_server_name;
use pellucid_exec::service::Pipes;
use pellucid_exec::service::Service;
use pellucid_protocol::mcp::McpFailure;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpToolResult;
use pellucid_protocol::number;
use pellucid_tasks::Tasks;
use rmcp::RoleClient;
use rmcp::ServiceError;
use rmcp::model::CallToolRequestParams;
use rmcp::model::GetPromptRequestParams;
use rmcp::model::PaginatedRequestParams;
use rmcp::model::ReadResourceRequestParams;
use rmcp::model::RequestMetaObject;
use rmcp::model::SubscribeRequestParams;
use rmcp::service::ClientInitializeError;
use rmcp::service::RunningService;
use rmcp::service::serve_client_with_lifecycle;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Map;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::elicitation::Limits;
use crate::elicitation::OpenQuestions;
use crate::elicitation::Person;
use crate::failure;
use crate::lines::Lines;
use crate::listing;
use crate::listing::Listing;
use crate::login::bearer;
use crate::login::bearer::Bearer;
use crate::login::tokens::Tokens;
use crate::news::News;
use crate::revision::Greeting;
use crate::spec::ClientName;
use crate::spec::HttpClients;
use crate::spec::Reach;
use crate::spec::ServerSpec;
use crate::stderr;
use crate::us;
use crate::us::Us;
use crate::web;
use crate::web::BoundedHttp;

/// How long a program may take to end by itself.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// How often a server may ask for more input before it answers one request.
const ROUNDS_MAX: usize = 8;

/// How many entries of a list are read.
const ENTRIES_MAX: usize = 10_000;

/// A connection to one MCP server.
#[derive(Debug)]
pub(crate) struct Client {
    running: RunningService<RoleClient, Us>,
    limits: Limits,
    /// The server's program, if it has one.
    program: Mutex<Option<Service>>,
    /// The tokens of the login, if the server has one.
    login: Option<Tokens>,
}

/// Why a server cannot be used.
#[derive(Debug)]
pub(crate) enum NoClient {
    /// Servers cannot have this name.
    Unnamed,
    /// The server did not answer in time.
    TimedOut,
    /// The server requires a login.
    LoginRequired,
    /// The server refused the login, or what it covers; the text says what to do.
    LoginRefused(String),
    /// Any other error, as text for people.
    Failed(String),
}

impl Client {
    /// Starts a server and lists its tools. `known` is the revision that the server spoke lately.
    pub(crate) async fn connect(
        spec: &ServerSpec,
        known: Option<&str>,
        http: &HttpClients,
        name: &ClientName,
        person: Arc<dyn Person>,
    ) -> Result<Self, NoClient> {
        if !is_server_name(&spec.name) {
            return Err(NoClient::Unnamed);
        }
        let questions = OpenQuestions::new(person);
        let Greeting { mode, revision, more } = Greeting::of(spec.protocol, known);
        let us = Us {
            server: spec.name.clone(),
            name: name.clone(),
            questions: questions.clone(),
            news: News::new(spec.name.clone(), spec.follow.is_some(), spec.startup_timeout),
            roots: spec.follow.as_ref().map(|follow| follow.roots.iter().map(|folder| us::root(folder)).collect()),
            revision,
        };
        let limit = spec.startup_timeout + more;
        match spec.reach.as_ref().map_err(|error| NoClient::Failed(error.clone()))? {
            Reach::Program(command) => {
                let started = Service::start(command).await;
                let (service, pipes) = started.map_err(|error| {
                    let program = command.argv.first().map_or("", String::as_str);
                    NoClient::Failed(format!("the program `{program}` cannot be started: {error}"))
                })?;
                let Pipes { stdin, stdout, stderr } = pipes;
                // The task ends when the program does.
                Tasks::of_process()
                    .spawn("reading standard error of an MCP server", stderr::log(spec.name.clone(), stderr));
                let lines = Lines::new(questions.watched(stdout), stdin, spec.max_message_bytes);
                let running = within(limit, None, serve_client_with_lifecycle(us, lines, mode)).await?;
                Self::ready(spec, running, Some(service), None).await
            }
            Reach::Http(reach) => {
                let client = http.get(&reach.url).map_err(NoClient::Failed)?;
                let client = BoundedHttp::new(client, spec.max_message_bytes);
                let client = Bearer::new(client, reach.login.clone(), questions);
                let transport = web::transport(client, reach, spec.max_message_bytes).map_err(NoClient::Failed)?;
                let login = reach.login.clone();
                let running = within(limit, login.as_ref(), serve_client_with_lifecycle(us, transport, mode)).await?;
                Self::ready(spec, running, None, login).await
            }
        }
    }

    async fn ready(
        spec: &ServerSpec,
        running: RunningService<RoleClient, Us>,
        program: Option<Service>,
        login: Option<Tokens>,
    ) -> Result<Self, NoClient> {
        let news = &running.service().news;
        let is_about_login = AtomicBool::new(false);
        let why = |error: &ServiceError| match bearer::remedy(error, login.as_ref()) {
            Some(remedy) => {
                is_about_login.store(true, Ordering::Relaxed);
                remedy
            }
            None => failure::of_request(error),
        };
        let listed = timeout(spec.startup_timeout, listing::read(&running, news.pages(), &why)).await;
        let failed = |error| match is_about_login.load(Ordering::Relaxed) {
            true => NoClient::LoginRefused(error),
            false => NoClient::Failed(error),
        };
        news.set(listed.map_err(|_| NoClient::TimedOut)?.map_err(failed)?);
        let limits = Limits { idle: spec.tool_timeout, total: spec.tool_timeout_max };
        Ok(Self { running, limits, program: Mutex::new(program), login })
    }

    /// The tools of the server, also those that are not offered to the model.
    pub(crate) fn listing(&self) -> Arc<Listing> {
        self.news().listing()
    }

    /// What the server reported since it was started.
    pub(crate) fn news(&self) -> &News {
        &self.running.service().news
    }

    /// Asks for the tools again if the time is over that the server gave for its list.
    pub(crate) async fn refresh(&self) {
        if self.news().is_over() {
            self.news().changed(self.running.peer()).await;
        }
    }

    /// The revision of the protocol that the server speaks.
    pub(crate) fn revision(&self) -> Option<String> {
        Some(self.running.peer_info()?.protocol_version.to_string())
    }

    /// Whether the connection has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.running.service().questions.is_gone() || self.running.is_transport_closed()
    }

    /// Calls a tool of the server.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Option<Map<String, Value>>,
        traceparent: Option<String>,
    ) -> Result<McpToolResult, McpFailure> {
        // Only a list that was read again can lack a tool that the model was offered.
        if *self.news().changes().borrow() > 0 && !self.listing().has(tool) {
            return Err(McpFailure::new("the server no longer has this tool"));
        }
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = arguments;
        params.meta = traceparent.as_deref().map(meta);
        let called = self.running.call_tool_with_mrtr_max_rounds(params, ROUNDS_MAX);
        let result = self.asked("tools/call", called).await?;
        let result: McpToolResult =
            plain(&result).map_err(|error| McpFailure::new(format!("tools/call failed: {error}")))?;
        // A result without content counts as no result, as in the reference.
        if result.content.is_empty() && result.structured_content.is_none() {
            return Err(McpFailure::new("tools/call failed: Unexpected response type"));
        }
        Ok(result)
    }

    /// A page of the server's resources.
    pub(crate) async fn resources(&self, cursor: Option<String>) -> Result<McpPage, McpFailure> {
        let listed = self.asked("resources/list", self.running.list_resources(page(cursor))).await?;
        Ok(McpPage { entries: entries(&listed.resources), next_cursor: listed.next_cursor })
    }

    /// A page of the server's resource templates.
    pub(crate) async fn templates(&self, cursor: Option<String>) -> Result<McpPage, McpFailure> {
        let listed = self.running.list_resource_templates(page(cursor));
        let listed = self.asked("resources/templates/list", listed).await?;
        Ok(McpPage { entries: entries(&listed.resource_templates), next_cursor: listed.next_cursor })
    }

    /// A page of the server's prompts.
    pub(crate) async fn prompts(&self, cursor: Option<String>) -> Result<McpPage, McpFailure> {
        let listed = self.asked("prompts/list", self.running.list_prompts(page(cursor))).await?;
        Ok(McpPage { entries: entries(&listed.prompts), next_cursor: listed.next_cursor })
    }

    /// Whether the server says that it has prompts.
    pub(crate) fn has_prompts(&self) -> bool {
        self.running.peer_info().is_some_and(|info| info.capabilities.prompts.is_some())
    }

    /// The messages of a prompt.
    pub(crate) async fn prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, McpFailure> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let got = self.asked("prompts/get", self.running.get_prompt_with_mrtr_max_rounds(params, ROUNDS_MAX)).await?;
        plain(&got).map_err(|error| McpFailure::new(format!("prompts/get failed: {error}")))
    }

    /// The contents of a resource.
    pub(crate) async fn read(&self, uri: &str, traceparent: Option<String>) -> Result<Map<String, Value>, McpFailure> {
        let mut params = ReadResourceRequestParams::new(uri);
        params.meta = traceparent.as_deref().map(meta);
        let read = self.running.read_resource_with_mrtr_max_rounds(params, ROUNDS_MAX);
        let read = self.asked("resources/read", read).await?;
        Ok(Map::from_iter([("contents".to_owned(), entries(&read.contents).into())]))
    }

    /// Has the server report when a resource changes that was read, if the server can.
    #[expect(deprecated, reason = "servers of the revisions before 2026-07-28 are asked so")]
    pub(crate) async fn subscribe(&self, uri: &str) {
        let info = self.running.peer_info();
        let resources = info.as_ref().and_then(|info| info.capabilities.resources.as_ref());
        if resources.is_none_or(|resources| resources.subscribe != Some(true)) {
            return;
        }
        let subscribed = self.running.subscribe(SubscribeRequestParams::new(uri));
        if let Err(failure) = self.asked("resources/subscribe", subscribed).await {
            tracing::warn!(server = self.running.service().server, uri, %failure, "changes of a resource are not reported");
        }
    }

    async fn asked<T>(
        &self,
        method: &str,
        asking: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, McpFailure> {
        match self.running.service().questions.within(self.limits, asking).await {
            Ok(answer) => answer
                .map_err(|error| McpFailure::new(format!("{method} failed: {}", why(&error, self.login.as_ref())))),
            Err(limit) => {
                let what = format!("timed out awaiting {method} after {limit:?}");
                Err(McpFailure::new("deadline has elapsed").of(what))
            }
        }
    }

    /// Ends the server's program, if it has one.
    pub(crate) async fn end(&self) {
        let program = self.program.lock().await.take();
        if let Some(program) = program {
            program.end(END_PATIENCE).await;
        }
    }
}

/// Collects all pages of a list.
pub(crate) async fn all_pages<F>(mut page: impl FnMut(Option<String>) -> F) -> Result<Vec<Value>, McpFailure>
where
    F: Future<Output = Result<McpPage, McpFailure>>,
{
    let (mut entries, mut cursor) = (Vec::new(), None);
    let mut seen = BTreeSet::new();
    loop {
        let McpPage { entries: more, next_cursor } = page(cursor).await?;
        entries.extend(more);
        if entries.len() > ENTRIES_MAX {
            return Err(McpFailure::new(format!("the server lists more than {ENTRIES_MAX} entries")));
        }
        let Some(next) = next_cursor else { return Ok(entries) };
        if !seen.insert(next.clone()) {
            return Err(McpFailure::new(format!("the server returned the cursor `{next}` twice")));
        }
        cursor = Some(next);
    }
}

/// Why a request failed, and what to do if a login would help.
fn why(error: &ServiceError, login: Option<&Tokens>) -> String {
    bearer::remedy(error, login).unwrap_or_else(|| failure::of_request(error))
}

async fn within<T>(
    limit: Duration,
    login: Option<&Tokens>,
    greeting: impl Future<Output = Result<T, ClientInitializeError>>,
) -> Result<T, NoClient> {
    match timeout(limit, greeting).await {
        Ok(Ok(greeted)) => Ok(greeted),
        Ok(Err(error)) if error.is_authorization_required() => Err(NoClient::LoginRequired),
        Ok(Err(error)) => {
            let remedy = match &error {
                ClientInitializeError::TransportError { error, .. } => bearer::remedy_of_sending(error, login),
                _ => None,
            };
            let failed = |what: String| format!("the handshake failed: {what}");
            match remedy {
                Some(remedy) => Err(NoClient::LoginRefused(failed(remedy))),
                None => Err(NoClient::Failed(failed(failure::of_greeting(&error)))),
            }
        }
        Err(_) => Err(NoClient::TimedOut),
    }
}

/// What a request says of the span that it belongs to.
fn meta(traceparent: &str) -> RequestMetaObject {
    let mut meta = RequestMetaObject::default();
    meta.set_traceparent(traceparent);
    meta
}

fn page(cursor: Option<String>) -> Option<PaginatedRequestParams> {
    cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)))
}

/// Converts a value of the SDK to plain data.
pub(crate) fn plain<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, serde_json::Error> {
    serde_json::from_value(number::as_doubles(serde_json::to_value(value)?))
}

/// The entries as the server describes them. An entry that has no JSON form did not come from JSON, and is left out.
fn entries(listed: &[impl Serialize]) -> Vec<Value> {
    listed.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect()
}
