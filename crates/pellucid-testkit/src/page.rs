//! A table in a page of the documentation that a test writes.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

const BEGIN: &str = "<!-- table of attempts: begin -->\n";
const END: &str = "<!-- table of attempts: end -->\n";

/// Compares the table of attempts in a page of `docs/`, or writes it when `UPDATE_EXPECT=1`.
pub fn keep_table_of_attempts(name: &str, table: &str) -> ExitCode {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let page = fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (_, after) = rest.split_once(END).expect("the place for the table has an end");
    let expected = format!("{before}{BEGIN}{table}{END}{after}");
    if page == expected {
        return ExitCode::SUCCESS;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|it| it == "1") {
        fs::write(path, expected).expect("the page can be written");
        return ExitCode::SUCCESS;
    }
    #[expect(clippy::print_stdout, reason = "this is what the test says")]
    {
        println!("docs/{name} is not what the attempts say; `cargo xtask docs --bless` writes it");
    }
    ExitCode::FAILURE
}
