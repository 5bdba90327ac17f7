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
}
