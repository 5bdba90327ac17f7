//! Any text is a configuration or is refused with a report.
//!
//! A line `%%` divides it into the user's file, the project's (which is trusted), the machine's
//! requirements and a value of the command line.

use std::fs;
use std::path::Path;

use pellucid_config::Env;
use pellucid_config::LoadOptions;
use pellucid_config::Override;
use pellucid_config::SystemPaths;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // A key may name a file to be read, and some of those never end.
    if text.contains("/dev") || text.contains("/proc") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    let mut parts = text.split("\n%%\n");
    let trust = format!("\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", root.join("work").display());
    let user = parts.next().unwrap_or_default();
    // A user's file that does not end in the middle of something also trusts the project.
    let trusting = format!("{user}{trust}");
    let user = if user.contains("projects") { user } else { &trusting };
    write(&root.join("home/config.toml"), user);
    write(&root.join("work/.codex/config.toml"), parts.next().unwrap_or_default());
    write(&root.join("etc/requirements.toml"), parts.next().unwrap_or_default());
    let home = root.display().to_string();
    let mut options =
        LoadOptions::new(root.join("work"), root.join("home"), Env::from_pairs([("HOME", home.as_str())]));
    options.system = SystemPaths::in_folder(&root.join("etc"));
    for argument in parts {
        match Override::parse(argument) {
            Ok(value) => options.overrides.push(value),
            Err(error) => assert!(!error.report().is_empty()),
        }
    }
    match pellucid_config::load(&options) {
        Ok(config) => {
            let _ = config.unstable_features_warning();
        }
        Err(error) => assert!(!error.report().is_empty()),
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}
