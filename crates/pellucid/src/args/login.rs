//! The arguments of `login`.

use clap::Args as ClapArgs;
use clap::Subcommand;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: printenv OPENAI_API_KEY | pellucid login --with-api-key\n\nThe key is kept in auth.json of the home folder, which the Codex CLI shares. It is never taken from the command line, where other programs could see it. ChatGPT accounts cannot be used."
)]
pub struct LoginArgs {
    #[command(subcommand)]
    pub command: Option<LoginCommand>,

    /// Read an API key from standard input and keep it.
    #[arg(long)]
    pub with_api_key: bool,

    /// The Codex CLI's login by a code; not available.
    #[arg(long, hide = true)]
    pub device_auth: bool,

    /// Refused: a key on the command line can be seen by other programs.
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "", value_name = "KEY")]
    pub api_key: Option<String>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub enum LoginCommand {
    /// Print who is logged in; exits with 1 without a login.
    Status,
}
