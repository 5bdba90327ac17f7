//! `pack check`: whatever is wrong in a pack.

use std::path::Path;
use std::process::ExitCode;

use pellucid_engine::pack::Pack;
use pellucid_workspace::pack_files;
use pellucid_workspace::pack_files::PackPlace;
use serde_json::json;

use crate::start::ProgramFailure;
use crate::style;

pub fn run(home: &Path, name: &str, as_json: bool) -> Result<ExitCode, ProgramFailure> {
    let report = check(home, name)?;
    if as_json {
        super::print_json(&json!({
            "pack": report.name,
            "own_texts": report.n_own,
            "errors": report.errors,
            "warnings": report.warnings,
        }))?;
    } else {
        super::print(&report.text())?;
    }
    Ok(if report.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Report {
    name: String,
    n_own: usize,
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Report {
    fn text(&self) -> String {
        let mut text = String::new();
        for error in &self.errors {
            text += &format!("error: {error}\n");
        }
        for warning in &self.warnings {
            text += &format!("warning: {warning}\n");
        }
        if self.errors.is_empty() {
            text += &format!("{}: valid, {} defined by the pack\n", self.name, style::counted(self.n_own, "text"));
        }
        text
    }
}

fn check(home: &Path, name: &str) -> Result<Report, ProgramFailure> {
    let (pack, errors) = match pack_files::find(name, home).map_err(|error| super::failure(&error))? {
        PackPlace::BuiltIn(name) => (Pack::builtin(&name), Vec::new()),
        PackPlace::Folder(folder) => {
            let files = pack_files::read(&folder).map_err(|error| super::failure(&error))?;
            Pack::check_user(&files, &folder.to_string_lossy())
        }
    };
    let texts = pack.as_ref().map(Pack::slot_texts).unwrap_or_default();
    Ok(Report {
        name: pack.as_ref().map_or_else(|| name.to_owned(), |pack| pack.name.clone()),
        n_own: texts.iter().filter(|slot| slot.is_users).count(),
        errors: errors.iter().map(ToString::to_string).collect(),
        warnings: pack.iter().flat_map(Pack::unknown_files).map(|unknown| unknown.to_string()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_pack(files: &[(&str, &str)], expected: &Expect) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("packs/mine");
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        pack_files::write(&folder, &files).unwrap();
        let text = check(home.path(), "mine").unwrap().text();
        expected.assert_eq(&text.replace(&*folder.to_string_lossy(), "mine"));
    }

    #[test]
    fn a_good_pack_is_called_good() {
        check_pack(
            &[("pack.toml", "name = 'mine'\nfrom = 'codex'\n"), ("turn/aborted.md", "Stopped.")],
            &expect!["mine: valid, 1 text defined by the pack\n"],
        );
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        check_pack(
            &[
                ("pack.toml", "name = 'mine'\nfrom = 'codex'\ncolour = 1\n"),
                ("memory/read_path.md", "one\n{{ memory }}\n"),
                ("permissions/writable_root_one.md", "nothing"),
                ("collaboration/default.md", "Modes: {{KNOWN_MODES}}"),
                ("tools/update_plan.toml", "kind = 'function'\ncolour = 1\n"),
                ("models.json", "{\"models\":[{\"slug\":5}]}"),
                ("turn/abort.md", "x"),
            ],
            &expect![[r#"
                error: mine/pack.toml:3:1: unknown field `colour`, expected one of `name`, `from`, `slot`, `tool`, `tools_only`, `updates`, `skills`, `given_tools`, `model`, `reinject`, `memory`, `instructions`, `bootstrap`, `facts`, `values`, `injection`, `source_texts`, `section`, `compaction`, `project_docs`
                error: mine/permissions/writable_root_one.md: variable `{root}` is missing, its content would be lost
                error: mine/memory/read_path.md:2: unknown variable `{{ memory }}`; known here: `{{ base_path }}`, `{{ memory_summary }}`
                error: mine/collaboration/default.md:1: unknown variable `{{KNOWN_MODES}}`; known here: `{{KNOWN_MODE_NAMES}}`, `{{REQUEST_USER_INPUT_AVAILABILITY}}`
                error: mine/tools/update_plan.toml:2:1: unknown field `colour`, expected one of `name`, `kind`, `description`, `grammar`, `parameter`
                error: mine/models.json:1:20: invalid type: integer `5`, expected a string
                warning: mine/turn/abort.md: no slot has this name, so nothing reads the file; did you mean turn/aborted.md?
            "#]],
        );
    }
}
