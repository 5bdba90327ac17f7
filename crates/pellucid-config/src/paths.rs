//! Paths as people write them: relative, with dots, with a tilde.
//!
//! Not here: whether a file exists.

use std::path::Path;
use std::path::PathBuf;

use pellucid_files::normal;

use crate::keys::Node;
use crate::keys::ValueKind;
use crate::keys::root;
use crate::value::Data;
use crate::value::Table;
use crate::value::Value;

/// Makes the values of all keys that take paths absolute.
pub(crate) fn resolve(table: &mut Table, base: &Path, user_home: Option<&Path>) {
    resolve_entries(root(), table, &|path| absolute(path, base, user_home));
}

fn resolve_entries(node: &Node, table: &mut Table, absolute: &dyn Fn(&str) -> PathBuf) {
    for entry in table.iter_mut() {
        if let Some(child) = node.child(&entry.key) {
            resolve_value(child, &mut entry.value, absolute);
        }
    }
}

fn resolve_value(node: &Node, value: &mut Value, absolute: &dyn Fn(&str) -> PathBuf) {
    match &mut value.data {
        Data::Table(table) if node.is_table() => resolve_entries(node, table, absolute),
        Data::List(items) if let Some(item) = &node.item => {
            items.iter_mut().for_each(|value| resolve_value(item, value, absolute));
        }
        _ => {
            if let Some(key) = node.key {
                resolve_kind(&key.kind, value, absolute);
            }
        }
    }
}

fn resolve_kind(kind: &ValueKind, value: &mut Value, absolute: &dyn Fn(&str) -> PathBuf) {
    match (kind, &mut value.data) {
        (ValueKind::Path, Data::String(path)) => *path = absolute(path).to_string_lossy().into_owned(),
        (ValueKind::NameOrPath, Data::String(path)) if is_path(path) => {
            *path = absolute(path).to_string_lossy().into_owned();
        }
        (ValueKind::List(item), Data::List(values)) => {
            values.iter_mut().for_each(|value| resolve_kind(item, value, absolute));
        }
        (ValueKind::Map(item), Data::Table(table)) => {
            table.iter_mut().for_each(|entry| resolve_kind(item, &mut entry.value, absolute));
        }
        _ => {}
    }
}

/// Whether a text that may be a name or a path is a path.
fn is_path(text: &str) -> bool {
    text.contains(['/', '\\']) || text.starts_with(['.', '~'])
}

/// Makes a path absolute against a folder, without access to the disk: `~` is the user's home, `.` and `..` are
/// resolved by name.
pub(crate) fn absolute(path: &str, base: &Path, user_home: Option<&Path>) -> PathBuf {
    let expanded = match (user_home, path.strip_prefix('~')) {
        (Some(home), Some("")) => home.to_owned(),
        (Some(home), Some(rest)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => base.join(path),
    };
    normal(&expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_absolute(path: &str, expected: &str) {
        let found = absolute(path, Path::new("/base"), Some(Path::new("/home/ada")));
        assert_eq!(found.to_str(), Some(expected));
    }

    #[test]
    fn paths_are_worked_out_by_name() {
        check_absolute("a/../b/./c", "/base/b/c");
        check_absolute("/x/y", "/x/y");
        check_absolute("~", "/home/ada");
        check_absolute("~/notes", "/home/ada/notes");
        check_absolute("~other/notes", "/base/~other/notes");
        check_absolute("", "/base");
        check_absolute("../..", "/");
    }
}
