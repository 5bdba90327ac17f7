//! Looking at everything a turn needs, part by part. A part that cannot be looked at is a finding,
//! not a failure.

use std::io::IsTerminal;
use std::path::Path;

use pellucid_agent::login;
use pellucid_agent::mcp;
use pellucid_agent::own_git;
use pellucid_agent::sandbox;
use pellucid_config::Config;
use pellucid_config::Env;
use pellucid_config::home;
use pellucid_config::mcp::McpServer;
use pellucid_exec::sandbox::Backend;
use pellucid_exec::sandbox::ProbeFinding;
use pellucid_exec::sandbox::gaps;
use pellucid_git::GitError;
use pellucid_model::credentials::StoredLogin;
use pellucid_model::key_origin::missing_key_advice;
use pellucid_protocol::settings::McpProtocol;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_protocol::settings::TrustLevel;
use pellucid_workspace::shell;
use pellucid_workspace::terminal;
use serde_json::Value;
use serde_json::json;

use super::DoctorSection;
use super::Health;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::screen::StandardStream;
use crate::start::Start;
use crate::style;

/// Runs every check, in the order in which the report shows them.
pub fn look(shared: &Shared, cd: Option<&Path>) -> Vec<DoctorSection> {
    let mut sections = vec![program(), home()];
    let turn = StartArgs { cd: cd.map(Path::to_owned), ..StartArgs::default() };
    match Start::new(shared, &turn) {
        Ok(start) => {
            sections.push(configuration(&start.config));
            sections.push(model(&start.config, &start.env));
            sections.push(sandbox_section(&start.config));
            sections.push(git_section(&start.config, &start.env));
            sections.push(shell_section(&start.env));
            sections.extend(servers_section(&start.config));
        }
        Err(failure) => sections.push(DoctorSection {
            name: "configuration",
            state: Health::Bad,
            summary: "it cannot be used".to_owned(),
            lines: failure.text().lines().map(str::to_owned).collect(),
            fields: json!({ "error": failure.text() }),
        }),
    }
    sections.push(terminal_section());
    sections
}

fn program() -> DoctorSection {
    let version = env!("CARGO_PKG_VERSION");
    let file = std::env::current_exe().map(|it| it.display().to_string()).unwrap_or_default();
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    DoctorSection {
        name: "program",
        state: Health::Good,
        summary: format!("pellucid {version} on {system}"),
        lines: vec![file.clone()],
        fields: json!({ "version": version, "file": file, "system": system }),
    }
}

fn home() -> DoctorSection {
    match home::find(&Env::process()) {
        Ok(path) => {
            let exists = path.is_dir();
            let summary = if exists { "" } else { " (it will be created)" };
            // A file without a name, which is gone at once.
            let unwritable = exists.then(|| tempfile::tempfile_in(&path).err()).flatten();
            let others = others_who_write(&path);
            let lines = unwritable.iter().map(|error| {
                format!(
                    "it cannot be written, so no session or login is kept: {error}; change its permissions or set PELLUCID_HOME"
                )
            });
            let lines = lines.chain(others.map(|who| {
                format!("{who} can write it, and so run commands as you; `chmod go-w {}` prevents that", path.display())
            }));
            let lines: Vec<String> = lines.collect();
            DoctorSection {
                name: "home",
                state: if lines.is_empty() { Health::Good } else { Health::Note },
                summary: format!("{}{summary}", path.display()),
                fields: json!({
                    "path": path,
                    "exists": exists,
                    "is_writable": exists.then_some(unwritable.is_none()),
                    "others_can_write": exists.then_some(others.is_some()),
                }),
                lines,
            }
        }
        Err(error) => DoctorSection {
            name: "home",
            state: Health::Bad,
            summary: error.to_string(),
            lines: Vec::new(),
            fields: json!({ "path": null }),
        },
    }
}

/// Which other users can write to a folder; absent if none can.
#[cfg(unix)]
fn others_who_write(folder: &Path) -> Option<&'static str> {
    use std::os::unix::fs::PermissionsExt;
    let mode = folder.metadata().ok()?.permissions().mode();
    match (mode & 0o020 != 0, mode & 0o002 != 0) {
        (_, true) => Some("every user of this machine"),
        (true, false) => Some("its group"),
        (false, false) => None,
    }
}

#[cfg(not(unix))]
fn others_who_write(_: &Path) -> Option<&'static str> {
    None
}

fn configuration(config: &Config) -> DoctorSection {
    let mut files = Vec::new();
    for layer in config.layers().iter() {
        let Some(file) = &layer.file else { continue };
        let state = match &layer.disabled {
            Some(why) => format!("switched off: {why}"),
            None if file.is_file() => "used".to_owned(),
            None => "not there".to_owned(),
        };
        files.push((file.display().to_string(), state));
    }
    let warnings: Vec<String> = config.noticed.warnings.iter().map(ToString::to_string).collect();
    let without_effect = config.without_effect();
    let unused = without_effect.iter().map(|(key, why)| format!("`{key}` has no effect: {why}"));
    let n_used = files.iter().filter(|(_, state)| state == "used").count();
    let lines = files.iter().map(|(file, state)| format!("{file}: {state}"));
    DoctorSection {
        name: "configuration",
        state: if warnings.is_empty() { Health::Good } else { Health::Note },
        summary: format!("{} used, {}", style::counted(n_used, "file"), style::counted(warnings.len(), "warning")),
        lines: lines.chain(warnings.iter().map(|it| format!("warning: {it}"))).chain(unused).collect(),
        fields: json!({
            "files": files.iter().map(|(file, state)| json!({ "path": file, "state": state })).collect::<Vec<_>>(),
            "warnings": warnings,
            "profile": config.profile,
            "without_effect": without_effect.iter().map(|(key, _)| key).collect::<Vec<_>>(),
        }),
    }
}

fn model(config: &Config, env: &Env) -> DoctorSection {
    let (id, provider) = (&config.model.provider_id, &config.model.provider);
    let lookup = |name: &str| env.text(name).filter(|value| !value.trim().is_empty());
    // Whether there is a key, never the key.
    let (key, hint) = match &provider.env_key {
        Some(name) if lookup(name).is_some() => ("present", None),
        Some(name) => ("missing", Some(format!("set the variable {name}"))),
        None if provider.experimental_bearer_token.is_some() => ("present", None),
        None if login::session_key(config, env).is_some() => ("present", None),
        None if provider.requires_openai_auth => ("missing", Some(missing_key_hint(config))),
        None => ("not needed", None),
    };
    let slug = config.model.slug.as_deref();
    DoctorSection {
        name: "model",
        state: if key == "missing" { Health::Bad } else { Health::Good },
        summary: format!("{} from {id}, key {key}", slug.unwrap_or("the catalogue's first model")),
        lines: provider.base_url.iter().cloned().chain(hint).collect(),
        fields: json!({
            "model": slug,
            "provider": id,
            "base_url": provider.base_url,
            "key": key,
        }),
    }
}

/// The hint for a missing API key: the variable to set or the command to run.
fn missing_key_hint(config: &Config) -> String {
    let advice = missing_key_advice(config.model.provider.wire_api);
    match login::stored(config) {
        Ok(Some(StoredLogin::ChatGpt(_))) => {
            format!("the stored login is a ChatGPT account's, which is not sent: {advice}")
        }
        Err(error) => format!("{error}; or {advice}"),
        Ok(_) => advice.to_owned(),
    }
}

fn sandbox_section(config: &Config) -> DoctorSection {
    let sandbox = sandbox::of(config);
    let findings = sandbox.examine();
    let chosen = findings.choose(sandbox::wanted(config));
    let is_needed = !matches!(
        config.permissions.sandbox_policy,
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ExternalSandbox { .. }
    );
    let mode = config.permissions.sandbox_mode.as_str();
    let mut lines: Vec<String> = findings.backends.iter().map(|(it, finding)| backend_line(*it, finding)).collect();
    let (gaps, remedy) = match &chosen {
        Ok(backend) => {
            let gaps = gaps::of(*backend, &findings, sandbox::protection(config));
            (gaps, gaps::remedy(*backend, &findings))
        }
        Err(_) => (Vec::new(), None),
    };
    lines.extend(gaps.iter().map(|gap| format!("note: {}", gap.text)));
    lines.extend(remedy.map(|remedy| format!("for more: {remedy}")));
    let above_home = sandbox::root_above_home(config, &Env::process());
    lines.extend(above_home.as_ref().map(|root| {
        format!(
            "warning: the home folder {} is below the writable root {}; commands can read it but not change it, and \
             PELLUCID_HOME moves it",
            config.folders.home.display(),
            root.display()
        )
    }));
    let (state, summary) = match &chosen {
        Ok(backend) => {
            let is_strongest = Backend::of_this_system().first() == Some(backend);
            let is_good = is_strongest && above_home.is_none();
            (if is_good { Health::Good } else { Health::Note }, format!("{backend}, mode {mode}"))
        }
        Err(error) if is_needed => (Health::Bad, error.to_string()),
        Err(error) => (Health::Note, format!("none is needed in mode {mode}; {error}")),
    };
    DoctorSection {
        name: "sandbox",
        state,
        summary,
        lines,
        fields: json!({
            "mode": mode,
            "policy": config.permissions.sandbox_policy,
            "chosen": chosen.as_ref().ok().map(|it| it.as_str()),
            "protect": config.permissions.sandbox_protect,
            "backends": findings.backends.iter().map(|(it, finding)| backend_json(*it, finding)).collect::<Vec<_>>(),
            "landlock_abi": findings.landlock_abi,
            "limits": gaps.iter().map(|gap| json!({ "id": gap.id, "text": gap.text })).collect::<Vec<_>>(),
            "remedy": remedy,
            "root_above_home": above_home,
        }),
    }
}

fn backend_line(backend: Backend, finding: &ProbeFinding) -> String {
    match finding {
        ProbeFinding::Works(how) => format!("{backend}: works, {how}"),
        ProbeFinding::Fails(why) => format!("{backend}: does not work, {why}"),
        ProbeFinding::Untried => format!("{backend}: was not tried"),
    }
}

fn backend_json(backend: Backend, finding: &ProbeFinding) -> Value {
    let (state, detail) = match finding {
        ProbeFinding::Works(how) => ("works", how.as_str()),
        ProbeFinding::Fails(why) => ("fails", why.as_str()),
        ProbeFinding::Untried => ("untried", ""),
    };
    json!({ "name": backend.as_str(), "state": state, "detail": detail })
}

/// The MCP servers that are used, each with the revision of the protocol that it speaks, if that is known. None is started.
fn servers_section(config: &Config) -> Option<DoctorSection> {
    let used = config.tools.mcp_servers.iter().filter(|(_, server)| server.enabled);
    let revision = |server: &McpServer| match mcp::known_revision(config, server) {
        Some(revision) => revision,
        None if server.protocol == McpProtocol::Initialize => "2025-06-18".to_owned(),
        None => server.protocol.to_string(),
    };
    let used: Vec<(&String, String)> = used.map(|(name, server)| (name, revision(server))).collect();
    if used.is_empty() {
        return None;
    }
    Some(DoctorSection {
        name: "mcp",
        state: Health::Good,
        summary: format!("{} configured; a session starts them", used.len()),
        lines: used.iter().map(|(name, revision)| format!("{name}: protocol {revision}")).collect(),
        fields: json!({ "revisions": used.into_iter().map(|(name, revision)| (name.clone(), revision.into())).collect::<serde_json::Map<_, _>>() }),
    })
}

fn git_section(config: &Config, env: &Env) -> DoctorSection {
    let cwd = &config.folders.cwd;
    let root = pellucid_git::work_tree_root(cwd);
    let git = own_git::of(config, env);
    let version = git.version(cwd);
    let mut lines = vec![match &root {
        Some(root) => format!("repository {}", root.display()),
        None => "this folder is not in a repository".to_owned(),
    }];
    if let Err(error @ GitError::Unconfined(_)) = &version {
        lines.push(format!("{error}; requests do not say whether there are changes, and there is no undo"));
    }
    if root.is_some() && config.permissions.trust == Some(TrustLevel::Untrusted) {
        lines.push("the project is marked as untrusted, so git is not run in it".to_owned());
    }
    let summary = match &version {
        Ok(version) => version.clone(),
        Err(GitError::NoProgram) => "git is not installed".to_owned(),
        Err(_) => "git is not run here".to_owned(),
    };
    let version = version.ok();
    DoctorSection {
        name: "git",
        state: if version.is_some() { Health::Good } else { Health::Note },
        summary,
        lines,
        fields: json!({ "version": version, "repository": root }),
    }
}

fn shell_section(env: &Env) -> DoctorSection {
    let shell = shell::user_shell(&|name| env.var_os(name));
    let is_there = shell.path.is_absolute().then(|| shell.path.is_file());
    DoctorSection {
        name: "shell",
        state: if is_there == Some(false) { Health::Bad } else { Health::Good },
        summary: format!("{} ({})", shell.family.as_str(), shell.path.display()),
        lines: Vec::new(),
        fields: json!({ "family": shell.family.as_str(), "path": shell.path }),
    }
}

fn terminal_section() -> DoctorSection {
    let name = terminal::terminal(&|name| std::env::var_os(name));
    let is_terminal = std::io::stdin().is_terminal() && StandardStream::Error.is_terminal();
    let note = if is_terminal { "" } else { ", not interactive" };
    DoctorSection {
        name: "terminal",
        state: Health::Good,
        summary: format!("{name}{note}"),
        lines: Vec::new(),
        fields: json!({ "name": name, "interactive": is_terminal }),
    }
}
