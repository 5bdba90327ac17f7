//! What stays between the calls of a session: rules, grants, the sandbox.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use pellucid_engine::approval::grants::Grants;
use pellucid_engine::approval::rules::Rules;

use crate::desk::Desk;
use crate::situation::Situation;

/// What stays between the calls of a session.
#[derive(Debug, Default)]
pub struct Toolbox {
    rules: Mutex<Arc<Rules>>,
    grants: Mutex<Grants>,
}

impl Toolbox {
    /// For a session under these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules: Mutex::new(Arc::new(rules)), grants: Mutex::default() }
    }

    /// The rules that hold now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        locked(&self.rules).clone()
    }

    /// What a person allowed for the session.
    pub(crate) fn grants(&self) -> MutexGuard<'_, Grants> {
        locked(&self.grants)
    }

    /// A command behind the sandbox.
    pub(crate) fn confine(&self, argv: &[String], _cwd: &Path, _situation: &Situation) -> Result<Vec<String>, String> {
        Ok(argv.to_vec())
    }

    /// Saves a prefix that a person allowed for good.
    pub(crate) async fn amend(&self, _desk: &Desk, _prefix: Vec<String>) {}
}

/// What is behind a lock. A panic while it was held left nothing half done: every change is one step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
