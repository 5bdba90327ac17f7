//! Links: every link of a page leads to a file of the project, and the documentation for browsers has every page of `docs` and
//! every page that its pages link to.
//!
//! Not here: headings, and the pages as browsers see them (`cargo xtask site`).

use crate::tidy::Problem;
use crate::tree::Tree;

/// The order of the pages for browsers.
const SUMMARY: &str = "docs/site/SUMMARY.md";

pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let exists = |path: &str| {
        let folder = format!("{}/", path.trim_end_matches('/'));
        tree.files().iter().any(|file| file.path == path || file.path.starts_with(&folder))
    };
    for (path, text) in tree.texts(is_page) {
        // The pages of the summary are named from the root.
        let folder = if path == SUMMARY { "" } else { path.rsplit_once('/').map_or("", |(folder, _)| folder) };
        for (at, line) in lines_outside_of_code(text) {
            for link in links(line) {
                if let Some(to) = joined(folder, link).filter(|to| !to.is_empty() && !exists(to)) {
                    problems.push(Problem::at_line(path, at, format!("links to {to}, which does not exist")));
                }
            }
        }
    }
    let summary = tree.text(SUMMARY).unwrap_or_default();
    for (path, _) in tree.texts(|path| is_page(path) && path.starts_with("docs/") && path != SUMMARY) {
        // A page beside a program is for those who read its code.
        if !path.ends_with("/README.md") && !summary.contains(&format!("]({path})")) {
            problems.push(Problem::in_file(path, format!("is not in {SUMMARY}")));
        }
    }
    problems.extend(leaving(tree, summary));
    problems
}

/// Links of the site's pages to pages that the site does not have.
fn leaving(tree: &Tree, summary: &str) -> Vec<Problem> {
    let has = |path: &str| summary.contains(&format!("]({path})"));
    let mut problems = Vec::new();
    for (path, text) in tree.texts(|path| is_page(path) && has(path)) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (at, line) in lines_outside_of_code(text) {
            for link in links(line) {
                if let Some(to) =
                    joined(folder, link).filter(|to| to.ends_with(".md") && tree.text(to).is_some() && !has(to))
                {
                    problems.push(Problem::at_line(path, at, format!("links to {to}, which is not in {SUMMARY}")));
                }
            }
        }
    }
    problems
}

/// Pages for people. Texts of packs, of tests and of the program itself are not pages.
fn is_page(path: &str) -> bool {
    path.ends_with(".md")
        && !["/packs/", "/src/", "/tests/", "/examples/", "/corpus/"]
            .iter()
            .any(|part| path.starts_with("crates/") && path.contains(part))
}

/// The lines of a page that are not in a block of code, counted from 1.
fn lines_outside_of_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The links of a line, without those in code and those to other servers.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let mut place = 0;
    let addresses = line.split("](").skip(1).zip(line.split("](").scan(0, move |_, piece| {
        place += piece.matches('`').count();
        Some(place)
    }));
    // Behind an odd number of marks the line is code.
    addresses
        .filter(|(_, n_marks)| n_marks % 2 == 0)
        .filter_map(|(rest, _)| Some(rest.split_once(')')?.0))
        .filter(|link| !link.contains("://") && !link.starts_with(['#', '<']) && !link.contains(' '))
}

/// A path as seen from a folder; absent for one that leads out of the project or to the page itself.
fn joined(folder: &str, link: &str) -> Option<String> {
    let path = link.split('#').next().filter(|path| !path.is_empty())?;
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
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
    fn links_that_lead_nowhere_and_pages_without_a_place_are_found() {
        testing::check_finds(
            check,
            "== docs/site/SUMMARY.md
- [A](docs/a.md)
== docs/a.md
[b](b.md), [c](sub/c.md#top), [`d`](../d.md), [up](../), [else](https://example.test/x.md)
`[no](link.md)`
```text
[no](link.md)
```
== docs/b.md
# B
",
            "
docs/a.md:1: links to docs/sub/c.md, which does not exist
docs/a.md:1: links to d.md, which does not exist
docs/b.md: is not in docs/site/SUMMARY.md
docs/a.md:1: links to docs/b.md, which is not in docs/site/SUMMARY.md
",
        );
    }
}
