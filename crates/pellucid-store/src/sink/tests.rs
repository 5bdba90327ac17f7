//! Whole lines in, whole lines kept, and one writer.

use std::fs;

use expect_test::expect;
use pellucid_testkit::Workspace;

use super::*;

#[test]
fn lines_are_counted_as_they_are_kept() {
    let home = Workspace::empty();
    let path = home.path("a/b/c.jsonl");
    let mut sink = FileSink::open(&path, Existing::Welcome).unwrap();
    assert!(sink.is_empty());
    sink.append(b"one\n").unwrap();
    sink.append("zwölf\n".as_bytes()).unwrap();
    assert_eq!((sink.len(), sink.is_empty()), (11, false));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\nzwölf\n");
    drop(sink);
    let mut sink = FileSink::open(&path, Existing::Needed).unwrap();
    assert_eq!(sink.len(), 11);
    sink.append(b"\n").unwrap();
    assert_eq!(fs::read(&path).unwrap().len(), 12);
}

#[test]
fn a_line_that_a_crash_tore_is_ended_wherever_it_was_torn() {
    let home = Workspace::empty();
    let whole = "{\"a\":\"é\"}\n{\"b\":2}\n".as_bytes();
    for cut in 0..=whole.len() {
        let path = home.write("f", &whole[..cut]);
        let mut sink = FileSink::open(&path, Existing::Needed).unwrap();
        sink.append(b"next\n").unwrap();
        let is_torn = cut > 0 && whole[cut - 1] != b'\n';
        let expected = [&whole[..cut], if is_torn { b"\n" } else { b"" }, b"next\n"].concat();
        assert_eq!(fs::read(&path).unwrap(), expected, "byte {cut}");
        assert_eq!(sink.len(), expected.len() as u64, "byte {cut}");
    }
}

#[test]
fn what_a_sink_needs_has_to_be_there_and_what_is_welcome_is_made() {
    let home = Workspace::empty();
    let error = FileSink::open(&home.path("a/f"), Existing::Needed).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(!home.path("a").exists());
    FileSink::open(&home.path("a/f"), Existing::Welcome).unwrap();
    assert_eq!(home.read("a/f"), "");
    home.write("file", "x");
    let error = FileSink::open(&home.path("file/f"), Existing::Welcome).unwrap_err().to_string();
    expect!["File exists (os error 17)"].assert_eq(&error);
    let error = FileSink::open(home.root(), Existing::Needed).unwrap_err().to_string();
    expect!["Is a directory (os error 21)"].assert_eq(&error);
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_done() {
    let home = Workspace::empty();
    let path = home.path("f");
    let first = FileSink::open(&path, Existing::Welcome).unwrap();
    for existing in [Existing::Welcome, Existing::Needed] {
        let error = FileSink::open(&path, existing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(error.to_string(), "another process is writing to this session");
    }
    drop(first);
    FileSink::open(&path, Existing::Needed).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_and_devices_are_refused_at_once() {
    let home = Workspace::empty();
    nix::unistd::mkfifo(&home.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in [home.path("pipe"), "/dev/null".into()] {
        for existing in [Existing::Welcome, Existing::Needed] {
            let error = FileSink::open(&path, existing).unwrap_err().to_string();
            assert_eq!(error, "it is not a regular file", "{}", path.display());
        }
    }
}

#[cfg(unix)]
#[test]
fn a_new_file_is_for_its_owner_alone_and_an_old_one_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;

    let home = Workspace::empty();
    let mode = |path: &str| fs::metadata(home.path(path)).unwrap().permissions().mode() & 0o777;
    FileSink::open(&home.path("a/new"), Existing::Welcome).unwrap();
    assert_eq!((mode("a"), mode("a/new")), (0o700, 0o600));
    home.write("old", "x\n");
    fs::set_permissions(home.path("old"), fs::Permissions::from_mode(0o644)).unwrap();
    FileSink::open(&home.path("old"), Existing::Welcome).unwrap();
    assert_eq!((mode("old"), home.read("old").as_str()), (0o644, "x\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_without_room_keeps_whole_lines_only() {
    // A file of which the system takes no byte more.
    let home = Workspace::empty();
    let file = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
    let mut sink = FileSink { file, len: 0 };
    let error = sink.append(b"line\n").unwrap_err();
    assert_eq!((error.kind(), sink.len()), (io::ErrorKind::StorageFull, 0));
    // A file that is open only for reading takes nothing either, and what was kept is counted on.
    let path = home.write("f", "one\n");
    let mut sink = FileSink { file: File::open(&path).unwrap(), len: 4 };
    assert!(sink.append(b"two\n").is_err());
    assert_eq!((sink.len(), home.read("f").as_str()), (4, "one\n"));
}
