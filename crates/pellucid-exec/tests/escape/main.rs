//! Attempts to get out of the sandbox, for real, on every backend of this machine.
//!
//! This one program is the helper that confines (`take_over`), the attempts, the agent that is killed, and the suite
//! that runs all of it. So it needs no test harness.
//!
//! ```text
//! escape                    run everything; print failures and a summary   (cargo test)
//! escape --table            the same, with a row for every attempt         (cargo xtask escape-suite)
//! escape pausing            only what is about pausing
//! escape _is_up_to_date     hold docs/sandbox.md                           (cargo xtask docs)
//! ```
//!
//! Not here: what is confined how. A row that fails is a bug of the sandbox.

#![cfg_attr(not(target_os = "linux"), allow(dead_code))]
#![allow(clippy::print_stdout, reason = "a program that reports")]
#![allow(clippy::unwrap_used, reason = "a test that panics says where")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and tasks themselves")]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod checks;
#[cfg(target_os = "linux")]
mod page;
#[cfg(target_os = "linux")]
mod pausing;
#[cfg(target_os = "linux")]
mod roots;
#[cfg(target_os = "linux")]
mod suite;
#[cfg(target_os = "linux")]
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = pellucid_exec::sandbox::take_over() {
        return code;
    }
    #[cfg(target_os = "linux")]
    let code = linux();
    #[cfg(not(target_os = "linux"))]
    let code = {
        println!("escape suite: skipped, it is about Linux");
        ExitCode::SUCCESS
    };
    code
}

#[cfg(target_os = "linux")]
fn linux() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["attempt", name] => attempts::run_one(name),
        ["batch", names @ ..] => attempts::run_each(names),
        ["agent", backend, way, "--", command @ ..] => checks::be_agent(backend, way, command),
        ["paused-agent", backend] => pausing::be_paused_agent(backend),
        ["pausing"] => suite::pausing(),
        ["unmounting"] => checks::be_unmounting(),
        ["without-namespaces"] => checks::be_without_namespaces(),
        ["--table"] => suite::run(suite::Show::Table),
        [] => suite::run(suite::Show::Failures),
        // What `cargo test -- WORD` passes on: the words of test harnesses are not ours.
        words if words.iter().any(|word| "the_table_is_up_to_date".contains(word)) => page::the_table_is_up_to_date(),
        words => {
            println!("escape suite: skipped, nothing here is called {}", words.join(" "));
            ExitCode::SUCCESS
        }
    }
}
