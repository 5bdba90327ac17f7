//! `cargo xtask site`: makes the documentation as pages for a browser, in `target/site`.
//!
//! mdBook makes them from the pages as they lie in the project, in the order of `docs/site/SUMMARY.md`. Then every link of every
//! page is followed: a link to a missing page or heading, and anything that a browser would load from another server, is an
//! error. Where mdBook is missing, the command says so and counts as good; links between pages are checked all the same
//! (`tidy`).
//!
//! Not here: the playground (`cargo xtask wasm --release`), which is taken along where it was made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::Outcome;
use crate::args::Args;
use crate::program;
use crate::tree::Tree;

/// The order of the pages, the settings of mdBook, and what the pages look like beyond it.
const SUMMARY: &str = "docs/site/SUMMARY.md";
const SETTINGS: &str = "docs/site/book.toml";
const STYLES: &str = "docs/site/site.css";

/// What is taken along besides pages.
const ASSETS: [&str; 4] = ["svg", "png", "json", "toml"];

/// What a browser would load by itself. An address in a link is only followed by a person.
const LOADED: [&str; 5] = ["<script src=\"", "<img src=\"", "<link rel=\"stylesheet\" href=\"", "@import", "url("];

/// Runs `cargo xtask site`.
pub fn run(args: Args) -> Result<Outcome> {
    args.finish()?;
    if !program::is_installed("mdbook") {
        println!("site: skipped, mdbook is not installed; `cargo install mdbook --locked` installs it");
        return Ok(Outcome::Good);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| program::root().join("target"), PathBuf::from);
    let (book, site) = (target.join("site-book"), target.join("site"));
    stage(&book)?;
    empty(&site)?;
    let mut mdbook = Command::new("mdbook");
    mdbook.args(["build", "--dest-dir"]).arg(&site).arg(&book);
    let output = mdbook.output().context("could not start mdbook")?;
    if !output.status.success() {
        bail!("mdbook failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let playground = target.join("playground");
    if playground.is_dir() {
        copy(&playground, &site.join("playground"))?;
    }
    let pages = read_pages(&site)?;
    let problems = problems(&pages, &files(&site)?);
    print!("{problems}");
    println!("site: {} pages in {}", pages.len(), site.display());
    Ok(if problems.is_empty() { Outcome::Good } else { Outcome::Bad })
}

/// Puts the project's pages and images where mdBook reads them, at the same paths.
fn stage(book: &Path) -> Result<()> {
    empty(book)?;
    let tree = Tree::read(program::root())?;
    let source = book.join("src");
    for path in tree.files().iter().map(|file| &file.path) {
        let extension = Path::new(path).extension().and_then(|it| it.to_str()).unwrap_or_default();
        let is_asset = path.starts_with("docs/") && ASSETS.contains(&extension);
        if (extension == "md" || is_asset) && path != SUMMARY {
            let to = source.join(with_index(path));
            fs::create_dir_all(to.parent().context("a file has a folder")?)?;
            if extension == "md" {
                fs::write(to, links_to_index(&fs::read_to_string(program::root().join(path))?))?;
            } else {
                fs::copy(program::root().join(path), to)?;
            }
        }
    }
    let summary = fs::read_to_string(program::root().join(SUMMARY))?;
    fs::write(source.join("SUMMARY.md"), links_to_index(&summary))?;
    fs::copy(program::root().join(SETTINGS), book.join("book.toml"))?;
    fs::copy(program::root().join(STYLES), book.join("site.css"))?;
    Ok(())
}

/// The path of a page in the site: a browser shows the index of a folder, and versions of mdBook differ in what they make of a README.
fn with_index(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) if folder.is_empty() || folder.ends_with('/') => format!("{folder}index.md"),
        _ => path.to_owned(),
    }
}

/// A page whose links to a README lead to the index of its folder.
fn links_to_index(page: &str) -> String {
    let mut pieces = page.split("](");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find([')', '#']).unwrap_or(piece.len());
        let (link, rest) = piece.split_at(end);
        let link = if link.contains("://") { link.to_owned() } else { with_index(link) };
        text.push_str("](");
        text.push_str(&link);
        text.push_str(rest);
    }
    text
}

/// Makes an empty folder in place of whatever was there.
fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("could not empty {}", folder.display()))?;
    }
    Ok(fs::create_dir_all(folder)?)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder)?.to_string_lossy().into_owned());
            }
        }
    }
    Ok(found)
}

/// The pages of the site, by their paths. The one page with everything, for printing, repeats the others.
fn read_pages(site: &Path) -> Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    for path in files(site)? {
        if path.ends_with(".html") && !["print.html", "404.html", "toc.html"].contains(&path.as_str()) {
            pages.insert(path.clone(), fs::read_to_string(site.join(&path))?);
        }
    }
    Ok(pages)
}

/// Links that lead nowhere, and what a browser would load from elsewhere, a line each.
fn problems(pages: &BTreeMap<String, String>, files: &BTreeSet<String>) -> String {
    let mut text = String::new();
    for (path, page) in pages {
        for link in values(page, "<a href=\"").chain(values(page, "<img src=\"")) {
            if let Some(what) = problem(path, link, pages, files) {
                text.push_str(&format!("{path}: {link}: {what}\n"));
            }
        }
        for mark in LOADED {
            for address in values(page, mark).filter(|it| it.starts_with("http") || it.starts_with("//")) {
                text.push_str(&format!("{path}: a browser would load {address}\n"));
            }
        }
    }
    text
}

/// What follows each mark, up to the next quotation mark.
fn values<'a>(page: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(mark).skip(1).map(|rest| rest.split(['"', ')']).next().unwrap_or_default())
}

fn problem(from: &str, link: &str, pages: &BTreeMap<String, String>, files: &BTreeSet<String>) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let to = if path.is_empty() { from.to_owned() } else { joined(from, path) };
    let to = if to.is_empty() || to.ends_with('/') { format!("{to}index.html") } else { to };
    if !files.contains(&to) {
        return Some(format!("there is no {to}"));
    }
    let page = pages.get(&to)?;
    let is_there = heading.is_empty() || page.contains(&format!("id=\"{heading}\""));
    (!is_there).then(|| format!("{to} has no heading {heading}"))
}

/// A path as seen from the folder of a page.
fn joined(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The problems of a site of these pages, given as paths and texts.
    fn check(pages: &[(&str, &str)], expected: &str) {
        let pages: BTreeMap<String, String> =
            pages.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let files = pages.keys().cloned().chain(["docs/map.svg".to_owned()]).collect();
        assert_eq!(problems(&pages, &files), expected);
    }

    #[test]
    fn links_are_followed() {
        check(
            &[
                (
                    "index.html",
                    "<a href=\"docs/a.html#one\"> <a href=\"https://example.test\"> <a href=\"#top\"> <h1 id=\"top\">",
                ),
                ("docs/a.html", "<h2 id=\"one\"> <a href=\"../index.html\"> <a href=\"./\"> <img src=\"map.svg\">"),
                ("docs/index.html", ""),
            ],
            "",
        );
        check(
            &[
                ("index.html", "<a href=\"docs/b.html\"> <a href=\"docs/a.html#two\"> <a href=\"#top\">"),
                ("docs/a.html", "<a href=\"a.html\"> <img src=\"../map.svg\">"),
            ],
            "docs/a.html: ../map.svg: there is no map.svg\n\
             index.html: docs/b.html: there is no docs/b.html\n\
             index.html: docs/a.html#two: docs/a.html has no heading two\n\
             index.html: #top: index.html has no heading top\n",
        );
    }

    #[test]
    fn links_to_a_readme_lead_to_the_index_of_its_folder() {
        let page =
            "[a](README.md) [b](../tui/README.md#keys) [c](README.zh-CN.md) [d](https://x.test/README.md) `README.md`";
        let expected =
            "[a](index.md) [b](../tui/index.md#keys) [c](README.zh-CN.md) [d](https://x.test/README.md) `README.md`";
        assert_eq!(links_to_index(page), expected);
    }

    #[test]
    fn what_a_browser_would_load_from_elsewhere_is_found() {
        check(
            &[("index.html", "<script src=\"https://cdn.example/x.js\"> <a href=\"https://cdn.example\">")],
            "index.html: a browser would load https://cdn.example/x.js\n",
        );
    }
}
