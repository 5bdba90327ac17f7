//! `mcp`: the servers of tools in the configuration, to see and to change, and logins at them.
//!
//! Lists show the configuration with all its layers; changes go to the user's own file.

mod listings;
mod login;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use pellucid_agent::mcp;
use pellucid_agent::mcp::ListingKind;
use pellucid_config::edit::Edit;
use pellucid_config::edit::ValueEdit;
use pellucid_config::mcp::McpServer;
use pellucid_config::mcp::McpTransport;
use pellucid_config::value::Value as ConfigValue;
use pellucid_engine::mcp::is_server_name;
use pellucid_protocol::mcp::McpAuthStatus;
use pellucid_protocol::settings::McpProtocol;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

use crate::args::mcp::McpAddArgs;
use crate::args::mcp::McpArgs;
use crate::args::mcp::McpCommand;
use crate::args::mcp::McpGetArgs;
use crate::args::mcp::McpListArgs;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::edits;
use crate::exec;
use crate::mcp::listings::listing;
use crate::pack::table::table;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::start::Start;

/// Shown in a table cell without a value.
const NOTHING: &str = "-";

/// Shown in place of a value that may be a secret.
const MASK: &str = "*****";

pub fn run(shared: &Shared, args: McpArgs) -> Result<ExitCode, ProgramFailure> {
    let start = Start::new(shared, &StartArgs::default())?;
    let is_json = match &args.command {
        McpCommand::List(args) => args.json,
        McpCommand::Get(args) | McpCommand::Tools(args) | McpCommand::Prompts(args) | McpCommand::Resources(args) => {
            args.json
        }
        McpCommand::Add(_) | McpCommand::Remove(_) | McpCommand::Login(_) | McpCommand::Logout(_) => false,
    };
    let said = match args.command {
        McpCommand::List(args) => list(&start, &args)?,
        McpCommand::Get(args) => get(&start, &args)?,
        McpCommand::Tools(args) => listing(&start, &args, ListingKind::Tools)?,
        McpCommand::Prompts(args) => listing(&start, &args, ListingKind::Prompts)?,
        McpCommand::Resources(args) => listing(&start, &args, ListingKind::Resources)?,
        McpCommand::Add(args) => add(&start, args)?,
        McpCommand::Remove(args) => remove(&start, &args.name)?,
        McpCommand::Login(args) => login::log_in(&start, &args)?,
        McpCommand::Logout(args) => login::log_out(&start, &args.name)?,
    };
    print::report(&format!("{said}\n"), OutputFormat::of(is_json))?;
    Ok(ExitCode::SUCCESS)
}

fn list(start: &Start, args: &McpListArgs) -> Result<String, ProgramFailure> {
    let servers = &start.config.tools.mcp_servers;
    let auth = auth_statuses(start)?;
    let auth = |name: &str| auth.get(name).copied().unwrap_or(McpAuthStatus::Unsupported);
    if args.json {
        let listed: Vec<Listed<'_>> = servers
            .iter()
            .map(|(name, server)| Listed {
                about: About::of(name, server),
                timeouts: Timeouts::of(server),
                auth_status: auth(name),
            })
            .collect();
        return pretty(&listed);
    }
    if servers.is_empty() {
        return Ok("No MCP servers configured yet. Try `pellucid mcp add my-tool -- my-command`.".to_owned());
    }
    let (mut programs, mut addresses) = (Vec::new(), Vec::new());
    for (name, server) in servers {
        let end = [status(server), auth(name).to_string()];
        match &server.transport {
            McpTransport::Stdio { command, args, env, env_vars, cwd } => {
                let row = [name.clone(), command.clone(), or_nothing(args.join(" "))];
                let place = [or_nothing(masked(env, env_vars)), shown(cwd.as_ref())];
                programs.push(row.into_iter().chain(place).chain(end).collect());
            }
            McpTransport::Http { url, bearer_token_env_var, .. } => {
                let row = [name.clone(), url.clone(), bearer_token_env_var.clone().unwrap_or_else(nothing)];
                addresses.push(row.into_iter().chain(end).collect());
            }
        }
    }
    let mut tables = Vec::new();
    if !programs.is_empty() {
        tables.push(table(&["Name", "Command", "Args", "Env", "Cwd", "Status", "Auth"], &programs));
    }
    if !addresses.is_empty() {
        tables.push(table(&["Name", "Url", "Bearer Token Env Var", "Status", "Auth"], &addresses));
    }
    Ok(tables.join("\n").trim_end().to_owned())
}

fn get(start: &Start, args: &McpGetArgs) -> Result<String, ProgramFailure> {
    let name = &args.name;
    let server = start.config.tools.mcp_servers.get(name).ok_or_else(|| unknown(name))?;
    if args.json {
        let described = Described {
            about: About::of(name, server),
            enabled_tools: server.enabled_tools.as_deref(),
            disabled_tools: server.disabled_tools.as_deref(),
            timeouts: Timeouts::of(server),
            protocol: (server.protocol != McpProtocol::Initialize).then_some(server.protocol),
            revision: mcp::known_revision(&start.config, server),
        };
        return pretty(&described);
    }
    if !server.enabled {
        let reason = server.disabled_reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        return Ok(format!("{name} (disabled{reason})"));
    }
    let mut lines = vec![("enabled", "true".to_owned())];
    let tools = [("enabled_tools", &server.enabled_tools), ("disabled_tools", &server.disabled_tools)];
    lines.extend(tools.iter().filter_map(|(key, tools)| Some((*key, tools.as_ref()?.join(", ")))));
    match &server.transport {
        McpTransport::Stdio { command, args, env, env_vars, cwd } => lines.extend([
            ("transport", "stdio".to_owned()),
            ("command", command.clone()),
            ("args", or_nothing(args.join(" "))),
            ("cwd", shown(cwd.as_ref())),
            ("env", or_nothing(masked(env, env_vars))),
        ]),
        McpTransport::Http { url, bearer_token_env_var, http_headers, env_http_headers } => {
            let variables = env_http_headers.iter().map(|(name, variable)| format!("{name}={variable}"));
            lines.extend([
                ("transport", "streamable_http".to_owned()),
                ("url", url.clone()),
                ("bearer_token_env_var", bearer_token_env_var.clone().unwrap_or_else(nothing)),
                ("http_headers", or_nothing(masked(http_headers, &[]))),
                ("env_http_headers", or_nothing(variables.collect::<Vec<_>>().join(", "))),
            ]);
        }
    }
    let Timeouts { startup_timeout_sec, tool_timeout_sec } = Timeouts::of(server);
    let timeouts = [("startup_timeout_sec", startup_timeout_sec), ("tool_timeout_sec", tool_timeout_sec)];
    lines.extend(timeouts.iter().filter_map(|(key, seconds)| Some((*key, seconds.as_ref()?.to_string()))));
    if server.protocol != McpProtocol::Initialize {
        let revision = mcp::known_revision(&start.config, server);
        lines.push(("protocol", server.protocol.to_string()));
        lines.extend(revision.map(|revision| ("revision", revision)));
    }
    lines.push(("remove", format!("pellucid mcp remove {name}")));
    let lines = lines.iter().map(|(key, value)| format!("\n  {key}: {value}"));
    Ok(std::iter::once(name.clone()).chain(lines).collect())
}

fn add(start: &Start, args: McpAddArgs) -> Result<String, ProgramFailure> {
    let McpAddArgs { name, env, url, bearer_token_env_var, command } = args;
    if !is_server_name(&name) {
        let message = format!("invalid server name '{name}' (use letters, numbers, '-', '_')");
        return Err(ProgramFailure::new(message));
    }
    let address = url.clone().filter(|_| bearer_token_env_var.is_none());
    let mut entry = match (url, command.split_first()) {
        (Some(url), _) => json!({ "url": url }),
        (None, Some((program, []))) => json!({ "command": program }),
        (None, Some((program, arguments))) => json!({ "command": program, "args": arguments }),
        (None, None) => return Err(ProgramFailure::new("give the program of the server after `--`, or its --url")),
    };
    if let Some(variable) = bearer_token_env_var {
        entry["bearer_token_env_var"] = variable.into();
    }
    if !env.is_empty() {
        entry["env"] = env.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
    }
    change(start, &name, ValueEdit::Replace(entry))?;
    let said = format!("Added global MCP server '{name}'.");
    let Some(url) = address else { return Ok(said) };
    let (http_headers, env_http_headers) = (BTreeMap::new(), BTreeMap::new());
    let transport = McpTransport::Http { url, bearer_token_env_var: None, http_headers, env_http_headers };
    login::log_in_to_added(start, &name, &McpServer::reached_by(transport), said)
}

fn remove(start: &Start, name: &str) -> Result<String, ProgramFailure> {
    Ok(match change(start, name, ValueEdit::Clear)? {
        Before::There => format!("Removed global MCP server '{name}'."),
        Before::Nothing => format!("No MCP server named '{name}' found."),
    })
}

/// The server's entry in the user's file before the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    There,
    Nothing,
}

/// Changes what the user's file says of a server.
fn change(start: &Start, name: &str, change: ValueEdit) -> Result<Before, ProgramFailure> {
    let mut before = Before::Nothing;
    edits::change(&start.config.folders.user_file, |file| {
        let servers = file.get("mcp_servers").and_then(ConfigValue::as_table);
        if servers.is_some_and(|servers| servers.get(name).is_some()) {
            before = Before::There;
        } else if change == ValueEdit::Clear {
            return Vec::new();
        }
        vec![Edit::top("mcp_servers", change).under(name)]
    })?;
    Ok(before)
}

fn unknown(name: &str) -> ProgramFailure {
    let hint = "`pellucid mcp list` shows those that are configured";
    ProgramFailure::with_hint(&format!("No MCP server named '{name}' found."), hint)
}

/// How requests to each server that is used are authenticated.
fn auth_statuses(start: &Start) -> Result<BTreeMap<String, McpAuthStatus>, ProgramFailure> {
    let servers = &start.config.tools.mcp_servers;
    exec::runtime()?.block_on(async {
        let mut all = BTreeMap::new();
        for (name, server) in servers.iter().filter(|(_, server)| server.enabled) {
            all.insert(name.clone(), mcp::auth_status(name, server, &start.config, &start.env).await);
        }
        Ok(all)
    })
}

fn status(server: &McpServer) -> String {
    match &server.disabled_reason {
        _ if server.enabled => "enabled".to_owned(),
        Some(reason) => format!("disabled: {reason}"),
        None => "disabled".to_owned(),
    }
}

/// Names with their values hidden.
fn masked(values: &BTreeMap<String, String>, variables: &[String]) -> String {
    let names = values.keys().chain(variables);
    names.map(|name| format!("{name}={MASK}")).collect::<Vec<_>>().join(", ")
}

fn shown(path: Option<&PathBuf>) -> String {
    path.map_or_else(nothing, |path| path.display().to_string())
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { nothing() } else { text }
}

fn nothing() -> String {
    NOTHING.to_owned()
}

fn pretty(value: &impl Serialize) -> Result<String, ProgramFailure> {
    serde_json::to_string_pretty(value).map_err(|error| ProgramFailure::new(format!("{error}")))
}

/// A server as `list --json` shows it.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    about: About<'a>,
    #[serde(flatten)]
    timeouts: Timeouts,
    auth_status: McpAuthStatus,
}

/// A server as `get --json` shows it.
#[derive(Serialize)]
struct Described<'a> {
    #[serde(flatten)]
    about: About<'a>,
    enabled_tools: Option<&'a [String]>,
    disabled_tools: Option<&'a [String]>,
    #[serde(flatten)]
    timeouts: Timeouts,
    /// How the server is greeted, if not as by the Codex CLI, whose output has no such member.
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<McpProtocol>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
}

#[derive(Serialize)]
struct About<'a> {
    name: &'a str,
    enabled: bool,
    disabled_reason: Option<&'a str>,
    transport: Transport<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Transport<'a> {
    Stdio {
        command: &'a str,
        args: &'a [String],
        env: Option<&'a BTreeMap<String, String>>,
        env_vars: &'a [String],
        cwd: Option<&'a PathBuf>,
    },
    StreamableHttp {
        url: &'a str,
        bearer_token_env_var: Option<&'a str>,
        http_headers: Option<&'a BTreeMap<String, String>>,
        env_http_headers: Option<&'a BTreeMap<String, String>>,
    },
}

#[derive(Serialize)]
struct Timeouts {
    startup_timeout_sec: Option<f64>,
    tool_timeout_sec: Option<f64>,
}

impl<'a> About<'a> {
    fn of(name: &'a str, server: &'a McpServer) -> Self {
        let some = |map: &'a BTreeMap<String, String>| (!map.is_empty()).then_some(map);
        let transport = match &server.transport {
            McpTransport::Stdio { command, args, env, env_vars, cwd } => {
                Transport::Stdio { command, args, env: some(env), env_vars, cwd: cwd.as_ref() }
            }
            McpTransport::Http { url, bearer_token_env_var, http_headers, env_http_headers } => {
                Transport::StreamableHttp {
                    url,
                    bearer_token_env_var: bearer_token_env_var.as_deref(),
                    http_headers: some(http_headers),
                    env_http_headers: some(env_http_headers),
                }
            }
        };
        Self { name, enabled: server.enabled, disabled_reason: server.disabled_reason.as_deref(), transport }
    }
}

impl Timeouts {
    fn of(server: &McpServer) -> Self {
        let seconds = |timeout: Option<Duration>| timeout.map(|timeout| timeout.as_secs_f64());
        Self { startup_timeout_sec: seconds(server.startup_timeout), tool_timeout_sec: seconds(server.tool_timeout) }
    }
}
