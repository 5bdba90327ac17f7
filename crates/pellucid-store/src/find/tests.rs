//! The session that is meant is found by its id, or because it is the newest.

use std::fs::File;
use std::time::Duration;
use std::time::UNIX_EPOCH;

use pellucid_testkit::Workspace;

use super::*;

fn id(n: u8) -> String {
    format!("019a0000-0000-7000-8000-00000000000{n}")
}

/// Writes a session that was used last at this second.
fn session(home: &Workspace, n: u8, place: &str, cwd: &str, provider: &str, second: u64) -> PathBuf {
    let id = id(n);
    let meta = format!(
        r#"{{"timestamp":"t","type":"session_meta","payload":{{"id":"{id}","timestamp":"2026-01-02T00:00:00Z","cwd":"{cwd}","originator":"o","cli_version":"1","model_provider":{provider}}}}}"#
    );
    let path = home.write(format!("{place}/rollout-2026-01-02T03-04-05-{id}.jsonl"), format!("{meta}\n"));
    used_at(&path, second);
    path
}

fn used_at(path: &Path, second: u64) {
    let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + second);
    File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
}

const DAY: &str = "sessions/2026/01/02";

#[test]
fn sessions_in_use_are_found_before_those_that_were_put_away() {
    let home = Workspace::empty();
    let live = session(&home, 1, DAY, "/a", "null", 0);
    session(&home, 1, "archived_sessions", "/a", "null", 0);
    let away = session(&home, 2, "archived_sessions", "/a", "null", 0);
    let root = home.root();
    assert_eq!((by_id(root, &id(1)), by_id(root, &id(2))), (Some(live.clone()), None));
    assert_eq!(
        (anywhere(root, &id(1)), anywhere(root, &id(2)), anywhere(root, &id(3))),
        (Some(live), Some(away), None)
    );
    for odd in ["", "..", "/", "019a", "*", "\u{0}"] {
        assert_eq!(anywhere(root, odd), None, "{odd:?}");
    }
}

#[test]
fn the_newest_is_the_one_that_was_used_last() {
    let home = Workspace::empty();
    assert_eq!(newest(home.root(), SessionFilter::default()), None);
    let one = session(&home, 1, DAY, "/a", "\"p\"", 10);
    let two = session(&home, 2, "sessions/2025/12/31", "/b", "\"q\"", 20);
    let away = session(&home, 3, "archived_sessions", "/a", "\"p\"", 30);
    let archived = |cwd| newest_in(home.root(), SessionPlace::Archived, SessionFilter { cwd, provider: None });
    assert_eq!((archived(Some(Path::new("/a"))), archived(Some(Path::new("/b")))), (Some(away), None));
    let find = |cwd: Option<&str>, provider| newest(home.root(), SessionFilter { cwd: cwd.map(Path::new), provider });
    assert_eq!(find(None, None), Some(two.clone()));
    assert_eq!(find(Some("/a"), None), Some(one.clone()));
    assert_eq!((find(None, Some("p")), find(None, Some("q"))), (Some(one.clone()), Some(two.clone())));
    assert_eq!((find(Some("/a"), Some("q")), find(Some("/b"), Some("q"))), (None, Some(two.clone())));
    used_at(&one, 40);
    assert_eq!(find(None, None), Some(one.clone()));
    // Of two that were used at the same time it is always the same one.
    used_at(&two, 40);
    assert_eq!(find(None, None), Some(one));
}

#[test]
fn a_session_that_names_no_provider_is_not_one_of_a_provider() {
    let home = Workspace::empty();
    session(&home, 1, DAY, "/a", "null", 0);
    let find = |provider| newest(home.root(), SessionFilter { cwd: None, provider });
    assert_eq!((find(Some("openai")).is_some(), find(None).is_some()), (false, true));
}

#[test]
fn files_that_do_not_say_where_they_worked_are_passed_over() {
    let home = Workspace::empty();
    let good = session(&home, 1, DAY, "/a", "null", 10);
    for (n, text) in [(2, "garbage\n"), (3, ""), (4, "{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":7}\n")]
    {
        let path = home.write(format!("{DAY}/rollout-2026-01-02T03-04-05-{}.jsonl", id(n)), text);
        used_at(&path, 20);
    }
    assert_eq!(newest(home.root(), SessionFilter { cwd: Some(Path::new("/a")), provider: None }), Some(good));
}

#[cfg(unix)]
#[test]
fn a_folder_is_the_same_by_whichever_path() {
    let home = Workspace::new("//- work/project/\n//- work/other/\n");
    home.symlink("link", "work/project");
    let real = home.path("work/project");
    let path = session(&home, 1, DAY, home.path("link").to_str().unwrap(), "null", 10);
    let find = |cwd: PathBuf| newest(home.root(), SessionFilter { cwd: Some(&cwd), provider: None });
    assert_eq!(find(real.clone()), Some(path.clone()), "the session names the link");
    assert_eq!(find(home.path("work/../work/project")), Some(path.clone()));
    assert_eq!(find(home.path("work/other")), None);
    let path = session(&home, 2, DAY, real.to_str().unwrap(), "null", 20);
    assert_eq!(find(home.path("link")), Some(path), "the caller names the link");
    // A folder that is gone is known by the text of its path alone.
    let path = session(&home, 3, DAY, "/gone/from/here", "null", 0);
    assert_eq!(find(PathBuf::from("/gone/from/here")), Some(path));
    assert_eq!(find(PathBuf::from("/gone/from")), None);
}
