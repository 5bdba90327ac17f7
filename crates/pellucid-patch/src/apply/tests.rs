use std::cell::RefCell;

use pellucid_protocol::protected::GitAccess;
use tempfile::TempDir;

use super::*;
use crate::files::Disk;
use crate::parse::parse;
use crate::replace::HAS_EXCHANGE;
use crate::replace::HAS_ROOM;
use crate::verify::Reader;
use crate::verify::Texts;
use crate::verify::verify;
use crate::verify::verify_with;
use crate::writable::PatchFolder;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for path in ["a", "b", "c"] {
        fs::write(folder.path().join(path), format!("{path}\n")).unwrap();
    }
    folder
}

fn verified(folder: &Path, body: &str) -> VerifiedPatch {
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
        assert!(matches!(error, PatchApplyError::Changed { .. }), "{error}");
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
    assert!(matches!(error, PatchApplyError::Outside { .. }), "{error}");
    patch.check_writable(&Writable::Everywhere).unwrap();
}

#[test]
fn a_change_between_staging_and_writing_is_not_lost() {
    let folder = folder();
    let patch = verified(folder.path(), "*** Update File: a\n-a\n+x\n*** Update File: b\n-b\n+x\n");
    let b = folder.path().join("b");
    when("staged", move || fs::write(&b, "somebody else\n").unwrap());
    let error = patch.apply(&Writable::Everywhere).unwrap_err();
    assert!(matches!(error, PatchApplyError::Changed { .. }), "{error}");
    assert_eq!(content(folder.path()), ["a=a", "b=somebody else", "c=c"]);
}

/// A change by another process, and the step before which it happens.
type Deed = (&'static str, Box<dyn FnOnce()>);

thread_local! {
    static MEANWHILE: RefCell<Option<Deed>> = const { RefCell::new(None) };
}

/// Has something done once when the next patch of this thread is so far.
fn when(stage: &'static str, meanwhile: impl FnOnce() + 'static) {
    MEANWHILE.set(Some((stage, Box::new(meanwhile))));
}

/// A patch is so far.
pub fn meanwhile(stage: &str) {
    let mut slot = MEANWHILE.take();
    match slot.take_if(|(at, _)| *at == stage) {
        Some((_, meanwhile)) => meanwhile(),
        None => MEANWHILE.set(slot),
    }
}

/// Verifies like the program does: no text is held.
fn on_disk(folder: &Path, body: &str) -> VerifiedPatch {
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

#[test]
fn where_nothing_can_be_beside_a_file_another_is_moved_onto_it_all_the_same() {
    let folder = folder();
    let patch = on_disk(folder.path(), "*** Update File: a\n*** Move to: c\n-a\n+x\n");
    HAS_ROOM.set(false);
    let applied = patch.apply(&Writable::folder(folder.path()));
    HAS_ROOM.set(true);
    applied.unwrap();
    assert_eq!(content(folder.path()), ["b=b", "c=x"]);
}

#[cfg(unix)]
#[test]
fn where_nothing_can_be_beside_a_file_its_other_names_are_left_alone() {
    let folder = folder();
    let outside = tempfile::tempdir().unwrap();
    let other = outside.path().join("other");
    fs::hard_link(folder.path().join("c"), &other).unwrap();
    for (writable, expected) in [(Writable::folder(folder.path()), "c\n"), (Writable::Everywhere, "x\n")] {
        let patch = verified(folder.path(), "*** Add File: c\n+x\n");
        HAS_ROOM.set(false);
        let _ = patch.apply(&writable);
        HAS_ROOM.set(true);
        assert_eq!(fs::read_to_string(&other).unwrap(), expected);
    }
}

#[test]
fn what_another_made_in_the_meantime_is_not_replaced() {
    let folder = folder();
    let new = folder.path().join("new");
    when("staged", move || fs::write(&new, "somebody else\n").unwrap());
    let patch = verified(folder.path(), "*** Update File: a\n-a\n+x\n*** Add File: new\n+x\n");
    let error = patch.apply(&Writable::Everywhere).unwrap_err();
    assert!(matches!(error, PatchApplyError::Changed { .. }), "{error}");
    assert_eq!(content(folder.path()), ["a=a", "b=b", "c=c", "new=somebody else"]);
}

#[test]
fn what_was_put_in_the_place_of_a_deleted_file_is_not_lost() {
    let folder = folder();
    let a = folder.path().join("a");
    when("staged", move || {
        fs::remove_file(&a).unwrap();
        fs::write(&a, "somebody else\n").unwrap();
    });
    let error = verified(folder.path(), "*** Delete File: a\n").apply(&Writable::Everywhere).unwrap_err();
    assert!(matches!(error, PatchApplyError::Changed { .. }), "{error}");
    assert_eq!(content(folder.path()), ["a=somebody else", "b=b", "c=c"]);
}

#[cfg(unix)]
#[test]
fn a_text_beside_its_place_is_as_secret_as_its_file() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder();
    fs::set_permissions(folder.path().join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    let path = folder.path().to_owned();
    when("staged", move || {
        let beside = |entry: &fs::DirEntry| entry.file_name().to_str().unwrap().ends_with(".tmp");
        let mut entries = fs::read_dir(&path).unwrap().map(Result::unwrap).filter(beside);
        let modes: Vec<u32> = entries.by_ref().map(|entry| entry.metadata().unwrap().permissions().mode()).collect();
        assert_eq!(modes, [0o100_600]);
    });
    verified(folder.path(), "*** Update File: a\n-a\n+x\n").apply(&Writable::Everywhere).unwrap();
    assert_eq!(fs::metadata(folder.path().join("a")).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A folder `w` that may be written, with a folder `d`, and a folder `out` that looks like it.
#[cfg(unix)]
fn world() -> TempDir {
    let top = tempfile::tempdir().unwrap();
    for folder in ["w/d", "out"] {
        fs::create_dir_all(top.path().join(folder)).unwrap();
        for name in ["a", "b", "c"] {
            fs::write(top.path().join(folder).join(name), format!("{name}\n")).unwrap();
        }
    }
    top
}

#[cfg(unix)]
#[track_caller]
fn check_swapped(stage: &'static str, body: &str) {
    let top = world();
    let root = top.path().join("w").canonicalize().unwrap();
    let (d, moved) = (root.join("d"), root.join("moved"));
    let patch = verified(&root, body);
    when(stage, {
        let (d, moved) = (d.clone(), moved.clone());
        move || {
            fs::rename(&d, &moved).unwrap();
            std::os::unix::fs::symlink("../out", &d).unwrap();
        }
    });
    let error = patch.apply(&Writable::folder(&root)).unwrap_err();
    assert!(matches!(&error, PatchApplyError::Moved { path } if *path == d), "{stage}: {error}");
    assert_eq!(content(&top.path().join("out")), ["a=a", "b=b", "c=c"], "{stage} {body}");
    assert_eq!(content(&moved), ["a=a", "b=b", "c=c"], "{stage} {body}");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_that_took_the_place_of_a_folder() {
    const EVERY_KIND: &str = "*** Update File: d/a\n-a\n+x\n*** Delete File: d/b\n*** Add File: d/c\n+x\n*** Add File: d/new\n+x\n*** Add File: d/n/m\n+x\n";
    for stage in ["held", "staged", "written"] {
        for body in [EVERY_KIND, "*** Add File: d/a\n+x\n", "*** Add File: d/new\n+x\n", "*** Delete File: d/b\n"] {
            check_swapped(stage, body);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_root_that_is_another_folder_than_before_is_refused() {
    let top = world();
    let (root, out) = (top.path().join("w"), top.path().join("out"));
    let identity = Some(pellucid_files::FileIdentity::of(&root).unwrap());
    let writable = Writable::In(vec![PatchFolder {
        path: root.clone(),
        identity,
        protected: Vec::new(),
        git: GitAccess::Writable,
    }]);
    let add = || verified(&root, "*** Add File: new\n+x\n");
    add().apply(&writable).unwrap();
    fs::remove_file(root.join("new")).unwrap();
    fs::rename(&root, top.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(&out, &root).unwrap();
    for is_link in [true, false] {
        let error = add().apply(&writable).unwrap_err();
        assert!(matches!(&error, PatchApplyError::Moved { path } if *path == root), "{error}");
        assert_eq!(content(&out), ["a=a", "b=b", "c=c"]);
        if is_link {
            fs::remove_file(&root).unwrap();
            fs::create_dir(&root).unwrap();
        }
    }
    assert_eq!(content(&root), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn what_somebody_agreed_to_does_not_lead_elsewhere_afterwards() {
    let top = world();
    let root = top.path().join("w").canonicalize().unwrap();
    let patch = verified(&root, "*** Add File: d/a\n+x\n");
    let agreed = Writable::Only(patch.targets());
    fs::rename(root.join("d"), root.join("moved")).unwrap();
    std::os::unix::fs::symlink("../out", root.join("d")).unwrap();
    let error = patch.apply(&agreed).unwrap_err();
    assert!(matches!(error, PatchApplyError::Outside { .. }), "{error}");
    assert_eq!(content(&top.path().join("out")), ["a=a", "b=b", "c=c"]);
}

#[test]
fn more_folders_than_can_be_open_are_written() {
    const N_FOLDERS: usize = 300;
    let folder = folder();
    let body: String = (0..N_FOLDERS).map(|n| format!("*** Add File: d{n}/f\n+x\n")).collect();
    verified(folder.path(), &body).apply(&Writable::folder(folder.path())).unwrap();
    let body: String = (0..N_FOLDERS).map(|n| format!("*** Update File: d{n}/f\n-x\n+y\n")).collect();
    verified(folder.path(), &body).apply(&Writable::folder(folder.path())).unwrap();
    for n in 0..N_FOLDERS {
        assert_eq!(content(&folder.path().join(format!("d{n}"))), ["f=y"]);
    }
}
