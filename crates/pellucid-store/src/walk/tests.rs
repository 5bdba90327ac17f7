//! Every session file is found, and nothing that only looks like one.

use std::time::Duration;

use pellucid_testkit::Workspace;
use proptest::prelude::*;

use super::*;

fn file_name(n: usize) -> String {
    format!("rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-{n:012}.jsonl")
}

fn id(n: usize) -> String {
    format!("019a0000-0000-7000-8000-{n:012}")
}

/// The paths that are found in a place, sorted.
fn found(home: &Workspace, place: SessionPlace) -> Vec<String> {
    let mut found: Vec<String> = walk(home.root(), place).into_iter().map(|it| it.relative).collect();
    found.sort();
    found
}

#[test]
fn a_file_is_found_with_its_size_and_time() {
    let home = Workspace::empty();
    let path = home.write(format!("sessions/2026/01/02/{}", file_name(1)), "four");
    let at = UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
    fs::File::options().append(true).open(&path).unwrap().set_modified(at).unwrap();
    let live = walk(home.root(), SessionPlace::Live);
    let expected = FoundSession {
        relative: format!("sessions/2026/01/02/{}", file_name(1)),
        place: SessionPlace::Live,
        modified: 1_700_000_000_123_456_789,
        size: 4,
    };
    assert_eq!((live[0].name(), live[0].id()), (file_name(1).as_str(), id(1).as_str()));
    assert_eq!(live, [expected]);
    assert_eq!(walk(home.root(), SessionPlace::Archived), []);
}

#[test]
fn files_put_away_lie_in_one_folder() {
    let home = Workspace::empty();
    home.write(format!("archived_sessions/{}", file_name(1)), "");
    home.write(format!("archived_sessions/2026/01/02/{}", file_name(2)), "");
    assert_eq!(found(&home, SessionPlace::Archived), [format!("archived_sessions/{}", file_name(1))]);
    assert_eq!(found(&home, SessionPlace::Live), Vec::<String>::new());
}

#[test]
fn only_files_of_days_count() {
    let home = Workspace::empty();
    for folder in ["sessions", "sessions/2026", "sessions/2026/01", "sessions/2026/01/02/03", "sessions/2026/jan/02"] {
        home.write(format!("{folder}/{}", file_name(1)), "");
    }
    for folder in ["sessions/-1/01/02", "sessions/99999/01/02", "sessions/2026/ 1/02"] {
        home.write(format!("{folder}/{}", file_name(2)), "");
    }
    for name in ["notes.txt", "rollout-.jsonl", &file_name(1)[1..], &format!("{}.bak", file_name(1))] {
        home.write(format!("sessions/2026/01/02/{name}"), "");
    }
    home.folder(format!("sessions/2026/01/02/{}", file_name(3)));
    let good = format!("sessions/2026/1/2/{}", file_name(4));
    home.write(&good, "");
    assert_eq!(found(&home, SessionPlace::Live), [good]);
}

#[cfg(target_os = "linux")]
#[test]
fn links_pipes_and_names_that_are_no_text_are_passed_over() {
    use std::os::unix::ffi::OsStrExt;

    let home = Workspace::empty();
    let day = home.folder("sessions/2026/01/02");
    let target = home.write("elsewhere", "x");
    home.symlink(day.join(file_name(1)), target);
    nix::unistd::mkfifo(&day.join(file_name(2)), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::write(day.join(std::ffi::OsStr::from_bytes(b"rollout-\xff\xfe.jsonl")), "x").unwrap();
    fs::create_dir(home.path("sessions").join(std::ffi::OsStr::from_bytes(b"\xff"))).unwrap();
    assert_eq!(walk(home.root(), SessionPlace::Live), []);
    assert_eq!(by_id(home.root(), SessionPlace::Live, &id(3)), None);
    assert_eq!(unreadable(home.root()).len(), 0);
}

#[test]
fn many_folders_are_walked_by_several_threads_with_the_same_result() {
    let home = Workspace::empty();
    let mut expected: Vec<String> =
        (1..=28).map(|day| format!("sessions/2026/01/{day:02}/{}", file_name(day))).collect();
    expected.iter().for_each(|path| drop(home.write(path, "")));
    expected.sort();
    assert!(expected.len() > N_FOLDERS_MIN);
    assert_eq!(found(&home, SessionPlace::Live), expected);
}

#[test]
fn folders_that_cannot_be_read_are_named() {
    let home = Workspace::empty();
    assert_eq!(unreadable(home.root()).len(), 0, "what is not there holds no sessions");
    home.write("sessions/2026", "a file");
    home.write("archived_sessions", "a file");
    let named: Vec<(PathBuf, String)> =
        unreadable(home.root()).into_iter().map(|(path, error)| (path, error.to_string())).collect();
    let why = "Not a directory (os error 20)";
    assert_eq!(named, [home.path("archived_sessions"), home.path("sessions/2026")].map(|it| (it, why.to_owned())));
}

#[test]
fn an_id_says_on_which_day_it_was_made() {
    // 2026-01-01T00:00:00Z is 1767225600000 milliseconds.
    let made = |millis: u64| format!("{:08x}-{:04x}-7000-8000-000000000001", millis >> 16, millis & 0xffff);
    let days = |id: &str| days_around(id).join(" ");
    assert_eq!(days(&made(1_767_225_600_000)), "2026/01/01 2025/12/31 2026/01/02");
    assert_eq!(days(&made(0)), "1970/01/01 1969/12/31 1970/01/02");
    // Other versions of ids and texts that are none have no day.
    for id in ["019a0000-0000-4000-8000-000000000001", "", "no id", &made((1 << 48) - 1)[1..]] {
        assert_eq!(days(id), "", "{id}");
    }
}

#[test]
fn a_file_is_found_by_its_id_on_its_day_or_on_any_other() {
    let home = Workspace::empty();
    // The id was made on the 20th of October 2025.
    for (n, day) in [(1, "2025/10/20"), (2, "2025/10/19"), (3, "1999/12/31")] {
        let path = home.write(format!("sessions/{day}/{}", file_name(n)), "");
        assert_eq!(by_id(home.root(), SessionPlace::Live, &id(n)), Some(path));
        assert_eq!(by_id(home.root(), SessionPlace::Archived, &id(n)), None);
    }
    let path = home.write(format!("archived_sessions/{}", file_name(4)), "");
    assert_eq!(by_id(home.root(), SessionPlace::Archived, &id(4)), Some(path));
    assert_eq!(by_id(home.root(), SessionPlace::Live, &id(4)), None);
    assert_eq!(by_id(home.root(), SessionPlace::Live, &id(1).to_uppercase()), None, "ids are compared as they are");
}

proptest! {
    #[test]
    fn any_text_is_an_id_to_look_for(id in any::<String>()) {
        let home = Workspace::empty();
        prop_assert_eq!(by_id(home.root(), SessionPlace::Live, &id), None);
        prop_assert!(days_around(&id).len() <= 3);
    }
}
