//! What is known of an MCP server before it is started.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pellucid_engine::mcp::ToolFilter;
use pellucid_exec::process::Command;
use pellucid_protocol::mcp::McpTool;
use pellucid_protocol::secret::Secret;
use pellucid_protocol::settings::McpProtocol;

use crate::login::tokens::Tokens;

/// An MCP server to start.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// The server's name in the configuration.
    pub name: String,
    /// How the server is reached, or why it cannot be.
    pub reach: Result<Reach, String>,
    /// Whether a session fails if the server does not start.
    pub is_required: bool,
    /// How long the server may take to start.
    pub startup_timeout: Duration,
    /// How long a call may take without progress.
    pub tool_timeout: Duration,
    /// How long a call may take in all, if the server reports progress.
    pub tool_timeout_max: Duration,
    /// The largest message that is read, in bytes.
    pub max_message_bytes: usize,
    /// How the server is greeted.
    pub protocol: McpProtocol,
    /// The revision that the server spoke lately, for a server that is greeted in the newest one it knows.
    pub known_revision: Option<String>,
    /// The tools that the server listed in an earlier session, for a server whose start no request waits for. They are
    /// offered until it has started.
    pub last_listed: Option<Vec<McpTool>>,
    /// How the session follows the server, if it does.
    pub follow: Option<Follow>,
    /// The tools that are offered to the model.
    pub tools: ToolFilter,
}

/// How a session follows a server: it reads all pages of its lists, and reads lists that change again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Follow {
    /// The folders that the session works in, for servers that ask.
    pub roots: Vec<PathBuf>,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// A program that is started, through its standard streams.
    Program(Command),
    /// An address, over streamable HTTP.
    Http(HttpReach),
}

/// How a server is reached over HTTP.
#[derive(Debug, Clone)]
pub struct HttpReach {
    /// The address of the server.
    pub url: String,
    /// The bearer token for the `Authorization` header.
    pub bearer: Option<Secret>,
    /// Further headers of every request.
    pub headers: BTreeMap<String, Secret>,
    /// The tokens of a login, for a server without another token.
    pub login: Option<Tokens>,
}

/// The minimal length of a secret: shorter values are ordinary words.
const SECRET_CHARS_MIN: usize = 8;

impl ServerSpec {
    /// A text with the secrets of the server's requests blanked, because servers repeat what they refuse.
    pub(crate) fn blanked(&self, text: &str) -> String {
        let Ok(Reach::Http(http)) = &self.reach else { return text.to_owned() };
        let given = http.login.as_ref().map(Tokens::given).unwrap_or_default();
        let secrets = http.bearer.iter().chain(http.headers.values()).chain(&given);
        let values = secrets.map(|secret| secret.reveal().trim_start_matches("Bearer "));
        let mut text = text.to_owned();
        for value in values.filter(|value| value.chars().count() >= SECRET_CHARS_MIN) {
            text = text.replace(value, "[secret]");
        }
        text
    }
}

impl HttpReach {
    /// Whether requests carry an `Authorization` header of the configuration.
    pub fn has_authorization(&self) -> bool {
        self.bearer.is_some() || self.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
    }
}

/// Makes HTTP clients for addresses, so that TLS is set up once in a process.
#[derive(Clone)]
pub struct HttpClients(Arc<GiveClient>);

/// A client for an address, or why there is none.
type GiveClient = dyn Fn(&str) -> Result<reqwest::Client, String> + Send + Sync;

impl HttpClients {
    /// Uses a function that returns a client for an address.
    pub fn new(give: impl Fn(&str) -> Result<reqwest::Client, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(give))
    }

    pub(crate) fn get(&self, url: &str) -> Result<reqwest::Client, String> {
        (self.0)(url)
    }
}

impl fmt::Debug for HttpClients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClients")
    }
}

/// How this program introduces itself to servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientName {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// The version of this program.
    pub version: String,
}
