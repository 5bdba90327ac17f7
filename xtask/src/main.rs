//! Automation for people who work on Pellucid: `cargo xtask COMMAND`.
//!
//! Each command is one file that connects existing programs (cargo, git, the Python harnesses) or reads the sources.
//! `tidy` contains the rules no compiler knows.
//!
//! `golden` and `wasm` use the product's libraries, and are the only commands that do.
//!
//! Not here: anything the product needs at run time. No crate depends on this one.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "talking to the terminal is all this program does")]

mod adopt;
mod args;
mod bench;
mod bisect_suite;
mod callgrind;
mod conformance;
mod crash_suite;
mod escape;
mod full;
mod golden;
mod hot;
mod inspector;
mod instructions;
mod manifest;
mod pack_mutations;
mod package;
mod pages;
mod platforms;
mod program;
mod release;
mod same_bytes;
mod scratch;
mod site;
mod tidy;
mod tree;
mod truth;
mod tui;
mod wasm;

use std::process::ExitCode;

use anyhow::{Result, bail};

use args::Args;

/// A command and the line of help that describes it.
struct Command {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(Args) -> Result<Outcome>,
}

/// Whether a command found everything in order.
///
/// An error means that the command could not do its job; `Bad` means that it did and found something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Good,
    Bad,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "conformance",
        usage: "[--match RE] [--only PARTS] [--exact] [--reference] [--bin PATH] [--raw DIR] [--claimed | --claim]",
        about: "compare the release build with the recorded reference",
        run: conformance::run,
    },
    Command {
        name: "tui",
        usage: "[--match RE] [--bin PATH] [--claimed | --claim | --screens | --endings | --tmux]",
        about: "play the terminal scenarios and compare them with the recorded reference",
        run: tui::run,
    },
    Command {
        name: "inspector",
        usage: "[--match RE] [--bin PATH] [--sample] [--images] [--screens]",
        about: "drive the page of `pellucid inspect` in a headless browser; --images draws docs/images again, --screens inspector/screens",
        run: inspector::run,
    },
    Command {
        name: "adopt",
        usage: "DIR",
        about: "take over newer versions of conformance/, tui/ and golden/ from DIR",
        run: adopt::run,
    },
    Command {
        name: "golden",
        usage: "[DIR]",
        about: "run the golden vectors of the other systems' packs (default: golden/)",
        run: golden::run,
    },
    Command { name: "tidy", usage: "", about: "check the rules of the house", run: tidy::run },
    Command {
        name: "docs",
        usage: "[--bless]",
        about: "check, or with --bless rewrite, the generated pages in docs/",
        run: pages::run,
    },
    Command {
        name: "bench",
        usage: "[--quick] [--bin PATH] [--peers NAMES] [--only BENCHMARKS] [--cache DIR] [--out DIR] | NAME [ARGS] | --list | --draw",
        about: "measure the release build beside other agents, and write docs/bench/ and the table of docs/performance.md; with NAME, run bench/NAME.py alone",
        run: bench::run,
    },
    Command {
        name: "escape-suite",
        usage: "[--long] [--bin PATH]",
        about: "try to get out of the sandbox on every backend of this machine, and print the tables; --long with every race",
        run: escape::run,
    },
    Command {
        name: "full",
        usage: "[--only PARTS] [--bin PATH]",
        about: "run every corpus whole, of which CI takes a sample: golden, conformance, tui, inspector, truth-suite, pack-mutations, same-bytes, crash-suite, bisect-suite, escape-suite --long",
        run: full::run,
    },
    Command {
        name: "callgrind",
        usage: "",
        about: "count the instructions of the next request after short and long histories",
        run: callgrind::run,
    },
    Command {
        name: "instructions",
        usage: "[--bin PATH] [--bless]",
        about: "count the instructions of a first request and of a follow-up, and compare them with xtask/instructions.txt",
        run: instructions::run,
    },
    Command {
        name: "crash-suite",
        usage: "[--runs N] [--bin PATH]",
        about: "kill the program at many moments and check that nothing it reported is lost",
        run: crash_suite::run,
    },
    Command {
        name: "truth-suite",
        usage: "[--only TEXT | --bless] [--bin PATH]",
        about: "play every pack on every wire in every situation, and hold what is shown, sent, recorded and rebuilt against each other",
        run: truth::run,
    },
    Command {
        name: "bisect-suite",
        usage: "[--bin PATH]",
        about: "search every planted history and every planted set of parts with `context bisect`",
        run: bisect_suite::run,
    },
    Command {
        name: "pack-mutations",
        usage: "",
        about: "change every key and every text of every pack, and see that something shows it or the pack is refused",
        run: pack_mutations::run,
    },
    Command {
        name: "site",
        usage: "",
        about: "make the documentation as pages for a browser with mdBook, in target/site, and follow their links",
        run: site::run,
    },
    Command {
        name: "same-bytes",
        usage: "[--runs N] [--bin PATH]",
        about: "make the first request of every pack in many processes, whose hash tables have other seeds",
        run: same_bytes::run,
    },
    Command {
        name: "package",
        usage: "[--target TARGET]... [--profile NAME] [--out DIR] [--verify] | --check --bin PATH | --crates",
        about: "make every kind of package for every platform in target/packages; --check tries each kind with a program that is there, --crates packs the crates that can be published",
        run: package::run,
    },
    Command {
        name: "release",
        usage: "VERSION [--date YYYY-MM-DD]",
        about: "set the version everywhere and date the changelog; commits and pushes nothing",
        run: release::run,
    },
    Command {
        name: "wasm",
        usage: "[--release]",
        about: "build the engine for JavaScript and compare its bytes in Node with the crate's; --release makes the npm package and the playground",
        run: wasm::run,
    },
    Command {
        name: "platforms",
        usage: "",
        about: "type-check the program for macOS, and the crates without a platform for Windows",
        run: platforms::run,
    },
    Command {
        name: "hot",
        usage: "[--check]",
        about: "list code files that more than one commit in ten goes through, or fail on them",
        run: hot::run,
    },
];

fn main() -> ExitCode {
    match dispatch(std::env::args().skip(1).collect()) {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(mut words: Vec<String>) -> Result<Outcome> {
    if words.is_empty() || matches!(words[0].as_str(), "help" | "-h" | "--help") {
        print!("{}", help());
        return Ok(Outcome::Good);
    }
    let name = words.remove(0);
    let Some(command) = COMMANDS.iter().find(|it| it.name == name) else {
        bail!("no command {name}\n{}", help());
    };
    if matches!(words.first().map(String::as_str), Some("-h" | "--help")) {
        println!("cargo xtask {} {}", command.name, command.usage);
        return Ok(Outcome::Good);
    }
    (command.run)(Args::new(words))
}

fn help() -> String {
    let mut text = String::from("usage: cargo xtask COMMAND\n\n");
    for command in COMMANDS {
        text.push_str(&format!("  {} {}\n      {}\n", command.name, command.usage, command.about));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_command() {
        let help = help();
        for command in COMMANDS {
            assert!(help.contains(command.name), "{help}");
        }
    }

    #[test]
    fn an_unknown_command_is_refused_with_the_list() {
        let error = dispatch(vec!["tidyy".into()]).unwrap_err().to_string();
        assert!(error.starts_with("no command tidyy"), "{error}");
        assert!(error.contains("conformance"), "{error}");
    }
}
