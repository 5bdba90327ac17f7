//! `pack import`: a pack with another agent's texts, from its sources.
//!
//! Not here: where the sources are, and fetching them (`sources`).

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use pellucid_engine::pack::LAYOUT;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::slots;
use pellucid_workspace::pack_files;
use pellucid_workspace::pack_import;
use pellucid_workspace::pack_import::Import;
use pellucid_workspace::skills::bundled;
use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

use super::new::manifest;
use super::sources;
use super::sources::Sources;
use super::table::table;
use super::used;
use crate::args::pack::PackImportArgs;
use crate::args::shared::Shared;
use crate::start::ProgramFailure;
use crate::style;

/// The file that holds the licence of the sources.
const LICENSE: &str = "LICENSE";

/// How many missing texts are errors of their own. The list names all of them; a folder that is no checkout lacks every one.
const ERRORS_MAX: usize = 5;

pub fn run(shared: &Shared, args: &PackImportArgs, out: &mut dyn Write) -> Result<ExitCode, ProgramFailure> {
    let folder = match &args.to {
        Some(folder) => folder.clone(),
        None => super::home_folder()?.join(pack_files::FOLDER).join(format!("codex-{}", pack_import::VERSION)),
    };
    if !args.force && is_filled(&folder) {
        return Err(ProgramFailure::new(format!(
            "{} is not empty\nhint: --force writes into it, --to DIR writes elsewhere",
            folder.display()
        )));
    }
    let sources = match &args.checkout {
        Some(checkout) => Sources::given(checkout),
        None => sources::find(shared, args.from.as_deref())?,
    };
    let import = pack_import::import(&sources.folder).map_err(|error| ProgramFailure::new(format!("{error}")))?;
    if let Some(version) = import.version.as_deref().filter(|version| *version != pack_import::VERSION) {
        style::line(&format!(
            "warning: the checkout is of version {version}; texts are looked for where {} has them",
            pack_import::VERSION
        ));
    }
    let is_written = import.missing.is_empty() || args.partial;
    if is_written {
        write(&import, &sources, &folder)?;
    }
    let shown = match args.json {
        true => super::json_text(&report_json(&import, is_written.then_some(folder.as_path()))),
        false => report(&import),
    };
    super::print_to(out, &shown)?;
    for missing in import.missing.iter().take(ERRORS_MAX) {
        style::line(&format!("error: {missing}"));
    }
    if let Some(n_more @ 1..) = import.missing.len().checked_sub(ERRORS_MAX) {
        style::line(&format!("{n_more} more texts were not found; the list has all of them"));
    }
    let (n_found, n_missing) = (import.found.len(), import.missing.len());
    if is_written {
        style::line(&format!("{n_found} texts imported, {n_missing} not found; the pack is {}", folder.display()));
        let name = name_of(&folder, args.to.is_none());
        match args.uses {
            true => used::select(&super::home_folder()?, &name)?,
            false => style::line(&format!("hint: `pellucid pack use {name}` uses it from now on")),
        }
    } else {
        style::line(&format!("{n_missing} of {} texts were not found, so nothing was written", n_found + n_missing));
        style::line("hint: --partial writes what was found, with the built-in texts for the rest");
    }
    Ok(if import.missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_filled(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// How the pack is named in commands: by its name in the folder `packs`, elsewhere by its folder.
fn name_of(folder: &Path, is_named: bool) -> String {
    match folder.file_name().filter(|_| is_named) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned(),
    }
}

fn write(import: &Import, sources: &Sources, folder: &Path) -> Result<(), ProgramFailure> {
    let name = folder.file_name().map_or_else(|| "codex".into(), |name| name.to_string_lossy());
    let mut files = import.files.clone();
    let layout = format!("name = {}\nfrom = \"{}\"\n", toml_string(&name), pack_import::BASE);
    files.insert(LAYOUT.to_owned(), layout);
    let origin = json!({
        "project": pack_import::URL,
        "version": import.version,
        "commit": sources.commit,
        "texts": rows_json(import),
    });
    files.insert(slots::MANIFEST.to_owned(), manifest(&name, &origin));
    // Texts of others go with their licence.
    for paper in [LICENSE, "NOTICE"] {
        if let Ok(text) = pellucid_files::read_text(&sources.folder.join(paper), pellucid_files::TEXT_BYTES_MAX) {
            files.insert(paper.to_owned(), text);
        }
    }
    let shown = std::path::absolute(folder).unwrap_or_else(|_| PathBuf::from(folder));
    Pack::load_user(&files, &shown.to_string_lossy())
        .map_err(|error| ProgramFailure::new(format!("the imported texts do not make a pack: {error}")))?;
    pack_files::write(folder, &files).map_err(|error| super::failure(&error))?;
    let skills = folder.join(bundled::FOLDER);
    bundled::write(&skills, &import.skills)
        .map_err(|error| ProgramFailure::new(format!("could not write {}: {error}", skills.display())))
}

fn toml_string(text: &str) -> String {
    // A string of JSON is one of TOML, too.
    Value::from(text).to_string()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn report(import: &Import) -> String {
    let mut rows: Vec<Vec<String>> = import
        .found
        .iter()
        .map(|found| {
            let bytes = import.bytes(found);
            vec![found.slot.clone(), bytes.len().to_string(), hash(bytes)[..16].to_owned(), found.from.clone()]
        })
        .collect();
    let missing = import.missing.iter();
    rows.extend(missing.map(|it| vec![it.slot.clone(), "-".to_owned(), "not found".to_owned(), it.from.clone()]));
    rows.sort();
    table(&["slot", "bytes", "sha256", "from"], &rows)
}

fn rows_json(import: &Import) -> Vec<Value> {
    let row = |found: &pack_import::ImportedSlot| {
        let bytes = import.bytes(found);
        json!({ "slot": found.slot, "file": found.file, "bytes": bytes.len(), "sha256": hash(bytes), "from": found.from })
    };
    import.found.iter().map(row).collect()
}

fn report_json(import: &Import, folder: Option<&Path>) -> Value {
    let missing = import.missing.iter().map(|it| json!({ "slot": it.slot, "from": it.from, "why": it.why }));
    json!({
        "version": import.version,
        "folder": folder,
        "found": rows_json(import),
        "missing": missing.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::args::pack::Project;

    /// Imports from a checkout that has nothing but one text.
    fn import_one(partial: bool) -> (tempfile::TempDir, bool, String) {
        let folder = tempfile::tempdir().unwrap();
        let checkout = folder.path().join("checkout");
        fs::create_dir_all(checkout.join("codex-rs/core")).unwrap();
        fs::write(checkout.join("codex-rs/core/prompt.md"), "Be good.\n").unwrap();
        fs::write(checkout.join(LICENSE), "A licence.").unwrap();
        let to = Some(folder.path().join("pack \"x\""));
        let checkout = Some(checkout);
        let (from, uses, force, json) = (None, false, false, false);
        let args = PackImportArgs { project: Project::Codex, checkout, from, uses, to, partial, force, json };
        let mut shown = Vec::new();
        let is_good = run(&Shared::default(), &args, &mut shown).unwrap() == ExitCode::SUCCESS;
        (folder, is_good, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn nothing_is_written_unless_everything_is_found() {
        let (folder, is_good, shown) = import_one(false);
        assert!(!is_good);
        assert!(shown.contains("not found"), "{shown}");
        assert!(!folder.path().join("pack \"x\"").exists());
    }

    #[test]
    fn a_partial_import_is_a_pack_that_says_what_it_has() {
        let (folder, is_good, shown) = import_one(true);
        assert!(shown.contains("base/default"), "{shown}");
        assert!(!is_good, "something is still missing");
        let folder = folder.path().join("pack \"x\"");
        let pack = pack_files::load(&folder.to_string_lossy(), Path::new("")).unwrap();
        assert_eq!(pack.name, "pack \"x\"");
        assert_eq!(pack.unknown_files(), []);
        assert_eq!(pack.slot_text("base/default").unwrap().text.as_deref(), Some("Be good.\n"));
        assert_eq!(fs::read_to_string(folder.join(LICENSE)).unwrap(), "A licence.");
        let manifest: Value = serde_json::from_str(&fs::read_to_string(folder.join(slots::MANIFEST)).unwrap()).unwrap();
        let text = &manifest["origin"]["texts"][0];
        assert_eq!((&text["slot"], &text["bytes"]), (&json!("base/default"), &json!(9)));
        assert_eq!(text["sha256"], hash(b"Be good.\n"));
    }
}
