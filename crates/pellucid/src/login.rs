//! `login` and `logout`: who is known to the provider.
//!
//! All that is said goes to standard error, and no key is in it.

use std::io::IsTerminal;
use std::io::Read;
use std::process::ExitCode;

use pellucid_agent::login;
use pellucid_agent::login::LoginPlace;
use pellucid_model::credentials;
use pellucid_model::credentials::Removed;
use pellucid_model::credentials::StoredLogin;
use pellucid_protocol::secret::Secret;

use crate::args::login::LoginArgs;
use crate::args::login::LoginCommand;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

/// How to log in, in words that can be copied.
const EXAMPLE: &str = "printenv OPENAI_API_KEY | pellucid login --with-api-key";

pub fn run(shared: &Shared, args: &LoginArgs) -> Result<ExitCode, ProgramFailure> {
    match args.command {
        Some(LoginCommand::Status) => status(shared),
        None if args.api_key.is_some() => Err(ProgramFailure::new(format!(
            "--api-key is not taken, as other programs can see it. Pipe the key: `{EXAMPLE}`"
        ))),
        None if args.with_api_key && !args.device_auth => with_api_key(shared),
        None => refuse_chatgpt(shared),
    }
}

pub fn log_out(shared: &Shared) -> Result<ExitCode, ProgramFailure> {
    let removed = login::log_out(&load(shared)?.config);
    style::line(match removed.map_err(|error| ProgramFailure::new(format!("could not log out: {error}")))? {
        Removed::Yes => "Successfully logged out",
        Removed::WasNotThere => "Not logged in",
    });
    Ok(ExitCode::SUCCESS)
}

fn with_api_key(shared: &Shared) -> Result<ExitCode, ProgramFailure> {
    // Read before anything else is checked, so that the program that pipes the key is not cut off.
    let key = key_from_stdin()?;
    let start = load(shared)?;
    match login::log_in(&start.config, &key)
        .map_err(|error| ProgramFailure::new(format!("could not log in: {error}")))?
    {
        LoginPlace::InFile => style::line("Successfully logged in"),
        LoginPlace::Nowhere => style::line(
            "Nothing was kept: cli_auth_credentials_store is \"ephemeral\". Set the variable CODEX_API_KEY for each run.",
        ),
    }
    Ok(ExitCode::SUCCESS)
}

fn key_from_stdin() -> Result<Secret, ProgramFailure> {
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(ProgramFailure::new(format!("--with-api-key reads the key from a pipe: `{EXAMPLE}`")));
    }
    style::line("Reading API key from stdin...");
    let mut text = String::new();
    stdin
        .read_to_string(&mut text)
        .map_err(|error| ProgramFailure::new(format!("Failed to read API key from stdin: {error}")))?;
    let key = text.trim();
    if key.is_empty() {
        return Err(ProgramFailure::new("No API key provided via stdin."));
    }
    Ok(Secret::new(key))
}

fn refuse_chatgpt(shared: &Shared) -> Result<ExitCode, ProgramFailure> {
    let start = load(shared)?;
    let refused = |error: &dyn std::fmt::Display| ProgramFailure::new(format!("{error}. Use an API key: `{EXAMPLE}`"));
    login::allow_chatgpt(&start.config).map_err(|error| refused(&error))?;
    Err(refused(&"Pellucid cannot log in with a ChatGPT account"))
}

fn status(shared: &Shared) -> Result<ExitCode, ProgramFailure> {
    let stored = login::stored(&load(shared)?.config);
    match stored.map_err(|error| ProgramFailure::new(format!("the login cannot be read: {error}")))? {
        Some(StoredLogin::ApiKey(key)) => {
            style::line(&format!("Logged in using an API key - {}", credentials::masked(&key)));
            Ok(ExitCode::SUCCESS)
        }
        Some(StoredLogin::ChatGpt(_)) => {
            style::line("Logged in using ChatGPT");
            Ok(ExitCode::SUCCESS)
        }
        None => {
            style::line("Not logged in");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn load(shared: &Shared) -> Result<Start, ProgramFailure> {
    Start::new(shared, &StartArgs::default())
}
