//! Which protocol a client speaks: the one of the Codex CLI 0.104.0, or the one that clients of today expect.
//!
//! The newer protocol has more methods, notifications and members. A client receives them only if it is known to expect
//! them, so the answers to clients of 0.104.0 stay as they were.

use pellucid_agent::codex_version::CODEX_VERSION;
use pellucid_agent::codex_version::CodexVersion;

/// Clients that were published after 0.104.0 alone, or refuse servers of that time, with the first such version.
const CLIENTS_OF_TODAY: &[(&str, CodexVersion)] = &[
    // The app-server mode of this client wants 0.153.0 since its version 1.2; it does not say its own version.
    ("ai-sdk-provider-codex-cli", CodexVersion([0, 0, 0])),
    // Every version of the SDK demands members that 0.104.0 lacks. The first was 0.144.4.
    ("codex_python_sdk", CodexVersion([0, 105, 0])),
];

/// The protocol that a client speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Surface {
    /// The protocol of 0.104.0.
    #[default]
    Classic,
    /// The protocol of today.
    Newest,
}

impl Surface {
    /// The protocol of a client, by what the client says in `initialize`.
    ///
    /// `chosen` is the version that the user wants the program to answer as; it decides if it is there.
    pub fn of(chosen: Option<CodexVersion>, name: &str, version: &str, has_new_capabilities: bool) -> Self {
        let is_newest = match chosen {
            Some(chosen) => chosen > CODEX_VERSION,
            None => has_new_capabilities || is_of_today(name, version),
        };
        if is_newest { Self::Newest } else { Self::Classic }
    }
}

fn is_of_today(name: &str, version: &str) -> bool {
    CLIENTS_OF_TODAY
        .iter()
        .any(|(known, since)| *known == name && version.parse().is_ok_and(|it: CodexVersion| it >= *since))
}

#[cfg(test)]
mod tests {
    use pellucid_agent::codex_version::NEWEST_CODEX_VERSION;

    use super::*;

    #[track_caller]
    fn check_surface(chosen: Option<CodexVersion>, (name, version): (&str, &str), has_new: bool, expected: Surface) {
        assert_eq!(Surface::of(chosen, name, version, has_new), expected, "{chosen:?} {name} {version} {has_new}");
    }

    #[test]
    fn a_client_is_of_today_by_its_capabilities_or_its_name() {
        check_surface(None, ("editor", "9.9.9"), false, Surface::Classic);
        check_surface(None, ("editor", "9.9.9"), true, Surface::Newest);
        check_surface(None, ("codex_python_sdk", "0.163.0"), false, Surface::Newest);
        check_surface(None, ("codex_python_sdk", "0.104.0"), false, Surface::Classic);
        check_surface(None, ("codex_python_sdk", "dev"), false, Surface::Classic);
        check_surface(None, ("ai-sdk-provider-codex-cli", "0.0.0"), false, Surface::Newest);
    }

    #[test]
    fn the_users_choice_decides() {
        check_surface(Some(CODEX_VERSION), ("codex_python_sdk", "0.163.0"), true, Surface::Classic);
        check_surface(Some(NEWEST_CODEX_VERSION), ("editor", "1"), false, Surface::Newest);
        check_surface(Some(CodexVersion([0, 105, 0])), ("editor", "1"), false, Surface::Newest);
    }
}
