//! The paths in a tool call: words that may be paths, before any file is looked for.
//!
//! Patches name their files in separate lines; all other arguments are split at white space and at shell operators.
//! Looking for a file that does not exist is better than missing one.

use pellucid_protocol::call::Payload;
use pellucid_protocol::call::ToolCall;
use serde_json::Value;

use crate::cut;
use crate::path::normal;

/// How many words of a call are looked at.
const WORDS_MAX: usize = 64;

/// How many letters of a text are looked at.
const TEXT_MAX: usize = 16 * 1024;

/// The prefixes of the lines in a patch that name a file.
const PATCH_LINES: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The paths that a call may go to, from a working directory.
pub fn paths(call: &ToolCall, cwd: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut base = cwd.to_owned();
    match &call.payload {
        Payload::Custom { input } => add_text(input, &mut words),
        Payload::LocalShell(action) => {
            if let Ok(value) = serde_json::to_value(action) {
                add_arguments(&value, cwd, &mut base, &mut words);
            }
        }
        Payload::Function { arguments } => match serde_json::from_str::<Value>(arguments) {
            Ok(value) => add_arguments(&value, cwd, &mut base, &mut words),
            Err(_) => add_text(arguments, &mut words),
        },
    }
    let mut paths = vec![normal(&base)];
    for word in words.into_iter().take(WORDS_MAX) {
        let path = normal(&if word.starts_with('/') { word } else { format!("{base}/{word}") });
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn add_arguments(value: &Value, cwd: &str, base: &mut String, words: &mut Vec<String>) {
    let folder = ["workdir", "working_directory", "cwd"].iter().find_map(|key| value.get(key)?.as_str());
    if let Some(folder) = folder {
        *base = if folder.starts_with('/') { folder.to_owned() } else { format!("{cwd}/{folder}") };
    }
    add_value(value, words);
}

fn add_value(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::String(text) => add_text(text, words),
        Value::Array(values) => values.iter().for_each(|value| add_value(value, words)),
        Value::Object(values) => values.values().for_each(|value| add_value(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn add_text(text: &str, words: &mut Vec<String>) {
    let text = cut::first(text, TEXT_MAX);
    if text.contains("*** Begin Patch") {
        let names = text.lines().filter_map(|line| PATCH_LINES.iter().find_map(|start| line.strip_prefix(start)));
        words.extend(names.map(|name| name.trim().to_owned()));
        return;
    }
    let is_between =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | '=' | ',');
    for word in text.split(is_between) {
        let is_path =
            !word.is_empty() && !word.starts_with(['-', '$', '~']) && word.len() < 512 && !word.contains('\0');
        if is_path && words.len() < WORDS_MAX {
            words.push(word.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn call(payload: Payload) -> ToolCall {
        ToolCall { call_id: "c".to_owned(), name: "t".to_owned(), payload }
    }

    #[track_caller]
    fn check_paths(payload: Payload, expected: &Expect) {
        expected.assert_eq(&paths(&call(payload), "/p").join(" "));
    }

    #[test]
    fn words_of_commands_and_the_folder_they_run_in() {
        let function = |value: Value| Payload::Function { arguments: value.to_string() };
        check_paths(
            function(json!({ "command": ["bash", "-lc", "cd web && cat ./src/x.ts>'/tmp/o ut' | grep -n a=b/c"] })),
            &expect!["/p /p/bash /p/cd /p/web /p/cat /p/src/x.ts /tmp/o /p/ut /p/grep /p/a /p/b/c"],
        );
        check_paths(function(json!({ "command": "ls ../b", "workdir": "a" })), &expect!["/p/a /p/a/ls /p/b /p/a/a"]);
        check_paths(function(json!({ "path": "/p/x.png" })), &expect!["/p /p/x.png"]);
    }

    #[test]
    fn files_of_patches() {
        let input = "*** Begin Patch\n*** Update File: a/b c.rs\n*** Move to: d/e.rs\n@@\n-f/g\n+h/i\n*** End Patch";
        check_paths(Payload::Custom { input: input.to_owned() }, &expect!["/p /p/a/b c.rs /p/d/e.rs"]);
    }

    proptest! {
        #[test]
        fn any_call_has_few_paths(text in any::<String>()) {
            for payload in [Payload::Custom { input: text.clone() }, Payload::Function { arguments: text.clone() }] {
                let paths = paths(&call(payload), "/p");
                prop_assert!(paths.len() <= WORDS_MAX + 1);
                prop_assert!(paths.iter().all(|path| path.starts_with('/')));
            }
        }
    }
}
