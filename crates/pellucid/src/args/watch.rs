//! `watch`: shows and records what another program sends to its model.

use std::ffi::OsString;

use clap::Args as ClapArgs;

/// The arguments of `watch`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The command is started with variables that lead its requests through a server on this machine, such as OPENAI_BASE_URL, \
ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL (--print-env shows all). The server forwards bytes as they are. Every conversation \
becomes a session: `prompt`, `context`, `cache`, `cost`, `replay`, `inspect` and `sessions` show what was sent, byte for byte. \
Keys, cookies and tokens are not recorded.

Examples:
  pellucid watch -- codex exec \"explain this folder\"
  pellucid watch --name first-try --open -- claude
  pellucid watch --set MY_BASE_URL --upstream https://models.example/v1 -- my-agent
  pellucid watch --print-env

Exit status: that of the command, or 128 and the number of the signal that ended it; 126 and 127 if the command cannot be \
started; 2 for wrong usage.")]
pub struct WatchArgs {
    /// Forward to this address instead of the services' addresses.
    #[arg(long, value_name = "URL")]
    pub upstream: Option<String>,

    /// Set this variable, too, to the address of the server. Can be repeated.
    ///
    /// Its requests are forwarded to the address that the variable held before, or to --upstream.
    #[arg(long = "set", value_name = "VAR")]
    pub variables: Vec<String>,

    /// Name the session. Further conversations of the command get a number behind the name.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Open the page of `pellucid inspect` in a browser, following the command.
    #[arg(long)]
    pub open: bool,

    /// Listen on this port instead of a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,

    /// Print the variables that the command would get, with the address that each is forwarded to, and end.
    #[arg(long)]
    pub print_env: bool,

    /// The command. Its exit status becomes this program's.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "print_env",
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
}
