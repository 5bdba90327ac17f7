//! Worked examples of documentation: commands that are really run, with what they really say.
//!
//! A page has a place between two marks for them. With `UPDATE_EXPECT=1` the page is rewritten.

use std::fs;
use std::path::Path;

/// The rows of one part of a report, its origins included, without the column of tokens: without an exact count, they
/// depend on how long the names of folders are.
pub fn rows_of(report: &str, part: &str) -> String {
    let mut rows = String::new();
    let mut is_part = false;
    for line in report.lines().take_while(|line| !line.starts_with("instruction files")) {
        // A part's name begins where those of its origins do not.
        let name = line.get(18..).filter(|name| !name.starts_with(' '));
        if let Some(name) = name {
            is_part = name.split_whitespace().next() == Some(part);
        }
        if is_part && !line.is_empty() {
            rows += &line[..8];
            rows += &line[16..];
            rows.push('\n');
        }
    }
    rows
}

/// Compares the example of a page of `docs/packs/` with what came of running it.
#[track_caller]
pub fn check_page(page: &str, example: &str) {
    check_example(page, "example", example);
}

/// The same for one of several examples of a page, by the name that is between its marks.
#[track_caller]
pub fn check_example(page: &str, name: &str, example: &str) {
    let (open, close) = (format!("<!-- {name}: made by a test -->\n"), format!("<!-- end of the {name} -->\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/packs").join(page);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&open).unwrap();
    let (written, after) = rest.split_once(&close).unwrap();
    let example = format!("\n```text\n{}\n```\n\n", example.trim_end());
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        fs::write(&path, format!("{before}{open}{example}{close}{after}")).unwrap();
        return;
    }
    assert_eq!(written, example, "docs/packs/{page} shows something else; run the tests with UPDATE_EXPECT=1");
}
