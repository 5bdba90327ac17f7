//! The login that the configuration allows: which there is, logging in by a key, logging out.
//!
//! Only the file store is kept here: `auto` means the file, as nothing of ours speaks to a keyring, `keyring` is
//! refused by name, and `ephemeral` keeps nothing.
//!
//! Not here: the file itself (`pellucid_model::credentials`), flows by a browser or a device code.

use std::collections::BTreeSet;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::config::CredentialStore;
use pellucid_config::config::LoginMethod;
use pellucid_config::config::LoginSettings;
use pellucid_model::credentials;
use pellucid_model::credentials::AuthFile;
use pellucid_model::credentials::CredentialError;
use pellucid_model::credentials::Removed;
use pellucid_model::credentials::StoredLogin;
use pellucid_protocol::secret::Secret;
use thiserror::Error;

/// Where a login went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginPlace {
    /// Into the home folder's file.
    InFile,
    /// Nowhere: the configuration wants none kept.
    Nowhere,
}

/// Why a user cannot log in, log out or use a stored login.
#[derive(Debug, Error)]
pub enum LoginError {
    /// The administrator or the user wants accounts only.
    #[error("API key login is disabled: the configuration says forced_login_method = \"chatgpt\"")]
    KeyDisabled,
    /// The administrator or the user wants keys only.
    #[error("ChatGPT login is disabled: the configuration says forced_login_method = \"api\"")]
    ChatGptDisabled,
    /// Nothing was given to log in with.
    #[error("the API key is empty")]
    EmptyKey,
    /// We do not speak to keyrings.
    #[error(
        "cli_auth_credentials_store = \"keyring\" is not supported: write \"file\", which keeps the login in {file}"
    )]
    NoKeyring {
        /// Where the login would be kept.
        file: String,
    },
    /// The stored login could not be used, written or removed.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
}

/// A login that is not the one that the configuration demands.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Violation {
    /// A key is used.
    #[error("ChatGPT login is required (forced_login_method), but an API key is in use")]
    KeyInUse,
    /// An account is used.
    #[error("API key login is required (forced_login_method), but a ChatGPT login is in use")]
    ChatGptInUse,
    /// An account of another workspace is used.
    #[error(
        "Login is restricted to workspace {wanted} (forced_chatgpt_workspace_id), but the stored login belongs to {}",
        found.as_deref().unwrap_or("none that is known")
    )]
    OtherWorkspace {
        /// The id of the workspace that the configuration demands.
        wanted: String,
        /// The id of the workspace that the login belongs to, if it is known.
        found: Option<String>,
    },
}

/// The stored login; absent if there is none.
pub fn stored(config: &Config) -> Result<Option<StoredLogin>, LoginError> {
    match config.login.store {
        CredentialStore::File | CredentialStore::Auto => Ok(file(config).read()?),
        CredentialStore::Ephemeral => Ok(None),
        CredentialStore::Keyring => Err(no_keyring(config)),
    }
}

/// The key for requests to a provider without a configured key.
///
/// A stored login that cannot be used counts as none, with a warning in the log.
pub fn session_key(config: &Config, env: &Env) -> Option<Secret> {
    let lookup = |name: &str| env.text(name);
    match config.login.store {
        CredentialStore::File | CredentialStore::Auto => credentials::api_key(&config.folders.home, &lookup),
        CredentialStore::Ephemeral | CredentialStore::Keyring => credentials::variable_key(&lookup),
    }
}

/// The variables that hold our keys. No program that we start receives them.
pub fn key_variables(config: &Config, env: &Env) -> BTreeSet<String> {
    let key = session_key(config, env);
    config.key_variables(env, |value| key.as_ref().is_some_and(|key| key.reveal() == value))
}

/// Stores a key, trimmed, in place of what was stored.
pub fn log_in(config: &Config, key: &Secret) -> Result<LoginPlace, LoginError> {
    allow_key(config)?;
    let key = Secret::new(key.reveal().trim());
    if key.reveal().is_empty() {
        return Err(LoginError::EmptyKey);
    }
    match config.login.store {
        CredentialStore::File | CredentialStore::Auto => {
            file(config).write_api_key(&key)?;
            Ok(LoginPlace::InFile)
        }
        CredentialStore::Ephemeral => Ok(LoginPlace::Nowhere),
        CredentialStore::Keyring => Err(no_keyring(config)),
    }
}

/// Removes what is stored, readable or not.
pub fn log_out(config: &Config) -> Result<Removed, LoginError> {
    match config.login.store {
        CredentialStore::File | CredentialStore::Auto => Ok(file(config).remove()?),
        CredentialStore::Ephemeral => Ok(Removed::WasNotThere),
        CredentialStore::Keyring => Err(no_keyring(config)),
    }
}

/// Refuses a login by key where only accounts are allowed.
pub fn allow_key(config: &Config) -> Result<(), LoginError> {
    match config.login.forced_method {
        Some(LoginMethod::ChatGpt) => Err(LoginError::KeyDisabled),
        Some(LoginMethod::Api) | None => Ok(()),
    }
}

/// Refuses a login by account where only keys are allowed.
pub fn allow_chatgpt(config: &Config) -> Result<(), LoginError> {
    match config.login.forced_method {
        Some(LoginMethod::Api) => Err(LoginError::ChatGptDisabled),
        Some(LoginMethod::ChatGpt) | None => Ok(()),
    }
}

/// Holds the login against what the configuration demands; one that violates it is removed from the home folder.
///
/// A login that cannot be read is none: there is nothing that it could be used for.
pub fn enforce(config: &Config, env: &Env) -> Result<(), Violation> {
    if config.login.forced_method.is_none() && config.login.forced_workspace_id.is_none() {
        return Ok(());
    }
    let key = credentials::variable_key(&|name: &str| env.text(name)).map(StoredLogin::ApiKey);
    let Some(login) = key.or_else(|| stored(config).ok().flatten()) else {
        return Ok(());
    };
    let Some(violation) = violation(&config.login, &login) else {
        return Ok(());
    };
    if let Err(error) = log_out(config) {
        tracing::warn!(%error, "a login that is not allowed stays stored");
    }
    Err(violation)
}

fn violation(settings: &LoginSettings, login: &StoredLogin) -> Option<Violation> {
    match (settings.forced_method, login) {
        (Some(LoginMethod::ChatGpt), StoredLogin::ApiKey(_)) => return Some(Violation::KeyInUse),
        (Some(LoginMethod::Api), StoredLogin::ChatGpt(_)) => return Some(Violation::ChatGptInUse),
        _ => {}
    }
    match (&settings.forced_workspace_id, login) {
        (Some(wanted), StoredLogin::ChatGpt(login)) if login.account_id.as_ref() != Some(wanted) => {
            Some(Violation::OtherWorkspace { wanted: wanted.clone(), found: login.account_id.clone() })
        }
        _ => None,
    }
}

fn file(config: &Config) -> AuthFile {
    AuthFile::in_home(&config.folders.home)
}

fn no_keyring(config: &Config) -> LoginError {
    LoginError::NoKeyring { file: file(config).path().display().to_string() }
}
