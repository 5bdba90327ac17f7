//! What a new agent is made of: its parent in this turn, and its role.
//!
//! A role without configuration changes nothing. For a role with configuration, all of the configuration is read again
//! with the role's on top, so flags of the parent's command line do not hold; but no agent may touch more than its parent.

use std::path::PathBuf;
use std::sync::Arc;

use pellucid_config::Config;
use pellucid_config::HarnessOverrides;
use pellucid_config::LoadOptions;
use pellucid_config::Override;
use pellucid_config::config::Warning;
use pellucid_config::layers::LayerSource;
use pellucid_config::value::Data;
use pellucid_engine::assemble;
use pellucid_engine::facts;
use pellucid_engine::facts::Facts;
use pellucid_engine::facts::Provided;
use pellucid_engine::fragment::concat;
use pellucid_model::Transport;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;
use pellucid_tools::agents::AgentError;

use super::DEPTH_MAX;
use super::line::Parent;
use crate::child::StartedBy;
use crate::context_events::ContextEvents;
use crate::gather;
use crate::gather::FactSources;
use crate::gather::Gathered;
use crate::identity;
use crate::open::SessionModel;
use crate::session::Setup;

/// The role of an agent that was given none.
const DEFAULT_ROLE: &str = "default";

/// What the built-in role `explorer` sets: a quick model.
const EXPLORER: &[(&str, &str)] = &[("model", "gpt-5.1-codex-mini"), ("model_reasoning_effort", "medium")];

/// The configuration that a role brings.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Layer {
    File(PathBuf),
    Values(&'static [(&'static str, &'static str)]),
}

/// What a new agent in a role is made of.
pub(super) fn setup(parent: &Parent, role: Option<&str>, options: &LoadOptions) -> Result<Setup, AgentError> {
    let from = &parent.setup;
    let origin = StartedBy::Spawned { parent: from.session_id.clone(), depth: from.origin.depth() + 1 };
    let mut setup = Setup {
        session_id: identity::new_session_id(),
        model: from.model.beside(),
        notices: Vec::new(),
        context_events: ContextEvents::default(),
        crew: from.crew.lent(),
        ..from.clone()
    };
    match layer(&from.sources.config, role.unwrap_or(DEFAULT_ROLE))? {
        None => take_over(&mut setup, parent)?,
        Some(layer) => read_again(&mut setup, parent, options, &layer)?,
    }
    let facts = &mut setup.gathered.facts;
    facts.settings.approval_policy = ApprovalPolicy::Never;
    facts.tools.dynamic_tools = Vec::new();
    if origin.depth() >= DEPTH_MAX {
        facts.settings.features.set(Feature::MultiAgent, false);
    }
    setup.origin = origin;
    Ok(setup)
}

/// The configuration of a role, if it has some. The user's roles come before built-in ones.
fn layer(config: &Config, role: &str) -> Result<Option<Layer>, AgentError> {
    match (config.tools.agent_roles.get(role), role) {
        (Some(role), _) => Ok(role.config_file.clone().map(Layer::File)),
        (None, "explorer") => Ok(Some(Layer::Values(EXPLORER))),
        (None, DEFAULT_ROLE | "worker") => Ok(None),
        (None, unknown) => Err(AgentError::UnknownRole(unknown.to_owned())),
    }
}

/// The parent's settings in this turn, with documents and skills as they are now.
fn take_over(setup: &mut Setup, parent: &Parent) -> Result<(), AgentError> {
    let turn = &parent.setup.gathered;
    let folders = &mut Arc::make_mut(&mut setup.sources.config).folders;
    if folders.cwd.as_os_str() != turn.facts.settings.cwd.as_str() {
        folders.cwd = turn.facts.settings.cwd.clone().into();
        folders.work_tree = None;
    }
    let now = setup.gathered_now().map_err(|error| AgentError::Other(error.to_string()))?;
    let mut settings = turn.facts.settings.clone();
    settings.collaboration_mode = facts::default_mode(&settings.model.slug, settings.effort);
    setup.gathered = Gathered {
        facts: Facts { settings, tools: turn.facts.tools.clone(), ..now.facts.clone().into_facts() }.into(),
        model_match: turn.model_match,
        ..now
    };
    // An agent has its parent's instructions, also when those come from a model that was changed since.
    let own = assemble::assemble(&setup.pack, &setup.gathered.facts).instructions;
    if concat(&own) != parent.instructions {
        let place = format!("the session {}", parent.setup.session_id);
        let text = parent.instructions.clone();
        setup.gathered.facts.world.recorded_instructions = Some(Provided { place, text });
    }
    Ok(())
}

/// The configuration as it is now, with that of a role on top.
fn read_again(setup: &mut Setup, parent: &Parent, options: &LoadOptions, layer: &Layer) -> Result<(), AgentError> {
    let turn = &parent.setup.gathered.facts;
    let mut options = LoadOptions { cwd: turn.settings.cwd.clone().into(), ..options.clone() };
    options.harness = HarnessOverrides {
        profile: options.harness.profile.take(),
        features: std::mem::take(&mut options.harness.features),
        ..HarnessOverrides::default()
    };
    match layer {
        Layer::File(path) => options.role_file = Some(path.clone()),
        Layer::Values(values) => {
            let value = |(key, text): &(&str, &str)| Override::new(key, Data::String((*text).to_owned()));
            options.overrides.extend(values.iter().map(value));
        }
    }
    let mut config = pellucid_config::load(&options).map_err(|error| unusable(&error.report()))?;
    let of_role = |it: &&Warning| matches!(it, Warning::NotAccepted { place, .. } if place.source == LayerSource::Role);
    let not_accepted = config.noticed.warnings.iter().filter(of_role);
    setup.notices.extend(not_accepted.map(|warning| EventMessage::Warning { message: warning.to_string() }));
    let has_own_provider = layer.names(&config, "model_provider");
    if !has_own_provider && config.model.provider_id != setup.provider_id && !layer.names(&config, "model") {
        // The model belongs to the provider that the person chose for this session.
        config.model.slug = Some(turn.settings.model.slug.clone());
    }
    if has_own_provider && config.model.provider_id != setup.provider_id {
        // Another provider's requests are paid for by the same person.
        let budget = setup.model.budget().clone();
        let SessionModel { provider_id, provider, model } =
            SessionModel::over_http(&config, &options.env, Transport::default());
        (setup.provider_id, setup.provider, setup.model) = (provider_id, provider, model.within(budget));
    }
    setup.compact_prompt = config.prompt.compact_prompt.as_ref().map(gather::provided);
    let FactSources { env, policy, git, roots, .. } = &parent.setup.sources;
    setup.sources = FactSources::new(config, env.clone())
        .with_policy(policy.clone())
        .with_git(git.clone())
        .with_roots(roots.clone());
    setup.gathered = setup.gathered_now().map_err(|error| unusable(&error.to_string()))?;
    let facts = &mut setup.gathered.facts;
    if freedom(&turn.settings.sandbox_policy) < freedom(&facts.settings.sandbox_policy) {
        facts.settings.sandbox_policy = turn.settings.sandbox_policy.clone();
        facts.settings.writable_roots.clone_from(&turn.settings.writable_roots);
        facts.settings.web_search = turn.settings.web_search;
    }
    Ok(())
}

impl Layer {
    /// Whether the configuration of the role sets a key.
    fn names(&self, config: &Config, key: &str) -> bool {
        match self {
            Self::Values(values) => values.iter().any(|(name, _)| *name == key),
            Self::File(_) => {
                let layer = config.layers().iter().find(|layer| layer.source == LayerSource::Role);
                layer.is_some_and(|layer| layer.counting().at([key]).is_some())
            }
        }
    }
}

fn unusable(error: &str) -> AgentError {
    tracing::warn!(%error, "the configuration of a role cannot be used");
    AgentError::RoleUnusable
}

/// How much commands may touch, as an order.
fn freedom(policy: &SandboxPolicy) -> u8 {
    match policy {
        SandboxPolicy::ReadOnly => 0,
        SandboxPolicy::WorkspaceWrite { .. } => 1,
        SandboxPolicy::ExternalSandbox { .. } => 2,
        SandboxPolicy::DangerFullAccess => 3,
    }
}

#[cfg(test)]
mod tests {
    use pellucid_config::Env;
    use pellucid_config::SystemPaths;
    use pellucid_engine::tool_list::BUILT_IN_ROLES;

    use super::AgentError;
    use super::LoadOptions;
    use super::layer;

    #[test]
    fn every_role_that_the_model_reads_of_can_be_had() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = LoadOptions::new(folder.path(), folder.path(), Env::from_pairs([]));
        options.system = SystemPaths::in_folder(folder.path());
        let config = pellucid_config::load(&options).unwrap();
        let with_layer: Vec<&str> = BUILT_IN_ROLES
            .iter()
            .filter(|(role, _)| layer(&config, role).unwrap().is_some())
            .map(|(role, _)| *role)
            .collect();
        assert_eq!(with_layer, ["explorer"]);
        assert_eq!(layer(&config, "x"), Err(AgentError::UnknownRole("x".to_owned())));
    }
}
