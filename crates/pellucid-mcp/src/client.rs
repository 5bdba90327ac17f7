//! A connection to one MCP server.
//!
//! The server lists its tools once, when the connection is made. Every request has a time limit; a request that takes
//! too long is cancelled at the server too.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use http::HeaderValue;
use pellucid_exec::service::Pipes;
use pellucid_exec::service::Service;
use pellucid_protocol::elicitation::ElicitationAction as Action;
use pellucid_protocol::elicitation::ElicitationId;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::mcp::McpFailure;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::mcp::McpToolResult;
use pellucid_protocol::number;
use pellucid_tasks::Tasks;
use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::ServiceError;
use rmcp::model::CallToolRequestParams;
use rmcp::model::ClientCapabilities;
use rmcp::model::ClientConfig;
use rmcp::model::ElicitRequestParams;
use rmcp::model::ElicitResult;
use rmcp::model::ElicitationAction;
use rmcp::model::ElicitationCapability;
use rmcp::model::ErrorData;
use rmcp::model::FormElicitationCapability;
use rmcp::model::Implementation;
use rmcp::model::NumberOrString;
use rmcp::model::PaginatedRequestParams;
use rmcp::model::ProtocolVersion;
use rmcp::model::ReadResourceRequestParams;
use rmcp::service::ClientInitializeError;
use rmcp::service::RequestContext;
use rmcp::service::RunningService;
use rmcp::service::serve_client;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Map;
use serde_json::Value;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::elicitation::OpenQuestions;
use crate::elicitation::Person;
use crate::login::bearer;
use crate::login::bearer::Bearer;
use crate::login::tokens::Tokens;
use crate::spec::ClientName;
use crate::spec::HttpClients;
use crate::spec::HttpReach;
use crate::spec::Reach;
use crate::spec::ServerSpec;
use crate::stderr;

/// How long a program may take to end by itself.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// A connection to one MCP server.
#[derive(Debug)]
pub(crate) struct Client {
    running: RunningService<RoleClient, Us>,
    /// All tools of the server, also those that are not offered to the model.
    pub tools: Vec<McpTool>,
    tool_timeout: Duration,
    /// The server's program, if it has one.
    program: Mutex<Option<Service>>,
    /// The tokens of the login, if the server has one.
    login: Option<Tokens>,
}

/// Why a server cannot be used.
#[derive(Debug)]
pub(crate) enum NoClient {
    /// The server did not answer in time.
    TimedOut,
    /// The server requires a login.
    LoginRequired,
    /// Any other error, as text for people.
    Failed(String),
}

/// Our side of the connection, which answers requests of the server.
#[derive(Debug)]
pub(crate) struct Us {
    server: String,
    name: ClientName,
    questions: Arc<OpenQuestions>,
}

impl ClientHandler for Us {
    fn get_info(&self) -> ClientConfig {
        let form = ElicitationCapability::new().with_form(FormElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(form);
        let us = Implementation::new(&self.name.name, &self.name.version).with_title(&self.name.title);
        ClientConfig::new(capabilities, us).with_protocol_version(ProtocolVersion::V_2025_06_18)
    }

    /// Asks a person on behalf of the server. Only questions with a form are offered, and others are declined.
    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = params else {
            tracing::warn!(server = self.server, "declined a question of an MCP server that has no form");
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let schema = serde_json::to_value(requested_schema)
            .map_err(|error| ErrorData::invalid_params(format!("the schema cannot be read: {error}"), None))?;
        let id = match context.id {
            NumberOrString::Number(number) => ElicitationId::Number(number),
            NumberOrString::String(text) => ElicitationId::Text(text.to_string()),
        };
        let request = ElicitationRequest { server_name: self.server.clone(), id, message, schema };
        let answer = self.questions.ask(request, context.ct.cancelled()).await;
        let action = match answer.action {
            Action::Accept => ElicitationAction::Accept,
            Action::Decline => ElicitationAction::Decline,
            Action::Cancel => ElicitationAction::Cancel,
        };
        let mut result = ElicitResult::new(action);
        result.content = answer.content;
        Ok(result)
    }
}

impl Client {
    /// Starts a server and lists its tools.
    pub(crate) async fn connect(
        spec: &ServerSpec,
        http: &HttpClients,
        name: &ClientName,
        person: Arc<dyn Person>,
    ) -> Result<Self, NoClient> {
        let questions = OpenQuestions::new(person);
        let us = Us { server: spec.name.clone(), name: name.clone(), questions: questions.clone() };
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
                Self::over(spec, us, (questions.watched(stdout), stdin), Some(service)).await
            }
            Reach::Http(reach) => {
                let client = http.get(&reach.url).map_err(NoClient::Failed)?;
                let client = Bearer::new(client, reach.login.clone(), questions);
                let transport = StreamableHttpClientTransport::with_client(client, config(reach)?);
                let running = within(spec.startup_timeout, serve_client(us, transport)).await?;
                let login = reach.login.clone();
                Ok(Self { login, ..Self::ready(spec, running, None).await? })
            }
        }
    }

    /// Initialises a server over a pair of pipes.
    async fn over(
        spec: &ServerSpec,
        us: Us,
        pipes: (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static),
        program: Option<Service>,
    ) -> Result<Self, NoClient> {
        let running = within(spec.startup_timeout, serve_client(us, pipes)).await?;
        Self::ready(spec, running, program).await
    }

    async fn ready(
        spec: &ServerSpec,
        running: RunningService<RoleClient, Us>,
        program: Option<Service>,
    ) -> Result<Self, NoClient> {
        // Only the first page of tools is read, as other clients of MCP servers do.
        let listed = timeout(spec.startup_timeout, running.list_tools(None)).await;
        let listed = listed.map_err(|_| NoClient::TimedOut)?;
        let listed = listed.map_err(|error| NoClient::Failed(format!("tools/list failed: {error}")))?;
        let tools = listed.tools.iter().map(plain).collect::<Result<_, _>>();
        let tools = tools.map_err(|error| NoClient::Failed(format!("tools/list failed: {error}")))?;
        Ok(Self { running, tools, tool_timeout: spec.tool_timeout, program: Mutex::new(program), login: None })
    }

    /// Calls a tool of the server.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Option<Map<String, Value>>,
    ) -> Result<McpToolResult, McpFailure> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = arguments;
        let result = self.asked("tools/call", self.running.call_tool(params)).await?;
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

    /// The contents of a resource.
    pub(crate) async fn read(&self, uri: &str) -> Result<Map<String, Value>, McpFailure> {
        let read = self.running.read_resource(ReadResourceRequestParams::new(uri));
        let read = self.asked("resources/read", read).await?;
        Ok(Map::from_iter([("contents".to_owned(), entries(&read.contents).into())]))
    }

    async fn asked<T>(
        &self,
        method: &str,
        asking: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, McpFailure> {
        match self.running.service().questions.within(self.tool_timeout, asking).await {
            Some(answer) => answer.map_err(|error| {
                let remedy = bearer::remedy(&error, self.login.as_ref());
                McpFailure::new(format!("{method} failed: {}", remedy.unwrap_or_else(|| error.to_string())))
            }),
            None => {
                let what = format!("timed out awaiting {method} after {:?}", self.tool_timeout);
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
        let Some(next) = next_cursor else { return Ok(entries) };
        if !seen.insert(next.clone()) {
            return Err(McpFailure::new(format!("the server returned the cursor `{next}` twice")));
        }
        cursor = Some(next);
    }
}

async fn within<T>(
    limit: Duration,
    greeting: impl Future<Output = Result<T, ClientInitializeError>>,
) -> Result<T, NoClient> {
    match timeout(limit, greeting).await {
        Ok(Ok(greeted)) => Ok(greeted),
        Ok(Err(error)) if error.is_authorization_required() => Err(NoClient::LoginRequired),
        Ok(Err(error)) => Err(NoClient::Failed(format!("the handshake failed: {error}"))),
        Err(_) => Err(NoClient::TimedOut),
    }
}

fn config(reach: &HttpReach) -> Result<StreamableHttpClientTransportConfig, NoClient> {
    let mut headers = HashMap::new();
    for (name, value) in &reach.headers {
        let wrong = || NoClient::Failed(format!("the header `{name}` of its configuration is not valid"));
        let key = HeaderName::try_from(name).map_err(|_| wrong())?;
        headers.insert(key, HeaderValue::try_from(value.reveal()).map_err(|_| wrong())?);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(reach.url.as_str()).custom_headers(headers);
    Ok(match &reach.bearer {
        Some(token) => config.auth_header(token.reveal()),
        None => config,
    })
}

fn page(cursor: Option<String>) -> Option<PaginatedRequestParams> {
    cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)))
}

/// Converts a value of the SDK to plain data.
fn plain<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, serde_json::Error> {
    serde_json::from_value(number::as_doubles(serde_json::to_value(value)?))
}

/// The entries as the server describes them. An entry that has no JSON form did not come from JSON, and is left out.
fn entries(listed: &[impl Serialize]) -> Vec<Value> {
    listed.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect()
}
