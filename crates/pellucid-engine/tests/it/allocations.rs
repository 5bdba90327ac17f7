//! What the first request and a follow-up allocate: a guard against growing cost that counts, so that no machine is too busy
//! for it.
//!
//! `allocations.txt` has the figures. More than [`TOLERANCE_PERCENT`] above or below fails: above, because the cost grew;
//! below, because a gain that is not written down can be lost again unnoticed. `UPDATE_EXPECT=1` writes the file.

use std::fmt::Write;
use std::path::Path;

use allocation_counter::AllocationInfo;
use allocation_counter::measure;
use pellucid_engine::assemble::assemble;
use pellucid_engine::fragment::Origin;
use pellucid_engine::pack::Pack;
use pellucid_engine::request::Frame;
use pellucid_engine::server_input::GivenParts;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::Transcript;
use pellucid_engine::user_message::Images;
use pellucid_engine::user_message::user_message;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;

use crate::facts;
use crate::requests::wire;

/// By how much a figure may differ from the written one.
const TOLERANCE_PERCENT: u64 = 2;

/// Histories before the follow-ups that are counted.
const HISTORIES: [usize; 2] = [10, 1_000];

/// The packs of which follow-ups are counted: one with texts alone, and one that computes.
const PACKS: [&str; 2] = ["codex", "openclaw"];

/// Follow-ups of which the median is taken: now and then a buffer doubles.
const N_FOLLOW_UPS: usize = 33;

/// A figure: what it is of, how many allocations, and how many bytes.
type Figure = (String, u64, u64);

/// A session with its facts put together, as a program does before the first request.
fn begun(pack: &Pack) -> (Frame, Transcript) {
    let (facts, wire) = (facts(), wire());
    let context = assemble(pack, &facts);
    let mut transcript = Transcript::new(wire.ids, facts.settings.model.truncation_policy);
    for message in context.messages {
        transcript.record_draft(&Draft::from(message));
    }
    transcript.record_draft(&user_message(
        pack,
        &[UserInput::text("explain this")],
        &Images::new(),
        &GivenParts::default(),
    ));
    (Frame::new(pack, &facts, &context.instructions, &wire), transcript)
}

/// A call and its output, recorded, and the request that follows.
fn follow_up(frame: &Frame, transcript: &mut Transcript) {
    let arguments = r#"{"cmd":"rg -n 'fn main' src","yield_time_ms":1000}"#.to_owned();
    let call = Item::FunctionCall { id: None, name: "exec_command".to_owned(), arguments, call_id: "c".to_owned() };
    let output = ToolOutput::Text("src/main.rs:12:fn main() {\n".repeat(37));
    transcript.record(&call, &Origin::Model);
    let output = Item::FunctionCallOutput { call_id: "c".to_owned(), output };
    transcript.record(&output, &Origin::Tool { name: "exec_command".into() });
    drop(frame.request(transcript));
}

fn figures() -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut add = |name: String, info: AllocationInfo| figures.push((name, info.count_total, info.bytes_total));
    for name in ["codex", "pellucid", "openclaw"] {
        let pack = Pack::builtin(name).unwrap();
        // The first time fills what is made once in a process.
        drop(begun(&pack));
        let first = measure(|| {
            let (frame, mut transcript) = begun(&pack);
            drop(frame.request(&mut transcript));
        });
        add(format!("{name}: first request"), first);
    }
    for (name, history) in PACKS.into_iter().flat_map(|name| HISTORIES.map(|history| (name, history))) {
        let pack = Pack::builtin(name).unwrap();
        let (frame, mut transcript) = begun(&pack);
        while transcript.n_items() < history {
            follow_up(&frame, &mut transcript);
        }
        let mut each: Vec<_> = (0..N_FOLLOW_UPS).map(|_| measure(|| follow_up(&frame, &mut transcript))).collect();
        each.sort_by_key(|it| it.count_total);
        let count_total = each[N_FOLLOW_UPS / 2].count_total;
        each.sort_by_key(|it| it.bytes_total);
        let bytes_total = each[N_FOLLOW_UPS / 2].bytes_total;
        add(
            format!("{name}: follow-up after {history} items"),
            AllocationInfo { count_total, bytes_total, ..Default::default() },
        );
    }
    figures
}

fn written(figures: &[Figure]) -> String {
    figures.iter().fold(String::new(), |mut text, (name, count, bytes)| {
        let _ = writeln!(text, "{name} | {count} allocations | {bytes} bytes");
        text
    })
}

fn read(text: &str) -> Vec<Figure> {
    let figure = |line: &str| {
        let mut cells = line.split(" | ");
        let name = cells.next().unwrap().to_owned();
        let mut number = || cells.next().unwrap().split(' ').next().unwrap().parse().unwrap();
        (name, number(), number())
    };
    text.lines().map(figure).collect()
}

/// A line for each figure that differs by more than the tolerance.
fn differences(known: &[Figure], now: &[Figure]) -> String {
    let mut text = String::new();
    for (name, count, bytes) in now {
        let Some((_, count_known, bytes_known)) = known.iter().find(|it| it.0 == *name) else {
            let _ = writeln!(text, "{name}: not written down");
            continue;
        };
        for (what, now, known) in [("allocations", count, count_known), ("bytes", bytes, bytes_known)] {
            if now.abs_diff(*known) * 100 > known * TOLERANCE_PERCENT {
                let _ = writeln!(text, "{name}: {known} {what} before, {now} now");
            }
        }
    }
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the figures are a file of the test, which the engine does not read")]
fn a_request_allocates_what_it_did_before() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/allocations.txt");
    let now = figures();
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|it| it == "1") {
        std::fs::write(path, written(&now)).unwrap();
        return;
    }
    let known = read(&std::fs::read_to_string(path).unwrap());
    let names = |figures: &[Figure]| figures.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&now), names(&known), "allocations.txt has other rows; UPDATE_EXPECT=1 writes it");
    let differences = differences(&known, &now);
    assert!(differences.is_empty(), "{differences}hint: UPDATE_EXPECT=1 writes the new figures, if they are meant");
}

#[test]
fn the_history_costs_a_follow_up_nothing() {
    let now = figures();
    let of = |name: &str, history: usize| {
        let wanted = format!("{name}: follow-up after {history} items");
        now.iter().find(|it| it.0 == wanted).map(|it| (it.1, it.2)).unwrap()
    };
    for name in PACKS {
        let ((few, few_bytes), (many, many_bytes)) = (of(name, HISTORIES[0]), of(name, HISTORIES[1]));
        // A few more, because a longer history is in more chunks, of which there are at most sixteen.
        let is_same = many <= few + few / 4 && many_bytes <= few_bytes + few_bytes / 4;
        assert!(is_same, "{name}: {few} {few_bytes}, {many} {many_bytes}");
    }
    // What a pack computes is computed once.
    for history in HISTORIES {
        assert_eq!(of("openclaw", history), of("codex", history));
    }
}

#[test]
fn growth_and_gains_are_differences() {
    let known = vec![("a".to_owned(), 100, 1_000), ("b".to_owned(), 100, 1_000)];
    assert_eq!(differences(&known, &[("a".to_owned(), 102, 1_019)]), "");
    assert_eq!(
        differences(&known, &[("a".to_owned(), 103, 1_000), ("b".to_owned(), 100, 900), ("c".to_owned(), 1, 1)]),
        "a: 100 allocations before, 103 now\nb: 1000 bytes before, 900 now\nc: not written down\n"
    );
}
