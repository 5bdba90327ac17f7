//! What is known of a server before it is started.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pellucid_engine::mcp::ToolFilter;
use pellucid_exec::process::Command;
use pellucid_protocol::secret::Secret;

/// A server to start.
#[derive(Debug, Clone)]
pub struct ServerSpec {
    /// Its name.
    pub name: String,
    /// How it is reached; or why it cannot be.
    pub reach: Result<Reach, String>,
    /// Whether a session fails without it.
    pub is_required: bool,
    /// How long it may take to answer at first.
    pub startup_timeout: Duration,
    /// How long a call may take.
    pub tool_timeout: Duration,
    /// Which of its tools are offered.
    pub tools: ToolFilter,
}

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// Over the pipes of a program.
    Program(Command),
    /// Over HTTP.
    Http(HttpReach),
}

/// How a server is reached over HTTP.
#[derive(Debug, Clone)]
pub struct HttpReach {
    /// The address.
    pub url: String,
    /// The token that says who asks.
    pub bearer: Option<Secret>,
    /// Further headers of every request.
    pub headers: BTreeMap<String, Secret>,
}

/// The least length of what is taken for a secret: shorter values are words.
const SECRET_CHARS_MIN: usize = 8;

impl ServerSpec {
    /// A text without the secrets that the server is asked with: servers repeat what they refuse.
    pub(crate) fn blanked(&self, text: &str) -> String {
        let Ok(Reach::Http(http)) = &self.reach else { return text.to_owned() };
        let secrets = http.bearer.iter().chain(http.headers.values());
        let values = secrets.map(|secret| secret.reveal().trim_start_matches("Bearer "));
        let mut text = text.to_owned();
        for value in values.filter(|value| value.chars().count() >= SECRET_CHARS_MIN) {
            text = text.replace(value, "[secret]");
        }
        text
    }
}

impl HttpReach {
    /// Whether requests say who asks.
    pub fn has_authorization(&self) -> bool {
        self.bearer.is_some() || self.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
    }
}

/// Gives HTTP clients for addresses, so that there is one set-up of TLS in a process.
#[derive(Clone)]
pub struct HttpClients(Arc<GiveClient>);

/// A client for an address, or why there is none.
type GiveClient = dyn Fn(&str) -> Result<reqwest::Client, String> + Send + Sync;

impl HttpClients {
    /// From a function that gives a client for an address.
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

/// How we introduce ourselves to servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientName {
    /// For programs.
    pub name: String,
    /// For people.
    pub title: String,
    /// The version.
    pub version: String,
}
