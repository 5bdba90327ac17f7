//! The keys of the client: one table of actions, from which dispatch, the sheet of keys, the documentation and the
//! tests are made.
//!
//! - `table`: every action with its name, its keys and its help
//! - `spelling`: keys as people write them in the configuration
//!
//! Not here: what an action does. That is in the part of the client that has the place of the action.

pub mod spelling;
pub mod table;

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fmt;

use crate::key::Key;
use crate::keymap::spelling::parse_key;
use crate::keymap::table::ACTIONS;
use crate::keymap::table::Action;
use crate::keymap::table::ActionRow;
use crate::keymap::table::Place;

/// Which key does what, in each place.
#[derive(Debug, Clone)]
pub struct Keymap {
    actions: HashMap<(Place, Key), Action>,
    keys: BTreeMap<Action, Vec<Key>>,
}

impl Default for Keymap {
    fn default() -> Self {
        Self::standard()
    }
}

impl Keymap {
    /// The keys of the table, unchanged.
    pub fn standard() -> Self {
        Self::with_keys(|row| row.keys.iter().filter_map(|key| parse_key(key).ok()).collect())
    }

    /// The keys of the table, except for actions that the configuration names. An action with an empty list has no key.
    ///
    /// # Errors
    ///
    /// For a name that is no action, a key that cannot be read, and a key that two actions of one place would have.
    pub fn with(changes: &BTreeMap<String, Vec<String>>) -> Result<Self, KeymapError> {
        let mut changed: BTreeMap<Action, Vec<Key>> = BTreeMap::new();
        for (name, keys) in changes {
            let row = ACTIONS.iter().find(|row| row.name == name);
            let row = row.ok_or_else(|| KeymapError::UnknownAction { name: name.clone() })?;
            let keys: Result<Vec<Key>, KeymapError> = keys
                .iter()
                .map(|key| {
                    parse_key(key).map_err(|why| KeymapError::UnknownKey { name: name.clone(), key: key.clone(), why })
                })
                .collect();
            changed.insert(row.action, keys?);
        }
        let map = Self::with_keys(|row| match changed.get(&row.action) {
            Some(keys) => keys.clone(),
            None => row.keys.iter().filter_map(|key| parse_key(key).ok()).collect(),
        });
        map.check()?;
        Ok(map)
    }

    fn with_keys(keys_of: impl Fn(&ActionRow) -> Vec<Key>) -> Self {
        let mut map = Self { actions: HashMap::new(), keys: BTreeMap::new() };
        for row in ACTIONS {
            let keys = keys_of(row);
            for key in &keys {
                map.actions.entry((row.place, *key)).or_insert(row.action);
            }
            map.keys.insert(row.action, keys);
        }
        map
    }

    /// Refuses a key with two meanings in one place.
    fn check(&self) -> Result<(), KeymapError> {
        let mut taken: HashMap<(Place, Key), &'static str> = HashMap::new();
        for row in ACTIONS {
            for key in self.keys(row.action) {
                if let Some(first) = taken.insert((row.place, *key), row.name) {
                    let key = key.to_string();
                    return Err(KeymapError::Conflict { key, first: first.to_owned(), second: row.name.to_owned() });
                }
            }
        }
        Ok(())
    }

    /// What a key does in a place.
    pub fn action(&self, place: Place, key: Key) -> Option<Action> {
        self.actions.get(&(place, key)).copied()
    }

    /// The keys of an action, the first one first.
    pub fn keys(&self, action: Action) -> &[Key] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }
}

/// Why the keys of the configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeymapError {
    /// No action has this name.
    UnknownAction {
        /// The name in the configuration.
        name: String,
    },
    /// The text names no key.
    UnknownKey {
        /// The name of the action.
        name: String,
        /// The key as it was written.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two actions of one place would have the same key.
    Conflict {
        /// The key as people write it.
        key: String,
        /// The action that has it first in the table.
        first: String,
        /// The other action.
        second: String,
    },
}

impl fmt::Display for KeymapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAction { name } => write!(f, "no action is called `{name}`; /keymap lists the actions"),
            Self::UnknownKey { name, key, why } => write!(f, "`{key}`, given for `{name}`, is not a key: {why}"),
            Self::Conflict { key, first, second } => {
                write!(f, "`{key}` would be the key of both `{first}` and `{second}`")
            }
        }
    }
}

impl std::error::Error for KeymapError {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_of_the_table_can_be_read_and_has_one_meaning_in_its_place() {
        let mut names = BTreeSet::new();
        for row in ACTIONS {
            assert!(names.insert(row.name), "{} twice", row.name);
            for key in row.keys {
                let read = parse_key(key).unwrap_or_else(|why| panic!("{}: {key}: {why}", row.name));
                assert_eq!(read.to_string(), *key, "{}", row.name);
            }
        }
        assert_eq!(Keymap::standard().check(), Ok(()));
    }

    #[test]
    fn an_action_takes_the_keys_of_the_configuration() {
        let changes = BTreeMap::from([("composer.undo".to_owned(), vec!["f2".to_owned()])]);
        let map = Keymap::with(&changes).unwrap();
        assert_eq!(map.action(Place::Composer, parse_key("f2").unwrap()), Some(Action::Undo));
        assert_eq!(map.action(Place::Composer, parse_key("ctrl-_").unwrap()), None);
    }

    #[track_caller]
    fn check_refused(name: &str, key: &str, message: &str) {
        let changes = BTreeMap::from([(name.to_owned(), vec![key.to_owned()])]);
        assert_eq!(Keymap::with(&changes).unwrap_err().to_string(), message);
    }

    #[test]
    fn a_configuration_that_cannot_hold_is_refused_by_name() {
        check_refused("composer.fly", "f2", "no action is called `composer.fly`; /keymap lists the actions");
        check_refused(
            "composer.undo",
            "hyper-x",
            "`hyper-x`, given for `composer.undo`, is not a key: `hyper` is neither ctrl, alt nor shift",
        );
        check_refused(
            "composer.undo",
            "ctrl-a",
            "`ctrl-a` would be the key of both `composer.undo` and `composer.line-start`",
        );
    }
}
