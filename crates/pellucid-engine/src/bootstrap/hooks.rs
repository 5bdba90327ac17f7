//! The point between reading bootstrap files and fitting them: handlers that may change the list.
//!
//! Handlers for the whole family of events run before those for this one, each group in the order in
//! which it was registered. One that fails is passed over. The session's filter is not applied
//! again afterwards: a handler may add what a session would not see by itself.

use std::fmt;

use super::BootstrapFile;

/// What a handler listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    /// Every event of agents.
    ToAgents,
    /// This one.
    ToBootstrap,
}

/// What a handler does with the list.
type Handler<'a> = dyn Fn(&mut Option<Vec<BootstrapFile>>) -> Result<(), String> + 'a;

/// A handler.
pub struct Hook<'a> {
    /// What it listens to.
    pub listens: Listens,
    /// Changes the list, or says why it cannot. Taking the list away leaves it as it was.
    pub run: Box<Handler<'a>>,
}

impl fmt::Debug for Hook<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").field("listens", &self.listens).finish_non_exhaustive()
    }
}

/// Runs the handlers and gives the list that they leave, with why some failed.
pub fn run_hooks(files: Vec<BootstrapFile>, hooks: &[Hook<'_>]) -> (Vec<BootstrapFile>, Vec<String>) {
    let mut list = Some(files.clone());
    let mut failures = Vec::new();
    for listens in [Listens::ToAgents, Listens::ToBootstrap] {
        for hook in hooks.iter().filter(|hook| hook.listens == listens) {
            failures.extend((hook.run)(&mut list).err());
        }
    }
    (list.unwrap_or(files), failures)
}
