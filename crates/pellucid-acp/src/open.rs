//! Opens sessions for the client: the configuration of a folder, with what the client brings along.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::McpServer as ClientServer;
use pellucid_agent::crew::Nursery;
use pellucid_agent::ground::Ground;
use pellucid_agent::ground::SharedParts;
use pellucid_agent::identity::ClientIdentity;
use pellucid_agent::open;
use pellucid_agent::open::Opening;
use pellucid_agent::replay;
use pellucid_agent::session::Session;
use pellucid_agent::shelf::Shelf;
use pellucid_config::Config;
use pellucid_config::HarnessOverrides;
use pellucid_config::LoadOptions;
use pellucid_config::Override;
use pellucid_config::mcp::McpServer;
use pellucid_config::mcp::McpTransport;
use pellucid_config::value::Data;
use pellucid_engine::pack::Pack;
use pellucid_model::Transport;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_workspace::pack_files;

use crate::options::Choices;
use crate::options::Offer;
use crate::options::SessionStart;
use crate::wire::failed;
use crate::wire::invalid;

/// The name of this client in session files. Lists show its sessions with those of editors.
pub const CLIENT: &str = "vscode";

/// What a client brings along for a session.
#[derive(Debug, Clone, Default)]
pub struct ClientPlace {
    /// The working directory.
    pub cwd: PathBuf,
    /// Further folders that commands may write in.
    pub folders: Vec<PathBuf>,
    /// MCP servers for this session.
    pub servers: Vec<ClientServer>,
}

impl ClientPlace {
    /// A place whose folders can be used.
    ///
    /// # Errors
    /// If a folder is not absolute, or the working directory is not there.
    pub fn new(cwd: PathBuf, folders: Vec<PathBuf>, servers: Vec<ClientServer>) -> Result<Self, Error> {
        for (name, folder) in [("cwd", &cwd)].into_iter().chain(folders.iter().map(|it| ("additionalDirectories", it)))
        {
            if !folder.is_absolute() {
                return Err(invalid(format!("{name} must be an absolute path, not `{}`", folder.display())));
            }
        }
        if !cwd.is_dir() {
            return Err(invalid(format!("cwd is no folder: {}", cwd.display())));
        }
        Ok(Self { cwd, folders, servers })
    }
}

/// What sessions are opened with.
#[derive(Debug, Clone)]
pub struct Opener {
    pub ground: Arc<Ground>,
    pub shelf: Arc<Shelf>,
    pub transport: Transport,
    pub identity: Option<ClientIdentity>,
    /// Whether the client shows switches.
    pub has_switches: bool,
    /// Whether the client shows addresses that MCP servers want opened.
    pub has_pages: bool,
}

/// A session that was opened and does not run yet.
#[derive(Debug)]
pub struct Opened {
    pub session: Session,
    pub offer: Offer,
    pub choices: Choices,
    /// What the client learns first.
    pub notes: Vec<String>,
}

impl Opener {
    /// The configuration of a folder, and how it was read.
    fn config(
        &self,
        place: &ClientPlace,
        pack: Option<&str>,
        sandbox_mode: Option<SandboxMode>,
    ) -> Result<(Config, LoadOptions), Error> {
        let overrides = pack.map(|pack| Override::new("pack", Data::String(pack.to_owned())));
        let harness = HarnessOverrides {
            additional_writable_roots: place.folders.clone(),
            sandbox_mode,
            ..HarnessOverrides::default()
        };
        let config = self.ground.config(Some(&place.cwd), overrides.into_iter().collect(), harness);
        config.map_err(|error| failed(format!("the configuration cannot be used: {}", error.report())))
    }

    /// Checks that a pack can be used in a folder.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check_pack(&self, place: &ClientPlace, pack: &str) -> Result<(), Error> {
        let (config, _) = self.config(place, Some(pack), None)?;
        let pack = self.shelf.pack(&config.prompt.pack, &config.folders.home);
        pack.map(drop).map_err(|error| failed(format!("the pack cannot be used: {error}")))
    }

    /// Opens a session, whose agents go to the nursery. It blocks while files are read.
    ///
    /// # Errors
    /// If the configuration, the pack or a file of the session cannot be used.
    pub fn open(
        &self,
        place: &ClientPlace,
        pack: Option<&str>,
        opening: Opening,
        nursery: Arc<dyn Nursery>,
    ) -> Result<Opened, Error> {
        let home = &self.ground.home;
        // What commands of a killed session made at protected names is moved aside before anything is read.
        let aside = pellucid_exec::sandbox::aside::recover(home);
        let mut notes: Vec<String> = aside.iter().map(ToString::to_string).collect();
        let (mut config, options) = self.config(place, pack, None)?;
        config.tools.mcp_pages = self.has_pages;
        notes.extend(config.noticed.warnings.iter().map(ToString::to_string));
        for server in &place.servers {
            let (name, server, note) = server_of(server)?;
            notes.extend(note);
            if config.add_server(&name, server) {
                notes.push(format!("the MCP server {name} of the client takes the place of the configured one"));
            }
        }
        let workspace = match &config.permissions.sandbox_policy {
            policy @ SandboxPolicy::WorkspaceWrite { .. } => policy.clone(),
            _ => self.config(place, pack, Some(SandboxMode::WorkspaceWrite))?.0.permissions.sandbox_policy,
        };
        let shared = SharedParts { shelf: &self.shelf, transport: &self.transport, identity: self.identity.as_ref() };
        let cannot = |error: &dyn std::fmt::Display| failed(format!("the session cannot be opened: {error}"));
        let plan = self.ground.plan((config, options), shared, CLIENT).map_err(|error| cannot(&error))?;
        plan.crew.set_nursery(nursery);
        let n_before = match &opening {
            Opening::Resumed { file, .. } => replay::n_requests(home, file, None),
            Opening::Forked { file, upto, .. } => replay::n_requests(home, file, Some(*upto)),
            Opening::New { .. } | Opening::History { .. } => Ok(0),
        };
        let n_before = n_before.map_err(|error| cannot(&error))?;
        let config = plan.config.clone();
        let catalogue = plan.catalogue.clone();
        let mut session = open::open(plan, opening).map_err(|error| cannot(&error))?;
        session.note_requests(n_before);
        session.context_events_switch().join();
        let facts = session.facts();
        let beginning = SessionStart {
            approval: facts.settings.approval_policy,
            sandbox: &facts.settings.sandbox_policy,
            workspace,
            model: &facts.settings.model,
            effort: facts.settings.effort,
            pack: &config.prompt.pack,
        };
        let models = catalogue.as_ref().map(|catalogue| catalogue.models()).unwrap_or_default();
        let (offer, choices) = Offer::new(beginning, &config.requirements, models, packs(home), self.has_switches);
        Ok(Opened { session, offer, choices, notes })
    }
}

/// The packs that can be chosen.
fn packs(home: &Path) -> Vec<String> {
    let own = pack_files::users(home).into_iter().map(|(name, _)| name);
    let built_in = Pack::builtin_names().into_iter().map(str::to_owned);
    let mut packs: Vec<String> = built_in.chain(own).collect();
    packs.dedup();
    packs
}

/// A server that a client brings, with its name. Names have letters, digits, `_` and `-` only; others are changed, and the
/// client learns that.
fn server_of(server: &ClientServer) -> Result<(String, McpServer, Option<String>), Error> {
    let (given, transport) = match server {
        ClientServer::Stdio(server) => {
            let env = server.env.iter().map(|it| (it.name.clone(), it.value.clone()));
            let transport = McpTransport::Stdio {
                command: server.command.to_string_lossy().into_owned(),
                args: server.args.clone(),
                env: env.collect(),
                env_vars: Vec::new(),
                cwd: None,
            };
            (&server.name, transport)
        }
        ClientServer::Http(server) => {
            let headers = server.headers.iter().map(|it| (it.name.clone(), it.value.clone()));
            let transport = McpTransport::Http {
                url: server.url.clone(),
                bearer_token_env_var: None,
                http_headers: headers.collect(),
                env_http_headers: BTreeMap::new(),
            };
            (&server.name, transport)
        }
        ClientServer::Sse(server) => {
            return Err(invalid(format!("mcpServers: {} is reached over SSE, which is not supported", server.name)));
        }
        _ => return Err(invalid("mcpServers: a server is reached in an unknown way")),
    };
    if given.is_empty() {
        return Err(invalid("mcpServers: a server has no name"));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = given.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let note = (name != *given).then(|| format!("the MCP server {given} is called {name} here"));
    Ok((name, McpServer::reached_by(transport), note))
}
