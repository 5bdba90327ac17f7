use tempfile::TempDir;

use super::*;
use crate::files::Disk;
use crate::parse::parse;
use crate::replace::HAS_EXCHANGE;
use crate::verify::Reader;
use crate::verify::Texts;
use crate::verify::verify;
use crate::verify::verify_with;

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

/// What the program does: no text is held.
fn on_disk(folder: &Path, body: &str) -> Verified {
    let text = format!("*** Begin Patch\n{body}*** End Patch\n");
    verify_with(&parse(&text).unwrap(), folder, &Disk, Reader::Program, Texts::OnDisk).unwrap()
}

#[test]
fn where_files_cannot_change_places_one_is_moved_onto_another_all_the_same() {
    let folder = folder();
    let patch = on_disk(folder.path(), "*** Update File: a\n*** Move to: c\n-a\n+x\n");
    HAS_EXCHANGE.set(false);
    let applied = patch.apply(&Writable::Everywhere);
    HAS_EXCHANGE.set(true);
    applied.unwrap();
    assert_eq!(content(folder.path()), ["b=b", "c=x"]);
}

/// Where a name of one letter fits, and none of those that are beside a file for a moment.
#[cfg(target_os = "linux")]
fn folder_without_room(folder: &Path) -> PathBuf {
    const PATH_BYTES_MAX: usize = 4095;
    let mut deep = folder.to_owned();
    loop {
        let n_left = PATH_BYTES_MAX - deep.as_os_str().len() - "/".len() - "/c".len();
        if n_left == 0 {
            return deep;
        }
        // Never so long that there is no room for the slash before another one.
        deep.push("x".repeat(if n_left > 200 { 100 } else { n_left }));
        fs::create_dir(&deep).unwrap();
        if n_left <= 200 {
            return deep;
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn where_nothing_can_be_beside_a_file_another_is_moved_onto_it_all_the_same() {
    let folder = folder();
    let deep = folder_without_room(folder.path());
    fs::write(deep.join("c"), "c\n").unwrap();
    let body = format!("*** Update File: a\n*** Move to: {}\n-a\n+x\n", deep.join("c").display());
    on_disk(folder.path(), &body).apply(&Writable::Everywhere).unwrap();
    assert_eq!(content(&deep), ["c=x"]);
    assert!(!folder.path().join("a").exists());
}

#[test]
fn what_another_made_in_the_meantime_is_not_replaced() {
    let folder = folder();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    let error = crate::replace::rename_to_free(&a, &b).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(content(folder.path()), ["a=a", "b=b", "c=c"]);
}

#[cfg(unix)]
#[test]
fn a_text_beside_its_place_is_as_secret_as_its_file() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder();
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    fs::set_permissions(&a, fs::Permissions::from_mode(0o600)).unwrap();
    let secret = fs::metadata(&a).unwrap();
    let (path, _) = crate::replace::create_beside(folder.path(), Like::Replaced(&secret)).unwrap();
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    let (path, _) = crate::replace::create_beside(folder.path(), Like::New).unwrap();
    assert_eq!(fs::metadata(path).unwrap().permissions(), fs::metadata(&b).unwrap().permissions());
}
