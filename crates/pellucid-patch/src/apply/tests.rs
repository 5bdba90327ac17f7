use tempfile::TempDir;

use super::*;
use crate::files::Disk;
use crate::parse::parse;
use crate::verify::Reader;
use crate::verify::verify;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for path in ["a", "b", "c"] {
        fs::write(folder.path().join(path), format!("{path}\n")).unwrap();
    }
    folder
}

fn verified(folder: &Path, body: &str) -> Verified {
    let text = format!("*** Begin Patch\n{body}*** End Patch\n");
    verify(&parse(&text).unwrap(), folder, &Disk, Reader::Program).unwrap()
}

fn content(folder: &Path) -> Vec<String> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            format!("{name}={}", fs::read_to_string(&path).unwrap_or("folder".into()).trim())
        })
        .collect();
    files.sort();
    files
}

const ALL: &str = "*** Update File: a\n-a\n+x\n*** Delete File: b\n*** Add File: c\n+x\n*** Add File: n/m/new\n+x\n*** Add File: z/y\n+x\n";

#[test]
fn everything_is_written() {
    let folder = folder();
    verified(folder.path(), ALL).apply(&Writable::Everywhere).unwrap();
    assert_eq!(content(folder.path()), ["a=x", "c=x", "n=folder", "z=folder"]);
}

#[test]
fn what_was_done_is_taken_back_when_a_later_step_fails() {
    let folder = folder();
    let patch = verified(folder.path(), ALL);
    // A file where a folder has to be made: nothing before the last step can know.
    fs::write(folder.path().join("z"), "").unwrap();
    let error = patch.apply(&Writable::Everywhere).unwrap_err();
    assert_eq!(error.to_string(), "Failed to create parent directories for z/y");
    assert_eq!(content(folder.path()), ["a=a", "b=b", "c=c", "z="]);
}

#[test]
fn a_file_that_was_changed_meanwhile_is_left_alone() {
    for body in ["*** Update File: a\n-a\n+x\n", "*** Update File: a\n*** Move to: m\n-a\n+x\n"] {
        let folder = folder();
        let patch = verified(folder.path(), &format!("*** Delete File: b\n{body}"));
        fs::write(folder.path().join("a"), "somebody else\n").unwrap();
        let error = patch.apply(&Writable::Everywhere).unwrap_err();
        assert!(matches!(error, ApplyError::Changed { .. }), "{error}");
        assert_eq!(content(folder.path()), ["a=somebody else", "b=b", "c=c"]);
    }
}

#[test]
fn a_file_that_is_gone_meanwhile_cannot_be_deleted() {
    let folder = folder();
    let patch = verified(folder.path(), "*** Update File: a\n-a\n+x\n*** Delete File: b\n");
    fs::remove_file(folder.path().join("b")).unwrap();
    let error = patch.apply(&Writable::Everywhere).unwrap_err();
    assert_eq!(error.to_string(), "Failed to delete file b");
    assert_eq!(content(folder.path()), ["a=a", "c=c"]);
}

#[test]
fn a_name_beside_is_not_left_behind_when_staging_fails() {
    let folder = folder();
    let patch = verified(folder.path(), "*** Update File: a\n-a\n+x\n*** Add File: d\n+x\n");
    fs::create_dir(folder.path().join("d")).unwrap();
    let error = patch.apply(&Writable::Everywhere).unwrap_err();
    assert_eq!(error.to_string(), "Failed to write file d");
    assert_eq!(content(folder.path()), ["a=a", "b=b", "c=c", "d=folder"]);
}

#[test]
fn paths_can_be_checked_before_anybody_is_asked() {
    let folder = folder();
    let patch = verified(folder.path(), "*** Add File: ../beside-the-folder\n+x\n");
    let error = patch.check_writable(&Writable::folder(folder.path())).unwrap_err();
    assert!(matches!(error, ApplyError::Outside { .. }), "{error}");
    patch.check_writable(&Writable::Everywhere).unwrap();
}

#[test]
fn a_change_between_staging_and_writing_is_not_lost() {
    let folder = folder();
    let patch = verified(folder.path(), "*** Update File: a\n-a\n+x\n*** Update File: b\n-b\n+x\n");
    let steps = patch.steps(&Writable::Everywhere).unwrap();
    let writes = steps.iter().map(|step| match &step.entry.now {
        Now::Text { text, origin } => Write::stage(step, text, origin).unwrap(),
        Now::Nothing(_) => panic!("nothing is removed"),
    });
    let writes = writes.collect();
    fs::write(folder.path().join("b"), "somebody else\n").unwrap();
    let mut journal = Journal::default();
    let cause = journal.commit(Vec::new(), writes).unwrap_err();
    let error = journal.take_back(cause);
    assert!(matches!(error, ApplyError::Changed { .. }), "{error}");
    assert_eq!(content(folder.path()), ["a=a", "b=somebody else", "c=c"]);
}
