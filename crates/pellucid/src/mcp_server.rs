//! `mcp-server`: sessions as tools of the Model Context Protocol.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use pellucid_agent::ground::Ground;
use pellucid_config::HarnessOverrides;
use pellucid_mcp_server::listen::HttpListener;
use pellucid_mcp_server::parity;
use pellucid_mcp_server::server::ToolServer;
use pellucid_mcp_server::standard;
use pellucid_model::Script;
use pellucid_protocol::environment::MCP_SERVER_TOKEN;
use pellucid_protocol::secret::Secret;

use crate::app_server;
use crate::app_server::TokenFile;
use crate::app_server::TokenPlace;
use crate::app_server::asked_to_end;
use crate::args::mcp_server::McpServerArgs;
use crate::args::shared::Shared;
use crate::environment;
use crate::start;
use crate::start::ProgramFailure;

/// Where the token of a server that listens is kept.
const TOKEN: TokenPlace = TokenPlace { folder: "mcp-server", variable: MCP_SERVER_TOKEN };

pub fn run(shared: &Shared, args: &McpServerArgs) -> Result<ExitCode, ProgramFailure> {
    let home = start::find_home()?;
    let script = args.script.as_deref().map(Script::load).transpose();
    let script = script.map_err(|error| ProgramFailure::new(format!("the script cannot be loaded: {error}")))?;
    let cwd = std::env::current_dir()
        .map_err(|error| ProgramFailure::new(format!("the working directory cannot be read: {error}")))?;
    let env = environment::with_dotenv(&home);
    let ground = Ground { home, env, cwd, overrides: start::overrides(shared)?, script };
    // A configuration that cannot be used ends the program at once, and not the first call.
    let config = ground.config(None, Vec::new(), HarnessOverrides::default());
    let (config, _) = config.map_err(|error| ProgramFailure::new(error.report()))?;
    let is_standard = args.standard || config.servers.is_standard_mcp;
    let failed = |error: std::io::Error| ProgramFailure::new(format!("{error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let served = runtime.block_on(async {
        let server = ToolServer::new(ground);
        if let Some(address) = args.listen {
            return listen(server, address).await;
        }
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let end = asked_to_end().map_err(failed)?;
        let served = match is_standard {
            true => standard::serve(server, input, output, end).await,
            false => parity::serve(server, input, output, end).await,
        };
        served.map_err(failed)
    });
    // A thread that still reads standard input would be waited for.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

async fn listen(server: Arc<ToolServer>, address: SocketAddr) -> Result<(), ProgramFailure> {
    let failed = |error: std::io::Error| ProgramFailure::new(format!("--listen {address}: {error}"));
    let given = server.ground.env.text(TOKEN.variable).filter(|token| !token.is_empty());
    let is_given = given.is_some();
    let token = given.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
    let listener = HttpListener::bind(address, Secret::new(token.as_str())).await.map_err(failed)?;
    let end = asked_to_end().map_err(failed)?;
    // The token itself is not printed: what is printed ends up in logs and histories.
    let file =
        if is_given { None } else { Some(TokenFile::write(&server.ground.home, &TOKEN, listener.address(), &token)?) };
    app_server::tell_token(&listener.url(), &TOKEN, file.as_ref());
    listener.serve(server, end).await;
    Ok(())
}
