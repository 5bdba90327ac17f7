//! What all sessions of the process share: home, environment, values of the command line.

use std::path::Path;
use std::path::PathBuf;

use pellucid_config::Config;
use pellucid_config::ConfigError;
use pellucid_config::Env;
use pellucid_config::HarnessOverrides;
use pellucid_config::LoadOptions;
use pellucid_config::Override;
use pellucid_model::Script;

/// What all sessions of the process share.
#[derive(Debug, Clone)]
pub struct Ground {
    /// Where the user's files are.
    pub home: PathBuf,
    /// The environment.
    pub env: Env,
    /// The folder in which the process was started.
    pub cwd: PathBuf,
    /// Values of the command line.
    pub overrides: Vec<Override>,
    /// The embedded model's script, if it answers instead of a server.
    pub script: Option<Script>,
}

impl Ground {
    /// The configuration for a folder, or for that of the process, with values of a request on top; and how it was
    /// read.
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
}
