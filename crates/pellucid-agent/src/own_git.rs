//! The agent's own git, as the configuration has it.
//!
//! Not here: running it (`pellucid_git`).

use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_git::Git;
use pellucid_git::GitSettings;
use pellucid_workspace::roots;

use crate::sandbox;

/// Git for a process with this configuration. The repository of its working folder is noted, nothing is run.
pub fn of(config: &Config, env: &Env) -> Git {
    let folders = &config.folders;
    let git = Git::new(GitSettings {
        sandbox: sandbox::of(config),
        home: folders.home.clone(),
        variables: env.variables().clone(),
        trust: config.permissions.trust,
        writable: writable(config, env),
    });
    git.note(&folders.cwd);
    git
}

/// The folders that commands may write in, whose programs git does not use.
pub fn writable(config: &Config, env: &Env) -> Vec<PathBuf> {
    let (folders, policy) = (&config.folders, &config.permissions.sandbox_policy);
    roots::writable_roots(policy, &folders.cwd, env.var_os("TMPDIR").as_deref())
}
