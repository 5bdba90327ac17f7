//! `cargo xtask package --crates`: checks the crates that can be published, without a network and without building them again.
//!
//! Cargo packs them as it would upload them, each with its siblings from the same run. What Cargo only warns about, or finds
//! with the upload, is checked here: what a registry requires of a manifest, and that a published crate uses published ones.
//!
//! Not here: uploading. `docs/semver.md` says how that is tried.

use std::fmt::Write;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::Outcome;
use crate::program;

/// The most keywords that a registry takes.
const KEYWORDS_MAX: usize = 5;

/// The most characters of a keyword.
const KEYWORD_LEN_MAX: usize = 20;

/// Checks and packs the crates.
pub fn run() -> Result<Outcome> {
    let workspace = program::metadata(&["--no-deps"])?;
    let packages = workspace["packages"].as_array().context("the workspace has packages")?;
    let published: Vec<&Value> = packages.iter().filter(|package| package["publish"].is_null()).collect();
    let problems = problems(packages, &published);
    if !problems.is_empty() {
        print!("{problems}");
        return Ok(Outcome::Bad);
    }
    let mut pack = program::cargo();
    pack.args(["package", "--quiet", "--offline", "--no-verify", "--allow-dirty"]);
    for package in &published {
        pack.args(["--package", name(package)]);
    }
    // Cargo warns that there is no address of a repository: the project has none yet.
    program::text_of(&mut pack)?;
    println!("package: {} crates can be packed: {}", published.len(), names(&published));
    Ok(Outcome::Good)
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}

fn names(packages: &[&Value]) -> String {
    packages.iter().map(|package| name(package)).collect::<Vec<_>>().join(", ")
}

/// What keeps published crates from being published, a line each.
fn problems(packages: &[Value], published: &[&Value]) -> String {
    let mut text = String::new();
    if published.is_empty() {
        text.push_str("no crate of the workspace is published\n");
    }
    for package in published {
        let name = name(package);
        let mut say = |problem: String| writeln!(text, "{name}: {problem}").unwrap_or_default();
        for key in ["description", "license", "readme", "rust_version"] {
            if package[key].as_str().is_none_or(str::is_empty) {
                say(format!("the manifest has no `{key}`"));
            }
        }
        let keywords: Vec<&str> =
            package["keywords"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if keywords.is_empty() || keywords.len() > KEYWORDS_MAX {
            say(format!("the manifest has {} keywords, and a registry takes 1 to {KEYWORDS_MAX}", keywords.len()));
        }
        for keyword in keywords.iter().filter(|keyword| keyword.len() > KEYWORD_LEN_MAX) {
            say(format!("the keyword `{keyword}` has more than {KEYWORD_LEN_MAX} characters"));
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let is_ours = packages.iter().any(|package| package["name"] == used);
            if !is_ours || dependency["kind"] == "dev" {
                continue;
            }
            if !published.iter().any(|package| package["name"] == used) {
                say(format!("it uses {used}, which is not published"));
            }
            if dependency["req"] == "*" {
                say(format!("the dependency {used} has a path and no version"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str) -> Value {
        json!({
            "name": name, "publish": null, "description": "d", "license": "l", "readme": "r", "rust_version": "1",
            "keywords": ["k"], "dependencies": [],
        })
    }

    #[track_caller]
    fn check_problems(change: impl FnOnce(&mut Value), expected: &str) {
        let hidden = json!({ "name": "hidden", "publish": [] });
        let (mut first, second) = (package("first"), package("second"));
        change(&mut first);
        let packages = [first, second, hidden];
        let published: Vec<&Value> = packages.iter().filter(|package| package["publish"].is_null()).collect();
        assert_eq!(problems(&packages, &published), expected);
    }

    fn used(name: &str, req: &str, kind: Option<&str>) -> Value {
        json!([{ "name": name, "req": req, "kind": kind }])
    }

    #[test]
    fn a_crate_that_a_registry_would_refuse_is_found() {
        check_problems(|_| {}, "");
        check_problems(|it| it["description"] = json!(null), "first: the manifest has no `description`\n");
        check_problems(
            |it| it["keywords"] = json!([]),
            "first: the manifest has 0 keywords, and a registry takes 1 to 5\n",
        );
        check_problems(|it| it["dependencies"] = used("second", "^0.1.0", None), "");
        let no_version = "first: the dependency second has a path and no version\n";
        check_problems(|it| it["dependencies"] = used("second", "*", None), no_version);
        let hidden = "first: it uses hidden, which is not published\n";
        check_problems(|it| it["dependencies"] = used("hidden", "^0.1.0", None), hidden);
        check_problems(|it| it["dependencies"] = used("hidden", "*", Some("dev")), "");
        check_problems(|it| it["dependencies"] = used("elsewhere", "*", None), "");
    }
}
