//! Rules about commands: in which folders of a configuration they lie.

use pellucid_config::Config;
use pellucid_config::layers::Layer;
use pellucid_config::layers::LayerSource;
use pellucid_config::layers::Trust;
use pellucid_rules::Policy;
use pellucid_rules::PolicyError;
use pellucid_rules::RulesFolder;
use pellucid_rules::RulesTrust;

/// Reads all rules that count under a configuration, the administrator's included.
pub fn load(config: &Config) -> Result<Policy, PolicyError> {
    let folders: Vec<_> = config.layers().iter().filter_map(folder).collect();
    pellucid_rules::load(&folders, config.requirements.rules.as_ref())
}

/// The same for those who go on when the user's files cannot be used: then the administrator's rules alone count,
/// and why is in the log.
///
/// # Errors
/// When the administrator's cannot be used either.
pub fn load_lenient(config: &Config) -> Result<Policy, PolicyError> {
    load(config).or_else(|error| {
        tracing::warn!(%error, "rules about commands are not used");
        pellucid_rules::load_required(config.requirements.rules.as_ref())
    })
}

fn folder(layer: &Layer) -> Option<RulesFolder> {
    let has_rules = matches!(layer.source, LayerSource::System | LayerSource::User | LayerSource::Project);
    if !has_rules || !layer.is_enabled() {
        return None;
    }
    let standing = match layer.trust() {
        Trust::Given => RulesTrust::Trusted,
        Trust::NotGiven => RulesTrust::Untrusted,
    };
    Some(RulesFolder { path: layer.folder()?.to_owned(), standing })
}
