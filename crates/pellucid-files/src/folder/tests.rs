use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A folder `w` with files, beside a folder `out`, and links in it that lead there.
fn world() -> (TempDir, Folder) {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    fs::create_dir_all(at("w/a/b")).unwrap();
    fs::create_dir(at("out")).unwrap();
    fs::write(at("w/a/f"), "inside").unwrap();
    fs::write(at("out/f"), "outside").unwrap();
    symlink("../out", at("w/link")).unwrap();
    symlink("../../out", at("w/a/link")).unwrap();
    symlink("../../out/f", at("w/a/file")).unwrap();
    symlink("../../out/new", at("w/a/dangling")).unwrap();
    let folder = Folder::open(&at("w"), None).unwrap();
    (top, folder)
}

fn name(name: &str) -> &OsStr {
    OsStr::new(name)
}

fn said<T>(result: io::Result<T>) -> String {
    result.map(|_| ()).map_err(|error| error.to_string()).err().unwrap_or("fine".into())
}

#[test]
fn a_folder_below_is_never_reached_through_a_link() {
    let (_top, folder) = world();
    let link = "a folder on the way there is a link";
    let out = "it leads out of its folder";
    for (below, expected) in [
        ("", "fine"),
        (".", "fine"),
        ("a/b", "fine"),
        ("a/./b", "fine"),
        ("link", link),
        ("a/link", link),
        ("a/link/deeper", link),
        ("..", out),
        ("a/../a", out),
        ("/", out),
        ("a/f", "Not a directory (os error 20)"),
        ("a/none", "No such file or directory (os error 2)"),
    ] {
        assert_eq!(said(folder.folder(Path::new(below))), expected, "{below}");
        if let Ok(below) = plain(Path::new(below)) {
            // What systems do that cannot do it in one call.
            assert_eq!(said(folder.handle.below_by_steps(&below)), expected, "{}", below.display());
        }
    }
}

#[test]
fn a_name_is_one_part_of_a_path() {
    let (top, folder) = world();
    for bad in ["", ".", "..", "a/f", "a/", "/", "/etc", "../out"] {
        let bad = name(bad);
        assert_eq!(said(folder.create(bad, 0o600)), "it is not the name of a file");
        assert_eq!(said(folder.remove_folder(bad)), "it is not the name of a file");
        assert_eq!(said(folder.rename(name("a"), &folder, bad)), "it is not the name of a file");
    }
    assert!(top.path().join("w/a/f").exists());
}

#[test]
fn a_folder_is_the_one_that_is_expected() {
    let (top, folder) = world();
    let path = top.path().join("w");
    let identity = folder.identity().unwrap();
    assert_eq!(FileIdentity::of(&path).unwrap(), identity);
    Folder::open(&path, Some(identity)).unwrap();
    fs::rename(&path, top.path().join("moved")).unwrap();
    symlink("out", &path).unwrap();
    assert_eq!(said(Folder::open(&path, Some(identity))), "it is another folder than before");
}

#[test]
fn what_is_held_stays_where_it_is_when_its_name_leads_elsewhere() {
    let (top, folder) = world();
    let at = |path: &str| top.path().join(path);
    let held = folder.folder(Path::new("a")).unwrap();
    fs::rename(at("w/a"), at("w/moved")).unwrap();
    symlink("../out", at("w/a")).unwrap();
    held.create(name("new"), 0o600).unwrap().write_all(b"new").unwrap();
    held.rename(name("new"), &held, name("f")).unwrap();
    assert_eq!(fs::read_to_string(at("w/moved/f")).unwrap(), "new");
    assert_eq!(fs::read_to_string(at("out/f")).unwrap(), "outside");
    assert_eq!(said(folder.write(Path::new("a/f"), b"x", 0o600)), "a folder on the way there is a link");
    assert_eq!(fs::read_dir(at("out")).unwrap().count(), 1);
}

#[test]
fn a_link_of_a_name_is_not_followed() {
    let (top, folder) = world();
    let a = folder.folder(Path::new("a")).unwrap();
    for link in ["file", "dangling", "link"] {
        let link = name(link);
        assert_eq!(a.status(link).unwrap().kind, FileKind::Link);
        assert_eq!(a.create(link, 0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(said(a.open_file(link)), "it is a link");
        assert_eq!(said(a.open_file_to_overwrite(link)), "it is a link");
        assert_eq!(said(a.set_mode(link, 0o777)), "it is neither a file nor a folder");
        assert_eq!(said(a.make_folders(Path::new(link), 0o700).map(drop)), "a folder on the way there is a link");
        folder.write(&Path::new("a").join(link), b"instead", 0o600).unwrap();
        assert_eq!(a.status(link).unwrap().kind, FileKind::File);
    }
    assert_eq!(fs::read_to_string(top.path().join("out/f")).unwrap(), "outside");
    assert_eq!(fs::read_dir(top.path().join("out")).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn what_never_answers_is_refused_at_once() {
    let (top, folder) = world();
    let pipe = top.path().join("w/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert_eq!(said(folder.open_file(name("pipe"))), "it is not a regular file");
    assert_eq!(said(folder.open_file_to_overwrite(name("pipe"))), "it is not a regular file");
    assert_eq!(said(folder.open_file(name("a"))), "is a directory");
    assert_eq!(said(folder.set_mode(name("pipe"), 0o600)), "it is neither a file nor a folder");
}

#[test]
fn files_are_written_whole_with_the_folders_they_need() {
    let (top, folder) = world();
    folder.write(Path::new("n/m/new"), b"text", 0o755).unwrap();
    folder.write(Path::new("n/m/new"), b"other", 0o644).unwrap();
    let path = top.path().join("w/n/m/new");
    assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0);
    assert_eq!(said(folder.write(Path::new("n/m"), b"x", 0o644)), "Is a directory (os error 21)");
    assert_eq!(said(folder.write(Path::new("a/f/g"), b"x", 0o644)), "Not a directory (os error 20)");
    assert_eq!(said(folder.write(Path::new("../out/f"), b"x", 0o644)), "it leads out of its folder");
    assert_eq!(fs::read_dir(top.path().join("w/n")).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn what_is_private_is_so_with_its_folders() {
    let (top, folder) = world();
    folder.write_private(Path::new("p/q"), b"text").unwrap();
    let mode = |path: &str| fs::metadata(top.path().join("w").join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("p"), mode("p/q")], [0o700, 0o600]);
}

#[test]
fn things_are_put_aside_under_a_free_name() {
    let (top, folder) = world();
    let aside = folder.make_folders(Path::new("aside"), 0o700).unwrap();
    let at = |path: &str| top.path().join("w").join(path);
    for expected in ["a", "a.1", "a.2"] {
        fs::create_dir_all(at("a")).unwrap();
        assert_eq!(folder.put_aside(name("a"), &aside).unwrap(), expected);
        assert!(!at("a").exists() && at("aside").join(expected).is_dir());
    }
    assert_eq!(fs::read_to_string(at("aside/a/f")).unwrap(), "inside");
    assert_eq!(folder.put_aside(name("a"), &aside).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn the_rest_by_handle_and_name() {
    let (top, folder) = world();
    let at = |path: &str| top.path().join("w").join(path);
    let a = folder.folder(Path::new("a")).unwrap();
    a.set_mode(name("f"), 0o400).unwrap();
    let status = a.status(name("f")).unwrap();
    assert_eq!((status.mode, status.n_bytes, status.n_names), (0o400, 6, 1));
    assert_eq!(status, FileStatus::from(&fs::metadata(at("a/f")).unwrap()), "as by its path");
    // No user may read it, but its owner may change that.
    a.set_mode(name("f"), 0).unwrap();
    a.set_mode(name("f"), 0o640).unwrap();
    a.check_writable(name("f")).unwrap();
    assert_eq!(a.read_link(name("link")).unwrap(), Path::new("../../out"));
    a.make_link(name("made"), Path::new("f")).unwrap();
    assert_eq!(fs::read_link(at("a/made")).unwrap(), Path::new("f"));
    a.rename(name("f"), &folder, name("g")).unwrap();
    assert_eq!(folder.rename_to_free(name("g"), &a, name("made")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    let mut text = String::new();
    folder.open_file(name("g")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "inside");
    #[cfg(target_os = "linux")]
    {
        fs::write(at("other"), "other").unwrap();
        folder.exchange(name("g"), &folder, name("other")).unwrap();
        assert_eq!(fs::read_to_string(at("g")).unwrap(), "other");
    }
    let aside = folder.rename_to_temporary(name("g")).unwrap();
    assert!(at(aside.to_str().unwrap()).exists() && !at("g").exists());
    folder.remove_file(&aside).unwrap();
    a.remove_folder(name("b")).unwrap();
    a.remove_file(name("link")).unwrap();
    assert!(!at("a/b").exists() && !at("a/link").exists() && top.path().join("out/f").exists());
}

#[test]
fn a_file_is_read_up_to_a_length_and_never_through_a_link() {
    let (_top, folder) = world();
    let folder = folder.folder(Path::new("a")).unwrap();
    assert_eq!(folder.read(name("f"), 6).unwrap(), b"inside");
    assert!(folder.read(name("f"), 5).is_err());
    assert_eq!(said(folder.read(name("file"), 100)), "it is a link");
    assert_eq!(folder.read(name("none"), 100).unwrap_err().kind(), io::ErrorKind::NotFound);
}
