//! The phase of work of a session: which settings there are, which one holds, and how clients change them.
//!
//! Clients change a phase while the session runs, and commands of other processes do too. So nothing is kept in memory but
//! what no file may have: settings are read again before each input. A session and its clients share one [`Phases`].
//!
//! Not here: the prompts of phases (`pellucid_engine::reinject::phases`).

use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use pellucid_engine::reinject::phases::ChosenPhase;
use pellucid_engine::reinject::phases::NoNextPhase;
use pellucid_engine::reinject::phases::PhaseError;
use pellucid_engine::reinject::phases::PhaseNames;
use pellucid_engine::reinject::phases::PhaseSetting;
use pellucid_engine::reinject::phases::PhaseSettings;
use pellucid_store::phase::PhaseFile;
use pellucid_workspace::standing_files::workspace_root;
use serde::Serialize;

/// The phase settings of a session. Clones are the same settings.
#[derive(Debug, Clone, Default)]
pub struct Phases(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    names: PhaseNames,
    home: PathBuf,
    config: Option<String>,
    session: SessionPhase,
    workspace: Mutex<WorkspaceFile>,
}

/// Where the phase of the session is kept.
#[derive(Debug)]
enum SessionPhase {
    /// Beside the session's file.
    File(PhaseFile),
    /// In memory, because nothing is written for the session.
    Memory(Mutex<Option<String>>),
}

impl Default for SessionPhase {
    fn default() -> Self {
        Self::Memory(Mutex::default())
    }
}

/// The file of the workspace that a folder belongs to.
#[derive(Debug, Default)]
struct WorkspaceFile {
    folder: PathBuf,
    file: Option<PhaseFile>,
}

/// The scope of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseScope {
    /// The session alone.
    Session,
    /// Every session in the workspace.
    Workspace,
}

/// The phases of a session for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseView {
    /// The name of the pack.
    pub pack: String,
    /// The phases of the pack in their order.
    pub phases: Vec<String>,
    /// The phase that holds, and the setting that chose it; `null` if no setting names one.
    pub phase: Option<ChosenPhase>,
    /// The phase that is set for the session.
    pub session: Option<String>,
    /// The phase that is set for the workspace.
    pub workspace: Option<String>,
    /// `phase` of the configuration.
    pub config: Option<String>,
    /// The real path of the workspace.
    pub workspace_path: Option<String>,
    /// Settings that have no effect, and why.
    pub problems: Vec<String>,
}

/// Why a phase is not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetPhaseError {
    /// The pack has no such phase.
    #[error(transparent)]
    Unknown(#[from] PhaseError),
    /// There is no next phase.
    #[error(transparent)]
    NoNext(#[from] NoNextPhase),
    /// The setting cannot be written.
    #[error("the phase cannot be kept: {0}")]
    Write(#[from] io::Error),
}

/// What a session is, as far as its phases depend on it.
#[derive(Debug)]
pub struct PhaseOwner<'a> {
    /// The phases of the pack.
    pub names: PhaseNames,
    /// The home folder.
    pub home: &'a Path,
    /// `phase` of the configuration.
    pub config: Option<String>,
    /// The folder that the session works in.
    pub cwd: &'a Path,
}

impl Phases {
    /// The settings of a session that has a file.
    pub fn kept(owner: PhaseOwner<'_>, session: &str) -> Self {
        let file = PhaseFile::of_session(owner.home, session);
        Self::of(owner, SessionPhase::File(file))
    }

    /// The settings of a session for which nothing is written, or of no session at all.
    pub fn held(owner: PhaseOwner<'_>, phase: Option<String>) -> Self {
        Self::of(owner, SessionPhase::Memory(Mutex::new(phase)))
    }

    fn of(owner: PhaseOwner<'_>, session: SessionPhase) -> Self {
        let PhaseOwner { names, home, config, cwd } = owner;
        let phases =
            Self(Arc::new(Shared { names, home: home.to_owned(), config, session, workspace: Mutex::default() }));
        phases.enter(cwd);
        phases
    }

    /// Has the settings be those of the workspace that a folder belongs to.
    pub(crate) fn enter(&self, cwd: &Path) {
        let mut workspace = self.workspace();
        if workspace.folder != cwd {
            // A folder that does not exist has no settings.
            let file = PhaseFile::of_workspace(&self.0.home, workspace_root(cwd)).ok();
            *workspace = WorkspaceFile { folder: cwd.to_owned(), file };
        }
    }

    /// A copy that changes nothing of these settings, for a session that is only looked at.
    pub(crate) fn copied(&self) -> Self {
        let owner = PhaseOwner {
            names: self.0.names.clone(),
            home: &self.0.home,
            config: self.0.config.clone(),
            cwd: &self.workspace().folder,
        };
        Self::held(owner, self.of_session().ok().flatten())
    }

    /// The phases of the pack.
    pub fn names(&self) -> &PhaseNames {
        &self.0.names
    }

    /// The phase that is set for the session.
    ///
    /// # Errors
    /// The file with the setting cannot be used.
    pub fn of_session(&self) -> io::Result<Option<String>> {
        match &self.0.session {
            SessionPhase::File(file) => file.get(),
            SessionPhase::Memory(phase) => Ok(phase.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }

    /// The settings as they are now, and why some cannot be read.
    pub fn settings(&self) -> (PhaseSettings, Vec<String>) {
        let mut problems = Vec::new();
        let mut read = |what: &str, phase: io::Result<Option<String>>| {
            phase.unwrap_or_else(|error| {
                problems.push(format!("the phase of the {what} is not used: {error}"));
                None
            })
        };
        let session = read("session", self.of_session());
        let of_workspace = self.workspace().file.as_ref().map_or(Ok(None), PhaseFile::get);
        let workspace = read("workspace", of_workspace);
        (PhaseSettings { session, workspace, config: self.0.config.clone() }, problems)
    }

    /// The phases and settings for people and programs.
    pub fn view(&self) -> PhaseView {
        let (settings, mut problems) = self.settings();
        let phase = settings.chosen();
        if let Some(Err(error)) = phase.as_ref().map(|phase| self.0.names.check(&phase.name)) {
            problems.push(error.to_string());
        }
        PhaseView {
            pack: self.0.names.pack.clone(),
            phases: self.0.names.names.clone(),
            phase,
            session: settings.session,
            workspace: settings.workspace,
            config: settings.config,
            workspace_path: self.workspace().file.as_ref().and_then(|file| file.workspace().map(str::to_owned)),
            problems,
        }
    }

    /// Sets the phase.
    ///
    /// # Errors
    /// The pack has no such phase, or the setting cannot be written.
    pub fn set(&self, scope: PhaseScope, name: &str) -> Result<(), SetPhaseError> {
        self.0.names.check(name)?;
        Ok(self.put(scope, Some(name))?)
    }

    /// Sets the phase after the one that holds in the scope, and returns its name.
    ///
    /// # Errors
    /// There is no phase after it, or the setting cannot be written.
    pub fn next(&self, scope: PhaseScope) -> Result<String, SetPhaseError> {
        let (mut settings, _) = self.settings();
        if scope == PhaseScope::Workspace {
            // The phase of one session is not that of the others.
            settings.session = None;
        }
        let next = self.0.names.after(settings.chosen().as_ref().map(|phase| phase.name.as_str()))?;
        self.put(scope, Some(&next))?;
        Ok(next)
    }

    /// Sets no phase in the scope.
    ///
    /// # Errors
    /// The setting cannot be written.
    pub fn clear(&self, scope: PhaseScope) -> Result<(), SetPhaseError> {
        Ok(self.put(scope, None)?)
    }

    fn put(&self, scope: PhaseScope, phase: Option<&str>) -> io::Result<()> {
        let write = |file: &PhaseFile| match phase {
            Some(phase) => file.set(phase),
            None => file.clear().map(drop),
        };
        match (scope, &self.0.session) {
            (PhaseScope::Session, SessionPhase::File(file)) => write(file),
            (PhaseScope::Session, SessionPhase::Memory(kept)) => {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = phase.map(str::to_owned);
                Ok(())
            }
            (PhaseScope::Workspace, _) => match &self.workspace().file {
                Some(file) => write(file),
                None => Err(io::Error::new(io::ErrorKind::NotFound, "the folder of the workspace does not exist")),
            },
        }
    }

    fn workspace(&self) -> std::sync::MutexGuard<'_, WorkspaceFile> {
        self.0.workspace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PhaseView {
    /// The lines that people read: the phase that holds, the phases of the pack, and the settings.
    pub fn lines(&self) -> Vec<String> {
        let phase = match &self.phase {
            Some(ChosenPhase { name, chosen_by }) => format!("{name} ({})", chosen_by.text()),
            None => "none".to_owned(),
        };
        let names = self.phases.join(", ");
        let phases = if names.is_empty() { format!("none in the pack {}", self.pack) } else { names };
        let mut lines = vec![format!("phase      {phase}"), format!("phases     {phases}")];
        let settings = [
            (PhaseSetting::Session, &self.session, ""),
            (PhaseSetting::Workspace, &self.workspace, self.workspace_path.as_deref().unwrap_or_default()),
            (PhaseSetting::Config, &self.config, ""),
        ];
        for (setting, name, of) in settings {
            if let Some(name) = name {
                lines.push(format!("{:10} {name}  {of}", setting.word()).trim_end().to_owned());
            }
        }
        lines.extend(self.problems.iter().map(|problem| format!("problem    {problem}")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use pellucid_testkit::Workspace;

    use super::*;

    struct World {
        files: Workspace,
    }

    impl World {
        fn new() -> Self {
            let files = Workspace::empty();
            ["home", "work/.git", "work/sub", "other"].iter().for_each(|folder| {
                files.folder(folder);
            });
            Self { files }
        }

        fn phases(&self, session: &str, cwd: &str, config: Option<&str>) -> Phases {
            let names = ["plan", "build", "check"].iter().map(|&name| name.to_owned()).collect();
            let owner = PhaseOwner {
                names: PhaseNames { pack: "p".to_owned(), names },
                home: &self.files.path("home"),
                config: config.map(str::to_owned),
                cwd: &self.files.path(cwd),
            };
            if session.is_empty() { Phases::held(owner, None) } else { Phases::kept(owner, session) }
        }
    }

    fn chosen(phases: &Phases) -> String {
        phases.view().phase.map_or_else(String::new, |it| format!("{} {}", it.name, it.chosen_by.word()))
    }

    #[test]
    fn sessions_of_a_workspace_share_its_phase_and_have_their_own() {
        let world = World::new();
        let one = world.phases("one", "work", Some("check"));
        let two = world.phases("two", "work/sub", None);
        let elsewhere = world.phases("three", "other", None);
        assert_eq!((chosen(&one), chosen(&two)), ("check config".to_owned(), String::new()));
        one.set(PhaseScope::Workspace, "plan").unwrap();
        assert_eq!((chosen(&one), chosen(&two)), ("plan workspace".to_owned(), "plan workspace".to_owned()));
        one.set(PhaseScope::Session, "build").unwrap();
        assert_eq!((chosen(&one), chosen(&two)), ("build session".to_owned(), "plan workspace".to_owned()));
        assert_eq!(chosen(&elsewhere), "");
        assert_eq!(chosen(&world.phases("one", "other", None)), "build session", "another process has it too");
        one.clear(PhaseScope::Session).unwrap();
        one.clear(PhaseScope::Workspace).unwrap();
        assert_eq!(chosen(&one), "check config");
    }

    #[test]
    fn what_is_not_written_is_held_and_a_copy_changes_nothing() {
        let world = World::new();
        let held = world.phases("", "work", None);
        held.set(PhaseScope::Session, "build").unwrap();
        let copy = held.copied();
        copy.clear(PhaseScope::Session).unwrap();
        assert_eq!((chosen(&held), chosen(&copy)), ("build session".to_owned(), String::new()));
        assert!(!world.files.path("home/session_state").exists());
    }

    #[test]
    fn the_next_phase_follows_the_one_that_holds_in_the_scope() {
        let world = World::new();
        let phases = world.phases("one", "work", None);
        let next = |scope| phases.next(scope).unwrap_or_else(|error| error.to_string());
        assert_eq!(next(PhaseScope::Workspace), "plan");
        assert_eq!(next(PhaseScope::Session), "build");
        assert_eq!(next(PhaseScope::Session), "check");
        assert_eq!(next(PhaseScope::Session), "`check` is the last phase");
        assert_eq!(next(PhaseScope::Workspace), "build", "the session's phase is not the workspace's");
        let unknown = phases.set(PhaseScope::Session, "rest").unwrap_err().to_string();
        assert_eq!(unknown, "phase `rest`: the pack `p` knows plan, build, check");
    }

    #[test]
    fn a_setting_that_cannot_be_used_is_reported_and_the_next_one_holds() {
        let world = World::new();
        let phases = world.phases("one", "work", Some("rest"));
        world.files.write("home/session_state/one.phase.json", "{");
        let view = phases.view();
        assert_eq!(view.phase.as_ref().map(|it| it.name.as_str()), Some("rest"));
        assert!(view.problems[0].starts_with("the phase of the session is not used: "), "{view:?}");
        assert_eq!(view.problems[1], "phase `rest`: the pack `p` knows plan, build, check");
        let shown = view.lines();
        assert_eq!(
            shown[..3],
            ["phase      rest (`phase` of the configuration)", "phases     plan, build, check", "config     rest"]
        );
        assert_eq!(shown.len(), 5);
    }
}
