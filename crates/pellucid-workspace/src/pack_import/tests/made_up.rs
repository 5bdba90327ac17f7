//! A made-up checkout of the Codex CLI: what is looked for is where the table of slots says, in words that name its slot.
//!
//! Files that are one text, constants and plain tools are built from the table. `parts.txt` has what is written in other
//! ways: files, each after a line `== PATH`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pellucid_engine::pack::Pack;
use pellucid_engine::pack::slots;
use pellucid_engine::pack::slots::ToolUpstream;
use pellucid_engine::pack::slots::Upstream;

use super::super::BASE;

const PARTS: &str = include_str!("parts.txt");

/// What several tools describe in one place.
const ABOUT_PERMISSION: [&str; 3] = ["justification", "prefix_rule", "sandbox_permissions"];

/// Every file by its path.
pub(super) fn files() -> BTreeMap<String, String> {
    let parts = PARTS.strip_prefix("== ").unwrap_or(PARTS).split("\n== ");
    let mut files: BTreeMap<String, String> =
        parts.filter_map(|part| part.split_once('\n')).map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
    for slot in slots::SLOTS {
        match &slot.upstream {
            Upstream::File(path) => {
                files.insert((*path).to_owned(), format!("{}\n", words(slot.name, slot.places)));
            }
            Upstream::Literal(literal) => {
                if let [item] = literal.items
                    && item.starts_with("const ")
                {
                    let text = format!("{item}: &str = {:?};\n", words(slot.name, slot.places));
                    add(&mut files, literal.file, &format!("{item}:"), &text);
                }
            }
            Upstream::Nowhere | Upstream::Grammar { .. } => {}
        }
    }
    for row in slots::TOOLS {
        for (_, upstream) in row.elsewhere {
            if let Upstream::File(path) = upstream {
                let slot = format!("tools/{}", row.tool);
                files.insert((*path).to_owned(), format!("{}\n", words(&slot, slots::tool_places(&slot))));
            }
        }
        add(
            &mut files,
            row.file,
            &format!("{}{}", row.item, if row.item.starts_with("fn ") { "(" } else { "" }),
            &tool(row),
        );
    }
    files
}

/// Adds an item to a file, unless the file has it in another way.
fn add(files: &mut BTreeMap<String, String>, path: &str, item: &str, text: &str) {
    let file = files.entry(path.to_owned()).or_default();
    if !file.contains(item) {
        let _ = write!(file, "\n{text}");
    }
}

fn words(slot: &str, places: &[&str]) -> String {
    match places {
        [] => format!("The words of {slot}."),
        places => format!("The words of {slot}: {}.", places.join(", ")),
    }
}

/// The function that makes a tool, with all that the base pack describes of it.
fn tool(row: &ToolUpstream) -> String {
    let own = format!("tools/{}", row.tool);
    let described = Pack::builtin(BASE).unwrap().slot_texts();
    let described = described.iter().filter(|slot| slot.text.is_some() && slot.file.ends_with(".md"));
    let paths: Vec<String> = described
        .filter_map(|slot| slot.name.strip_prefix(&own)?.strip_prefix('.').map(str::to_owned))
        .filter(|path| !row.elsewhere.iter().any(|(it, _)| it == path))
        .collect();
    let is_permitted = paths.iter().any(|path| path == ABOUT_PERMISSION[0]);
    let mut text = format!("{}() -> Made {{\n    let mut properties = Map::from([\n", row.item);
    for name in names(&paths, "").filter(|name| !is_permitted || !ABOUT_PERMISSION.contains(name)) {
        let _ = writeln!(text, "        {},", parameter(&own, name, &paths));
    }
    text += "    ]);\n";
    if is_permitted {
        text += "    properties.extend(about_permission());\n";
    }
    let _ = writeln!(text, "    Made {{ description: {}, parameters: Made {{ properties }} }}\n}}", string(&own));
    text
}

/// A parameter with those below it.
fn parameter(own: &str, path: &str, paths: &[String]) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    let description = match paths.iter().any(|it| it == path) {
        true => format!("Some({})", string(&format!("{own}.{path}"))),
        false => "None".to_owned(),
    };
    let below: Vec<String> = names(paths, path).map(|name| parameter(own, &format!("{path}.{name}"), paths)).collect();
    let items = match below.is_empty() {
        true => String::new(),
        false => format!(", items: Box::new(Made {{ properties: Map::from([{}]) }})", below.join(", ")),
    };
    format!("(\"{name}\".to_string(), Made {{ description: {description}{items} }})")
}

/// The names right below a path, each once.
fn names<'p>(paths: &'p [String], above: &str) -> impl Iterator<Item = &'p str> {
    let mut names: Vec<&str> = Vec::new();
    for path in paths {
        let below = if above.is_empty() {
            Some(path.as_str())
        } else {
            path.strip_prefix(above).and_then(|it| it.strip_prefix('.'))
        };
        let name = below.and_then(|below| below.split('.').next());
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names.into_iter()
}

/// A string of the source that names a slot, in one of the ways to write it.
fn string(slot: &str) -> String {
    match slot.len() % 4 {
        0 => format!("\"The words of {slot}.\".to_string()"),
        1 => format!("\"The \\\"words\\\" of {slot}.\"\n            .to_string()"),
        2 => format!("\"The words of \\\n                {slot}.\".to_string()"),
        _ => format!("r#\"The \"words\" of\n{slot}.\"#.to_string()"),
    }
}
