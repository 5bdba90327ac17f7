//! Whatever is done to the files of a session is found by `replay` and by `sessions fsck`, and named.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_agent::fsck;
use pellucid_agent::replay::Replay;
use pellucid_agent::replay::ReplayStatus;
use pellucid_agent::replay::Verdict;
use pellucid_agent::replay::WantedRequest;
use pellucid_engine::digest::Digest;
use pellucid_engine::file_states::ChangedFile;
use pellucid_engine::fragment::Origin;
use pellucid_protocol::event::EventMessage;
use pellucid_store::name;
use pellucid_store::requests::anchors;
use pellucid_store::requests::chain;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::damage::DamageKind;
use pellucid_store::requests::entry::ChainLink;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::entry::Sealed;
use pellucid_store::requests::seal;

use crate::replays::Recorded;
use crate::replays::Step;
use crate::replays::record;
use crate::replays::record_in_own_pack;
use crate::replays::say;

/// A session with calls of tools, which another process resumes and summarises.
fn session() -> Recorded {
    record("responses", &[say("hello", 1), Step::Resume, say("again", 0), Step::Compact, say("third", 0)])
}

impl Recorded {
    fn home(&self) -> PathBuf {
        self.files.path("home")
    }

    fn name(&self) -> &str {
        self.path.file_name().unwrap().to_str().unwrap()
    }

    fn seals(&self) -> Vec<Sealed> {
        let chain = Chain::read(&self.record_path()).unwrap();
        let sealed = |link: ChainLink| match link.entry {
            LogEntry::Sealed(sealed) => Some(sealed),
            _ => None,
        };
        chain.links.into_iter().filter_map(sealed).collect()
    }

    /// What `replay` says. `sessions fsck` must come to the same.
    #[track_caller]
    fn judged(&self, label: &str) -> Replay {
        let replay = self.replay();
        let findings = fsck::check(&self.home(), name::session_id(self.name()));
        assert_eq!(fsck::status(&findings), replay.status(), "{label}: {findings:#?}\n{replay:#?}");
        for damage in &replay.damages {
            let is_told = findings.problems.iter().any(|it| it.is_serious && it.what == damage.what().to_string());
            assert!(is_told, "{label}: {damage} in {findings:#?}");
        }
        if replay.status() == ReplayStatus::Refuted {
            let n_unproved = replay.counts().2;
            assert_eq!(n_unproved, 0, "{label}: what was tampered with is not called not provable: {replay:#?}");
        }
        replay
    }
}

/// Lines with their newlines.
fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().split_inclusive('\n').map(str::to_owned).collect()
}

/// A line with another letter near this part of it, in percent.
fn flipped(line: &str, percent: usize) -> String {
    let mut bytes = line.as_bytes().to_vec();
    let place = (bytes.len() - 1) * percent / 100;
    let at = (place..bytes.len()).chain(0..place).find(|at| bytes[*at].is_ascii_alphanumeric()).unwrap();
    bytes[at] = match bytes[at] {
        b'0'..=b'8' => bytes[at] + 1,
        b'9' => b'0',
        letter => {
            if letter.eq_ignore_ascii_case(&b'x') {
                letter ^ 1
            } else {
                letter ^ 2 ^ 1
            }
        }
    };
    if !bytes[at].is_ascii_alphanumeric() {
        bytes[at] = b'x';
    }
    String::from_utf8(bytes).unwrap()
}

/// Every single thing that can be done to the lines of a file: what, the lines, the line (from one) and the change.
fn mutations(lines: &[String], new: &[&str]) -> Vec<(String, Vec<String>, usize, DamageKind)> {
    let mut mutations = Vec::new();
    for at in 0..lines.len() {
        for percent in [at * 37 % 100, (at * 37 + 50) % 100] {
            let mut copy = lines.to_vec();
            copy[at] = flipped(&lines[at], percent);
            mutations.push((format!("flip at {percent} %"), copy, at + 1, DamageKind::Changed));
        }
        // Of equal lines side by side, it does not matter which is gone.
        if lines.get(at + 1) != Some(&lines[at]) {
            let mut copy = lines.to_vec();
            copy.remove(at);
            mutations.push(("delete".to_owned(), copy, at + 1, DamageKind::Missing));
        }
        if at + 1 < lines.len() && lines[at] != lines[at + 1] {
            let mut copy = lines.to_vec();
            copy.swap(at, at + 1);
            mutations.push(("swap".to_owned(), copy, at + 1, DamageKind::Moved));
        }
        mutations.push(("cut".to_owned(), lines[..at].to_vec(), at + 1, DamageKind::Missing));
        let mut copy = lines.to_vec();
        copy.insert(at, new[at % new.len()].to_owned());
        mutations.push(("add".to_owned(), copy, at + 1, DamageKind::New));
    }
    mutations
}

/// A line that another program might add.
const EVENT: &str = "{\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"agent_message\",\"message\":\"m\"}}\n";

#[test]
fn whatever_is_done_to_a_session_file_is_found_and_named() {
    let recorded = session();
    assert_eq!(recorded.judged("as it was").status(), ReplayStatus::Proved);
    let (path, written) = (recorded.path.clone(), lines(&recorded.path));
    let mut called = Vec::new();
    for seal in recorded.seals() {
        for (at, _) in seal::lines(&seal.lines).unwrap() {
            called.push((seal.names[at].clone(), seal.turn.clone()));
        }
    }
    assert_eq!(called.len(), written.len());
    let all = mutations(&written, &[EVENT, "\n", "garbage\n"]);
    assert!(all.len() > 200, "{}", all.len());
    for (what, mutated, line, change) in all {
        let label = format!("{what}, line {line}");
        if mutated.is_empty() {
            continue;
        }
        fs::write(&path, mutated.concat()).unwrap();
        let replay = recorded.judged(&label);
        assert_eq!(replay.status(), ReplayStatus::Refuted, "{label}");
        let damage = &replay.damages[0];
        assert_eq!(damage.change, change, "{label}: {damage}");
        let found = usize::try_from(damage.line.unwrap()).unwrap();
        assert!(damage.file.ends_with(recorded.name()), "{damage}");
        // Of two lines that changed places, either was moved.
        if change == DamageKind::Moved {
            assert!(found == line || found == line + 1, "{label}: {damage}");
            continue;
        }
        assert_eq!(found, line, "{label}: {damage}");
        let byte: usize = mutated[..line - 1].iter().map(String::len).sum();
        assert_eq!(damage.byte, byte as u64, "{label}: {damage}");
        if change == DamageKind::New {
            assert_eq!(damage.kind, seal::kind(mutated[line - 1].as_bytes()), "{label}: {damage}");
            assert_eq!(replay.damages.len(), 1, "{label}");
            continue;
        }
        let (name, turn) = &called[line - 1];
        assert_eq!((&damage.kind, &damage.part, &damage.turn), (&name.kind, &name.part, turn), "{label}");
        let n_lines = if what == "cut" { written.len() - line + 1 } else { 1 };
        assert_eq!((damage.n_lines, replay.damages.len()), (n_lines as u64, 1), "{label}: {:#?}", replay.damages);
    }
    fs::write(&path, written.concat()).unwrap();
    assert_eq!(recorded.judged("as it was again").status(), ReplayStatus::Proved);
}

#[test]
fn lines_are_named_as_they_were_sent() {
    let recorded = session();
    let named = |text: &str| {
        let line = lines(&recorded.path)
            .iter()
            .position(|line| line.contains("response_item") && line.contains(text))
            .unwrap();
        let mut n = line;
        for seal in recorded.seals() {
            let lines = seal::lines(&seal.lines).unwrap();
            if n < lines.len() {
                return seal.names[lines[n].0].clone();
            }
            n -= lines.len();
        }
        panic!("{text} is not sealed")
    };
    for (text, kind, part) in [
        ("<permissions", "response_item message", "permissions"),
        ("Use tabs.", "response_item message", "user_instructions"),
        ("answer to hello", "response_item message", "model"),
        ("update_plan", "response_item function_call", "model"),
        ("\"hello\"", "response_item message", "user"),
    ] {
        let name = named(text);
        assert_eq!((name.kind.as_str(), name.part.as_str()), (kind, part), "{text}");
    }
}

#[test]
fn whatever_is_done_to_a_record_is_found_and_named() {
    let recorded = session();
    let path = recorded.record_path();
    let written = lines(&path);
    let kinds: Vec<&str> =
        written.iter().map(|line| serde_json::from_str::<ChainLink>(line).unwrap().entry.kind()).collect();
    assert_eq!((kinds[0], kinds.last()), ("opened", Some(&"sealed")));
    assert!(kinds.contains(&"call"), "{kinds:?}");
    for (what, mutated, line, change) in mutations(&written, &["\n", "garbage\n", &written[1]]) {
        let label = format!("{what}, line {line} of the record");
        fs::write(&path, mutated.concat()).unwrap();
        let replay = recorded.judged(&label);
        assert_eq!(replay.status(), ReplayStatus::Refuted, "{label}");
        let damage = replay.damages.iter().find(|it| it.file.contains("requests-")).unwrap();
        // A copy of a line in front of that line is the same as one behind it.
        let expected = if change == DamageKind::New && mutated[line - 1] == written[1] && line == 2 { 3 } else { line };
        assert_eq!((damage.line, damage.change), (Some(expected as u64), change), "{label}: {damage}");
        if change == DamageKind::Changed {
            assert!([kinds[line - 1], "unreadable"].contains(&damage.kind.as_str()), "{label}: {damage}");
        }
    }
    fs::remove_file(&path).unwrap();
    let replay = recorded.replay();
    assert_eq!(replay.damages[0].n_lines, written.len() as u64, "{replay:#?}");
    fs::write(&path, written.concat()).unwrap();
    assert_eq!(recorded.judged("as it was again").status(), ReplayStatus::Proved);
}

#[test]
fn long_texts_that_are_changed_or_removed_are_found() {
    let recorded = session();
    let folders = fs::read_dir(recorded.files.path("home/requests/parts")).unwrap();
    let texts: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(texts.len() >= 2, "{texts:?}");
    for text in texts {
        let whole = fs::read_to_string(&text).unwrap();
        for (mutated, change) in [(Some(flipped(&whole, 50)), DamageKind::Changed), (None, DamageKind::Missing)] {
            match mutated {
                Some(mutated) => fs::write(&text, mutated).unwrap(),
                None => fs::remove_file(&text).unwrap(),
            }
            let replay = recorded.judged("a long text");
            let damage = &replay.damages[0];
            assert!(text.ends_with(damage.file.rsplit('/').next().unwrap()), "{damage}");
            assert_eq!((damage.change, replay.damages.len(), replay.status()), (change, 1, ReplayStatus::Refuted));
            assert!(!damage.kind.is_empty());
        }
        fs::write(&text, whole).unwrap();
    }
    recorded.files.write("work/AGENTS.md", "Use spaces.\n");
    assert_eq!(recorded.judged("an instruction file").status(), ReplayStatus::Proved);
}

#[test]
fn the_ends_of_both_files_cannot_be_cut_together() {
    let recorded = session();
    let (session, record) = (lines(&recorded.path), lines(&recorded.record_path()));
    let second = record.iter().rposition(|line| line.contains("\"kind\":\"opened\"")).unwrap();
    let at = recorded.seals()[0].at;
    fs::write(recorded.record_path(), record[..second].concat()).unwrap();
    fs::write(&recorded.path, &session.concat()[..usize::try_from(at).unwrap()]).unwrap();
    let replay = recorded.judged("both are cut");
    assert_eq!((replay.status(), replay.damages[0].change), (ReplayStatus::Refuted, DamageKind::Missing));
    assert_eq!(replay.damages[0].line, Some(second as u64 + 1));
    // Without the file of last hashes nothing shows but that this cannot show.
    fs::remove_file(recorded.home().join(anchors::FILE)).unwrap();
    let replay = recorded.judged("the last hashes are gone");
    assert_eq!(replay.status(), ReplayStatus::Proved, "{replay:#?}");
    assert!(replay.notes[0].contains("anchors.jsonl has no hash of this session"), "{:?}", replay.notes);
    // A damaged file of last hashes is named, and proves what is left of it.
    fs::write(recorded.home().join(anchors::FILE), format!("{{\"session\":\"{}\"\n", replay.session)).unwrap();
    assert!(recorded.judged("torn").notes[0].contains("1 unreadable"));
}

#[test]
fn lines_of_another_program_are_foreign_and_sealed_by_the_next_process() {
    let recorded = record("responses", &[say("hello", 1)]);
    let before = lines(&recorded.path);
    let turn = before.iter().find(|line| line.contains("\"type\":\"turn_context\"")).unwrap();
    let turn_id = recorded.seals()[0].turn.clone().unwrap();
    let turn = turn.replace(&turn_id, "019a0000-0000-7000-8000-00000000abcd");
    let item = before.iter().rfind(|line| line.contains("response_item")).unwrap();
    let added = [EVENT, turn.as_str(), item.as_str()];
    fs::write(&recorded.path, [before.concat(), added.concat()].concat()).unwrap();
    let replay = recorded.judged("lines of another program");
    assert_eq!(replay.status(), ReplayStatus::Proved, "{replay:#?}");
    let foreign = &replay.foreign[0];
    assert_eq!((foreign.line, foreign.n_lines, foreign.is_sealed), (before.len() as u64 + 1, 3, false));
    assert!(replay.requests.iter().any(|it| matches!(it.verdict, Verdict::Foreign { .. })), "{replay:#?}");

    let recorded = recorded.go_on("and on");
    let seals = recorded.seals();
    assert_eq!(seals.iter().map(|it| it.foreign).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!((seals[1].from, seals[1].at), (seals[0].at, seals[2].from));
    let replay = recorded.judged("sealed as found");
    assert_eq!((replay.status(), replay.foreign.len(), replay.foreign[0].is_sealed), (ReplayStatus::Proved, 1, true));
    let text = fs::read_to_string(&recorded.path).unwrap();
    fs::write(&recorded.path, text.replacen("\"message\":\"m\"", "\"message\":\"n\"", 1)).unwrap();
    let replay = recorded.judged("a foreign line is changed");
    let damage = &replay.damages[0];
    assert_eq!((damage.line, damage.change), (Some(before.len() as u64 + 1), DamageKind::Changed), "{damage}");
    assert_eq!(damage.kind, "event_msg agent_message");
}

#[test]
fn a_process_that_ended_before_its_seal_is_no_damage() {
    let recorded = record("responses", &[say("hello", 1)]);
    let record = lines(&recorded.record_path());
    fs::write(recorded.record_path(), record[..record.len() - 1].concat()).unwrap();
    fs::remove_file(recorded.home().join(anchors::FILE)).unwrap();
    let text = fs::read_to_string(&recorded.path).unwrap();
    fs::write(&recorded.path, &text[..text.len() - 20]).unwrap();
    let replay = recorded.judged("no seal");
    assert_eq!((replay.status(), replay.damages.len()), (ReplayStatus::Proved, 0), "{replay:#?}");
    let recorded = recorded.go_on("again");
    assert_eq!(recorded.seals().iter().map(|it| it.foreign).collect::<Vec<_>>(), [true, false]);
    assert_eq!(recorded.judged("sealed now").status(), ReplayStatus::Proved);
}

/// The record as an earlier version wrote it: without seals, and without a file of last hashes.
fn without_seals(recorded: &Recorded) {
    let mut previous: Option<String> = None;
    let mut text = String::new();
    let links =
        lines(&recorded.record_path()).into_iter().map(|line| serde_json::from_str::<ChainLink>(&line).unwrap());
    for (n, mut link) in links.filter(|link| link.entry.kind() != "sealed").enumerate() {
        (link.n, link.previous) = (n as u64, previous.take());
        if let LogEntry::Opened(opened) = &mut link.entry {
            opened.format = 1;
        }
        let line = serde_json::to_string(&link).unwrap();
        previous = Some(chain::sha256(line.as_bytes()));
        text += &line;
        text += "\n";
    }
    fs::write(recorded.record_path(), text).unwrap();
    fs::remove_file(recorded.home().join(anchors::FILE)).unwrap();
}

#[test]
fn a_record_without_seals_means_what_it_meant_until_a_process_seals_the_file() {
    let recorded = session();
    without_seals(&recorded);
    let replay = recorded.judged("without seals");
    assert_eq!(
        (replay.status(), replay.foreign.len(), replay.notes.len()),
        (ReplayStatus::Proved, 0, 0),
        "{replay:#?}"
    );
    let text = fs::read_to_string(&recorded.path).unwrap();
    fs::write(&recorded.path, text.replacen("answer to hello", "answer to hallo", 2)).unwrap();
    assert_eq!(recorded.judged("an item is changed").status(), ReplayStatus::Refuted);
    fs::write(&recorded.path, &text).unwrap();
    let recorded = recorded.go_on("and on");
    let seals = recorded.seals();
    assert_eq!(
        seals.iter().map(|it| (it.foreign, it.from)).collect::<Vec<_>>(),
        [(true, 0), (false, text.len() as u64)]
    );
    assert_eq!(recorded.judged("sealed as found").status(), ReplayStatus::Proved);
    fs::write(&recorded.path, fs::read_to_string(&recorded.path).unwrap().replacen("token_count", "token_kount", 1))
        .unwrap();
    assert_eq!(recorded.judged("an event is changed").status(), ReplayStatus::Refuted);
}

#[test]
fn a_session_that_was_changed_and_then_continued_is_found() {
    for (what, change) in [("missing", DamageKind::Missing), ("new", DamageKind::New)] {
        let recorded = record("responses", &[say("hello", 1)]);
        let mut changed = lines(&recorded.path);
        match change {
            DamageKind::Missing => drop(changed.remove(7)),
            _ => changed.insert(7, EVENT.to_owned()),
        }
        fs::write(&recorded.path, changed.concat()).unwrap();
        let recorded = recorded.go_on("and on");
        let replay = recorded.judged(what);
        let damage = &replay.damages[0];
        assert_eq!((replay.damages.len(), damage.line, damage.change), (1, Some(8), change), "{:#?}", replay.damages);
    }
}

#[test]
fn seals_cost_what_is_new() {
    let steps = [say("hello", 1), Step::Compact, say("again", 0), Step::RollBack(1), Step::Resume, say("third", 0)];
    let recorded = record("responses", &steps);
    let seals = recorded.seals();
    let written = lines(&recorded.path);
    // Every byte is in one piece, so it was hashed once; no piece begins before the one before ends.
    let mut at = 0;
    for seal in &seals {
        assert_eq!(seal.from, at);
        at = seal.at;
    }
    assert_eq!(at, fs::metadata(&recorded.path).unwrap().len());
    assert!(seals.len() >= 5, "one for each turn, the summary and the roll-back: {}", seals.len());
    let n_chars: usize = seals.iter().map(|seal| seal.lines.len()).sum();
    assert_eq!(n_chars, 7 * written.len());
    let hashes: Vec<Option<&String>> = seals.iter().map(|seal| seal.before.as_ref()).collect();
    assert!(hashes[0].is_none() && hashes[1..].iter().all(Option::is_some));
}

#[test]
fn changed_files_of_instructions_and_of_the_pack_refute_nothing_and_are_named_with_both_hashes() {
    check_changed_files(&[say("hello", 1), Step::Resume, say("again", 0)], true);
    // A summary without a history is restored with the context of now, so the model is given the new text.
    check_changed_files(&[say("hello", 1), Step::Resume, say("again", 0), Step::Compact, say("third", 0)], false);
}

#[track_caller]
fn check_changed_files(steps: &[Step], keeps_old_text: bool) {
    let recorded = record_in_own_pack("responses", steps);
    let texts = |changed: &[ChangedFile]| changed.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(texts(&recorded.next_report().changed_files), [""; 0], "nothing changed yet");

    let sha256 = |text: &str| Digest::of([text.as_bytes()]);
    let path = |name: &str| recorded.files.path(name).canonicalize().unwrap().display().to_string();
    recorded.files.write("work/AGENTS.md", "Use spaces.\n");
    recorded.files.write("home/AGENTS.md", "Be brief.\n");
    recorded.files.write("home/packs/mine/tools/update_plan.md", "Plan well.\n");
    let changed = |name: &str, old: &str, new: &str| {
        format!("{} changed since the last request, sha256 {} -> {}", path(name), sha256(old), sha256(new))
    };
    let new =
        format!("{} is new since the last request, sha256 none -> {}", path("home/AGENTS.md"), sha256("Be brief.\n"));
    let expected = [
        new,
        changed("work/AGENTS.md", "Use tabs.\n", "Use spaces.\n"),
        changed("home/packs/mine/tools/update_plan.md", "Say what is next.\n", "Plan well.\n"),
    ];
    assert_eq!(recorded.judged("files that are not the session's").status(), ReplayStatus::Proved);
    let next = recorded.next_report();
    assert_eq!(texts(&next.changed_files), expected);
    let told = next.rows.iter().filter_map(|row| match &row.origin {
        Origin::File { path: file, .. } if **file == path("work/AGENTS.md") => file.sha256(),
        _ => None,
    });
    let told: Vec<&Digest> = told.collect();
    assert_eq!(told.contains(&&sha256("Use tabs.\n")), keeps_old_text, "rows say which texts the model is given");
    assert_eq!(told.last(), Some(&&sha256("Use spaces.\n")));
    assert!(next.rows.iter().all(|row| row.origin.kind() != "session"), "{:#?}", next.rows);

    let heard = recorded.go_on_for_events("fourth").into_iter().filter_map(|event| match event {
        EventMessage::ContextFileChanged { message } => Some(message),
        _ => None,
    });
    assert_eq!(heard.collect::<Vec<_>>(), expected);
    let rebuilt = recorded.rebuild(WantedRequest::Last).unwrap();
    assert_eq!(texts(&rebuilt.report.changed_files), expected, "the record says it too");
    assert_eq!(texts(&recorded.next_report().changed_files), [""; 0], "it is said once");
    let before = recorded.rebuild(WantedRequest::Number(rebuilt.number - 1)).unwrap();
    assert_eq!(texts(&before.report.changed_files), [""; 0]);

    let gone = path("work/AGENTS.md");
    fs::remove_file(recorded.files.path("work/AGENTS.md")).unwrap();
    assert_eq!(
        texts(&recorded.next_report().changed_files),
        [format!("{gone} is no longer read, sha256 {} -> none", sha256("Use spaces.\n"))]
    );
    assert_eq!(recorded.judged("a file that is gone").status(), ReplayStatus::Proved);
}
