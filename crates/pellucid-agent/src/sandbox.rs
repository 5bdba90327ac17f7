//! The sandbox that the configuration asks for.
//!
//! Not here: how commands are confined (`pellucid_exec::sandbox`), and when.

use std::path::Path;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::config::SandboxBackend;
use pellucid_exec::sandbox::Backend;
use pellucid_exec::sandbox::Confinement;
use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::SandboxError;
use pellucid_exec::sandbox::Wanted;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_workspace::roots;

/// The sandbox for a process with this configuration. Nothing is tried yet.
pub fn of(config: &Config) -> Sandbox {
    Sandbox::new(wanted(config))
}

/// Which backend is asked for.
pub fn wanted(config: &Config) -> Wanted {
    match config.permissions.sandbox_backend {
        SandboxBackend::Auto => Wanted::Strongest,
        SandboxBackend::Namespaces => Wanted::Only(Backend::Namespaces),
        SandboxBackend::Bubblewrap => Wanted::Only(Backend::Bubblewrap),
        SandboxBackend::Landlock => Wanted::Only(Backend::Landlock),
    }
}

/// Whether `.git` and the folders of agents are protected.
pub fn protection(config: &Config) -> Protection {
    if config.permissions.sandbox_protect { Protection::On } else { Protection::Off }
}

/// What confines commands of a turn in `cwd` under `policy`.
pub fn confinement(
    sandbox: &Sandbox,
    config: &Config,
    env: &Env,
    policy: &SandboxPolicy,
    cwd: &Path,
) -> Result<Confinement, SandboxError> {
    let roots = roots::writable_roots(policy, cwd, env.var_os("TMPDIR").as_deref());
    sandbox.confinement(policy, &roots, protection(config))
}
