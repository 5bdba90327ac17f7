//! Where the bytes of requests came from: rows of files give back the bytes of the files, and the record keeps it all
//! at a small price.

use std::fs;

use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_engine::digest::Digest;
use pellucid_engine::fragment::Origin;
use pellucid_engine::origins;
use pellucid_engine::pack::Pack;
use pellucid_files::RealDisk;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::recorder::Recorder;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::parts::PartStore;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;

use crate::run;
use crate::sessions::open;
use crate::setup;

const WIRES: [&str; 3] = ["responses", "chat", "messages"];

/// Files that packs trim, cut, decode or look for places in.
fn odd_files() -> Vec<(&'static str, Vec<u8>)> {
    let long = (0..4_000).map(|n| format!("Line {n} é \"quoted\" \\ back\t日本\r\n")).collect::<String>();
    vec![
        ("final newlines", b"Be brief.\n\n\n".to_vec()),
        ("leading white space", b"\n \t Be brief. \n".to_vec()),
        ("CRLF", b"One.\r\n\r\nTwo.\r\n".to_vec()),
        ("BOM", b"\xef\xbb\xbfUse tabs.\n".to_vec()),
        ("tabs and controls", b"a\tb\x01\x0b\x0cc\x7f\"\\\n".to_vec()),
        ("no UTF-8", b"a \xff\xfe b \xc3 c \xe6\x97\n".to_vec()),
        ("only the end is no UTF-8", b"caf\xc3".to_vec()),
        ("places of templates", b"{{ path }} {{text}} {{cwd}} ${HOME} {path} \\0 \\k<x> %s\n".to_vec()),
        ("imports", b"See @more.md and @nosuch.md\n`@code.md`\n".to_vec()),
        ("tags", b"<soul>\n inside \n</soul>\n\nafter\n</INSTRUCTIONS>\n".to_vec()),
        ("long", long.into_bytes()),
    ]
}

/// The text behind bytes of a JSON string.
fn unescaped(bytes: &[u8]) -> String {
    let quoted = [b"\"", bytes, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
}

#[test]
fn a_row_of_a_file_gives_back_the_bytes_of_the_file() {
    let mut n_rows = 0;
    for pack in Pack::builtin_names() {
        for (what, bytes) in odd_files() {
            for wire in WIRES {
                let files = Workspace::empty();
                for name in [
                    "work/AGENTS.md",
                    "work/SOUL.md",
                    "work/USER.md",
                    "work/MEMORY.md",
                    "work/.ads/rules.md",
                    "home/AGENTS.md",
                ] {
                    files.write(name, &bytes);
                }
                files.write("work/more.md", "More.\n");
                files.write(
                    "home/config.toml",
                    format!(
                        "pack = \"{pack}\"\nmodel_provider = \"mock\"\n[project_docs]\nimports = 3\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"http://127.0.0.1:9/v1\"\nwire_api = \"{wire}\"\n"
                    ),
                );
                let mut session = open(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
                session.begin_turn();
                session.record_input(&[UserInput::text("hi".to_owned())]);
                let frame = session.frame(None);
                let body = session.request(&frame).body();
                for row in session.report().unwrap().rows {
                    let Origin::File { path, range, .. } = &row.origin else {
                        continue;
                    };
                    let file = fs::read(&**path).unwrap();
                    let own = &file[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()];
                    let sent = unescaped(&body[row.start..row.start + row.bytes]);
                    assert!(sent.as_bytes() == own, "{pack} on {wire}, {what}: {row:?}\n{sent:?}");
                    assert_eq!(row.raw_bytes, own.len(), "{pack} on {wire}, {what}: {row:?}");
                    let sha256 = Some(Digest::of([file.as_slice()]));
                    assert_eq!(path.sha256(), sha256.as_ref(), "{pack} on {wire}, {what}: {row:?}");
                    n_rows += 1;
                }
            }
        }
    }
    assert!(n_rows > 5 * 3 * 10, "{n_rows}");
}

fn say(text: &str) -> Operation {
    Operation::UserInput { items: vec![UserInput::text(text.to_owned())], final_output_json_schema: None }
}

/// A session of two processes with a turn each: its folder, and its record.
fn two_processes() -> (Workspace, Chain) {
    let files = Workspace::new("//- work/AGENTS.md\nUse tabs.\n");
    let server = MockServer::start(["a", "b"].map(MockReply::say).to_vec());
    crate::configure(&files, "", &server);
    let make = || setup(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    let first = make();
    let path = files.path(format!("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{}.jsonl", first.session_id));
    let record = name::requests_path(&files.path("home"), path.file_name().unwrap().to_str().unwrap()).unwrap();
    drop(run(
        Session::open(first, Recorder::new(RealDisk::shared(), path.clone()), Beginning::Nothing).unwrap(),
        vec![say("one")],
    ));
    let file = read::open(&path).unwrap();
    let mut next = make();
    next.session_id = SessionId::new(file.meta.id.as_str());
    drop(run(
        Session::open(next, Recorder::resume(RealDisk::shared(), path).unwrap(), Beginning::Resumed(&file)).unwrap(),
        vec![say("two")],
    ));
    let chain = Chain::read(&record).unwrap();
    (files, chain)
}

#[test]
fn origins_cost_the_record_at_most_forty_bytes_a_span() {
    let (files, chain) = two_processes();
    let parts = PartStore::new(&files.path("home"));
    let (mut n_spans, mut n_bytes) = (0, 0);
    for link in &chain.links {
        let (kept, line) = match &link.entry {
            LogEntry::Origins(origins) => (&origins.spans, serde_json::to_vec(link).unwrap().len()),
            LogEntry::Frame(frame) => {
                let kept = frame.origins.as_ref().unwrap();
                (kept, serde_json::to_vec(kept).unwrap().len() + "\"origins\":,".len())
            }
            _ => continue,
        };
        n_spans += origins::read(&parts.text(kept).unwrap()).unwrap().concat().len();
        n_bytes += line;
    }
    assert!(n_spans > 50, "{n_spans}");
    assert!(n_bytes <= 40 * n_spans, "{n_bytes} bytes for {n_spans} spans");
}

#[test]
fn a_session_that_goes_on_writes_down_nothing_that_its_record_has() {
    let (_files, chain) = two_processes();
    let kinds: Vec<String> = chain
        .links
        .iter()
        .map(|link| serde_json::to_value(&link.entry).unwrap()["kind"].as_str().unwrap().to_owned())
        .collect();
    let first = ["opened", "origins", "frame", "request", "reply", "sealed"];
    assert_eq!(kinds, [&first[..], &["opened", "request", "reply", "sealed"]].concat());
    let lines: usize = chain.links[first.len()..].iter().map(|link| serde_json::to_vec(link).unwrap().len() + 1).sum();
    assert!(lines < 2_700, "{lines} bytes");
}

/// A PNG image of one pixel.
const DOT: &[u8] =
    b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\
          \x00\x00\x00\x90\x77\x53\xde\x00\x00\x00\x0c\x49\x44\x41\x54\x78\x9c\x63\xf8\xcf\xc0\x00\x00\x03\x01\x01\
          \x00\xc9\xfe\x92\xef\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";

#[test]
fn every_row_of_a_file_has_the_hash_of_the_file() {
    let files = Workspace::new(
        "
//- home/skills/tidy/SKILL.md
---
name: tidy
description: Tidies up.
---
Tidy up.
//- home/memories/memory_summary.md
They like tabs.
//- home/packs/mine/tools/update_plan.md
Say what is next.
//- home/config.toml
pack = \"mine\"
memories.scope = \"all\"
[features]
memory_tool = true
//- work/AGENTS.md
Use tabs.
",
    );
    files.write("work/dot.png", DOT);
    let mut session = open(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    let inputs = [UserInput::text("use $tidy".to_owned()), UserInput::LocalImage { path: files.path("work/dot.png") }];
    let report = session.next_request(&inputs, None).unwrap().report;
    let mut named = Vec::new();
    for row in report.rows_json() {
        let origin = row["origin"].as_str().unwrap();
        let is_on_disk = row["source"] == "file" || (row["source"] == "pack" && origin.starts_with('/'));
        if !is_on_disk {
            assert!(row["file_sha256"].is_null(), "{row}");
            continue;
        }
        let sha256 = Digest::of([fs::read(origin).unwrap().as_slice()]).to_string();
        assert_eq!(row["file_sha256"], sha256, "{row}");
        named.push(origin.rsplit('/').next().unwrap().to_owned());
    }
    named.sort();
    named.dedup();
    assert_eq!(named, ["AGENTS.md", "SKILL.md", "dot.png", "memory_summary.md", "update_plan.md"]);
}
