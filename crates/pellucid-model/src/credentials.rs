//! The session's key: from the environment, else from the home folder.
//!
//! A provider's settings are stronger, see [`crate::endpoint`].
//!
//! Not here: login flows, tokens that expire, the system's keyring.

mod auth_file;

use std::path::Path;

use pellucid_protocol::secret::Secret;

pub use auth_file::AuthFile;
pub use auth_file::ChatGptLogin;
pub use auth_file::CredentialError;
pub use auth_file::Removed;
pub use auth_file::StoredLogin;
pub use auth_file::TokenKeeper;
pub use auth_file::masked;

/// The variable that is stronger than the stored key.
pub const KEY_VARIABLE: &str = pellucid_protocol::environment::API_KEY;

/// How requests to a provider are authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// By a key, or not at all.
    ApiKey,
    /// By a token of a ChatGPT account.
    ChatGpt,
}

/// Finds the session's API key: `CODEX_API_KEY` unless blank, else the one in `auth.json` unless that file says that
/// another kind of login is in use.
///
/// A file that cannot be read is ignored, with a warning in the log.
pub fn api_key(home: &Path, env: &dyn Fn(&str) -> Option<String>) -> Option<Secret> {
    variable_key(env).or_else(|| stored_key(home))
}

/// The key in the variable, unless blank.
pub fn variable_key(env: &dyn Fn(&str) -> Option<String>) -> Option<Secret> {
    let key = env(KEY_VARIABLE)?;
    let key = key.trim();
    (!key.is_empty()).then(|| Secret::new(key))
}

fn stored_key(home: &Path) -> Option<Secret> {
    match AuthFile::in_home(home).read() {
        Ok(Some(StoredLogin::ApiKey(key))) => Some(key).filter(|key| !key.reveal().trim().is_empty()),
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "the stored login cannot be used");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

    use super::auth_file::FILE_NAME;
    use super::*;

    #[track_caller]
    fn check_key(variable: Option<&str>, auth_json: Option<&str>, expected: Option<&str>) {
        let home = Workspace::empty();
        if let Some(text) = auth_json {
            home.write(FILE_NAME, text);
        }
        let env = |name: &str| (name == KEY_VARIABLE).then(|| variable.map(str::to_owned)).flatten();
        let key = api_key(home.root(), &env);
        assert_eq!(key.as_ref().map(Secret::reveal), expected);
    }

    #[test]
    fn the_variable_comes_first_and_is_trimmed() {
        check_key(Some(" sk-env "), Some(r#"{"OPENAI_API_KEY":"sk-file"}"#), Some("sk-env"));
    }

    #[test]
    fn a_blank_variable_counts_as_none() {
        check_key(Some("  "), Some(r#"{"auth_mode":"apikey","OPENAI_API_KEY":"sk-file"}"#), Some("sk-file"));
        check_key(Some(""), None, None);
    }

    #[test]
    fn the_file_must_hold_an_api_key() {
        check_key(None, None, None);
        check_key(None, Some(r#"{"OPENAI_API_KEY":"sk-file"}"#), Some("sk-file"));
        check_key(None, Some(r#"{"auth_mode":null,"OPENAI_API_KEY":"sk-file","tokens":null}"#), Some("sk-file"));
        check_key(None, Some(r#"{"OPENAI_API_KEY":null}"#), None);
        check_key(None, Some(r#"{"OPENAI_API_KEY":" "}"#), None);
        check_key(None, Some(r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":"sk-file"}"#), None);
    }

    #[test]
    fn a_broken_file_counts_as_none() {
        check_key(None, Some("{"), None);
        check_key(None, Some(r#"{"OPENAI_API_KEY":7}"#), None);
    }
}
