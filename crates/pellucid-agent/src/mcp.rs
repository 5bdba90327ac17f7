//! The MCP servers of a session: from the configuration to tools that the model can call.
//!
//! A session starts its servers when it begins or is resumed; its first request waits for them. A reviewer uses the
//! servers of its session, an agent that another session starts has separate servers.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::mcp::McpServer;
use pellucid_config::mcp::McpTransport;
use pellucid_engine::deferred;
use pellucid_engine::digest::Digest;
use pellucid_engine::elicitation;
use pellucid_engine::mcp;
use pellucid_engine::mcp::ServerTool;
use pellucid_engine::mcp::ToolFilter;
use pellucid_engine::pack::GivenToolRules;
use pellucid_exec::process::Command;
use pellucid_exec::process::Variables;
use pellucid_mcp::auth;
use pellucid_mcp::elicitation::Answering;
use pellucid_mcp::elicitation::Nobody;
use pellucid_mcp::elicitation::Person;
use pellucid_mcp::login::tokens::Tokens;
use pellucid_mcp::servers::Servers;
use pellucid_mcp::spec::ClientName;
use pellucid_mcp::spec::Follow;
use pellucid_mcp::spec::HttpClients;
use pellucid_mcp::spec::HttpReach;
use pellucid_mcp::spec::Reach;
use pellucid_mcp::spec::ServerSpec;
use pellucid_model::Transport;
use pellucid_protocol::elicitation::ElicitationAction;
use pellucid_protocol::elicitation::ElicitationAnswer;
use pellucid_protocol::elicitation::ElicitationPolicy;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::mcp::APPS_SERVER;
use pellucid_protocol::mcp::McpAuthStatus;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpServerStatus;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::mcp::McpToolResult;
use pellucid_protocol::secret::Secret;
use pellucid_protocol::settings::McpProtocol;
use pellucid_protocol::settings::McpStart;
use pellucid_store::tool_lists::KeptList;
use pellucid_store::tool_lists::KeptRevision;
use pellucid_store::tool_lists::ToolLists;
use pellucid_tasks::Task;
use pellucid_tools::desk::Desk;
use pellucid_tools::desk::FromTool;
use pellucid_tools::mcp_tool::Asking;
use pellucid_tools::mcp_tool::Listed;
use pellucid_tools::mcp_tool::ListingAll;
use pellucid_tools::mcp_tool::ToolServers;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use tokio::sync::watch;

use crate::apps;
use crate::context_events::ContextEvents;
use crate::identity::VERSION;
use crate::mcp_login;
use crate::telemetry::Telemetry;

/// Variables of ours that the program of a server sees.
const SEEN: [&str; 11] =
    ["HOME", "LOGNAME", "PATH", "SHELL", "USER", "__CF_USER_TEXT_ENCODING", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"];

/// A server that the session cannot do without did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RequiredFailed(String);

/// The servers of a session, or of the session that started it.
#[derive(Debug, Clone)]
pub(crate) struct Attached {
    pub servers: Arc<Servers>,
    /// The session that ends the servers.
    pub owner: Owner,
    /// Which of the tools that the servers have offered so far the facts list, as the servers count; none if the facts
    /// list no tools yet.
    pub known: Option<u64>,
    /// Whether clients have received what there is to say about the start.
    is_told: watch::Receiver<bool>,
    _passing_on: Arc<Task<()>>,
}

/// Which session ends the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The session that holds this value.
    Session,
    /// The session that started the one that holds this value.
    Parent,
}

impl Attached {
    /// Starts the servers of a configuration; their events go to the session. Absent if there are none.
    pub(crate) fn start(
        config: &Config,
        env: &Env,
        rules: &GivenToolRules,
        roots: &[PathBuf],
        desk: Desk,
        context_events: ContextEvents,
    ) -> Option<Self> {
        let mut specs = specs(config, env);
        if specs.is_empty() {
            return None;
        }
        let (lists, configured) = (ToolLists::new(&config.folders.home), config.session_servers());
        for spec in &mut specs {
            spec.follow = rules.follow.then(|| Follow { roots: roots.to_vec() });
            if let Some(server) = configured.get(&spec.name) {
                remember(spec, server, server.start.unwrap_or(rules.start), &lists);
            }
        }
        let answers = config.tools.mcp_answers.clone();
        let sees_pages = config.tools.mcp_pages && answers == ElicitationPolicy::Ask;
        let person: Arc<dyn Person> = Arc::new(AtDesk { desk: desk.clone(), answers, sees_pages });
        let (servers, mut events) = Servers::start(specs, http_clients(), &us(), &person);
        let (told, is_told) = watch::channel(false);
        let passing_on = Task::spawn("passing on events of MCP servers", async move {
            while let Some(event) = events.recv().await {
                let is_last = matches!(event, EventMessage::McpStartupComplete { .. });
                if matches!(event, EventMessage::ContextMcpServer { .. }) && !context_events.are_wanted() {
                    continue;
                }
                desk.say(FromTool::SessionEvent(event)).await;
                if is_last {
                    told.send_replace(true);
                }
            }
        });
        let servers = Arc::new(servers);
        Some(Self { servers, owner: Owner::Session, known: None, is_told, _passing_on: Arc::new(passing_on) })
    }

    /// The same servers for a session that this one starts.
    pub(crate) fn lent(&self) -> Self {
        Self { owner: Owner::Parent, ..self.clone() }
    }

    /// Waits for the servers that the session cannot do without.
    pub(crate) async fn required(&self) -> Result<(), RequiredFailed> {
        self.servers.required().await.map_err(RequiredFailed)
    }

    /// Waits until the servers have started, or not, and clients know it: what did not start is reported before the model
    /// answers.
    pub(crate) fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (servers, mut is_told) = (self.servers.clone(), self.is_told.clone());
        Box::pin(async move {
            servers.settled().await;
            if servers.are_all_settled() {
                // A session without clients has no one to tell.
                let _no_one = is_told.wait_for(|is_told| *is_told).await;
            }
        })
    }

    /// Whether the facts list tools of the servers.
    pub(crate) fn are_known(&self) -> bool {
        self.known.is_some()
    }

    /// The tools that the model is offered.
    pub(crate) fn tools(&self) -> Arc<[ServerTool]> {
        mcp::offered(&self.servers.tools()).into()
    }

    /// Keeps the lists of tools that the servers sent. A session that shares servers leaves that to their owner.
    pub(crate) fn keep_lists(&self, config: &Config) {
        if self.owner == Owner::Session {
            keep_lists(config, &self.servers);
        }
    }

    /// Passes calls of tools to the servers; `telemetry` knows the turn that they belong to.
    pub(crate) fn for_calls(&self, telemetry: &Telemetry) -> Arc<dyn ToolServers> {
        Arc::new(ForCalls { servers: self.servers.clone(), telemetry: telemetry.clone() })
    }

    /// Ends the servers, if they are this session's.
    pub(crate) async fn shut_down(&self) {
        if self.owner == Owner::Session {
            self.servers.shut_down().await;
        }
    }
}

/// What each server of a configuration has to offer. They are started for this, and ended.
pub async fn status(config: &Config, env: &Env) -> Vec<McpServerStatus> {
    let nobody: Arc<dyn Person> = Arc::new(Nobody);
    let (servers, _events) = Servers::start(specs(config, env), http_clients(), &us(), &nobody);
    let mut all = servers.status().await;
    servers.shut_down().await;
    let configured = config.session_servers();
    for status in &mut all {
        let has_token = |server: &McpServer| has_token(server) || apps::has_token(&status.name, config, env);
        if configured.get(&status.name).is_some_and(has_token) {
            status.auth_status = McpAuthStatus::BearerToken;
        }
    }
    all
}

/// What a server has, as it describes it.
#[derive(Debug, Clone)]
pub enum Listing {
    /// Its tools, each with its estimated tokens in a request; then what is left out, and why.
    Tools(Vec<(McpTool, usize)>, Vec<(String, String)>),
    /// Its prompts, as it describes them.
    Prompts(Vec<Value>),
    /// Its resources, as it describes them.
    Resources(Vec<Value>),
}

/// The kinds of things that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingKind {
    /// Tools that the model can call.
    Tools,
    /// Prompts for people.
    Prompts,
    /// Resources that can be read.
    Resources,
}

/// Asks one server of a configuration for what it has. It is started for this, and ended.
///
/// # Errors
/// Why the server does not say it, as text for people.
pub async fn listing(config: &Config, env: &Env, name: &str, kind: ListingKind) -> Result<Listing, String> {
    let nobody: Arc<dyn Person> = Arc::new(Nobody);
    let lists = ToolLists::new(&config.folders.home);
    let mut specs = specs(config, env);
    specs.retain(|spec| spec.name == name);
    for spec in &mut specs {
        // All pages are of interest.
        spec.follow = Some(Follow::default());
        if let Some(server) = config.session_servers().get(name) {
            remember(spec, server, McpStart::Wait, &lists);
        }
    }
    let (servers, _events) = Servers::start(specs, http_clients(), &us(), &nobody);
    servers.settled().await;
    let listed = match (servers.failures().pop(), kind) {
        (Some((_, error)), _) => Err(error),
        (None, ListingKind::Tools) => {
            let tokens = |tool: &McpTool| {
                mcp::offered(&[(name.to_owned(), vec![tool.clone()])]).first().map_or(0, deferred::tokens_of)
            };
            let tools = servers.tools().into_iter().flat_map(|(_, tools)| tools);
            let tools = tools.map(|tool| (tokens(&tool), tool)).map(|(tokens, tool)| (tool, tokens));
            Ok(Listing::Tools(tools.collect(), servers.left_out()))
        }
        (None, ListingKind::Prompts) => {
            servers.prompts_of(name).await.map(Listing::Prompts).map_err(|failure| failure.to_string())
        }
        (None, ListingKind::Resources) => {
            servers.resources_of(name).await.map(Listing::Resources).map_err(|failure| failure.to_string())
        }
    };
    keep_lists(config, &servers);
    servers.shut_down().await;
    listed
}

/// The digest of how a server is reached: the list of tools that it gave last is kept under it. Values of variables are
/// no part of it; which tools are offered, and how long to wait, neither.
fn reach_digest(server: &McpServer) -> String {
    let reach = match &server.transport {
        McpTransport::Stdio { command, args, env, env_vars, cwd } => {
            json!({ "command": command, "args": args, "env": env, "env_vars": env_vars, "cwd": cwd })
        }
        McpTransport::Http { url, bearer_token_env_var, http_headers, env_http_headers } => json!({
            "url": url,
            "bearer_token_env_var": bearer_token_env_var,
            "http_headers": http_headers,
            "env_http_headers": env_http_headers,
        }),
    };
    Digest::of([reach.to_string().as_bytes()]).to_string()
}

/// Keeps what the servers listed, for those who want to see a request without starting them.
fn keep_lists(config: &Config, servers: &Servers) {
    let lists = ToolLists::new(&config.folders.home);
    let revisions: BTreeMap<String, String> = servers.revisions().into_iter().collect();
    let configured = config.session_servers();
    for (name, tools) in servers.listed() {
        let Some(server) = configured.get(&name) else { continue };
        let digest = reach_digest(server);
        let asked = revisions.get(&name).filter(|_| server.protocol == McpProtocol::Auto);
        let revision = asked.map(|name| {
            let kept = lists.last(&digest).ok().flatten().and_then(|kept| kept.revision);
            let at = now();
            // A revision that is only remembered gets no older.
            kept.filter(|kept| kept.name == *name && kept.is_fresh(at))
                .unwrap_or_else(|| KeptRevision { name: name.clone(), at })
        });
        if let Err(error) = lists.keep(&digest, KeptList { tools, revision }) {
            tracing::warn!(server = name, %error, "the tools of an MCP server are not kept");
        }
    }
}

/// What an earlier session learned of a server: the revision that it speaks, and the tools that are offered while it starts.
fn remember(spec: &mut ServerSpec, server: &McpServer, start: McpStart, lists: &ToolLists) {
    let is_background = start == McpStart::Background && !spec.is_required;
    if !is_background && server.protocol != McpProtocol::Auto {
        return;
    }
    let Ok(Some(KeptList { tools, revision })) = lists.last(&reach_digest(server)) else { return };
    spec.known_revision = revision.filter(|revision| revision.is_fresh(now())).map(|revision| revision.name);
    spec.last_listed = is_background.then_some(tools);
}

/// The revision of the protocol that a server spoke lately, if it was asked for the newest one that it knows.
pub fn known_revision(config: &Config, server: &McpServer) -> Option<String> {
    let kept = ToolLists::new(&config.folders.home).last(&reach_digest(server)).ok().flatten()?;
    kept.revision.filter(|revision| revision.is_fresh(now())).map(|revision| revision.name)
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What was kept of the servers of a configuration: the tools that are offered, and which servers have no list that
/// could be used, with the reason.
#[derive(Debug, Default)]
pub(crate) struct KeptTools {
    pub tools: Arc<[ServerTool]>,
    pub servers: Vec<String>,
    pub missing: Vec<(String, String)>,
}

impl KeptTools {
    /// Reads the lists. No server is started.
    pub(crate) fn read(config: &Config, env: &Env) -> Self {
        let lists = ToolLists::new(&config.folders.home);
        let (mut offered, mut missing) = (Vec::new(), Vec::new());
        let configured = config.session_servers();
        for spec in specs(config, env) {
            let name = spec.name;
            let server = configured.get(&name).filter(|_| mcp::is_server_name(&name));
            let Some(server) = server else {
                missing
                    .push((name, "its name may only have letters, digits, `-` and `_`, so it never starts".to_owned()));
                continue;
            };
            match lists.last(&reach_digest(server)) {
                Ok(Some(KeptList { tools, .. })) => {
                    offered.push((name, tools.into_iter().filter(|tool| spec.tools.allows(&tool.name)).collect()));
                }
                Ok(None) => {
                    let why = "no list of its tools was kept yet; a session that starts it keeps one, and --mcp connect asks it";
                    missing.push((name, why.to_owned()));
                }
                Err(error) => {
                    let why =
                        format!("the list that was kept of its tools cannot be used ({error}); --mcp connect asks it");
                    missing.push((name, why));
                }
            }
        }
        let servers = offered.iter().map(|(name, _): &(String, Vec<McpTool>)| name.clone()).collect();
        Self { tools: mcp::offered(&offered).into(), servers, missing }
    }
}

/// Whether a server is to be asked with a token, even if the variable that should hold it is empty.
fn has_token(server: &McpServer) -> bool {
    matches!(server.transport, McpTransport::Http { bearer_token_env_var: Some(_), .. })
}

/// How a server knows who asks.
pub async fn auth_status(name: &str, server: &McpServer, config: &Config, env: &Env) -> McpAuthStatus {
    if has_token(server) {
        return McpAuthStatus::BearerToken;
    }
    auth::status(&reach(name, server, config, env), &http_clients()).await
}

/// The servers that are to be started.
pub fn specs(config: &Config, env: &Env) -> Vec<ServerSpec> {
    let servers = config.session_servers();
    let enabled = servers.iter().filter(|(_, server)| server.enabled);
    enabled.map(|(name, server)| spec(name, server, config, env)).collect()
}

fn spec(name: &str, server: &McpServer, config: &Config, env: &Env) -> ServerSpec {
    ServerSpec {
        name: name.to_owned(),
        reach: reach(name, server, config, env),
        is_required: server.required,
        startup_timeout: server.startup_limit(),
        tool_timeout: server.tool_limit(),
        tool_timeout_max: server.tool_limit_in_all(),
        max_message_bytes: server.max_message_bytes,
        protocol: server.protocol,
        known_revision: None,
        last_listed: None,
        follow: None,
        tools: ToolFilter {
            enabled: server.enabled_tools.clone().map(|tools| tools.into_iter().collect()),
            disabled: server.disabled_tools.iter().flatten().cloned().collect(),
        },
    }
}

fn reach(name: &str, server: &McpServer, config: &Config, env: &Env) -> Result<Reach, String> {
    match &server.transport {
        McpTransport::Stdio { command, args, env: given, env_vars, cwd } => {
            let argv = std::iter::once(command).chain(args).cloned().collect();
            // A program without a configured folder runs in the folder of this process.
            let cwd = cwd.clone().unwrap_or_else(|| PathBuf::from("."));
            Ok(Reach::Program(Command { argv, arg0: None, cwd, env: variables(env, env_vars, given) }))
        }
        McpTransport::Http { url, .. } if name == APPS_SERVER => apps::reach(url, config, env).map(Reach::Http),
        McpTransport::Http { url, bearer_token_env_var, .. } => {
            let bearer = match bearer_token_env_var {
                Some(variable) => Some(env.text(variable).map(Secret::new).ok_or_else(|| {
                    format!(
                        "the variable `{variable}` is empty or not set; `bearer_token_env_var` of \
                         [mcp_servers.{name}] says that it holds the token"
                    )
                })?),
                None => None,
            };
            let headers = headers(&server.transport, env);
            let mut reach = HttpReach { url: url.clone(), bearer, headers, login: None };
            if !reach.has_authorization() {
                let login = mcp_login::spec(name, server, config, env);
                reach.login = login.map(|login| Tokens::of(login, http_clients()));
            }
            Ok(Reach::Http(reach))
        }
    }
}

/// The further headers of requests to a server.
pub(crate) fn headers(transport: &McpTransport, env: &Env) -> BTreeMap<String, Secret> {
    let McpTransport::Http { http_headers, env_http_headers, .. } = transport else { return BTreeMap::new() };
    let fixed = http_headers.iter().map(|(name, value)| (name.clone(), Secret::new(value.as_str())));
    let of_variables =
        env_http_headers.iter().filter_map(|(name, it)| Some((name.clone(), Secret::new(env.text(it)?))));
    fixed.chain(of_variables).collect()
}

/// What the program of a server sees of the environment.
fn variables(env: &Env, named: &[String], given: &BTreeMap<String, String>) -> Variables {
    let all = env.variables();
    let seen = SEEN.iter().copied().chain(named.iter().map(String::as_str));
    let ours = seen.filter_map(|name| all.get_key_value(std::ffi::OsStr::new(name)));
    let ours = ours.map(|(name, value)| (name.clone(), value.clone()));
    ours.chain(given.iter().map(|(name, value)| (name.into(), value.into()))).collect()
}

pub(crate) fn http_clients() -> HttpClients {
    HttpClients::new(Transport::http_client)
}

pub(crate) fn us() -> ClientName {
    ClientName { name: "pellucid-mcp-client".to_owned(), title: "Pellucid".to_owned(), version: VERSION.to_owned() }
}

/// The person at the client of a session: the turn that runs decides whether the client is asked. What was answered
/// beforehand is not asked.
#[derive(Debug)]
struct AtDesk {
    desk: Desk,
    answers: ElicitationPolicy,
    /// Whether the client shows addresses.
    sees_pages: bool,
}

impl Person for AtDesk {
    fn ask(&self, request: ElicitationRequest) -> Answering {
        if let Some(answer) = answered_before(&self.answers, &request) {
            return Box::pin(std::future::ready(answer));
        }
        let desk = self.desk.clone();
        Box::pin(async move { desk.elicit(request).await })
    }

    fn sees_pages(&self) -> bool {
        self.sees_pages
    }
}

/// The answer that was given before there was a question; none if a person is asked.
fn answered_before(answers: &ElicitationPolicy, request: &ElicitationRequest) -> Option<ElicitationAnswer> {
    let nothing = Map::new();
    let values = match answers {
        ElicitationPolicy::Ask => return None,
        ElicitationPolicy::Defaults => Some(&nothing),
        ElicitationPolicy::Given(servers) => servers.get(&request.server_name),
    };
    let declined = ElicitationAnswer::without_content(ElicitationAction::Decline);
    let Some(values) = values else { return Some(declined) };
    Some(match elicitation::known(&request.schema, values) {
        Ok(content) => ElicitationAnswer { action: ElicitationAction::Accept, content: Some(content) },
        Err(error) => {
            tracing::warn!(server = request.server_name, %error, "a question of an MCP server is declined");
            declined
        }
    })
}

/// Servers as calls need them.
#[derive(Debug)]
struct ForCalls {
    servers: Arc<Servers>,
    telemetry: Telemetry,
}

impl ToolServers for ForCalls {
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: Option<Map<String, Value>>,
    ) -> Asking<'a, McpToolResult> {
        Box::pin(self.servers.call(server, tool, arguments, self.telemetry.traceparent()))
    }

    fn list<'a>(&'a self, what: Listed, server: &'a str, cursor: Option<String>) -> Asking<'a, McpPage> {
        match what {
            Listed::Resources => Box::pin(self.servers.resources(server, cursor)),
            Listed::Templates => Box::pin(self.servers.templates(server, cursor)),
        }
    }

    fn list_all(&self, what: Listed) -> ListingAll<'_> {
        match what {
            Listed::Resources => Box::pin(self.servers.all_resources()),
            Listed::Templates => Box::pin(self.servers.all_templates()),
        }
    }

    fn read<'a>(&'a self, server: &'a str, uri: &'a str) -> Asking<'a, Map<String, Value>> {
        Box::pin(self.servers.read(server, uri, self.telemetry.traceparent()))
    }
}
