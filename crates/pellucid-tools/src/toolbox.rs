//! What stays between the calls of a session: rules, grants, terminals, the sandbox, what patches did.

use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_engine::approval::grants::Grants;
use pellucid_engine::approval::rules::Rules;
use pellucid_exec::sandbox::Protection;
use pellucid_exec::sandbox::Sandbox;
use pellucid_exec::sandbox::protected;
use pellucid_exec::terminal::Terminals;
use pellucid_patch::diff::TurnDiff;

use crate::desk::Desk;
use crate::login::Login;
use crate::situation::Situation;

/// What stays between the calls of a session.
#[derive(Debug)]
pub struct Toolbox {
    /// The terminals that are open.
    pub terminals: Arc<Terminals>,
    rules: Mutex<Arc<Rules>>,
    grants: Mutex<Grants>,
    sandbox: Sandbox,
    protection: Protection,
    diff: Mutex<TurnDiff>,
    login: Login,
}

impl Toolbox {
    /// For a session under these rules.
    pub fn new(rules: Rules, sandbox: Sandbox, protection: Protection) -> Self {
        Self {
            terminals: Arc::default(),
            rules: Mutex::new(Arc::new(rules)),
            grants: Mutex::default(),
            sandbox,
            protection,
            diff: Mutex::default(),
            login: Login::default(),
        }
    }

    /// A new turn begins: what patches did before does not belong to it.
    pub fn begin_turn(&self) {
        *self.diff() = TurnDiff::default();
    }

    /// What the patches of this turn changed so far, if they changed something. Reads the disk.
    pub fn turn_diff(&self) -> Option<String> {
        self.diff().unified_on_disk()
    }

    /// The rules that hold now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        locked(&self.rules).clone()
    }

    /// What a person allowed for the session.
    pub(crate) fn grants(&self) -> MutexGuard<'_, Grants> {
        locked(&self.grants)
    }

    /// What the patches of this turn touched.
    pub(crate) fn diff(&self) -> MutexGuard<'_, TurnDiff> {
        locked(&self.diff)
    }

    /// What may not be written below a writable root.
    pub(crate) fn protected(&self, root: &PathBuf) -> Vec<PathBuf> {
        match self.protection {
            Protection::On => protected::paths(std::slice::from_ref(root)),
            Protection::Off => Vec::new(),
        }
    }

    /// Whether the login shell's setup was written down.
    pub fn has_login_snapshot(&self) -> bool {
        self.login.is_ready()
    }

    /// A command with the login shell's setup, if it asks for that and it is known.
    pub(crate) fn with_login(&self, argv: &[String], cwd: &Path, situation: &Situation) -> Vec<String> {
        self.login.wrap(argv, cwd, situation)
    }

    /// A command behind the sandbox.
    pub(crate) fn confine(&self, argv: &[String], cwd: &Path, situation: &Situation) -> Result<Vec<String>, String> {
        let policy = &situation.sandbox_policy;
        let confinement = self.sandbox.confinement(policy, &situation.writable_roots, self.protection);
        let argv = argv.iter().map(OsString::from).collect();
        let confined = confinement.and_then(|confinement| confinement.wrap(argv, cwd));
        let confined = confined.map_err(|error| error.to_string())?;
        let texts = confined.into_iter().map(OsString::into_string).collect::<Result<Vec<_>, _>>();
        texts.map_err(|word| format!("a path of the sandbox is no text: {}", word.to_string_lossy()))
    }

    /// Saves a prefix that a person allowed for good.
    pub(crate) async fn amend(&self, _desk: &Desk, _prefix: Vec<String>) {}
}

/// What is behind a lock. A panic while it was held left nothing half done: every change is one step.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
