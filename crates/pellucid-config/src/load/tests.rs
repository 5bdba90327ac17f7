//! Loads small trees of files and shows the resulting configuration.
//!
//! A world has a home (`$R/home`), a project (`$R/work`, which is the working directory unless a case says otherwise)
//! and a machine (`$R/etc`).

use std::fmt::Write as _;
use std::path::Path;
use std::path::PathBuf;

use expect_test::Expect;
use expect_test::expect;

use super::*;
use crate::layers::Layer;

mod effects;
mod errors;
mod features;
mod layers;
mod permissions;
mod settings;
mod telemetry;

/// Files and options from which a configuration is loaded.
struct World {
    folder: tempfile::TempDir,
    root: PathBuf,
    options: LoadOptions,
}

/// A world with files, by their path from its root. `$R` in a text is the root.
fn world(files: &[(&str, &str)]) -> World {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["home", "work", "etc", "user"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    let user = root.join("user").display().to_string();
    let env = Env::from_pairs([("HOME", user.as_str())]);
    let mut options = LoadOptions::new(root.join("work"), root.join("home"), env);
    options.system = SystemPaths::in_folder(&root.join("etc"));
    let world = World { folder, root, options };
    for (path, text) in files {
        world.write(path, text);
    }
    world
}

impl World {
    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.replace("$R", self.root.to_str().unwrap())).unwrap();
    }

    /// Accepts all guarded values of the project's files.
    fn accepted(self) -> Self {
        let layers = load_layers(&self.options).unwrap();
        let guarded: Vec<_> = layers.iter().filter_map(Layer::guarded).collect();
        crate::accepted::accept(&self.options.home, &guarded).unwrap();
        self
    }

    fn cwd(mut self, path: &str) -> Self {
        self.options.cwd = self.root.join(path);
        std::fs::create_dir_all(&self.options.cwd).unwrap();
        self
    }

    fn flags(mut self, arguments: &[&str]) -> Self {
        let root = self.root.to_str().unwrap().to_owned();
        self.options
            .overrides
            .extend(arguments.iter().map(|argument| Override::parse(&argument.replace("$R", &root)).unwrap()));
        self
    }

    fn harness(mut self, change: impl FnOnce(&mut HarnessOverrides)) -> Self {
        change(&mut self.options.harness);
        self
    }

    fn env(mut self, pairs: &[(&str, &str)]) -> Self {
        let user = self.root.join("user").display().to_string();
        self.options.env = Env::from_pairs(pairs.iter().copied().chain([("HOME", user.as_str())]));
        self
    }

    fn load(&self) -> Result<Config, ConfigError> {
        assert!(self.folder.path().exists());
        load(&self.options)
    }

    /// Shows something of the configuration, or the report of the error.
    #[track_caller]
    fn check(&self, show: impl FnOnce(&Config) -> String, expected: &Expect) {
        let shown = match self.load() {
            Ok(config) => show(&config),
            Err(error) => error.report(),
        };
        expected.assert_eq(&shown.replace(self.root.to_str().unwrap(), "$R"));
    }
}

/// Loads a user's file with flags and shows something of it.
#[track_caller]
fn check_user(text: &str, flags: &[&str], show: impl FnOnce(&Config) -> String, expected: &Expect) {
    world(&[("home/config.toml", text)]).flags(flags).check(show, expected);
}

/// Loads a user's file with flags and shows the report of its error.
#[track_caller]
fn check_error(text: &str, flags: &[&str], expected: &Expect) {
    check_user(text, flags, |_| "no error".to_owned(), expected);
}

/// Shows values and where they came from.
fn origins<'k>(keys: &'k [&'k str]) -> impl FnOnce(&Config) -> String + 'k {
    move |config| {
        let mut text = String::new();
        for key in keys {
            let value = config.value(key).map(|value| value.to_json().to_string()).unwrap_or_default();
            let origin = config.layer_origin(key).map(|origin| origin.to_string()).unwrap_or_default();
            let _ = writeln!(text, "{key} = {value} from {origin}");
        }
        text
    }
}

/// Shows the warnings, line by line.
fn warnings(config: &Config) -> String {
    config.noticed.warnings.iter().map(|warning| format!("{warning}\n")).collect()
}

fn provider(id: &str) -> String {
    format!("model_provider = \"{id}\"\n[model_providers.{id}]\nname = \"{id}\"\n")
}

fn layer_list(config: &Config) -> String {
    let mut text = String::new();
    for layer in config.layers().iter() {
        let file = layer.file.as_deref().map(Path::display).map(|file| file.to_string()).unwrap_or_default();
        let _ = writeln!(text, "{:?} {file} {}", layer.source, layer.table.to_json());
        if let Some(reason) = &layer.disabled {
            let _ = writeln!(text, "  off: {reason}");
        }
    }
    text
}
