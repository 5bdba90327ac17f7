//! Variables that contain Pellucid's keys: no command, and no program that the agent starts, receives them.
//!
//! A command that prints its environment would put the key into the next request and the session file. A user who wants
//! a command to have the key sets it in `shell_environment_policy.set`.

use std::collections::BTreeSet;

use pellucid_protocol::environment::SECRETS;

use crate::config::Config;
use crate::env::Env;
use crate::mcp::McpServer;

/// Variables of built-in providers whose values are not secret.
const PLAIN: [&str; 2] = ["OPENAI_ORGANIZATION", "OPENAI_PROJECT"];

impl Config {
    /// The names of the variables that contain Pellucid's keys: those that providers and MCP servers name, those that
    /// this program reads, and any whose value is the key in use. Variables that the user sets for commands are not
    /// among them.
    pub fn key_variables(&self, env: &Env, is_key: impl Fn(&str) -> bool) -> BTreeSet<String> {
        let providers = self.model.providers.values().chain([&self.model.provider]);
        let named = providers.flat_map(|provider| {
            let headers = provider.env_http_headers.iter().flat_map(|headers| headers.values());
            provider.env_key.iter().chain(headers)
        });
        let servers = self.tools.mcp_servers.values().flat_map(McpServer::key_variables);
        let named = named.chain(servers).filter(|name| !PLAIN.contains(&name.as_str())).cloned();
        let by_value = env.variables().iter().filter_map(|(name, value)| {
            let is_one = value.to_str().is_some_and(|value| !value.trim().is_empty() && is_key(value.trim()));
            is_one.then(|| name.to_str().map(str::to_owned)).flatten()
        });
        let all = SECRETS.map(str::to_owned).into_iter().chain(named).chain(by_value);
        all.filter(|name| !self.shell_environment.set.contains_key(name)).collect()
    }
}
