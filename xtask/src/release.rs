//! `cargo xtask release VERSION`: sets the version wherever it is written, and dates the changelog.
//!
//! It checks before it writes, and neither commits nor pushes: `docs/release.md` says what follows.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::Outcome;
use crate::args::Args;
use crate::program;

/// Files with the version in a line that begins and ends so.
const PLACES: &[(&str, &str, &str)] = &[
    ("Cargo.toml", "version = \"", "\""),
    ("npm/engine/package.json", "  \"version\": \"", "\","),
    ("npm/pellucid/package.json", "  \"version\": \"", "\","),
];

/// The heading of what is not released yet.
const UNRELEASED: &str = "## Unreleased";

/// Runs `cargo xtask release`.
pub fn run(mut args: Args) -> Result<Outcome> {
    let date = args.value("--date")?;
    let Some(version) = args.next() else { bail!("a release needs its VERSION, such as 0.2.0") };
    args.finish()?;
    let date = match date {
        Some(date) => date,
        None => program::text_of(Command::new("date").args(["-u", "+%Y-%m-%d"]))?.trim().to_string(),
    };
    let changed = program::text_of(Command::new("git").args(["status", "--porcelain"]).current_dir(program::root()))?;
    ensure!(changed.is_empty(), "files are changed; a release is a separate commit:\n{changed}");
    let mut texts = Vec::new();
    let mut old = String::new();
    for (path, begin, end) in PLACES {
        let text = read(path)?;
        let found = between(&text, begin, end).with_context(|| format!("{path} has no line with the version"))?;
        old = found.to_string();
        texts.push(((*path).to_string(), text));
    }
    ensure!(parts(&version)? > parts(&old)?, "{version} does not come after {old}, the present version");
    let changelog = dated(&read("CHANGELOG.md")?, &version, &date)?;
    for (path, text) in &texts {
        let places = PLACES.iter().find(|it| it.0 == path).context("the file is in the list")?;
        write(path, &with_version(text, places.1, places.2, &old, &version))?;
    }
    write("CHANGELOG.md", &changelog)?;
    // Cargo writes the new version into the lock file.
    program::text_of(program::cargo().args(["update", "--workspace", "--offline", "--quiet"]))?;
    println!("release: {old} is now {version} in {} files and the lock file", texts.len() + 1);
    println!(
        "release: next, docs/release.md: `bash .ci/run`, `cargo xtask package --verify`, then commit and tag v{version}"
    );
    Ok(Outcome::Good)
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(program::root().join(path)).with_context(|| format!("could not read {path}"))
}

fn write(path: &str, text: &str) -> Result<()> {
    fs::write(program::root().join(path), text).with_context(|| format!("could not write {path}"))
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(begin)?.strip_suffix(end))
}

/// The text with the new version: in its own line, and where crates of the workspace are required.
fn with_version(text: &str, begin: &str, end: &str, old: &str, new: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            let is_own = line.trim_end() == format!("{begin}{old}{end}");
            let is_sibling = line.starts_with("pellucid-") && line.contains("path = \"crates/");
            if is_own || is_sibling {
                line.replace(&format!("\"{old}\""), &format!("\"{new}\""))
            } else {
                line.to_string()
            }
        })
        .collect()
}

/// The numbers of a version. What follows a `-` comes before the version without it.
fn parts(version: &str) -> Result<([u64; 3], bool, String)> {
    let (numbers, before) = version.split_once('-').map_or((version, None), |(it, before)| (it, Some(before)));
    let parsed: Option<Vec<u64>> = numbers.split('.').map(|it| it.parse().ok()).collect();
    match parsed.map(<[u64; 3]>::try_from) {
        Some(Ok(numbers)) => Ok((numbers, before.is_none(), before.unwrap_or_default().to_string())),
        _ => bail!("{version} is no version: three numbers, such as 0.2.0 or 0.2.0-rc.1"),
    }
}

/// The changelog with the unreleased section under its version, and an empty one above.
fn dated(changelog: &str, version: &str, date: &str) -> Result<String> {
    let is_date = date.len() == 10
        && date.bytes().enumerate().all(|(at, it)| if at == 4 || at == 7 { it == b'-' } else { it.is_ascii_digit() });
    ensure!(is_date, "{date} is no date, such as 2030-01-31");
    let (before, after) =
        changelog.split_once(&format!("{UNRELEASED}\n")).context("the changelog has no unreleased section")?;
    let section = after.split("\n## ").next().unwrap_or_default();
    ensure!(section.lines().any(|it| it.starts_with("- ")), "the unreleased section of the changelog is empty");
    ensure!(!changelog.contains(&format!("\n## {version} ")), "the changelog has a section {version} already");
    Ok(format!("{before}{UNRELEASED}\n\n## {version} ({date})\n{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_have_the_version_of_the_workspace() {
        for (path, begin, end) in PLACES {
            assert_eq!(between(&read(path).unwrap(), begin, end), Some(env!("CARGO_PKG_VERSION")), "{path}");
        }
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let order = ["0.1.9", "0.1.10-rc.1", "0.1.10", "0.2.0", "1.0.0"].map(|it| parts(it).unwrap());
        assert!(order.is_sorted());
        assert!(parts("1.0").is_err() && parts("1.0.x").is_err());
    }

    #[test]
    fn the_version_of_other_packages_stays() {
        let text =
            "version = \"0.1.0\"\npellucid-a = { path = \"crates/a\", version = \"0.1.0\" }\nother = \"0.1.0\"\n";
        let expected =
            "version = \"0.2.0\"\npellucid-a = { path = \"crates/a\", version = \"0.2.0\" }\nother = \"0.1.0\"\n";
        assert_eq!(with_version(text, "version = \"", "\"", "0.1.0", "0.2.0"), expected);
    }

    #[test]
    fn the_unreleased_section_gets_its_date_and_leaves_an_empty_one() {
        let text = "# Changelog\n\n## Unreleased\n\n- one\n\n## 0.1.0 (2029-01-01)\n\n- zero\n";
        let expected =
            "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2030-01-31)\n\n- one\n\n## 0.1.0 (2029-01-01)\n\n- zero\n";
        assert_eq!(dated(text, "0.2.0", "2030-01-31").unwrap(), expected);
        let refusal = |text: &str, version: &str, date: &str| dated(text, version, date).unwrap_err().to_string();
        assert_eq!(refusal(expected, "0.3.0", "2030-01-31"), "the unreleased section of the changelog is empty");
        assert_eq!(refusal(text, "0.1.0", "2030-01-31"), "the changelog has a section 0.1.0 already");
        assert_eq!(refusal(text, "0.2.0", "today"), "today is no date, such as 2030-01-31");
    }
}
