//! The MCP servers of a session: started concurrently in the background, then called by name.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pellucid_engine::mcp::is_server_name;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::McpStartupFailure;
use pellucid_protocol::mcp::McpFailure;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpServerStatus;
use pellucid_protocol::mcp::McpStartupStatus;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::mcp::McpToolResult;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;
use pellucid_tasks::contained;
use serde_json::Map;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::watch;

use crate::auth;
use crate::client::Client;
use crate::client::NoClient;
use crate::client::all_pages;
use crate::elicitation::Person;
use crate::spec::ClientName;
use crate::spec::HttpClients;
use crate::spec::ServerSpec;

/// The MCP servers of a session. When the value is dropped, their programs end.
#[derive(Debug)]
pub struct Servers {
    servers: BTreeMap<String, Server>,
    http: HttpClients,
    /// Set when starts are to be interrupted.
    is_cancelled: watch::Sender<bool>,
    /// The tasks that start the servers, and report when all starts are over.
    _tasks: Tasks,
}

#[derive(Debug)]
struct Server {
    spec: Arc<ServerSpec>,
    state: watch::Receiver<State>,
}

/// The state of a server.
#[derive(Debug, Clone)]
enum State {
    Starting,
    Ready(Arc<Client>),
    Failed(String),
    Cancelled,
}

impl State {
    fn is_settled(&self) -> bool {
        !matches!(self, Self::Starting)
    }

    fn status(&self) -> McpStartupStatus {
        match self {
            Self::Starting => McpStartupStatus::Starting,
            Self::Ready(_) => McpStartupStatus::Ready,
            Self::Failed(error) => McpStartupStatus::Failed { error: error.clone() },
            Self::Cancelled => McpStartupStatus::Cancelled,
        }
    }
}

impl Servers {
    /// Begins to start servers. Events report the outcome: two for each server, and one when all starts are over. What
    /// servers want to know goes to `person`.
    pub fn start(
        specs: Vec<ServerSpec>,
        http: HttpClients,
        name: &ClientName,
        person: &Arc<dyn Person>,
    ) -> (Self, mpsc::UnboundedReceiver<EventMessage>) {
        let (reports, events) = mpsc::unbounded_channel();
        let is_cancelled = watch::Sender::new(false);
        let (mut servers, tasks) = (BTreeMap::new(), Tasks::default());
        for spec in specs {
            let spec = Arc::new(spec);
            let (sender, state) = watch::channel(State::Starting);
            let starting = Starting {
                spec: spec.clone(),
                http: http.clone(),
                name: name.clone(),
                person: person.clone(),
                events: reports.clone(),
                is_cancelled: is_cancelled.subscribe(),
            };
            tasks.spawn("starting an MCP server", starting.run(sender));
            servers.insert(spec.name.clone(), Server { spec, state });
        }
        let states = servers.iter().map(|(name, server)| (name.clone(), server.state.clone())).collect();
        tasks.spawn("reporting the start of MCP servers", report_completion(states, reports));
        (Self { servers, http, is_cancelled, _tasks: tasks }, events)
    }

    /// Whether the session has no servers.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Whether all starts are over.
    pub fn is_settled(&self) -> bool {
        self.servers.values().all(|server| server.state.borrow().is_settled())
    }

    /// Waits until all starts are over.
    pub async fn settled(&self) {
        for server in self.servers.values() {
            server.settled().await;
        }
    }

    /// Waits for the required servers.
    ///
    /// # Errors
    /// The required servers that did not start, and why.
    pub async fn required(&self) -> Result<(), String> {
        let mut failures = Vec::new();
        for (name, server) in self.servers.iter().filter(|(_, server)| server.spec.is_required) {
            match server.settled().await {
                State::Failed(error) => failures.push(format!("{name}: {error}")),
                State::Cancelled => failures.push(format!("{name}: its start was interrupted")),
                State::Starting | State::Ready(_) => {}
            }
        }
        if failures.is_empty() {
            return Ok(());
        }
        Err(format!("required MCP servers failed to initialize: {}", failures.join("; ")))
    }

    /// Interrupts the starts that are not over.
    pub fn cancel_starts(&self) {
        self.is_cancelled.send_replace(true);
    }

    /// The tools that are offered to the model, by server.
    pub fn tools(&self) -> Vec<(String, Vec<McpTool>)> {
        let ready = self.servers.iter().filter_map(|(name, server)| Some((name, server, server.ready()?)));
        let offered = ready.map(|(name, server, client)| {
            let tools = client.tools.iter().filter(|tool| server.spec.tools.allows(&tool.name));
            (name.clone(), tools.cloned().collect())
        });
        offered.collect()
    }

    /// All tools that each started server listed, before any filter.
    pub fn listed(&self) -> Vec<(String, Vec<McpTool>)> {
        let ready = self.servers.iter().filter_map(|(name, server)| Some((name, server.ready()?)));
        ready.map(|(name, client)| (name.clone(), client.tools.clone())).collect()
    }

    /// The servers that did not start, and why.
    pub fn failures(&self) -> Vec<(String, String)> {
        let failure = |(name, server): (&String, &Server)| match &*server.state.borrow() {
            State::Starting | State::Ready(_) => None,
            State::Failed(error) => Some((name.clone(), error.clone())),
            State::Cancelled => Some((name.clone(), format!("the start of the MCP server `{name}` was interrupted"))),
        };
        self.servers.iter().filter_map(failure).collect()
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: Option<Map<String, Value>>,
    ) -> Result<McpToolResult, McpFailure> {
        let answer = self.client(server).await?.call(tool, arguments).await;
        answer.map_err(|failure| self.blanked(server, failure))
    }

    /// A page of a server's resources.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub async fn resources(&self, server: &str, cursor: Option<String>) -> Result<McpPage, McpFailure> {
        let page = self.client(server).await?.resources(cursor).await;
        page.map_err(|failure| self.blanked(server, failure).of(format!("resources/list failed for `{server}`")))
    }

    /// A page of a server's resource templates.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub async fn templates(&self, server: &str, cursor: Option<String>) -> Result<McpPage, McpFailure> {
        let page = self.client(server).await?.templates(cursor).await;
        page.map_err(|failure| {
            self.blanked(server, failure).of(format!("resources/templates/list failed for `{server}`"))
        })
    }

    /// The contents of a resource.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Map<String, Value>, McpFailure> {
        let read = self.client(server).await?.read(uri).await;
        read.map_err(|failure| {
            self.blanked(server, failure).of(format!("resources/read failed for `{server}` ({uri})"))
        })
    }

    /// All resources, by server. Servers whose list fails are left out.
    pub async fn all_resources(&self) -> Vec<(String, Vec<Value>)> {
        let mut all = Vec::new();
        for (name, client) in self.clients().await {
            let listed = all_pages(|cursor| client.resources(cursor)).await;
            all.extend(listed_or_logged(name, "resources", listed));
        }
        all
    }

    /// All resource templates, by server. Servers whose list fails are left out.
    pub async fn all_templates(&self) -> Vec<(String, Vec<Value>)> {
        let mut all = Vec::new();
        for (name, client) in self.clients().await {
            let listed = all_pages(|cursor| client.templates(cursor)).await;
            all.extend(listed_or_logged(name, "resource templates", listed));
        }
        all
    }

    /// What each server offers, by name, including those that did not start.
    pub async fn status(&self) -> Vec<McpServerStatus> {
        self.settled().await;
        let mut tools: BTreeMap<String, Vec<McpTool>> = self.tools().into_iter().collect();
        let mut resources: BTreeMap<_, _> = self.all_resources().await.into_iter().collect();
        let mut templates: BTreeMap<_, _> = self.all_templates().await.into_iter().collect();
        let mut all = Vec::new();
        for (name, server) in &self.servers {
            let tools = tools.remove(name).unwrap_or_default();
            all.push(McpServerStatus {
                name: name.clone(),
                tools: tools.into_iter().map(|tool| (tool.name.clone(), tool)).collect(),
                resources: resources.remove(name).unwrap_or_default(),
                resource_templates: templates.remove(name).unwrap_or_default(),
                auth_status: auth::status(&server.spec.reach, &self.http).await,
            });
        }
        all
    }

    /// Ends all programs, after a moment in which they may end by themselves.
    pub async fn shut_down(&self) {
        self.cancel_starts();
        self.settled().await;
        let ending: Vec<_> = self
            .servers
            .values()
            .filter_map(Server::ready)
            .map(|client| Task::spawn("ending an MCP server", async move { client.end().await }))
            .collect();
        for ended in ending {
            // A task that panicked has dropped its program, which ends it.
            let _is_logged = ended.await;
        }
    }

    /// A failure without the secrets of requests to its server.
    fn blanked(&self, server: &str, failure: McpFailure) -> McpFailure {
        let Some(Server { spec, .. }) = self.servers.get(server) else { return failure };
        McpFailure { causes: failure.causes.iter().map(|cause| spec.blanked(cause)).collect() }
    }

    /// The servers that have started.
    async fn clients(&self) -> Vec<(String, Arc<Client>)> {
        self.settled().await;
        self.servers.iter().filter_map(|(name, server)| Some((name.clone(), server.ready()?))).collect()
    }

    async fn client(&self, name: &str) -> Result<Arc<Client>, McpFailure> {
        let server = self.servers.get(name);
        let server = server.ok_or_else(|| McpFailure::new(format!("unknown MCP server '{name}'")))?;
        match server.settled().await {
            State::Ready(client) => Ok(client),
            State::Failed(error) => Err(McpFailure::new(error).of("failed to get client")),
            State::Starting | State::Cancelled => {
                Err(McpFailure::new("MCP startup cancelled").of("failed to get client"))
            }
        }
    }
}

impl Server {
    async fn settled(&self) -> State {
        let mut state = self.state.clone();
        // If the starting task is gone, the server never started.
        state.wait_for(State::is_settled).await.map_or(State::Cancelled, |state| state.clone())
    }

    fn ready(&self) -> Option<Arc<Client>> {
        match &*self.state.borrow() {
            State::Ready(client) => Some(client.clone()),
            _ => None,
        }
    }
}

/// A server that is being started.
struct Starting {
    spec: Arc<ServerSpec>,
    http: HttpClients,
    name: ClientName,
    person: Arc<dyn Person>,
    events: mpsc::UnboundedSender<EventMessage>,
    is_cancelled: watch::Receiver<bool>,
}

impl Starting {
    async fn run(self, state: watch::Sender<State>) {
        self.report(McpStartupStatus::Starting);
        let mut is_cancelled = self.is_cancelled.clone();
        let settled = tokio::select! {
            biased;
            _ = is_cancelled.wait_for(|is_cancelled| *is_cancelled) => State::Cancelled,
            settled = contained("starting an MCP server", started(&self)) => {
                settled.unwrap_or_else(|failed| {
                    State::Failed(format!("MCP client for `{}` failed to start: {failed}", self.spec.name))
                })
            }
        };
        let status = settled.status();
        if let McpStartupStatus::Failed { error } = &status {
            tracing::warn!(server = self.spec.name, %error, "an MCP server did not start");
        }
        self.report(status);
        state.send_replace(settled);
    }

    fn report(&self, status: McpStartupStatus) {
        let server = self.spec.name.clone();
        // The session may have stopped listening.
        let _ = self.events.send(EventMessage::McpStartupUpdate { server, status });
    }
}

async fn started(starting: &Starting) -> State {
    let Starting { spec, http, .. } = starting;
    let name = &spec.name;
    if !is_server_name(name) {
        return State::Failed(format!(
            "MCP client for `{name}` failed to start: its name may only have letters, digits, `-` and `_`"
        ));
    }
    match Client::connect(spec, http, &starting.name, starting.person.clone()).await {
        Ok(client) => State::Ready(Arc::new(client)),
        Err(NoClient::TimedOut) => State::Failed(format!(
            "MCP client for `{name}` timed out after {} seconds; set `startup_timeout_sec` in \
             [mcp_servers.{name}] of config.toml to wait longer",
            seconds(spec.startup_timeout)
        )),
        Err(NoClient::LoginRequired) => State::Failed(format!(
            "MCP client for `{name}` is not logged in: run `pellucid mcp login {name}`, or set `bearer_token_env_var` \
             in [mcp_servers.{name}] of config.toml to the name of a variable that holds a token"
        )),
        Err(NoClient::Failed(error)) => {
            let error = spec.blanked(&error.to_string());
            State::Failed(format!("MCP client for `{name}` failed to start: MCP startup failed: {error}"))
        }
    }
}

fn seconds(duration: Duration) -> String {
    duration.as_secs_f64().to_string()
}

/// Reports the outcome of all starts.
async fn report_completion(states: Vec<(String, watch::Receiver<State>)>, events: mpsc::UnboundedSender<EventMessage>) {
    let (mut ready, mut failed, mut cancelled) = (Vec::new(), Vec::new(), Vec::new());
    for (server, mut state) in states {
        let settled = state.wait_for(State::is_settled).await.map_or(State::Cancelled, |state| state.clone());
        match settled {
            State::Ready(_) => ready.push(server),
            State::Failed(error) => failed.push(McpStartupFailure { server, error }),
            State::Starting | State::Cancelled => cancelled.push(server),
        }
    }
    // The session may have stopped listening.
    let _ = events.send(EventMessage::McpStartupComplete { ready, failed, cancelled });
}

/// The list of a server, unless the request for it failed, which is logged.
fn listed_or_logged(
    server: String,
    what: &str,
    listed: Result<Vec<Value>, McpFailure>,
) -> Option<(String, Vec<Value>)> {
    match listed {
        Ok(entries) => Some((server, entries)),
        Err(failure) => {
            tracing::warn!(server, %failure, "an MCP server does not list its {what}");
            None
        }
    }
}
