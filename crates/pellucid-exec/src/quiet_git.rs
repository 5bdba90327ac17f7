//! Variables that keep `git` from running programs which a repository names.
//!
//! For commands of the model that run unasked because they only read. The command itself is not changed: its
//! arguments are shown and recorded. Filters and text conversions that a repository's attributes name cannot be
//! switched off like this, so such a command also runs in a sandbox.

use std::ffi::OsString;

use crate::process::Variables;

/// Settings that name programs, each with a value that names none.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("safe.bareRepository", "explicit"),
];
/// No pager, no lock on the index for the sake of speed, nothing fetched from elsewhere.
const VARIABLES: &[(&str, &str)] =
    &[("GIT_PAGER", "cat"), ("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")];
const COUNT: &str = "GIT_CONFIG_COUNT";

/// Adds the variables. Existing settings stay, and these come after them.
pub fn quiet(env: &mut Variables) {
    let present = env.get(&OsString::from(COUNT)).and_then(|count| count.to_str()?.parse::<usize>().ok());
    let first = present.unwrap_or(0);
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        env.insert(format!("GIT_CONFIG_KEY_{}", first + at).into(), key.into());
        env.insert(format!("GIT_CONFIG_VALUE_{}", first + at).into(), value.into());
    }
    env.insert(COUNT.into(), (first + SETTINGS.len()).to_string().into());
    env.extend(VARIABLES.iter().map(|(name, value)| (name.into(), value.into())));
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[test]
    fn settings_that_are_there_stay() {
        let mut env: Variables = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")]
            .map(|(name, value)| (name.into(), value.into()))
            .into();
        quiet(&mut env);
        let get = |name: &str| env[&OsString::from(name)].to_str().unwrap().to_owned();
        assert_eq!((get("GIT_CONFIG_KEY_0"), get("GIT_CONFIG_VALUE_0")), ("a.b".to_owned(), "c".to_owned()));
        assert_eq!(
            (get("GIT_CONFIG_KEY_1"), get("GIT_CONFIG_COUNT")),
            ("core.fsmonitor".to_owned(), (SETTINGS.len() + 1).to_string())
        );
    }

    fn git(folder: &Path, env: &Variables, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments).envs(env);
        assert!(command.output().unwrap().status.success(), "git {arguments:?}");
    }

    /// Reading commands start what a repository names, and do not with these variables.
    #[test]
    fn programs_that_a_repository_names_do_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let (path, none) = (folder.path(), Variables::default());
        if Command::new("git").arg("--version").output().is_err() {
            return eprintln!("skipped: needs git");
        }
        git(path, &none, &["init", "-q"]);
        std::fs::write(path.join("a"), "1").unwrap();
        git(path, &none, &["add", "a"]);
        git(path, &none, &["commit", "-q", "-m", "a"]);
        let ran = path.join("ran");
        git(path, &none, &["config", "core.fsmonitor", &format!("touch '{}'; false", ran.display())]);
        git(path, &none, &["status"]);
        assert!(ran.exists(), "the repository's program runs without the variables");
        std::fs::remove_file(&ran).unwrap();
        let mut env = none;
        quiet(&mut env);
        for arguments in [&["status"] as &[&str], &["diff"], &["log"], &["show"], &["branch"]] {
            git(path, &env, arguments);
        }
        assert!(!ran.exists());
    }
}
