//! How long it takes to put a request together: the first one, and the next one of a session.
//!
//! `cargo bench -p pellucid-engine` times them; `cargo test` runs each once with small histories.
//! `cargo xtask callgrind` counts the instructions of the next request, for which this program
//! makes requests one after the other when it is called with `--requests HISTORY held` or
//! `--requests HISTORY let-go`. With `--first PACK` it loads a pack and makes first requests with it, for the same counter.

#![allow(clippy::unwrap_used, reason = "a benchmark that panics says where")]
#![expect(clippy::disallowed_methods, reason = "a benchmark is a program, it may look at its arguments")]

#[path = "../tests/it/fixture.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod fixture;

use std::hint::black_box;

use divan::Bencher;
use pellucid_engine::assemble::assemble;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Origin;
use pellucid_engine::pack::Pack;
use pellucid_engine::request::Frame;
use pellucid_engine::request::Request;
use pellucid_engine::request::WireSettings;
use pellucid_engine::transcript::Draft;
use pellucid_engine::transcript::ItemIds;
use pellucid_engine::transcript::Transcript;
use pellucid_protocol::item::Item;
use pellucid_protocol::item::ToolOutput;

/// How many requests are made for the counter of instructions.
const ROUNDS: usize = 65;

/// How many first requests are made for the counter of instructions. The first one also fills what is made once in a process.
const N_FIRST: usize = 9;

/// What the model said and a tool answered since the last request.
type News = [(Item, Origin); 2];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--requests", history, "held"] => requests(history.parse().unwrap(), Hold::Held),
        ["--requests", history, "let-go"] => requests(history.parse().unwrap(), Hold::LetGo),
        ["--first", name] => first_requests(name),
        _ => divan::main(),
    }
}

/// Histories as long as they are in a short, a long and an endless session; all small in tests.
fn histories() -> Vec<usize> {
    if std::env::args().any(|argument| argument == "--bench") { vec![10, 1_000, 100_000] } else { vec![10, 20, 30] }
}

fn wire() -> WireSettings {
    WireSettings::new(fixture::session_id())
}

fn frame() -> Frame {
    let facts = fixture::facts();
    Frame::new(fixture::pack(), &facts, &assemble(fixture::pack(), &facts).instructions, &wire())
}

/// A call and its output of a thousand bytes.
fn news() -> News {
    let arguments = r#"{"cmd":"rg -n 'fn main' src","yield_time_ms":1000}"#.to_owned();
    let call = Item::FunctionCall { id: None, name: "exec_command".to_owned(), arguments, call_id: "c".to_owned() };
    let output = ToolOutput::Text("src/main.rs:12:fn main() {\n".repeat(37));
    [
        (call, Origin::Model),
        (Item::FunctionCallOutput { call_id: "c".to_owned(), output }, Origin::Tool { name: "exec_command".into() }),
    ]
}

/// What happens to a request when it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// It is gone before the next one is made.
    LetGo,
    /// A holder keeps the request until the next one exists.
    Held,
}

/// A transcript of so many items, of which one request was made after each news.
fn transcript(n_items: usize, frame: &Frame, hold: Hold) -> Transcript {
    let mut transcript = Transcript::new(ItemIds::Hidden, fixture::model("gpt-5.2-codex").truncation_policy);
    let news = news();
    let mut before = None;
    while transcript.n_items() < n_items {
        let request = next_request(&mut transcript, frame, &news);
        before = (hold == Hold::Held).then_some(request);
    }
    drop(before);
    transcript
}

/// The step that is measured: the next request of a session.
#[inline(never)]
fn next_request(transcript: &mut Transcript, frame: &Frame, news: &News) -> Request {
    for (item, origin) in news {
        transcript.record(item, origin);
    }
    frame.request(transcript)
}

/// Makes requests one after the other.
fn requests(history: usize, hold: Hold) {
    let (frame, news) = (frame(), news());
    let mut transcript = transcript(history, &frame, hold);
    let mut before = None;
    for _ in 0..ROUNDS {
        let request = counted_request(&mut transcript, &frame, &news);
        before = (hold == Hold::Held).then_some(request);
    }
    drop(before);
}

/// [`next_request`] under a name that is not used for building the history.
#[inline(never)]
fn counted_request(transcript: &mut Transcript, frame: &Frame, news: &News) -> Request {
    next_request(black_box(transcript), frame, news)
}

/// Loads a pack and makes first requests with it, one after the other.
fn first_requests(name: &str) {
    for _ in 0..N_FIRST {
        let pack = counted_load(name);
        let facts = fixture::facts();
        drop(counted_first(&pack, &facts));
    }
}

/// A pack from its files.
#[inline(never)]
fn counted_load(name: &str) -> Pack {
    Pack::builtin(black_box(name)).unwrap()
}

/// The first request of a session, from facts to bytes.
#[inline(never)]
fn counted_first(pack: &Pack, facts: &Facts) -> Request {
    let context = assemble(pack, black_box(facts));
    let frame = Frame::new(pack, facts, &context.instructions, &wire());
    let mut transcript = Transcript::new(ItemIds::Hidden, fixture::model("gpt-5.2-codex").truncation_policy);
    for message in context.messages {
        transcript.record_draft(&Draft::from(message));
    }
    frame.request(&mut transcript)
}

/// A pack from its files, parsed and checked, as a session loads it.
#[divan::bench(args = ["codex", "openclaw", "pellucid"])]
fn load(bencher: Bencher<'_, '_>, name: &str) {
    bencher.bench(|| black_box(Pack::builtin(name).unwrap()));
}

/// The first context of a pack: texts for `codex`, templates and conditions for the others.
#[divan::bench(args = ["codex", "openclaw", "pellucid"])]
fn first_context(bencher: Bencher<'_, '_>, name: &str) {
    let (pack, facts) = (Pack::builtin(name).unwrap(), fixture::facts());
    bencher.bench(|| black_box(assemble(&pack, &facts)));
}

/// Measures facts to bytes, without an earlier request.
#[divan::bench(args = ["codex", "openclaw", "pellucid"])]
fn first_request(bencher: Bencher<'_, '_>, name: &str) {
    let (pack, facts) = (Pack::builtin(name).unwrap(), fixture::facts());
    bencher.bench(|| counted_first(&pack, &facts));
}

/// Two new items and the request that follows, after so many items.
#[divan::bench(args = histories(), sample_count = 20, sample_size = 1)]
fn request_after(bencher: Bencher<'_, '_>, history: usize) {
    let (frame, news) = (frame(), news());
    bencher
        .with_inputs(|| transcript(history, &frame, Hold::LetGo))
        .bench_local_refs(|transcript| next_request(transcript, &frame, &news));
}

/// Where the bytes of a request came from: this does grow with the history.
#[divan::bench(args = histories(), sample_count = 20, sample_size = 1)]
fn report_after(bencher: Bencher<'_, '_>, history: usize) {
    let frame = frame();
    let transcript = transcript(history, &frame, Hold::LetGo);
    bencher.bench_local(|| {
        let items = transcript.rendered();
        pellucid_engine::report::Report::new(&frame, items, Vec::new(), Vec::new())
    });
}
