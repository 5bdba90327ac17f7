//! The table of `docs/escape-attempts.md`: every attempt, and on which backend it is denied.

use std::process::ExitCode;

use crate::attempts;
use crate::attempts::Attempt;
use crate::trial::Backend;

/// Holds the table, or writes it when `UPDATE_EXPECT=1`.
pub fn the_attempts_page_is_up_to_date() -> ExitCode {
    pellucid_testkit::keep_table_of_attempts("escape-attempts.md", &table())
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
