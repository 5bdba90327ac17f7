//! `sandbox`: one command under the sandbox, by hand.
//!
//! Not here: the sandbox.

use std::process::ExitCode;

use pellucid_agent::login;
use pellucid_agent::sandbox;
use pellucid_exec::foreground;
use pellucid_protocol::settings::SandboxPolicy;

use crate::args::sandbox::SandboxArgs;
use crate::args::sandbox::SandboxCommand;
use crate::args::sandbox::SandboxedArgs;
use crate::args::shared::Shared;
use crate::args::turn::SandboxArg;
use crate::args::turn::StartArgs;
use crate::start::ProgramFailure;
use crate::start::Start;

/// Set for commands that are kept from the network.
const NETWORK_DISABLED: &str = "CODEX_SANDBOX_NETWORK_DISABLED";

pub fn run(shared: &Shared, args: &SandboxArgs) -> Result<ExitCode, ProgramFailure> {
    let (system, is_here, args) = match &args.command {
        SandboxCommand::Linux(args) => ("Linux", cfg!(target_os = "linux"), args),
        SandboxCommand::Macos(args) => ("macOS", cfg!(target_os = "macos"), args),
        SandboxCommand::Windows(args) => ("Windows", cfg!(windows), args),
    };
    if !is_here {
        return Err(ProgramFailure::new(format!(
            "this sandbox is {system}'s and this is {}; `pellucid doctor` shows what works here",
            std::env::consts::OS
        )));
    }
    confined(shared, args)
}

fn confined(shared: &Shared, args: &SandboxedArgs) -> Result<ExitCode, ProgramFailure> {
    let mode = if args.full_auto { SandboxArg::WorkspaceWrite } else { SandboxArg::ReadOnly };
    let start = Start::new(shared, &StartArgs { sandbox: Some(mode), ..StartArgs::default() })?;
    let (config, cwd) = (&start.config, &start.config.folders.cwd);
    let policy = &config.permissions.sandbox_policy;
    let failed = |error| ProgramFailure::new(format!("{error}"));
    let wrapped = sandbox::confinement(&sandbox::of(config), config, &start.env, policy, cwd)
        .and_then(|confinement| confinement.outliving().wrap(args.command.clone(), cwd))
        .map_err(failed)?;
    let has_network = matches!(policy, SandboxPolicy::WorkspaceWrite { network_access: true, .. });
    let given: &[(&str, &str)] = if has_network { &[] } else { &[(NETWORK_DISABLED, "1")] };
    let error = foreground::become_program(&wrapped, &login::key_variables(config, &start.env), given);
    Err(ProgramFailure::new(format!("the sandbox could not be started: {error}")))
}
