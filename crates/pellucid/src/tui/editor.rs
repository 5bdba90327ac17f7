//! The user's editor, for a draft that is easier to write there.

use pellucid_config::Env;

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
    #[expect(clippy::disallowed_methods, reason = "the editor belongs to the person, who ends it")]
    let mut command = tokio::process::Command::new("/bin/sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(&file);
    let status = command.status().await.map_err(failed)?;
    if !status.success() {
        return Err(format!("`{editor}` failed, so the draft is as it was"));
    }
    pellucid_files::read_text(&file, TEXT_BYTES_MAX).map_err(failed)
}
