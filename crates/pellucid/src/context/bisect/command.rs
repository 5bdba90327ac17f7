//! A command that judges a request or an answer, in the sandbox.

use std::ffi::OsString;
use std::io;
use std::io::Read;
use std::io::Write;
use std::thread;

use pellucid_agent::login;
use pellucid_agent::sandbox;
use pellucid_answers::bisect::BisectJudgement;
use pellucid_exec::environment;
use pellucid_exec::environment::NetworkReach;
use pellucid_exec::waited::Waited;
use pellucid_protocol::settings::SandboxPolicy;

use crate::args::shared::Shared;
use crate::args::turn::SandboxArg;
use crate::args::turn::StartArgs;
use crate::start::ProgramFailure;
use crate::start::Start;

/// How much of what the command complains of is kept.
const COMPLAINT_BYTES_MAX: u64 = 4_096;

/// A command that judges what it gets on standard input.
#[derive(Debug)]
pub struct JudgingCommand {
    waited: Waited,
    /// The last line that the command wrote to standard error, of its last run.
    pub complaint: String,
}

impl JudgingCommand {
    /// The command in the sandbox: read-only, unless an option says otherwise.
    pub fn new(shared: &Shared, start: &StartArgs, command: &str) -> Result<Self, ProgramFailure> {
        let mode = start.sandbox.unwrap_or(SandboxArg::ReadOnly);
        let start = Start::new(shared, &StartArgs { sandbox: Some(mode), ..start.clone() })?;
        let (config, cwd) = (&start.config, &start.config.folders.cwd);
        let policy = &config.permissions.sandbox_policy;
        let argv = ["/bin/sh", "-c", command].map(OsString::from).to_vec();
        let argv = sandbox::confinement(&sandbox::of(config), config, &start.env, policy, cwd)
            .and_then(|confinement| confinement.wrap(argv, cwd))
            .map_err(|error| ProgramFailure::new(format!("--run: {error}")))?;
        let network = match policy {
            SandboxPolicy::DangerFullAccess | SandboxPolicy::WorkspaceWrite { network_access: true, .. } => {
                NetworkReach::Full
            }
            _ => NetworkReach::Limited,
        };
        let ours = start.env.variables().iter().map(|(name, value)| (name.clone(), value.clone()));
        let withheld = login::key_variables(config, &start.env);
        let env = environment::variables(&config.shell_environment, ours, &withheld, "", network);
        let waited = Waited { argv, cwd: cwd.clone(), env, has_input: true };
        Ok(Self { waited, complaint: String::new() })
    }

    /// Runs the command with this standard input, until it ends.
    pub fn judge(&mut self, input: &[u8]) -> Result<BisectJudgement, ProgramFailure> {
        let failed = |error: io::Error| ProgramFailure::new(format!("--run: the command cannot be run: {error}"));
        let mut child = self.waited.start().map_err(failed)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let complaint = thread::scope(|scope| {
            // A command may end before it has read everything, like `grep -q`.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
            // Output is read and dropped, so that a full pipe does not block the command.
            scope.spawn(move || stdout.map(|mut stdout| io::copy(&mut stdout, &mut io::sink())));
            let mut kept = Vec::new();
            if let Some(mut stderr) = stderr {
                let _ = stderr.by_ref().take(COMPLAINT_BYTES_MAX).read_to_end(&mut kept);
                let _ = io::copy(&mut stderr, &mut io::sink());
            }
            String::from_utf8_lossy(&kept).into_owned()
        });
        self.complaint = complaint.lines().last().unwrap_or_default().to_owned();
        let status = child.wait().map_err(failed)?;
        Ok(BisectJudgement::of_status(status.code()))
    }
}
