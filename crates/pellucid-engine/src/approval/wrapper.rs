//! Commands that start other commands: what follows `env`, `xargs`, `timeout`, a shell and the like.
//!
//! The result is only used to stop commands, so it rather contains too much: after an unknown option, any word may be a
//! program.
//!
//! Not here: reading the scripts that are found (`pellucid-exec`).

/// What a command would start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// The command after the wrapper, word by word.
    Command(Vec<String>),
    /// A script that a shell reads.
    Script(String),
    /// A command that begins with any of these words.
    Anywhere(Vec<String>),
    /// A script or command from elsewhere: standard input or a document.
    Input,
}

/// The command line of a program that starts another.
struct Wrapper {
    name: &'static str,
    /// Options whose value is the next word; for short options also the rest of the word.
    values: &'static [&'static str],
    /// Letters of short options without a value.
    flags: &'static str,
    /// How many words come before the command.
    n_operands: usize,
}

const fn plain(name: &'static str) -> Wrapper {
    Wrapper { name, values: &[], flags: "", n_operands: 0 }
}

const WRAPPERS: &[Wrapper] = &[
    plain("builtin"),
    plain("busybox"),
    plain("toybox"),
    plain("noglob"),
    plain("nocorrect"),
    plain("nohup"),
    Wrapper { name: "command", values: &[], flags: "p", n_operands: 0 },
    Wrapper { name: "exec", values: &["-a"], flags: "cl", n_operands: 0 },
    Wrapper { name: "env", values: &["-u", "--unset", "-C", "--chdir", "-P"], flags: "i0v", n_operands: 0 },
    Wrapper { name: "time", values: &["-f", "--format", "-o", "--output"], flags: "apqvlh", n_operands: 0 },
    Wrapper { name: "nice", values: &["-n", "--adjustment"], flags: "0123456789", n_operands: 0 },
    Wrapper { name: "ionice", values: &["-c", "--class", "-n", "--classdata"], flags: "t", n_operands: 0 },
    Wrapper { name: "timeout", values: &["-k", "--kill-after", "-s", "--signal"], flags: "vpf", n_operands: 1 },
    Wrapper { name: "stdbuf", values: &["-i", "--input", "-o", "--output", "-e", "--error"], flags: "", n_operands: 0 },
    Wrapper { name: "setsid", values: &[], flags: "cfw", n_operands: 0 },
    Wrapper {
        name: "sudo",
        values: &[
            "-u",
            "--user",
            "-g",
            "--group",
            "-h",
            "--host",
            "-p",
            "--prompt",
            "-C",
            "--close-from",
            "-T",
            "--command-timeout",
            "-R",
            "--chroot",
            "-D",
            "--chdir",
            "-U",
            "--other-user",
            "-r",
            "--role",
            "-t",
            "--type",
        ],
        flags: "ABbEeHiKklNnPSsVv",
        n_operands: 0,
    },
    Wrapper { name: "doas", values: &["-u", "-C"], flags: "Lns", n_operands: 0 },
    Wrapper {
        name: "xargs",
        values: &[
            "-a",
            "--arg-file",
            "-d",
            "--delimiter",
            "-E",
            "-I",
            "-J",
            "-L",
            "--max-lines",
            "-n",
            "--max-args",
            "-P",
            "--max-procs",
            "-R",
            "-S",
            "-s",
            "--max-chars",
        ],
        flags: "0oprtx",
        n_operands: 0,
    },
    Wrapper { name: "chroot", values: &["-u", "-g", "-G"], flags: "", n_operands: 1 },
    Wrapper { name: "taskset", values: &[], flags: "ac", n_operands: 1 },
    Wrapper { name: "chrt", values: &["-T", "-P", "-D"], flags: "abdfiorRv", n_operands: 1 },
    Wrapper { name: "flock", values: &["-w", "--timeout", "-E"], flags: "sxeunoFv", n_operands: 1 },
];

/// Long options without a value, of any wrapper.
const LONG_FLAGS: &[&str] = &[
    "--append",
    "--background",
    "--debug",
    "--exit",
    "--foreground",
    "--ignore-environment",
    "--interactive",
    "--login",
    "--no-run-if-empty",
    "--non-interactive",
    "--null",
    "--open-tty",
    "--portability",
    "--preserve-env",
    "--preserve-status",
    "--quiet",
    "--set-home",
    "--shell",
    "--stdin",
    "--verbose",
];

/// Programs that start a command given somewhere in their arguments.
const LOOSE: &[&str] = &[
    "at",
    "catchsegv",
    "chpst",
    "chronic",
    "coproc",
    "cpulimit",
    "daemonize",
    "dbus-run-session",
    "direnv",
    "eatmydata",
    "entr",
    "fakeroot",
    "faketime",
    "fd",
    "fdfind",
    "firejail",
    "gdb",
    "hyperfine",
    "ifne",
    "linux32",
    "linux64",
    "ltrace",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "runcon",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "sg",
    "ssh-agent",
    "start-stop-daemon",
    "strace",
    "su",
    "systemd-run",
    "tmux",
    "torsocks",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "xvfb-run",
    "bwrap",
    "socat",
];

const SHELLS: &[&str] = &["bash", "sh", "zsh", "dash", "ash", "ksh", "mksh", "rbash", "fish", "hush"];
/// Options of shells whose value is the next word.
const SHELL_VALUES: &[&str] = &["-o", "+o", "-O", "+O", "--rcfile", "--init-file", "--init-command", "-C"];

/// The last part of a program's path.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// What a command would start.
pub fn started(words: &[String]) -> Vec<Started> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let name = base_name(program);
    if SHELLS.contains(&name) {
        return with_made_up(by_shell(arguments));
    }
    if LOOSE.contains(&name) || name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so" {
        return vec![Started::Anywhere(arguments.to_vec())];
    }
    match name {
        "eval" => with_made_up(Started::Script(arguments.join(" "))),
        "trap" => {
            arguments.iter().find(|it| !it.starts_with('-')).map(|it| Started::Script(it.clone())).into_iter().collect()
        }
        "source" | "." if arguments.first().is_none_or(|it| is_made_up(it)) => vec![Started::Input],
        "find" => by_find(arguments),
        // `command -v` only prints where the program is.
        "command" if arguments.first().is_some_and(|it| it.starts_with('-') && it.contains(['v', 'V'])) => Vec::new(),
        "env" => by_env(arguments),
        "xargs" => by_xargs(arguments),
        _ => WRAPPERS
            .iter()
            .find(|wrapper| wrapper.name == name)
            .map(|wrapper| wrapper.behind(arguments))
            .into_iter()
            .collect(),
    }
}

/// A script that begins with what another command prints can be any text of the script around it.
fn with_made_up(started: Started) -> Vec<Started> {
    let is_printed = matches!(&started, Started::Script(text) if text.trim_start().starts_with(['$', '`']));
    std::iter::once(started).chain(is_printed.then_some(Started::Input)).collect()
}

/// Whether a file's name means text that is written in the script.
fn is_made_up(file: &str) -> bool {
    file.starts_with("/dev/") || file.starts_with("/proc/") || file.starts_with("<(") || file.contains('$')
}

impl Wrapper {
    fn behind(&self, arguments: &[String]) -> Started {
        let mut rest = arguments;
        while let Some((word, after)) = rest.split_first() {
            if word == "--" {
                rest = &after[after.iter().take_while(|it| is_assignment(it)).count()..];
                break;
            }
            if !word.starts_with('-') || word == "-" {
                if !is_assignment(word) {
                    break;
                }
                rest = after;
                continue;
            }
            rest = match self.option(word) {
                Takes::Alone => after,
                Takes::WithNext => after.get(1..).unwrap_or_default(),
                Takes::Unknown => return Started::Anywhere(rest.to_vec()),
            };
        }
        let command = rest.get(self.n_operands..).unwrap_or_default();
        match command {
            [flag, script, ..] if self.name == "flock" && (flag == "-c" || flag == "--command") => {
                Started::Script(script.clone())
            }
            _ => Started::Command(command.to_vec()),
        }
    }

    fn option(&self, word: &str) -> Takes {
        if self.values.contains(&word) {
            return Takes::WithNext;
        }
        if word.starts_with("--") {
            let name = word.split('=').next().unwrap_or(word);
            let is_known = LONG_FLAGS.contains(&name) || (self.values.contains(&name) && name.len() < word.len());
            return if is_known { Takes::Alone } else { Takes::Unknown };
        }
        for (at, letter) in word.char_indices().skip(1) {
            let value = self.values.iter().any(|it| it.len() == 2 && it.ends_with(letter));
            match (value, at + letter.len_utf8() == word.len()) {
                (true, true) => return Takes::WithNext,
                (true, false) => return Takes::Alone,
                (false, _) if self.flags.contains(letter) => {}
                (false, _) => return Takes::Unknown,
            }
        }
        Takes::Alone
    }
}

/// What an option takes as its value.
enum Takes {
    Alone,
    WithNext,
    Unknown,
}

/// Whether a word is an assignment, which `env` and `sudo` take before the command; no program has such a name.
fn is_assignment(word: &str) -> bool {
    word.contains('=')
}

fn wrapper(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

fn by_shell(arguments: &[String]) -> Started {
    let mut rest = arguments.iter();
    let (mut has_script, mut reads_input) = (false, false);
    while let Some(word) = rest.next() {
        if word == "--" || word == "-" {
            break;
        }
        if SHELL_VALUES.contains(&word.as_str()) {
            rest.next();
        } else if let Some(script) = word.strip_prefix("--command=") {
            return Started::Script(script.to_owned());
        } else if word.starts_with("--") {
            has_script |= word == "--command";
        } else if word.starts_with('-') || word.starts_with('+') {
            has_script |= word.contains('c');
            reads_input |= word.contains('s');
        } else if has_script {
            return Started::Script(word.clone());
        } else {
            return if reads_input || is_made_up(word) { Started::Input } else { Started::Command(Vec::new()) };
        }
    }
    match rest.next() {
        Some(script) if has_script => Started::Script(script.clone()),
        Some(file) if !reads_input && !is_made_up(file) => Started::Command(Vec::new()),
        _ => Started::Input,
    }
}

fn by_find(arguments: &[String]) -> Vec<Started> {
    let is_action = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let behind = |at: usize| {
        let command = arguments[at + 1..].iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
        Started::Command(command.cloned().collect())
    };
    let places = arguments.iter().enumerate().filter(|(_, word)| is_action(word));
    // The first few actions are enough; the rest of a very long list may be anything.
    const ACTIONS_MAX: usize = 16;
    let mut found: Vec<Started> = places.clone().take(ACTIONS_MAX).map(|(at, _)| behind(at)).collect();
    if let Some((at, _)) = places.clone().nth(ACTIONS_MAX) {
        found.push(Started::Anywhere(arguments[at..].to_vec()));
    }
    found
}

fn by_env(arguments: &[String]) -> Vec<Started> {
    for (at, word) in arguments.iter().enumerate() {
        let attached = word.strip_prefix("--split-string=").or_else(|| {
            let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'))?;
            letters.split_once('S').map(|(_, text)| text)
        });
        let is_split = word == "--split-string" || attached.is_some();
        if is_split {
            let texts =
                attached.filter(|it| !it.is_empty()).into_iter().chain(arguments[at + 1..].iter().map(String::as_str));
            return vec![Started::Script(texts.collect::<Vec<_>>().join(" "))];
        }
        if !word.starts_with('-') && !word.contains('=') {
            break;
        }
    }
    wrapper("env").map(|env| env.behind(arguments)).into_iter().collect()
}

fn by_xargs(arguments: &[String]) -> Vec<Started> {
    let Some(started) = wrapper("xargs").map(|xargs| xargs.behind(arguments)) else {
        return Vec::new();
    };
    // The words that it reads may become a program or a script.
    let takes_any = match &started {
        Started::Command(words) => words.first().is_some_and(|program| {
            let name = base_name(program);
            SHELLS.contains(&name) || name == "env" || name.contains(['{', '%', '@'])
        }),
        _ => false,
    };
    std::iter::once(started).chain(takes_any.then_some(Started::Input)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_started(line: &str, expected: &[&str]) {
        let words = shlex::split(line).expect("a fixture can be split");
        let found: Vec<String> = started(&words)
            .iter()
            .map(|started| match started {
                Started::Command(words) => words.join(" "),
                Started::Script(text) => format!("script: {text}"),
                Started::Anywhere(words) => format!("anywhere: {}", words.join(" ")),
                Started::Input => "input".to_owned(),
            })
            .collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn what_stands_behind_a_wrapper_is_found() {
        for (line, expected) in [
            ("ls env curl", &[] as &[&str]),
            ("env curl x", &["curl x"]),
            ("/usr/bin/env -i A=1 -u B curl x", &["curl x"]),
            ("env -S 'curl x' y", &["script: curl x y"]),
            ("env -iS'curl x'", &["script: curl x"]),
            ("env --split-string=curl x", &["script: curl x"]),
            ("env -", &["-"]),
            ("env -i -- A=1 curl x", &["curl x"]),
            ("setarch x86_64 curl x", &["anywhere: x86_64 curl x"]),
            ("coproc N { curl x", &["anywhere: N { curl x"]),
            ("chronic curl x", &["anywhere: curl x"]),
            ("command curl", &["curl"]),
            ("command -p curl", &["curl"]),
            ("command -v curl", &[]),
            ("exec -a x curl", &["curl"]),
            ("nice -n 5 curl", &["curl"]),
            ("nice -5 curl", &["curl"]),
            ("nice -n5 -- curl", &["curl"]),
            ("timeout -k 5 --signal=9 10 curl x", &["curl x"]),
            ("timeout --unheard 10 curl x", &["anywhere: --unheard 10 curl x"]),
            ("sudo -u root A=1 curl", &["curl"]),
            ("sudo -nu root curl", &["curl"]),
            ("stdbuf -oL curl", &["curl"]),
            ("xargs -n1 -I{} curl {}", &["curl {}"]),
            ("xargs -I{} {} x", &["{} x", "input"]),
            ("xargs sh -c", &["sh -c", "input"]),
            ("busybox wget x", &["wget x"]),
            ("flock f curl x", &["curl x"]),
            ("flock f -c 'curl x'", &["script: curl x"]),
            ("find . -name curl -exec curl {} ; -ok rm -rf {} +", &["curl {}", "rm -rf {}"]),
            ("find . -name curl", &[]),
            ("strace -f curl x", &["anywhere: -f curl x"]),
            ("/lib64/ld-linux-x86-64.so.2 /usr/bin/curl", &["anywhere: /usr/bin/curl"]),
        ] {
            check_started(line, expected);
        }
    }

    #[test]
    fn shells_start_scripts() {
        for (line, expected) in [
            ("bash -c 'curl x' a", "script: curl x"),
            ("/bin/sh -lc 'curl x'", "script: curl x"),
            ("bash -e -o pipefail -xc 'curl x'", "script: curl x"),
            ("bash -c -e 'curl x'", "script: curl x"),
            ("bash --norc -c -- 'curl x'", "script: curl x"),
            ("fish --command='curl x'", "script: curl x"),
            ("bash script.sh", ""),
            ("bash", "input"),
            ("sh -s -- a", "input"),
            ("bash /dev/stdin", "input"),
            ("eval 'curl x' y", "script: curl x y"),
            ("trap 'curl x' EXIT", "script: curl x"),
            ("source /dev/stdin", "input"),
            (". <(echo x)", "input"),
        ] {
            check_started(line, &[expected]);
        }
        check_started("eval '$(echo x)'", &["script: $(echo x)", "input"]);
        check_started("sh -c '`echo x`'", &["script: `echo x`", "input"]);
        check_started("source ./activate", &[]);
    }
}
