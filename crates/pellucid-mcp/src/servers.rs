//! The MCP servers of a session: started concurrently in the background, then called by name.

mod again;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::McpStartupFailure;
use pellucid_protocol::mcp::McpFailure;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpServerStatus;
use pellucid_protocol::mcp::McpStartupStatus;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::mcp::McpToolResult;
use pellucid_protocol::settings::McpProtocol;
use pellucid_tasks::Task;
use pellucid_tasks::Tasks;
use pellucid_tasks::contained;
use serde_json::Map;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::sync::mpsc;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::auth;
use crate::client::Client;
use crate::client::NoClient;
use crate::client::all_pages;
use crate::elicitation::Person;
use crate::revision;
use crate::servers::again::Restarts;
use crate::spec::ClientName;
use crate::spec::HttpClients;
use crate::spec::ServerSpec;

/// The MCP servers of a session. When the value is dropped, their programs end.
#[derive(Debug)]
pub struct Servers {
    servers: BTreeMap<String, Arc<Server>>,
    http: HttpClients,
    /// Set when starts are to be interrupted.
    is_cancelled: watch::Sender<bool>,
    /// The tasks that start the servers, and report when all starts are over.
    tasks: Tasks,
}

#[derive(Debug)]
struct Server {
    spec: ServerSpec,
    http: HttpClients,
    name: ClientName,
    person: Arc<dyn Person>,
    events: mpsc::UnboundedSender<EventMessage>,
    state: watch::Sender<State>,
    restarts: Mutex<Restarts>,
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
            let server = Arc::new(Server {
                spec,
                http: http.clone(),
                name: name.clone(),
                person: person.clone(),
                events: reports.clone(),
                state: watch::Sender::new(State::Starting),
                restarts: Mutex::default(),
            });
            tasks.spawn("starting an MCP server", server.clone().start(is_cancelled.subscribe()));
            servers.insert(server.spec.name.clone(), server);
        }
        let states = servers.iter().map(|(name, server)| (name.clone(), server.state.subscribe())).collect();
        tasks.spawn("reporting the start of MCP servers", report_completion(states, reports));
        (Self { servers, http, is_cancelled, tasks }, events)
    }

    /// Whether the session has no servers.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Whether the session has a server of this name.
    pub fn has(&self, server: &str) -> bool {
        self.servers.contains_key(server)
    }

    /// Whether the starts are over that a request waits for.
    pub fn is_settled(&self) -> bool {
        self.awaited().all(|server| server.state.borrow().is_settled())
    }

    /// Whether all starts are over, also those that no request waits for.
    pub fn are_all_settled(&self) -> bool {
        self.servers.values().all(|server| server.state.borrow().is_settled())
    }

    /// Waits until the starts are over that a request waits for.
    pub async fn settled(&self) {
        for server in self.awaited() {
            server.settled().await;
        }
    }

    /// The servers that a request waits for: those whose tools are not known from an earlier session.
    fn awaited(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.values().filter(|server| server.spec.last_listed.is_none())
    }

    /// Waits until all starts are over, also those that no request waits for.
    pub async fn all_settled(&self) {
        for server in self.servers.values() {
            server.settled().await;
        }
    }

    /// A number that is another one when servers offer other tools than before.
    pub fn n_changes(&self) -> u64 {
        let of_server = |server: &Arc<Server>| {
            let n_read = server.ready().map_or(0, |client| *client.news().changes().borrow());
            n_read + u64::from(server.state.borrow().is_settled())
        };
        self.servers.values().map(of_server).sum()
    }

    /// The resources that have changed since they were read in this session, each with its server.
    pub fn take_changed_resources(&self) -> Vec<(String, String)> {
        let ready = self.servers.iter().filter_map(|(name, server)| Some((name, server.ready()?)));
        let changed = ready.flat_map(|(name, client)| {
            client.news().take_changed_resources().into_iter().map(move |uri| (name.clone(), uri))
        });
        changed.collect()
    }

    /// Asks servers for their tools again, in the background, if the time is over that they gave for their lists.
    pub fn refresh(&self) {
        for client in self.servers.values().filter_map(|server| server.ready()) {
            if client.news().is_over() {
                self.tasks.spawn("reading the tools of an MCP server again", async move { client.refresh().await });
            }
        }
    }

    /// The revision of the protocol that each started server speaks.
    pub fn revisions(&self) -> Vec<(String, String)> {
        let ready = self.servers.iter().filter_map(|(name, server)| Some((name, server.ready()?)));
        ready.filter_map(|(name, client)| Some((name.clone(), client.revision()?))).collect()
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

    /// The tools that are offered to the model, by server. A server that has not started has those of an earlier session, if
    /// no request waits for it.
    pub fn tools(&self) -> Vec<(String, Vec<McpTool>)> {
        let offered = self.servers.iter().filter_map(|(name, server)| {
            let listed = match &*server.state.borrow() {
                State::Ready(client) => client.listing().tools.clone(),
                // Whether it fails sooner or later than the request is made must not show.
                State::Starting | State::Failed(_) | State::Cancelled => server.spec.last_listed.clone()?,
            };
            let tools = listed.into_iter().filter(|tool| server.spec.tools.allows(&tool.name));
            Some((name.clone(), tools.collect()))
        });
        offered.collect()
    }

    /// All tools that each started server listed, before any filter.
    pub fn listed(&self) -> Vec<(String, Vec<McpTool>)> {
        let ready = self.servers.iter().filter_map(|(name, server)| Some((name, server.ready()?)));
        ready.map(|(name, client)| (name.clone(), client.listing().tools.clone())).collect()
    }

    /// What is left out of the lists of the started servers: what it is, and why.
    pub fn left_out(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (name, client) in self.servers.iter().filter_map(|(name, server)| Some((name, server.ready()?))) {
            let listing = client.listing();
            let tools = listing.left_out.iter();
            all.extend(tools.map(|(tool, why)| (format!("the tool {tool} of the MCP server {name}"), why.clone())));
            all.extend(listing.cut.iter().map(|why| (format!("tools of the MCP server {name}"), why.clone())));
        }
        all
    }

    /// The servers that did not start, and why.
    pub fn failures(&self) -> Vec<(String, String)> {
        let failure = |(name, server): (&String, &Arc<Server>)| match &*server.state.borrow() {
            State::Starting | State::Ready(_) => None,
            State::Failed(error) => Some((name.clone(), error.clone())),
            State::Cancelled => Some((name.clone(), format!("the start of the MCP server `{name}` was interrupted"))),
        };
        self.servers.iter().filter_map(failure).collect()
    }

    /// Calls a tool. `traceparent` names the span that the call belongs to.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: Option<Map<String, Value>>,
        traceparent: Option<String>,
    ) -> Result<McpToolResult, McpFailure> {
        let answer = self.client(server).await?.call(tool, arguments, traceparent).await;
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
    pub async fn read(
        &self,
        server: &str,
        uri: &str,
        traceparent: Option<String>,
    ) -> Result<Map<String, Value>, McpFailure> {
        let client = self.client(server).await?;
        let read = client.read(uri, traceparent).await;
        if read.is_ok() && client.news().was_read(uri) {
            let uri = uri.to_owned();
            self.tasks.spawn("following a resource of an MCP server", async move { client.subscribe(&uri).await });
        }
        read.map_err(|failure| {
            self.blanked(server, failure).of(format!("resources/read failed for `{server}` ({uri})"))
        })
    }

    /// All prompts of a server.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub async fn prompts_of(&self, server: &str) -> Result<Vec<Value>, McpFailure> {
        let client = self.client(server).await?;
        let listed = all_pages(|cursor| client.prompts(cursor)).await;
        listed.map_err(|failure| self.blanked(server, failure))
    }

    /// The prompts of all servers that say they have some, by server. Servers whose list fails are left out.
    pub async fn all_prompts(&self) -> Vec<(String, Vec<Value>)> {
        let mut all = Vec::new();
        for (name, client) in self.clients().await {
            if client.has_prompts() {
                let listed = all_pages(|cursor| client.prompts(cursor)).await;
                all.extend(listed_or_logged(name, "prompts", listed));
            }
        }
        all
    }

    /// The messages of a prompt, as the server answers.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub async fn prompt(&self, server: &str, name: &str, arguments: Map<String, Value>) -> Result<Value, McpFailure> {
        let got = self.client(server).await?.prompt(name, arguments).await;
        got.map_err(|failure| self.blanked(server, failure))
    }

    /// All resources of a server.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub async fn resources_of(&self, server: &str) -> Result<Vec<Value>, McpFailure> {
        let client = self.client(server).await?;
        let listed = all_pages(|cursor| client.resources(cursor)).await;
        listed.map_err(|failure| self.blanked(server, failure))
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
        self.all_settled().await;
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
        self.all_settled().await;
        let ending: Vec<_> = self
            .servers
            .values()
            .filter_map(|server| server.ready())
            .map(|client| Task::spawn("ending an MCP server", async move { client.end().await }))
            .collect();
        for ended in ending {
            // A task that panicked has dropped its program, which ends it.
            let _is_logged = ended.await;
        }
    }

    /// A failure without the secrets of requests to its server.
    fn blanked(&self, server: &str, failure: McpFailure) -> McpFailure {
        let Some(server) = self.servers.get(server) else { return failure };
        McpFailure { causes: failure.causes.iter().map(|cause| server.spec.blanked(cause)).collect() }
    }

    /// The servers that have started.
    async fn clients(&self) -> Vec<(String, Arc<Client>)> {
        self.all_settled().await;
        self.servers.iter().filter_map(|(name, server)| Some((name.clone(), server.ready()?))).collect()
    }

    async fn client(&self, name: &str) -> Result<Arc<Client>, McpFailure> {
        let server = self.servers.get(name);
        let server = server.ok_or_else(|| McpFailure::new(format!("unknown MCP server '{name}'")))?;
        match server.settled().await {
            State::Ready(client) if client.is_gone() => {
                let again = server.again(&client).await;
                again.map_err(|error| McpFailure::new(error).of("failed to get client"))
            }
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
        let mut state = self.state.subscribe();
        // `self` holds the sender.
        state.wait_for(State::is_settled).await.map_or(State::Cancelled, |state| state.clone())
    }

    fn ready(&self) -> Option<Arc<Client>> {
        match &*self.state.borrow() {
            State::Ready(client) => Some(client.clone()),
            _ => None,
        }
    }

    async fn start(self: Arc<Self>, mut is_cancelled: watch::Receiver<bool>) {
        let began = Instant::now();
        self.report(McpStartupStatus::Starting);
        let settled = tokio::select! {
            biased;
            _ = is_cancelled.wait_for(|is_cancelled| *is_cancelled) => State::Cancelled,
            connected = self.connected() => match connected {
                Ok(client) => State::Ready(Arc::new(client)),
                Err(error) => State::Failed(error),
            }
        };
        let status = settled.status();
        if let McpStartupStatus::Failed { error } = &status {
            tracing::warn!(server = self.spec.name, %error, "an MCP server did not start");
        }
        self.tell(self.account(&status, began.elapsed()));
        self.report(status);
        self.state.send_replace(settled);
    }

    /// How the start of the server ended, for clients that want to know the context.
    fn account(&self, status: &McpStartupStatus, took: Duration) -> EventMessage {
        let (state, error) = match status {
            McpStartupStatus::Failed { error } => ("failed", Some(error.clone())),
            McpStartupStatus::Cancelled => ("cancelled", None),
            McpStartupStatus::Starting | McpStartupStatus::Ready => ("ready", None),
        };
        let (name, seconds) = (self.spec.name.clone(), took.as_secs_f64());
        EventMessage::ContextMcpServer { name, state: state.to_owned(), error, seconds }
    }

    fn report(&self, status: McpStartupStatus) {
        self.tell(EventMessage::McpStartupUpdate { server: self.spec.name.clone(), status });
    }

    fn tell(&self, event: EventMessage) {
        // The session may have stopped listening.
        let _ = self.events.send(event);
    }

    /// Connects to the server.
    ///
    /// # Errors
    /// Why the server cannot be used, as text for people.
    async fn connected(&self) -> Result<Client, String> {
        let (spec, known) = (&self.spec, self.spec.known_revision.as_deref());
        let mut client = self.greeted(known).await;
        if spec.protocol == McpProtocol::Auto && matches!(client, Err(NoClient::Failed(_))) {
            // The server may speak another revision than the last time. One that was not known may not bear a request that it
            // does not know.
            let other = if known.is_some() { None } else { Some(revision::GREETED.as_str()) };
            client = self.greeted(other).await;
        }
        client.map_err(|error| no_client_text(spec, &error))
    }

    /// Connects to the server, by the revision that it is known to speak.
    async fn greeted(&self, known: Option<&str>) -> Result<Client, NoClient> {
        let Self { spec, http, name, person, .. } = self;
        let connecting = Client::connect(spec, known, http, name, person.clone());
        let connected = contained("starting an MCP server", connecting).await;
        connected.unwrap_or_else(|failed| Err(NoClient::Failed(failed.to_string())))
    }
}

/// Why a server cannot be used, as text for people.
fn no_client_text(spec: &ServerSpec, error: &NoClient) -> String {
    let name = &spec.name;
    match error {
        NoClient::Unnamed => {
            format!("MCP client for `{name}` failed to start: its name may only have letters, digits, `-` and `_`")
        }
        NoClient::TimedOut => format!(
            "MCP client for `{name}` timed out after {} seconds; set `startup_timeout_sec` in \
             [mcp_servers.{name}] of config.toml to wait longer",
            seconds(spec.startup_timeout)
        ),
        NoClient::LoginRequired => format!(
            "MCP client for `{name}` is not logged in: run `pellucid mcp login {name}`, or set `bearer_token_env_var` \
             in [mcp_servers.{name}]"
        ),
        NoClient::Failed(error) | NoClient::LoginRefused(error) => {
            format!("MCP client for `{name}` failed to start: MCP startup failed: {}", spec.blanked(error))
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
