//! The table of `docs/escape-attempts.md`: every attempt, and on which backend it is denied.

use std::path::Path;
use std::process::ExitCode;

use crate::attempts;
use crate::attempts::Attempt;
use crate::trial::Backend;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/escape-attempts.md");
const BEGIN: &str = "<!-- table of attempts: begin -->\n";
const END: &str = "<!-- table of attempts: end -->\n";

/// Holds the table, or writes it when `UPDATE_EXPECT=1`.
pub fn the_attempts_page_is_up_to_date() -> ExitCode {
    let page = std::fs::read_to_string(Path::new(PAGE)).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}{}{END}{after}", table());
    if page == expected {
        return ExitCode::SUCCESS;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|it| it == "1") {
        std::fs::write(PAGE, expected).unwrap();
        return ExitCode::SUCCESS;
    }
    println!("docs/escape-attempts.md is not what the attempts say; `cargo xtask docs --bless` writes it");
    ExitCode::FAILURE
}

fn table() -> String {
    let groups = attempts::groups();
    let n_attempts: usize = groups.iter().map(|(_, attempts)| attempts.len()).sum();
    let mut text = format!("\n{n_attempts} attempts.\n");
    for (group, attempts) in &groups {
        text += &format!(
            "\n## {group}\n\n| attempt | namespaces | bubblewrap | Landlock alone |\n| --- | --- | --- | --- |\n"
        );
        for attempt in attempts {
            let cells = Backend::ALL.map(|backend| cell(attempt, backend)).join(" | ");
            text += &format!("| {} (`{}`) | {cells} |\n", attempt.what, attempt.name);
        }
    }
    text + "\n"
}

fn cell(attempt: &Attempt, backend: Backend) -> String {
    if !attempt.on.contains(&backend) {
        return "not applicable".to_owned();
    }
    let gap = attempt.gaps.iter().find(|(on, _)| *on == backend);
    gap.map_or("denied".to_owned(), |(_, id)| format!("gap `{id}`"))
}
