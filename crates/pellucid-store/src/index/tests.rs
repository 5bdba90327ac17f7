//! The index gives what the files say, whatever became of it.

use std::fs;
use std::fs::File;

use pellucid_testkit::Workspace;
use proptest::prelude::*;

use super::*;
use crate::query::Sort;

fn id(n: usize) -> String {
    format!("019a0000-0000-7000-8000-{n:012}")
}

/// Writes a session and gives its path.
fn session(home: &Workspace, n: usize, cwd: &str, said: &str, place: SessionPlace) -> PathBuf {
    let id = id(n);
    let provider = if n.is_multiple_of(3) { "null".to_owned() } else { format!("\"p{}\"", n % 2) };
    let source = if n.is_multiple_of(2) { "exec" } else { "cli" };
    let tools = if n == 5 {
        r#","dynamic_tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]"#
    } else {
        ""
    };
    let meta = format!(
        r#"{{"timestamp":"t","type":"session_meta","payload":{{"id":"{id}","timestamp":"2026-01-{:02}T00:00:0{}Z","cwd":"{cwd}","originator":"o","cli_version":"1","source":"{source}","model_provider":{provider},"base_instructions":{{"text":"x"}}{tools}}}}}"#,
        n % 28 + 1,
        n % 4,
    );
    let said = format!(
        r#"{{"timestamp":"t","type":"event_msg","payload":{{"type":"user_message","message":{}}}}}"#,
        serde_json::Value::from(said)
    );
    let folder = match place {
        SessionPlace::Live => format!("sessions/2026/01/{:02}", n % 28 + 1),
        SessionPlace::Archived => "archived_sessions".to_owned(),
    };
    let path = format!("{folder}/rollout-2026-01-{:02}T00-00-00-{id}.jsonl", n % 28 + 1);
    let path = home.write(path, format!("{meta}\n{said}\n"));
    let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + (n as u64 * 7919) % 50);
    File::options().append(true).open(&path).unwrap().set_modified(at).unwrap();
    path
}

fn refreshed(home: &Workspace) -> SessionIndex {
    let mut index = SessionIndex::open(home.root());
    index.refresh(Duration::ZERO, &mut |_| {});
    index
}

/// Every session that a query gives, page by page.
fn pages(index: &mut SessionIndex, query: &Query) -> Vec<String> {
    let mut query = query.clone();
    let mut ids = Vec::new();
    loop {
        let page = index.list(&query);
        ids.extend(page.sessions.into_iter().map(|session| session.id));
        match page.next {
            Some(next) => query.cursor = Some(next.to_string().parse().unwrap()),
            None => return ids,
        }
    }
}

fn all() -> Query {
    Query { limit: 100, ..Query::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn lists_of_the_index_are_lists_of_the_files(
        n_sessions in 0_usize..40,
        limit in 1_usize..12,
        by_update in any::<bool>(),
        archived in any::<bool>(),
        source in prop::option::of(prop_oneof![Just("exec"), Just("cli")]),
        provider in prop::option::of(prop_oneof![Just("p0"), Just("p1")]),
        default in prop::option::of(Just("p0")),
        folder in prop::option::of(Just("/a")),
        search in prop::option::of(prop_oneof![Just("É"), Just("1")]),
    ) {
        let home = Workspace::empty();
        for n in 0..n_sessions {
            let place = if n.is_multiple_of(5) { SessionPlace::Archived } else { SessionPlace::Live };
            let said = if n == 7 { String::new() } else { format!("é {n}") };
            session(&home, n, if n.is_multiple_of(2) { "/a" } else { "/b" }, &said, place);
        }
        let query = Query {
            archived,
            sources: source.into_iter().map(str::to_owned).collect(),
            providers: provider.into_iter().map(str::to_owned).collect(),
            default_provider: default.map(str::to_owned),
            cwd: folder.map(PathBuf::from),
            search: search.map(str::to_owned),
            sort: if by_update { Sort::Updated } else { Sort::Created },
            cursor: None,
            limit,
        };
        let mut index = refreshed(&home);
        let indexed = pages(&mut index, &query);
        let first = index.list(&query);
        prop_assert_eq!(index.take_warnings(), Vec::<String>::new());
        let mut memory = Vec::new();
        refresh_memory(&mut memory, home.root(), files(home.root()), &mut |_| {});
        let whole = Query { limit: 1000, ..query.clone() }.page(memory.clone());
        let expected: Vec<String> = whole.sessions.into_iter().map(|it| it.id).collect();
        prop_assert_eq!(indexed, expected);
        prop_assert_eq!(first, query.page(memory));
    }
}

#[test]
fn changes_of_files_are_seen() {
    let home = Workspace::empty();
    let first = session(&home, 1, "/a", "one", SessionPlace::Live);
    session(&home, 2, "/a", "two", SessionPlace::Live);
    let mut index = refreshed(&home);
    assert_eq!(pages(&mut index, &all()), [id(2), id(1)]);
    session(&home, 3, "/a", "three", SessionPlace::Live);
    fs::remove_file(&first).unwrap();
    session(&home, 2, "/a", "two, said differently", SessionPlace::Live);
    let mut index = refreshed(&home);
    assert_eq!(pages(&mut index, &all()), [id(3), id(2)]);
    assert_eq!(index.list(&all()).sessions[1].first_message, "two, said differently");
    assert_eq!(pages(&mut index, &Query { search: Some("named".into()), ..all() }), Vec::<String>::new());
    names::set(home.root(), &id(2), "Named").unwrap();
    index.refresh(Duration::ZERO, &mut |_| {});
    assert_eq!(pages(&mut index, &Query { search: Some("named".into()), ..all() }), [id(2)]);
}

#[test]
fn a_list_reads_no_session_that_did_not_change() {
    let home = Workspace::empty();
    let files: Vec<_> = (1..=5).map(|n| session(&home, n, "/a", &format!("said {n}"), SessionPlace::Live)).collect();
    let before = refreshed(&home).list(&all()).sessions;
    assert_eq!(before.len(), 5);
    // A reader that opened a body now would find no session in it.
    for file in &files {
        let metadata = fs::metadata(file).unwrap();
        fs::write(file, "x".repeat(usize::try_from(metadata.len()).unwrap())).unwrap();
        File::options().append(true).open(file).unwrap().set_modified(metadata.modified().unwrap()).unwrap();
    }
    assert_eq!(refreshed(&home).list(&all()).sessions, before);
}

#[test]
fn a_list_may_be_as_old_as_its_reader_says() {
    let home = Workspace::empty();
    session(&home, 1, "/a", "one", SessionPlace::Live);
    let mut index = refreshed(&home);
    session(&home, 2, "/a", "two", SessionPlace::Live);
    index.refresh(Duration::from_secs(3600), &mut |_| {});
    assert_eq!(pages(&mut index, &all()), [id(1)]);
    index.refresh(Duration::ZERO, &mut |_| {});
    assert_eq!(pages(&mut index, &all()), [id(2), id(1)]);
}

/// An index as a server keeps it, which has looked at all files once.
#[cfg(target_os = "linux")]
fn kept(home: &Workspace) -> SessionIndex {
    let mut index = SessionIndex::open(home.root()).kept();
    index.refresh(Duration::ZERO, &mut |_| {});
    assert!(matches!(index.watching, Watching::Now { .. }), "the folder for temporary files is on this machine");
    index
}

#[cfg(target_os = "linux")]
#[test]
fn an_index_that_is_kept_gives_what_the_files_say() {
    let home = Workspace::empty();
    let mut index = kept(&home);
    let mut check = |what: &str| {
        index.refresh(Duration::ZERO, &mut |_| {});
        for archived in [false, true] {
            for sort in [Sort::Created, Sort::Updated] {
                let query = Query { archived, sort, ..all() };
                let mut fresh = SessionIndex::in_memory(home.root());
                fresh.refresh(Duration::ZERO, &mut |_| {});
                let from_files = fresh.list(&query).sessions;
                assert_eq!(index.list(&query).sessions, from_files, "{what}");
                assert_eq!(refreshed(&home).list(&query).sessions, from_files, "{what}, by another process");
            }
        }
    };
    let first = session(&home, 1, "/a", "one", SessionPlace::Live);
    check("the first session makes the folders");
    session(&home, 29, "/a", "two", SessionPlace::Live);
    check("a session in a folder that is watched");
    session(&home, 2, "/b", "three", SessionPlace::Live);
    check("a session in a new folder");
    for n in [3, 4] {
        session(&home, n, "/b", "more", SessionPlace::Live);
    }
    check("two new folders at once");
    let text = fs::read_to_string(&first).unwrap();
    fs::write(&first, format!("{text}{}\n", text.lines().last().unwrap())).unwrap();
    check("a session that grew");
    File::options().append(true).open(&first).unwrap().set_modified(UNIX_EPOCH).unwrap();
    check("another time");
    fs::create_dir_all(home.path("archived_sessions")).unwrap();
    fs::rename(&first, home.path("archived_sessions").join(first.file_name().unwrap())).unwrap();
    check("a session that is archived");
    fs::rename(home.path("archived_sessions").join(first.file_name().unwrap()), &first).unwrap();
    check("a session that is taken back");
    names::set(home.root(), &id(1), "Named").unwrap();
    check("a name");
    names::set(home.root(), &id(2), "Named too").unwrap();
    session(&home, 5, "/a", "with a name at once", SessionPlace::Live);
    check("a name and a session");
    fs::write(first.with_file_name("notes.txt"), "no session").unwrap();
    check("another file");
    fs::remove_file(&first).unwrap();
    check("a session that is gone");
    fs::remove_dir_all(home.path("sessions/2026")).unwrap();
    check("a year that is gone");
    session(&home, 6, "/a", "again", SessionPlace::Live);
    fs::rename(home.path("sessions"), home.path("elsewhere")).unwrap();
    check("a folder that is moved away");
    fs::rename(home.path("elsewhere"), home.path("sessions")).unwrap();
    check("and back");
    remove(home.root());
    session(&home, 7, "/a", "after the index was deleted", SessionPlace::Live);
    check("a deleted database");
}

#[cfg(target_os = "linux")]
#[test]
fn an_index_that_is_kept_looks_at_no_file_that_did_not_change() {
    let home = Workspace::empty();
    let path = session(&home, 1, "/a", "one", SessionPlace::Live);
    let mut index = kept(&home);
    // The kernel does not report what is written through a name outside of the folders of sessions, so only a look at the
    // file would see it.
    let outside = home.path("outside");
    fs::hard_link(&path, &outside).unwrap();
    index.refresh(Duration::ZERO, &mut |_| {});
    let before = index.list(&all()).sessions;
    fs::write(&outside, "x").unwrap();
    index.refresh(Duration::ZERO, &mut |_| {});
    assert_eq!(index.list(&all()).sessions, before);
    assert_eq!(refreshed(&home).list(&all()).sessions, [], "a look at the file sees the change");
    session(&home, 29, "/a", "two", SessionPlace::Live);
    index.refresh(Duration::ZERO, &mut |_| {});
    assert_eq!(index.list(&all()).sessions.len(), 1, "what is reported is looked at");
}

#[cfg(target_os = "linux")]
#[test]
fn two_processes_that_keep_their_index_agree() {
    let home = Workspace::empty();
    session(&home, 1, "/a", "one", SessionPlace::Live);
    let (mut one, mut other) = (kept(&home), kept(&home));
    for n in 2..40 {
        session(&home, n, "/a", &format!("said {n}"), SessionPlace::Live);
        let (first, second) = if n % 2 == 0 { (&mut one, &mut other) } else { (&mut other, &mut one) };
        first.refresh(Duration::ZERO, &mut |_| {});
        if n % 3 == 0 {
            second.refresh(Duration::ZERO, &mut |_| {});
        }
        assert_eq!(first.list(&all()).sessions.len(), n);
    }
    let Rows::Database(connection) = &one.rows else { panic!("there is a database") };
    assert_eq!(table::stamp(connection, FILES).unwrap(), files(home.root()).stamp);
}

#[test]
fn dynamic_tools_come_with_their_session() {
    let home = Workspace::empty();
    session(&home, 5, "/a", "x", SessionPlace::Live);
    let tools = refreshed(&home).list(&all()).sessions.remove(0).dynamic_tools;
    assert_eq!(
        serde_json::Value::from(tools),
        serde_json::json!([{ "name": "t", "description": "d", "inputSchema": { "type": "object" } }])
    );
}

#[test]
fn the_tools_that_were_kept_first_stay_until_the_session_file_is_gone() {
    let home = Workspace::empty();
    let tools =
        |name: &str| [serde_json::json!({ "name": name, "description": "d", "inputSchema": { "b": 1, "a": 2 } })];
    assert_eq!(first_tools::find(home.root(), &id(5)).unwrap(), None);
    assert!(!home.path(FILE).exists(), "a search makes no index");
    first_tools::keep(home.root(), &id(5), &tools("one")).unwrap();
    first_tools::keep(home.root(), &id(5), &tools("two")).unwrap();
    let kept = || first_tools::find(home.root(), &id(5)).unwrap();
    assert_eq!(kept(), Some(tools("one").to_vec()));
    // Lists show what the file says, and reading it replaces nothing.
    let path = session(&home, 5, "/a", "x", SessionPlace::Live);
    assert_eq!(refreshed(&home).list(&all()).sessions[0].dynamic_tools[0]["name"], "t");
    assert_eq!(kept(), Some(tools("one").to_vec()));
    fs::remove_file(&path).unwrap();
    session(&home, 5, "/a", "x", SessionPlace::Archived);
    drop(refreshed(&home));
    assert_eq!(kept(), Some(tools("one").to_vec()), "an archived session keeps them");
    fs::remove_dir_all(home.path("archived_sessions")).unwrap();
    drop(refreshed(&home));
    assert_eq!(kept(), None);
}

#[test]
fn a_broken_database_is_made_again() {
    let home = Workspace::empty();
    session(&home, 1, "/a", "one", SessionPlace::Live);
    drop(refreshed(&home));
    let path = home.path(FILE);
    let whole = fs::read(&path).unwrap();
    let mut torn = whole.clone();
    let half = torn.len() / 2;
    torn.truncate(half);
    let mut scribbled = whole;
    scribbled[1000..].fill(0x5a);
    let mut told = Vec::new();
    for bytes in [b"this is no database, this is a text".to_vec(), torn, scribbled] {
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(home.path(format!("{FILE}{suffix}")));
        }
        fs::write(&path, bytes).unwrap();
        let mut index = refreshed(&home);
        assert_eq!(pages(&mut index, &all()), [id(1)]);
        told.push(index.take_warnings().join(", "));
        assert_eq!(SessionIndex::look(home.root()), Some(Ok(())));
    }
    expect_test::expect![[r#"
        the session index was corrupt and is rebuilt: file is not a database
        the session index was corrupt and is rebuilt: database disk image is malformed
        the session index was corrupt and is rebuilt: database disk image is malformed"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_database_of_another_version_is_emptied() {
    let home = Workspace::empty();
    session(&home, 1, "/a", "one", SessionPlace::Live);
    let index = refreshed(&home);
    let Rows::Database(connection) = &index.rows else { panic!("there is a database") };
    connection.execute_batch("PRAGMA user_version = 99; DROP TABLE names; CREATE TABLE other (x)").unwrap();
    drop(index);
    let mut index = refreshed(&home);
    assert_eq!(pages(&mut index, &all()), [id(1)]);
    assert_eq!(index.take_warnings(), Vec::<String>::new());
}

#[test]
fn a_locked_database_is_read_and_what_is_new_stays_in_memory() {
    let home = Workspace::empty();
    session(&home, 1, "/a", "one", SessionPlace::Live);
    drop(refreshed(&home));
    let lock = open_database(home.root()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    session(&home, 2, "/a", "two", SessionPlace::Live);
    let mut index = refreshed(&home);
    assert_eq!(pages(&mut index, &all()), [id(2), id(1)]);
    let warnings = index.take_warnings();
    assert_eq!(warnings, ["the session index cannot be written: database is locked"]);
    lock.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn without_a_database_lists_come_from_the_files() {
    let home = Workspace::empty();
    session(&home, 1, "/a", "one", SessionPlace::Live);
    home.folder(FILE);
    let mut index = refreshed(&home);
    assert_eq!(pages(&mut index, &all()), [id(1)]);
    let why = format!("unable to open database file: {}", home.path(FILE).display());
    assert_eq!(index.take_warnings(), [format!("no session index is available, so all session files are read: {why}")]);
    assert!(matches!(SessionIndex::look(home.root()), Some(Err(_))));
    assert_eq!(SessionIndex::look(&home.path("nowhere")), None);
}

#[test]
fn a_home_that_is_not_there_has_no_sessions() {
    let home = Workspace::empty();
    let mut index = SessionIndex::open(&home.path("nowhere"));
    index.refresh(Duration::ZERO, &mut |_| {});
    assert_eq!(pages(&mut index, &all()), Vec::<String>::new());
    assert_eq!(index.take_warnings(), Vec::<String>::new());
}
