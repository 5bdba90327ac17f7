//! Patches in the calls of a session: through the tool for patches, or through a command that is nothing but a patch.
//!
//! Not here: whether a patch was applied, and what it did to files.

use std::path::Path;
use std::path::PathBuf;

use pellucid_exec::script;
use pellucid_exec::script::PatchIn;
use pellucid_patch::diff::unified;
use pellucid_patch::is_patch_text;
use pellucid_patch::normal;
use pellucid_patch::parse;
use pellucid_patch::parse::Hunk;
use pellucid_patch::parse::PatchChunk;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::LocalShellAction;
use serde::Serialize;
use serde_json::Value;

/// The name of the tool for patches.
const TOOL: &str = "apply_patch";

/// A patch of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The id of the call.
    pub call: String,
    /// The folder that relative paths of the patch start at.
    pub cwd: PathBuf,
    /// The text of the patch.
    pub text: String,
}

impl Applied {
    /// The absolute paths that the patch names.
    pub fn paths(&self) -> Vec<PathBuf> {
        let Ok(patch) = parse(&self.text) else { return Vec::new() };
        let named = patch.hunks.iter().flat_map(|hunk| match hunk {
            Hunk::Add { path, .. } | Hunk::Delete { path } => vec![*path],
            Hunk::Update { path, move_to, .. } => std::iter::once(*path).chain(*move_to).collect(),
        });
        named.map(|path| normal(&self.cwd.join(path))).collect()
    }
}

/// The patch of a call, if the call does nothing but apply one. `cwd` is the folder of the turn.
pub fn patch_of(item: &Item, cwd: &Path) -> Option<Applied> {
    call(item)?.patch(cwd)
}

/// Whether a call does nothing but apply a patch.
pub fn is_patch_call(item: &Item) -> bool {
    patch_of(item, Path::new("/")).is_some()
}

/// What a patch says of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchedFile {
    /// The path, as the patch names it.
    pub path: String,
    /// What happens to the file.
    pub how: PatchedHow,
    /// The new path of a file that is moved.
    pub moved_to: Option<String>,
    /// The places that change, in order. A patch does not say at which lines they are.
    pub hunks: Vec<PatchedLines>,
}

/// What a patch does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchedHow {
    /// The patch writes all of the file.
    Added,
    /// The patch removes the file.
    Removed,
    /// The patch changes lines of the file.
    Changed,
}

/// Neighbouring lines that a patch changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PatchedLines {
    /// The line above them that the patch names, if it names one.
    pub below: Option<String>,
    /// The lines, each behind a space, `+` or `-`.
    pub text: String,
}

impl Applied {
    /// What the patch says of each file; nothing if the text is no patch.
    pub fn files(&self) -> Vec<PatchedFile> {
        let Ok(patch) = parse(&self.text) else { return Vec::new() };
        patch.hunks.iter().map(PatchedFile::of).collect()
    }
}

impl PatchedFile {
    fn of(hunk: &Hunk<'_>) -> Self {
        let (path, how, moved_to, hunks) = match hunk {
            Hunk::Add { path, lines } => {
                let text = lines.iter().map(|line| format!("+{line}\n")).collect();
                (path, PatchedHow::Added, None, vec![PatchedLines { below: None, text }])
            }
            Hunk::Delete { path } => (path, PatchedHow::Removed, None, Vec::new()),
            Hunk::Update { path, move_to, chunks } => {
                (path, PatchedHow::Changed, move_to.map(str::to_owned), chunks.iter().map(PatchedLines::of).collect())
            }
        };
        Self { path: (*path).to_owned(), how, moved_to, hunks }
    }
}

impl PatchedLines {
    fn of(chunk: &PatchChunk<'_>) -> Self {
        let whole = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let diff = unified(&whole(&chunk.old), &whole(&chunk.new), chunk.old.len());
        // The numbers of lines are those of the chunk, not of the file.
        let text = diff.split_once('\n').map_or("", |(_, lines)| lines).to_owned();
        Self { below: chunk.context.map(str::to_owned), text }
    }
}

/// A call that may have applied a patch.
struct Call<'a> {
    id: &'a str,
    what: What,
}

enum What {
    Patch(String),
    Command { argv: Vec<String>, workdir: Option<String> },
}

fn call(item: &Item) -> Option<Call<'_>> {
    let (id, what) = match item {
        Item::CustomToolCall { name, call_id, input, .. } if name == TOOL => (call_id, What::Patch(input.clone())),
        Item::FunctionCall { name, call_id, arguments, .. } => {
            let arguments: Value = serde_json::from_str(arguments).ok()?;
            let text = |name: &str| arguments[name].as_str().map(str::to_owned);
            let what = if name == TOOL {
                What::Patch(text("input")?)
            } else {
                let script = text("command").or_else(|| text("cmd"));
                let argv = match script {
                    Some(script) => vec!["bash".to_owned(), "-lc".to_owned(), script],
                    None => serde_json::from_value(arguments["command"].clone()).ok()?,
                };
                What::Command { argv, workdir: text("workdir") }
            };
            (call_id, what)
        }
        Item::LocalShellCall {
            call_id: Some(call_id),
            action: LocalShellAction::Exec { command, working_directory, .. },
            ..
        } => (call_id, What::Command { argv: command.clone(), workdir: working_directory.clone() }),
        _ => return None,
    };
    Some(Call { id, what })
}

impl Call<'_> {
    fn patch(self, cwd: &Path) -> Option<Applied> {
        match self.what {
            What::Patch(text) => Some(Applied { call: self.id.to_owned(), cwd: cwd.to_owned(), text }),
            What::Command { argv, workdir } => {
                let Some(PatchIn::Call(call)) = script::patch_in(&argv, is_patch_text) else {
                    return None;
                };
                let cwd = workdir.map_or_else(|| cwd.to_owned(), |folder| cwd.join(folder));
                let cwd = call.cd.map_or_else(|| cwd.clone(), |folder| cwd.join(folder));
                Some(Applied { call: self.id.to_owned(), cwd, text: call.body })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_shown_as_the_lines_of_its_files() {
        let body = "*** Begin Patch\n*** Add File: a\n+one\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n@@ fn f\n x\n\
                    -old\n+new\n y\n*** End Patch";
        let lines =
            |below: Option<&str>, text: &str| PatchedLines { below: below.map(str::to_owned), text: text.to_owned() };
        let file = |path: &str, how, moved_to: Option<&str>, hunks| PatchedFile {
            path: path.to_owned(),
            how,
            moved_to: moved_to.map(str::to_owned),
            hunks,
        };
        let patch = |text: &str| Applied { call: "c".to_owned(), cwd: "/w".into(), text: text.to_owned() };
        assert_eq!(
            patch(body).files(),
            [
                file("a", PatchedHow::Added, None, vec![lines(None, "+one\n")]),
                file("b", PatchedHow::Removed, None, Vec::new()),
                file("c", PatchedHow::Changed, Some("d"), vec![lines(Some("fn f"), " x\n-old\n+new\n y\n")]),
            ]
        );
        assert_eq!(patch("no patch").files(), []);
    }
}
