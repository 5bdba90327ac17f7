//! The bill of materials: every crate whose code is in the program, as CycloneDX JSON, from what Cargo resolves for a platform.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::about::About;
use super::platform::Platform;
use crate::program;

/// The bill of a platform. It has no time and no random number, so the same sources give the same bytes.
pub fn bill(platform: &Platform, about: &About) -> Result<String> {
    let described = program::metadata(&["--filter-platform", platform.target])?;
    let lock = std::fs::read_to_string(program::root().join("Cargo.lock")).context("the project has a lock file")?;
    Ok(serde_json::to_string_pretty(&of(&described, &checksums(&lock), about)?)? + "\n")
}

fn of(described: &Value, checksums: &BTreeMap<(String, String), String>, about: &About) -> Result<Value> {
    let packages: BTreeMap<&str, &Value> = described["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| Some((it["id"].as_str()?, it)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = described["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| Some((it["id"].as_str()?, it)))
        .collect();
    let root =
        packages.iter().find(|(_, it)| it["name"] == "pellucid").map(|(id, _)| *id).context("Cargo knows pellucid")?;
    let mut found = BTreeSet::new();
    let mut waiting = vec![root];
    let mut links = Vec::new();
    while let Some(id) = waiting.pop() {
        if !found.insert(id) {
            continue;
        }
        let node = nodes.get(id).with_context(|| format!("Cargo resolved {id}"))?;
        let used: Vec<&str> = used_at_run_time(node).into_iter().filter(|it| !is_macro(packages[it])).collect();
        links.push(json!({ "ref": reference(packages[id]), "dependsOn": used.iter().map(|it| reference(packages[it])).collect::<BTreeSet<_>>() }));
        waiting.extend(used);
    }
    let mut components: Vec<Value> =
        found.iter().filter(|id| **id != root).map(|id| component(packages[id], checksums)).collect();
    components.sort_by_key(|it| it["bom-ref"].as_str().unwrap_or_default().to_string());
    links.sort_by_key(|it| it["ref"].as_str().unwrap_or_default().to_string());
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": reference(packages[root]), "name": "pellucid", "version": about.version,
                "licenses": [{ "expression": about.license }], "purl": reference(packages[root]),
            },
        },
        "components": components,
        "dependencies": links,
    }))
}

/// Whether a package runs inside the compiler, so that none of its code is in the program.
fn is_macro(package: &Value) -> bool {
    package["targets"].as_array().into_iter().flatten().any(|it| it["kind"][0] == "proc-macro")
}

/// The packages whose code may be in the program: neither those of build scripts nor those of tests.
fn used_at_run_time(node: &Value) -> Vec<&str> {
    let is_normal =
        |it: &&Value| it["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()));
    node["deps"].as_array().into_iter().flatten().filter(is_normal).filter_map(|it| it["pkg"].as_str()).collect()
}

/// The package in the notation that such bills share.
fn reference(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version").replace('+', "%2B"))
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_string();
    let mut component = json!({
        "type": "library", "bom-ref": reference(package), "name": text("name"), "version": text("version"), "purl": reference(package),
    });
    // Some packages separate the choices by a slash, which is no expression.
    if let Some(license) = package["license"].as_str() {
        component["licenses"] = json!([{ "expression": license.replace(" / ", " OR ").replace('/', " OR ") }]);
    }
    if let Some(sum) = checksums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

/// The checksums of the lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value =
        |text: &str, key: &str| Some(text.split_once(&format!("\n{key} = \""))?.1.split_once('"')?.0.to_string());
    lock.split("[[package]]")
        .filter_map(|it| Some(((value(it, "name")?, value(it, "version")?), value(it, "checksum")?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_has_every_crate_of_the_program_once_with_licence_and_checksum() {
        let about = About::read().unwrap();
        let bill: Value = serde_json::from_str(&bill(&super::super::platform::PLATFORMS[0], &about).unwrap()).unwrap();
        let components = bill["components"].as_array().unwrap();
        let refs: BTreeSet<&str> = components.iter().filter_map(|it| it["bom-ref"].as_str()).collect();
        assert_eq!(refs.len(), components.len());
        let named = |name: &str| components.iter().find(|it| it["name"] == name);
        for name in ["pellucid-engine", "rustls", "libsqlite3-sys", "mimalloc"] {
            assert!(named(name).is_some(), "{name}");
        }
        for name in ["divan", "proptest", "expect-test", "pellucid-testkit", "serde_derive", "syn", "cc"] {
            assert!(named(name).is_none(), "{name} is not in the program");
        }
        for it in components.iter().filter(|it| !it["name"].as_str().unwrap().starts_with("pellucid")) {
            assert!(it["licenses"][0]["expression"].is_string() && it["hashes"][0]["content"].is_string(), "{it}");
        }
    }
}
