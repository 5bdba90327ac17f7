//! The MCP servers of a session: from the configuration to tools that the model can call.
//!
//! A session starts its servers when it begins or is resumed; its first request waits for them. A reviewer uses the
//! servers of its session, an agent that another session starts has separate servers.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::mcp::McpServer;
use pellucid_config::mcp::McpTransport;
use pellucid_engine::digest::Digest;
use pellucid_engine::mcp;
use pellucid_engine::mcp::ServerTool;
use pellucid_engine::mcp::ToolFilter;
use pellucid_exec::process::Command;
use pellucid_exec::process::Variables;
use pellucid_mcp::auth;
use pellucid_mcp::elicitation::Answering;
use pellucid_mcp::elicitation::Nobody;
use pellucid_mcp::elicitation::Person;
use pellucid_mcp::login::tokens::Tokens;
use pellucid_mcp::servers::Servers;
use pellucid_mcp::spec::ClientName;
use pellucid_mcp::spec::HttpClients;
use pellucid_mcp::spec::HttpReach;
use pellucid_mcp::spec::Reach;
use pellucid_mcp::spec::ServerSpec;
use pellucid_model::Transport;
use pellucid_protocol::elicitation::ElicitationRequest;
use pellucid_protocol::mcp::McpAuthStatus;
use pellucid_protocol::mcp::McpPage;
use pellucid_protocol::mcp::McpServerStatus;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::mcp::McpToolResult;
use pellucid_protocol::secret::Secret;
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

use crate::identity::VERSION;
use crate::mcp_login;

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
    /// Whether the facts list the servers' tools.
    pub are_known: bool,
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
    pub(crate) fn start(config: &Config, env: &Env, desk: Desk) -> Option<Self> {
        let specs = specs(config, env);
        if specs.is_empty() {
            return None;
        }
        let person: Arc<dyn Person> = Arc::new(AtDesk(desk.clone()));
        let (servers, mut events) = Servers::start(specs, http_clients(), &us(), &person);
        let passing_on = Task::spawn("passing on events of MCP servers", async move {
            while let Some(event) = events.recv().await {
                desk.say(FromTool::SessionEvent(event)).await;
            }
        });
        let servers = Arc::new(servers);
        Some(Self { servers, owner: Owner::Session, are_known: false, _passing_on: Arc::new(passing_on) })
    }

    /// The same servers for a session that this one starts.
    pub(crate) fn lent(&self) -> Self {
        Self { owner: Owner::Parent, ..self.clone() }
    }

    /// Waits for the servers that the session cannot do without.
    pub(crate) async fn required(&self) -> Result<(), RequiredFailed> {
        self.servers.required().await.map_err(RequiredFailed)
    }

    /// Waits until the servers have started, or not.
    pub(crate) fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let servers = self.servers.clone();
        Box::pin(async move { servers.settled().await })
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

    /// Passes calls of tools to the servers.
    pub(crate) fn for_calls(&self) -> Arc<dyn ToolServers> {
        Arc::new(ForCalls(self.servers.clone()))
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
    for status in &mut all {
        if let Some(server) = config.tools.mcp_servers.get(&status.name)
            && has_token(server)
        {
            status.auth_status = McpAuthStatus::BearerToken;
        }
    }
    all
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
    for (name, tools) in servers.listed() {
        let Some(server) = config.tools.mcp_servers.get(&name) else { continue };
        if let Err(error) = lists.keep(&reach_digest(server), &tools) {
            tracing::warn!(server = name, %error, "the tools of an MCP server are not kept");
        }
    }
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
        for spec in specs(config, env) {
            let name = spec.name;
            let server = config.tools.mcp_servers.get(&name).filter(|_| mcp::is_server_name(&name));
            let Some(server) = server else {
                missing
                    .push((name, "its name may only have letters, digits, `-` and `_`, so it never starts".to_owned()));
                continue;
            };
            match lists.last(&reach_digest(server)) {
                Ok(Some(tools)) => {
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
    let enabled = config.tools.mcp_servers.iter().filter(|(_, server)| server.enabled);
    enabled.map(|(name, server)| spec(name, server, config, env)).collect()
}

fn spec(name: &str, server: &McpServer, config: &Config, env: &Env) -> ServerSpec {
    ServerSpec {
        name: name.to_owned(),
        reach: reach(name, server, config, env),
        is_required: server.required,
        startup_timeout: server.startup_limit(),
        tool_timeout: server.tool_limit(),
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

fn us() -> ClientName {
    ClientName { name: "pellucid-mcp-client".to_owned(), title: "Pellucid".to_owned(), version: VERSION.to_owned() }
}

/// The person at the client of a session: the turn that runs decides whether the client is asked.
#[derive(Debug)]
struct AtDesk(Desk);

impl Person for AtDesk {
    fn ask(&self, request: ElicitationRequest) -> Answering {
        let desk = self.0.clone();
        Box::pin(async move { desk.elicit(request).await })
    }
}

/// Servers as calls need them.
#[derive(Debug)]
struct ForCalls(Arc<Servers>);

impl ToolServers for ForCalls {
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: Option<Map<String, Value>>,
    ) -> Asking<'a, McpToolResult> {
        Box::pin(self.0.call(server, tool, arguments))
    }

    fn list<'a>(&'a self, what: Listed, server: &'a str, cursor: Option<String>) -> Asking<'a, McpPage> {
        match what {
            Listed::Resources => Box::pin(self.0.resources(server, cursor)),
            Listed::Templates => Box::pin(self.0.templates(server, cursor)),
        }
    }

    fn list_all(&self, what: Listed) -> ListingAll<'_> {
        match what {
            Listed::Resources => Box::pin(self.0.all_resources()),
            Listed::Templates => Box::pin(self.0.all_templates()),
        }
    }

    fn read<'a>(&'a self, server: &'a str, uri: &'a str) -> Asking<'a, Map<String, Value>> {
        Box::pin(self.0.read(server, uri))
    }
}
