//! A repository in a temporary folder, and git for it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::WantedBackend;
use pellucid_git::Git;
use pellucid_git::GitSettings;
use pellucid_protocol::settings::TrustLevel;

/// The sandbox that confines git in these tests.
pub fn sandbox() -> Sandbox {
    Sandbox::new(WantedBackend::Strongest)
}

/// A folder with a repository `work`, the person's `home` and the agent's own `agent`.
pub struct World {
    folder: tempfile::TempDir,
    pub top: PathBuf,
}

impl World {
    /// A repository with these files in its first commit, or none without files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let world = Self::without_repository();
        world.git(&["init", "-q", "-b", "main"]);
        if !files.is_empty() {
            for (path, text) in files {
                world.write(path, text);
            }
            world.commit("first");
        }
        world
    }

    pub fn without_repository() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        for name in ["work", "home", "agent"] {
            fs::create_dir(top.join(name)).unwrap();
        }
        Self { folder, top }
    }

    pub fn work(&self) -> PathBuf {
        debug_assert!(self.folder.path().exists());
        self.top.join("work")
    }

    /// Writes a file of the work tree.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes an executable script.
    pub fn write_program(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.work().join(path)).unwrap()
    }

    fn variables(&self) -> BTreeMap<OsString, OsString> {
        [("PATH", std::env::var_os("PATH").unwrap_or_default()), ("HOME", self.top.join("home").into())]
            .map(|(name, value)| (name.into(), value))
            .into()
    }

    /// Plain git in a folder, as a person would run it. However it ends, what it says.
    pub fn plain(&self, folder: &Path, words: &[&str]) -> (bool, String) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.test", "-c", "commit.gpgsign=false"]);
        command.args(words).current_dir(folder).env_clear().envs(self.variables()).env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.success(), said)
    }

    /// Plain git in the work tree, which must not fail.
    pub fn git(&self, words: &[&str]) -> String {
        let (is_fine, said) = self.plain(&self.work(), words);
        assert!(is_fine, "git {words:?}: {said}");
        said
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--no-verify", "-m", message]);
    }

    /// The agent's own git.
    pub fn own(&self) -> Git {
        self.own_with(None, &[])
    }

    pub fn own_with(&self, trust: Option<TrustLevel>, path: &[PathBuf]) -> Git {
        let mut variables = self.variables();
        if !path.is_empty() {
            let before = std::env::split_paths(&variables[&OsString::from("PATH")]).collect::<Vec<_>>();
            let all = path.iter().cloned().chain(before);
            variables.insert("PATH".into(), std::env::join_paths(all).unwrap());
        }
        let git = Git::new(GitSettings {
            sandbox: sandbox(),
            home: self.top.join("agent"),
            variables,
            trust,
            writable: Vec::new(),
        });
        git.note(&self.work());
        git
    }

    /// All files of the work tree that are not git's, a line each.
    pub fn shown(&self) -> String {
        let mut lines = Vec::new();
        let mut folders = vec![self.work()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    if !path.ends_with(".git") {
                        folders.push(path);
                    }
                    continue;
                }
                let name = path.strip_prefix(self.work()).unwrap().display().to_string();
                lines.push(format!("{name}: {}\n", fs::read_to_string(&path).unwrap()));
            }
        }
        lines.sort();
        lines.concat()
    }
}
