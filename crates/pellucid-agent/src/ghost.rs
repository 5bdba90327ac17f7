//! Snapshots of the work tree before each turn, and going back to the last one.
//!
//! Only with the feature `undo`. A snapshot is made beside the turn; calls that may change
//! something wait for it. Which snapshots there are, and which were gone back to, is in the session's file,
//! so a session that is resumed can go back as far as before.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use pellucid_config::config::SnapshotSettings;
use pellucid_engine::fragment::Origin;
use pellucid_engine::transcript::Transcript;
use pellucid_git::Git;
use pellucid_git::GitError;
use pellucid_git::ghost;
use pellucid_git::ghost::Ghost;
use pellucid_git::ghost::GhostLimits;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::item::GhostCommit;
use pellucid_protocol::item::Item;
use pellucid_store::opened;
use pellucid_tasks::Task;
use pellucid_tools::desk::Desk;
use pellucid_tools::desk::FromTool;

use crate::door::ClientGone;
use crate::door::Inside;
use crate::session::Session;
use crate::session::Setup;

/// After so long people hear that the snapshot is still being made.
const PATIENCE: Duration = Duration::from_secs(240);

/// So many files and folders that a snapshot leaves out are named.
const NAMED: usize = 3;

/// How much of a commit's name is shown.
const SHORT: usize = 7;

/// What is made a snapshot of.
#[derive(Debug, Clone)]
pub(crate) struct GhostPlan {
    git: Git,
    cwd: PathBuf,
    limits: GhostLimits,
    warns: bool,
}

impl GhostPlan {
    /// Of the working folder, whatever the features are.
    fn of(setup: &Setup) -> Self {
        let SnapshotSettings { large_file_bytes, large_folder_files, disable_warnings } =
            setup.sources.config.tools.snapshots;
        Self {
            git: setup.sources.git.clone(),
            cwd: setup.gathered.facts.settings.cwd.clone().into(),
            limits: GhostLimits {
                file_bytes: u64::try_from(large_file_bytes).ok().filter(|n| *n > 0),
                folder_files: usize::try_from(large_folder_files).ok().filter(|n| *n > 0),
            },
            warns: !disable_warnings,
        }
    }

    /// Makes the snapshot, and says what came of it.
    pub(crate) async fn make(self, desk: Desk) {
        let Self { git, cwd, limits, warns } = self;
        let own = git.clone();
        let mut making = Task::blocking("making a snapshot", move || ghost::create(&own, &cwd, limits));
        let made = match tokio::time::timeout(PATIENCE, &mut making).await {
            Ok(made) => made,
            Err(_) => {
                let message =
                    "the snapshot that undo needs is still being made, and calls that change something wait for it"
                        .to_owned();
                desk.tell(EventMessage::Warning { message }).await;
                making.await
            }
        };
        match made {
            Ok(Ok(ghost)) => {
                for message in warnings(&ghost).into_iter().filter(|_| warns) {
                    desk.tell(EventMessage::Warning { message }).await;
                }
                desk.say(FromTool::Snapshot(ghost.commit)).await;
            }
            Ok(Err(GitError::NoRepository(_))) => {}
            Ok(Err(error)) if is_lasting(&error) => {
                // Each turn would say the same.
                if git.is_first_complaint() {
                    let message = format!("undo has no snapshots in this session: {error}");
                    desk.tell(EventMessage::Warning { message }).await;
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "there is no snapshot to undo this turn"),
            Err(failed) => {
                let message = format!("undo has no snapshot of this turn: {failed}");
                desk.tell(EventMessage::Warning { message }).await;
            }
        }
    }
}

/// Whether an error will be the same in the next turn.
fn is_lasting(error: &GitError) -> bool {
    matches!(
        error,
        GitError::Unconfined(_)
            | GitError::Untrusted(_)
            | GitError::Appeared(_)
            | GitError::NoProgram
            | GitError::Unreadable { .. }
    )
}

/// What people should hear of what a snapshot leaves out.
fn warnings(ghost: &Ghost) -> Vec<String> {
    let named = |names: Vec<String>| {
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", names.into_iter().take(NAMED).collect::<Vec<_>>().join(", "))
    };
    let mut warnings = Vec::new();
    if !ghost.large_folders.is_empty() {
        let names = ghost.large_folders.iter().map(|(path, n_files)| format!("{path} ({n_files} files)")).collect();
        warnings.push(format!("undo leaves large untracked folders as they are: {}", named(names)));
    }
    if !ghost.large_files.is_empty() {
        let names = ghost.large_files.iter().map(|(path, size)| format!("{path} ({size} bytes)")).collect();
        warnings.push(format!("undo leaves large untracked files as they are: {}", named(names)));
    }
    warnings
}

impl Session {
    /// What a snapshot is made of before a turn, if one is.
    pub(crate) fn ghost_plan(&self) -> Option<GhostPlan> {
        let is_on = self.setup.gathered.facts.settings.features.is_on(Feature::Undo);
        is_on.then(|| GhostPlan::of(&self.setup))
    }

    /// Records a snapshot. The model never sees it.
    pub(crate) fn record_snapshot(&mut self, ghost_commit: GhostCommit) {
        self.record(&Item::GhostSnapshot { ghost_commit }, &Origin::Layout);
    }
}

/// The last snapshot of a history that is none of these.
pub(crate) fn last_snapshot(transcript: &Transcript, undone: &BTreeSet<String>) -> Option<GhostCommit> {
    let commits = transcript.snapshots().filter_map(|item| match item {
        Item::GhostSnapshot { ghost_commit } if !undone.contains(&ghost_commit.id) => Some(ghost_commit),
        _ => None,
    });
    commits.last()
}

/// Restores the files of the last snapshot, as a separate task.
pub(crate) async fn undo(session: &mut Session, id: &TurnId, inside: &Inside) -> Result<(), ClientGone> {
    session.record_due_context();
    let facts = &session.setup.gathered.facts;
    let started = EventMessage::TaskStarted {
        turn_id: id.clone(),
        model_context_window: facts.settings.model.effective_window(),
        collaboration_mode_kind: facts.settings.collaboration_mode.mode,
    };
    let message = Some("Undo in progress...".to_owned());
    for event in [started, EventMessage::UndoStarted { message }] {
        inside.events.send(&mut session.log, id.as_str(), event).await?;
    }
    let (success, message) = match session.conversation.last_snapshot() {
        None => (false, "No ghost snapshot available to undo.".to_owned()),
        Some(_) if opened::is_marked(&session.setup.sources.config.folders.home) => {
            (false, opened::FOREIGN_PATHS.to_owned())
        }
        Some(commit) => {
            let GhostPlan { git, cwd, limits, .. } = GhostPlan::of(&session.setup);
            let name = commit.id.clone();
            let short = name.get(..SHORT).unwrap_or(&name).to_owned();
            let restored = Task::blocking("undoing", move || ghost::restore(&git, &cwd, &commit, limits)).await;
            match restored.map_err(|error| error.to_string()).and_then(|done| done.map_err(|error| error.to_string())) {
                Ok(()) => {
                    session.conversation.note_undone(name);
                    (true, format!("Undo restored snapshot {short}."))
                }
                Err(error) => (false, format!("Failed to restore snapshot {short}: {error}")),
            }
        }
    };
    let completed = EventMessage::UndoCompleted { success, message: Some(message) };
    let over = EventMessage::TaskComplete { turn_id: id.clone(), last_agent_message: None };
    for event in [completed, over] {
        inside.events.send(&mut session.log, id.as_str(), event).await?;
    }
    session.end_task();
    Ok(())
}
