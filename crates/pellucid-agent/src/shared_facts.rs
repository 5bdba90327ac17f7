//! Facts that are held together: by a session and its last turn, and by sessions of one process whose facts are equal.
//!
//! A change makes a separate copy first, so no holder sees the change of another.

use std::ops::Deref;
use std::ops::DerefMut;
use std::sync::Arc;

use pellucid_engine::facts::Facts;

/// Facts in memory that several values hold.
#[derive(Debug, Clone)]
pub struct SharedFacts(Arc<Facts>);

impl SharedFacts {
    /// The facts alone.
    pub fn into_facts(self) -> Facts {
        Arc::unwrap_or_clone(self.0)
    }

    /// Whether both are the same place in memory.
    pub(crate) fn is_held_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<Facts> for SharedFacts {
    fn from(facts: Facts) -> Self {
        Self(Arc::new(facts))
    }
}

impl PartialEq for SharedFacts {
    fn eq(&self, other: &Self) -> bool {
        self.is_held_with(other) || *self.0 == *other.0
    }
}

impl Deref for SharedFacts {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.0
    }
}

impl DerefMut for SharedFacts {
    fn deref_mut(&mut self) -> &mut Facts {
        Arc::make_mut(&mut self.0)
    }
}
