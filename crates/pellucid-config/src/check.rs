//! Checks a merged document against the table of keys.
//!
//! Only the kinds of values are checked here, and that tables have their required keys. Unknown names are skipped:
//! `unknown` warns about them.

use std::fmt::Write as _;

use crate::keys::AllowedWords;
use crate::keys::IntegerBounds;
use crate::keys::Node;
use crate::keys::ValueKind;
use crate::keys::root;
use crate::value::Data;
use crate::value::Table;
use crate::value::Value;
use crate::value::ValuePlace;
use crate::value::dotted;

/// A value that its key does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What is wrong with the value.
    pub message: String,
    /// The dotted path of the key.
    pub key: String,
    /// Where the value was written.
    pub place: ValuePlace,
}

/// Checks a whole document; the first wrong value is the error.
pub(crate) fn check(table: &Table) -> Result<(), Problem> {
    check_entries(root(), table, &mut Vec::new())
}

fn check_entries<'t>(node: &'static Node, table: &'t Table, path: &mut Vec<&'t str>) -> Result<(), Problem> {
    for entry in table.iter() {
        let Some(child) = node.child(&entry.key) else { continue };
        path.push(&entry.key);
        check_value(child, &entry.value, path)?;
        path.pop();
    }
    Ok(())
}

fn check_value<'t>(node: &'static Node, value: &'t Value, path: &mut Vec<&'t str>) -> Result<(), Problem> {
    let problem = |message, path: &[&str]| Err(Problem { message, key: dotted(path), place: value.place });
    match &value.data {
        Data::Table(table) if node.is_table() => {
            if let Some(missing) = node.required.iter().find(|name| table.get(name).is_none()) {
                return problem(format!("missing field `{missing}`"), path);
            }
            check_entries(node, table, path)
        }
        Data::List(items) if let Some(item) = &node.item => {
            items.iter().try_for_each(|value| check_value(item, value, path))
        }
        _ => match node.key {
            Some(key) => check_kind(&key.kind, value, path),
            None if node.item.is_some() => problem(wrong_type(value, "a sequence"), path),
            None => problem(wrong_type(value, "a map"), path),
        },
    }
}

fn check_kind<'t>(kind: &ValueKind, value: &'t Value, path: &mut Vec<&'t str>) -> Result<(), Problem> {
    let problem = |message, path: &[&str]| Err(Problem { message, key: dotted(path), place: value.place });
    match (kind, &value.data) {
        (ValueKind::String | ValueKind::Path | ValueKind::NameOrPath, Data::String(_))
        | (ValueKind::Bool, Data::Boolean(_))
        | (ValueKind::Float, Data::Float(_) | Data::Integer(_)) => Ok(()),
        (ValueKind::Integer(bounds), Data::Integer(number)) => match in_bounds(*bounds, *number) {
            Ok(()) => Ok(()),
            Err(message) => problem(message, path),
        },
        (ValueKind::Words(words), Data::String(word)) => match is_word(words, word) {
            Ok(()) => Ok(()),
            Err(message) => problem(message, path),
        },
        (ValueKind::List(item), Data::List(values)) => {
            values.iter().try_for_each(|value| check_kind(item, value, path))
        }
        (ValueKind::Map(item), Data::Table(table)) => {
            for entry in table.iter() {
                path.push(&entry.key);
                check_kind(item, &entry.value, path)?;
                path.pop();
            }
            Ok(())
        }
        (ValueKind::Either(one, other), _) => {
            let n_names = path.len();
            if check_kind(one, value, path).is_ok() {
                return Ok(());
            }
            path.truncate(n_names);
            // The error names the element of the list that is wrong.
            match check_kind(other, value, path) {
                Err(problem) if problem.place != value.place => Err(problem),
                Err(_) => problem(wrong_type(value, &kind.expected()), path),
                Ok(()) => Ok(()),
            }
        }
        _ => problem(wrong_type(value, &kind.expected()), path),
    }
}

fn in_bounds(bounds: IntegerBounds, number: i64) -> Result<(), String> {
    if (bounds.min..=bounds.max).contains(&number) {
        Ok(())
    } else {
        Err(format!("invalid value: integer `{number}`, expected {}", bounds.name))
    }
}

fn is_word(words: &AllowedWords, word: &str) -> Result<(), String> {
    if words.words.contains(&word) || words.aliases.iter().any(|(alias, _)| *alias == word) {
        return Ok(());
    }
    Err(format!("unknown variant `{word}`, expected {}", one_of(words.words)))
}

fn one_of(words: &[&str]) -> String {
    match words {
        [only] => format!("`{only}`"),
        [one, other] => format!("`{one}` or `{other}`"),
        many => {
            let mut text = String::from("one of ");
            for (index, word) in many.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}`{word}`");
            }
            text
        }
    }
}

fn wrong_type(value: &Value, expected: &str) -> String {
    let found = match &value.data {
        Data::String(text) => format!("string {text:?}"),
        Data::Integer(number) => format!("integer `{number}`"),
        Data::Float(number) => format!("floating point `{number}`"),
        Data::Boolean(flag) => format!("boolean `{flag}`"),
        Data::Datetime(time) => format!("datetime `{time}`"),
        Data::List(_) => "sequence".to_owned(),
        Data::Table(_) => "map".to_owned(),
    };
    format!("invalid type: {found}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_document(text: &str, expected: &Expect) {
        let found = match check(&Table::parse(text, 0).unwrap()) {
            Ok(()) => "holds".to_owned(),
            Err(Problem { message, key, place }) => {
                format!("{key}: {message} at `{}`", &text[place.start..place.end])
            }
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn scalars_are_of_their_kind() {
        check_document("model = 5", &expect!["model: invalid type: integer `5`, expected a string at `5`"]);
        check_document("model = {a = 1}", &expect!["model: invalid type: map, expected a string at `{a = 1}`"]);
        check_document(
            "hide_agent_reasoning = 'yes'",
            &expect![[r#"hide_agent_reasoning: invalid type: string "yes", expected a boolean at `'yes'`"#]],
        );
        check_document(
            "model_context_window = 1.5",
            &expect!["model_context_window: invalid type: floating point `1.5`, expected i64 at `1.5`"],
        );
        check_document(
            "mcp_oauth_callback_port = 70000",
            &expect!["mcp_oauth_callback_port: invalid value: integer `70000`, expected u16 at `70000`"],
        );
        check_document(
            "project_doc_max_bytes = -1",
            &expect!["project_doc_max_bytes: invalid value: integer `-1`, expected usize at `-1`"],
        );
        check_document(
            "log_dir = 1979-05-27",
            &expect!["log_dir: invalid type: datetime `1979-05-27`, expected path string at `1979-05-27`"],
        );
        check_document("[mcp_servers.a]\ncommand = 'x'\ntool_timeout_sec = 5", &expect!["holds"]);
    }

    #[test]
    fn words_are_known_words() {
        check_document(
            "sandbox_mode = 'sideways'",
            &expect![
                "sandbox_mode: unknown variant `sideways`, expected one of `read-only`, `workspace-write`, `danger-full-access` at `'sideways'`"
            ],
        );
        check_document(
            "[projects.'/a']\ntrust_level = 'maybe'",
            &expect![
                "projects./a.trust_level: unknown variant `maybe`, expected `trusted` or `untrusted` at `'maybe'`"
            ],
        );
        check_document(
            "[model_providers.x]\nname = 'X'\nwire_api = 'zap'",
            &expect![
                "model_providers.x.wire_api: unknown variant `zap`, expected one of `responses`, `chat`, `messages` at `'zap'`"
            ],
        );
        check_document("[model_providers.x]\nname = 'X'\nwire_api = 'chat'", &expect!["holds"]);
        check_document("[model_providers.x]\nname = 'X'\nwire_api = 'messages'", &expect!["holds"]);
        check_document("[tui]\nexperimental_mode = 'code'", &expect!["holds"]);
    }

    #[test]
    fn lists_maps_and_tables() {
        check_document("notify = 'x'", &expect![[r#"notify: invalid type: string "x", expected a sequence at `'x'`"#]]);
        check_document(
            "project_root_markers = ['a', 3]",
            &expect!["project_root_markers: invalid type: integer `3`, expected a string at `3`"],
        );
        check_document("tui = 3", &expect!["tui: invalid type: integer `3`, expected a map at `3`"]);
        check_document(
            "[skills]\nconfig = 3",
            &expect!["skills.config: invalid type: integer `3`, expected a sequence at `3`"],
        );
        check_document(
            "[shell_environment_policy.set]\nA = 1",
            &expect!["shell_environment_policy.set.A: invalid type: integer `1`, expected a string at `1`"],
        );
        check_document(
            "[tui]\nnotifications = 'x'",
            &expect![[r#"tui.notifications: invalid type: string "x", expected a boolean or a sequence at `'x'`"#]],
        );
        check_document(
            "[tui]\nnotifications = ['x', 1]",
            &expect!["tui.notifications: invalid type: integer `1`, expected a string at `1`"],
        );
        check_document("[agents]\nfoo = 3", &expect!["agents.foo: invalid type: integer `3`, expected a map at `3`"]);
        check_document("[otel]\nexporter = 'none'", &expect!["holds"]);
        check_document(
            "[otel.exporter.otlp-grpc]\nheaders = {}",
            &expect!["otel.exporter.otlp-grpc: missing field `endpoint` at `[otel.exporter.otlp-grpc]`"],
        );
    }

    #[test]
    fn tables_have_what_they_must_have() {
        check_document("[history]\nmax_bytes = 3", &expect!["history: missing field `persistence` at `[history]`"]);
        check_document(
            "[model_providers.x]\nbase_url = ''",
            &expect!["model_providers.x: missing field `name` at `[model_providers.x]`"],
        );
        check_document(
            "[[skills.config]]\nenabled = true",
            &expect!["skills.config: missing field `path` at `[[skills.config]]`"],
        );
    }

    #[test]
    fn profiles_and_features() {
        check_document(
            "profiles = { a = { model = 3 } }",
            &expect!["profiles.a.model: invalid type: integer `3`, expected a string at `3`"],
        );
        check_document("[profiles.a]\nnotify = 3", &expect!["holds"]);
        check_document(
            "[features]\nsqlite = true\njs_repl = 5\nundo = 'x'",
            &expect!["features.js_repl: invalid type: integer `5`, expected a boolean at `5`"],
        );
        check_document(
            "[profiles.a.features]\nundo = 1",
            &expect!["profiles.a.features.undo: invalid type: integer `1`, expected a boolean at `1`"],
        );
        check_document("nothing = { known = [1, 'a'] }\n[features]\nnope = true", &expect!["holds"]);
    }
}
