//! The keys of the configuration: which action gets which, and what is wrong with them.
//!
//! A wrong entry changes nothing, and the others hold.

use std::collections::BTreeMap;
use std::fmt;

use crate::key::Key;
use crate::keymap::spelling::parse_key;
use crate::keymap::table::ACTIONS;
use crate::keymap::table::Action;
use crate::keymap::table::ActionRow;
use crate::keymap::table::Place;

/// What the configuration says of one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChange {
    /// The name of the action.
    pub name: String,
    /// Its keys, as people write them.
    pub keys: Vec<String>,
    /// The file and line, for people; empty if there is none.
    pub location: String,
}

/// What is wrong with the keys of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeymapProblem {
    /// The name of the action in the configuration.
    pub name: String,
    /// The file and line, for people; empty if there is none.
    pub location: String,
    /// What is wrong.
    pub fault: KeyFault,
}

/// A fault in the keys of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyFault {
    /// No action has this name; the similar one may be meant.
    UnknownAction {
        /// An action with a similar name.
        similar: Option<&'static str>,
    },
    /// The text names no key.
    UnknownKey {
        /// The key as it was written.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// The key types a character where text is written.
    Types {
        /// The key as it was written.
        key: String,
    },
    /// The configuration gives the key to another action of the same place too.
    GivenTwice {
        /// The key as people write it.
        key: String,
        /// The action that has the key.
        other: &'static str,
    },
    /// The key was one of another action's usual keys, and is taken from it.
    Taken {
        /// The key as people write it.
        key: String,
        /// The action that has lost the key.
        other: &'static str,
    },
}

impl fmt::Display for KeymapProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.location.is_empty() {
            write!(f, "{}: ", self.location)?;
        }
        let name = &self.name;
        write!(f, "`tui.keymap.{name}`: ")?;
        match &self.fault {
            KeyFault::UnknownAction { similar: Some(similar) } => {
                write!(f, "no action has this name; `{similar}` is similar, and /keymap lists all")
            }
            KeyFault::UnknownAction { similar: None } => write!(f, "no action has this name; /keymap lists all"),
            KeyFault::UnknownKey { key, why } => {
                write!(f, "`{key}` is not a key: {why}; write it like `ctrl-x`, `alt-enter` or `f2`")
            }
            KeyFault::Types { key } => {
                write!(f, "`{key}` types a character there; hold `ctrl` or `alt` with it, or choose another key")
            }
            KeyFault::GivenTwice { key, other } => {
                write!(f, "`{key}` is given to `{other}` too, which has it; remove the key from one of them")
            }
            KeyFault::Taken { key, other } => {
                write!(f, "`{key}` is taken from `{other}`; name the keys of `tui.keymap.{other}`, or `[]`, to confirm")
            }
        }
    }
}

/// The keys of the actions that the configuration names, and its problems.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub keys: BTreeMap<Action, Vec<Key>>,
    pub problems: Vec<KeymapProblem>,
}

/// Reads what the configuration says.
pub(super) fn read(changes: &[KeyChange]) -> Changed {
    let mut changed = Changed::default();
    // In the order of the table, so that the same of two actions has a key whatever the order of the file is.
    for row in ACTIONS {
        let Some(change) = changes.iter().find(|change| change.name == row.name) else { continue };
        let mut keys = Vec::new();
        for text in &change.keys {
            match read_key(text, row, &changed.keys) {
                Ok(key) => keys.push(key),
                Err(fault) => changed.problems.push(change.problem(fault)),
            }
        }
        // An action whose keys are all wrong keeps its usual ones.
        if !keys.is_empty() || change.keys.is_empty() {
            changed.keys.insert(row.action, keys);
        }
    }
    for row in ACTIONS.iter().filter(|row| !changed.keys.contains_key(&row.action)) {
        for key in row.keys.iter().filter_map(|key| parse_key(key).ok()) {
            if let Some(by) = taker(&changed.keys, row, key)
                && let Some(change) = changes.iter().find(|change| change.name == by.name)
            {
                changed.problems.push(change.problem(KeyFault::Taken { key: key.to_string(), other: row.name }));
            }
        }
    }
    for change in changes.iter().filter(|change| ACTIONS.iter().all(|row| row.name != change.name)) {
        changed.problems.push(change.problem(KeyFault::UnknownAction { similar: similar(&change.name) }));
    }
    changed
}

impl KeyChange {
    fn problem(&self, fault: KeyFault) -> KeymapProblem {
        KeymapProblem { name: self.name.clone(), location: self.location.clone(), fault }
    }
}

fn read_key(text: &str, row: &ActionRow, given: &BTreeMap<Action, Vec<Key>>) -> Result<Key, KeyFault> {
    let key = parse_key(text).map_err(|why| KeyFault::UnknownKey { key: text.to_owned(), why })?;
    let is_text = matches!(row.place, Place::Composer | Place::Popup | Place::Picker);
    if is_text && key.typed().is_some() {
        return Err(KeyFault::Types { key: text.to_owned() });
    }
    match taker(given, row, key) {
        Some(other) => Err(KeyFault::GivenTwice { key: text.to_owned(), other: other.name }),
        None => Ok(key),
    }
}

/// Whether the configuration gives a key of this action's place to another action.
pub(super) fn is_taken(given: &BTreeMap<Action, Vec<Key>>, row: &ActionRow, key: Key) -> bool {
    taker(given, row, key).is_some()
}

fn taker(given: &BTreeMap<Action, Vec<Key>>, row: &ActionRow, key: Key) -> Option<&'static ActionRow> {
    ACTIONS
        .iter()
        .filter(|other| other.place == row.place && other.action != row.action)
        .find(|other| given.get(&other.action).is_some_and(|keys| keys.contains(&key)))
}

/// An action whose name has the same last word, or begins alike.
fn similar(name: &str) -> Option<&'static str> {
    let last = |name: &str| name.rsplit_once('.').map_or(name, |(_, last)| last).replace('_', "-").to_lowercase();
    let wanted = last(name);
    let same = ACTIONS.iter().find(|row| last(row.name) == wanted);
    let alike = || {
        let n_same =
            |row: &&ActionRow| row.name.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count();
        ACTIONS.iter().max_by_key(n_same).filter(|row| n_same(row) > name.find('.').map_or(3, |dot| dot + 2))
    };
    same.or_else(alike).map(|row| row.name)
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::keymap::Keymap;

    #[track_caller]
    fn check_changes(changes: &[(&str, &[&str])], expected: &Expect) {
        let changes: Vec<KeyChange> = changes
            .iter()
            .map(|(name, keys)| KeyChange {
                name: (*name).to_owned(),
                keys: keys.iter().map(|key| (*key).to_owned()).collect(),
                location: "config.toml:3".to_owned(),
            })
            .collect();
        let map = Keymap::with(&changes);
        let mut text: String = map.problems().iter().map(|problem| format!("{problem}\n")).collect();
        for row in ACTIONS {
            let keys: Vec<String> = map.keys(row.action).iter().map(ToString::to_string).collect();
            if keys != row.keys {
                text += &format!("{} = {keys:?}\n", row.name);
            }
            // What the list of keys says is what a key does.
            for key in map.keys(row.action) {
                assert_eq!(map.action(row.place, *key), Some(row.action), "{key}");
            }
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn an_action_takes_the_keys_of_the_configuration() {
        check_changes(
            &[("composer.undo", &["f2", "ctrl-alt-z"])],
            &expect![[r#"
            composer.undo = ["f2", "ctrl-alt-z"]
        "#]],
        );
        check_changes(
            &[("pager.search", &["ctrl-s"]), ("composer.suspend", &[])],
            &expect![[r#"
            composer.suspend = []
            pager.search = ["ctrl-s"]
        "#]],
        );
    }

    #[test]
    fn a_key_is_taken_from_its_usual_action_unless_that_has_others() {
        check_changes(
            &[("composer.undo", &["ctrl-a"])],
            &expect![[r#"
            config.toml:3: `tui.keymap.composer.undo`: `ctrl-a` is taken from `composer.line-start`; name the keys of `tui.keymap.composer.line-start`, or `[]`, to confirm
            composer.undo = ["ctrl-a"]
            composer.line-start = ["home"]
        "#]],
        );
        check_changes(
            &[("composer.undo", &["ctrl-a"]), ("composer.line-start", &["home"])],
            &expect![[r#"
            composer.undo = ["ctrl-a"]
            composer.line-start = ["home"]
        "#]],
        );
    }

    #[test]
    fn a_wrong_entry_is_named_and_the_others_hold() {
        check_changes(
            &[("composer.fly", &["f2"]), ("pager.search", &["f3"])],
            &expect![[r#"
            config.toml:3: `tui.keymap.composer.fly`: no action has this name; /keymap lists all
            pager.search = ["f3"]
        "#]],
        );
        check_changes(
            &[("composer.undoo", &["f2"]), ("fly", &["f3"])],
            &expect![[r#"
            config.toml:3: `tui.keymap.composer.undoo`: no action has this name; `composer.undo` is similar, and /keymap lists all
            config.toml:3: `tui.keymap.fly`: no action has this name; /keymap lists all
        "#]],
        );
        check_changes(
            &[("composer.undo", &["hyper-x", "f2"])],
            &expect![[r#"
            config.toml:3: `tui.keymap.composer.undo`: `hyper-x` is not a key: `hyper` is neither ctrl, alt nor shift; write it like `ctrl-x`, `alt-enter` or `f2`
            composer.undo = ["f2"]
        "#]],
        );
        check_changes(
            &[("composer.undo", &["u"]), ("picker.sort", &["s"]), ("pager.next", &["s"])],
            &expect![[r#"
            config.toml:3: `tui.keymap.composer.undo`: `u` types a character there; hold `ctrl` or `alt` with it, or choose another key
            config.toml:3: `tui.keymap.picker.sort`: `s` types a character there; hold `ctrl` or `alt` with it, or choose another key
            pager.next = ["s"]
        "#]],
        );
        check_changes(
            &[("composer.undo", &["f2"]), ("composer.redo", &["f2"])],
            &expect![[r#"
            config.toml:3: `tui.keymap.composer.redo`: `f2` is given to `composer.undo` too, which has it; remove the key from one of them
            composer.undo = ["f2"]
        "#]],
        );
    }
}
