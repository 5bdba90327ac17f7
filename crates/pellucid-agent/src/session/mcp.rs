//! A session and its MCP servers: when they start, when their tools are known, and what is known of them before.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Why;
use pellucid_mcp::servers::Servers;

use crate::mcp;
use crate::mcp::Attached;
use crate::mcp::KeptTools;
use crate::mcp::RequiredFailed;
use crate::session::Session;

impl Session {
    /// Starts the MCP servers of the configuration and waits for those that are required. A session whose servers were not
    /// started starts them when it begins to run.
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

    /// Starts the servers, unless they are started already.
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
            attached.keep_lists(&self.setup.sources.config);
            self.setup.gathered.facts.tools.mcp_tools = attached.tools();
            let failures = attached.servers.failures();
            self.leave_servers_out(&failures);
        }
    }

    /// Starts the servers, waits for all of them and takes their tools into the facts. Gives the servers that did not
    /// start.
    ///
    /// # Errors
    /// If a required server does not start.
    pub async fn connect_servers(&mut self) -> Result<Vec<String>, RequiredFailed> {
        self.start_servers().await?;
        if let Some(starting) = self.servers_starting() {
            starting.await;
        }
        self.learn_server_tools();
        let failures = self.servers.as_ref().map(|attached| attached.servers.failures()).unwrap_or_default();
        Ok(failures.into_iter().map(|(name, _)| name).collect())
    }

    /// Takes the tools that the servers listed last into the facts, and starts none. Gives the servers whose list was
    /// kept and those that have none that could be used.
    pub fn recall_server_tools(&mut self) -> (Vec<String>, Vec<String>) {
        let sources = &self.setup.sources;
        let KeptTools { tools, servers, missing } = KeptTools::read(&sources.config, &sources.env);
        self.setup.gathered.facts.tools.mcp_tools = tools;
        self.leave_servers_out(&missing);
        (servers, missing.into_iter().map(|(name, _)| name).collect())
    }

    /// Notes that the tools of all servers are left out, as the person asks. Gives the servers.
    pub fn pass_over_servers(&mut self) -> Vec<String> {
        let sources = &self.setup.sources;
        let names: Vec<String> = mcp::specs(&sources.config, &sources.env).into_iter().map(|spec| spec.name).collect();
        let why = "left out, as --mcp off asks for it; a session offers its tools";
        self.leave_servers_out(&names.iter().map(|name| (name.clone(), why.to_owned())).collect::<Vec<_>>());
        names
    }

    /// Notes that the model does not see the tools of these servers, and why.
    fn leave_servers_out(&mut self, servers: &[(String, String)]) {
        let omission = |(name, error): &(String, String)| Omission {
            slot: "tools".into(),
            what: format!("the MCP server {name}"),
            why: Why::Unusable { error: error.clone() },
        };
        self.notices.omit(servers.iter().map(omission));
    }

    /// Ends the MCP servers of this session.
    pub async fn end_servers(&mut self) {
        if let Some(attached) = self.servers.take() {
            attached.shut_down().await;
        }
    }
}
