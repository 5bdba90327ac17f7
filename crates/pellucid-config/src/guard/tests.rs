//! Every key in the file of a trusted project: not accepted, accepted, and changed afterwards.

use std::path::Path;

use super::*;
use crate::Env;
use crate::LoadOptions;
use crate::SystemPaths;
use crate::accepted;
use crate::keys;
use crate::keys::Key;
use crate::keys::Scope;
use crate::keys::ValueKind;
use crate::layers::LayerSource;
use crate::layers::Layers;
use crate::load_layers;

struct World {
    _folder: tempfile::TempDir,
    top: PathBuf,
}

impl World {
    /// A trusted project with this configuration file.
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let world = Self { _folder: folder, top };
        let trust = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", world.top.join("work").display());
        world.write("home/config.toml", &trust);
        world.write("work/.codex/config.toml", text);
        world
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.top.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn options(&self) -> LoadOptions {
        let mut options = LoadOptions::new(self.top.join("work"), self.top.join("home"), Env::from_pairs([]));
        options.system = SystemPaths::in_folder(&self.top.join("etc"));
        options
    }

    fn layers(&self) -> Layers {
        load_layers(&self.options()).unwrap()
    }

    fn accept(&self) {
        let layers = self.layers();
        let guarded: Vec<_> = layers.iter().filter_map(|layer| layer.guarded()).collect();
        accepted::accept(&self.top.join("home"), &guarded).unwrap();
    }

    fn standing(&self) -> Option<Acceptance> {
        let layers = self.layers();
        layers.iter().find_map(|layer| layer.guarded()).map(|guarded| guarded.standing)
    }
}

/// Two values of a kind, neither of them in `without`.
fn samples(kind: &ValueKind, without: &[&str]) -> (String, String) {
    let both = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    match kind {
        ValueKind::String | ValueKind::Path | ValueKind::NameOrPath => both("\"xa\"", "\"xb\""),
        ValueKind::Bool if without.contains(&"true") => both("false", "false"),
        ValueKind::Bool => both("true", "true"),
        ValueKind::Float => both("1.5", "1.6"),
        ValueKind::Integer(_) => both("1", "2"),
        ValueKind::Words(words) => {
            let mut words =
                words.words.iter().filter(|word| !without.contains(*word)).map(|word| format!("\"{word}\""));
            let one = words.next().unwrap();
            (one.clone(), words.next().unwrap_or(one))
        }
        ValueKind::List(item) => {
            let (one, other) = samples(item, without);
            (format!("[{one}]"), format!("[{other}]"))
        }
        ValueKind::Map(item) => {
            let (one, other) = samples(item, without);
            (format!("{{ n = {one} }}"), format!("{{ n = {other} }}"))
        }
        ValueKind::Either(one, _) => samples(one, without),
    }
}

/// The path of a key in a document, with names in place of the placeholders.
fn path_of(key: &Key) -> String {
    let path: String = key.path.replace("<id>", "n").replace("<name>", "n").replace("<role>", "n");
    let path = path.replace("<path>", "n").replace("<key>", "undo").replace("<place>", "n").replace("<action>", "n");
    if key.scope == Scope::ProfileOnly { format!("profiles.p.{path}") } else { path }
}

fn has(layers: &Layers, path: &str) -> bool {
    layers
        .merged()
        .at(segments(path))
        .is_some_and(|value| layers.layer_of(value.place).is_some_and(|layer| layer.source == LayerSource::Project))
}

/// Checks one key and returns how it applies in projects.
fn check_key(key: &Key) -> InProject {
    let path = path_of(key);
    let narrow = if let InProject::AcceptedUnless(narrow) = key.in_project { narrow } else { &[] };
    let (one, other) = samples(&key.kind, narrow);
    let document = |value: &str| match path.split_once("[].") {
        Some((list, name)) => format!("[[{list}]]\n{name} = {value}\n"),
        None => format!("{path} = {value}\n"),
    };
    let asked = path.split_once("[].").map_or(path.as_str(), |(list, _)| list);
    let world = World::new(&document(&one));
    let is_free = key.in_project == InProject::Free;
    assert_eq!(has(&world.layers(), asked), is_free, "{path} before it is accepted");
    world.accept();
    assert_eq!(has(&world.layers(), asked), key.in_project != InProject::Never, "{path} once it is accepted");
    if one != other && !is_free {
        world.write("work/.codex/config.toml", &document(&other));
        assert!(!has(&world.layers(), asked), "{path} after a change");
    }
    for word in narrow {
        let value = if matches!(key.kind, ValueKind::Bool) { (*word).to_owned() } else { format!("\"{word}\"") };
        let world = World::new(&document(&value));
        assert!(has(&world.layers(), asked), "{path} = {value}, which widens nothing");
    }
    key.in_project
}

#[test]
fn every_key_counts_as_the_table_says() {
    let classes: Vec<InProject> = keys::all().map(check_key).collect();
    let count = |is: fn(&InProject) -> bool| classes.iter().filter(|class| is(class)).count();
    assert!(count(|it| *it == InProject::Never) >= 5);
    assert!(count(|it| matches!(it, InProject::Accepted | InProject::AcceptedUnless(_))) >= 70);
}

/// A new key of one of these kinds cannot be free by mistake.
#[test]
fn what_names_programs_addresses_or_files_is_never_free() {
    const HARMLESS: [&str; 3] = [
        // Ignored with a notice.
        "experimental_instructions_file",
        // Read from the user's own file only.
        "skills.config[].path",
        // Switches skills, and runs nothing.
        "skills.config[].enabled",
    ];
    let suspicious =
        ["url", "command", "notify", "provider", "path", "file", "dir", "exporter", "env", "header", "token", "store"];
    for key in keys::all().filter(|key| key.in_project == InProject::Free && !HARMLESS.contains(&key.path)) {
        assert!(
            !matches!(key.kind, ValueKind::Path | ValueKind::NameOrPath | ValueKind::List(ValueKind::Path)),
            "{}",
            key.path
        );
        let last = segments(key.path).last().unwrap_or_default();
        let is_text = matches!(key.kind, ValueKind::String | ValueKind::List(_) | ValueKind::Map(_));
        let found = suspicious.iter().find(|word| is_text && last.split('_').any(|part| part == **word));
        assert!(found.is_none(), "{} is free and its name has `{}`", key.path, found.unwrap());
    }
}

#[track_caller]
fn check_standing(accepted: &str, changed: &str, expected: Acceptance) {
    let world = World::new(accepted);
    assert_eq!(world.standing(), Some(Acceptance::New));
    world.accept();
    assert_eq!(world.standing(), Some(Acceptance::Accepted));
    world.write("work/.codex/config.toml", changed);
    assert_eq!(world.standing(), Some(expected), "{changed}");
}

#[test]
fn one_byte_of_a_value_matters_and_the_rest_of_the_file_does_not() {
    let file = "model = \"a\"\nnotify = [\"a\", \"b\"]\n[mcp_servers.d]\ncommand = \"x\"\n";
    check_standing(file, file, Acceptance::Accepted);
    check_standing(file, &file.replace("model = \"a\"", "model = \"b\" # more"), Acceptance::Accepted);
    check_standing(file, "[mcp_servers]\nd = { command = 'x' }\n[other]\n[mcp_servers.e]\n", Acceptance::Changed);
    check_standing(file, "mcp_servers.d.command = 'x'\nnotify = ['a', 'b']\n", Acceptance::Accepted);
    check_standing(file, &file.replace("\"b\"", "\"c\""), Acceptance::Changed);
    check_standing(file, &file.replace("\"a\", \"b\"", "\"a, b\""), Acceptance::Changed);
    check_standing(file, &file.replace("command = \"x\"", "command = \"x \""), Acceptance::Changed);
    check_standing("log_dir = '1'", "log_dir = 1", Acceptance::Changed);
    check_standing("notify = ['a']", "notify = ['a']\n[profiles.p]\n", Acceptance::Changed);
}

#[test]
fn something_else_in_the_place_of_a_table_is_guarded_too() {
    for text in ["mcp_servers = 1", "model_providers = []", "profiles = 'x'", "sandbox_workspace_write = 'x'"] {
        let world = World::new(text);
        assert_eq!(world.standing(), Some(Acceptance::New), "{text}");
        assert!(world.layers().verify().is_ok(), "{text}");
    }
}

#[test]
fn all_project_files_between_the_root_and_the_working_folder_are_held_to_it() {
    let world = World::new("notify = ['root']\n");
    world.write("work/.git/HEAD", "ref: x\n");
    world.write("work/a/.codex/config.toml", "notify = ['a']\n");
    let mut options = world.options();
    options.cwd = world.top.join("work/a");
    let notify = || load_layers(&options).unwrap().get("notify").map(|it| it.to_json().to_string());
    assert_eq!(notify(), None);
    world.accept();
    assert_eq!(notify().as_deref(), Some("[\"root\"]"));
}

#[test]
fn a_role_of_the_project_brings_nothing_in_that_its_own_file_may_not() {
    let world = World::new("");
    world.write("work/roles/r.toml", "model = 'm'\nnotify = ['r']\n");
    world.write("home/roles/r.toml", "notify = ['r']\n");
    let found = |file: &str| {
        let options = LoadOptions { role_file: Some(world.top.join(file)), ..world.options() };
        let layers = load_layers(&options).unwrap();
        (layers.get("model").is_some(), layers.get("notify").is_some())
    };
    assert_eq!(found("work/roles/r.toml"), (true, false));
    assert_eq!(found("home/roles/r.toml"), (false, true));
}

#[test]
fn a_linked_file_is_known_by_where_it_lies() {
    let world = World::new("notify = ['a']\n");
    let link = world.top.join("link");
    std::os::unix::fs::symlink("work", &link).unwrap();
    world.accept();
    let layers = world.layers();
    let guarded = layers.iter().find_map(|layer| layer.guarded()).unwrap();
    assert_eq!(guarded.file, world.top.join("work/.codex/config.toml"));
    assert_eq!(guarded.names(), "notify");
    // Another file of the same content is another file.
    world.write("other/config.toml", "notify = ['a']\n");
    let file = world.top.join("work/.codex/config.toml");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(Path::new("../../other/config.toml"), &file).unwrap();
    assert_eq!(world.standing(), Some(Acceptance::New));
}
