//! Git as the agent runs it, for real: confined, in repositories of strangers.
//!
//! This one program is the helper that confines git (`take_over`) and the cases that have it run. So it needs no test
//! harness. `confined WORD` runs the cases whose names have that word, as `cargo test WORD` asks for it.

#![allow(clippy::print_stdout, reason = "a program that reports")]
#![allow(clippy::unwrap_used, reason = "a test that panics says where")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves")]

mod facts;
mod fetches;
mod ghosts;
mod hostile;
mod races;
mod world;

use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::process::ExitCode;

/// A case and its name.
type Case = (&'static str, fn());

/// The cases of a list of functions.
macro_rules! cases {
    ($($module:ident::$name:ident),* $(,)?) => { &[$((concat!(stringify!($module), "::", stringify!($name)), $module::$name as fn())),*] };
}

const CASES: &[Case] = cases![
    facts::changes_are_seen_and_nothing_is_left_behind,
    facts::kinds_of_repositories,
    facts::no_git_where_nobody_wants_it,
    facts::what_never_answers_has_no_answer,
    facts::what_no_remote_has,
    facts::where_branches_part,
    facts::commits_along_first_parents,
    facts::git_says_its_version,
    fetches::files_of_a_tag_are_read,
    fetches::nothing_of_a_repository_or_of_settings_is_run,
    fetches::a_setting_cannot_choose_another_protocol,
    ghosts::what_was_there_comes_back_and_what_came_goes,
    ghosts::only_the_working_folder_counts,
    ghosts::large_files_and_what_programs_leave_stay_as_they_are,
    ghosts::a_repository_without_a_commit_has_snapshots_too,
    ghosts::outside_of_repositories_there_is_none,
    ghosts::bytes_modes_and_links_come_back_exactly,
    ghosts::a_repository_of_somebody_else_is_not_written,
    hostile::no_program_of_a_repository_runs,
    races::race_of_a_restore_against_folders_that_become_links,
    races::race_of_a_diff_against_folders_that_become_links,
];

fn main() -> ExitCode {
    if let Some(code) = pellucid_exec::sandbox::take_over() {
        return code;
    }
    if let Err(error) = world::sandbox().backend() {
        println!("skipped, git is not run where nothing can confine it: {error}");
        return ExitCode::SUCCESS;
    }
    // The words of test harnesses are not ours.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let mut n_failed = 0;
    for (name, case) in CASES.iter().filter(|(name, _)| wanted(name)) {
        let is_fine = catch_unwind(AssertUnwindSafe(case)).is_ok();
        println!("{name} ... {}", if is_fine { "ok" } else { "FAILED" });
        n_failed += usize::from(!is_fine);
    }
    if n_failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
