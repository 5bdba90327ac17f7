//! The meaning of single programs' arguments: which programs read, list and search.

use pellucid_protocol::parsed_command::ParsedCommand;

use super::join;

/// Flags of these programs that are followed by a value.
const LS: &[&str] = &["-I", "-w", "--block-size", "--format", "--time-style", "--color", "--quoting-style"];
const EZA: &[&str] = &["-I", "--ignore-glob", "--color", "--sort", "--time-style", "--time"];
const TREE: &[&str] = &["-L", "-P", "-I", "--charset", "--filelimit", "--sort"];
const DU: &[&str] = &["-d", "--max-depth", "-B", "--block-size", "--exclude", "--time-style"];
const RG: &[&str] = &[
    "-g",
    "--glob",
    "--iglob",
    "-t",
    "--type",
    "--type-add",
    "--type-not",
    "-m",
    "--max-count",
    "-A",
    "-B",
    "-C",
    "--context",
    "--max-depth",
];
const GREP: &[&str] = &["-m", "--max-count", "-A", "--after-context", "-B", "--before-context", "-C", "--context"];
const LS_FILES: &[&str] = &["--exclude", "--exclude-from"];
const FD: &[&str] = &["-t", "--type", "-e", "--extension", "-E", "--exclude", "--search-path"];
const AG: &[&str] = &["-G", "-g", "--file-search-regex", "--ignore-dir", "--path-to-ignore"];
const BAT: &[&str] =
    &["--theme", "--language", "--style", "--terminal-width", "--tabs", "--line-range", "--map-syntax"];
const LESS: &[&str] =
    &["-p", "-P", "-x", "-y", "-z", "-j", "--pattern", "--prompt", "--tabs", "--shift", "--jump-target"];
const NL: &[&str] = &["-s", "-w", "-v", "-i", "-b"];
const SED: &[&str] = &["-e", "-f", "--expression", "--file"];

/// Calls in a Python program that walk through folders.
const PYTHON_WALKS: [&str; 7] =
    ["os.walk", "os.listdir", "os.scandir", "glob.glob", "glob.iglob", "pathlib.Path", ".rglob("];

/// Describes one command by its program.
pub(super) fn summary(words: &[String]) -> ParsedCommand {
    let cmd = join(words);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((name, arguments)) = words.split_first() else { return ParsedCommand::Unknown { cmd } };
    let kind = match (*name, arguments) {
        ("ls", arguments) => list_first(arguments, LS),
        ("eza" | "exa", arguments) => list_first(arguments, EZA),
        ("tree", arguments) => list_first(arguments, TREE),
        ("du", arguments) => list_first(arguments, DU),
        ("git", ["ls-files", arguments @ ..]) => list_first(arguments, LS_FILES),
        ("git", ["grep", arguments @ ..]) | ("grep" | "egrep" | "fgrep", arguments) => grep(arguments),
        ("rg" | "rga" | "ripgrep-all", arguments) => rg(arguments),
        ("fd", arguments) => fd(arguments),
        ("find", arguments) => find(arguments),
        ("ag" | "ack" | "pt", arguments) => search_first(&operands(arguments, AG)),
        ("cat" | "more", arguments) => read_only(&operands(arguments, &[])),
        ("bat" | "batcat", arguments) => read_only(&operands(arguments, BAT)),
        ("less", arguments) => read_only(&operands(arguments, LESS)),
        ("head", arguments) => read(lines_file(arguments, is_count)),
        ("tail", arguments) => read(lines_file(arguments, is_tail_count)),
        ("awk", arguments) => read(awk_file(arguments)),
        ("nl", arguments) => read(operands(arguments, NL).first().copied()),
        ("sed", arguments) => read(sed_file(arguments)),
        (name, arguments) if name.starts_with("python") && walks_folders(arguments) => Kind::List(None),
        _ => Kind::Unknown,
    };
    let owned = |text: &str| text.to_owned();
    match kind {
        Kind::Read(path) => ParsedCommand::Read { cmd, name: short(path), path: owned(path) },
        Kind::List(path) => ParsedCommand::ListFiles { cmd, path: path.map(short) },
        Kind::Search(query, path) => ParsedCommand::Search { cmd, query: query.map(owned), path: path.map(short) },
        Kind::Unknown => ParsedCommand::Unknown { cmd },
    }
}

/// Whether a command only shapes what another one writes.
pub(super) fn is_helper(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((name, arguments)) = words.split_first() else { return false };
    match *name {
        "wc" | "tr" | "cut" | "sort" | "uniq" | "tee" | "column" | "yes" | "printf" => true,
        "head" => has_no_file(arguments, is_count),
        "tail" => has_no_file(arguments, is_tail_count),
        "awk" => awk_file(arguments).is_none(),
        "nl" => operands(arguments, NL).is_empty(),
        "sed" => sed_file(arguments).is_none(),
        "xargs" => !changes_files(arguments),
        _ => false,
    }
}

enum Kind<'a> {
    Read(&'a str),
    List(Option<&'a str>),
    Search(Option<&'a str>, Option<&'a str>),
    Unknown,
}

fn read(path: Option<&str>) -> Kind<'_> {
    path.map_or(Kind::Unknown, Kind::Read)
}

/// A read of exactly one file; otherwise the kind is not known.
fn read_only<'a>(files: &[&'a str]) -> Kind<'a> {
    match files {
        [file] => Kind::Read(file),
        _ => Kind::Unknown,
    }
}

fn list_first<'a>(arguments: &[&'a str], with_value: &[&str]) -> Kind<'a> {
    Kind::List(operands(arguments, with_value).first().copied())
}

fn search_first<'a>(operands: &[&'a str]) -> Kind<'a> {
    Kind::Search(operands.first().copied(), operands.get(1).copied())
}

/// The arguments that are neither flags nor their values.
fn operands<'a>(arguments: &[&'a str], with_value: &[&str]) -> Vec<&'a str> {
    let mut operands = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if *argument == "--" {
            operands.extend(arguments);
            break;
        } else if with_value.contains(argument) {
            arguments.next();
        } else if !argument.starts_with('-') {
            operands.push(*argument);
        }
    }
    operands
}

fn rg<'a>(arguments: &[&'a str]) -> Kind<'a> {
    let is_listing = arguments.contains(&"--files");
    // Arguments after `--` are treated like the others.
    let arguments: Vec<&str> = arguments.iter().copied().filter(|it| *it != "--").collect();
    let operands = operands(&arguments, RG);
    if is_listing { Kind::List(operands.first().copied()) } else { search_first(&operands) }
}

fn grep<'a>(arguments: &[&'a str]) -> Kind<'a> {
    let mut pattern = None;
    let mut operands = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match *argument {
            "--" => {
                operands.extend(arguments);
                break;
            }
            "-e" | "--regexp" | "-f" | "--file" => pattern = pattern.or(arguments.next().copied()),
            flag if GREP.contains(&flag) => {
                arguments.next();
            }
            flag if flag.starts_with('-') => {}
            operand => operands.push(operand),
        }
    }
    match pattern {
        Some(pattern) => Kind::Search(Some(pattern), operands.first().copied()),
        None => search_first(&operands),
    }
}

fn fd<'a>(arguments: &[&'a str]) -> Kind<'a> {
    match operands(arguments, FD)[..] {
        [] => Kind::List(None),
        [path] if path == "." || path == ".." || path.contains(['/', '\\']) => Kind::List(Some(path)),
        [query] => Kind::Search(Some(query), None),
        [query, path, ..] => Kind::Search(Some(query), Some(path)),
    }
}

fn find<'a>(arguments: &[&'a str]) -> Kind<'a> {
    let path = arguments.iter().copied().find(|it| !it.starts_with('-') && !matches!(*it, "!" | "(" | ")"));
    let test = arguments.iter().position(|it| matches!(*it, "-name" | "-iname" | "-path" | "-regex"));
    match test.and_then(|at| arguments.get(at + 1)) {
        Some(query) => Kind::Search(Some(query), path),
        None => Kind::List(path),
    }
}

fn is_count(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The last lines can be counted from the beginning too.
fn is_tail_count(text: &str) -> bool {
    is_count(text.strip_prefix('+').unwrap_or(text))
}

/// The file of `head` and `tail`.
fn lines_file<'a>(arguments: &[&'a str], is_count: fn(&str) -> bool) -> Option<&'a str> {
    let is_operand = |it: &&str| !it.starts_with('-');
    match arguments {
        ["-n", count, rest @ ..] if is_count(count) => rest.iter().copied().find(is_operand),
        [flag, rest @ ..] if flag.strip_prefix("-n").is_some_and(is_count) => rest.iter().copied().find(is_operand),
        [file] if is_operand(file) => Some(file),
        _ => None,
    }
}

/// Whether `head` or `tail` reads what it is given.
fn has_no_file(arguments: &[&str], is_count: fn(&str) -> bool) -> bool {
    match arguments {
        [] => true,
        [argument] => argument.starts_with('-'),
        ["-n" | "-c", count] => is_count(count),
        _ => false,
    }
}

fn awk_file<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    let has_program_file = arguments.contains(&"-f") || arguments.contains(&"--file");
    let operands = operands(arguments, &["-F", "-v", "-f", "--field-separator", "--assign", "--file"]);
    operands.get(if has_program_file { 0 } else { 1 }).copied()
}

/// The file of `sed -n 'N,Mp'`; `None` for any other use.
fn sed_file<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    if !arguments.contains(&"-n") || !arguments.iter().any(|it| is_line_range(it)) {
        return None;
    }
    let arguments: Vec<&str> = arguments.iter().copied().filter(|it| *it != "--").collect();
    operands(&arguments, SED).into_iter().find(|it| !is_line_range(it))
}

fn is_line_range(script: &str) -> bool {
    let Some(range) = script.strip_suffix('p') else { return false };
    match range.split_once(',') {
        Some((first, last)) => is_count(first) && is_count(last),
        None => is_count(range),
    }
}

/// Whether what `xargs` starts writes to files in place.
fn changes_files(arguments: &[&str]) -> bool {
    let starts = |prefixes: &[&str]| arguments.iter().any(|it| prefixes.iter().any(|prefix| it.starts_with(prefix)));
    let program = arguments.iter().find(|it| matches!(**it, "sed" | "perl" | "ruby" | "rg"));
    match program {
        Some(&"sed") => starts(&["-i", "--in-place"]),
        Some(&"perl" | &"ruby") => starts(&["-i", "-pi"]),
        Some(&"rg") => arguments.contains(&"--replace"),
        _ => false,
    }
}

fn walks_folders(arguments: &[&str]) -> bool {
    let program = arguments.iter().position(|it| *it == "-c").and_then(|at| arguments.get(at + 1));
    program.is_some_and(|program| PYTHON_WALKS.iter().any(|walk| program.contains(walk)))
}

/// The last part of a path that says something.
fn short(path: &str) -> String {
    let path = path.replace('\\', "/");
    let path = path.trim_end_matches('/');
    let telling = path.rsplit('/').find(|part| !matches!(*part, "" | "build" | "dist" | "node_modules" | "src"));
    telling.unwrap_or(path).to_owned()
}
