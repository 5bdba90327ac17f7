//! Commands that only read, judged by their words and the places of their programs.
//!
//! A short list of programs, and for some of them the arguments that make them write. A command that is not on the list
//! is not called dangerous: nothing is known of it. A program counts only if the name leads to the system's program,
//! because `./cat` can be anything.

use crate::approval::Platform;
use crate::approval::part::CommandPart;
use crate::approval::program::Programs;
use crate::approval::wrapper::base_name;

/// Programs that only read, whatever their arguments.
const READERS: &[&str] = &[
    "cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "paste", "pwd", "rev", "seq",
    "stat", "tail", "tr", "true", "uname", "wc", "which", "whoami",
];
/// Programs that only read on Linux; elsewhere other programs may have these names.
const READERS_ON_LINUX: &[&str] = &["numfmt", "tac"];

/// Arguments that make `find` write, delete or start programs.
const FIND_ACTS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf"];
/// Options that make `rg` start programs, with and without a value.
const RG_STARTS: &[&str] = &["--pre", "--hostname-bin"];
const RG_UNPACKS: &str = "--search-zip";
/// Short options of `rg` whose value is the rest of the word.
const RG_VALUES: &str = "ABCEMTdefgjmrt";
/// Options of `uniq` that take a word as their value.
const UNIQ_VALUES: &[&str] = &["-f", "-s", "-w", "--skip-fields", "--skip-chars", "--check-chars"];
/// Options of `git` itself that change nothing about what it reads and starts. All others do, or may one day.
const GIT_HARMLESS: &[&str] = &[
    "--no-pager",
    "-P",
    "--no-optional-locks",
    "--no-replace-objects",
    "--no-lazy-fetch",
    "--no-advice",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
];
const GIT_READS: &[&str] = &["status", "log", "diff", "show", "branch"];
/// Options that make those subcommands write files or start programs. They may be shortened.
const GIT_ACTS: &[&str] = &["output", "ext-diff", "textconv", "exec", "paginate", "show-signature"];
const BRANCH_LISTS: &[&str] =
    &["--list", "-l", "--show-current", "-a", "--all", "-r", "--remotes", "-v", "-vv", "--verbose"];

/// What is known of a command that only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// The command only reads files.
    Files,
    /// The command is `git`, which only reads as long as the repository names no programs for it to start.
    Repository,
}

/// What is known of a command that only reads: the command, or everything in its script. `is_in_script` means that a
/// shell reads its words.
pub fn reads(part: &CommandPart, is_in_script: bool, programs: &Programs, platform: Platform) -> Option<Reads> {
    let program = part.words.first()?;
    if !part.inner.is_empty() {
        let inner = part.inner.iter().map(|inner| reads(inner, true, programs, platform));
        let inner = inner.collect::<Option<Vec<_>>>()?;
        return programs.is_known_shell(program).then(|| most(&inner));
    }
    // Text that a shell replaces may become an option.
    let is_literal = part.mark.is_none();
    let reads = only_reads(&part.words, is_literal, platform)?;
    programs.is_systems(program, is_in_script).then_some(reads)
}

fn most(all: &[Reads]) -> Reads {
    if all.contains(&Reads::Repository) { Reads::Repository } else { Reads::Files }
}

fn only_reads(words: &[String], is_literal: bool, platform: Platform) -> Option<Reads> {
    let (program, arguments) = words.split_first()?;
    let is_safe = match base_name(program) {
        name if READERS.contains(&name) => true,
        name if platform == Platform::Linux && READERS_ON_LINUX.contains(&name) => true,
        _ if !is_literal => false,
        "base64" => !has(arguments, |it| is_short(it, 'o', "bi") || it.starts_with("--o")),
        "find" => !has(arguments, |it| FIND_ACTS.contains(&it)),
        "rg" => !has(arguments, starts_program),
        "uniq" => n_operands(arguments) <= 1,
        "git" => return git_only_reads(arguments).then_some(Reads::Repository),
        "sed" => matches!(arguments, [quiet, lines, files @ ..]
            if quiet == "-n" && prints_lines(lines) && files.len() <= 1 && !has(files, |it| it.starts_with('-'))),
        _ => false,
    };
    is_safe.then_some(Reads::Files)
}

fn has(arguments: &[String], is: impl Fn(&str) -> bool) -> bool {
    arguments.iter().any(|argument| is(argument))
}

/// Whether an argument is this option, alone or with `=` and a value.
fn is_option(argument: &str, option: &str) -> bool {
    argument.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// Whether an argument has this letter as an option. The rest of a word behind a letter of `values` is a value.
fn is_short(argument: &str, letter: char, values: &str) -> bool {
    let Some(letters) = argument.strip_prefix('-').filter(|it| !it.starts_with('-')) else {
        return false;
    };
    letters.chars().take_while(|it| *it == letter || !values.contains(*it)).any(|it| it == letter)
}

fn starts_program(argument: &str) -> bool {
    let is_named = RG_STARTS.iter().any(|option| is_option(argument, option)) || argument == RG_UNPACKS;
    is_named || is_short(argument, 'z', RG_VALUES)
}

/// How many files `uniq` is given. `uniq` writes to the second.
fn n_operands(arguments: &[String]) -> usize {
    let (mut n, mut rest) = (0, arguments.iter());
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--" => return n + rest.len(),
            word if UNIQ_VALUES.contains(&word) => {
                rest.next();
            }
            "-" => n += 1,
            word if word.starts_with('-') => {}
            _ => n += 1,
        }
    }
    n
}

fn git_only_reads(arguments: &[String]) -> bool {
    let n_harmless = arguments.iter().take_while(|it| GIT_HARMLESS.contains(&it.as_str())).count();
    let Some((command, rest)) = arguments[n_harmless..].split_first() else {
        return false;
    };
    let lists_branches = |it: &String| BRANCH_LISTS.contains(&it.as_str()) || it.starts_with("--format=");
    let is_known = GIT_READS.contains(&command.as_str());
    is_known && !has(rest, git_acts) && (command != "branch" || rest.iter().all(lists_branches))
}

/// Whether an option makes `git` write a file or start a program.
fn git_acts(argument: &str) -> bool {
    // A value of the configuration can name a program to start.
    if argument.starts_with("-c") {
        return true;
    }
    let name = argument.strip_prefix("--").map(|it| it.split('=').next().unwrap_or(it)).unwrap_or_default();
    !name.is_empty() && name != "text" && GIT_ACTS.iter().any(|acts| acts.starts_with(name))
}

/// Whether a script of `sed` only prints lines, as `3p` and `1,3p` do.
fn prints_lines(script: &str) -> bool {
    let Some(range) = script.strip_suffix('p') else {
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
    use crate::approval::part::ShellFeature;
    use crate::approval::program::testing::programs;

    fn is_known_safe(part: &CommandPart, platform: Platform) -> bool {
        let found = programs(part.words.first().map(String::as_str));
        reads(part, true, &found, platform).is_some()
    }

    #[track_caller]
    fn check_on(platform: Platform, is_safe: bool, commands: &str) {
        for line in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words = shlex::split(line).expect("a fixture can be split");
            assert_eq!(is_known_safe(&CommandPart::new(words), platform), is_safe, "{line}");
        }
    }

    #[test]
    fn readers_are_safe_where_the_system_has_them() {
        check_on(
            Platform::Linux,
            true,
            "cat a\ncd /\n/usr/bin/ls -la\necho hi\ngrep -r x .\nwhich zsh\ntac a\nnumfmt 3",
        );
        check_on(Platform::MacOs, false, "tac a\nnumfmt 3");
        check_on(Platform::Linux, false, "touch a\nmkdir a\nmake\ncatx\npython3 -c 1\n''");
        check_on(Platform::Linux, false, "./cat a\n/tmp/evil/ls\nsub/git status\n/w/bin/rg x\nbin/cd /\n../../bin/ls");
        assert!(!is_known_safe(&CommandPart::new(Vec::new()), Platform::Linux));
        let nothing = Programs::default();
        let ls = CommandPart::new(vec!["ls".to_owned()]);
        assert_eq!(reads(&ls, true, &nothing, Platform::Linux), None, "not looked up");
    }

    #[test]
    fn what_a_shell_replaces_may_become_an_option() {
        for (line, is_safe) in [
            ("cat *", true),
            ("ls {a,b}", true),
            ("rg *", false),
            ("find *", false),
            ("git log *", false),
            ("uniq *", false),
        ] {
            let words = line.split(' ').map(str::to_owned).collect();
            let part = CommandPart { mark: Some(ShellFeature::Glob), ..CommandPart::new(words) };
            assert_eq!(is_known_safe(&part, Platform::Linux), is_safe, "{line}");
        }
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
            uniq
            uniq -c a
            uniq -f 2 -w 3 a
            uniq -
            rg -gz* x
            rg -e z
            rg -n --no-zip-files x
        ";
        let unsafe_ones = "
            base64 -o b a
            base64 -ob a
            base64 --output b
            base64 --out=b
            base64 -Do b a
            uniq a b
            uniq -c a b
            uniq -- a b
            uniq - b
            uniq -f 1 a b
            rg -uz x
            rg -iz x
            sed -n 1p -ffile
            sed -n 1p -i
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
            git --no-pager -P log --text
            git diff --output-indicator-new=x
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
            git -C /w status
            git --git-dir /w/.git log
            git --git-dir=.evil diff
            git --work-tree=. status
            git --exec-path=/tmp/evil status
            git --namespace=x log
            git --super-prefix=x log
            git -p log
            git --paginate log
            git --bare log
            git log --outp=a
            git diff --ext
            git log --show-signature
        ";
        check_on(Platform::Linux, true, safe);
        check_on(Platform::Linux, false, unsafe_ones);
    }

    #[test]
    fn a_script_is_safe_when_everything_in_it_is() {
        let found = |shell: &str, inner: &[&str]| {
            let words = [shell, "-lc", "x"].map(str::to_owned).to_vec();
            let inner = inner.iter().map(|line| CommandPart::new(shlex::split(line).unwrap())).collect();
            let part = CommandPart { inner, ..CommandPart::new(words) };
            reads(&part, true, &programs([shell, "ls", "git", "touch"]), Platform::Linux)
        };
        assert_eq!(found("bash", &["ls", "ls"]), Some(Reads::Files));
        assert_eq!(found("/bin/sh", &["ls", "git status"]), Some(Reads::Repository));
        assert_eq!(found("bash", &["ls", "touch a"]), None);
        assert_eq!(found("bash", &[]), None);
        assert_eq!(found("./bash", &["ls"]), None);
    }
}
