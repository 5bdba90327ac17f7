//! Whole texts of files before and after a patch, and exchanging one whole text for another.
//!
//! Undoing a patch needs the text that the patch found, and must not write over anything that a person or a command wrote
//! since. So a caller names the text that it expects at each path; a file with another text is refused.
//!
//! Not here: which texts are exchanged (`reverse`), and writing (`apply`).

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::apply::PatchApplyError;
use crate::base::Base;
use crate::diff::is_executable;
use crate::files::Disk;
use crate::files::PatchFiles;
use crate::verify::Before;
use crate::verify::Entry;
use crate::verify::Gone;
use crate::verify::Now;
use crate::verify::Origin;
use crate::verify::PatchSummary;
use crate::verify::VerifiedPatch;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundText {
    /// No file is there.
    Nothing,
    /// A file with this text.
    Text(Arc<String>),
    /// Something that is not a text: a link, a device, or bytes that are not UTF-8.
    NotText,
}

impl FoundText {
    /// What is at a path of the disk now. Links are followed.
    ///
    /// # Errors
    /// The error of the operating system, if a file is there and cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        match Disk.read(path) {
            Ok(found) => Ok(String::from_utf8(found.bytes).map_or(Self::NotText, |text| Self::Text(Arc::new(text)))),
            Err(error) if is_absent(&error) => Ok(Self::Nothing),
            Err(error) => Err(error),
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A path that a patch changes, with its whole text before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextChange {
    /// The absolute path, as the patch names the file.
    pub path: PathBuf,
    /// The path that is written, with links followed.
    pub target: PathBuf,
    /// What the patch found.
    pub before: FoundText,
    /// Whether the file that the patch found may be run as a program.
    pub was_executable: bool,
    /// The text after the patch; absent if the patch leaves no file there.
    pub after: Option<Arc<String>>,
}

/// Whether a file is there that may be run as a program.
pub fn is_executable_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && is_executable(&found))
}

/// Lets a file be run as a program by all who may read it. Systems without such a mode have nothing to do.
///
/// # Errors
/// The error of the operating system.
pub fn make_executable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::symlink_metadata(path)?.permissions().mode();
        fs::set_permissions(path, fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Exchanges a text for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextExchange {
    /// The text that has to be there; absent if no file may be there.
    pub expected: Option<String>,
    /// The text that takes its place; absent if the file is removed.
    pub then: Option<String>,
}

impl VerifiedPatch {
    /// The whole texts of every path before and after. Reads files that verification did not need, so call it before the
    /// patch is applied.
    pub fn text_changes(&self) -> Vec<TextChange> {
        let targets = self.targets();
        let change = |((path, entry), target): ((&PathBuf, &Entry), PathBuf)| {
            let before = match &entry.before {
                Before::Nothing | Before::Free => FoundText::Nothing,
                _ if is_removed_link(entry, &target) => FoundText::NotText,
                Before::Text { text, .. } => text.held().map_or(FoundText::NotText, FoundText::Text),
                Before::Unread => FoundText::read(path).unwrap_or(FoundText::NotText),
            };
            let after = match &entry.now {
                Now::Nothing(_) => None,
                Now::Text { text, .. } => text.flat().ok(),
            };
            let was_executable = before != FoundText::Nothing && is_executable_file(path);
            TextChange { path: path.clone(), target, before, was_executable, after }
        };
        self.entries.iter().zip(targets).map(change).collect()
    }

    /// Exchanges the texts of files, all of them or none.
    ///
    /// # Errors
    /// [`PatchApplyError::Changed`] for the first path that does not have the expected text.
    pub fn exchange(texts: &BTreeMap<PathBuf, TextExchange>) -> Result<Self, PatchApplyError> {
        let mut entries = BTreeMap::new();
        let mut folders = HashSet::new();
        for (path, TextExchange { expected, then }) in texts {
            let changed = || PatchApplyError::Changed { path: path.clone() };
            let before = match (Disk.read(path), expected) {
                (Ok(found), Some(expected)) if found.bytes == expected.as_bytes() => {
                    Before::Text { text: Base::Held(Arc::new(expected.clone())), stamp: found.stamp }
                }
                (Err(error), None) if is_absent(&error) => Before::Free,
                _ => return Err(changed()),
            };
            let now = match then {
                Some(text) => Now::Text { text: text.clone().into(), origin: Origin::File(path.clone()) },
                None => Now::Nothing(Gone::Deleted),
            };
            folders.extend(path.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned));
            entries.insert(path.clone(), Entry { written: path.clone(), before, now });
        }
        Ok(Self { cwd: PathBuf::from("/"), entries, summary: PatchSummary::default(), folders, blocked: None })
    }
}

/// Whether the patch removes a link: the text behind it stays where it is.
fn is_removed_link(entry: &Entry, target: &Path) -> bool {
    matches!(entry.now, Now::Nothing(_)) && fs::symlink_metadata(target).is_ok_and(|found| found.is_symlink())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Reader;
    use crate::Writable;
    use crate::parse;
    use crate::verify;

    fn text(found: &FoundText) -> String {
        match found {
            FoundText::Nothing => "-".to_owned(),
            FoundText::Text(text) => format!("{text:?}"),
            FoundText::NotText => "?".to_owned(),
        }
    }

    #[test]
    fn whole_texts_before_and_after_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let here = |name: &str| folder.path().join(name);
        fs::write(here("changed"), "a\nb\n").unwrap();
        fs::write(here("over"), "old").unwrap();
        fs::write(here("moved"), "m\n").unwrap();
        fs::write(here("bytes"), [0xff]).unwrap();
        let patch = "*** Begin Patch\n*** Update File: changed\n@@\n-b\n+c\n*** Add File: over\n+new\n*** Add File: fresh\n+x\n\
                     *** Update File: moved\n*** Move to: there\n@@\n-m\n+n\n*** Add File: bytes\n+y\n*** End Patch";
        let patch = parse(patch).unwrap();
        let verified = verify(&patch, folder.path(), &Disk, Reader::Model).unwrap();
        let shown: Vec<String> = verified
            .text_changes()
            .iter()
            .map(|it| {
                let name = it.path.file_name().unwrap().to_string_lossy();
                let after = it.after.as_ref().map_or("-".to_owned(), |text| format!("{text:?}"));
                format!("{name} {} {after}", text(&it.before))
            })
            .collect();
        assert_eq!(
            shown,
            [
                r#"bytes ? "y\n""#,
                r#"changed "a\nb\n" "a\nc\n""#,
                r#"fresh - "x\n""#,
                r#"moved "m\n" -"#,
                r#"over "old" "new\n""#,
                r#"there - "n\n""#,
            ]
        );
    }

    /// Exchanges texts of `a` and `b`, of which `a` has the text "one".
    fn exchanged(expected: [Option<&str>; 2], then: [Option<&str>; 2]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "deep/b"].map(|name| folder.path().join(name));
        fs::write(&paths[0], "one").unwrap();
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let texts = paths.iter().zip(expected.into_iter().zip(then)).map(|(path, (expected, then))| {
            (path.clone(), TextExchange { expected: owned(expected), then: owned(then) })
        });
        let outcome = VerifiedPatch::exchange(&texts.collect())
            .and_then(|patch| patch.apply(&Writable::folder(folder.path())))
            .map_or("refused", |()| "done");
        let left = paths.map(|path| fs::read_to_string(path).unwrap_or_else(|_| "-".to_owned()));
        format!("{outcome} {} {}", left[0], left[1])
    }

    #[test]
    fn texts_are_exchanged_together_or_not_at_all() {
        assert_eq!(exchanged([Some("one"), None], [Some("two"), Some("new")]), "done two new");
        assert_eq!(exchanged([Some("one"), None], [None, Some("new")]), "done - new");
        assert_eq!(exchanged([Some("one"), Some("there")], [Some("two"), None]), "refused one -");
        assert_eq!(exchanged([Some("other"), None], [Some("two"), Some("new")]), "refused one -");
        assert_eq!(exchanged([None, None], [Some("two"), Some("new")]), "refused one -");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_became_a_link_is_not_written_through() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("a"), "one").unwrap();
        let target = folder.path().join("sub/a");
        std::os::unix::fs::symlink(outside.path(), folder.path().join("sub")).unwrap();
        let exchange = TextExchange { expected: Some("one".to_owned()), then: Some("two".to_owned()) };
        let patch = VerifiedPatch::exchange(&BTreeMap::from([(target.clone(), exchange)])).unwrap();
        let refused = patch.apply(&Writable::Only(vec![target])).unwrap_err();
        assert!(matches!(refused, PatchApplyError::Outside { .. }), "{refused}");
        assert_eq!(fs::read_to_string(outside.path().join("a")).unwrap(), "one");
    }
}
