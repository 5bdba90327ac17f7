//! The inspector: what the page is served is what was sent and what commands print.

mod beside;
pub mod client;
mod doors;
mod index;
mod views;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use pellucid_engine::digest::Digest;
use pellucid_inspect::schemas;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::fits_schema;
use serde_json::Value;
use serde_json::json;

use self::client::Inspector;
use self::client::read_events;
use crate::World;

const WIRES: [&str; 3] = ["responses", "chat", "messages"];

const KEY: &str = "sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaa";

const FIXTURE: &str = "
//- home/AGENTS.md
Answer briefly.
//- home/prices.toml
[[price]]
model = \"gpt-*\"
from = 2020-01-01
currency = \"USD\"
input = 2
cached_read = 0.5
output = 10
source = \"a test\"
//- work/AGENTS.md
Use \"tabs\".
";

fn reply(wire: &str, items: impl IntoIterator<Item = Value>) -> MockReply {
    match wire {
        "chat" => MockReply::chat(items),
        "messages" => MockReply::messages(items),
        _ => MockReply::items(items),
    }
}

fn said(wire: &str, text: &str) -> MockReply {
    let content = json!([{ "type": "output_text", "text": text }]);
    reply(wire, [json!({ "type": "message", "id": "m", "role": "assistant", "content": content })]).charged()
}

fn planned(wire: &str) -> MockReply {
    let arguments = json!({ "plan": [{ "step": "one", "status": "pending" }] }).to_string();
    let call = json!({ "type": "function_call", "call_id": "c1", "name": "update_plan", "arguments": arguments });
    reply(wire, [call]).charged()
}

/// A session with a call and two turns, and the bodies that the server received.
fn sent(wire: &str) -> (World, String, Vec<Vec<u8>>) {
    let server = MockServer::start([planned(wire), said(wire, "Done."), said(wire, "Again.")]);
    let world = World::new(FIXTURE);
    let config = format!(
        "model = \"gpt-5.1\"\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\n\
         wire_api = \"{wire}\"\n",
        server.base_url()
    );
    world.files.write("home/config.toml", config);
    let ran = world.run(&["exec", "Say \"hé\"."]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let ran = world.run(&["exec", "resume", "--last", &format!("my key is {KEY}")]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = listed["sessions"][0]["id"].as_str().unwrap().to_owned();
    (world, id, server.requests().into_iter().map(|request| request.body).collect())
}

fn world(wire: &str) -> (World, String) {
    let (world, id, _) = sent(wire);
    (world, id)
}

#[test]
fn bodies_are_what_was_sent_and_rows_cover_them() {
    for wire in WIRES {
        let (world, id, bodies) = sent(wire);
        assert_eq!(bodies.len(), 3);
        let inspector = Inspector::open(&world, &[]);
        for (n, body) in (1..).zip(&bodies) {
            let path = format!("sessions/{id}/requests/{n}");
            let shown = inspector.api(&format!("{path}/body?reveal=true"));
            assert!(shown.body == *body, "{wire} {n}: the page gets other bytes than the server did");
            let printed = world.run(&["prompt", "--format", "body", &format!("{id}#{n}")]);
            assert!(shown.body == printed.stdout, "{wire} {n}");
            let head = inspector.api(&path).json();
            assert_eq!(head["sha256"], Digest::of([&**body]).to_string(), "{wire} {n}");
            assert_eq!((&head["bytes"], &head["proved"]), (&json!(body.len()), &json!(true)));
            let part = inspector.get_with(&format!("/api/v1/{path}/body?reveal=true"), &[("Range", "bytes=10-29")]);
            assert_eq!((part.status, &part.body[..]), (206, &body[10..30]));
            assert_eq!(part.header("content-range"), Some(format!("bytes 10-29/{}", body.len()).as_str()));
            let none = inspector.get_with(&format!("/api/v1/{path}/body"), &[("Range", "bytes=99999999-")]);
            assert_eq!(none.refusal(), (416, "bad_range".to_owned()));
            let report = world.run(&["context", "--json", &format!("{id}#{n}")]);
            let report: Value = serde_json::from_slice(&report.stdout).unwrap();
            let rows = all_rows(&inspector, &path);
            assert_eq!(json!(rows), report["rows"], "{wire} {n}");
            assert_eq!(rows.iter().map(|row| row["bytes"].as_u64().unwrap()).sum::<u64>(), body.len() as u64);
            let absent = inspector.api(&format!("{path}/absent")).json();
            assert_eq!(absent["omissions"], report["omissions"]);
            assert_eq!(absent["changed_files"], report["changed_files"]);
        }
    }
}

/// The rows of a request, in small pages.
fn all_rows(inspector: &Inspector, path: &str) -> Vec<Value> {
    let (mut rows, mut from) = (Vec::new(), Some(0));
    while let Some(first) = from {
        let page = inspector.api(&format!("{path}/rows?from={first}&count=7")).json();
        rows.extend(page["rows"].as_array().unwrap().iter().cloned());
        from = page["next"].as_u64();
        assert_eq!(page["of"].as_u64().unwrap() > rows.len() as u64, from.is_some());
    }
    rows
}

#[test]
fn answers_are_those_of_the_commands_byte_for_byte() {
    let (world, id) = world("responses");
    let inspector = Inspector::open(&world, &[]);
    let [one, two, three] = [1, 2, 3].map(|n| format!("{id}#{n}"));
    let same = |path: &str, command: &[&str]| {
        let printed = world.run(command);
        let answer = inspector.api(&format!("{path}reveal=true"));
        let [shown, printed] = [&answer.body, &printed.stdout].map(|it| String::from_utf8_lossy(it).into_owned());
        assert_eq!(shown, printed, "{path}");
        assert!(printed.ends_with("}\n"), "{path}: {printed}");
    };
    let escaped = |name: &str| name.replace('#', "%23");
    same(&format!("sessions/{id}/proof?"), &["replay", "--json", &id]);
    same(&format!("sessions/{id}/breaks?"), &["cache", "--json", &id]);
    same(&format!("diff?a={}&b={}&", escaped(&one), escaped(&two)), &["context", "diff", "--json", &one, &two]);
    same(&format!("diff?a={}&b={}&", escaped(&two), escaped(&three)), &["context", "diff", "--json", &two, &three]);
    same(
        &format!("why?ref={}&file=AGENTS.md:1&", escaped(&three)),
        &["context", "why", "--json", "AGENTS.md:1", &three],
    );
    same(
        &format!("why?ref={}&text=nowhere+at+all&", escaped(&three)),
        &["context", "why", "--json", "--text", "nowhere at all", &three],
    );
    same(
        &format!("why?ref={}&tool=update_plan&", escaped(&one)),
        &["context", "why", "--json", "--tool", "update_plan", &one],
    );
    same("packs?message=hello&", &["context", "packs", "--json", "hello"]);
    // The texts have the id of a new session, which is another one each time.
    let texts = |bytes: &[u8]| {
        let table: Value = serde_json::from_slice(bytes).unwrap();
        let is_same = |row: &&Value| row["name"] != "session";
        table["rows"].as_array().unwrap().iter().filter(is_same).cloned().collect::<Vec<_>>()
    };
    let printed = texts(&world.run(&["context", "packs", "--json", "--texts", "hello"]).stdout);
    assert!(texts(&inspector.api("packs?message=hello&texts=true").body) == printed);
    assert_eq!(printed[0]["cells"][0]["text"], "hello");
    same(&format!("cost?session={id}&"), &["cost", "--json", &id]);
    same(
        &format!("cost?session={id}&by=part&as=ttl%3D1h&"),
        &["cost", "--json", "--by", "part", "--as", "ttl=1h", &id],
    );
    same(&format!("search?q=tabs&session={id}&"), &["sessions", "grep", "--json", "--session", &id, "tabs"]);
    same("search?q=-i&fixed=true&", &["sessions", "grep", "--json", "-F", "--", "-i"]);
    let calls: Value = serde_json::from_slice(&world.run(&["sessions", "calls", "--json", &id]).stdout).unwrap();
    assert_eq!(inspector.api(&format!("sessions/{id}/calls")).json()["calls"], calls);
    let one = inspector.api(&format!("sessions/{id}/calls/c1")).json();
    assert_eq!((&one["calls"], one["output"].as_str()), (&calls, Some("Plan updated")));
    assert_eq!(inspector.api("diff?a=now&b=zzzz").refusal(), (400, "bad_request".to_owned()));
    assert_eq!(inspector.api(&format!("cost?session={id}&by=colour")).refusal(), (400, "bad_request".to_owned()));
}

#[test]
fn the_timeline_adds_up_to_what_other_answers_say() {
    for wire in WIRES {
        let (world, id) = world(wire);
        let inspector = Inspector::open(&world, &[]);
        let cost: Value = serde_json::from_slice(&world.run(&["cost", "--json", &id]).stdout).unwrap();
        let summary = inspector.api(&format!("sessions/{id}")).json();
        assert_eq!(summary["cost"], cost["total"]["cost"], "{summary} {cost}");
        for by in ["part", "source", "role", "tool", "author"] {
            let timeline = inspector.api(&format!("sessions/{id}/timeline?by={by}")).json();
            assert_eq!(timeline["n"], json!([1, 2, 3]));
            for n in 0..3 {
                let head = inspector.api(&format!("sessions/{id}/requests/{}", n + 1)).json();
                let sum = |at: usize| {
                    let cells = timeline["cells"][n].as_array().unwrap();
                    json!(cells.iter().map(|cell| cell[at].as_u64().unwrap()).sum::<u64>())
                };
                assert_eq!((&sum(1), &sum(2)), (&head["bytes"], &head["tokens"]), "{wire} {by} {n}");
                for (column, key) in [("bytes", "bytes"), ("tokens", "tokens"), ("kept", "kept"), ("detail", "detail")]
                {
                    assert_eq!(timeline[column][n], head[key], "{wire} {column}");
                }
                assert_eq!(timeline["price"][n], head["cost"]["amount"]);
                let of_tree = head["tree"].as_array().unwrap().iter().map(|part| part["bytes"].as_u64().unwrap());
                assert_eq!(json!(of_tree.sum::<u64>()), head["bytes"]);
                let of_groups = head["groups"].as_array().unwrap().iter().map(|it| it["bytes"].as_u64().unwrap());
                assert_eq!(json!(of_groups.sum::<u64>()), head["bytes"]);
            }
            for (column, key) in [("read", "cached_read"), ("uncached", "uncached"), ("output", "output")] {
                let sum: i64 = timeline[column].as_array().unwrap().iter().map(|it| it.as_i64().unwrap()).sum();
                assert_eq!(json!(sum), summary["usage"][key], "{wire} {column}");
            }
            let page = inspector.api(&format!("sessions/{id}/timeline?by={by}&from=2&count=1")).json();
            assert_eq!((&page["n"], &page["next"]), (&json!([2]), &json!(3)));
            assert_eq!(page["cells"][0], timeline["cells"][1]);
        }
    }
}

#[test]
fn secrets_are_hidden_until_they_are_asked_for() {
    let (world, id, bodies) = sent("responses");
    let inspector = Inspector::open(&world, &[]);
    let path = format!("sessions/{id}/requests/3");
    let masked = inspector.api(&format!("{path}/body"));
    let text = String::from_utf8(masked.body.clone()).unwrap();
    assert!(!text.contains(KEY) && text.contains(&"*".repeat(KEY.len())));
    assert_eq!((masked.body.len(), masked.header("pellucid-masked")), (bodies[2].len(), Some("1")));
    assert_eq!(masked.header("digest"), None);
    let whole = inspector.api(&format!("{path}/body?reveal=true"));
    assert!(whole.body == bodies[2] && whole.header("digest").unwrap().starts_with("sha-256="));
    let first = inspector.api(&format!("sessions/{id}/requests/1/body"));
    assert!(first.body == bodies[0], "without a secret nothing is hidden");
    assert!(first.header("digest").is_some());
    for path in [
        format!("{path}/text"),
        format!("{path}/text?item=6"),
        format!("diff?a={id}%232&b={id}%233"),
        "search?q=key".to_owned(),
        "sessions?q=nothing-like-it".to_owned(),
    ] {
        let answer = inspector.api(&path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(!String::from_utf8_lossy(&answer.body).contains(KEY), "{path}");
        answer.json();
    }
    let reveal = inspector.api(&format!("{path}/text?reveal=true"));
    assert!(String::from_utf8_lossy(&reveal.body).contains(KEY));
}

/// Every file of a folder with its bytes and its time.
fn files(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            found.insert(path.clone(), (fs::read(&path).unwrap(), time));
        }
    }
    found
}

#[test]
fn answers_fit_their_schemas_do_not_change_and_write_only_the_index() {
    let (world, id) = world("responses");
    world.files.write("work/script.toml", "[[reply]]\nsay = \"a summary\"\n[[reply]]\nsay = \"after it\"\n");
    let ran = world.run(&["compact", "--script", "script.toml", &id]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    world.files.write("work/long.toml", views::LONG_OUTPUT);
    let ran = world.run(&["exec", "--script", "long.toml", "resume", &id, "write much"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let ran = world.run(&["exec", "--script", "script.toml", "resume", &id, "and then"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let paths: Vec<(&str, String)> = vec![
        ("hello", "hello".to_owned()),
        ("sessions", "sessions?limit=10&archived=false&sort=created".to_owned()),
        ("sessions/ID", format!("sessions/{id}")),
        ("sessions/ID/timeline", format!("sessions/{id}/timeline")),
        ("sessions/ID/requests/N", format!("sessions/{id}/requests/2")),
        ("sessions/ID/requests/N/rows", format!("sessions/{id}/requests/2/rows")),
        ("sessions/ID/requests/N/text", format!("sessions/{id}/requests/2/text")),
        ("sessions/ID/requests/N/absent", format!("sessions/{id}/requests/2/absent")),
        ("sessions/ID/items", format!("sessions/{id}/items")),
        ("sessions/ID/items/K", format!("sessions/{id}/items/2")),
        ("sessions/ID/compactions", format!("sessions/{id}/compactions")),
        ("sessions/ID/compactions/K", format!("sessions/{id}/compactions/1")),
        ("sessions/ID/calls", format!("sessions/{id}/calls")),
        ("sessions/ID/calls/CALL", format!("sessions/{id}/calls/c1")),
        ("sessions/ID/calls/CALL/output", format!("sessions/{id}/calls/call_1_1/output?from=3")),
        ("error", "nothing".to_owned()),
    ];
    let printed = world.run(&["inspect", "--schema"]);
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(printed, schemas::all());
    let before = files(&world.files.path("home"));
    let mut kept: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for variables in [&[("TZ", "Asia/Tokyo"), ("LANG", "de_DE.UTF-8")][..], &[][..]] {
        let inspector = Inspector::open_with(&world, &[], variables);
        for (name, path) in &paths {
            let answer = inspector.api(path);
            if let Err(why) = fits_schema(&printed["answers"][name], &answer.json()) {
                panic!("{name}: {why}");
            }
            // A second time, what was computed meanwhile is known.
            let again = kept.entry(name).or_insert_with(|| answer.body.clone());
            assert_eq!(String::from_utf8_lossy(again), String::from_utf8_lossy(&answer.body), "{name}");
        }
        for path in [format!("sessions/{id}/proof"), format!("sessions/{id}/breaks"), "packs".to_owned()] {
            assert_eq!(inspector.api(&path).status, 200, "{path}");
        }
        assert_eq!(schemas::ALL.len(), paths.len() + 1, "every schema is checked; a fork is checked where one is made");
    }
    let mut after = files(&world.files.path("home"));
    let index = after.remove(&world.files.path(format!("home/inspect/{id}.idx")));
    assert!(index.is_some(), "the index is the one file that is written");
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    let changed: Vec<_> = before.keys().filter(|path| before.get(*path) != after.get(*path)).collect();
    assert!(changed.is_empty(), "{changed:?}");
}

#[test]
fn items_have_the_requests_that_had_them_and_compactions_what_they_left() {
    let (world, id) = world("responses");
    world.files.write("work/script.toml", "[[reply]]\nsay = \"SUMMARY\"\n");
    let inspector = Inspector::open(&world, &[]);
    let items = |inspector: &Inspector| inspector.api(&format!("sessions/{id}/items?reveal=true")).json();
    let of = |items: &Value, preview: &str| {
        let mut list = items["items"].as_array().unwrap().iter();
        let item =
            list.find(|it| it["preview"].as_str().unwrap().contains(preview)).unwrap_or_else(|| panic!("{items}"));
        (item["first"].as_u64().unwrap(), item["last"].as_u64().unwrap(), item["author"].as_str().unwrap().to_owned())
    };
    let first = items(&inspector);
    assert_eq!(of(&first, "Say \"hé\"."), (1, 3, "yours".to_owned()));
    assert_eq!(of(&first, "Use \"tabs\"."), (1, 3, "pack".to_owned()), "most of the message is the pack's");
    assert_eq!(of(&first, "Plan updated"), (2, 3, "tool".to_owned()));
    assert_eq!(of(&first, "Done."), (3, 3, "model".to_owned()));
    assert_eq!(of(&first, KEY), (3, 3, "yours".to_owned()));
    let one = inspector.api(&format!("sessions/{id}/items/2")).json();
    assert_eq!((&one["preview"], one["k"].as_u64()), (&first["items"][2]["preview"], Some(2)));
    assert!(one["text"].as_str().unwrap().len() as u64 == one["text_bytes"].as_u64().unwrap());
    assert_eq!(inspector.api(&format!("sessions/{id}/compactions")).json()["compactions"], json!([]));
    let ran = world.run(&["compact", "--script", "script.toml", &id]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let ran = world.run(&["exec", "--script", "script.toml", "resume", &id, "and then"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let found = inspector.api(&format!("sessions/{id}/compactions")).json()["compactions"][0].clone();
    assert_eq!([&found["asked_by"], &found["before"], &found["after"]], [&json!(4), &json!(3), &json!(5)]);
    let whole = inspector.api(&format!("sessions/{id}/compactions/1")).json();
    assert!(whole["summary"].as_str().unwrap().ends_with("SUMMARY"), "{whole}");
    let later = items(&inspector);
    let summary = later["items"].as_array().unwrap().iter().find(|it| it["part"] == "summary").unwrap();
    assert_eq!(summary["first"], 5);
    let summary = inspector.api(&format!("sessions/{id}/items/{}", summary["k"])).json();
    assert!(summary["text"].as_str().unwrap().contains("SUMMARY"), "{summary}");
    let timeline = inspector.api(&format!("sessions/{id}/timeline")).json();
    assert!(timeline["marks"].as_array().unwrap().iter().any(|mark| mark["kind"] == "compaction" && mark["n"] == 5));
}

#[test]
fn a_page_is_served_beside_a_turn_and_ends_with_it() {
    let world = World::new(FIXTURE);
    world.files.write("work/script.toml", "[[reply]]\nsay = \"done\"\n");
    let ran = world.run(&["exec", "--inspect", "--script", "script.toml", "go"]);
    assert_eq!((ran.status, ran.out()), (0, "done\n"), "{}", ran.stderr);
    let address =
        ran.stderr.lines().find_map(|line| line.strip_prefix("the page about this session: http://")).unwrap();
    let (address, rest) = address.split_once("/?code=").unwrap();
    let listed: Value = serde_json::from_slice(&world.run(&["sessions", "list", "--json"]).stdout).unwrap();
    let id = listed["sessions"][0]["id"].as_str().unwrap();
    assert!(rest.ends_with(&format!("#/s/{id}")), "{rest}");
    assert!(std::net::TcpStream::connect(address).is_err(), "the page ends with the session");
}

#[test]
fn what_happens_to_a_session_is_sent_as_it_is_written() {
    let (world, id) = world("responses");
    world.files.write("work/script.toml", "[[reply]]\nsay = \"more\"\n");
    let inspector = Inspector::open(&world, &[]);
    let ask = |last: Option<u64>| {
        let mut stream = inspector.connect();
        let last = last.map_or_else(String::new, |last| format!("Last-Event-ID: {last}\r\n"));
        let (address, cookie) = (&inspector.address, &inspector.cookie);
        let path = format!("/api/v1/events?session={id}");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n{last}\r\n").unwrap();
        stream
    };
    let earlier = read_events(ask(Some(0)), 3);
    assert!(earlier.iter().any(|event| event.contains("\"number\":1")), "{earlier:?}");
    let last = earlier.last().unwrap().lines().find_map(|line| line.strip_prefix("id: ")).unwrap().parse().unwrap();
    let later = read_events(ask(Some(last)), 1);
    assert!(!earlier.contains(&later[0]), "{later:?}");
    // The stream is established once its first comment has come.
    let mut stream = ask(None);
    let mut begun = Vec::new();
    while !begun.ends_with(b": following\n\n") {
        let mut byte = [0; 1];
        std::io::Read::read_exact(&mut stream, &mut byte).unwrap();
        begun.push(byte[0]);
        if begun.ends_with(b": following\n\n\r\n") {
            break;
        }
    }
    let ran = world.run(&["exec", "--script", "script.toml", "resume", &id, "go on"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let events = read_events(stream, 3);
    assert!(
        events.iter().any(|event| event.starts_with("event: request\n") && event.contains("\"number\":4")),
        "{events:?}"
    );
}

#[test]
fn a_name_opens_the_page_at_its_place() {
    let (world, id) = world("responses");
    assert_eq!(Inspector::start(&world, &[]).fragment, "");
    assert_eq!(Inspector::start(&world, &["--live"]).fragment, "/live");
    assert_eq!(Inspector::start(&world, &[&id[..13]]).fragment, format!("/s/{id}"));
    let inspector = Inspector::open(&world, &[&format!("{id}#2")]);
    assert_eq!(inspector.fragment, format!("/s/{id}/r/2"));
    let hello = inspector.api("hello").json();
    assert_eq!((&hello["session"], &hello["request"]), (&json!(id), &json!(2)));
    let ran = world.run(&["inspect", "now"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let ran = world.run(&["inspect", "zzzz"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}

#[test]
fn a_session_leaves_as_one_file() {
    let (world, id) = world("responses");
    let inspector = Inspector::open(&world, &[]);
    let export = |body: &Value| inspector.send("POST", "/api/v1/export", &[], &body.to_string());
    let answer = export(&json!({ "session": id }));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-disposition"), Some(format!("attachment; filename=\"{id}.html\"").as_str()));
    assert!(!String::from_utf8_lossy(&answer.body).contains(KEY));
    let written = world.run(&["sessions", "capsule", "-o", "c.html", &id]);
    assert_eq!(written.status, 0, "{}", written.stderr);
    assert!(answer.body == fs::read(world.files.path("work/c.html")).unwrap());
    assert_eq!(export(&json!({ "session": id, "redact": "some" })).refusal(), (400, "bad_request".to_owned()));
    assert_eq!(export(&json!({ "where": "/tmp" })).refusal(), (400, "bad_request".to_owned()));
    let opened = Inspector::open(&world, &["file:c.html"]);
    // The session is nowhere but in the capsule.
    fs::remove_dir_all(world.files.path("home/sessions")).unwrap();
    for path in ["cost?session=ID&by=part", "diff?a=ID%231&b=ID%232", "why?ref=ID%231&byte=100", "sessions/ID/breaks"] {
        let answer = opened.api(&path.replace("ID", &id));
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    }
}
