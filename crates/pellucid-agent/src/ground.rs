//! What all sessions of the process share: home folder, environment, command-line overrides.

use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_config::ConfigError;
use pellucid_config::Env;
use pellucid_config::HarnessOverrides;
use pellucid_config::LoadOptions;
use pellucid_config::Override;
use pellucid_model::Script;
use pellucid_model::Transport;
use pellucid_protocol::event::RawItems;
use pellucid_rules::PolicyError;
use pellucid_workspace::pack_files::PackFilesError;

use crate::child::StartedBy;
use crate::crew::Crew;
use crate::identity::ClientIdentity;
use crate::open::SessionModel;
use crate::open::SessionPlan;
use crate::rules;
use crate::shelf::Shelf;

/// What all sessions of the process share.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The home folder with the user's files.
    pub home: PathBuf,
    /// The environment variables that configuration may refer to.
    pub env: Env,
    /// The folder in which the process was started.
    pub cwd: PathBuf,
    /// The `-c key=value` overrides of the command line.
    pub overrides: Vec<Override>,
    /// The script of the embedded model, if it answers instead of a provider.
    pub script: Option<Script>,
}

impl Ground {
    /// The configuration for a folder (by default the process's), with a request's values on top; and how it was read.
    ///
    /// # Errors
    /// If a file cannot be used.
    pub fn config(
        &self,
        cwd: Option<&Path>,
        overrides: Vec<Override>,
        harness: HarnessOverrides,
    ) -> Result<(Config, LoadOptions), ConfigError> {
        let cwd = cwd.map_or_else(|| self.cwd.clone(), |cwd| pellucid_files::normal(&self.cwd.join(cwd)));
        let mut options = LoadOptions::new(cwd, self.home.clone(), self.env.clone());
        options.overrides = self.overrides.iter().cloned().chain(overrides).collect();
        options.harness = harness;
        Ok((pellucid_config::load(&options)?, options))
    }

    /// What a session of a client is opened with: under this configuration, which was read in this way. Rules of the user
    /// that cannot be used are left out.
    ///
    /// # Errors
    /// If the administrator's rules or the pack cannot be used.
    pub fn plan(
        &self,
        (config, options): (Config, LoadOptions),
        shared: SharedParts<'_>,
        client: &'static str,
    ) -> Result<SessionPlan, PlanError> {
        let policy = rules::load_lenient(&config)?;
        let pack = shared.shelf.pack(&config.prompt.pack, &config.folders.home)?;
        let catalogue = Some(shared.shelf.catalogue(&config.folders.home));
        let env = self.env.clone();
        let asked = match &self.script {
            Some(script) => SessionModel::scripted(script.clone()),
            None => SessionModel::over_http(&config, &env, shared.transport.clone()),
        };
        let identity = shared.identity.cloned().unwrap_or_else(|| ClientIdentity::new(client, &env));
        Ok(SessionPlan {
            config: shared.shelf.config(config),
            env,
            policy,
            pack,
            asked,
            identity,
            origin: StartedBy::Client(client),
            dynamic_tools: Vec::new(),
            raw_items: RawItems::Hidden,
            crew: Crew::new(options),
            catalogue,
            project_at: None,
            frames: shared.shelf.frames().clone(),
        })
    }
}

/// What the sessions of a process have in common while it runs.
#[derive(Debug, Clone, Copy)]
pub struct SharedParts<'a> {
    /// Packs and the model catalogue.
    pub shelf: &'a Shelf,
    /// The transport to model providers, with its open connections.
    pub transport: &'a Transport,
    /// How sessions identify themselves to providers, if the client said who it is.
    pub identity: Option<&'a ClientIdentity>,
}

/// Why there is no plan for a session.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The administrator's rules cannot be used.
    #[error(transparent)]
    Rules(#[from] PolicyError),
    /// The pack cannot be used.
    #[error(transparent)]
    Pack(#[from] PackFilesError),
}
