//! The arguments of `mcp`.

use clap::ArgGroup;
use clap::Args as ClapArgs;
use clap::Subcommand;

#[derive(Debug, ClapArgs)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List all servers of the configuration.
    List(McpListArgs),
    /// Show how one server is configured.
    Get(McpGetArgs),
    /// Start a server and list its tools, with their tokens.
    Tools(McpGetArgs),
    /// Start a server and list its prompts.
    Prompts(McpGetArgs),
    /// Start a server and list its resources.
    Resources(McpGetArgs),
    /// Write a server into the user's config.toml, or replace it.
    Add(McpAddArgs),
    /// Take a server out of the user's config.toml.
    Remove(McpNameArgs),
    /// Log in to a server in the browser and store its token.
    Login(McpLoginArgs),
    /// Remove the stored token of a server.
    Logout(McpNameArgs),
}

#[derive(Debug, ClapArgs)]
pub struct McpListArgs {
    /// Print the list as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct McpGetArgs {
    /// The name of the server in the configuration.
    pub name: String,

    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Names one configured server.
#[derive(Debug, ClapArgs)]
pub struct McpNameArgs {
    /// The name of the server in the configuration.
    pub name: String,
}

#[derive(Debug, ClapArgs)]
pub struct McpLoginArgs {
    /// The name of the server in the configuration.
    pub name: String,

    /// The scopes to request; several by commas.
    #[arg(long, value_name = "SCOPE,SCOPE", value_delimiter = ',')]
    pub scopes: Vec<String>,

    /// Open no browser, and also take the address to which a browser returned on standard input.
    #[arg(long)]
    pub no_browser: bool,
}

#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "pellucid mcp add [OPTIONS] <NAME> (--url <URL> | -- <COMMAND>...)",
    group(ArgGroup::new("transport").args(["command", "url"]).required(true)),
    after_help = "Example: pellucid mcp add files --env LEVEL=debug -- npx -y @modelcontextprotocol/server-filesystem ."
)]
pub struct McpAddArgs {
    /// The server's name: letters, digits, `-` and `_`.
    pub name: String,

    /// A variable for the program; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable, conflicts_with = "url")]
    pub env: Vec<(String, String)>,

    /// The address of a server that is spoken to over HTTP.
    #[arg(long)]
    pub url: Option<String>,

    /// The variable that holds the token for that address.
    #[arg(long, value_name = "ENV_VAR", requires = "url")]
    pub bearer_token_env_var: Option<String>,

    /// The program that is the server, and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// A variable and its value.
fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a variable is given as KEY=VALUE")?;
    let name = name.trim();
    if name.is_empty() { Err("the variable has no name".to_owned()) } else { Ok((name.to_owned(), value.to_owned())) }
}
