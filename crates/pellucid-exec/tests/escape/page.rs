//! The table of `docs/sandbox.md`: every attempt, and on which backend it is denied.

use std::process::ExitCode;

use crate::attempts;
use crate::attempts::Attempt;
use crate::attempts::Leaks;

/// Holds the table, or writes it when `UPDATE_EXPECT=1`.
pub fn the_table_is_up_to_date() -> ExitCode {
    pellucid_testkit::keep_table_of_attempts("sandbox.md", &table())
}

fn table() -> String {
    let mut text = String::new();
    for (group, attempts) in attempts::GROUPS {
        text += &format!(
            "\n### {group}\n\n| attempt | namespaces | bubblewrap | Landlock alone |\n| --- | --- | --- | --- |\n"
        );
        for attempt in *attempts {
            let mounts = if attempt.leaks == Leaks::Landlock { "denied" } else { alone(attempt) };
            let alone = if attempt.leaks == Leaks::Mounts { "denied" } else { alone(attempt) };
            text += &format!("| {} (`{}`) | {mounts} | {mounts} | {alone} |\n", attempt.what, attempt.name);
        }
    }
    text + "\n"
}

fn alone(attempt: &Attempt) -> &'static str {
    match attempt.gap {
        None => "denied",
        Some("metadata") => "denied under read-only, **not denied** under workspace-write",
        Some("signals") => "denied from Linux 6.12",
        Some("missing-protected-folder" | "linked-protected-folder") => "put aside after the command",
        Some("truncation") => "denied from Linux 6.2",
        Some(_) => "**not denied**",
    }
}
