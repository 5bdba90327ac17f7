//! `pack new`: copies a built-in pack into the user's `packs` folder.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use pellucid_engine::pack::LAYOUT;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::pack::slots;
use pellucid_workspace::pack_files;
use serde_json::Value;
use serde_json::json;

use crate::start::ProgramFailure;

const README: &str = include_str!("readme.md");

pub fn run(
    home: &Path,
    name: &str,
    from: &str,
    instructions: Option<&Path>,
    out: &mut dyn Write,
) -> Result<ExitCode, ProgramFailure> {
    let folder = home.join(pack_files::FOLDER).join(name);
    if Pack::builtin_names().contains(&name) {
        return Err(ProgramFailure::new(format!("`{name}` is the name of a built-in pack; choose another")));
    }
    if !is_name(name) {
        return Err(ProgramFailure::new(format!(
            "`{name}` is not a valid pack name: use letters, digits, `-` and `_`"
        )));
    }
    if folder.exists() {
        return Err(ProgramFailure::new(format!("{} already exists", folder.display())));
    }
    let mut files = copy(name, from).ok_or_else(|| {
        let known = Pack::builtin_names().join(", ");
        ProgramFailure::new(format!("there is no built-in pack `{from}`; built in: {known}"))
    })?;
    if let Some(path) = instructions {
        take_instructions(&mut files, from, path)?;
    }
    pack_files::write(&folder, &files).map_err(|error| super::failure(&error))?;
    let mut made = format!(
        "Made {}\n\nChange any text in it, then:\n  pellucid pack check {name}\n  pellucid --pack {name} prompt hello\nTo use it always:\n  pellucid pack use {name}\n",
        folder.display(),
    );
    if let Some(name) = instructions.and_then(Path::file_name).filter(|name| *name == "AGENTS.md") {
        let name = name.to_string_lossy();
        made += &format!(
            "\nA project's {name} is sent as an instruction file too. To send it once, move it out of the project, or set \
             `project_doc_max_bytes = 0`.\n"
        );
    }
    super::print_to(out, &made)?;
    Ok(ExitCode::SUCCESS)
}

/// Replaces the standing instructions of a copy with the text of a file.
fn take_instructions(files: &mut PackFiles, from: &str, path: &Path) -> Result<(), ProgramFailure> {
    let slot = standing_file(from).ok_or_else(|| {
        let with: Vec<&str> = Pack::builtin_names().into_iter().filter(|name| standing_file(name).is_some()).collect();
        ProgramFailure::usage(format!(
            "the pack `{from}` has no standing instructions, so `--instructions` has no effect\nhint: copy a pack that has them: --from {}",
            with.join(" or --from ")
        ))
    })?;
    let text = pellucid_files::read_given(path, pellucid_files::TEXT_BYTES_MAX).map_err(|error| {
        ProgramFailure::usage(format!("could not read the instructions {}\n  caused by: {error}", path.display()))
    })?;
    if text.trim().is_empty() {
        return Err(ProgramFailure::usage(format!(
            "{} is blank, so the pack would have no standing instructions",
            path.display()
        )));
    }
    files.insert(slot, text);
    Ok(())
}

/// The file with the standing instructions of a built-in pack.
fn standing_file(pack: &str) -> Option<String> {
    Pack::builtin(pack)?.layout.reinject.as_ref()?.instructions.clone()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// The files of a built-in pack under another name.
fn copy(name: &str, from: &str) -> Option<PackFiles> {
    let mut files = Pack::builtin_files(from)?;
    let layout = files.get_mut(LAYOUT)?;
    // The copy extends the pack that it copies, not that pack's base.
    let own: Vec<&str> = layout.lines().filter(|line| !line.starts_with("from = ")).collect();
    *layout = own.join("\n") + "\n";
    *layout = layout.replacen(&format!("name = \"{from}\""), &format!("name = \"{name}\"\nfrom = \"{from}\""), 1);
    files.insert("README.md".to_owned(), README.replace("{name}", name).replace("{from}", from));
    files.insert(slots::MANIFEST.to_owned(), manifest(name, &json!({ "pack": from, "built_in": true })));
    Some(files)
}

/// `manifest.json`: what the pack is and where it came from.
pub fn manifest(name: &str, origin: &Value) -> String {
    let manifest = json!({
        "name": name,
        "version": env!("CARGO_PKG_VERSION"),
        "made_by": concat!("pellucid ", env!("CARGO_PKG_VERSION")),
        "origin": origin,
    });
    format!("{manifest:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_every_built_in_pack_is_a_pack() {
        for from in Pack::builtin_names() {
            let files = copy("mine", from).unwrap();
            let (pack, errors) = Pack::check_user(&files, "/packs/mine");
            assert_eq!(errors, [], "{from}");
            let pack = pack.unwrap();
            assert_eq!(pack.name, "mine");
            assert_eq!(pack.unknown_files(), [], "{from}");
            assert_eq!(pack.layout.slots, Pack::builtin(from).unwrap().layout.slots);
        }
    }

    #[test]
    fn a_pack_is_made_once_and_under_a_good_name() {
        let home = tempfile::tempdir().unwrap();
        let make = |name: &str, from: &str| run(home.path(), name, from, None, &mut Vec::new());
        let failed = |name: &str, from: &str| format!("{:?}", make(name, from).unwrap_err());
        assert!(make("mine", "codex").is_ok());
        assert!(failed("mine", "codex").contains("already exists"));
        assert!(failed("codex", "codex").contains("is the name of a built-in pack"));
        assert!(failed("../mine", "codex").contains("is not a valid pack name"));
        assert!(failed("", "codex").contains("is not a valid pack name"));
        assert!(failed("other", "nothing").contains("there is no built-in pack `nothing`"));
    }

    #[test]
    fn a_file_becomes_the_standing_instructions_of_a_copy() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("AGENTS.md");
        let make = |name: &str, from: &str| run(home.path(), name, from, Some(&file), &mut Vec::new());
        let failed = |name: &str, from: &str| format!("{:?}", make(name, from).unwrap_err());
        assert!(failed("mine", "ads").contains("could not read the instructions"));
        std::fs::write(&file, " \n").unwrap();
        assert!(failed("mine", "ads").contains("is blank"));
        std::fs::write(&file, "Use tabs.\n").unwrap();
        assert!(failed("mine", "codex").contains("hint: copy a pack that has them: --from ads"));
        assert!(!home.path().join("packs/mine").exists(), "nothing is written before everything is known to be good");
        let mut out = Vec::new();
        assert!(run(home.path(), "mine", "ads", Some(&file), &mut out).is_ok());
        let said = String::from_utf8(out).unwrap();
        assert!(said.contains("A project's AGENTS.md is sent as an instruction file too."), "{said}");
        let pack = pack_files::load("mine", home.path()).unwrap();
        let slot = pack.layout.reinject.as_ref().unwrap().instructions.clone().unwrap();
        assert_eq!(pack.template(&slot).written(), "Use tabs.\n");
        assert_eq!(pack.unknown_files(), []);
    }
}
