//! A session and its MCP servers: when they start, and when their tools are known.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use pellucid_mcp::servers::Servers;

use crate::mcp::Attached;
use crate::mcp::RequiredFailed;
use crate::session::Session;

impl Session {
    /// Starts the MCP servers of the configuration and waits for those that are required. A session whose
    /// servers nobody starts does it when it begins to run.
    ///
    /// # Errors
    /// If a required server does not start.
    pub async fn start_servers(&mut self) -> Result<(), RequiredFailed> {
        self.begin_servers();
        match &self.servers {
            Some(servers) => servers.required().await,
            None => Ok(()),
        }
    }

    /// The MCP servers, once they were started: what they have to offer can be asked for while the session runs.
    pub fn servers(&self) -> Option<Arc<Servers>> {
        self.servers.as_ref().map(|attached| attached.servers.clone())
    }

    /// Starts the servers, unless they were.
    pub(crate) fn begin_servers(&mut self) {
        if self.servers.is_none() {
            let sources = &self.setup.sources;
            let started = Attached::start(&sources.config, &sources.env, self.jobs.desk());
            self.use_servers(started);
        }
    }

    /// Uses these servers from now on.
    pub(crate) fn use_servers(&mut self, servers: Option<Attached>) {
        if let Some(servers) = &servers {
            self.jobs.toolbox.use_servers(servers.for_calls());
        }
        self.servers = servers;
    }

    /// Until the servers have started; absent if there is nothing to wait for.
    pub(crate) fn servers_starting(&self) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let unknown = self.servers.as_ref().filter(|attached| !attached.are_known)?;
        Some(unknown.settled())
    }

    /// Takes the tools of the servers into the facts, if all have started.
    pub(crate) fn learn_server_tools(&mut self) {
        if let Some(attached) = &mut self.servers
            && !attached.are_known
            && attached.servers.is_settled()
        {
            attached.are_known = true;
            self.setup.gathered.facts.mcp_tools = attached.tools();
        }
    }

    /// Ends the servers.
    pub(crate) async fn end_servers(&mut self) {
        if let Some(attached) = self.servers.take() {
            attached.shut_down().await;
        }
    }
}
