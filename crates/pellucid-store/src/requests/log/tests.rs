//! A record continues wherever it was left, has one writer, and seals what it finds.

use std::fs;

use expect_test::expect;
use pellucid_files::RealDisk;
use pellucid_testkit::Workspace;
use serde_json::json;

use super::*;
use crate::requests::chain::Chain;
use crate::requests::entry::RequestEntry;
use crate::tests::ID;
use crate::tests::RECORD;
use crate::tests::Recorded;
use crate::tests::SESSION;
use crate::tests::entry;
use crate::tests::opened;

fn noted(at: u64) -> LogEntry {
    entry(json!({ "kind": "noted", "at": at, "item": { "text": "x" } }))
}

fn log(home: &Workspace) -> RequestLog {
    RequestLog::new(RealDisk::shared(), home.root(), &home.path(SESSION))
}

/// The seals of a record: the turn, whether they are of foreign lines, and how many lines they have.
fn seals(home: &Workspace) -> Vec<(Option<String>, bool, usize)> {
    let chain = Chain::read(&home.path(RECORD)).unwrap();
    assert_eq!(chain.broken, None);
    let seals = chain.links.iter().filter_map(|link| match &link.entry {
        LogEntry::Sealed(it) => Some((it.turn.clone(), it.foreign, seal::lines(&it.lines).unwrap().len())),
        _ => None,
    });
    seals.collect()
}

#[test]
fn lines_are_numbered_and_hold_the_hash_of_the_line_before() {
    let home = Workspace::empty();
    let mut first = log(&home);
    assert!(first.is_open());
    assert!(!home.path(RECORD).exists(), "a record appears with its first line");
    assert_eq!((first.write(noted(1)), first.write(noted(2))), (Some(0), Some(1)));
    drop(first);
    assert_eq!(log(&home).write(noted(3)), Some(2));
    let text = home.read(RECORD);
    let lines: Vec<&str> = text.lines().collect();
    let links: Vec<ChainLink> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(links.iter().map(|link| link.n).collect::<Vec<_>>(), [0, 1, 2]);
    let previous: Vec<Option<String>> = links.into_iter().map(|link| link.previous).collect();
    assert_eq!(previous, [None, Some(sha256(lines[0].as_bytes())), Some(sha256(lines[1].as_bytes()))]);
}

#[test]
fn a_record_goes_on_from_wherever_a_crash_cut_it() {
    let home = Workspace::empty();
    let mut first = log(&home);
    for at in 0..3 {
        first.write(noted(at));
    }
    drop(first);
    let whole = fs::read(home.path(RECORD)).unwrap();
    let starts: Vec<usize> = whole.iter().enumerate().filter(|(_, it)| **it == b'\n').map(|(at, _)| at + 1).collect();
    for cut in 0..=whole.len() {
        home.write(RECORD, &whole[..cut]);
        let n_whole = starts.iter().filter(|start| **start <= cut).count();
        // A line whose newline alone is missing can be read.
        let n_kept = n_whole + usize::from(starts.contains(&(cut + 1)));
        let mut again = log(&home);
        assert_eq!(again.write(opened("resumed", 0)), Some(n_kept as u64), "byte {cut}");
        assert_eq!(again.write(noted(9)), Some(n_kept as u64 + 1), "byte {cut}");
        let chain = Chain::read(&home.path(RECORD)).unwrap();
        let n_torn = usize::from(n_kept == n_whole && !starts.contains(&cut) && cut > 0);
        assert_eq!((chain.links.len(), chain.torn.len()), (n_kept + 2, n_torn), "byte {cut}");
        assert_eq!(chain.broken, None, "byte {cut}");
    }
}

#[test]
fn a_second_writer_writes_nothing_and_says_why() {
    let home = Workspace::empty();
    let mut first = log(&home);
    first.write(noted(1));
    let mut second = log(&home);
    assert_eq!(second.write(noted(2)), None);
    let path = home.path(RECORD);
    let failure = format!("{}: another process is writing to this session", path.display());
    assert_eq!((second.failure(), second.is_open()), (Some(failure.as_str()), false));
    assert_eq!((second.write(noted(3)), first.write(noted(4))), (None, Some(1)));
    assert_eq!((first.failure(), home.read(RECORD).lines().count()), (None, 2));
}

#[test]
fn files_with_other_names_have_no_record() {
    let home = Workspace::empty();
    for mut log in [RequestLog::none(), RequestLog::new(RealDisk::shared(), home.root(), Path::new("notes.jsonl"))] {
        assert_eq!((log.is_open(), log.write(noted(1)), log.failure().map(str::to_owned)), (false, None, None));
        let piece = log.keep("base", &"x".repeat(5000));
        assert_eq!(piece, StoredPiece { part: "base".to_owned(), text: StoredText::Here { text: String::new() } });
        let mut tally = Tally::new(0);
        tally.add(b"x\n", "");
        log.seal(tally.take().unwrap(), None);
        assert_eq!(log.failure(), None);
    }
    assert_eq!(fs::read_dir(home.root()).unwrap().count(), 0);
}

#[test]
fn long_texts_are_kept_beside_the_record_and_a_failure_ends_it() {
    let home = Workspace::empty();
    let mut log = log(&home);
    let long = "x".repeat(5000);
    assert_eq!(
        log.keep("a", "short"),
        StoredPiece { part: "a".to_owned(), text: StoredText::Here { text: "short".to_owned() } }
    );
    let piece = log.keep("b", &long);
    assert_eq!(PartStore::new(home.root()).text(&piece), Ok(long.clone()));
    fs::remove_dir_all(home.path("requests")).unwrap();
    home.write("requests", "in the way");
    assert_eq!(log.keep("c", &long).text, StoredText::Here { text: String::new() });
    let failure = log.failure().unwrap().replace(home.root().to_str().unwrap(), "~").replace(ID, "ID");
    expect!["~/requests/2026/01/02/requests-2026-01-02T03-04-05-ID.jsonl: Not a directory (os error 20)"]
        .assert_eq(&failure);
    assert_eq!((log.is_open(), log.write(noted(1))), (false, None));
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_in_the_place_of_a_record_is_refused_at_once() {
    let home = Workspace::empty();
    fs::create_dir_all(home.path(RECORD).parent().unwrap()).unwrap();
    nix::unistd::mkfifo(&home.path(RECORD), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut log = log(&home);
    assert_eq!(log.write(noted(1)), None);
    assert_eq!(log.failure(), Some(format!("{}: it is not a regular file", home.path(RECORD).display()).as_str()));
}

#[test]
fn a_seal_has_the_hash_of_the_seal_before_and_is_anchored() {
    let mut recorded = Recorded::with_turns(2);
    recorded.turn(3);
    let home = recorded.closed();
    let chain = Chain::read(&home.path(RECORD)).unwrap();
    let sealed: Vec<(usize, &Sealed)> = chain
        .links
        .iter()
        .enumerate()
        .filter_map(|(at, link)| match &link.entry {
            LogEntry::Sealed(sealed) => Some((at, sealed)),
            _ => None,
        })
        .collect();
    let hashes: Vec<Option<String>> = sealed.iter().map(|(at, _)| Some(chain.hashes[*at].clone())).collect();
    let before: Vec<Option<String>> = sealed.iter().map(|(_, it)| it.before.clone()).collect();
    assert_eq!(before, [&[None][..], &hashes[..2]].concat());
    let known = anchors::Anchors::read(home.root(), None);
    let anchored: Vec<Option<String>> = known.of(ID).iter().map(|it| Some(it.sha256.clone())).collect();
    assert_eq!(anchored, hashes);
    assert_eq!(known.of(ID).iter().map(|it| it.n).collect::<Vec<_>>(), [3, 6, 9]);
    let ends: Vec<(u64, u64)> = sealed.iter().map(|(_, it)| (it.from, it.at)).collect();
    assert_eq!((ends[0].0, ends[1].0, ends[2].0), (0, ends[0].1, ends[1].1));
    assert_eq!(ends[2].1, fs::metadata(home.path(SESSION)).unwrap().len());
}

#[test]
fn lines_that_another_program_added_get_a_seal_of_their_own() {
    let home = Recorded::with_turns(1).closed();
    let mut text = home.read(SESSION);
    text.push_str("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n");
    home.write(SESSION, &text);
    let recorder = recorder::Recorder::resume(RealDisk::shared(), home.path(SESSION)).unwrap();
    let log = log(&home);
    let mut recorded = Recorded { home, recorder, log };
    recorded.turn(2);
    recorded.turn(3);
    let turn = |n: u8| Some(format!("t{n}"));
    assert_eq!(seals(&recorded.home), [(turn(1), false, 4), (None, true, 3), (turn(2), false, 3), (turn(3), false, 3)]);
}

#[test]
fn where_the_sealed_lines_are_not_what_they_were_nothing_more_is_sealed_as_foreign() {
    let home = Recorded::with_turns(1).closed();
    // Two bytes more in the middle: the last sealed line is not where the seal says.
    let text = home.read(SESSION).replace("question 1", "question 1!!");
    home.write(SESSION, format!("{text}{{\"a\":1}}\n"));
    let recorder = recorder::Recorder::resume(RealDisk::shared(), home.path(SESSION)).unwrap();
    let log = log(&home);
    let mut recorded = Recorded { home, recorder, log };
    recorded.turn(2);
    assert_eq!(seals(&recorded.home), [(Some("t1".to_owned()), false, 4), (Some("t2".to_owned()), false, 3)]);
}

#[test]
fn a_session_that_was_never_sealed_is_sealed_as_foreign_from_its_beginning() {
    let home = Workspace::empty();
    home.write(SESSION, "{\"a\":1}\n{\"b\":2}\n");
    let mut first = log(&home);
    first.write(entry(json!({
        "kind": "opened", "format": 1, "session": ID, "version": "1", "how": "resumed", "at": 0, "ids": null,
        "truncation": { "mode": "bytes", "limit": 10 },
    })));
    drop(first);
    let recorder = recorder::Recorder::resume(RealDisk::shared(), home.path(SESSION)).unwrap();
    let log = log(&home);
    let mut recorded = Recorded { home, recorder, log };
    recorded.turn(1);
    assert_eq!(seals(&recorded.home), [(None, true, 2), (Some("t1".to_owned()), false, 3)]);
}

#[test]
fn long_foreign_stretches_are_sealed_in_pieces() {
    let home = Workspace::empty();
    let line = format!("{}\n", "x".repeat((PIECE_BYTES / 2) as usize));
    let path = home.write(SESSION, line.repeat(3));
    let len = 3 * line.len() as u64;
    let pieces = foreign(&path, None, len).unwrap();
    let shown: Vec<(u64, u64, usize)> =
        pieces.iter().map(|it| (it.from, it.at, seal::lines(&it.lines).unwrap().len())).collect();
    let at = |n: u64| n * line.len() as u64;
    assert_eq!(shown, [(0, at(2), 2), (at(2), at(3), 1)]);
    assert_eq!(foreign(&path, None, 0).unwrap(), []);
}

#[test]
fn a_home_that_keeps_no_anchors_is_told_and_the_record_goes_on() {
    let mut recorded = Recorded::new();
    recorded.home.folder(anchors::FILE);
    recorded.recorder.record(crate::tests::meta(ID));
    let piece = recorded.recorder.take_unsealed().unwrap();
    recorded.log.seal(piece, Some("t".to_owned()));
    let failure = recorded.log.failure().unwrap().replace(recorded.home.root().to_str().unwrap(), "~");
    expect!["~/anchors.jsonl: Is a directory (os error 21)"].assert_eq(&failure);
    assert!(recorded.log.is_open());
    assert_eq!(recorded.log.write(noted(1)), Some(2));
}

#[test]
fn only_lines_that_can_end_the_search_for_a_seal_are_parsed() {
    let head =
        |kind: &str| format!("{{\"n\":1,\"timestamp\":\"t\",\"previous\":\"{}\",\"kind\":\"{kind}\"", "0".repeat(64));
    let found: Vec<bool> =
        ["sealed", "opened", "reply", "request", "noted"].map(|kind| may_end_search(head(kind).as_bytes())).into();
    assert_eq!(found, [true, true, false, false, false]);
    // The word in a text far behind the head is no kind.
    let text = format!("{},\"item\":{{\"text\":\"{}\\\"kind\\\":\\\"sealed\\\"\"}}", head("noted"), "x".repeat(300));
    assert!(!may_end_search(text.as_bytes()));
    assert!(!may_end_search(b"") && !may_end_search(b"\xff\xfe"));
}

#[test]
fn requests_of_a_turn_are_found_again_by_their_numbers() {
    let home = Recorded::with_turns(2).closed();
    let chain = Chain::read(&home.path(RECORD)).unwrap();
    let requests: Vec<(&RequestEntry, u64)> = chain
        .links
        .iter()
        .filter_map(|link| match &link.entry {
            LogEntry::Request(request) => Some((request.as_ref(), link.n)),
            _ => None,
        })
        .collect();
    let replies: Vec<u64> = chain
        .links
        .iter()
        .filter_map(|link| match &link.entry {
            LogEntry::Reply(reply) => Some(reply.request),
            _ => None,
        })
        .collect();
    assert_eq!(requests.iter().map(|(it, n)| (it.turn.as_str(), *n)).collect::<Vec<_>>(), [("t1", 1), ("t2", 4)]);
    assert_eq!(replies, [1, 4]);
}
