//! Who we say we are, and new ids.

use pellucid_config::Env;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_workspace::os::Host;
use pellucid_workspace::os::user_agent;
use pellucid_workspace::terminal::terminal;
use uuid::Uuid;

/// The version of this program, from its manifest.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How this program identifies itself to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The client's own name, as people know it: the channel of what goes before their input.
    pub name: String,
    /// The name of the client that runs the session, for the header `originator`.
    pub originator: String,
    /// The value of the header `User-Agent`.
    pub user_agent: String,
}

impl ClientIdentity {
    /// Reads the host and the terminal once, for the life of the process.
    pub fn new(originator: &str, env: &Env) -> Self {
        Self::with(originator, None, env)
    }

    /// The same client under the name that people know it by.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// The same for a program that drives sessions through us.
    pub fn of_client(name: &str, version: &str, env: &Env) -> Self {
        Self::with(name, Some(&format!("{name}; {version}")), env)
    }

    /// The same for a program that calls us, while sessions keep the name of their own client.
    pub fn for_client(originator: &str, name: &str, version: &str, env: &Env) -> Self {
        Self::with(originator, Some(&format!("{name}; {version}")), env)
    }

    fn with(originator: &str, client: Option<&str>, env: &Env) -> Self {
        let name = originator.to_owned();
        let originator = env.text("CODEX_INTERNAL_ORIGINATOR_OVERRIDE").unwrap_or_else(|| originator.to_owned());
        let terminal = terminal(&|name| env.var_os(name));
        let user_agent = user_agent(&originator, VERSION, &Host::read(), &terminal, client);
        Self { name, originator, user_agent }
    }
}

/// An id for a new session.
pub fn new_session_id() -> SessionId {
    SessionId::new(Uuid::now_v7().to_string())
}

/// Reads the id of a session, in any form that a UUID has.
pub fn parse_session_id(text: &str) -> Option<String> {
    Uuid::parse_str(text).ok().map(|id| id.to_string())
}

/// An id for a new submission.
pub fn new_turn_id() -> TurnId {
    TurnId::new(Uuid::now_v7().to_string())
}
