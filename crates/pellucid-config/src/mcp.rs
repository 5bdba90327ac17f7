//! MCP servers as the configuration describes them.
//!
//! Not here: starting them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use pellucid_protocol::settings::McpOffer;
use pellucid_protocol::settings::McpProtocol;
use pellucid_protocol::settings::McpStart;
use pellucid_protocol::word_enum;

use crate::check::Problem;
use crate::keys::default;
use crate::reader::Reader;
use crate::reader::map;
use crate::reader::texts;
use crate::requirements::McpIdentity;
use crate::requirements::Requirements;
use crate::value::Table;
use crate::value::Value;
use crate::value::dotted;

/// An MCP server of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServer {
    /// How the server is reached.
    pub transport: McpTransport,
    /// Whether the server is used.
    pub enabled: bool,
    /// Why an administrator's requirement disables the server.
    pub disabled_reason: Option<String>,
    /// Whether a session fails if the server does not start.
    pub required: bool,
    /// How long the server may take to start.
    pub startup_timeout: Option<Duration>,
    /// How long a call may take without progress.
    pub tool_timeout: Option<Duration>,
    /// How long a call may take in all, if the server reports progress.
    pub tool_timeout_max: Option<Duration>,
    /// The largest message of the server that is read, in bytes.
    pub max_message_bytes: usize,
    /// How the server is greeted.
    pub protocol: McpProtocol,
    /// Whether the first request waits for the server, if the server has its own rule.
    pub start: Option<McpStart>,
    /// The tools that are offered; all if absent.
    pub enabled_tools: Option<Vec<String>>,
    /// The tools that are not offered.
    pub disabled_tools: Option<Vec<String>>,
    /// How requests offer the tools, if the server has its own rule.
    pub offer: Option<McpOffer>,
    /// How a login to the server is made.
    pub login: McpLogin,
}

/// How a login to an MCP server is made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpLogin {
    /// The client id that the authorization server knows, or the address of a document about the client.
    pub client_id: Option<String>,
    /// The variable with the secret of that client.
    pub client_secret_env_var: Option<String>,
    /// The scopes to request; empty for those that the server asks for.
    pub scopes: Vec<String>,
    /// The port of this computer to which the browser returns.
    pub callback_port: Option<u16>,
    /// How a token is got.
    pub grant: McpGrant,
}

word_enum! {
    /// How a token for an MCP server is got.
    #[derive(Default)]
    McpGrant {
        /// A person logs in in a browser.
        #[default]
        Code = "code",
        /// The client itself has a secret, and no person is needed.
        ClientCredentials = "client_credentials",
    }
}

word_enum! {
    /// Where logins to MCP servers are stored.
    #[derive(Default)]
    McpLoginStore {
        /// The file, because this program uses no keyring.
        #[default]
        Auto = "auto",
        /// A file in the home folder.
        File = "file",
        /// The keyring of the system, which is not supported.
        Keyring = "keyring",
    }
}

/// What holds for all logins to MCP servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct McpLogins {
    /// Where logins are stored.
    pub store: McpLoginStore,
    /// The port of this computer to which the browser returns, for servers that have no other.
    pub callback_port: Option<u16>,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that is started, through its standard streams.
    Stdio {
        /// The program to start.
        command: String,
        /// The arguments of the program.
        args: Vec<String>,
        /// Variables that are set for the program.
        env: BTreeMap<String, String>,
        /// Names of variables that the program receives from the environment.
        env_vars: Vec<String>,
        /// The working directory of the program.
        cwd: Option<PathBuf>,
    },
    /// An address, over streamable HTTP.
    Http {
        /// The address of the server.
        url: String,
        /// The variable with the bearer token.
        bearer_token_env_var: Option<String>,
        /// Headers of every request.
        http_headers: BTreeMap<String, String>,
        /// Headers whose values come from environment variables.
        env_http_headers: BTreeMap<String, String>,
    },
}

impl McpServer {
    /// How long the server may take to start, configured or by default.
    pub fn startup_limit(&self) -> Duration {
        self.startup_timeout.unwrap_or(STARTUP_TIMEOUT)
    }

    /// How long a call may take, configured or by default.
    pub fn tool_limit(&self) -> Duration {
        self.tool_timeout.unwrap_or(TOOL_TIMEOUT)
    }

    /// How long a call may take in all, configured or by default.
    pub fn tool_limit_in_all(&self) -> Duration {
        let limit = self.tool_limit();
        self.tool_timeout_max.unwrap_or_else(|| limit.saturating_mul(TOOL_TIMEOUT_MAX)).max(limit)
    }

    /// The variables with the server's token or secrets for its headers. The variables of a program are not included,
    /// because commands may need them too.
    pub(crate) fn key_variables(&self) -> Vec<&String> {
        match &self.transport {
            McpTransport::Stdio { .. } => Vec::new(),
            McpTransport::Http { bearer_token_env_var, env_http_headers, .. } => {
                let secret = &self.login.client_secret_env_var;
                bearer_token_env_var.iter().chain(env_http_headers.values()).chain(secret).collect()
            }
        }
    }
}

const STDIO_ONLY: [&str; 4] = ["args", "env", "env_vars", "cwd"];
const HTTP_ONLY: [&str; 5] = ["url", "bearer_token_env_var", "http_headers", "env_http_headers", "oauth"];
const REFUSED: &str = "bearer_token";
const STARTUP_TIMEOUT: Duration = Duration::from_secs(default::number("mcp_servers.<name>.startup_timeout_sec") as u64);
const TOOL_TIMEOUT: Duration = Duration::from_secs(default::number("mcp_servers.<name>.tool_timeout_sec") as u64);

/// How many times the limit of a call is the limit of one that makes progress.
const TOOL_TIMEOUT_MAX: u32 = 10;
const MESSAGE_BYTES: usize = default::number("mcp_servers.<name>.max_message_bytes") as usize;
const PROTOCOL: McpProtocol = McpProtocol::named(default::text("mcp_servers.<name>.protocol"));

/// All servers by name; those that the requirements forbid are disabled.
pub(crate) fn servers(
    reader: &Reader<'_>,
    requirements: &Requirements,
) -> Result<BTreeMap<String, McpServer>, Problem> {
    let mut servers = BTreeMap::new();
    for entry in reader.table("mcp_servers").into_iter().flat_map(Table::iter) {
        let Some(table) = entry.value.as_table() else { continue };
        let mut server = server(table).map_err(|message| Problem {
            message,
            key: dotted(&["mcp_servers", &entry.key]),
            place: entry.value.place,
        })?;
        forbid(&entry.key, &mut server, requirements);
        servers.insert(entry.key.clone(), server);
    }
    Ok(servers)
}

impl McpServer {
    /// A server that is reached in this way, with the defaults of all other keys.
    pub fn reached_by(transport: McpTransport) -> Self {
        Self {
            transport,
            enabled: true,
            disabled_reason: None,
            required: false,
            startup_timeout: None,
            tool_timeout: None,
            tool_timeout_max: None,
            max_message_bytes: MESSAGE_BYTES,
            protocol: PROTOCOL,
            start: None,
            enabled_tools: None,
            disabled_tools: None,
            offer: None,
            login: McpLogin::default(),
        }
    }
}

pub(crate) fn forbid(name: &str, server: &mut McpServer, requirements: &Requirements) {
    let Some(required) = &requirements.mcp_servers else { return };
    let is_allowed = match (required.servers.get(name), &server.transport) {
        (Some(McpIdentity::Command { command: allowed }), McpTransport::Stdio { command, .. }) => allowed == command,
        (Some(McpIdentity::Url { url: allowed }), McpTransport::Http { url, .. }) => allowed == url,
        _ => false,
    };
    if !is_allowed {
        server.enabled = false;
        server.disabled_reason = Some(format!("requirements ({})", required.source.display()));
    }
}

fn server(table: &Table) -> Result<McpServer, String> {
    let flag = |key| table.get(key).and_then(Value::as_bool);
    let seconds = |key| table.get(key).and_then(Value::as_number).map(duration).transpose();
    let word = |key| table.get(key).and_then(Value::as_str);
    let milliseconds = table.get("startup_timeout_ms").and_then(Value::as_integer);
    Ok(McpServer {
        transport: transport(table)?,
        enabled: flag("enabled").unwrap_or(const { default::flag("mcp_servers.<name>.enabled") }),
        disabled_reason: None,
        required: flag("required").unwrap_or(const { default::flag("mcp_servers.<name>.required") }),
        startup_timeout: seconds("startup_timeout_sec")?
            .or_else(|| milliseconds?.try_into().ok().map(Duration::from_millis)),
        tool_timeout: seconds("tool_timeout_sec")?,
        tool_timeout_max: seconds("tool_timeout_max_sec")?,
        max_message_bytes: table
            .get("max_message_bytes")
            .and_then(Value::as_integer)
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(MESSAGE_BYTES),
        protocol: word("protocol").and_then(McpProtocol::from_word).unwrap_or(PROTOCOL),
        start: word("start").and_then(McpStart::from_word),
        enabled_tools: table.get("enabled_tools").and_then(texts),
        disabled_tools: table.get("disabled_tools").and_then(texts),
        offer: word("offer").and_then(McpOffer::from_word),
        login: login(table),
    })
}

fn login(table: &Table) -> McpLogin {
    let of_server = |key| table.get("oauth").and_then(Value::as_table).and_then(|oauth| oauth.get(key));
    let text = |key| of_server(key).and_then(Value::as_str).map(str::to_owned);
    McpLogin {
        client_id: text("client_id"),
        client_secret_env_var: text("client_secret_env_var"),
        scopes: of_server("scopes").or_else(|| table.get("scopes")).and_then(texts).unwrap_or_default(),
        callback_port: of_server("callback_port").and_then(Value::as_integer).and_then(|port| port.try_into().ok()),
        grant: of_server("grant").and_then(Value::as_str).and_then(McpGrant::from_word).unwrap_or_default(),
    }
}

fn transport(table: &Table) -> Result<McpTransport, String> {
    let text = |key| table.get(key).and_then(Value::as_str).map(str::to_owned);
    let map = |key| table.get(key).and_then(map).unwrap_or_default();
    let texts = |key| table.get(key).and_then(texts).unwrap_or_default();
    if let Some(command) = text("command") {
        refuse(table, &HTTP_ONLY, "stdio")?;
        Ok(McpTransport::Stdio {
            command,
            args: texts("args"),
            env: map("env"),
            env_vars: texts("env_vars"),
            cwd: text("cwd").map(PathBuf::from),
        })
    } else if let Some(url) = text("url") {
        refuse(table, &STDIO_ONLY, "streamable_http")?;
        Ok(McpTransport::Http {
            url,
            bearer_token_env_var: text("bearer_token_env_var"),
            http_headers: map("http_headers"),
            env_http_headers: map("env_http_headers"),
        })
    } else {
        Err("invalid transport".to_owned())
    }
}

fn refuse(table: &Table, fields: &[&str], transport: &str) -> Result<(), String> {
    match fields.iter().chain([&REFUSED]).find(|field| table.get(field).is_some()) {
        Some(field) => Err(format!("{field} is not supported for {transport}")),
        None => Ok(()),
    }
}

fn duration(seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{seconds} seconds is not a length of time"))
}
