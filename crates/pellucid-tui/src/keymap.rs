//! The keys of the client: one table of actions, from which dispatch, the sheet of keys, the documentation and the
//! tests are made.
//!
//! - `table`: every action with its name, its keys and its help
//! - `spelling`: keys as people write them in the configuration
//! - `changes`: the keys of the configuration, and what is wrong with them
//!
//! Not here: what an action does. That is in the part of the client that has the place of the action.

pub mod changes;
pub mod spelling;
pub mod table;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;

use crate::key::Key;
use crate::keymap::changes::Changed;
use crate::keymap::changes::KeyChange;
use crate::keymap::changes::KeymapProblem;
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
    changed: BTreeSet<Action>,
    problems: Vec<KeymapProblem>,
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

    /// The keys of the table, except for actions that the configuration names. What the configuration gets wrong is
    /// left out and found in [`Keymap::problems`].
    pub fn with(changes: &[KeyChange]) -> Self {
        let Changed { keys, problems } = changes::read(changes);
        let map = Self::with_keys(|row| match keys.get(&row.action) {
            Some(keys) => keys.clone(),
            None => {
                let is_free = |key: &Key| !changes::is_taken(&keys, row, *key);
                row.keys.iter().filter_map(|key| parse_key(key).ok()).filter(is_free).collect()
            }
        });
        Self { problems, changed: keys.into_keys().collect(), ..map }
    }

    fn with_keys(keys_of: impl Fn(&ActionRow) -> Vec<Key>) -> Self {
        let mut map =
            Self { actions: HashMap::new(), keys: BTreeMap::new(), changed: BTreeSet::new(), problems: Vec::new() };
        for row in ACTIONS {
            let keys = keys_of(row);
            for key in &keys {
                map.actions.entry((row.place, *key)).or_insert(row.action);
            }
            map.keys.insert(row.action, keys);
        }
        map
    }

    /// What the configuration gets wrong about keys, and keys that it takes from other actions.
    pub fn problems(&self) -> &[KeymapProblem] {
        &self.problems
    }

    /// Whether the configuration gives an action its keys.
    pub fn is_changed(&self, action: Action) -> bool {
        self.changed.contains(&action)
    }

    /// The first key of an action as people read it; absent if the action has no key.
    pub fn hint(&self, action: Action) -> Option<String> {
        self.keys(action).first().map(ToString::to_string)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_table_can_be_read_and_has_one_meaning_in_its_place() {
        let mut names = BTreeSet::new();
        let mut taken = BTreeMap::new();
        for row in ACTIONS {
            assert!(names.insert(row.name), "{} twice", row.name);
            for key in row.keys {
                let read = parse_key(key).unwrap_or_else(|why| panic!("{}: {key}: {why}", row.name));
                assert_eq!(read.to_string(), *key, "{}", row.name);
                assert_eq!(taken.insert((row.place, *key), row.name), None, "{key}");
            }
        }
    }

    #[test]
    fn every_action_can_have_another_key() {
        let key = parse_key("f12").unwrap();
        for row in ACTIONS {
            let change = KeyChange { name: row.name.to_owned(), keys: vec!["f12".to_owned()], location: String::new() };
            let map = Keymap::with(&[change]);
            assert_eq!(map.problems(), [], "{}", row.name);
            assert_eq!((map.action(row.place, key), map.keys(row.action)), (Some(row.action), &[key][..]));
            for old in row.keys {
                assert_eq!(map.action(row.place, parse_key(old).unwrap()), None, "{}", row.name);
            }
        }
    }
}
