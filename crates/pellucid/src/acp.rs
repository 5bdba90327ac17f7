//! `acp`: sessions for editors that speak the Agent Client Protocol.

use std::process::ExitCode;

use pellucid_acp::server;
use pellucid_acp::server::AcpServer;
use pellucid_agent::ground::Ground;
use pellucid_model::Script;

use crate::app_server::asked_to_end;
use crate::args::acp::AcpArgs;
use crate::args::shared::Shared;
use crate::environment;
use crate::start;
use crate::start::ProgramFailure;

pub fn run(shared: &Shared, args: &AcpArgs) -> Result<ExitCode, ProgramFailure> {
    let home = start::find_home()?;
    let script = args.script.as_deref().map(Script::load).transpose();
    let script = script.map_err(|error| ProgramFailure::new(format!("the script cannot be loaded: {error}")))?;
    let cwd = std::env::current_dir()
        .map_err(|error| ProgramFailure::new(format!("the working directory cannot be read: {error}")))?;
    let env = environment::with_dotenv(&home);
    let ground = Ground { home, env, cwd, overrides: start::overrides(shared)?, script };
    let failed = |error: std::io::Error| ProgramFailure::new(format!("{error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let served = runtime.block_on(async {
        let end = asked_to_end()?;
        server::serve(AcpServer::new(ground), tokio::io::stdin(), tokio::io::stdout(), end).await
    });
    // A thread that still reads standard input would be waited for.
    runtime.shutdown_background();
    served.map_err(failed).map(|()| ExitCode::SUCCESS)
}
