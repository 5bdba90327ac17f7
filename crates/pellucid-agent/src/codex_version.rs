//! Which version of the Codex CLI the program answers as.
//!
//! Clients of the Codex CLI look at its version before they speak to it. The program behaves like 0.104.0 and has what
//! clients of newer versions ask of the app-server; which of the two a client sees first is the user's choice.

use std::fmt;
use std::str::FromStr;

use pellucid_config::Env;

/// The version whose behaviour the program has.
pub const CODEX_VERSION: CodexVersion = CodexVersion([0, 104, 0]);

/// The version whose methods and members the app-server has for clients of today.
pub const NEWEST_CODEX_VERSION: CodexVersion = CodexVersion([0, 166, 0]);

/// The variable by which the user chooses the version.
pub const VARIABLE: &str = "PELLUCID_CODEX_VERSION";

/// A version of the Codex CLI: three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodexVersion(pub [u32; 3]);

/// The text is not a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a version: three numbers with dots between them, such as 0.166.0")]
pub struct NotAVersion;

impl CodexVersion {
    /// The version that the user chose, if the variable has one. Another text counts as none, and is logged.
    pub fn chosen(env: &Env) -> Option<Self> {
        let text = env.text(VARIABLE)?;
        match text.parse() {
            Ok(version) => Some(version),
            Err(error) => {
                tracing::warn!("{VARIABLE}: {error}");
                None
            }
        }
    }
}

impl FromStr for CodexVersion {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let mut numbers = [0; 3];
        let mut parts = text.split('.');
        for number in &mut numbers {
            let part = parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
            *number = part.and_then(|part| part.parse().ok()).ok_or(NotAVersion)?;
        }
        if parts.next().is_some() { Err(NotAVersion) } else { Ok(Self(numbers)) }
    }
}

impl fmt::Display for CodexVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_version(text: &str, expected: Option<[u32; 3]>) {
        assert_eq!(text.parse().ok(), expected.map(CodexVersion), "{text}");
    }

    #[test]
    fn a_version_is_three_numbers() {
        check_version("0.104.0", Some([0, 104, 0]));
        check_version("1.2.33", Some([1, 2, 33]));
        for text in
            ["", "0.104", "0.104.0.1", "v0.104.0", "0.104.0-alpha", "0..1", "0.+1.0", "0.99999999999.0", "0.1.2 "]
        {
            check_version(text, None);
        }
        assert_eq!(NEWEST_CODEX_VERSION.to_string(), "0.166.0");
        assert!(NEWEST_CODEX_VERSION > CODEX_VERSION);
    }

    #[test]
    fn a_variable_that_is_no_version_counts_as_none() {
        assert_eq!(CodexVersion::chosen(&Env::from_pairs([(VARIABLE, "0.166.0")])), Some(NEWEST_CODEX_VERSION));
        assert_eq!(CodexVersion::chosen(&Env::from_pairs([(VARIABLE, "newest")])), None);
        assert_eq!(CodexVersion::chosen(&Env::from_pairs([("HOME", "/h")])), None);
    }
}
