//! The point between reading bootstrap files and fitting them: handlers that may change the list.
//!
//! Handlers for the whole family of events run before those for this one, each group in the order in
//! which it was registered. One that fails is passed over. The session's filter is not applied
//! again afterwards: a handler may add what a session would not see by itself.

use std::fmt;

use super::BootstrapFile;

/// The events that a handler is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    /// Every event of agents.
    ToAgents,
    /// The handler is called for `agent:bootstrap`.
    ToBootstrap,
}

/// A function that changes the list of bootstrap files.
type Handler<'a> = dyn Fn(&mut Option<Vec<BootstrapFile>>) -> Result<(), String> + 'a;

/// A handler of an event.
pub struct Hook<'a> {
    /// The event that the handler is called for.
    pub listens: Listens,
    /// Changes the list, or returns an error. If the handler removes the list, the list from before is used.
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
