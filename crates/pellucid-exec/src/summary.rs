//! A short description of a command for people who look at it.
//!
//! A guess from words: nothing runs, nothing is looked up, and nothing may be decided by it. The
//! guesses are those that other programs of the kind show, which `summary/cases.txt` holds.

use std::path::Path;

use pellucid_protocol::parsed_command::ParsedCommand;

mod split;
mod tools;

/// The operators that join commands.
const CONNECTORS: [&str; 4] = ["&&", "||", "|", ";"];

/// Longer scripts are shown whole.
const SCRIPT_BYTES_MAX: usize = 16 << 10;

/// Describes a command, part by part.
pub fn summary(argv: &[String]) -> Vec<ParsedCommand> {
    let mut parts = match script_of(argv) {
        Some(Script::Posix(script)) => of_script(script),
        Some(Script::PowerShell(script)) => vec![ParsedCommand::Unknown { cmd: script.to_owned() }],
        None => of_words(argv),
    };
    parts.dedup();
    parts
}

enum Script<'a> {
    Posix(&'a str),
    PowerShell(&'a str),
}

/// The script, if the command is a shell with one.
fn script_of(argv: &[String]) -> Option<Script<'_>> {
    let (shell, arguments) = argv.split_first()?;
    match (Path::new(shell).file_stem()?.to_str()?, arguments) {
        ("bash" | "zsh" | "sh", [flag, script]) if flag == "-lc" || flag == "-c" => Some(Script::Posix(script)),
        ("pwsh" | "powershell", arguments) => {
            let flag = arguments.iter().position(|it| ["-command", "-c"].contains(&it.to_lowercase().as_str()))?;
            arguments.get(flag + 1).map(|script| Script::PowerShell(script))
        }
        _ => None,
    }
}

fn of_script(script: &str) -> Vec<ParsedCommand> {
    let whole = || vec![ParsedCommand::Unknown { cmd: script.to_owned() }];
    let is_short = script.len() <= SCRIPT_BYTES_MAX;
    let Some(commands) = is_short.then(|| split::commands(script)).flatten() else { return whole() };
    let words = shlex::split(script).unwrap_or_else(|| vec![script.to_owned()]);
    let is_joined = commands.len() > 1 || words.iter().any(|word| CONNECTORS.contains(&word.as_str()));
    let has = |wanted: &[&str]| words.windows(wanted.len()).any(|some| some == wanted);
    let is_excerpt = has(&["|"]) && has(&["sed", "-n"]);

    let commands: Vec<Vec<String>> = commands.into_iter().filter(|it| !tools::is_helper(it)).collect();
    if commands.is_empty() {
        return whole();
    }
    let mut parts = of_commands(&commands);
    if let [part] = &mut parts[..] {
        match part {
            // The line numbers that are read are worth showing.
            ParsedCommand::Read { cmd, .. } if is_joined && is_excerpt => script.clone_into(cmd),
            ParsedCommand::Read { cmd, .. }
            | ParsedCommand::ListFiles { cmd, .. }
            | ParsedCommand::Search { cmd, .. }
                if !is_joined =>
            {
                *cmd = join(&words);
            }
            _ => {}
        }
    }
    parts
}

/// A command without a shell. Connectors in it are mistakes of the model, and easy to read.
fn of_words(argv: &[String]) -> Vec<ParsedCommand> {
    let argv = match argv {
        [answer, pipe, rest @ ..] if pipe == "|" && ["yes", "y", "no", "n"].contains(&answer.as_str()) => rest,
        argv => argv,
    };
    let commands: Vec<Vec<String>> = argv
        .split(|word| CONNECTORS.contains(&word.as_str()))
        .filter(|words| !words.is_empty())
        .map(<[String]>::to_vec)
        .collect();
    of_commands(&commands)
}

fn of_commands(commands: &[Vec<String>]) -> Vec<ParsedCommand> {
    let mut folder: Option<String> = None;
    let mut parts = Vec::new();
    for words in commands {
        if words[0] == "cd" {
            folder = target_of_cd(&words[1..]).map(|target| joined(folder.as_deref(), target)).or(folder);
            continue;
        }
        let mut part = tools::summary(words);
        if let ParsedCommand::Read { path, .. } = &mut part {
            *path = joined(folder.as_deref(), path);
        }
        parts.push(part);
    }
    simplified(parts)
}

/// Leaves out what only talks: a first `echo`, and `true`.
fn simplified(mut parts: Vec<ParsedCommand>) -> Vec<ParsedCommand> {
    let is_unknown =
        |part: &ParsedCommand, is: fn(&str) -> bool| matches!(part, ParsedCommand::Unknown { cmd } if is(cmd));
    if parts.len() > 1 {
        parts.retain(|part| !is_unknown(part, |cmd| cmd == "true"));
    }
    let n_echoes =
        parts.iter().take_while(|part| is_unknown(part, |cmd| cmd == "echo" || cmd.starts_with("echo "))).count();
    parts.drain(..n_echoes.min(parts.len().saturating_sub(1)));
    parts
}

fn target_of_cd(arguments: &[String]) -> Option<&str> {
    let mut target = None;
    for (at, argument) in arguments.iter().enumerate() {
        if argument == "--" {
            return arguments.get(at + 1).map(String::as_str);
        }
        if !argument.starts_with('-') {
            target = Some(argument.as_str());
        }
    }
    target
}

fn joined(folder: Option<&str>, path: &str) -> String {
    match folder {
        Some(folder) => Path::new(folder).join(path).to_string_lossy().into_owned(),
        None => path.to_owned(),
    }
}

/// The words of a command, quoted for a shell.
fn join(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::expect_file;

    use super::*;

    fn rendered(parts: &[ParsedCommand]) -> String {
        let mut text = String::new();
        for part in parts {
            let line = match part {
                ParsedCommand::Read { cmd, name, path } => format!("read {name:?} {path:?} in {cmd:?}"),
                ParsedCommand::ListFiles { cmd, path } => format!("list {path:?} in {cmd:?}"),
                ParsedCommand::Search { cmd, query, path } => format!("search {query:?} {path:?} in {cmd:?}"),
                ParsedCommand::Unknown { cmd } => format!("unknown {cmd:?}"),
            };
            writeln!(text, "    {line}").unwrap();
        }
        text
    }

    /// Each case is a command as a JSON array, with what it is about below it.
    #[test]
    fn cases() {
        let cases = include_str!("summary/cases.txt");
        let mut text = String::new();
        for case in cases.lines().filter(|line| line.starts_with('[')) {
            let argv: Vec<String> = serde_json::from_str(case).unwrap();
            writeln!(text, "{case}").unwrap();
            text.push_str(&rendered(&summary(&argv)));
        }
        expect_file!["summary/cases.txt"].assert_eq(&text);
    }

    #[test]
    fn parts_are_written_as_others_read_them() {
        let parts = summary(&["bash", "-lc", "cat src/a.rs | rg b; ls; pwd"].map(str::to_owned));
        let json: Vec<String> = parts.iter().map(|part| serde_json::to_string(part).unwrap()).collect();
        assert_eq!(
            json,
            [
                r#"{"type":"read","cmd":"cat src/a.rs","name":"a.rs","path":"src/a.rs"}"#,
                r#"{"type":"search","cmd":"rg b","query":"b","path":null}"#,
                r#"{"type":"list_files","cmd":"ls","path":null}"#,
                r#"{"type":"unknown","cmd":"pwd"}"#,
            ]
        );
    }
}
