//! Prompts and resources of MCP servers in a person's input: the session asks the servers before the input is recorded.
//!
//! Clients list the prompts by [`Session::server_prompts`]. What counts, and what the answers become, is decided in the engine (`server_input`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use pellucid_engine::server_input;
use pellucid_engine::server_input::COMMAND;
use pellucid_engine::server_input::Given;
use pellucid_engine::server_input::Wanted;
use pellucid_mcp::servers::Servers;
use pellucid_protocol::input::UserInput;
use serde_json::Value;

use super::Session;
use crate::child::StartedBy;

/// How many prompts of servers a client lists.
const LISTED_MAX: usize = 500;

/// A prompt of a server, as a command that a person can type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPrompt {
    /// The command without its slash: `mcp:SERVER:PROMPT`.
    pub command: String,
    /// What the server says about the prompt.
    pub description: String,
    /// The arguments as they are typed; absent if the prompt takes none.
    pub hint: Option<String>,
}

/// Until the servers have started, or not, and listed their prompts.
pub type ListingPrompts = Pin<Box<dyn Future<Output = Vec<ServerPrompt>> + Send>>;

/// Until servers have given what an input wants, or one of them has not.
pub(crate) type AskingServers = Pin<Box<dyn Future<Output = Result<Vec<(Wanted, Given)>, String>> + Send>>;

impl Session {
    /// Whether an input wants prompts or resources of servers. Only people ask for them, not the model.
    pub(crate) fn wants_of_servers(&self, inputs: &[UserInput]) -> bool {
        !matches!(self.wanted_of_servers(inputs).as_deref(), Ok([]))
    }

    /// Asks servers for what an input wants of them; absent if it wants nothing.
    pub(crate) fn ask_servers(&self, inputs: &[UserInput]) -> Option<AskingServers> {
        let wanted = match self.wanted_of_servers(inputs) {
            Ok(wanted) if wanted.is_empty() => return None,
            wanted => wanted,
        };
        let servers = self.servers();
        Some(Box::pin(async move {
            let mut all = Vec::new();
            for wanted in wanted? {
                let given = given(servers.as_ref(), &wanted).await;
                all.push(given.map(|given| (wanted.clone(), given)).map_err(|why| format!("{wanted} {why}"))?);
            }
            Ok(all)
        }))
    }

    /// Puts what servers gave into an input, and keeps where it came from until the input is recorded.
    pub(crate) fn place_given(&mut self, inputs: &[UserInput], given: Vec<(Wanted, Given)>) -> Vec<UserInput> {
        self.given.place(inputs, given)
    }

    /// An input with what it wants of servers, for a look at the request that a turn would send.
    ///
    /// # Errors
    /// If a server does not give it.
    pub async fn with_server_input(&mut self, inputs: &[UserInput]) -> Result<Vec<UserInput>, String> {
        match self.ask_servers(inputs) {
            Some(asking) => asking.await.map(|given| self.place_given(inputs, given)),
            None => Ok(inputs.to_vec()),
        }
    }

    /// Asks the servers for their prompts, once they were started; absent if the session has no servers.
    pub fn server_prompts(&self) -> Option<ListingPrompts> {
        let servers = self.servers()?;
        Some(Box::pin(async move {
            let listed = servers.all_prompts().await;
            let all = listed.iter().flat_map(|(server, prompts)| prompts.iter().map(move |prompt| (server, prompt)));
            all.filter_map(|(server, prompt)| command(server, prompt)).take(LISTED_MAX).collect()
        }))
    }

    /// What an input wants of servers that were not asked for it, for people.
    pub(super) fn unasked(&self, inputs: &[UserInput]) -> Vec<String> {
        if !self.given.is_empty() {
            return Vec::new();
        }
        let wanted = self.wanted_of_servers(inputs).unwrap_or_default();
        wanted.iter().map(|wanted| format!("{wanted} is asked for when the message is sent")).collect()
    }

    fn wanted_of_servers(&self, inputs: &[UserInput]) -> Result<Vec<Wanted>, String> {
        if !matches!(self.setup.origin, StartedBy::Client(_)) {
            return Ok(Vec::new());
        }
        let servers = &self.setup.sources.config.tools.mcp_servers;
        server_input::wanted(inputs, |name| servers.get(name).is_some_and(|server| server.enabled))
    }
}

/// A prompt as a command; absent if its name cannot be typed.
fn command(server: &str, prompt: &Value) -> Option<ServerPrompt> {
    let name = prompt["name"].as_str()?;
    let command = format!("{COMMAND}{server}:{name}");
    server_input::command(&command)?;
    if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return None;
    }
    let description = prompt["description"].as_str().or(prompt["title"].as_str()).unwrap_or_default().to_owned();
    Some(ServerPrompt {
        command: command.trim_start_matches('/').to_owned(),
        description,
        hint: server_input::hint(prompt),
    })
}

/// Asks a server for what is wanted of it. An error continues a sentence that names what is wanted.
async fn given(servers: Option<&Arc<Servers>>, wanted: &Wanted) -> Result<Given, String> {
    let unknown = || "cannot be had: the session has no such server".to_owned();
    let failed = |failure| format!("cannot be had: {failure}");
    match wanted {
        Wanted::Prompt { server, prompt, words } => {
            let servers = servers.filter(|servers| servers.has(server)).ok_or_else(unknown)?;
            let listed = servers.prompts_of(server).await.map_err(failed)?;
            let declared = listed.iter().find(|listed| listed["name"] == **prompt);
            let declared = declared.ok_or_else(|| match listed.len() {
                0 => "does not exist: the server has no prompts".to_owned(),
                _ => format!("does not exist: the server has {}", names(&listed)),
            })?;
            let arguments = server_input::arguments(declared, words)?;
            let answer = servers.prompt(server, prompt, arguments).await.map_err(failed)?;
            Given::prompt(server, prompt, &answer)
        }
        Wanted::Resource { server, uri } => {
            let servers = servers.filter(|servers| servers.has(server)).ok_or_else(unknown)?;
            let answer = servers.read(server, uri, None).await.map_err(failed)?;
            Given::resource(server, uri, &answer.into())
        }
    }
}

/// The names of the first prompts of a server, and how many more there are.
fn names(listed: &[Value]) -> String {
    const SHOWN: usize = 10;
    let names = listed.iter().filter_map(|prompt| prompt["name"].as_str()).take(SHOWN);
    let names = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match listed.len().saturating_sub(SHOWN) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}
