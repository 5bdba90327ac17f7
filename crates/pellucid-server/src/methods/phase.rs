//! The phase of a thread's work: which phases the pack has, which one holds, and changing it. Methods of Pellucid's own.

use std::sync::Arc;

use pellucid_agent::phases::PhaseScope;
use pellucid_agent::phases::PhaseView;
use pellucid_agent::phases::SetPhaseError;
use pellucid_engine::reinject::phases::ChosenPhase;
use pellucid_engine::reinject::phases::PhaseSetting;
use serde::Deserialize;
use serde::Serialize;

use crate::rpc::RpcError;
use crate::server::Server;

/// The parameters of `thread/phase/read`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPhaseReadParams {
    pub thread_id: String,
}

/// The parameters of `thread/phase/set`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPhaseSetParams {
    pub thread_id: String,
    /// The name of the phase; `null` to set none.
    #[serde(deserialize_with = "Option::deserialize")]
    pub phase: Option<String>,
    /// What the phase is set for.
    #[serde(default)]
    pub scope: Scope,
}

/// The parameters of `thread/phase/next`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPhaseNextParams {
    pub thread_id: String,
    /// What the phase is set for.
    #[serde(default)]
    pub scope: Scope,
}

/// What a phase is set for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// The thread alone.
    #[default]
    Thread,
    /// Every thread in the workspace.
    Workspace,
}

/// The phases of a thread.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPhaseResponse {
    /// The name of the pack.
    pub pack: String,
    /// The phases of the pack in their order.
    pub phases: Vec<String>,
    /// The phase that holds from the next turn on; `null` if no setting names one.
    pub phase: Option<String>,
    /// The setting that chose the phase: `thread`, `workspace` or `config`.
    pub chosen_by: Option<&'static str>,
    /// What each setting says.
    pub settings: PhaseSettingsResponse,
    /// The real path of the workspace.
    pub workspace: Option<String>,
    /// Settings that have no effect, and why.
    pub problems: Vec<String>,
}

/// What each setting says of the phase.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseSettingsResponse {
    /// The phase that is set for the thread.
    pub thread: Option<String>,
    /// The phase that is set for the workspace.
    pub workspace: Option<String>,
    /// `phase` of the configuration.
    pub config: Option<String>,
}

/// Handles `thread/phase/read`: says which phase holds, and why.
pub async fn read(server: &Arc<Server>, params: ThreadPhaseReadParams) -> Result<ThreadPhaseResponse, RpcError> {
    Ok(response(server.loaded(&params.thread_id)?.phases.view()))
}

/// Handles `thread/phase/set`: sets the phase of a thread or of its workspace, or sets none.
pub async fn set(server: &Arc<Server>, params: ThreadPhaseSetParams) -> Result<ThreadPhaseResponse, RpcError> {
    let phases = &server.loaded(&params.thread_id)?.phases;
    let done = match &params.phase {
        Some(name) => phases.set(params.scope.of_session(), name),
        None => phases.clear(params.scope.of_session()),
    };
    done.map_err(|error| refused(&error))?;
    Ok(response(phases.view()))
}

/// Handles `thread/phase/next`: sets the phase after the one that holds.
pub async fn next(server: &Arc<Server>, params: ThreadPhaseNextParams) -> Result<ThreadPhaseResponse, RpcError> {
    let phases = &server.loaded(&params.thread_id)?.phases;
    phases.next(params.scope.of_session()).map_err(|error| refused(&error))?;
    Ok(response(phases.view()))
}

impl Scope {
    fn of_session(self) -> PhaseScope {
        match self {
            Self::Thread => PhaseScope::Session,
            Self::Workspace => PhaseScope::Workspace,
        }
    }
}

fn refused(error: &SetPhaseError) -> RpcError {
    match error {
        SetPhaseError::Unknown(_) | SetPhaseError::NoNext(_) => RpcError::invalid(error.to_string()),
        SetPhaseError::Write(_) => RpcError::internal(error.to_string()),
    }
}

fn response(view: PhaseView) -> ThreadPhaseResponse {
    let PhaseView { pack, phases, phase, session, workspace, config, workspace_path, problems } = view;
    let chosen_by = phase.as_ref().map(|phase| match phase.chosen_by {
        PhaseSetting::Session => "thread",
        setting => setting.word(),
    });
    ThreadPhaseResponse {
        pack,
        phases,
        phase: phase.map(|ChosenPhase { name, .. }| name),
        chosen_by,
        settings: PhaseSettingsResponse { thread: session, workspace, config },
        workspace: workspace_path,
        problems,
    }
}
