//! How a shell is called with a script.

use std::path::Path;

use serde::Deserialize;

/// Whether the shell reads what a login shell reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "bool")]
pub(crate) enum Login {
    #[default]
    Yes,
    No,
}

impl From<bool> for Login {
    fn from(is_login: bool) -> Self {
        if is_login { Self::Yes } else { Self::No }
    }
}

/// Program and arguments that run a script in a shell.
pub(crate) fn script_argv(shell: &Path, login: Login, script: &str) -> Vec<String> {
    let path = shell.to_string_lossy().into_owned();
    let name = shell.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let words: &[&str] = match (name.as_str(), login) {
        ("pwsh" | "powershell", Login::Yes) => &["-Command"],
        ("pwsh" | "powershell", Login::No) => &["-NoProfile", "-Command"],
        ("cmd", _) => &["/c"],
        (_, Login::Yes) => &["-lc"],
        (_, Login::No) => &["-c"],
    };
    let words = words.iter().map(|word| (*word).to_owned());
    std::iter::once(path).chain(words).chain([script.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_argv(shell: &str, login: Login, expected: &str) {
        assert_eq!(script_argv(shell.as_ref(), login, "x").join(" "), expected);
    }

    #[test]
    fn every_shell_has_its_own_words() {
        check_argv("/bin/bash", Login::Yes, "/bin/bash -lc x");
        check_argv("/bin/zsh", Login::No, "/bin/zsh -c x");
        check_argv("/opt/pwsh", Login::Yes, "/opt/pwsh -Command x");
        check_argv("powershell.exe", Login::No, "powershell.exe -NoProfile -Command x");
        check_argv("cmd.exe", Login::Yes, "cmd.exe /c x");
    }
}
