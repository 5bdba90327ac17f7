//! Whole lines in, whole lines kept, and one writer.

use std::fs;

use expect_test::expect;
use pellucid_files::RealDisk;
use pellucid_testkit::DiskFault;
use pellucid_testkit::FaultyDisk;
use pellucid_testkit::Workspace;

use super::*;

#[test]
fn lines_are_counted_as_they_are_kept() {
    let home = Workspace::empty();
    let path = home.path("a/b/c.jsonl");
    let mut sink = FileSink::open(RealDisk::shared(), &path, Existing::Welcome).unwrap();
    assert!(sink.is_empty());
    sink.append(b"one\n").unwrap();
    sink.append("zwölf\n".as_bytes()).unwrap();
    assert_eq!((sink.len(), sink.is_empty()), (11, false));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\nzwölf\n");
    drop(sink);
    let mut sink = FileSink::open(RealDisk::shared(), &path, Existing::Needed).unwrap();
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
        let mut sink = FileSink::open(RealDisk::shared(), &path, Existing::Needed).unwrap();
        sink.append(b"next\n").unwrap();
        let is_torn = cut > 0 && whole[cut - 1] != b'\n';
        let expected = [&whole[..cut], if is_torn { b"\n" } else { b"" }, b"next\n"].concat();
        assert_eq!(fs::read(&path).unwrap(), expected, "byte {cut}");
        assert_eq!(sink.len(), expected.len() as u64, "byte {cut}");
    }
}

#[test]
fn a_file_that_is_only_held_stays_as_it_is() {
    let home = Workspace::empty();
    let path = home.write("f", "{\"a\":1}\n{\"to");
    let held = FileSink::hold(RealDisk::shared(), &path).unwrap();
    assert_eq!((held.len(), home.read("f").as_str()), (12, "{\"a\":1}\n{\"to"));
    assert!(FileSink::open(RealDisk::shared(), &path, Existing::Needed).is_err(), "one process writes");
    drop(held);
    assert_eq!(FileSink::hold(RealDisk::shared(), &home.path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_a_sink_needs_has_to_be_there_and_what_is_welcome_is_made() {
    let home = Workspace::empty();
    let error = FileSink::open(RealDisk::shared(), &home.path("a/f"), Existing::Needed).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(!home.path("a").exists());
    FileSink::open(RealDisk::shared(), &home.path("a/f"), Existing::Welcome).unwrap();
    assert_eq!(home.read("a/f"), "");
    home.write("file", "x");
    let error = FileSink::open(RealDisk::shared(), &home.path("file/f"), Existing::Welcome).unwrap_err().to_string();
    expect!["File exists (os error 17)"].assert_eq(&error);
    let error = FileSink::open(RealDisk::shared(), home.root(), Existing::Needed).unwrap_err().to_string();
    expect!["Is a directory (os error 21)"].assert_eq(&error);
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_done() {
    let home = Workspace::empty();
    let path = home.path("f");
    let first = FileSink::open(RealDisk::shared(), &path, Existing::Welcome).unwrap();
    for existing in [Existing::Welcome, Existing::Needed] {
        let error = FileSink::open(RealDisk::shared(), &path, existing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(error.to_string(), "another process is writing to this session");
    }
    drop(first);
    FileSink::open(RealDisk::shared(), &path, Existing::Needed).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_and_devices_are_refused_at_once() {
    let home = Workspace::empty();
    nix::unistd::mkfifo(&home.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in [home.path("pipe"), "/dev/null".into()] {
        for existing in [Existing::Welcome, Existing::Needed] {
            let error = FileSink::open(RealDisk::shared(), &path, existing).unwrap_err().to_string();
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
    FileSink::open(RealDisk::shared(), &home.path("a/new"), Existing::Welcome).unwrap();
    assert_eq!((mode("a"), mode("a/new")), (0o700, 0o600));
    home.write("old", "x\n");
    fs::set_permissions(home.path("old"), fs::Permissions::from_mode(0o644)).unwrap();
    FileSink::open(RealDisk::shared(), &home.path("old"), Existing::Welcome).unwrap();
    assert_eq!((mode("old"), home.read("old").as_str()), (0o644, "x\n"));
}

/// Appends lines to a disk that fails, and checks which bytes are there afterwards. The first step opens the file.
#[track_caller]
fn check_faults(fault: DiskFault, n_good: usize, expected: &str) {
    let home = Workspace::empty();
    let path = home.write("f", "zero\n");
    let disk = FaultyDisk::new(n_good, fault);
    let mut sink = FileSink::open(disk.clone(), &path, Existing::Needed).unwrap();
    let mut kept = 5;
    for line in ["one\n", "two\n"] {
        if sink.append(line.as_bytes()).is_ok() {
            kept += line.len() as u64;
        } else {
            break;
        }
    }
    assert_eq!((home.read("f").as_str(), sink.len(), disk.has_failed()), (expected, kept, true), "{fault:?} {n_good}");
    drop(sink);
    FileSink::open(RealDisk::shared(), &path, Existing::Needed).unwrap().append(b"next\n").unwrap();
    let gap = if expected.ends_with('\n') { "" } else { "\n" };
    assert_eq!(home.read("f"), format!("{expected}{gap}next\n"));
}

#[test]
fn a_disk_that_fails_keeps_whole_lines() {
    for fault in [DiskFault::Once, DiskFault::Full] {
        check_faults(fault, 1, "zero\n");
        check_faults(fault, 2, "zero\none\n");
    }
    // The half line cannot be taken back, so the next writer ends it.
    check_faults(DiskFault::Gone, 1, "zero\non");
    check_faults(DiskFault::Gone, 2, "zero\none\ntw");
}

#[test]
fn what_another_program_wrote_stays_when_the_disk_is_full() {
    let home = Workspace::empty();
    for (n_good, expected) in [(1, "ours\ntheirs\nmo"), (2, "ours\ntheirs\nmore\nla")] {
        let path = home.write("f", "ours\n");
        let mut sink = FileSink::open(FaultyDisk::new(n_good, DiskFault::Full), &path, Existing::Needed).unwrap();
        home.write("f", "ours\ntheirs\n");
        let mut failed = sink.append(b"more\n").is_err();
        failed |= n_good > 1 && sink.append(b"last\n").is_err();
        assert_eq!((failed, home.read("f").as_str()), (true, expected));
    }
}

#[test]
fn a_file_is_free_once_its_writer_is_gone_even_if_a_forked_process_still_has_it() {
    let home = Workspace::empty();
    let path = home.path("a.jsonl");
    let sink = FileSink::open(RealDisk::shared(), &path, Existing::Welcome).unwrap();
    // As in a process that was forked for a command and has not started its program: the same open file.
    let inherited = sink.file.try_clone().unwrap();
    assert_eq!(
        FileSink::open(RealDisk::shared(), &path, Existing::Needed).unwrap_err().kind(),
        io::ErrorKind::ResourceBusy
    );
    drop(sink);
    FileSink::open(RealDisk::shared(), &path, Existing::Needed).unwrap();
    drop(inherited);
}
