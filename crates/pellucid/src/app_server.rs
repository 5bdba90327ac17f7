//! `app-server`: sessions for editors and other programs.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_agent::codex_version::CODEX_VERSION;
use pellucid_agent::codex_version::CodexVersion;
use pellucid_agent::ground::Ground;
use pellucid_config::Env;
use pellucid_files::Folder;
use pellucid_inspect::server::StartedFor;
use pellucid_model::Script;
use pellucid_protocol::secret::Secret;
use pellucid_server::methods;
use pellucid_server::schema;
use pellucid_server::schema::MethodStage;
use pellucid_server::server::Server;
use pellucid_server::transport::listen::Listen;
use pellucid_server::transport::stdio;
use pellucid_server::transport::websocket::WebSocketListener;
#[cfg(unix)]
use tokio::signal::unix::SignalKind;
#[cfg(unix)]
use tokio::signal::unix::signal;

use crate::args::app_server::AppServerArgs;
use crate::args::app_server::AppServerCommand;
use crate::args::app_server::GenerateArgs;
use crate::args::shared::Shared;
use crate::environment;
use crate::inspect;
use crate::start;
use crate::start::ProgramFailure;
use crate::style;

/// The variable that sets the token of WebSocket clients.
const TOKEN_VARIABLE: &str = pellucid_protocol::environment::APP_SERVER_TOKEN;

pub fn run(shared: &Shared, args: &AppServerArgs) -> Result<ExitCode, ProgramFailure> {
    match &args.command {
        None => serve(shared, args),
        Some(AppServerCommand::GenerateJsonSchema(args)) => {
            let schemas = schema::json_schemas(&staged(), stage(args));
            write(&args.out, schemas.into_iter().map(|(file, schema)| (file, format!("{schema:#}\n"))))
        }
        Some(AppServerCommand::GenerateTs(args)) => write(&args.out, schema::typescript(&staged(), stage(args))),
    }
}

fn stage(args: &GenerateArgs) -> MethodStage {
    if args.experimental { MethodStage::Experimental } else { MethodStage::Stable }
}

/// Writes files into a folder, which is created if it does not exist.
fn write(folder: &Path, files: impl IntoIterator<Item = (String, String)>) -> Result<ExitCode, ProgramFailure> {
    let failed = |path: &Path, error: std::io::Error| ProgramFailure::new(format!("{}: {error}", path.display()));
    let held = std::fs::create_dir_all(folder).and_then(|()| Folder::open(folder, None));
    let held = held.map_err(|error| failed(folder, error))?;
    for (file, text) in files {
        let written = held.write(Path::new(&file), text.as_bytes(), 0o666);
        written.map_err(|error| failed(&folder.join(&file), error))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn serve(shared: &Shared, args: &AppServerArgs) -> Result<ExitCode, ProgramFailure> {
    let home = start::find_home()?;
    let script = args.script.as_deref().map(Script::load).transpose();
    let script = script.map_err(|error| ProgramFailure::new(format!("the script cannot be loaded: {error}")))?;
    let cwd = std::env::current_dir()
        .map_err(|error| ProgramFailure::new(format!("the working directory cannot be read: {error}")))?;
    let env = environment::with_dotenv(&home);
    let token = env.text(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    let ground = Ground { home, env, cwd, overrides: start::overrides(shared)?, script };
    let failed = |error: std::io::Error| ProgramFailure::new(format!("{error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let _page = match args.inspect {
        true => {
            let _inside = runtime.enter();
            Some(inspect::tell_beside(shared, ground.home.clone(), StartedFor::default())?)
        }
        false => None,
    };
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

async fn serve_websocket(ground: Ground, address: SocketAddr, token: Option<String>) -> Result<(), ProgramFailure> {
    let failed = |error: std::io::Error| ProgramFailure::new(format!("--listen ws://{address}: {error}"));
    let is_given = token.is_some();
    let token = token.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
    let listener = WebSocketListener::bind(address, Secret::new(token.as_str())).await.map_err(failed)?;
    let address = listener.address().map_err(failed)?;
    let end = asked_to_end().map_err(failed)?;
    // The token itself is not printed: what is printed ends up in logs and histories.
    let place = TokenPlace { folder: "app-server", variable: TOKEN_VARIABLE };
    let file = if is_given { None } else { Some(TokenFile::write(&ground.home, &place, address, &token)?) };
    tell_token(&format!("ws://{address}/"), &place, file.as_ref());
    let server = Server::new(ground);
    tokio::select! {
        () = listener.serve(server.clone()) => {}
        () = end => server.shut_down().await,
    }
    Ok(())
}

/// A future that completes when the server is asked to end, by Ctrl-C or SIGTERM. The handlers are installed by this
/// call, so a signal between now and the first poll is not missed.
#[cfg(unix)]
pub fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
pub fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Says on standard error where a server listens and where its token is.
pub fn tell_token(url: &str, place: &TokenPlace, file: Option<&TokenFile>) {
    style::line(&format!("listening on {url}"));
    let place = file.map_or_else(
        || format!("the token is the value of {}", place.variable),
        |file| format!("the token is in {}", file.path.display()),
    );
    style::line(&format!("{place}; clients send it as `authorization: Bearer TOKEN`"));
}

/// Where a server keeps its token.
#[derive(Debug)]
pub struct TokenPlace {
    /// The folder in the home folder.
    pub folder: &'static str,
    /// The variable that sets the token.
    pub variable: &'static str,
}

/// A file with the token, which this user alone can read. It goes when the server ends.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    pub fn write(home: &Path, place: &TokenPlace, address: SocketAddr, token: &str) -> Result<Self, ProgramFailure> {
        let folder = home.join(place.folder);
        let path = folder.join(format!("{}.token", address.port()));
        let written = (|| {
            pellucid_files::make_private_folder(&folder)?;
            // A leftover file belonged to a server that is gone: this server has its port.
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            writeln!(pellucid_files::create_private(&path)?, "{token}")
        })();
        written.map_err(|error| {
            ProgramFailure::new(format!(
                "the token cannot be written to {}: {error}; set {} instead",
                path.display(),
                place.variable
            ))
        })?;
        Ok(Self { path })
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        // A leftover file is overwritten by the next server on this port, and gives access to nothing meanwhile.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The methods whose schemas are written: with those of today if the program answers as a newer version.
fn staged() -> Vec<schema::Method> {
    match CodexVersion::chosen(&Env::process()) {
        Some(version) if version > CODEX_VERSION => methods::staged_newest(),
        _ => methods::staged(),
    }
}
