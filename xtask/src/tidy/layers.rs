//! Layers: which crate may depend on which.
//!
//! The table is the architecture. A crate without a row has no place yet, and a new entry is a change of the
//! architecture: a separate commit, with a line in `ARCHITECTURE.md`.
//!
//! Not here: what a crate does inside. The core's `clippy.toml` ensures that it reads no clock.

use crate::manifest::{self, Kind, Manifest};
use crate::tidy::Problem;
use crate::tree::Tree;

/// Each crate, with the crates that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("pellucid-protocol", &[]),
    ("pellucid-files", &[]),
    ("pellucid-tasks", &[]),
    ("pellucid-script", &[]),
    ("pellucid-engine", &["pellucid-protocol", "pellucid-script"]),
    ("pellucid-config", &["pellucid-protocol", "pellucid-files"]),
    ("pellucid-workspace", &["pellucid-protocol", "pellucid-files", "pellucid-engine"]),
    ("pellucid-context", &["pellucid-protocol", "pellucid-engine", "pellucid-workspace"]),
    ("pellucid-wasm", &["pellucid-context"]),
    ("pellucid-model", &["pellucid-protocol", "pellucid-files", "pellucid-tasks"]),
    ("pellucid-store", &["pellucid-protocol", "pellucid-files"]),
    ("pellucid-exec", &["pellucid-protocol", "pellucid-files", "pellucid-tasks", "pellucid-engine"]),
    ("pellucid-rules", &["pellucid-protocol", "pellucid-files", "pellucid-engine"]),
    ("pellucid-git", &["pellucid-protocol", "pellucid-files", "pellucid-exec"]),
    ("pellucid-patch", &["pellucid-protocol", "pellucid-files"]),
    (
        "pellucid-tools",
        &[
            "pellucid-protocol",
            "pellucid-files",
            "pellucid-tasks",
            "pellucid-engine",
            "pellucid-exec",
            "pellucid-rules",
            "pellucid-patch",
        ],
    ),
    ("pellucid-tokens", &["pellucid-engine"]),
    ("pellucid-telemetry", &["pellucid-protocol", "pellucid-files"]),
    ("pellucid-mcp", &["pellucid-protocol", "pellucid-files", "pellucid-tasks", "pellucid-engine", "pellucid-exec"]),
    (
        "pellucid-agent",
        &[
            "pellucid-protocol",
            "pellucid-files",
            "pellucid-tasks",
            "pellucid-engine",
            "pellucid-config",
            "pellucid-workspace",
            "pellucid-model",
            "pellucid-store",
            "pellucid-exec",
            "pellucid-rules",
            "pellucid-git",
            "pellucid-patch",
            "pellucid-tools",
            "pellucid-tokens",
            "pellucid-telemetry",
            "pellucid-mcp",
        ],
    ),
    ("pellucid-answers", &["pellucid-protocol", "pellucid-engine", "pellucid-store"]),
    (
        "pellucid-server",
        &[
            "pellucid-protocol",
            "pellucid-files",
            "pellucid-tasks",
            "pellucid-engine",
            "pellucid-config",
            "pellucid-workspace",
            "pellucid-model",
            "pellucid-store",
            "pellucid-exec",
            "pellucid-rules",
            "pellucid-git",
            "pellucid-tools",
            "pellucid-agent",
        ],
    ),
    (
        "pellucid-acp",
        &[
            "pellucid-protocol",
            "pellucid-files",
            "pellucid-tasks",
            "pellucid-engine",
            "pellucid-config",
            "pellucid-workspace",
            "pellucid-model",
            "pellucid-store",
            "pellucid-exec",
            "pellucid-agent",
        ],
    ),
    (
        "pellucid-mcp-server",
        &[
            "pellucid-protocol",
            "pellucid-files",
            "pellucid-tasks",
            "pellucid-engine",
            "pellucid-config",
            "pellucid-workspace",
            "pellucid-model",
            "pellucid-store",
            "pellucid-exec",
            "pellucid-agent",
        ],
    ),
    (
        "pellucid-inspect",
        &[
            "pellucid-protocol",
            "pellucid-files",
            "pellucid-tasks",
            "pellucid-engine",
            "pellucid-store",
            "pellucid-agent",
            "pellucid-answers",
        ],
    ),
    (
        "pellucid-watch",
        &[
            "pellucid-protocol",
            "pellucid-files",
            "pellucid-tasks",
            "pellucid-engine",
            "pellucid-model",
            "pellucid-store",
            "pellucid-agent",
        ],
    ),
    (
        "pellucid-tui",
        &[
            "pellucid-protocol",
            "pellucid-files",
            "pellucid-tasks",
            "pellucid-engine",
            "pellucid-answers",
            "pellucid-agent",
        ],
    ),
    (
        "pellucid",
        &[
            "pellucid-protocol",
            "pellucid-files",
            "pellucid-tasks",
            "pellucid-engine",
            "pellucid-context",
            "pellucid-config",
            "pellucid-workspace",
            "pellucid-model",
            "pellucid-store",
            "pellucid-exec",
            "pellucid-rules",
            "pellucid-git",
            "pellucid-patch",
            "pellucid-tools",
            "pellucid-tokens",
            "pellucid-agent",
            "pellucid-answers",
            "pellucid-server",
            "pellucid-acp",
            "pellucid-mcp-server",
            "pellucid-inspect",
            "pellucid-watch",
            "pellucid-tui",
        ],
    ),
    ("pellucid-testkit", &["pellucid-files"]),
    ("xtask", &["pellucid-protocol", "pellucid-engine", "pellucid-context", "pellucid-config", "pellucid-workspace"]),
];

/// Large dependencies that one crate uses, or two, so that a change elsewhere neither builds nor waits for them.
const SOLE_USERS: &[(&str, &str)] = &[
    ("agent-client-protocol", "pellucid-acp"),
    ("hyper", "pellucid-inspect"),
    ("hyper", "pellucid-watch"),
    ("hyper", "pellucid-mcp-server"),
    ("rmcp", "pellucid-mcp"),
    ("rmcp", "pellucid-mcp-server"),
    ("rusqlite", "pellucid-store"),
    ("starlark", "pellucid-rules"),
];

/// The crate that any crate may use in its tests.
const TESTKIT: &str = "pellucid-testkit";

/// Crates that are values in, values out.
const PURE: &[&str] = &["pellucid-protocol", "pellucid-engine"];

/// Crates that a pure crate must not use: runtimes, networks, disks, clocks, randomness, the terminal.
const IMPURE: &[&str] = &[
    "async-std",
    "axum",
    "chrono",
    "clap",
    "crossterm",
    "dirs",
    "fs-err",
    "getrandom",
    "ignore",
    "jiff",
    "mio",
    "notify",
    "rand",
    "reqwest",
    "rusqlite",
    "rustls",
    "smol",
    "sqlx",
    "tempfile",
    "time",
    "tungstenite",
    "ureq",
    "uuid",
    "walkdir",
];

/// Prefixes of further crates of the same kinds.
const IMPURE_FAMILIES: &[&str] = &["async-", "futures", "hyper", "tokio", "tracing"];

pub fn check(tree: &Tree) -> Vec<Problem> {
    let manifests = manifest::all(tree);
    let mut problems: Vec<_> = manifests.iter().flat_map(problems_of).collect();
    for (name, _) in MAY_USE {
        if !manifests.iter().any(|it| it.package.as_deref() == Some(name)) {
            problems.push(Problem::in_file(
                "xtask/src/tidy/layers.rs",
                format!("{name} has a row in MAY_USE but is no crate"),
            ));
        }
    }
    problems
}

fn problems_of(manifest: &Manifest) -> Vec<Problem> {
    let Some(name) = manifest.package.as_deref() else {
        return Vec::new();
    };
    let Some((_, allowed)) = MAY_USE.iter().find(|(it, _)| *it == name) else {
        return vec![Problem::in_file(
            &manifest.path,
            format!("{name} has no row in MAY_USE (xtask/src/tidy/layers.rs); give it a place"),
        )];
    };
    let mut problems = Vec::new();
    for dependency in &manifest.dependencies {
        let used = dependency.name.as_str();
        let in_tests = dependency.kind == Kind::Dev;
        let what = if MAY_USE.iter().any(|(it, _)| *it == used) || used.starts_with("pellucid") {
            let may = allowed.contains(&used) || (in_tests && used == TESTKIT);
            (!may).then(|| format!("{name} may not use {used}; see Layers in ARCHITECTURE.md"))
        } else if PURE.contains(&name) && !in_tests && is_impure(used) {
            Some(format!("{name} is pure and may not use {used}"))
        } else {
            let owners: Vec<&str> = SOLE_USERS.iter().filter(|(it, _)| *it == used).map(|(_, owner)| *owner).collect();
            let is_refused = !owners.is_empty() && !owners.contains(&name);
            is_refused.then(|| format!("{name} may not use {used}; only {} does", owners.join(" or ")))
        };
        problems.extend(what.map(|what| Problem::at_line(&manifest.path, dependency.line, what)));
    }
    problems
}

fn is_impure(name: &str) -> bool {
    IMPURE.contains(&name) || IMPURE_FAMILIES.iter().any(|it| name.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing;

    #[test]
    fn holds_here() {
        testing::check_holds_here(check);
    }

    /// Checks one manifest, without asking for the other crates of the table.
    #[track_caller]
    fn check_manifest(name: &str, rest: &str, expected: &str) {
        let tree = Tree::fixture(&format!("== crates/x/Cargo.toml\n[package]\nname = \"{name}\"\n{rest}"));
        let problems: Vec<_> = manifest::all(&tree).iter().flat_map(problems_of).collect();
        assert_eq!(testing::render(&problems).trim(), expected);
    }

    #[test]
    fn arrows_point_down() {
        check_manifest(
            "pellucid-engine",
            "[dependencies]\npellucid-protocol.workspace = true\npellucid-config.workspace = true\n",
            "crates/x/Cargo.toml:5: pellucid-engine may not use pellucid-config; see Layers in ARCHITECTURE.md",
        );
    }

    #[test]
    fn tests_may_use_the_testkit_and_nothing_else_may() {
        check_manifest(
            "pellucid-model",
            "[dependencies]\npellucid-testkit.workspace = true\n[dev-dependencies]\npellucid-testkit.workspace = true\npellucid-agent.workspace = true\n",
            "crates/x/Cargo.toml:4: pellucid-model may not use pellucid-testkit; see Layers in ARCHITECTURE.md\n\
             crates/x/Cargo.toml:7: pellucid-model may not use pellucid-agent; see Layers in ARCHITECTURE.md",
        );
    }

    #[test]
    fn the_core_has_no_runtime_but_its_tests_may() {
        check_manifest(
            "pellucid-protocol",
            "[dependencies]\nserde = \"1\"\ntokio-util = \"1\"\nrusqlite = \"1\"\n[dev-dependencies]\ntempfile = \"3\"\n",
            "crates/x/Cargo.toml:5: pellucid-protocol is pure and may not use tokio-util\n\
             crates/x/Cargo.toml:6: pellucid-protocol is pure and may not use rusqlite",
        );
    }

    #[test]
    fn a_large_dependency_has_one_user() {
        check_manifest(
            "pellucid-exec",
            "[dev-dependencies]\nstarlark.workspace = true\n",
            "crates/x/Cargo.toml:4: pellucid-exec may not use starlark; only pellucid-rules does",
        );
        check_manifest("pellucid-rules", "[dependencies]\nstarlark.workspace = true\n", "");
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        check_manifest(
            "pellucid-none",
            "",
            "crates/x/Cargo.toml: pellucid-none has no row in MAY_USE (xtask/src/tidy/layers.rs); give it a place",
        );
    }

    #[test]
    fn a_row_without_a_crate_is_found() {
        let found = testing::render(&check(&Tree::default()));
        assert_eq!(found.lines().count(), MAY_USE.len());
        assert!(found.contains("xtask has a row in MAY_USE but is no crate"));
    }

    #[test]
    fn the_table_itself_points_down() {
        for (at, (name, allowed)) in MAY_USE.iter().enumerate() {
            for used in *allowed {
                let place = MAY_USE.iter().position(|(it, _)| it == used);
                assert!(place.is_some_and(|it| it < at), "{name} uses {used}");
            }
        }
    }
}
