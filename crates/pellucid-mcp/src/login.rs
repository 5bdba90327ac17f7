//! Logins of MCP servers: getting tokens, keeping them, renewing them.
//!
//! - `store`: `.credentials.json` of the home folder, which the Codex CLI shares
//! - `rules`: decisions about logins, as values: freshness, scopes, resources, secrets of clients
//! - `http`: the requests of a login, bounded, and what they showed that must not be printed
//! - `callback`: the page of this computer to which the browser returns
//! - `attempt`: one login by a person in a browser, from the metadata to the stored token
//! - `tokens`: the token for requests to a server, renewed when it ends
//! - `bearer`: puts the token into requests, and reacts when the server refuses it
//! - `words`: errors of the SDK as sentences
//!
//! The protocol is the SDK's (`rmcp`, feature `auth`): discovery, registration, PKCE, exchange and refresh.
//!
//! Not here: opening a browser, and where the configuration comes from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pellucid_protocol::secret::Secret;
use thiserror::Error;

pub mod attempt;
pub mod store;
pub mod tokens;

pub(crate) mod bearer;

mod callback;
mod http;
mod rules;
#[cfg(test)]
mod tests;
mod words;

/// What the configuration says about the login of a server.
#[derive(Debug, Clone)]
pub struct LoginSpec {
    /// The server's name in the configuration.
    pub name: String,
    /// The address of the server.
    pub url: String,
    /// Further headers of requests to the server.
    pub headers: BTreeMap<String, Secret>,
    /// The home folder with the stored logins.
    pub home: PathBuf,
    /// The client id that the authorization server knows, or the address of a document that describes the client.
    pub client_id: Option<String>,
    /// The secret of that client, or the variable that should hold the secret and does not.
    pub client_secret: Option<Result<Secret, String>>,
    /// The scopes to request; empty for those that the server asks for.
    pub scopes: Vec<String>,
    /// The port of this computer to which the browser returns.
    pub callback_port: Option<u16>,
    /// How a token is got.
    pub grant: Grant,
}

/// How a token is got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grant {
    /// A person logs in in a browser.
    #[default]
    Code,
    /// The client itself has a secret, and no person is needed.
    ClientCredentials,
}

/// Why there is no token for a server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    /// A person has to log in first.
    #[error("not logged in")]
    NotLoggedIn,
    /// A person has to log in again, because the stored login has ended.
    #[error("the login has ended: {0}")]
    Ended(String),
    /// The login or the request for a token failed.
    #[error("{0}")]
    Failed(String),
    /// The file with the stored logins cannot be used.
    #[error("{0}")]
    Store(String),
}

impl LoginSpec {
    /// The command that logs in to the server, with scopes if some are missing.
    pub fn command(&self, scopes: &[String]) -> String {
        let scopes = if scopes.is_empty() { String::new() } else { format!(" --scopes {}", scopes.join(",")) };
        format!("pellucid mcp login {}{scopes}", self.name)
    }

    /// The secret of the configured client.
    fn secret(&self) -> Result<Option<Secret>, LoginError> {
        match &self.client_secret {
            Some(Ok(secret)) => Ok(Some(secret.clone())),
            Some(Err(variable)) => Err(LoginError::Failed(format!(
                "the variable `{variable}` is empty or not set; `client_secret_env_var` of \
                 [mcp_servers.{}.oauth] says that it holds the client's secret",
                self.name
            ))),
            None => Ok(None),
        }
    }
}
