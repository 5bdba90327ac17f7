//! Machine paths: no file names a folder that exists on one person's machine.
//!
//! Fixtures that need a home use `/home/ada`, which belongs to no real person.

use crate::tidy::Problem;
use crate::tree::Tree;

/// Folders in which build and test machines keep their files. Written in two halves, so that this file does not break
/// its own rule.
const FOLDERS: &[&str] = &[concat!("/", "work/"), concat!("/", "root/"), concat!("/", "Users/")];
const HOMES: &str = concat!("/", "home/");

/// The only user whose home may be named.
const EXAMPLE: &str = "ada";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts(|_| true) {
        for (at, line) in text.lines().enumerate() {
            if let Some(found) = machine_path(line) {
                problems.push(Problem::at_line(path, at + 1, format!("names {found}")));
            }
        }
    }
    problems
}

fn machine_path(line: &str) -> Option<&str> {
    let folder = FOLDERS.iter().find_map(|folder| Some((first_root(line, folder)?, folder.len())));
    if let Some((at, n_bytes)) = folder {
        return Some(&line[at..at + n_bytes]);
    }
    line.match_indices(HOMES).filter(|(at, _)| is_root(line, *at)).find_map(|(at, _)| {
        let user = user_of(&line[at + HOMES.len()..])?;
        (user != EXAMPLE).then(|| &line[at..at + HOMES.len() + user.len()])
    })
}

/// The user whose home this is, unless it is a file (`AGENTS.md`) or hidden.
fn user_of(path: &str) -> Option<&str> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let n_bytes = path.find(|c| !is_name(c)).unwrap_or(path.len());
    let is_folder = path[n_bytes..].starts_with('/');
    // A full stop may end the sentence.
    let name = path[..n_bytes].trim_end_matches('.');
    let is_user = !name.is_empty() && !name.starts_with('.') && (is_folder || !name.contains('.'));
    is_user.then_some(name)
}

fn first_root(line: &str, folder: &str) -> Option<usize> {
    line.match_indices(folder).map(|(at, _)| at).find(|at| is_root(line, *at))
}

/// Whether a path begins here, rather than continuing a folder or a variable before it.
fn is_root(line: &str, at: usize) -> bool {
    !line[..at]
        .chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '}' | '>' | '~' | '*' | ')'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing;

    #[test]
    fn holds_here() {
        testing::check_holds_here(check);
    }

    #[test]
    fn a_folder_of_a_machine_is_found() {
        let (work, root, home) = (FOLDERS[0], FOLDERS[1], HOMES);
        testing::check_finds(
            check,
            &format!(
                "
== a.md
{home}ada/project, ${{tmp}}{work}x, {{tmp}}{home}bob, a{root}b, {home}<user>, {home}AGENTS.md, {home}.codex/x
see {work}main
\"{root}.cargo\"
{home}bob/x
it is {home}bob.
== b.toml
cwd = \"{work}\"
"
            ),
            &format!(
                "
a.md:2: names {work}
a.md:3: names {root}
a.md:4: names {home}bob
a.md:5: names {home}bob
b.toml:1: names {work}
"
            ),
        );
    }
}
