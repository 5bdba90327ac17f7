//! Cargo manifests, as far as the rules need them: a package's name and its dependencies.
//!
//! Reads the layout of our manifests (tables, dotted keys, inline tables), line by line.
//!
//! Not here: a TOML parser. Versions and features are Cargo's business.

use crate::tree::Tree;

/// The content of one `Cargo.toml`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub path: String,
    /// `None` for the root, which is not a package.
    pub package: Option<String>,
    pub dependencies: Vec<Dependency>,
}

/// A dependency and the line that names it.
#[derive(Debug, PartialEq, Eq)]
pub struct Dependency {
    pub name: String,
    pub kind: Kind,
    pub line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Part of what is built: `[dependencies]` and `[build-dependencies]`.
    Normal,
    /// Used by tests alone.
    Dev,
    /// Offered to the members in `[workspace.dependencies]`.
    Workspace,
}

/// The manifests of the tree: the root's and the members'.
pub fn all(tree: &Tree) -> Vec<Manifest> {
    let is_manifest = |path: &str| {
        path == "Cargo.toml"
            || path == "xtask/Cargo.toml"
            || (path.starts_with("crates/") && path.ends_with("/Cargo.toml"))
    };
    tree.texts(is_manifest).map(|(path, text)| parse(path, text)).collect()
}

fn parse(path: &str, text: &str) -> Manifest {
    let mut manifest = Manifest { path: path.to_string(), ..Manifest::default() };
    let mut table = String::new();
    // The number of open brackets in a value of several lines.
    let mut n_open = 0usize;
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if n_open > 0 {
            n_open = open_after(n_open, line);
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            table = header.trim_end_matches(']').trim().to_string();
            // `[dependencies.name]` is the table of one dependency.
            if let Some((kind, name)) = table.rsplit_once('.').and_then(|(before, name)| Some((kind_of(before)?, name)))
            {
                manifest.dependencies.push(dependency(name, kind, at));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        n_open = open_after(0, value);
        if let Some(kind) = kind_of(&table) {
            let name = key.trim().trim_matches('"').split('.').next();
            let name = renamed(value).or(name).unwrap_or_default();
            manifest.dependencies.push(dependency(name, kind, at));
        } else if table == "package" && key.trim() == "name" {
            manifest.package = Some(value.trim().trim_matches('"').to_string());
        }
    }
    manifest
}

fn dependency(name: &str, kind: Kind, at: usize) -> Dependency {
    Dependency { name: name.trim_matches('"').to_string(), kind, line: at + 1 }
}

fn kind_of(table: &str) -> Option<Kind> {
    // `[target.'cfg(unix)'.dependencies]` counts like the plain table.
    let last = if table.starts_with("target.") { table.rsplit('.').next().unwrap_or_default() } else { table };
    match last {
        "dependencies" | "build-dependencies" => Some(Kind::Normal),
        "dev-dependencies" => Some(Kind::Dev),
        "workspace.dependencies" => Some(Kind::Workspace),
        _ => None,
    }
}

/// The crate's real name, if the manifest renames it.
fn renamed(value: &str) -> Option<&str> {
    let (_, after) = value.split_once("package")?;
    after.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?.split('"').next()
}

fn open_after(n_open: usize, text: &str) -> usize {
    text.chars().fold(n_open, |n, c| match c {
        '[' | '{' => n + 1,
        ']' | '}' => n.saturating_sub(1),
        _ => n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_manifest(text: &str, expected: &[(&str, Kind)]) {
        let manifest = parse("Cargo.toml", text);
        let found: Vec<_> = manifest.dependencies.iter().map(|it| (it.name.as_str(), it.kind)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_way_to_write_a_dependency_is_read() {
        check_manifest(
            r#"
[package]
name = "a"
[lints]
workspace = true
[dependencies]
one.workspace = true # why
two = "1"
three = { version = "1", features = [
    "x = y",
] }
four = { package = "five", version = "1" }
[dependencies.six]
version = "1"
[dev-dependencies]
seven.workspace = true
[build-dependencies]
eight = "1"
[target.'cfg(unix)'.dependencies]
nine = "1"
"#,
            &[
                ("one", Kind::Normal),
                ("two", Kind::Normal),
                ("three", Kind::Normal),
                ("five", Kind::Normal),
                ("six", Kind::Normal),
                ("seven", Kind::Dev),
                ("eight", Kind::Normal),
                ("nine", Kind::Normal),
            ],
        );
    }

    #[test]
    fn the_roots_offers_are_of_their_own_kind() {
        check_manifest(
            "[workspace]\nmembers = [\n  \"a\",\n]\n[workspace.dependencies]\na = \"1\"\n",
            &[("a", Kind::Workspace)],
        );
    }

    #[test]
    fn a_package_has_a_name_and_its_lines_are_counted() {
        let manifest = parse("crates/a/Cargo.toml", "[package]\nname = \"a\"\n\n[dependencies]\nb = \"1\"\n");
        assert_eq!(manifest.package.as_deref(), Some("a"));
        assert_eq!(manifest.dependencies[0].line, 5);
    }
}
