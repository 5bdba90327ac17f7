//! What a command outside of the sandbox depends on that commands inside could change meanwhile: folders, and the
//! programs and scripts that it names.
//!
//! Paths are compared by their names; the caller has followed the links.

use std::path::Path;
use std::path::PathBuf;

use super::part::CommandParts;

/// Programs that run the script in the first file of their arguments.
const INTERPRETERS: [&str; 17] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python2", "python3", "node", "deno", "bun", "perl", "ruby",
    "php", "lua", "pwsh",
];

/// Commands of shells that run the script in a file.
const INCLUSIONS: [&str; 2] = [".", "source"];

/// Whether writing in the folders of `writable` can change something in those of `reach`, or the other way round.
pub fn can_change(writable: &[PathBuf], reach: &[PathBuf]) -> bool {
    let touches = |one: &Path, other: &Path| one.starts_with(other) || other.starts_with(one);
    writable.iter().any(|root| reach.iter().any(|place| touches(root, place)))
}

/// The files that commands run, as they are written: programs by a path, and scripts of interpreters.
pub fn named_files(argv: &[String], parts: &CommandParts) -> Vec<String> {
    let mut named = Vec::new();
    let seen = parts.iter().flat_map(|part| std::iter::once(&part.words).chain(part.seen.iter().map(|it| &it.words)));
    for words in std::iter::once(argv).chain(seen.map(Vec::as_slice)) {
        for word in named_by(words) {
            if !named.contains(word) {
                named.push(word.clone());
            }
        }
    }
    named
}

fn named_by(words: &[String]) -> impl Iterator<Item = &String> {
    let program = words.first();
    let name = program.map_or("", |word| word.rsplit('/').next().unwrap_or_default());
    let is_interpreter = INTERPRETERS.contains(&name) || INCLUSIONS.contains(&name);
    // After an option that takes it, this word is the text of a script, and no file has such a name.
    let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
    program.filter(|word| word.contains('/')).into_iter().chain(script.filter(|_| is_interpreter))
}

#[cfg(test)]
mod tests {
    use super::super::part::CommandPart;
    use super::super::part::Split;
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[track_caller]
    fn check_named(script: &str, expected: &str) {
        let parts = script.split(';').map(|part| CommandPart::new(words(part))).collect();
        let parts = CommandParts::of_script("/bin/bash", parts, Split::Plain).unwrap();
        assert_eq!(named_files(&words("/bin/bash -lc SCRIPT"), &parts).join(" "), expected);
    }

    #[test]
    fn what_is_to_be_run_is_named() {
        check_named("./build.sh --fast", "/bin/bash SCRIPT ./build.sh");
        check_named("sh build.sh out.log", "/bin/bash SCRIPT build.sh");
        check_named("/usr/bin/python3 -u tools/x.py a.py", "/bin/bash SCRIPT /usr/bin/python3 tools/x.py");
        check_named("cd sub; . ./env; make", "/bin/bash SCRIPT ./env");
        check_named("cat notes.txt; cp a b", "/bin/bash SCRIPT");
        check_named("bash -e build.sh", "/bin/bash SCRIPT build.sh");
    }

    #[track_caller]
    fn check_change(writable: &[&str], reach: &[&str], expected: bool) {
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(can_change(&paths(writable), &paths(reach)), expected, "{writable:?} {reach:?}");
    }

    #[test]
    fn folders_that_lie_in_each_other_can_change() {
        check_change(&["/w"], &["/w/sub"], true);
        check_change(&["/w/sub"], &["/w"], true);
        check_change(&["/w", "/tmp"], &["/tmp/x.sh"], true);
        check_change(&["/work", "/tmp"], &["/w"], false);
        check_change(&[], &["/"], false);
    }
}
