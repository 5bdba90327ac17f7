//! `app-server`: sessions for editors and other programs.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use pellucid_files::Folder;
use pellucid_model::Script;
use pellucid_protocol::secret::Secret;
use pellucid_server::ground::Ground;
use pellucid_server::methods;
use pellucid_server::schema;
use pellucid_server::schema::Stage;
use pellucid_server::server::Server;
use pellucid_server::transport::listen::Listen;
use pellucid_server::transport::stdio;
use pellucid_server::transport::websocket::Listener;

use crate::args::AppServerArgs;
use crate::args::AppServerCommand;
use crate::args::GenerateArgs;
use crate::args::Shared;
use crate::environment;
use crate::start;
use crate::start::Failure;
use crate::style;

/// The variable that sets the token of WebSocket clients.
const TOKEN_VARIABLE: &str = "PELLUCID_APP_SERVER_TOKEN";

pub fn run(shared: &Shared, args: &AppServerArgs) -> Result<ExitCode, Failure> {
    match &args.command {
        None => serve(shared, args),
        Some(AppServerCommand::GenerateJsonSchema(args)) => {
            let schemas = schema::json_schemas(&methods::typed(), stage(args));
            write(&args.out, schemas.into_iter().map(|(file, schema)| (file, format!("{schema:#}\n"))))
        }
        Some(AppServerCommand::GenerateTs(args)) => {
            write(&args.out, schema::typescript(&methods::typed(), stage(args)))
        }
    }
}

fn stage(args: &GenerateArgs) -> Stage {
    if args.experimental { Stage::Experimental } else { Stage::Stable }
}

/// Writes files into a folder, which is made if it is not there.
fn write(folder: &Path, files: impl IntoIterator<Item = (String, String)>) -> Result<ExitCode, Failure> {
    let failed = |path: &Path, error: std::io::Error| Failure::new(format!("Error: {}: {error}", path.display()));
    let held = std::fs::create_dir_all(folder).and_then(|()| Folder::open(folder, None));
    let held = held.map_err(|error| failed(folder, error))?;
    for (file, text) in files {
        let written = held.write(Path::new(&file), text.as_bytes(), 0o666);
        written.map_err(|error| failed(&folder.join(&file), error))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn serve(shared: &Shared, args: &AppServerArgs) -> Result<ExitCode, Failure> {
    let home = start::find_home()?;
    let script = args.script.as_deref().map(Script::load).transpose();
    let script = script.map_err(|error| Failure::new(format!("Error loading the script: {error}")))?;
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::new(format!("Error: the working directory cannot be read: {error}")))?;
    let env = environment::with_dotenv(&home);
    let token = env.text(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    let ground = Ground { home, env, cwd, overrides: start::overrides(shared)?, script };
    let failed = |error: std::io::Error| Failure::new(format!("Error: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let served = match args.listen {
        Listen::Stdio => {
            runtime.block_on(stdio::serve(Server::new(ground), tokio::io::stdin(), tokio::io::stdout())).map_err(failed)
        }
        Listen::WebSocket(address) => runtime.block_on(serve_websocket(ground, address, token)),
    };
    // A thread that still reads standard input would be waited for.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

async fn serve_websocket(ground: Ground, address: SocketAddr, token: Option<String>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("Error: --listen ws://{address}: {error}"));
    let token = token.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
    let listener = Listener::bind(address, Secret::new(token.as_str())).await.map_err(failed)?;
    let address = listener.address().map_err(failed)?;
    style::line(&format!("listening on ws://{address}/?token={token}"));
    let server = Server::new(ground);
    tokio::select! {
        served = listener.serve(server.clone()) => served.map_err(failed),
        _ = tokio::signal::ctrl_c() => {
            server.shut_down().await;
            Ok(())
        }
    }
}
