//! The user's editor, for a draft that is easier to write there.

use pellucid_config::Env;
use pellucid_exec::foreground;
use pellucid_tasks::Task;

/// The longest text that is taken back.
const TEXT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Opens a text in the user's editor and returns what the editor left.
pub async fn edit(text: &str, env: &Env) -> Result<String, String> {
    let set = |name: &str| env.text(name).filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR"));
    let editor = editor.ok_or("no editor is set: put the name of yours into VISUAL or EDITOR")?;
    let failed = |error: std::io::Error| format!("the draft cannot be edited: {error}");
    let folder = tempfile::tempdir().map_err(failed)?;
    let file = folder.path().join("draft.md");
    pellucid_files::write_private(&file, text.as_bytes()).map_err(failed)?;
    // The value may have arguments, as git and others take it.
    let (script, argument) = (format!("{editor} \"$1\""), file.clone().into_os_string());
    let ran = Task::blocking("editor", move || foreground::run_script(&script, &argument)).await;
    let status = ran.map_err(|error| error.to_string())?.map_err(failed)?;
    if !status.success() {
        return Err(format!("`{editor}` failed, so the draft is as it was"));
    }
    pellucid_files::read_text(&file, TEXT_BYTES_MAX).map_err(failed)
}
