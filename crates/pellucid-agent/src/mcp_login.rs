//! Logins of MCP servers: from the configuration to a login that a person makes, and out again.
//!
//! Not here: the login itself and its store (`pellucid_mcp::login`), opening a browser.

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::mcp::McpGrant;
use pellucid_config::mcp::McpLoginStore;
use pellucid_config::mcp::McpServer;
use pellucid_config::mcp::McpTransport;
use pellucid_mcp::login::Grant;
use pellucid_mcp::login::LoginError;
use pellucid_mcp::login::LoginSpec;
use pellucid_mcp::login::attempt;
pub use pellucid_mcp::login::attempt::LoginAttempt;
pub use pellucid_mcp::login::store::Forgotten;
use pellucid_mcp::login::store::LoginStore;
use pellucid_protocol::secret::Secret;
use thiserror::Error;

use crate::mcp::headers;
use crate::mcp::http_clients;

/// Why no one is logged in to a server, or out.
#[derive(Debug, Error)]
pub enum McpLoginError {
    /// There is no such server.
    #[error("No MCP server named '{0}' found.")]
    Unknown(String),
    /// The server is a program.
    #[error(
        "the MCP server '{0}' is a program; only servers with a `url` have logins. Give it what it needs with `env` or \
         `env_vars` in [mcp_servers.{0}]."
    )]
    Program(String),
    /// We do not speak to keyrings.
    #[error(
        "mcp_oauth_credentials_store = \"keyring\" is not supported: write \"file\", which keeps logins in \
         {file}"
    )]
    NoKeyring {
        /// Where logins would be kept.
        file: String,
    },
    /// The login failed.
    #[error("failed to login to MCP server '{name}': {error}")]
    Failed {
        /// The server's name in the configuration.
        name: String,
        /// What went wrong.
        error: LoginError,
    },
    /// The stored logins cannot be used.
    #[error("failed to log out of MCP server '{name}': {error}")]
    NotForgotten {
        /// The server's name in the configuration.
        name: String,
        /// What went wrong.
        error: LoginError,
    },
}

/// A login that has begun.
#[derive(Debug)]
pub enum Begun {
    /// A person has to open an address.
    Waiting(Box<LoginAttempt>),
    /// No person was needed, and the token is stored.
    Complete,
}

/// Begins a login to a server. The given scopes are stronger than those of the configuration.
///
/// # Errors
/// If the server has no login, or the authorization server refuses this client.
pub async fn begin(config: &Config, env: &Env, name: &str, scopes: &[String]) -> Result<Begun, McpLoginError> {
    begin_at(name, configured(config, name)?, config, env, scopes).await
}

/// The same for a server that is not in the configuration yet.
///
/// # Errors
/// As [`begin`].
pub async fn begin_at(
    name: &str,
    server: &McpServer,
    config: &Config,
    env: &Env,
    scopes: &[String],
) -> Result<Begun, McpLoginError> {
    let mut spec = wanted(name, server, config, env)?;
    if !scopes.is_empty() {
        spec.scopes = scopes.to_vec();
    }
    let failed = |error| McpLoginError::Failed { name: name.to_owned(), error };
    match spec.grant {
        Grant::Code => {
            let attempt = LoginAttempt::begin(spec, &http_clients()).await.map_err(failed)?;
            Ok(Begun::Waiting(Box::new(attempt)))
        }
        Grant::ClientCredentials => {
            attempt::log_in_alone(&spec, &http_clients()).await.map_err(failed)?;
            Ok(Begun::Complete)
        }
    }
}

/// Removes the stored login of a server.
///
/// # Errors
/// If the stored logins cannot be read or written.
pub async fn forget(config: &Config, env: &Env, name: &str) -> Result<Forgotten, McpLoginError> {
    let spec = wanted(name, configured(config, name)?, config, env)?;
    let forgotten = LoginStore::in_home(&spec.home).forget(&spec.name, &spec.url).await;
    forgotten.map_err(|error| McpLoginError::NotForgotten { name: name.to_owned(), error })
}

fn configured<'c>(config: &'c Config, name: &str) -> Result<&'c McpServer, McpLoginError> {
    config.tools.mcp_servers.get(name).ok_or_else(|| McpLoginError::Unknown(name.to_owned()))
}

/// How a login to a server is made, or why none can be.
fn wanted(name: &str, server: &McpServer, config: &Config, env: &Env) -> Result<LoginSpec, McpLoginError> {
    if config.tools.mcp_logins.store == McpLoginStore::Keyring {
        let file = config.folders.home.join(".credentials.json").display().to_string();
        return Err(McpLoginError::NoKeyring { file });
    }
    spec(name, server, config, env).ok_or_else(|| McpLoginError::Program(name.to_owned()))
}

/// How a login to a server is made; absent for a program, and where the configuration wants a keyring.
pub(crate) fn spec(name: &str, server: &McpServer, config: &Config, env: &Env) -> Option<LoginSpec> {
    let McpTransport::Http { url, .. } = &server.transport else { return None };
    let logins = config.tools.mcp_logins;
    if logins.store == McpLoginStore::Keyring {
        return None;
    }
    let login = &server.login;
    let secret = login.client_secret_env_var.as_ref();
    Some(LoginSpec {
        name: name.to_owned(),
        url: url.clone(),
        headers: headers(&server.transport, env),
        home: config.folders.home.clone(),
        client_id: login.client_id.clone(),
        client_secret: secret.map(|variable| env.text(variable).map(Secret::new).ok_or_else(|| variable.clone())),
        scopes: login.scopes.clone(),
        callback_port: login.callback_port.or(logins.callback_port).filter(|port| *port != 0),
        grant: match login.grant {
            McpGrant::Code => Grant::Code,
            McpGrant::ClientCredentials => Grant::ClientCredentials,
        },
    })
}
