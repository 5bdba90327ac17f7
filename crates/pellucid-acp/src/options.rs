//! What a user may choose for a session: mode, model, effort, pack, network. Values in, values out.
//!
//! A choice counts from the next turn on. Modes that an administrator does not allow are not offered.

use agent_client_protocol::v1::schema::Error;
use agent_client_protocol::v1::schema::SessionConfigOption;
use agent_client_protocol::v1::schema::SessionConfigOptionCategory;
use agent_client_protocol::v1::schema::SessionConfigOptionValue;
use agent_client_protocol::v1::schema::SessionConfigSelectOption;
use agent_client_protocol::v1::schema::SessionMode;
use agent_client_protocol::v1::schema::SessionModeState;
use pellucid_config::requirements::Requirements;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::model::ModelVisibility;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::settings::SandboxMode;
use pellucid_protocol::settings::SandboxPolicy;

use crate::wire::invalid;

/// The ids of the options.
pub const MODE: &str = "mode";
const MODEL: &str = "model";
const EFFORT: &str = "effort";
const PACK: &str = "pack";
const NETWORK: &str = "network";

/// The id of the mode that the configuration describes, if no other does.
const CONFIGURED: &str = "configured";

/// A mode: when a person is asked, and what commands may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    id: &'static str,
    name: &'static str,
    description: String,
    approval: ApprovalPolicy,
    sandbox: SandboxMode,
}

/// The modes, from the strictest on.
fn modes() -> [Mode; 4] {
    let mode = |id, name, description: &str, approval, sandbox| Mode {
        id,
        name,
        description: description.to_owned(),
        approval,
        sandbox,
    };
    [
        mode(
            "read-only",
            "Read only",
            "Commands may read everything and write nothing; what needs more requires approval.",
            ApprovalPolicy::OnRequest,
            SandboxMode::ReadOnly,
        ),
        mode(
            "ask",
            "Ask",
            "Requires approval to edit files and to run any command that is not known to only read.",
            ApprovalPolicy::Untrusted,
            SandboxMode::WorkspaceWrite,
        ),
        mode(
            "workspace",
            "Workspace",
            "Commands and changes are confined to the workspace; what needs more requires approval.",
            ApprovalPolicy::OnRequest,
            SandboxMode::WorkspaceWrite,
        ),
        mode(
            "full-access",
            "Full access",
            "Commands run without a sandbox, and no approval is required.",
            ApprovalPolicy::Never,
            SandboxMode::DangerFullAccess,
        ),
    ]
}

/// What can be chosen in a session.
#[derive(Debug, Clone)]
pub struct Offer {
    modes: Vec<Mode>,
    models: Vec<ModelInfo>,
    packs: Vec<String>,
    /// Whether the client shows switches.
    has_switches: bool,
    /// The sandbox of the workspace, without the network.
    workspace: SandboxPolicy,
}

/// What is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    mode: String,
    /// The model's name in requests.
    pub model: String,
    /// The reasoning effort, if one is set.
    pub effort: Option<ReasoningEffort>,
    /// The name of the pack.
    pub pack: String,
    has_network: bool,
}

/// The settings that a session begins with.
#[derive(Debug)]
pub struct SessionStart<'a> {
    /// When a person is asked.
    pub approval: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox: &'a SandboxPolicy,
    /// The sandbox of the workspace, whatever sandbox the session begins with.
    pub workspace: SandboxPolicy,
    /// The model of the session.
    pub model: &'a ModelInfo,
    /// The reasoning effort, if one is set.
    pub effort: Option<ReasoningEffort>,
    /// The name of the pack.
    pub pack: &'a str,
}

/// What follows from a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The session's settings change.
    Settings(SettingsChange),
    /// The session continues with another pack.
    Pack(String),
    /// Nothing: it was chosen already.
    Nothing,
}

impl Offer {
    /// What can be chosen, and what is chosen when the session begins.
    pub fn new(
        beginning: SessionStart<'_>,
        requirements: &Requirements,
        models: &[ModelInfo],
        packs: Vec<String>,
        has_switches: bool,
    ) -> (Self, Choices) {
        let is_allowed = |mode: &Mode| {
            requirements.approval_policies.as_ref().is_none_or(|allowed| allowed.allows(mode.approval))
                && requirements.sandbox_modes.as_ref().is_none_or(|allowed| allowed.allows(mode.sandbox))
        };
        let mut modes: Vec<Mode> = modes().into_iter().filter(is_allowed).collect();
        let sandbox = mode_of(beginning.sandbox);
        let known = modes.iter().find(|mode| Some(mode.sandbox) == sandbox && mode.approval == beginning.approval);
        let mode = known.map_or(CONFIGURED, |mode| mode.id).to_owned();
        if mode == CONFIGURED {
            let (approval, policy) = (beginning.approval, beginning.sandbox.as_str());
            let description = format!("As the configuration says: approval {approval}, sandbox {policy}.");
            let sandbox = sandbox.unwrap_or(SandboxMode::DangerFullAccess);
            modes.insert(0, Mode { id: CONFIGURED, name: "As configured", description, approval, sandbox });
        }
        let mut models: Vec<ModelInfo> =
            models.iter().filter(|model| model.visibility == ModelVisibility::List).cloned().collect();
        models.sort_by_key(|model| model.priority);
        if models.iter().all(|model| model.slug != beginning.model.slug) {
            models.insert(0, beginning.model.clone());
        }
        let packs = if packs.iter().any(|pack| pack == beginning.pack) {
            packs
        } else {
            [beginning.pack.to_owned()].into_iter().chain(packs).collect()
        };
        let choices = Choices {
            mode,
            model: beginning.model.slug.clone(),
            effort: beginning.effort,
            pack: beginning.pack.to_owned(),
            has_network: matches!(beginning.sandbox, SandboxPolicy::WorkspaceWrite { network_access: true, .. }),
        };
        (Self { modes, models, packs, has_switches, workspace: beginning.workspace }, choices)
    }

    fn mode(&self, id: &str) -> Result<&Mode, Error> {
        let known = || self.modes.iter().map(|mode| mode.id).collect::<Vec<_>>().join(", ");
        self.modes.iter().find(|mode| mode.id == id).ok_or_else(|| unknown(MODE, id, &known()))
    }

    fn model(&self, slug: &str) -> Option<&ModelInfo> {
        self.models.iter().find(|model| model.slug == slug)
    }

    fn efforts(&self, model: &str) -> Vec<ReasoningEffort> {
        let levels = self.model(model).map(|model| model.supported_reasoning_levels.as_slice()).unwrap_or_default();
        levels.iter().map(|level| level.effort).collect()
    }

    /// The sandbox of a mode.
    fn sandbox(&self, mode: &Mode, has_network: bool) -> SandboxPolicy {
        match mode.sandbox {
            SandboxMode::ReadOnly => SandboxPolicy::ReadOnly,
            SandboxMode::DangerFullAccess => SandboxPolicy::DangerFullAccess,
            SandboxMode::WorkspaceWrite => match self.workspace.clone() {
                SandboxPolicy::WorkspaceWrite { writable_roots, exclude_tmpdir_env_var, exclude_slash_tmp, .. } => {
                    SandboxPolicy::WorkspaceWrite {
                        writable_roots,
                        network_access: has_network,
                        exclude_tmpdir_env_var,
                        exclude_slash_tmp,
                    }
                }
                other => other,
            },
        }
    }

    /// Another pack is chosen.
    pub fn with_pack(&self, choices: &Choices, pack: &str) -> Choices {
        Choices { pack: pack.to_owned(), ..choices.clone() }
    }

    /// Chooses a value of an option. Gives what is chosen then, and what follows.
    ///
    /// # Errors
    /// If there is no such option, or it has no such value; the error names those that there are.
    pub fn choose(
        &self,
        choices: &Choices,
        option: &str,
        value: &SessionConfigOptionValue,
    ) -> Result<(Choices, Change), Error> {
        let mut chosen = choices.clone();
        let text = || match value {
            SessionConfigOptionValue::ValueId { value } => Ok(value.to_string()),
            _ => Err(invalid(format!("the option {option} takes one of its values, as a text"))),
        };
        let change = match option {
            MODE => {
                let mode = self.mode(&text()?)?;
                chosen.mode = mode.id.to_owned();
                self.permissions(&chosen)?
            }
            NETWORK => {
                let SessionConfigOptionValue::Boolean { value } = value else {
                    return Err(invalid("the option network takes true or false"));
                };
                chosen.has_network = *value;
                self.permissions(&chosen)?
            }
            MODEL => {
                let slug = text()?;
                if self.model(&slug).is_none() {
                    let known: Vec<&str> = self.models.iter().map(|model| model.slug.as_str()).collect();
                    return Err(unknown(MODEL, &slug, &known.join(", ")));
                }
                let efforts = self.efforts(&slug);
                let effort = chosen.effort.filter(|effort| efforts.contains(effort));
                let change = SettingsChange { model: Some(slug.clone()), ..SettingsChange::default() };
                let change = SettingsChange { effort: (effort != chosen.effort).then_some(effort), ..change };
                (chosen.model, chosen.effort) = (slug, effort);
                Change::Settings(change)
            }
            EFFORT => {
                let word = text()?;
                let efforts = self.efforts(&chosen.model);
                let effort = ReasoningEffort::from_word(&word).filter(|effort| efforts.contains(effort));
                let known = || efforts.iter().map(|effort| effort.as_str()).collect::<Vec<_>>().join(", ");
                let effort = effort.ok_or_else(|| unknown(EFFORT, &word, &known()))?;
                chosen.effort = Some(effort);
                Change::Settings(SettingsChange { effort: Some(Some(effort)), ..SettingsChange::default() })
            }
            PACK => {
                let pack = text()?;
                if !self.packs.contains(&pack) {
                    return Err(unknown(PACK, &pack, &self.packs.join(", ")));
                }
                chosen.pack.clone_from(&pack);
                Change::Pack(pack)
            }
            other => {
                let known = [MODE, MODEL, EFFORT, PACK, NETWORK].join(", ");
                return Err(invalid(format!("there is no option {other}; there are: {known}")));
            }
        };
        let change = if chosen == *choices { Change::Nothing } else { change };
        Ok((chosen, change))
    }

    fn permissions(&self, chosen: &Choices) -> Result<Change, Error> {
        let mode = self.mode(&chosen.mode)?;
        Ok(Change::Settings(SettingsChange {
            approval_policy: Some(mode.approval),
            sandbox_policy: Some(self.sandbox(mode, chosen.has_network)),
            ..SettingsChange::default()
        }))
    }

    /// The settings of what is chosen, for a session that is opened again.
    ///
    /// # Errors
    /// Never for choices of this offer.
    pub fn settings(&self, chosen: &Choices) -> Result<SettingsChange, Error> {
        let Change::Settings(permissions) = self.permissions(chosen)? else {
            return Ok(SettingsChange::default());
        };
        let effort = Some(chosen.effort).filter(Option::is_some);
        Ok(SettingsChange { model: Some(chosen.model.clone()), effort, ..permissions })
    }

    /// The options as clients show them.
    pub fn shown(&self, chosen: &Choices) -> Vec<SessionConfigOption> {
        let modes = self.modes.iter().map(|mode| {
            SessionConfigSelectOption::new(mode.id.to_owned(), mode.name.to_owned())
                .description(mode.description.clone())
        });
        let models = self.models.iter().map(|model| {
            SessionConfigSelectOption::new(model.slug.clone(), model.display_name.clone())
                .description(model.description.clone())
        });
        let packs = self.packs.iter().map(|pack| SessionConfigSelectOption::new(pack.clone(), pack.clone()));
        let mut options = vec![
            SessionConfigOption::select(MODE, "Mode", chosen.mode.clone(), modes.collect::<Vec<_>>())
                .description("What the agent may do without asking.".to_owned())
                .category(SessionConfigOptionCategory::Mode),
            SessionConfigOption::select(MODEL, "Model", chosen.model.clone(), models.collect::<Vec<_>>())
                .category(SessionConfigOptionCategory::Model),
        ];
        let model = self.model(&chosen.model);
        let levels = model.map(|model| model.supported_reasoning_levels.as_slice()).unwrap_or_default();
        let effort = chosen.effort.or_else(|| model?.default_reasoning_level);
        if let Some(effort) = effort.filter(|_| !levels.is_empty()) {
            let levels = levels.iter().map(|level| {
                SessionConfigSelectOption::new(level.effort.as_str().to_owned(), level.effort.as_str().to_owned())
                    .description(level.description.clone())
            });
            let option =
                SessionConfigOption::select(EFFORT, "Effort", effort.as_str().to_owned(), levels.collect::<Vec<_>>());
            let option = option.description("How much the model reasons before it answers.".to_owned());
            options.push(option.category(SessionConfigOptionCategory::ThoughtLevel));
        }
        let packs = SessionConfigOption::select(PACK, "Pack", chosen.pack.clone(), packs.collect::<Vec<_>>());
        options.push(packs.description("The texts and the order of what the model reads.".to_owned()));
        if self.has_switches {
            let network = SessionConfigOption::boolean(NETWORK, "Network", chosen.has_network);
            let counts = "Whether commands may use the network, in modes that confine commands to the workspace.";
            options.push(network.description(counts.to_owned()));
        }
        options
    }

    /// The modes, for clients without options.
    pub fn modes(&self, chosen: &Choices) -> SessionModeState {
        let modes = self.modes.iter().map(|mode| {
            SessionMode::new(mode.id.to_owned(), mode.name.to_owned()).description(mode.description.clone())
        });
        SessionModeState::new(chosen.mode.clone(), modes.collect())
    }
}

impl Choices {
    /// The id of the chosen mode.
    pub fn mode(&self) -> &str {
        &self.mode
    }
}

fn unknown(option: &str, value: &str, known: &str) -> Error {
    invalid(format!("the option {option} has no value {value}; it has: {known}"))
}

fn mode_of(policy: &SandboxPolicy) -> Option<SandboxMode> {
    match policy {
        SandboxPolicy::DangerFullAccess => Some(SandboxMode::DangerFullAccess),
        SandboxPolicy::ReadOnly => Some(SandboxMode::ReadOnly),
        SandboxPolicy::WorkspaceWrite { .. } => Some(SandboxMode::WorkspaceWrite),
        SandboxPolicy::ExternalSandbox { .. } => None,
    }
}
