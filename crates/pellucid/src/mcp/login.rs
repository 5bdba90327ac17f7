//! `mcp login` and `mcp logout`: what a person sees of the login of an MCP server.

use std::time::Duration;

use pellucid_agent::mcp;
use pellucid_agent::mcp_login;
use pellucid_agent::mcp_login::Begun;
use pellucid_agent::mcp_login::Forgotten;
use pellucid_agent::mcp_login::LoginAttempt;
use pellucid_agent::mcp_login::McpLoginError;
use pellucid_config::mcp::McpServer;
use pellucid_protocol::mcp::McpAuthStatus;
use tokio::io::AsyncBufReadExt;
use tokio::io::AsyncReadExt;
use tokio::io::BufReader;
use tokio::sync::mpsc;

use crate::args::mcp::McpLoginArgs;
use crate::browser;
use crate::exec;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

/// How long a person may take to log in.
const PATIENCE: Duration = Duration::from_secs(900);

/// As many bytes are read of what a person pastes.
const PASTED_BYTES_MAX: u64 = 1 << 20;

/// Logs in to a server, and says so.
pub(super) fn log_in(start: &Start, args: &McpLoginArgs) -> Result<String, ProgramFailure> {
    let McpLoginArgs { name, scopes, no_browser } = args;
    let runtime = exec::runtime()?;
    let logged_in = runtime.block_on(async {
        let begun = mcp_login::begin(&start.config, &start.env, name, scopes).await;
        complete(name, begun.map_err(failure)?, *no_browser).await
    });
    // A thread may still wait for what a person pastes.
    runtime.shutdown_background();
    logged_in?;
    Ok(format!("Successfully logged in to MCP server '{name}'."))
}

/// Logs in to a server that was just added, if it offers a login. `said` is what the command printed before; the result is added to it.
pub(super) fn log_in_to_added(
    start: &Start,
    name: &str,
    server: &McpServer,
    said: String,
) -> Result<String, ProgramFailure> {
    let (config, env) = (&start.config, &start.env);
    exec::runtime()?.block_on(async {
        if mcp::auth_status(name, server, config, env).await != McpAuthStatus::NotLoggedIn {
            return Ok(said);
        }
        print::out(&format!("{said}\nDetected OAuth support. Starting OAuth flow…\n"))?;
        let begun = mcp_login::begin_at(name, server, config, env, &[]).await;
        complete(name, begun.map_err(failure)?, false).await?;
        Ok("Successfully logged in.".to_owned())
    })
}

async fn complete(name: &str, begun: Begun, no_browser: bool) -> Result<(), ProgramFailure> {
    match begun {
        Begun::Complete => Ok(()),
        Begun::Waiting(attempt) => wait(*attempt, name, no_browser).await,
    }
}

async fn wait(attempt: LoginAttempt, name: &str, no_browser: bool) -> Result<(), ProgramFailure> {
    let address = attempt.url().to_owned();
    let invitation = format!("Authorize `{name}` by opening this URL in your browser:\n{address}\n\n");
    print::either(&invitation, OutputFormat::People)?;
    if no_browser {
        style::line("note: if the browser runs on another computer, paste the address of the page to which it returns");
    } else if let Err((program, error)) = browser::open(&address) {
        style::line(&format!("warning: {program} cannot be started: {error}; open the printed address yourself"));
    }
    let pasted = no_browser.then(pasted_lines);
    let refused = |why: &str| style::line(&format!("warning: {why}; the login still waits"));
    let finished = attempt.finish_within(PATIENCE, pasted, refused).await;
    finished.map_err(|error| ProgramFailure::new(format!("failed to login to MCP server '{name}': {error}")))
}

/// The lines of standard input. After its end there are none.
fn pasted_lines() -> mpsc::Receiver<String> {
    let (send, received) = mpsc::channel(1);
    let reading = async move {
        let mut lines = BufReader::new(tokio::io::stdin().take(PASTED_BYTES_MAX)).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if !line.trim().is_empty() && send.send(line).await.is_err() {
                break;
            }
        }
    };
    pellucid_tasks::Tasks::of_process().spawn("reading pasted addresses", reading);
    received
}

/// Logs out of a server, and says whether there was a login.
pub(super) fn log_out(start: &Start, name: &str) -> Result<String, ProgramFailure> {
    let forgotten = exec::runtime()?.block_on(mcp_login::forget(&start.config, &start.env, name)).map_err(failure)?;
    Ok(match forgotten {
        Forgotten::Yes => format!("Removed OAuth credentials for '{name}'."),
        Forgotten::WasNotThere => format!("No OAuth credentials stored for '{name}'."),
    })
}

fn failure(error: McpLoginError) -> ProgramFailure {
    match error {
        McpLoginError::Unknown(name) => super::unknown(&name),
        error => ProgramFailure::new(error.to_string()),
    }
}
