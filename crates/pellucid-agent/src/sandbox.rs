//! The sandbox that the configuration asks for.
//!
//! Not here: how commands are confined (`pellucid_exec::sandbox`), and when.

use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::config::SandboxBackend;
use pellucid_config::home;
use pellucid_exec::sandbox::Backend;
use pellucid_exec::sandbox::Confinement;
use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::ProtectionBasis;
use pellucid_exec::sandbox::Roots;
use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::SandboxError;
use pellucid_exec::sandbox::WantedBackend;
use pellucid_exec::sandbox::gaps;
use pellucid_exec::sandbox::gaps::Gap;
use pellucid_protocol::protected::AGENT_FOLDERS;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_workspace::roots;

/// The sandbox for a process with this configuration. Nothing is tried yet.
pub fn of(config: &Config) -> Sandbox {
    Sandbox::new(wanted(config))
}

/// Which backend is asked for.
pub fn wanted(config: &Config) -> WantedBackend {
    match config.permissions.sandbox_backend {
        SandboxBackend::Auto => WantedBackend::Strongest,
        SandboxBackend::Namespaces => WantedBackend::Only(Backend::Namespaces),
        SandboxBackend::Bubblewrap => WantedBackend::Only(Backend::Bubblewrap),
        SandboxBackend::Landlock => WantedBackend::Only(Backend::Landlock),
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
    let ground = ProtectionBasis {
        protection: protection(config),
        cwd: cwd.to_owned(),
        project_root: config.folders.project_root.clone(),
        homes: homes(config, env),
    };
    sandbox.confinement(policy, &Roots::default().hold(&roots)?, &ground)
}

/// The folders that decide what runs: the home folder, those that another run would take for it, and those of agents in
/// the user's own folder that are there.
pub fn homes(config: &Config, env: &Env) -> Vec<PathBuf> {
    let mut homes = vec![config.folders.home.clone()];
    let of_user = env.user_home().into_iter().flat_map(|user| AGENT_FOLDERS.map(|name| user.join(name)));
    for folder in home::named(env).into_iter().chain(of_user.filter(|folder| folder.is_dir())) {
        if !homes.contains(&folder) {
            homes.push(folder);
        }
    }
    homes
}

/// The writable root under which the home folder lies, if it lies under one. Commands cannot write there all the same.
pub fn root_above_home(config: &Config, env: &Env) -> Option<PathBuf> {
    let policy = &config.permissions.sandbox_policy;
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let home = real(&config.folders.home);
    let mut roots = roots::writable_roots(policy, &config.folders.cwd, env.var_os("TMPDIR").as_deref()).into_iter();
    roots.find(|root| home.starts_with(real(root)))
}

/// What confines commands, for people who want to know.
#[derive(Debug, Clone)]
pub struct SandboxReport {
    /// What commands may touch, by the name that settings give it.
    pub mode: &'static str,
    /// The mechanism; absent where nothing confines them, or nothing can.
    pub backend: Option<Backend>,
    /// The mechanism and why no stronger one, or why there is none.
    pub why: String,
    /// What it cannot hold.
    pub gaps: Vec<Gap>,
}

/// Finds out what would confine commands under a policy.
pub fn report(config: &Config, policy: &SandboxPolicy) -> SandboxReport {
    let none = |mode, why: &str| SandboxReport { mode, backend: None, why: why.to_owned(), gaps: Vec::new() };
    let mode = match policy {
        SandboxPolicy::DangerFullAccess => return none("danger-full-access", "commands are not confined"),
        SandboxPolicy::ExternalSandbox { .. } => return none("external-sandbox", "something else confines commands"),
        SandboxPolicy::ReadOnly => "read-only",
        SandboxPolicy::WorkspaceWrite { .. } => "workspace-write",
    };
    let (sandbox, wanted) = (of(config), wanted(config));
    let findings = sandbox.findings();
    let backend = findings.choose(wanted).ok();
    let gaps = backend.map(|backend| gaps::of(backend, findings, protection(config))).unwrap_or_default();
    SandboxReport { mode, backend, why: findings.summary(wanted), gaps }
}
