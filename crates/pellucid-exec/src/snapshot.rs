//! The settings of a login shell, found out once and given to every command.
//!
//! Starting a login shell can take long. So it is started once, its settings are saved as a script, and commands that
//! ask for a login shell read that script instead. A command runs in a new shell, which inherits only variables; so
//! where these can be listed, they are passed to it, and the script is not read.
//!
//! The script holds the values of variables, secrets among them, though none of ours: only its owner may read it. It is
//! removed as soon as its variables are listed, else with its session, and by the next session if its process was killed.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::process::test_kill_process;

use crate::command::Command;
use crate::command::SpawnError;
use crate::command::Variables;
use crate::process;
use crate::process::ProcessEnd;

/// The first line of the script. Output of a shell before it is noise.
const MARKER: &str = "# Snapshot file";

/// How every script forgets the marker.
const FORGET_MARKER: &str = "unset PELLUCID_MARKER";

/// How long a shell may take to set itself up.
const LIMIT: Duration = Duration::from_secs(10);

/// How long the snapshot of an unused session is kept.
const RETENTION: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// The folder of snapshots, below the home folder of the agent.
const FOLDER: &str = "shell_snapshots";

/// Variables that a shell sets itself, whatever it inherits.
const OWN: [&str; 4] = ["_", "SHLVL", "PWD", "OLDPWD"];

/// A script that sets up a shell as its login does. The file is removed when this is dropped.
#[derive(Debug)]
pub struct ShellSnapshot {
    shell: PathBuf,
    path: PathBuf,
    cwd: PathBuf,
    /// The variables that a program has which is started after it; none if they cannot be listed here.
    variables: Option<Variables>,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The shell is of a kind whose state cannot be written down.
    #[error("no snapshot can be made of the shell {0}")]
    UnknownShell(PathBuf),
    /// The shell did not start.
    #[error("the shell did not start: {0}")]
    NotStarted(#[from] SpawnError),
    /// The shell did not come to an end, or not to a good one.
    #[error("the shell ended with {end:?}: {said}")]
    Failed {
        /// How the shell ended.
        end: ProcessEnd,
        /// The error output of the shell.
        said: String,
    },
    /// The shell wrote no snapshot, or one that is too long.
    #[error("the shell wrote no snapshot, or a very long one")]
    Unreadable,
    /// The file could not be written.
    #[error("{path}: {error}")]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

impl ShellSnapshot {
    /// Makes the snapshot of a session: sets up `shell` in `cwd` with these variables, writes down
    /// what it has set but for what is withheld, and makes sure that this can be read again.
    ///
    /// # Errors
    /// When any of this fails. Commands run without a snapshot then.
    pub async fn make(
        shell: &Path,
        home: &Path,
        session: &str,
        cwd: &Path,
        env: &Variables,
        withheld: &[String],
    ) -> Result<Self, SnapshotError> {
        let script = script_of(shell).ok_or_else(|| SnapshotError::UnknownShell(shell.to_owned()))?;
        let mut marked = env.clone();
        marked.insert("PELLUCID_MARKER".into(), MARKER.into());
        // Withheld variables are unset at the marker: after all files of the user have been read.
        let names: Vec<&str> = plain_names(withheld).collect();
        let script = script.replacen(FORGET_MARKER, &format!("{FORGET_MARKER} {}", names.join(" ")), 1);
        let written = run(shell, ["-lc", &script], cwd, &marked).await?;
        let written = String::from_utf8(written).map_err(|_| SnapshotError::Unreadable)?;
        let text = written.split_once(&format!("\n{MARKER}\n")).ok_or(SnapshotError::Unreadable)?.1;

        let folder = home.join(FOLDER);
        let path = folder.join(format!("{session}.{}.sh", std::process::id()));
        let mut snapshot = Self { shell: shell.to_owned(), path, cwd: cwd.to_owned(), variables: None };
        snapshot
            .write(&folder, &format!("{MARKER}\n{text}"))
            .map_err(|error| SnapshotError::File { path: snapshot.path.clone(), error })?;
        // Should it be of no use, it is removed again with `snapshot`. Not every system's `env` can list, and people
        // have functions of that name.
        let file = quoted(&snapshot.path.to_string_lossy());
        let script = format!("set -e; . {file} > /dev/null; command env -0 || :");
        let listed = run(shell, ["-c", &script], cwd, env).await?;
        snapshot.variables = variables(&listed);
        if snapshot.variables.is_some() {
            snapshot.remove();
        }
        Ok(snapshot)
    }

    fn write(&self, folder: &Path, text: &str) -> io::Result<()> {
        pellucid_files::make_private_folder(folder)?;
        // An existing file would keep its mode, so it is removed first.
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        pellucid_files::create_private(&self.path)?.write_all(text.as_bytes())
    }

    fn remove(&self) {
        // A file that is gone already is what was wanted.
        let _ = fs::remove_file(&self.path);
    }

    /// The file, which exists where variables cannot be listed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The value that a login shell gives to a variable, where variables can be listed.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.as_ref()?.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The command that does what `argv` does, with this snapshot in place of a login. Nothing
    /// if it asks for no login, runs somewhere else, or the snapshot is gone. `env` becomes what it has to be given.
    ///
    /// The variables in `kept` stay as they are, whatever the snapshot says.
    pub fn wrap<'a>(
        &self,
        argv: &[String],
        cwd: &Path,
        kept: impl IntoIterator<Item = &'a str>,
        env: &mut Variables,
    ) -> Option<Vec<String>> {
        match argv {
            [shell, flag, script, arguments @ ..] if flag == "-lc" && cwd == self.cwd => {
                if let Some(variables) = &self.variables {
                    let kept: Vec<&str> = kept.into_iter().collect();
                    let is_kept = |name: &OsStr| name.to_str().is_some_and(|name| kept.contains(&name));
                    let given = variables.iter().filter(|(name, _)| !is_kept(name));
                    env.extend(given.map(|(name, value)| (name.clone(), value.clone())));
                    let words = [shell.as_str(), "-c", script].into_iter().chain(arguments.iter().map(String::as_str));
                    return Some(words.map(str::to_owned).collect());
                }
                if !self.path.is_file() {
                    return None;
                }
                let words: Vec<String> = [shell.as_str(), "-c", script]
                    .into_iter()
                    .chain(arguments.iter().map(String::as_str))
                    .map(quoted)
                    .collect();
                let wrapped = wrapper(&self.path.to_string_lossy(), kept, &words.join(" "));
                Some(vec![self.shell.to_string_lossy().into_owned(), "-c".to_owned(), wrapped])
            }
            _ => None,
        }
    }
}

impl Drop for ShellSnapshot {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A command for a login shell, which forgets these variables after its login whether or not that sets them.
pub fn without(argv: &[String], withheld: &[String]) -> Vec<String> {
    match argv {
        [shell, flag, script, arguments @ ..] if flag == "-lc" => {
            let script = format!("{}{script}", forgetting(Path::new(shell), withheld));
            [shell.clone(), flag.clone(), script].into_iter().chain(arguments.iter().cloned()).collect()
        }
        _ => argv.to_vec(),
    }
}

/// Commands that make a shell unset variables; empty for shells whose language is not known.
fn forgetting(shell: &Path, withheld: &[String]) -> String {
    let names: Vec<&str> = plain_names(withheld).collect();
    if names.is_empty() {
        return String::new();
    }
    match shell.file_stem().and_then(OsStr::to_str) {
        Some("bash" | "zsh" | "sh" | "dash" | "ksh") => format!("unset {}; ", names.join(" ")),
        Some("fish") => format!("set -e {}; ", names.join(" ")),
        _ => String::new(),
    }
}

/// The names that a shell can have.
fn plain_names(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().map(String::as_str).filter(|name| is_name(name))
}

/// Removes what processes left that were killed. Returns what was removed.
pub fn remove_left(home: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home.join(FOLDER)) else { return Vec::new() };
    let is_left = |path: &Path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let process =
            name.strip_suffix(".sh").and_then(|name| name.rsplit_once('.')).and_then(|(_, id)| id.parse().ok());
        process.and_then(Pid::from_raw).is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| is_left(path) && fs::remove_file(path).is_ok()).collect()
}

/// Removes snapshots that no session will use: those whose session has no file (`last_use` gives
/// nothing), or has not been used for days. Returns what was removed.
pub fn clean(
    home: &Path,
    active: &str,
    now: SystemTime,
    last_use: impl Fn(&str) -> Option<SystemTime>,
) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home.join(FOLDER)) else { return Vec::new() };
    let is_stale = |path: &Path| {
        let Some(session) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.split('.').next())
        else {
            return false;
        };
        let age = last_use(session).map(|used| now.duration_since(used).unwrap_or_default());
        session != active && age.is_none_or(|age| age > RETENTION)
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| is_stale(path) && fs::remove_file(path).is_ok()).collect()
}

/// The script that makes a shell of this kind print its settings.
fn script_of(shell: &Path) -> Option<&'static str> {
    match shell.file_stem()?.to_str()? {
        "bash" => Some(include_str!("snapshot/bash.sh")),
        "zsh" => Some(include_str!("snapshot/zsh.sh")),
        "sh" => Some(include_str!("snapshot/sh.sh")),
        _ => None,
    }
}

async fn run(shell: &Path, arguments: [&str; 2], cwd: &Path, env: &Variables) -> Result<Vec<u8>, SnapshotError> {
    let argv = [&*shell.to_string_lossy(), arguments[0], arguments[1]].map(str::to_owned).to_vec();
    let command = Command { argv, arg0: None, cwd: cwd.to_owned(), env: env.clone() };
    let finished = process::run(&command, Some(LIMIT), None).await?;
    if finished.end != ProcessEnd::Exited(0) {
        return Err(SnapshotError::Failed { end: finished.end, said: finished.stderr.text().trim_end().to_owned() });
    }
    if finished.stdout.n_dropped > 0 {
        return Err(SnapshotError::Unreadable);
    }
    Ok(finished.stdout.bytes)
}

/// The variables of a list, each of which ends with a byte that none can have. Nothing if it is no list.
fn variables(listed: &[u8]) -> Option<Variables> {
    let mut found = Variables::new();
    for entry in listed.strip_suffix(b"\0")?.split(|byte| *byte == 0) {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let [name, value] = [&entry[..at], &entry[at + 1..]].map(OsStr::from_bytes);
        if !OWN.iter().any(|own| name == *own) {
            found.insert(name.to_owned(), value.to_owned());
        }
    }
    Some(found)
}

/// Reads the snapshot, whatever comes of that, puts the variables back that are to be kept, and
/// becomes the command.
fn wrapper<'a>(snapshot: &str, kept: impl IntoIterator<Item = &'a str>, command: &str) -> String {
    let (mut save, mut restore) = (String::new(), String::new());
    for (at, name) in kept.into_iter().filter(|name| is_name(name)).enumerate() {
        save.push_str(&format!("pellucid_is_{at}=${{{name}+set}}\npellucid_was_{at}=${{{name}-}}\n"));
        restore.push_str(&format!(
            "if [ -n \"$pellucid_is_{at}\" ]; then export {name}=\"$pellucid_was_{at}\"; else unset {name}; fi\n"
        ));
    }
    let snapshot = quoted(snapshot);
    format!("{save}if [ -r {snapshot} ]; then . {snapshot} > /dev/null 2>&1 || :; fi\n{restore}exec {command}")
}

/// Whether a shell can have a variable of this name.
fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte == b'_' || byte.is_ascii_alphabetic();
    name.bytes().next().is_some_and(is_letter) && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_list_of_variables_is_read_or_is_none() {
        let found = variables(b"A=1=2\0B=\nx\0SHLVL=3\0").unwrap();
        assert_eq!(found, Variables::from([("A".into(), "1=2".into()), ("B".into(), "\nx".into())]));
        assert_eq!(variables(b""), None);
        assert_eq!(variables(b"A=1\n"), None);
        assert_eq!(variables(b"usage\0"), None);
    }

    #[test]
    fn the_wrapper_keeps_what_it_is_told_to() {
        expect![[r#"
            pellucid_is_0=${A+set}
            pellucid_was_0=${A-}
            if [ -r '/it'\''s/x.sh' ]; then . '/it'\''s/x.sh' > /dev/null 2>&1 || :; fi
            if [ -n "$pellucid_is_0" ]; then export A="$pellucid_was_0"; else unset A; fi
            exec 'bash' -c 'x'"#]]
        .assert_eq(&wrapper("/it's/x.sh", ["A", "not a name", "1A", ""], "'bash' -c 'x'"));
    }
}
