//! The session's own key: from the environment, else from the home folder.
//!
//! A provider's settings come before it, see [`crate::endpoint`].
//!
//! Not here: logging in, tokens that expire, the system's keyring.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

use pellucid_protocol::secret::Secret;

/// The variable that comes before the stored key.
pub const KEY_VARIABLE: &str = "CODEX_API_KEY";

/// How somebody is known to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// By a key, or not at all.
    ApiKey,
    /// By a token of a ChatGPT account.
    ChatGpt,
}

const FILE_NAME: &str = "auth.json";

/// Finds the session's API key: `CODEX_API_KEY` unless blank, else the one in `auth.json` unless
/// that file says that another kind of login is in use.
///
/// A file that cannot be read counts as none, with a warning in the log.
pub fn api_key(home: &Path, env: &dyn Fn(&str) -> Option<String>) -> Option<Secret> {
    if let Some(key) = env(KEY_VARIABLE) {
        let key = key.trim();
        if !key.is_empty() {
            return Some(Secret::new(key));
        }
    }
    let path = home.join(FILE_NAME);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "could not read the stored key");
            return None;
        }
    };
    match serde_json::from_str::<AuthFile>(&text) {
        Ok(file) => file.api_key(),
        Err(error) => {
            // The error's text could quote a part of the key, its place cannot.
            tracing::warn!(path = %path.display(), line = error.line(), "the stored key's file is not valid");
            None
        }
    }
}

#[derive(Deserialize)]
struct AuthFile {
    #[serde(default)]
    auth_mode: Option<String>,
    #[serde(default, rename = "OPENAI_API_KEY")]
    openai_api_key: Option<String>,
}

impl AuthFile {
    fn api_key(self) -> Option<Secret> {
        if self.auth_mode.is_some_and(|mode| mode != "apikey") {
            return None;
        }
        self.openai_api_key.filter(|key| !key.trim().is_empty()).map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

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
