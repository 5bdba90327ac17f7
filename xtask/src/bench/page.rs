//! `docs/performance.md` and the drawings beside the results: written from the results, and compared with them.
//!
//! Not here: what is in the table and in the drawings (`table`, `charts`).

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::charts::drawings;
use super::results::Results;
use super::table;
use crate::program;

const PAGE: &str = "docs/performance.md";

/// The generated part of the page is between these lines.
const OPEN: &str = "<!-- figures: made by `cargo xtask bench` -->\n";
const CLOSE: &str = "<!-- end of the figures -->\n";

/// Draws what the results say into a folder, and writes the table into the page.
pub fn write(results: &Results, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    for (name, text) in drawings(results) {
        fs::write(folder.join(name), text).with_context(|| format!("could not write {name}"))?;
    }
    let path = program::root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("could not read {PAGE}"))?;
    fs::write(&path, with_table(&page, results)?).with_context(|| format!("could not write {PAGE}"))
}

/// The page with the table of these results.
fn with_table(page: &str, results: &Results) -> Result<String> {
    let (before, rest) = page.split_once(OPEN).with_context(|| format!("{PAGE} has no line {}", OPEN.trim()))?;
    let (_, after) = rest.split_once(CLOSE).with_context(|| format!("{PAGE} has no line {}", CLOSE.trim()))?;
    Ok(format!("{before}{OPEN}\n{}\n{CLOSE}{after}", table::text(results)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table and the drawings are those of the results. `cargo xtask docs --bless` writes them.
    #[test]
    fn the_page_of_performance_is_up_to_date() {
        let path = Results::path();
        let results = Results::read(&path).unwrap();
        let folder = path.parent().unwrap();
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|it| it == "1") {
            write(&results, folder).unwrap();
            return;
        }
        let page = fs::read_to_string(program::root().join(PAGE)).unwrap();
        let hint = "run `cargo xtask docs --bless`";
        assert_eq!(page, with_table(&page, &results).unwrap(), "{PAGE} is out of date; {hint}");
        let drawn = drawings(&results);
        for (name, text) in &drawn {
            assert_eq!(
                fs::read_to_string(folder.join(name)).unwrap_or_default(),
                *text,
                "{name} is out of date; {hint}"
            );
            assert!(page.contains(&format!("bench/{name}")), "{PAGE} does not show {name}");
        }
        let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().to_string_lossy().into_owned());
        let rest: Vec<String> =
            files.filter(|it| it != "results.json" && !drawn.iter().any(|(name, _)| name == it)).collect();
        assert!(rest.is_empty(), "nothing draws {rest:?}");
    }
}
