//! Searches in small folders. The scores are those of the reference.

use std::fmt::Write as _;

use expect_test::Expect;
use expect_test::expect;
use serde_json::Value;
use serde_json::json;

use super::*;
use crate::connection::Hello;
use crate::connection::Queue;
use crate::methods::fixture::World;
use crate::methods::fixture::world;

fn files() -> World {
    let paths = [
        "work/src/main.rs",
        "work/src/lib.rs",
        "work/src/deep/mainframe.rs",
        "work/README.md",
        "work/.hidden/main.rs",
        "work/target/main.rs",
        "work/ignored/main.rs",
        "work/a b/ma in.txt",
        "work/Main.RS",
        "work/mäin.rs",
        "work/.env",
        "work/domain/x.txt",
    ];
    let mut files: Vec<_> = paths.iter().map(|path| (*path, "")).collect();
    files.extend([("work/.gitignore", "ignored/\n"), ("work/.ignore", "target/\n")]);
    world(&files, &[])
}

async fn found(world: &World, query: &str, roots: &[&str]) -> Vec<FuzzyFileSearchResult> {
    let roots = roots.iter().map(|root| world.filled(root)).collect();
    let params = FuzzyFileSearchParams { query: query.to_owned(), roots, cancellation_token: Some("t".to_owned()) };
    fuzzy_file_search(&world.server, params).await.unwrap().files
}

async fn check_search(query: &str, roots: &[&str], expected: &Expect) {
    let world = files();
    let mut lines = String::new();
    for file in found(&world, query, roots).await {
        let FuzzyFileSearchResult { root, path, file_name, score, indices } = file;
        assert!(path.ends_with(&file_name));
        let _ = writeln!(lines, "{score} {} {path} {:?}", world.shown(&root), indices.unwrap());
    }
    expected.assert_eq(&lines);
    assert!(held(&world.server.searches.by_token).is_empty());
}

#[tokio::test]
async fn the_best_come_first() {
    check_search(
        "main",
        &["$R/work"],
        &expect![[r#"
        109 $R/work .hidden/main.rs [8, 9, 10, 11]
        109 $R/work Main.RS [0, 1, 2, 3]
        109 $R/work mäin.rs [0, 1, 2, 3]
        109 $R/work src/deep/mainframe.rs [9, 10, 11, 12]
        109 $R/work src/main.rs [4, 5, 6, 7]
        104 $R/work a b/ma in.txt [4, 5, 7, 8]
        76 $R/work domain/x.txt [2, 3, 4, 5]
    "#]],
    )
    .await;
    check_search(
        "main rs",
        &["$R/work"],
        &expect![[r#"
        165 $R/work .hidden/main.rs [8, 9, 10, 11, 13, 14]
        165 $R/work Main.RS [0, 1, 2, 3, 5, 6]
        165 $R/work mäin.rs [0, 1, 2, 3, 5, 6]
        165 $R/work src/deep/mainframe.rs [9, 10, 11, 12, 19, 20]
        165 $R/work src/main.rs [4, 5, 6, 7, 9, 10]
    "#]],
    )
    .await;
    check_search(
        "s/m",
        &["$R/work"],
        &expect![[r#"
        71 $R/work src/main.rs [0, 3, 4]
        66 $R/work src/deep/mainframe.rs [0, 8, 9]
    "#]],
    )
    .await;
    check_search(
        "äi",
        &["$R/work"],
        &expect![[r#"
        36 $R/work mäin.rs [1, 2]
    "#]],
    )
    .await;
}

#[tokio::test]
async fn capitals_are_meant() {
    check_search("MAIN", &["$R/work"], &expect![[""]]).await;
    check_search(
        "Main",
        &["$R/work"],
        &expect![[r#"
        109 $R/work Main.RS [0, 1, 2, 3]
    "#]],
    )
    .await;
}

#[tokio::test]
async fn words_may_be_bound_to_places() {
    check_search(
        "^src",
        &["$R/work"],
        &expect![[r#"
        84 $R/work src/deep/mainframe.rs [0, 1, 2]
        84 $R/work src/lib.rs [0, 1, 2]
        84 $R/work src/main.rs [0, 1, 2]
    "#]],
    )
    .await;
    check_search(
        "!src main",
        &["$R/work"],
        &expect![[r#"
        109 $R/work .hidden/main.rs [8, 9, 10, 11]
        109 $R/work Main.RS [0, 1, 2, 3]
        109 $R/work mäin.rs [0, 1, 2, 3]
        104 $R/work a b/ma in.txt [4, 5, 7, 8]
        76 $R/work domain/x.txt [2, 3, 4, 5]
    "#]],
    )
    .await;
    check_search(
        "txt$",
        &["$R/work"],
        &expect![[r#"
        80 $R/work a b/ma in.txt [10, 11, 12]
        80 $R/work domain/x.txt [9, 10, 11]
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_file_belongs_to_the_inner_folder() {
    check_search(
        "lib",
        &["$R/work", "$R/work/src", "$R/work"],
        &expect![[r#"
        84 $R/work/src lib.rs [0, 1, 2]
    "#]],
    )
    .await;
}

#[tokio::test]
async fn nothing_to_find() {
    check_search("", &["$R/work"], &expect![[""]]).await;
    check_search("zzzz", &["$R/work"], &expect![[""]]).await;
    check_search("main", &[], &expect![[""]]).await;
    check_search("main", &["$R/not-there"], &expect![[""]]).await;
}

#[tokio::test]
async fn results_are_bounded() {
    let paths: Vec<_> = (0..80).map(|number| format!("work/file{number:02}.txt")).collect();
    let paths: Vec<_> = paths.iter().map(|path| (path.as_str(), "")).collect();
    let world = world(&paths, &[]);
    let found = found(&world, "file", &["$R/work"]).await;
    assert_eq!((found.len(), found[0].path.as_str(), found[49].path.as_str()), (50, "file00.txt", "file49.txt"));
}

#[test]
fn a_search_that_nobody_wants_ends() {
    let world = files();
    let roots = [Root { path: world.path("work"), shown: "w".to_owned() }];
    let (stop, go_on) = (Stop::default(), Stop::default());
    let files = Files::walk(&roots, &go_on);
    assert!(!files.best("main", &go_on).is_empty());
    stop.now();
    assert!(files.best("main", &stop).is_empty());
    assert!(Files::walk(&roots, &stop).best("main", &go_on).is_empty());
}

async fn next(messages: &mut Queue) -> Value {
    serde_json::from_slice(&messages.recv().await.unwrap()).unwrap()
}

/// The notifications about the latest query; those about earlier queries may come first and are skipped.
async fn notified(messages: &mut Queue, query: &str) -> Vec<String> {
    loop {
        let updated = next(messages).await;
        let completed = next(messages).await;
        assert_eq!(completed, json!({"method": "fuzzyFileSearch/sessionCompleted", "params": {"sessionId": "s"}}));
        assert_eq!(updated["method"], "fuzzyFileSearch/sessionUpdated");
        if updated["params"]["query"] == query {
            let files = updated["params"]["files"].as_array().unwrap();
            return files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect();
        }
    }
}

#[tokio::test]
async fn a_session_answers_each_query() {
    let world = files();
    let (connection, mut messages) = world.server.connect();
    connection.introduce(Hello::default());
    let start = FuzzyFileSearchSessionStartParams { session_id: "s".to_owned(), roots: vec![world.filled("$R/work")] };
    session_start(&world.server, start).await.unwrap();
    assert!(notified(&mut messages, "").await.is_empty());
    for (query, expected) in [("lib", vec!["src/lib.rs"]), ("zzzz", vec![]), ("zzzz", vec![]), ("env", vec![".env"])] {
        let params = FuzzyFileSearchSessionUpdateParams { session_id: "s".to_owned(), query: query.to_owned() };
        session_update(&world.server, params).await.unwrap();
        assert_eq!(notified(&mut messages, query).await, expected);
    }
    let stop = || FuzzyFileSearchSessionStopParams { session_id: "s".to_owned() };
    assert!(session_stop(&world.server, stop()).await.is_ok());
    assert!(session_stop(&world.server, stop()).await.is_ok());
}

#[tokio::test]
async fn a_session_needs_a_name_and_a_folder() {
    let world = files();
    let start = async |id: &str, roots: Vec<String>| {
        let params = FuzzyFileSearchSessionStartParams { session_id: id.to_owned(), roots };
        world.answer(session_start(&world.server, params).await)
    };
    expect!["-32600: sessionId must not be empty"].assert_eq(&start("", vec![world.filled("$R/work")]).await);
    expect!["-32603: failed to start fuzzy file search session: at least one search directory is required"]
        .assert_eq(&start("s", Vec::new()).await);
    let params = FuzzyFileSearchSessionUpdateParams { session_id: "s".to_owned(), query: String::new() };
    expect!["-32600: fuzzy file search session not found: s"]
        .assert_eq(&world.answer(session_update(&world.server, params).await));
}
