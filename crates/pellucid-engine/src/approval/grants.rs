//! What a person allowed for the rest of the session.
//!
//! A grant is for one command in one folder with one set of rights, or for one file. Commands are
//! brought into a common form first, so that the same command in another shell is the same grant. Only
//! consent is remembered, never a refusal.

use std::collections::BTreeSet;

use pellucid_protocol::approval::SandboxPermissions;

use crate::approval::part::CommandParts;
use crate::approval::part::Split;
use crate::approval::program::Programs;

const SHELL_SCRIPT: &str = "__codex_shell_script__";
const POWERSHELL_SCRIPT: &str = "__codex_powershell_script__";
const POWERSHELL_NAMES: &[&str] = &["powershell", "pwsh"];
const POWERSHELL_SCRIPT_FLAGS: &[&str] = &["-command", "-c"];
const POWERSHELL_OTHER_FLAGS: &[&str] = &["-nologo", "-noprofile"];

/// What a grant is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantKey {
    /// A command in one folder, with one set of rights.
    Command {
        /// The words of the command in their common form.
        command: Vec<String>,
        /// The folder that the command runs in.
        cwd: String,
        /// Which rights the command runs with.
        permissions: SandboxPermissions,
        /// Whether the command has a terminal; absent for tools that give none.
        tty: Option<bool>,
    },
    /// A file that patches change.
    File {
        /// The absolute path of the file.
        path: String,
    },
    /// A tool of a connected app.
    AppTool {
        /// The name of the MCP server.
        server: String,
        /// The id of the app.
        app: String,
        /// The name of the tool at the server.
        tool: String,
    },
}

/// The grants of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    keys: BTreeSet<GrantKey>,
}

impl Grants {
    /// Remembers what a person allowed for the session.
    pub fn remember(&mut self, keys: impl IntoIterator<Item = GrantKey>) {
        self.keys.extend(keys);
    }

    /// Whether a person allowed all of `keys`. An empty list is never covered.
    pub fn cover(&self, keys: &[GrantKey]) -> bool {
        !keys.is_empty() && keys.iter().all(|key| self.keys.contains(key))
    }
}

/// A command in the form in which grants are compared.
///
/// A script of one plain command is that command, however it is wrapped. Any other script is its text, whichever shell
/// reads it. A shell that is neither the user's nor the system's stays in the form, because it may do anything. Words
/// in which a shell replaces something stay too: `rm '*'` is not `rm *`.
pub fn canonical(argv: &[String], parts: &CommandParts, programs: &Programs) -> Vec<String> {
    if parts.shell().is_some_and(|shell| !programs.is_known_shell(shell)) {
        return argv.to_vec();
    }
    if let Some(part) = parts.only_plain().filter(|part| part.mark.is_none()) {
        return part.words.clone();
    }
    match (parts.split(), argv) {
        (Split::Plain | Split::Complex | Split::Opaque, [_, flag, script]) => {
            vec![SHELL_SCRIPT.to_owned(), flag.clone(), script.clone()]
        }
        _ => match powershell_script(argv) {
            Some(script) => vec![POWERSHELL_SCRIPT.to_owned(), script.clone()],
            None => argv.to_vec(),
        },
    }
}

fn powershell_script(argv: &[String]) -> Option<&String> {
    let (shell, arguments) = argv.split_first()?;
    let stem = std::path::Path::new(shell).file_stem()?.to_str()?;
    if !POWERSHELL_NAMES.contains(&stem) {
        return None;
    }
    for (at, flag) in arguments.iter().enumerate() {
        let flag = flag.to_ascii_lowercase();
        if POWERSHELL_SCRIPT_FLAGS.contains(&flag.as_str()) {
            return arguments.get(at + 1);
        }
        if !POWERSHELL_OTHER_FLAGS.contains(&flag.as_str()) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::part::CommandPart;
    use crate::approval::program::testing::programs;
    use crate::approval::rules::testing::words;

    fn key(command: Vec<String>) -> GrantKey {
        GrantKey::Command { command, cwd: "/w".to_owned(), permissions: SandboxPermissions::UseDefault, tty: None }
    }

    #[track_caller]
    fn check_canonical(argv: &[&str], split: Split, plain: &[&str], expected: &[&str]) {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let plain: Vec<_> = plain.iter().map(|line| CommandPart::new(words(line))).collect();
        let parts = CommandParts::of_script(&argv[0], plain, split);
        let parts = parts.unwrap_or_else(|| CommandParts::whole(&argv, split, Vec::new(), None));
        let programs = programs([argv[0].as_str()]);
        assert_eq!(canonical(&argv, &parts, &programs), expected);
    }

    #[test]
    fn one_plain_command_is_itself_and_other_scripts_are_their_text() {
        check_canonical(&["ls", "-a"], Split::NoScript, &[], &["ls", "-a"]);
        check_canonical(&["bash", "-lc", "ls -a"], Split::Plain, &["ls -a"], &["ls", "-a"]);
        let script = "ls && pwd";
        check_canonical(&["/bin/sh", "-c", script], Split::Plain, &["ls", "pwd"], &[SHELL_SCRIPT, "-c", script]);
        check_canonical(&["zsh", "-lc", "a > b"], Split::Complex, &["a"], &[SHELL_SCRIPT, "-lc", "a > b"]);
        check_canonical(&["./bash", "-c", "ls"], Split::Plain, &["ls"], &["./bash", "-c", "ls"]);
        check_canonical(&["sh", "-c", "a $B"], Split::Opaque, &[], &[SHELL_SCRIPT, "-c", "a $B"]);
        check_canonical(&["pwsh", "-NoProfile", "-Command", "ls"], Split::NoScript, &[], &[POWERSHELL_SCRIPT, "ls"]);
        check_canonical(&["/x/powershell.exe", "-c", "ls"], Split::NoScript, &[], &[POWERSHELL_SCRIPT, "ls"]);
        check_canonical(&["pwsh", "-File", "-c", "a"], Split::NoScript, &[], &["pwsh", "-File", "-c", "a"]);
        check_canonical(&["pwsh", "-c"], Split::NoScript, &[], &["pwsh", "-c"]);
    }

    #[test]
    fn all_keys_must_be_there() {
        let file = |path: &str| GrantKey::File { path: path.to_owned() };
        let mut grants = Grants::default();
        assert!(!grants.cover(&[]));
        grants.remember([file("/a"), key(words("ls"))]);
        assert!(grants.cover(&[file("/a")]));
        assert!(grants.cover(&[key(words("ls"))]));
        assert!(!grants.cover(&[file("/a"), file("/b")]));
        assert!(!grants.cover(&[]));
        let other = GrantKey::Command {
            command: words("ls"),
            cwd: "/w".to_owned(),
            permissions: SandboxPermissions::RequireEscalated,
            tty: None,
        };
        assert!(!grants.cover(&[other]));
    }
}
