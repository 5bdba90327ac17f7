//! Patterns for paths: `*` and `?` within a name, `**` for any folders, `[…]` and `{a,b}`.

use std::fs;
use std::path::Path;

use globset::Glob;

/// Whether a text is a pattern rather than a path.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '{'])
}

/// Paths below `base` that match a pattern, relative to `base` and in the order of their names.
pub(crate) fn expand(base: &Path, pattern: &str) -> Vec<String> {
    let mut found = Vec::new();
    for pattern in alternatives(pattern) {
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        walk(base, "", &parts, &mut found);
    }
    found
}

/// A pattern once for each of the choices in its braces.
fn alternatives(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find('{') else {
        return vec![pattern.to_owned()];
    };
    let mut depth = 0;
    let mut choices = vec![open + 1];
    for (at, c) in pattern.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '{' => depth += 1,
            ',' if depth == 1 => choices.push(at + 1),
            '}' if depth == 1 => {
                choices.push(at + 1);
                let (before, after) = (&pattern[..open], &pattern[at + 1..]);
                let choice = |pair: &[usize]| format!("{before}{}{after}", &pattern[pair[0]..pair[1] - 1]);
                return choices.windows(2).map(choice).flat_map(|pattern| alternatives(&pattern)).collect();
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    vec![pattern.to_owned()]
}

fn walk(folder: &Path, path: &str, parts: &[&str], found: &mut Vec<String>) {
    let Some((part, rest)) = parts.split_first() else {
        if !path.is_empty() && !found.iter().any(|known| known == path) {
            found.push(path.to_owned());
        }
        return;
    };
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
    if *part == "**" {
        walk(folder, path, rest, found);
        for name in names(folder).filter(|name| !name.starts_with('.')) {
            let inner = folder.join(&name);
            if inner.is_dir() && !inner.is_symlink() {
                walk(&inner, &below(&name), parts, found);
            }
        }
        return;
    }
    // A part that is no valid pattern, such as `[a`, is a plain name.
    let pattern = part.contains(['*', '?', '[']).then(|| Glob::new(part).ok()).flatten();
    let Some(pattern) = pattern else {
        let inner = folder.join(part);
        if inner.exists() {
            walk(&inner, &below(part), rest, found);
        }
        return;
    };
    let (pattern, is_hidden) = (pattern.compile_matcher(), part.starts_with('.'));
    for name in names(folder).filter(|name| is_hidden || !name.starts_with('.')) {
        if pattern.is_match(&name) {
            walk(&folder.join(&name), &below(&name), rest, found);
        }
    }
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_glob(pattern: &str, expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for path in ["a/x.md", "a/y.txt", "b/x.md", "b/deep/x.md", ".h/x.md", "[a/x.md", "x.md"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        assert_eq!(expand(folder.path(), pattern), expected, "{pattern}");
    }

    #[test]
    fn patterns_stand_for_paths() {
        check_glob("*/x.md", &["[a/x.md", "a/x.md", "b/x.md"]);
        check_glob("**/x.md", &["x.md", "[a/x.md", "a/x.md", "b/x.md", "b/deep/x.md"]);
        check_glob("{a,b/deep}/?.md", &["a/x.md", "b/deep/x.md"]);
        check_glob("[a-b]/[!y].*", &["a/x.md", "b/x.md"]);
        check_glob(".*/x.md", &[".h/x.md"]);
        check_glob("none/*", &[]);
        check_glob("{a", &[]);
        check_glob("[a/*.md", &["[a/x.md"]);
    }
}
