//! Attempts to get out of the sandbox by way of the agent: what it does itself, unconfined, before, during and
//! after a command, with what the command left behind.
//!
//! Each attempt is a conversation with the real program and a model that means harm. A repository that means
//! harm and a set of planted secrets are here too, since they need the same world.
//!
//! ```text
//! around                    every attempt once, on its quickest backend      (cargo test)
//! around --table            every attempt on every backend, as two users     (cargo xtask escape-suite)
//! around race_              the races on every backend                       (cargo xtask escape-suite --long)
//! around --only WORD        the attempts with this word in their names; with --table on every backend
//!
//! PELLUCID_PROGRAM=PATH     with another build of the program
//! AROUND_SHOW=1             print what the program said
//!
//! around _is_up_to_date     hold docs/escape-attempts.md                     (cargo xtask docs)
//! ```
//!
//! Not here: what a confined command does on its own (`pellucid-exec`, `tests/escape`).

#![cfg_attr(not(target_os = "linux"), allow(dead_code))]
#![allow(clippy::print_stdout, reason = "a program that reports")]
#![allow(clippy::unwrap_used, reason = "a test that panics says where")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves")]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
mod person;
#[cfg(target_os = "linux")]
mod secrets;
#[cfg(target_os = "linux")]
mod suite;
#[cfg(target_os = "linux")]
mod trial;
#[cfg(target_os = "linux")]
mod turn;

use std::process::ExitCode;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("around the sandbox: skipped, it is about Linux");
    ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [] => suite::run(&suite::Wanted { whole: false, word: None }),
        ["--table"] => suite::run(&suite::Wanted { whole: true, word: None }),
        ["--only", word] => suite::run(&suite::Wanted { whole: false, word: Some((*word).to_owned()) }),
        ["--table", "--only", word] => suite::run(&suite::Wanted { whole: true, word: Some((*word).to_owned()) }),
        // What `cargo test -- WORD` passes on: the words of test harnesses are not ours.
        words if words.iter().any(|word| "the_attempts_page_is_up_to_date".contains(word)) => {
            page::the_attempts_page_is_up_to_date()
        }
        // Races by the name that all crates give them; here they are attempts.
        words if words.contains(&"race_") => suite::run(&suite::Wanted { whole: true, word: Some("race-".to_owned()) }),
        words => {
            println!("around the sandbox: skipped, nothing here is called {}", words.join(" "));
            ExitCode::SUCCESS
        }
    }
}
