//! `auth.json` of the home folder: the stored login, read, written and removed.
//!
//! The format is the Codex CLI's: same keys, same order. The file is replaced as a whole, and from its first byte on
//! only its owner can read it. Errors name places in the file, never content.
//!
//! Not here: which login is allowed (`pellucid-agent`'s `login`), login flows, keyrings.

use std::fs;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pellucid_protocol::secret::Secret;
use serde::Deserialize;
use serde::Serialize;
use thiserror::Error;

pub(super) const FILE_NAME: &str = "auth.json";

/// The file with the stored login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthFile {
    path: PathBuf,
}

/// A stored login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredLogin {
    /// A login with an API key.
    ApiKey(Secret),
    /// A login with a ChatGPT account.
    ChatGpt(ChatGptLogin),
}

/// What is known of a stored ChatGPT login.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatGptLogin {
    /// Which program refreshes the tokens.
    pub keeper: TokenKeeper,
    /// The account's email address.
    pub email: Option<String>,
    /// The account's plan, as the server writes it.
    pub plan: Option<String>,
    /// The id of the account or workspace.
    pub account_id: Option<String>,
    /// The token for the `Authorization` header.
    pub access_token: Option<Secret>,
}

/// Which program refreshes the tokens of a login.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenKeeper {
    /// The program that logged in.
    #[default]
    Program,
    /// The client that gave the tokens.
    Client,
}

/// The outcome of a logout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// The file was removed.
    Yes,
    /// There was no file.
    WasNotThere,
}

/// Why the stored login could not be used, written or removed.
#[expect(missing_docs, reason = "the messages of the variants name the fields")]
#[derive(Debug, Error)]
pub enum CredentialError {
    /// The file could not be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file does not contain a login.
    #[error("{}:{line}:{column}: this is not a stored login; `pellucid logout` removes it", path.display())]
    Invalid {
        path: PathBuf,
        /// The line where the error is, counted from 1.
        line: usize,
        /// The column where the error is, counted from 1.
        column: usize,
    },
    /// The file says that there is a key, but has none.
    #[error("{}: the stored login should have a key and has none; log in again", path.display())]
    MissingKey { path: PathBuf },
    /// The token with the account's data cannot be read.
    #[error("{}: the stored id_token is not a token; log in again", path.display())]
    BadIdToken { path: PathBuf },
    /// The file could not be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The file could not be removed.
    #[error("{}: cannot be removed: {source}", path.display())]
    Remove { path: PathBuf, source: io::Error },
}

impl AuthFile {
    /// The file in a home folder.
    pub fn in_home(home: &Path) -> Self {
        Self { path: home.join(FILE_NAME) }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The stored login; `None` if there is no file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or does not contain a login.
    pub fn read(&self) -> Result<Option<StoredLogin>, CredentialError> {
        let path = || self.path.clone();
        let text = match pellucid_files::read_text(&self.path, pellucid_files::TEXT_BYTES_MAX) {
            Ok(text) => text,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(CredentialError::Read { path: path(), source }),
        };
        // The error's text could quote a part of the key, its place cannot.
        let form: Form = serde_json::from_str(&text).map_err(|error| CredentialError::Invalid {
            path: path(),
            line: error.line(),
            column: error.column(),
        })?;
        let keeper = match form.mode() {
            Mode::ApiKey => {
                let key = form.openai_api_key.ok_or_else(|| CredentialError::MissingKey { path: path() })?;
                return Ok(Some(StoredLogin::ApiKey(key)));
            }
            Mode::ChatGpt => TokenKeeper::Program,
            Mode::ChatGptAuthTokens => TokenKeeper::Client,
        };
        let Some(tokens) = form.tokens else {
            return Ok(Some(StoredLogin::ChatGpt(ChatGptLogin { keeper, ..ChatGptLogin::default() })));
        };
        let claims = claims(&tokens.id_token).ok_or_else(|| CredentialError::BadIdToken { path: path() })?;
        let account = claims.account.unwrap_or_default();
        Ok(Some(StoredLogin::ChatGpt(ChatGptLogin {
            keeper,
            email: claims.email,
            plan: account.plan,
            account_id: tokens.account_id.or(account.id),
            access_token: Some(tokens.access_token),
        })))
    }

    /// Stores a key in place of whatever was stored, and creates the home folder if it is missing.
    ///
    /// # Errors
    ///
    /// When the file cannot be written; then the old one is unchanged.
    pub fn write_api_key(&self, key: &Secret) -> Result<(), CredentialError> {
        let form =
            Form { auth_mode: Some(Mode::ApiKey), openai_api_key: Some(key.clone()), tokens: None, last_refresh: None };
        let text = serde_json::to_vec_pretty(&form).map_err(io::Error::from);
        text.and_then(|text| self.replace(&text))
            .map_err(|source| CredentialError::Write { path: self.path.clone(), source })
    }

    /// Removes the file.
    ///
    /// # Errors
    ///
    /// When the file exists and cannot be removed.
    pub fn remove(&self) -> Result<Removed, CredentialError> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(Removed::Yes),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Removed::WasNotThere),
            Err(source) => Err(CredentialError::Remove { path: self.path.clone(), source }),
        }
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        // If the path is a link, the link stays and its target is replaced.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = path.parent().unwrap_or(Path::new("."));
        pellucid_files::make_private_folder(folder)?;
        // The permissions are set before anything is written.
        let mut file = tempfile::Builder::new().prefix(".auth-").suffix(".tmp").tempfile_in(folder)?;
        file.write_all(text)?;
        file.as_file().sync_all()?;
        file.persist(&path)?;
        Ok(())
    }
}

/// A key as it may be shown: both its ends if it is long enough, else none of it.
pub fn masked(key: &Secret) -> String {
    const HEAD: usize = 8;
    const TAIL: usize = 5;
    let characters: Vec<char> = key.reveal().chars().collect();
    if characters.len() <= HEAD + TAIL {
        return "***".to_owned();
    }
    let head: String = characters[..HEAD].iter().collect();
    let tail: String = characters[characters.len() - TAIL..].iter().collect();
    format!("{head}***{tail}")
}

#[derive(Serialize, Deserialize)]
struct Form {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    auth_mode: Option<Mode>,
    #[serde(default, rename = "OPENAI_API_KEY")]
    openai_api_key: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<Tokens>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_refresh: Option<String>,
}

impl Form {
    fn mode(&self) -> Mode {
        let unsaid = if self.openai_api_key.is_some() { Mode::ApiKey } else { Mode::ChatGpt };
        self.auth_mode.unwrap_or(unsaid)
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Mode {
    #[serde(rename = "apikey")]
    ApiKey,
    #[serde(rename = "chatgpt")]
    ChatGpt,
    #[serde(rename = "chatgptAuthTokens")]
    ChatGptAuthTokens,
}

#[derive(Serialize, Deserialize)]
struct Tokens {
    id_token: Secret,
    access_token: Secret,
    refresh_token: Secret,
    account_id: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    #[serde(default)]
    email: Option<String>,
    #[serde(default, rename = "https://api.openai.com/auth")]
    account: Option<Account>,
}

#[derive(Default, Deserialize)]
struct Account {
    #[serde(default, rename = "chatgpt_plan_type")]
    plan: Option<String>,
    #[serde(default, rename = "chatgpt_account_id")]
    id: Option<String>,
}

/// The claims of a token. Its signature is not checked, because nothing is allowed on their account.
fn claims(token: &Secret) -> Option<Claims> {
    let mut parts = token.reveal().split('.');
    let (_header, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
    serde_json::from_slice(&payload).ok()
}

#[cfg(test)]
mod tests;
