//! A folder for each workspace that has its state, and how it is made.
//!
//! Files of an older place are copied over once; none is ever overwritten.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_engine::reinject::layout::StateLayout;
use sha2::Digest;
use sha2::Sha256;

/// Larger files are not taken over.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// How much of a folder's name is in the name of its state.
const SLUG_MAX: usize = 48;

/// The folder for a workspace's state.
pub fn state_folder(top: &Path, workspace: &Path) -> PathBuf {
    let real = fs::canonicalize(workspace).unwrap_or_else(|_| workspace.to_owned());
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut slug = String::new();
    for c in name.chars() {
        let is_plain = c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if is_plain {
            slug.push(c);
        } else if !slug.ends_with('\u{0}') {
            slug.push('\u{0}');
        }
    }
    let slug: String = slug.replace('\u{0}', "_").chars().take(SLUG_MAX).collect();
    let slug = if slug.is_empty() { "workspace" } else { &slug };
    let hash = Sha256::digest(real.to_string_lossy().as_bytes());
    let hex = hash.iter().take(6).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    top.join("workspaces").join(format!("{slug}-{hex}"))
}

/// Prepares the state. Returns whether the workspace is set up.
pub(super) fn prepare(layout: &StateLayout, workspace: &Path, state: &Path, now: fn() -> String) -> bool {
    let old = workspace.join(&layout.folder);
    if old.join(&layout.marker).is_file() {
        for file in &layout.take_over {
            copy_missing(&old.join(&file.from), &state.join(&file.to));
        }
        for folder in &layout.take_over_folders {
            copy_folder(&old.join(folder), &state.join(folder));
        }
    }
    let file = state.join(&layout.marker);
    if !file.is_file() {
        let name = workspace.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.replace(char::is_control, "_");
        let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
        let created = now();
        let text =
            format!("{{\n  \"name\": \"{quoted}\",\n  \"created_at\": \"{created}\",\n  \"version\": \"1.0\"\n}}\n");
        let _ = fs::create_dir_all(state).and_then(|()| fs::write(&file, text));
    }
    file.is_file()
}

fn copy_missing(from: &Path, to: &Path) {
    if to.exists() {
        return;
    }
    let Ok(bytes) = pellucid_files::read(from, FILE_BYTES_MAX) else {
        return;
    };
    let folder = to.parent().map_or(Ok(()), fs::create_dir_all);
    // A state that cannot be written is reported as not initialised.
    let _ = folder.and_then(|()| fs::write(to, bytes));
}

fn copy_folder(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else {
        return;
    };
    for entry in entries.flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        // Links are passed over: they may lead round in circles.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => copy_folder(&from, &to),
            Ok(kind) if kind.is_file() => copy_missing(&from, &to),
            _ => {}
        }
    }
}
