//! A session and its MCP servers: when they start, when their tools are known, and what is known of them before.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_config::mcp::McpServer;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Why;
use pellucid_engine::mcp::ToolChange;
use pellucid_engine::notice;
use pellucid_mcp::servers::Servers;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::settings::SandboxPolicy;

use crate::gather;
use crate::mcp;
use crate::mcp::Attached;
use crate::mcp::KeptTools;
use crate::mcp::Owner;
use crate::mcp::RequiredFailed;
use crate::session::Session;

/// Gives a running session other MCP servers, which it uses from its next turn on.
#[derive(Debug, Clone, Default)]
pub struct ServerSwitch(Arc<Mutex<Option<BTreeMap<String, McpServer>>>>);

impl ServerSwitch {
    /// Uses these servers of a configuration, by name, from the next turn on.
    pub fn use_next(&self, servers: BTreeMap<String, McpServer>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(servers);
    }

    fn take(&self) -> Option<BTreeMap<String, McpServer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Session {
    /// Through this the session can be given other MCP servers while it runs.
    pub fn server_switch(&self) -> &ServerSwitch {
        &self.server_switch
    }

    /// Ends the servers and starts others, if the session was given others since its last turn. A session that shares the
    /// servers of another one keeps them.
    pub(crate) async fn exchange_servers(&mut self) {
        let Some(servers) = self.server_switch.take() else { return };
        let is_guest = self.servers.as_ref().is_some_and(|attached| attached.owner == Owner::Parent);
        if is_guest || self.setup.sources.config.tools.mcp_servers == servers {
            return;
        }
        self.end_servers().await;
        let config = Arc::make_mut(&mut self.setup.sources.config);
        config.tools.mcp_servers = servers;
        gather::exchange_servers(&mut self.setup.gathered.facts.tools, config);
        self.begin_servers();
    }

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
            let (rules, roots) = (&self.setup.pack.layout.given_tools, self.folders());
            let events = self.setup.context_events.clone();
            let started = Attached::start(&sources.config, &sources.env, rules, &roots, self.jobs.desk(), events);
            self.use_servers(started);
        }
    }

    /// The folders that the session works in: the one where it began, and those that it may write to besides.
    fn folders(&self) -> Vec<PathBuf> {
        let settings = &self.setup.gathered.facts.settings;
        let mut folders = vec![PathBuf::from(settings.cwd.as_str())];
        if let SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &settings.sandbox_policy {
            folders.extend(writable_roots.iter().cloned());
        }
        folders.dedup();
        folders
    }

    /// Uses these servers from now on.
    pub(crate) fn use_servers(&mut self, servers: Option<Attached>) {
        if let Some(servers) = &servers {
            self.jobs.toolbox.use_servers(servers.for_calls(&self.setup.telemetry));
        }
        self.servers = servers;
    }

    /// Until the servers have started; absent if there is nothing to wait for.
    pub(crate) fn servers_starting(&self) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        let unknown = self.servers.as_ref().filter(|attached| !attached.are_known())?;
        Some(unknown.settled())
    }

    /// Takes the tools of the servers into the facts, once all have started that a request waits for, and whenever servers
    /// offer other tools than before. A tool that is gone stays: a call of it says so.
    pub(crate) fn learn_server_tools(&mut self) {
        let Some(attached) = self.servers.as_mut().filter(|attached| attached.servers.is_settled()) else { return };
        attached.servers.refresh();
        let count = attached.servers.n_changes();
        let before = attached.known.replace(count);
        if before == Some(count) {
            return;
        }
        attached.keep_lists(&self.setup.sources.config);
        let (failures, left_out) = (attached.servers.failures(), attached.servers.left_out());
        let known = &mut self.setup.gathered.facts.tools.mcp_tools;
        let change = ToolChange::between(known, &attached.tools());
        if let Some(message) = change.message.filter(|_| before.is_some()) {
            self.notices.send(EventMessage::BackgroundEvent { message });
        }
        *known = change.tools.into();
        self.leave_servers_out(&failures);
        let omission = |(what, error)| Omission { slot: "tools".into(), what, why: Why::Unusable { error } };
        self.notices.omit_once(left_out.into_iter().map(omission));
    }

    /// Records for the model which resources have changed since they were read.
    pub(crate) fn record_changed_resources(&mut self) {
        let Some(attached) = self.servers.as_ref().filter(|attached| attached.owner == Owner::Session) else { return };
        for (server, uri) in attached.servers.take_changed_resources() {
            self.record_draft(&notice::resource_changed(&server, &uri));
        }
    }

    /// Starts the servers, waits for all of them and takes their tools into the facts. Gives the servers that did not
    /// start.
    ///
    /// # Errors
    /// If a required server does not start.
    pub async fn connect_servers(&mut self) -> Result<Vec<String>, RequiredFailed> {
        self.start_servers().await?;
        if let Some(attached) = &self.servers {
            attached.servers.all_settled().await;
        }
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
        self.notices.omit_once(servers.iter().map(omission));
    }

    /// Ends the MCP servers of this session.
    pub async fn end_servers(&mut self) {
        if let Some(attached) = self.servers.take() {
            attached.shut_down().await;
        }
    }
}
