//! Whatever is done to a line of a sealed session file is found and named, and what is only added is not damage.

use std::fs;

use expect_test::Expect;
use expect_test::expect;
use pellucid_files::RealDisk;
use pellucid_testkit::Workspace;

use super::*;
use crate::tests::RECORD;
use crate::tests::Recorded;
use crate::tests::SESSION;

/// The session file of so many turns with its home folder, and its record.
fn sealed(n_turns: usize) -> (Workspace, Vec<u8>, Chain) {
    let home = Recorded::with_turns(n_turns).closed();
    let bytes = fs::read(home.path(SESSION)).unwrap();
    let chain = Chain::read(&home.path(RECORD)).unwrap();
    assert_eq!(chain.broken, None);
    (home, bytes, chain)
}

/// The lines of a file, each with its newline.
fn split_lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// What is said of a session file with these bytes.
fn verified(home: &Workspace, bytes: &[u8], chain: &Chain) -> SealVerdict {
    let path = home.write(SESSION, bytes);
    verify(home.root(), &path, chain).unwrap()
}

/// The places and changes of what is not as it was.
fn places(verified: &SealVerdict) -> Vec<(u64, u64, DamageKind)> {
    verified.damages.iter().map(|it| (it.line.unwrap(), it.n_lines, it.change)).collect()
}

#[track_caller]
fn check(home: &Workspace, bytes: &[u8], chain: &Chain, expected: &Expect) {
    let SealVerdict { damages, foreign, is_blanked } = verified(home, bytes, chain);
    let mut lines: Vec<String> = damages.iter().map(|it| it.what().to_string()).collect();
    lines.extend(foreign.iter().map(ToString::to_string));
    lines.extend(is_blanked.then(|| "secrets are blanked".to_owned()));
    // Lines of a file have times, and so their places in bytes are equal in every run.
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn a_file_that_was_left_alone_is_as_it_was() {
    let (home, bytes, chain) = sealed(3);
    assert_eq!(verified(&home, &bytes, &chain), SealVerdict::default());
}

#[test]
fn every_changed_byte_is_found_in_its_line() {
    let (home, bytes, chain) = sealed(2);
    let mut line = 1;
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let found = verified(&home, &changed, &chain);
        let first = places(&found)[0];
        assert_eq!((first.0, first.2), (line, DamageKind::Changed), "byte {at}");
        line += u64::from(bytes[at] == b'\n');
    }
}

#[test]
fn every_cut_is_found_at_the_line_that_it_hits() {
    let (home, bytes, chain) = sealed(2);
    let mut line = 1;
    for at in 0..bytes.len() {
        let found = verified(&home, &bytes[..at], &chain);
        let is_between = at == 0 || bytes[at - 1] == b'\n';
        let expected = if is_between { DamageKind::Missing } else { DamageKind::Changed };
        let first = places(&found)[0];
        assert_eq!((first.0, first.2), (line, expected), "byte {at}");
        line += u64::from(bytes[at] == b'\n');
    }
}

#[test]
fn every_line_that_is_gone_moved_doubled_or_new_is_found() {
    let (home, bytes, chain) = sealed(3);
    let lines = split_lines(&bytes);
    for at in 0..lines.len() {
        let line = at as u64 + 1;
        let mut gone = lines.clone();
        gone.remove(at);
        assert_eq!(places(&verified(&home, &gone.concat(), &chain)), [(line, 1, DamageKind::Missing)]);
        let mut new = lines.clone();
        new.insert(at, b"{\"timestamp\":\"t\",\"type\":\"compacted\",\"payload\":{\"message\":\"\"}}\n");
        assert_eq!(places(&verified(&home, &new.concat(), &chain)), [(line, 1, DamageKind::New)]);
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at]);
        let found = verified(&home, &doubled.concat(), &chain);
        let is_last = at + 1 == lines.len();
        // A copy behind the last line is behind the last seal, as if another program had added it.
        assert_eq!((found.damages.len(), found.foreign.len()), if is_last { (0, 1) } else { (1, 0) }, "{at}");
        if at + 1 < lines.len() {
            let mut moved = lines.clone();
            moved.swap(at, at + 1);
            let found = places(&verified(&home, &moved.concat(), &chain));
            assert_eq!(found, [(line + 1, 1, DamageKind::Moved)]);
        }
    }
}

#[test]
fn damage_names_the_kind_the_part_and_the_turn_of_the_line() {
    let (home, bytes, chain) = sealed(1);
    let lines = split_lines(&bytes);
    let kinds: Vec<(String, String, Option<String>)> = (0..lines.len())
        .map(|at| {
            let mut gone = lines.clone();
            gone.remove(at);
            let it = verified(&home, &gone.concat(), &chain).damages.remove(0);
            (it.kind, it.part, it.turn)
        })
        .collect();
    let kind = |kind: &str, part: &str| (kind.to_owned(), part.to_owned(), Some("t1".to_owned()));
    assert_eq!(
        kinds,
        [
            kind("session_meta", ""),
            kind("event_msg user_message", ""),
            kind("response_item message", "user"),
            kind("response_item message", ""),
        ]
    );
}

#[test]
fn several_lines_in_a_row_are_one_damage() {
    let (home, bytes, chain) = sealed(3);
    let lines = split_lines(&bytes);
    let without = |from: usize, to: usize| [&lines[..from], &lines[to..]].concat().concat();
    assert_eq!(places(&verified(&home, &without(2, 6), &chain)), [(3, 4, DamageKind::Missing)]);
    let mut new = lines.clone();
    new.splice(4..4, [b"a\n".as_slice(), b"b\n"]);
    assert_eq!(places(&verified(&home, &new.concat(), &chain)), [(5, 2, DamageKind::New)]);
    let mut changed = lines.clone();
    (changed[4], changed[5]) = (b"a\n", b"b\n");
    assert_eq!(
        places(&verified(&home, &changed.concat(), &chain)),
        [(5, 1, DamageKind::Changed), (6, 1, DamageKind::Changed)]
    );
    assert_eq!(places(&verified(&home, b"", &chain)), [(1, lines.len() as u64, DamageKind::Missing)]);
}

#[test]
fn lines_behind_the_last_seal_are_foreign_and_no_damage() {
    let (home, bytes, chain) = sealed(1);
    let with = |more: &str| [bytes.as_slice(), more.as_bytes()].concat();
    let at = bytes.len() as u64;
    let tail =
        |n_lines, len| Foreign { line: 5, n_lines, from: at, at: at + len, is_sealed: false, is_behind_seal: true };
    assert_eq!(verified(&home, &with("x\n"), &chain).foreign, [tail(1, 2)]);
    assert_eq!(verified(&home, &with("x\ny\ntorn"), &chain).foreign, [tail(3, 8)]);
    assert_eq!(
        tail(1, 2).to_string().replace(&at.to_string(), "N"),
        "line 5 (byte N) is foreign: added by another program, or by a process that ended before it could seal its \
         lines; not sealed yet"
    );
    let sealed = Foreign { is_sealed: true, ..tail(3, 8) };
    assert_eq!(
        sealed.to_string().replace(&at.to_string(), "N"),
        "lines 5 to 7 (byte N) are foreign: added by another program, or by a process that ended before it could seal \
         its lines; sealed since, as found"
    );
}

#[test]
fn foreign_lines_that_a_later_process_sealed_are_guarded_like_any_other() {
    let recorded = Recorded::with_turns(1);
    let Recorded { home, recorder, log } = recorded;
    drop((recorder, log));
    let mut bytes = fs::read(home.path(SESSION)).unwrap();
    bytes.extend_from_slice(b"{\"one\":1}\n{\"two\":2}\n");
    home.write(SESSION, &bytes);
    let recorder = crate::recorder::Recorder::resume(RealDisk::shared(), home.path(SESSION)).unwrap();
    let log = crate::requests::log::RequestLog::new(RealDisk::shared(), home.root(), &home.path(SESSION));
    let mut recorded = Recorded { home, recorder, log };
    recorded.turn(2);
    let home = recorded.closed();
    let bytes = fs::read(home.path(SESSION)).unwrap();
    let chain = Chain::read(&home.path(RECORD)).unwrap();
    let found = verified(&home, &bytes, &chain);
    let foreign = &found.foreign[..];
    assert_eq!((foreign.len(), found.damages.len()), (1, 0));
    let Foreign { line, n_lines, is_sealed, is_behind_seal, .. } = foreign[0];
    assert_eq!((line, n_lines, is_sealed, is_behind_seal), (5, 2, true, true));
    let text = String::from_utf8(bytes).unwrap();
    let changed = verified(&home, text.replace("{\"one\":1}", "{\"one\":3}").as_bytes(), &chain);
    assert_eq!(places(&changed), [(5, 1, DamageKind::Changed)]);
    // The other foreign line is still known to be foreign.
    assert_eq!(changed.foreign.iter().map(|it| (it.line, it.n_lines)).collect::<Vec<_>>(), [(6, 1)]);
}

#[test]
fn blanked_lines_and_seals_say_nothing() {
    let (home, bytes, mut chain) = sealed(1);
    let text = String::from_utf8(bytes.clone()).unwrap();
    check(&home, text.replace("question 1", "[redacted:key]").as_bytes(), &chain, &expect!["secrets are blanked"]);
    for link in &mut chain.links {
        if let LogEntry::Sealed(sealed) = &mut link.entry {
            sealed.lines = "[redacted:value]".to_owned();
        }
    }
    assert_eq!(verified(&home, &bytes, &chain), SealVerdict::default(), "the digest still holds");
    let found = verified(&home, b"other\n", &chain);
    assert!(found.is_blanked && found.damages.is_empty(), "{found:?}");
}

#[test]
fn a_piece_whose_lines_have_equal_marks_is_named_whole() {
    let (home, bytes, mut chain) = sealed(2);
    let seals = chain.links.iter_mut().filter_map(|link| match &mut link.entry {
        LogEntry::Sealed(sealed) => Some(sealed),
        _ => None,
    });
    seals.last().unwrap().sha256 = "0".repeat(64);
    let found = verified(&home, &bytes, &chain);
    assert_eq!(places(&found), [(5, 3, DamageKind::Changed)]);
    assert_eq!(found.damages[0].turn.as_deref(), Some("t2"));
}

#[test]
fn seals_that_do_not_follow_each_other_leave_room_for_lines_in_between() {
    let (home, bytes, mut chain) = sealed(3);
    let n = chain
        .links
        .iter()
        .position(|link| matches!(&link.entry, LogEntry::Sealed(it) if it.turn.as_deref() == Some("t2")));
    chain.links.remove(n.unwrap());
    chain.n_sound -= 1;
    let found = verified(&home, &bytes, &chain);
    assert_eq!(found.damages, []);
    let shown: Vec<_> = found.foreign.iter().map(|it| (it.line, it.n_lines, it.is_sealed)).collect();
    assert_eq!(shown, [(5, 3, false)]);
    // Behind a line of the record that is not as it was, nothing is said of lines that no seal has.
    chain.broken = Some(super::super::chain::Broken::Format { line: 9, format: 9 });
    assert_eq!(verified(&home, &bytes, &chain), SealVerdict::default());
}

#[test]
fn a_record_without_seals_says_nothing_and_seals_behind_damage_are_not_believed() {
    let (home, bytes, mut chain) = sealed(2);
    let n_sound = chain.links.iter().position(|link| matches!(link.entry, LogEntry::Sealed(_))).unwrap() + 1;
    chain.n_sound = n_sound;
    let lines = split_lines(&bytes);
    let mut changed = lines.clone();
    changed[5] = b"changed\n";
    let found = verified(&home, &changed.concat(), &chain);
    assert_eq!((found.damages.len(), found.foreign.len()), (0, 1));
    chain.n_sound = 0;
    assert_eq!(verified(&home, b"anything", &chain), SealVerdict::default());
}

#[test]
fn a_session_file_that_is_gone_or_no_file_is_an_error() {
    let (home, _, chain) = sealed(1);
    let error = |path: &str| verify(home.root(), &home.path(path), &chain).unwrap_err().to_string();
    assert_eq!(error("sessions/nowhere.jsonl"), "No such file or directory (os error 2)");
    assert_eq!(error("sessions"), "Is a directory (os error 21)");
    #[cfg(target_os = "linux")]
    {
        nix::unistd::mkfifo(&home.path("sessions/pipe.jsonl"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(error("sessions/pipe.jsonl"), "it is not a regular file");
    }
}
