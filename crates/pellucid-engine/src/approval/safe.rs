//! Commands that only read, as far as their words show it.
//!
//! A short list, and for some programs the arguments that take them off it. What is not on it is
//! not called dangerous: nothing is known of it.

use crate::approval::Platform;
use crate::approval::part::Part;

/// Programs that only read, whatever their arguments.
const READERS: &[&str] = &[
    "cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "paste", "pwd", "rev", "seq",
    "stat", "tail", "tr", "true", "uname", "uniq", "wc", "which", "whoami",
];
/// The same, where they are what their names say.
const READERS_ON_LINUX: &[&str] = &["numfmt", "tac"];

/// What makes `find` write, delete or start programs.
const FIND_ACTS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf"];
/// What makes `rg` start programs, with and without a value.
const RG_STARTS: &[&str] = &["--pre", "--hostname-bin"];
const RG_UNPACKS: &[&str] = &["--search-zip", "-z"];
/// Options of `git` itself that take a word as their value.
const GIT_VALUES: &[&str] =
    &["-C", "-c", "--config-env", "--exec-path", "--git-dir", "--namespace", "--super-prefix", "--work-tree"];
const GIT_READS: &[&str] = &["status", "log", "diff", "show", "branch"];
/// What makes those write files or start programs.
const GIT_ACTS: &[&str] = &["--output", "--ext-diff", "--textconv", "--exec", "--paginate"];
const BRANCH_LISTS: &[&str] =
    &["--list", "-l", "--show-current", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--verbose"];

/// Whether a command is known to be safe: itself, or everything in its script.
pub fn is_known_safe(part: &Part, platform: Platform) -> bool {
    only_reads(&part.words, platform)
        || (!part.inner.is_empty() && part.inner.iter().all(|words| only_reads(words, platform)))
}

fn only_reads(words: &[String], platform: Platform) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    match base_name(program) {
        name if READERS.contains(&name) => true,
        name if platform == Platform::Linux && READERS_ON_LINUX.contains(&name) => true,
        "base64" => !has(arguments, |it| it.starts_with("-o") || is_option(it, "--output")),
        "find" => !has(arguments, |it| FIND_ACTS.contains(&it)),
        "rg" => !has(arguments, |it| RG_UNPACKS.contains(&it) || RG_STARTS.iter().any(|option| is_option(it, option))),
        "git" => git_only_reads(arguments),
        "sed" => words.len() <= 4 && arguments.first().is_some_and(|it| it == "-n") && prints_lines(arguments.get(1)),
        _ => false,
    }
}

/// The last part of a program's path.
fn base_name(program: &str) -> &str {
    std::path::Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn has(arguments: &[String], is: impl Fn(&str) -> bool) -> bool {
    arguments.iter().any(|argument| is(argument))
}

/// Whether an argument is this option, alone or with `=` and a value.
fn is_option(argument: &str, option: &str) -> bool {
    argument.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

fn git_only_reads(arguments: &[String]) -> bool {
    // A value for the configuration can name a program to start.
    if has(arguments, |it| it.starts_with("-c") || is_option(it, "--config-env")) {
        return false;
    }
    let Some((command, rest)) = git_command(arguments) else {
        return false;
    };
    let acts = has(rest, |it| GIT_ACTS.contains(&it) || it.starts_with("--output=") || it.starts_with("--exec="));
    let lists_branches = |it: &String| BRANCH_LISTS.contains(&it.as_str()) || it.starts_with("--format=");
    GIT_READS.contains(&command) && !acts && (command != "branch" || rest.iter().all(lists_branches))
}

/// The first word that is no option of `git` itself, and what follows it.
fn git_command(arguments: &[String]) -> Option<(&str, &[String])> {
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        if !word.starts_with('-') {
            return Some((word, after));
        }
        let has_value = GIT_VALUES.contains(&word.as_str());
        rest = if has_value { after.get(1..).unwrap_or_default() } else { after };
    }
    None
}

/// `3p` or `1,3p`.
fn prints_lines(script: Option<&String>) -> bool {
    let Some(range) = script.and_then(|script| script.strip_suffix('p')) else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match range.split_once(',') {
        Some((from, to)) => is_number(from) && is_number(to),
        None => is_number(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_on(platform: Platform, is_safe: bool, commands: &str) {
        for line in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words = shlex::split(line).expect("a fixture can be split");
            assert_eq!(is_known_safe(&Part::new(words), platform), is_safe, "{line}");
        }
    }

    #[test]
    fn readers_are_safe_by_their_base_names() {
        check_on(
            Platform::Linux,
            true,
            "cat a\ncd /\n/usr/bin/ls -la\necho hi\ngrep -r x .\nwhich zsh\ntac a\nnumfmt 3",
        );
        check_on(Platform::MacOs, false, "tac a\nnumfmt 3");
        check_on(Platform::Linux, false, "touch a\nmkdir a\nmake\ncatx\npython3 -c 1\n''");
        assert!(!is_known_safe(&Part::new(Vec::new()), Platform::Linux));
    }

    #[test]
    fn arguments_take_programs_off_the_list() {
        let safe = "
            base64 a
            base64 --wrap=0 a
            find . -name a
            rg --files
            rg -i pre --glob '*.rs'
            sed -n 3p a
            sed -n 1,20p a
            sed -n 1p
        ";
        let unsafe_ones = "
            base64 -o b a
            base64 -ob a
            base64 --output b
            base64 --output=b
            find . -exec rm {} ;
            find . -delete
            find . -fprintf a b
            rg --pre cat x
            rg --pre=cat x
            rg --hostname-bin x y
            rg --search-zip x
            rg -z x
            sed -i s/a/b/ a
            sed -n 1p a b
            sed -n 1,2,3p a
            sed -n p a
            sed -n ,3p a
            sed -n 1,p a
            sed -n xp a
            sed -n '1p;w b' a
            sed 1p a
            sed -n
        ";
        check_on(Platform::Linux, true, safe);
        check_on(Platform::Linux, false, unsafe_ones);
    }

    #[test]
    fn git_reads_with_some_commands_and_options() {
        let safe = "
            git status
            git log --oneline -5
            git diff HEAD~1
            git show HEAD:a
            git branch
            git branch -a -vv
            git branch --format=x --list
            git -C /w status
            git --git-dir /w/.git log
            git --work-tree=/w --no-pager diff
            git -p log
        ";
        let unsafe_ones = "
            git
            git commit
            git push
            git -c core.pager=x log
            git -ccore.pager=x log
            git log -c
            git --config-env a=B log
            git --config-env=a=B log
            git log --output=a
            git log --output a
            git diff --ext-diff
            git show --textconv a
            git log --exec=x
            git log --paginate
            git branch new
            git branch -d old
            git branch --list x
            git -C
            git -C status
            git checkout status
        ";
        check_on(Platform::Linux, true, safe);
        check_on(Platform::Linux, false, unsafe_ones);
    }

    #[test]
    fn a_script_is_safe_when_everything_in_it_is() {
        let script = |inner: &[&str]| Part {
            words: ["bash", "-lc", "x"].map(str::to_owned).to_vec(),
            inner: inner.iter().map(|line| shlex::split(line).unwrap()).collect(),
        };
        assert!(is_known_safe(&script(&["ls", "git status"]), Platform::Linux));
        assert!(!is_known_safe(&script(&["ls", "touch a"]), Platform::Linux));
        assert!(!is_known_safe(&script(&[]), Platform::Linux));
    }
}
