//! The index beside a record: it makes answers cheap, and changes none of them.

use std::fs;
use std::path::PathBuf;

use pellucid_engine::digest::Digest;
use serde_json::Value;
use serde_json::json;

use super::FIXTURE;
use super::WIRES;
use super::client::Inspector;
use super::world;
use crate::World;

/// How long the argument of a call is in [`long_session`].
const ARGUMENT_BYTES: usize = 60_000;

/// How many calls [`long_session`] has.
const N_CALLS: usize = 30;

/// Answers that the index has a part in.
fn answers(world: &World, id: &str) -> Vec<(String, String)> {
    let inspector = Inspector::open(world, &[]);
    let of = inspector.api(&format!("sessions/{id}")).json()["counts"]["requests"].as_u64().unwrap();
    let mut paths: Vec<String> = ["", "/compactions", "/calls", "/breaks", "/proof", "/items?from=3&count=4", "/items"]
        .iter()
        .map(|path| format!("sessions/{id}{path}"))
        .collect();
    for by in ["part", "source", "role", "tool", "author"] {
        paths.push(format!("sessions/{id}/timeline?by={by}"));
    }
    for n in 1..=of {
        paths.extend(["", "/rows", "/text"].iter().map(|path| format!("sessions/{id}/requests/{n}{path}")));
    }
    let answer = |path: String| {
        let text = String::from_utf8(inspector.api(&path).body).unwrap();
        (path, text)
    };
    paths.into_iter().map(answer).collect()
}

/// Where the index of a session is.
fn index(world: &World, id: &str) -> PathBuf {
    world.files.path(format!("home/inspect/{id}.idx"))
}

/// Calls with long arguments, from a number on.
fn calls(from: usize, n: usize) -> String {
    let call = |at: usize| {
        format!(
            "[[reply]]\ncall = [{{ name = \"exec_command\", args = {{ cmd = \": {at} {}\" }} }}]\n",
            "x".repeat(ARGUMENT_BYTES)
        )
    };
    (from..from + n).map(call).collect::<String>() + "[[reply]]\nsay = \"the needle\"\n"
}

/// A session with many requests, which is much longer than its index.
fn long_session() -> (World, String) {
    let world = World::new(FIXTURE);
    world.files.write("work/script.toml", calls(0, N_CALLS));
    let ran = world.run(&["exec", "--full-auto", "--skip-git-repo-check", "--script", "script.toml", "go"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    (world, id)
}

#[test]
fn answers_are_the_same_with_an_index_without_one_and_where_none_can_be_written() {
    for wire in WIRES {
        let (world, id) = world(wire);
        let first = answers(&world, &id);
        let path = index(&world, &id);
        let made = fs::read(&path).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(answers(&world, &id), first, "{wire}: from the index");
        assert_eq!(fs::read(&path).unwrap(), made, "an index that fits is not written again");
        fs::remove_file(&path).unwrap();
        assert_eq!(answers(&world, &id), first, "{wire}: the index can be deleted");
        assert_eq!(fs::read(&path).unwrap(), made, "the same files give the same index");
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        world.files.write("home/inspect", "no folder");
        assert_eq!(answers(&world, &id), first, "{wire}: no index can be written");
        let ran = world.run(&["sessions", "delete", "--yes", &id]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
}

#[test]
fn a_session_that_has_grown_is_followed_from_its_index() {
    let (world, id) = long_session();
    answers(&world, &id);
    let path = index(&world, &id);
    let made = fs::read(&path).unwrap();
    let kept = Inspector::open(&world, &[]);
    let of = |inspector: &Inspector| {
        let session = inspector.api(&format!("sessions/{id}")).body;
        (
            session,
            inspector.api(&format!("sessions/{id}/timeline")).body,
            inspector.api(&format!("sessions/{id}/items")).body,
        )
    };
    of(&kept);
    world.files.write("work/script.toml", calls(N_CALLS, 3));
    let ran =
        world.run(&["exec", "--full-auto", "--skip-git-repo-check", "--script", "script.toml", "resume", &id, "more"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let in_the_same_server = of(&kept);
    assert_eq!(fs::read(&path).unwrap(), made, "a few more requests are not worth writing the index again");
    let extended = answers(&world, &id);
    fs::remove_file(&path).unwrap();
    let anew = answers(&world, &id);
    assert_eq!(extended, anew);
    assert_eq!(in_the_same_server, of(&Inspector::open(&world, &[])));
    let ran = world.run(&["compact", "--undo", &id]);
    assert_ne!(ran.status, 0, "there is nothing to undo");
    world.files.write("work/summary.toml", "[[reply]]\nsay = \"a summary\"\n");
    let ran = world.run(&["compact", "--script", "summary.toml", &id]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let extended = answers(&world, &id);
    fs::remove_file(&path).unwrap();
    assert_eq!(extended, answers(&world, &id), "after a summary");
}

/// The bytes of an index with another line about requests or other items, and the digest that fits them.
fn forged(made: &[u8], change: impl FnOnce(&mut Value, &mut Vec<Value>)) -> Vec<u8> {
    let mut lines =
        made.split_inclusive(|byte| *byte == b'\n').map(|line| serde_json::from_slice::<Value>(line).unwrap());
    let (mut head, mut view) = (lines.next().unwrap(), lines.next().unwrap());
    let mut items: Vec<Value> = lines.collect();
    change(&mut view, &mut items);
    let body: String = std::iter::once(&view).chain(&items).map(|line| format!("{line}\n")).collect();
    head["sha256"] = Digest::of([body.as_bytes()]).to_string().into();
    format!("{head}\n{body}").into_bytes()
}

#[test]
fn an_index_that_does_not_fit_is_as_good_as_none() {
    let (world, id) = world("responses");
    let expected = answers(&world, &id);
    let path = index(&world, &id);
    let made = fs::read(&path).unwrap();
    let text = String::from_utf8(made.clone()).unwrap();
    let end = text.find('\n').unwrap();
    let mut flipped = made.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let damaged: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("no text", vec![0xff; 1 << 16]),
        ("cut in its first line", made[..end / 2].to_vec()),
        ("cut behind its first line", made[..=end].to_vec()),
        ("cut", made[..made.len() - 10].to_vec()),
        ("a changed byte", flipped),
        ("a later format", text.replacen("\"format\":1", "\"format\":2", 1).into_bytes()),
        ("of another session", text.replacen(&id, "019a0000-0000-7000-8000-000000000009", 1).into_bytes()),
        ("of other files", text.replacen("\"bytes\":", "\"bytes\":1", 1).into_bytes()),
        ("a billion rows", forged(&made, |view, _| view["n_lines"] = json!(1_000_000_000_000_u64))),
        ("a request that is not there", forged(&made, |view, _| view["requests"][0]["figures"] = json!(1_000_000_000))),
        (
            "a request too many",
            forged(&made, |view, _| {
                let first = view["requests"][0].clone();
                view["requests"].as_array_mut().unwrap().push(first);
            }),
        ),
        ("a cell that is not there", forged(&made, |view, _| view["cells"]["columns"][0][0]["name"] = json!(u64::MAX))),
        (
            "a cell that is too large",
            forged(&made, |view, _| view["cells"]["columns"][0][0]["bytes"] = json!(u64::MAX)),
        ),
        ("nested", [b"{\"format\":".as_slice(), &b"[".repeat(60_000), b"\n"].concat()),
    ];
    for (what, bytes) in damaged {
        fs::write(&path, &bytes).unwrap();
        let shown = answers(&world, &id);
        if what == "a billion rows" {
            // How many lines the record had decides only from where a longer record is followed.
            continue;
        }
        assert_eq!(shown, expected, "{what}");
        assert_eq!(fs::read(&path).unwrap(), made, "{what}: it is made again");
    }
    let stranger = forged(&made, |_, items| items[0] = json!("no item"));
    fs::write(&path, stranger).unwrap();
    assert_eq!(answers(&world, &id), expected, "an item that is none");
    assert_eq!(fs::read(&path).unwrap(), made, "it is made again");
}

#[test]
fn a_line_that_is_changed_makes_the_index_worthless() {
    let (world, id) = world("responses");
    let before = answers(&world, &id);
    let session = world.files.path(format!("home/{}", session_path(&world, &id)));
    let text = fs::read_to_string(&session).unwrap();
    fs::write(&session, text.replace("Say \\\"hé\\\".", "Say \\\"ha\\\"..")).unwrap();
    let timeline = |answers: &[(String, String)]| {
        let timeline = answers.iter().find(|(path, _)| path.ends_with("by=part")).unwrap();
        serde_json::from_str::<Value>(&timeline.1).unwrap()["proved"].clone()
    };
    assert_eq!(timeline(&before), json!([true, true, true]));
    assert_eq!(timeline(&answers(&world, &id)), json!([false, false, false]));
}

/// The path of a session file below the home folder.
fn session_path(world: &World, id: &str) -> String {
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let sessions = listed["sessions"].as_array().unwrap();
    sessions.iter().find(|it| it["id"] == id).unwrap()["path"].as_str().unwrap().to_owned()
}

/// What is read follows what is asked for, and not how long the session is.
#[cfg(target_os = "linux")]
#[test]
fn a_second_server_reads_the_index_and_a_neighbour_is_not_read_again() {
    let (world, id) = long_session();
    let length = fs::metadata(world.files.path(format!("home/{}", session_path(&world, &id)))).unwrap().len();
    assert!(length > 1_700_000, "{length}");
    let first = Inspector::open(&world, &[]);
    let ask = |inspector: &Inspector, path: &str| {
        let before = inspector.bytes_read();
        assert_eq!(inspector.api(&format!("sessions/{id}{path}")).status, 200, "{path}");
        inspector.bytes_read() - before
    };
    assert!(ask(&first, "/timeline") > length, "the first pass reads all");
    let index = fs::metadata(index(&world, &id)).unwrap().len();
    assert!(index * 8 < length, "{index} of {length}");
    // Besides the index, a few small files are read: prices, the names of sessions.
    let small = 200_000;
    let second = Inspector::open(&world, &[]);
    for (path, most) in
        [("/timeline", index + small), ("/timeline", small), ("/items", small), ("/items?from=20", small)]
    {
        let n = ask(&second, path);
        assert!(n <= most, "{path} read {n} bytes, with an index of {index}");
    }
    let last = N_CALLS + 1;
    let whole = ask(&second, &format!("/requests/{last}"));
    assert!(whole <= length + length / 4 + small, "{whole} of {length} bytes were read for the largest request");
    for path in
        [format!("/requests/{last}/rows"), format!("/requests/{}", last - 1), format!("/requests/{}", last - 20)]
    {
        let n = ask(&second, &path);
        assert!(n <= small, "{path} read {n} bytes");
    }
}
