//! Sessions that are recorded, go on, are copied, and are rebuilt request by request.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use pellucid_agent::fork::MessageOffsets;
use pellucid_agent::replay;
use pellucid_agent::replay::RebuildError;
use pellucid_agent::replay::RebuiltRequest;
use pellucid_agent::replay::Replay;
use pellucid_agent::replay::ReplayStatus;
use pellucid_agent::replay::Verdict;
use pellucid_agent::replay::WantedRequest;
use pellucid_agent::session::Beginning;
use pellucid_agent::session::Session;
use pellucid_engine::pack::Pack;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_files::RealDisk;
use pellucid_model::Model;
use pellucid_model::Transport;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::operation::Operation;
use pellucid_protocol::operation::SettingsChange;
use pellucid_protocol::usage::UsageSplit;
use pellucid_store::name;
use pellucid_store::read;
use pellucid_store::recorder::Recorder;
use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use pellucid_testkit::Workspace;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use crate::run;
use crate::run_for_events;
use crate::setup;

/// What is done with a session.
#[derive(Debug, Clone)]
pub enum Step {
    /// The person says something; the model calls a tool so often before it answers.
    Say { text: String, n_calls: usize },
    /// The history is summarised.
    Compact,
    /// Turns are taken back.
    RollBack(usize),
    /// Another model takes over.
    Switch(&'static str),
    /// The process ends, and another goes on.
    Resume,
    /// A copy of the session with all but so many messages goes on.
    Fork(usize),
}

/// What a recorded session left behind.
pub struct Recorded {
    pub files: Workspace,
    pub path: PathBuf,
    /// The inputs of all requests, with the number of the step that sent them.
    inputs: Vec<(usize, Vec<u8>)>,
    /// The bodies of all requests, in order.
    bodies: Vec<Vec<u8>>,
    /// What the sending process said of the last request of a turn, with its number from zero.
    rows: Vec<(usize, Vec<Row>)>,
    /// What its configuration says besides the provider.
    settings: String,
}

fn message(wire: &str, text: &str) -> MockReply {
    reply(
        wire,
        [json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })],
    )
}

fn call(wire: &str, id: usize) -> MockReply {
    let arguments = "{\"plan\":[{\"step\":\"a \\\"b\\\"\",\"status\":\"completed\"}]}";
    let think = json!({
        "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Hm." }], "encrypted_content": "gAAA",
    });
    let call =
        json!({ "type": "function_call", "name": "update_plan", "arguments": arguments, "call_id": format!("c{id}") });
    reply(wire, [think, call])
}

fn reply(wire: &str, items: impl IntoIterator<Item = Value>) -> MockReply {
    match wire {
        "chat" => MockReply::chat(items),
        "messages" => MockReply::messages(items),
        _ => MockReply::items(items),
    }
}

fn replies(wire: &str, steps: &[Step]) -> Vec<MockReply> {
    let mut replies = Vec::new();
    for step in steps {
        match step {
            Step::Say { n_calls, text } => {
                let first = replies.len();
                replies.extend((0..*n_calls).map(|n| call(wire, first + n)));
                replies.push(message(wire, &format!("answer to {text}")));
            }
            Step::Compact => replies.push(message(wire, "the story so far")),
            Step::RollBack(_) | Step::Switch(_) | Step::Resume | Step::Fork(_) => {}
        }
    }
    replies
}

/// The list of items of a body, as bytes.
fn input(wire: &str, body: &[u8]) -> Vec<u8> {
    let (start, end) = match wire {
        "chat" => ("\"messages\":[", "],\"stream\":true"),
        "messages" => ("\"messages\":[", ",\"cache_control\""),
        _ => ("\"input\":[", "],\"tools\":["),
    };
    let text = std::str::from_utf8(body).unwrap();
    let text = &text[text.find(start).unwrap() + start.len()..];
    let end = text.rfind(end).unwrap_or(text.len());
    text.as_bytes()[..end].to_vec()
}

pub fn record(wire: &str, steps: &[Step]) -> Recorded {
    record_with("", replies(wire, steps), wire, steps)
}

/// The same with a pack on disk, which says something else of a tool.
pub fn record_in_own_pack(wire: &str, steps: &[Step]) -> Recorded {
    record_with("pack = \"mine\"", replies(wire, steps), wire, steps)
}

fn record_with(settings: &str, replies: Vec<MockReply>, wire: &str, steps: &[Step]) -> Recorded {
    let files = Workspace::new(
        "//- home/own.md\nOwn words.\n//- work/AGENTS.md\nUse tabs.\n//- home/packs/mine/tools/update_plan.md\nSay what is next.\n",
    );
    let server = MockServer::start(replies);
    let config = format!(
        "{settings}\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{}\"\nwire_api = \"{wire}\"\nstream_max_retries = 0\nrequest_max_retries = 0\n",
        server.base_url()
    );
    files.write("home/config.toml", config);
    let make = || setup(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    let place = |id: &SessionId| files.path(format!("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{id}.jsonl"));
    let first = make();
    let mut path = place(&first.session_id);
    let mut session =
        Session::open(first, Recorder::new(RealDisk::shared(), path.clone()), Beginning::Nothing).unwrap();
    let mut inputs = Vec::new();
    let mut bodies = Vec::new();
    let mut rows = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        let n_before = server.requests().len();
        let operation = match step {
            Step::Say { text, .. } => {
                Operation::UserInput { items: vec![UserInput::text(text.clone())], final_output_json_schema: None }
            }
            Step::Compact => Operation::Compact,
            Step::RollBack(num_turns) => Operation::ThreadRollback { num_turns: *num_turns },
            Step::Switch(model) => Operation::OverrideTurnContext(SettingsChange {
                model: Some((*model).to_owned()),
                ..Default::default()
            }),
            Step::Resume | Step::Fork(_) if !path.exists() => continue,
            Step::Resume => {
                drop(session);
                let file = read::open(&path).unwrap();
                let mut next = make();
                next.session_id = SessionId::new(file.meta.id.as_str());
                session = Session::open(
                    next,
                    Recorder::resume(RealDisk::shared(), path.clone()).unwrap(),
                    Beginning::Resumed(&file),
                )
                .unwrap();
                continue;
            }
            Step::Fork(n_less) => {
                drop(session);
                let file = read::open(&path).unwrap();
                let places = MessageOffsets::read(&file).unwrap();
                let upto = places.keeping(places.messages.len().saturating_sub(*n_less)).unwrap();
                let next = make();
                path = place(&next.session_id);
                session = Session::open(
                    next,
                    Recorder::new(RealDisk::shared(), path.clone()),
                    Beginning::Forked(&file, upto),
                )
                .unwrap();
                continue;
            }
        };
        session = run(session, vec![operation]).0;
        assert!(session.take_failures().is_empty());
        let new = &server.requests()[n_before..];
        inputs.extend(new.iter().map(|request| (n, input(wire, &request.body))));
        bodies.extend(new.iter().map(|request| request.body.clone()));
        // A turn that does not fit ends behind a request for its memory, and says nothing of that one.
        let last = bodies.last().map(|body: &Vec<u8>| body.len());
        if let (Step::Say { .. }, Some(report)) = (step, session.report().filter(|it| Some(it.bytes()) == last)) {
            rows.push((bodies.len() - 1, report.rows));
        }
    }
    drop(session);
    Recorded { files, path, inputs, bodies, rows, settings: settings.to_owned() }
}

impl Recorded {
    pub fn record_path(&self) -> PathBuf {
        let name = self.path.file_name().unwrap().to_str().unwrap();
        name::requests_path(&self.files.path("home"), name).unwrap()
    }

    /// Another process resumes the session.
    pub fn go_on(self, text: &str) -> Self {
        self.go_on_for_events(text);
        self
    }

    /// The same for the events of that process.
    pub fn go_on_for_events(&self, text: &str) -> Vec<EventMessage> {
        let server = MockServer::start(vec![message("responses", "and on")]);
        crate::configure(&self.files, &self.settings, &server);
        let session = self.resumed(Recorder::resume(RealDisk::shared(), self.path.clone()).unwrap());
        let say =
            Operation::UserInput { items: vec![UserInput::text(text.to_owned())], final_output_json_schema: None };
        run_for_events(session, vec![say]).1
    }

    fn resumed(&self, recorder: Recorder) -> Session {
        let mut next = setup(&self.files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
        let file = read::open(&self.path).unwrap();
        next.session_id = SessionId::new(file.meta.id.as_str());
        Session::open(next, recorder, Beginning::Resumed(&file)).unwrap()
    }

    /// The report of what the session would send next.
    pub fn next_report(&self) -> Report {
        let next = self.resumed(Recorder::none()).next_request(&[UserInput::text("next".to_owned())], None);
        next.unwrap().report
    }

    pub fn replay(&self) -> Replay {
        replay::replay(&self.files.path("home"), &read::open_damaged(&self.path).unwrap(), None).unwrap()
    }

    pub fn rebuild(&self, wanted: WantedRequest) -> Result<RebuiltRequest, RebuildError> {
        replay::rebuild(&self.files.path("home"), &read::open(&self.path).unwrap(), wanted)
    }
}

pub fn say(text: &str, n_calls: usize) -> Step {
    Step::Say { text: text.to_owned(), n_calls }
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => ("[a-zé\"\\\\\n]{1,12}", 0_usize..3).prop_map(|(text, n_calls)| Step::Say { text, n_calls }),
        1 => Just(Step::Compact),
        1 => (1_usize..3).prop_map(Step::RollBack),
        1 => prop_oneof![Just("gpt-5.1"), Just("gpt-5.2-codex")].prop_map(Step::Switch),
        2 => Just(Step::Resume),
        1 => (0_usize..2).prop_map(Step::Fork),
    ]
}

/// The item that says this in a request.
fn says(text: &str, input: &[u8]) -> bool {
    let text = serde_json::to_string(text).unwrap();
    input.windows(text.len()).any(|window| window == text.as_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_request_of_a_recorded_session_can_be_proved(
        steps in prop::collection::vec(any_step(), 1..9),
        wire in prop_oneof![3 => Just("responses"), 1 => Just("chat"), 1 => Just("messages")],
    ) {
        let mut steps = steps;
        steps.insert(0, say("hello", 1));
        let recorded = record(wire, &steps);
        let replay = recorded.replay();
        let n_forks = steps.iter().any(|step| matches!(step, Step::Fork(_)));
        for outcome in &replay.requests {
            let is_copied = n_forks && matches!(&outcome.verdict, Verdict::EqualInParent { .. });
            prop_assert!(outcome.verdict == Verdict::Equal || is_copied, "{:?} of {:?}", outcome, steps);
        }
        prop_assert_eq!((&replay.broken, &replay.torn), (&None, &Vec::new()));
        // What was sent stays as it is until something takes its place. Another model is shown items as it can see them.
        for pair in recorded.inputs.windows(2) {
            let [(from, earlier), (to, later)] = pair else { continue };
            let between = &steps[*from..=*to];
            let stays = between.iter().all(|step| matches!(step, Step::Say { .. } | Step::Resume));
            prop_assert!(!stays || later.starts_with(earlier), "{:?}", steps);
        }
        prop_assert!(is_proved(&replay));
        let n_requests = replay.requests.len();
        // A copy that was cut before anything was sent has no last request.
        if n_requests > 0 {
            let last = recorded.rebuild(WantedRequest::Last).unwrap();
            prop_assert_eq!((last.number, last.of), (n_requests, n_requests));
        }
        prop_assert!(n_forks || replay.requests.len() == recorded.inputs.len());
        for n in 1..=n_requests {
            let body = recorded.rebuild(WantedRequest::Number(n)).unwrap().body;
            prop_assert!(recorded.bodies.contains(&body), "request {} of {:?}", n, steps);
        }
        if !n_forks {
            for (n, body) in recorded.bodies.iter().enumerate() {
                let rebuilt = recorded.rebuild(WantedRequest::Number(n + 1)).unwrap();
                prop_assert!(rebuilt.body == *body, "request {} of {:?}", n + 1, steps);
                prop_assert_eq!(rebuilt.report.bytes(), body.len());
                for (_, rows) in recorded.rows.iter().filter(|(it, _)| *it == n) {
                    check_rows(rows, &rebuilt.report.rows, &format!("request {} of {steps:?}", n + 1));
                }
            }
        }
    }

    #[test]
    fn a_session_that_goes_on_unchanged_extends_its_last_request(
        before in prop::collection::vec(any_step(), 0..6),
        last in "[a-z]{1,8}",
        wire in prop_oneof![3 => Just("responses"), 1 => Just("chat"), 1 => Just("messages")],
    ) {
        // Another model would be told of the change, and cut differently.
        let mut steps: Vec<Step> = before.into_iter().filter(|step| !matches!(step, Step::Switch(_))).collect();
        steps.extend([say(&last, 1), Step::Resume, say("and on", 0)]);
        let recorded = record(wire, &steps);
        let inputs: Vec<&Vec<u8>> = recorded.inputs.iter().map(|(_, input)| input).collect();
        let [.., earlier, later] = &inputs[..] else { panic!("there are several requests") };
        prop_assert!(says(&last, earlier) && says("and on", later));
        prop_assert!(
            later.starts_with(earlier),
            "{:?}: {:?}", steps, earlier.iter().zip(later.iter()).position(|(a, b)| a != b)
        );
    }
}

#[test]
fn a_request_is_rebuilt_by_its_number() {
    let recorded = record("messages", &[say("hello", 1), Step::Compact, say("again", 0)]);
    let last = recorded.rebuild(WantedRequest::Last).unwrap();
    assert_eq!((last.number, last.of, &last.body), (4, 4, &recorded.bodies[3]));
    let error = |wanted| recorded.rebuild(wanted).unwrap_err().to_string();
    assert_eq!(error(WantedRequest::Number(5)), "there is no request 5: the session has 4, from 1 on");
    assert_eq!(error(WantedRequest::Number(0)), "there is no request 0: the session has 4, from 1 on");
    let text = fs::read_to_string(&recorded.path).unwrap();
    fs::write(&recorded.path, text.replacen("a \\\\\\\"b", "a \\\\\\\"c", 1)).unwrap();
    assert!(recorded.rebuild(WantedRequest::Number(1)).is_ok(), "what was before the change is as it was");
    let error = error(WantedRequest::Number(2));
    assert!(error.starts_with("request 2 comes out differently at byte "), "{error}");
}

/// Checks that rows are those of the process that sent the request, and that none has lost its origin.
#[track_caller]
fn check_rows(sent: &[Row], rebuilt: &[Row], what: &str) {
    for (sent, rebuilt) in sent.iter().zip(rebuilt) {
        assert_eq!(sent, rebuilt, "{what}");
        assert_ne!(sent.origin.kind(), "session", "{what}: {sent:?}");
    }
    assert_eq!(sent.len(), rebuilt.len(), "{what}");
}

/// Checks that all that a server was sent is in the replay, in any order, and comes out of it to the byte.
#[track_caller]
fn check_all(recorded: &Recorded, what: &str) -> Replay {
    let replay = recorded.replay();
    assert!(is_proved(&replay), "{what}: {replay:#?}");
    assert!(!recorded.rows.is_empty(), "{what}");
    assert_eq!(replay.requests.len(), recorded.bodies.len(), "{what}: {replay:#?}");
    let mut rebuilt: Vec<Vec<u8>> = (1..=recorded.bodies.len())
        .map(|n| {
            let rebuilt = recorded.rebuild(WantedRequest::Number(n)).unwrap();
            assert_eq!(rebuilt.report.bytes(), rebuilt.body.len(), "{what}: the rows cover request {n}");
            rebuilt.body
        })
        .collect();
    let mut sent = recorded.bodies.clone();
    for (n, rows) in &recorded.rows {
        let of = rebuilt.iter().position(|body| *body == recorded.bodies[*n]).unwrap();
        let report = recorded.rebuild(WantedRequest::Number(of + 1)).unwrap().report;
        check_rows(rows, &report.rows, &format!("{what}, request {}", of + 1));
    }
    rebuilt.sort();
    sent.sort();
    assert!(rebuilt == sent, "{what}");
    replay
}

#[test]
fn sessions_of_every_pack_replay_on_every_wire() {
    let steps =
        [say("one", 1), say("two", 0), Step::Resume, say("three", 1), Step::Compact, say("four", 0), Step::RollBack(1)];
    let steps: Vec<Step> = steps.into_iter().chain([say("five", 1)]).collect();
    assert!(Pack::builtin_names().len() >= 5);
    for pack in Pack::builtin_names() {
        for wire in ["responses", "chat", "messages"] {
            let recorded = record_with(&format!("pack = \"{pack}\""), replies(wire, &steps), wire, &steps);
            check_all(&recorded, &format!("{pack} on {wire}"));
        }
    }
}

#[test]
fn requests_for_the_summaries_of_windows_and_memories_replay() {
    let long = |n: usize| say(&format!("message {n}: {}", "word ".repeat(800)), 0);
    let steps: Vec<Step> = (1..5).map(long).chain([Step::Resume]).chain((5..8).map(long)).collect();
    for (pack, window, expected) in [("agentcore", 5_200, "summary"), ("risuai", 6_000, "summary for the memory")] {
        for wire in ["responses", "chat", "messages"] {
            let replies = (0..40).map(|n| message(wire, &format!("answer {n}"))).collect();
            let settings = format!("pack = \"{pack}\"\nmodel_context_window = {window}");
            let replay = check_all(&record_with(&settings, replies, wire, &steps), &format!("{pack} on {wire}"));
            assert!(replay.requests.iter().any(|it| it.purpose == expected), "{pack} on {wire}: {replay:#?}");
        }
    }
}

#[test]
fn the_requests_before_a_copy_are_proved_in_the_record_of_its_parent() {
    let steps = [say("one", 1), say("two", 0), Step::Fork(1), say("three", 0), Step::Fork(0), say("four", 0)];
    let recorded = record("responses", &steps);
    let replay = recorded.replay();
    assert!(is_proved(&replay), "{replay:?}");
    let numbers: Vec<usize> = replay
        .requests
        .iter()
        .filter_map(|it| match &it.verdict {
            Verdict::EqualInParent { number, .. } => Some(*number),
            _ => None,
        })
        .collect();
    assert_eq!((replay.requests.len(), numbers), (4, vec![1, 2, 3]));
    let bodies: Vec<&Vec<u8>> = [0, 1, 3, 4].map(|n: usize| &recorded.bodies[n]).to_vec();
    for (n, body) in bodies.into_iter().enumerate() {
        assert_eq!(recorded.rebuild(WantedRequest::Number(n + 1)).unwrap().body, *body, "request {}", n + 1);
    }
    let Verdict::EqualInParent { parent, .. } = &replay.requests[2].verdict else { panic!("{replay:?}") };
    let gone = pellucid_store::find::by_id(&recorded.files.path("home"), parent).unwrap();
    fs::remove_file(gone).unwrap();
    let replay = recorded.replay();
    assert_eq!(replay.counts(), (1, 0, 3), "{replay:?}");
}

fn is_proved(replay: &Replay) -> bool {
    replay.status() == ReplayStatus::Proved
}

fn is_refuted(replay: &Replay) -> bool {
    replay.status() == ReplayStatus::Refuted
}

/// The causes of breaks in the record, each with the number of its request.
fn breaks(replay: &Replay) -> Vec<(usize, &str)> {
    let requests = replay.requests.iter().enumerate();
    requests.filter_map(|(n, it)| Some((n, it.cache_break.as_ref()?.cause.as_str()))).collect()
}

#[test]
fn a_break_of_the_cache_is_kept_with_its_cause() {
    let steps = [
        say("one", 0),
        say("two", 1),
        Step::Switch("gpt-5.1"),
        say("three", 0),
        Step::RollBack(1),
        say("four", 0),
        Step::Compact,
        say("five", 0),
        Step::Resume,
        say("six", 0),
        Step::Resume,
        Step::Switch("gpt-5.1"),
        say("seven", 0),
    ];
    let replay = record("responses", &steps).replay();
    assert!(is_proved(&replay), "{replay:?}");
    // What a roll-back leaves is still the beginning of what was sent; a request for a summary offers no tools.
    let expected = [(3, "model"), (5, "tools"), (6, "compaction"), (7, "model"), (8, "model")];
    assert_eq!(breaks(&replay), expected);
    let first = replay.requests[3].cache_break.as_ref().unwrap();
    assert!(first.first_byte < 20 && first.span.0 <= first.first_byte && first.tokens_rebilled > 1_000, "{first:?}");
}

#[test]
fn a_session_that_goes_on_with_other_tools_says_what_that_costs() {
    let files = Workspace::empty();
    let server = MockServer::start(["a", "b", "c"].map(|text| message("messages", text)).to_vec());
    let mut path = None;
    let mut told = Vec::new();
    for features in ["", "", "web_search = \"disabled\"\nfeatures.shell_tool = false"] {
        crate::configure(&files, features, &server);
        let text =
            files.read("home/config.toml").replace("name = \"Mock\"", "name = \"Mock\"\nwire_api = \"messages\"");
        files.write("home/config.toml", text);
        let mut next = setup(&files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
        let session = match &path {
            None => {
                let place = files
                    .path(format!("home/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{}.jsonl", next.session_id));
                path = Some(place.clone());
                Session::open(next, Recorder::new(RealDisk::shared(), place), Beginning::Nothing).unwrap()
            }
            Some(path) => {
                let file = read::open(path).unwrap();
                next.session_id = SessionId::new(file.meta.id.as_str());
                Session::open(
                    next,
                    Recorder::resume(RealDisk::shared(), path.clone()).unwrap(),
                    Beginning::Resumed(&file),
                )
                .unwrap()
            }
        };
        let say =
            Operation::UserInput { items: vec![UserInput::text("go".to_owned())], final_output_json_schema: None };
        let (_, events) = run_for_events(session, vec![say]);
        told.push(events.into_iter().find_map(|event| match event {
            EventMessage::ContextResumeCost(broken) => Some((broken.cause, broken.tokens_rebilled > 1_000)),
            _ => None,
        }));
    }
    assert_eq!(told, [None, None, Some(("tools".to_owned(), true))]);
}

#[test]
fn the_record_tells_what_went_into_the_cache_where_the_wire_does() {
    let usage = |wire: &str| {
        let recorded = record(wire, &[say("one", 1), Step::Resume, say("two", 0)]);
        let name = recorded.path.file_name().unwrap().to_str().unwrap();
        let path = name::requests_path(&recorded.files.path("home"), name).unwrap();
        Chain::read(&path).unwrap().usage()
    };
    assert_eq!(usage("messages"), UsageSplit { cached_read: 180, cache_write: Some(30), uncached: 90, output: 30 });
    assert_eq!(usage("chat"), UsageSplit { cached_read: 180, cache_write: None, uncached: 120, output: 30 });
}

#[test]
fn what_was_changed_is_found_with_its_place() {
    let recorded = record("responses", &[say("hello", 1), say("again", 0)]);
    assert!(is_proved(&recorded.replay()));
    let text = fs::read_to_string(&recorded.path).unwrap();
    let tampered = text.replacen("answer to hello", "answer to hallo", 2);
    fs::write(&recorded.path, tampered).unwrap();
    let replay = recorded.replay();
    assert_eq!(replay.counts(), (2, 1, 0));
    let Verdict::Differs(difference) = &replay.requests[2].verdict else { panic!("{replay:?}") };
    assert_eq!((difference.item, difference.part.as_str()), (Some(7), "model (assistant message)"));
    assert_eq!(difference.what, "as many bytes, but others");
    let whole = replay.requests[2].bytes.unwrap();
    let chain = Chain::read(&recorded.record_path()).unwrap();
    let ends: Vec<u64> = chain
        .links
        .iter()
        .filter_map(|link| match &link.entry {
            LogEntry::Request(request) => request.marks.last().map(|(_, end, _)| *end),
            _ => None,
        })
        .collect();
    assert_eq!(difference.byte, ends[1], "item 7 begins where the items of the request before end");
    assert!(difference.byte < whole, "{difference:?}");
    assert!(is_refuted(&replay) && !is_proved(&replay));

    fs::write(&recorded.path, text.replacen("answer to hello", "answer to hello you", 2)).unwrap();
    let replay = recorded.replay();
    assert!(
        matches!(&replay.requests[2].verdict, Verdict::Altered { what } if what.contains("was changed")),
        "a line of another length moves everything behind it: {replay:?}"
    );
}

#[test]
fn a_changed_part_is_found_and_a_blanked_one_is_not_provable() {
    let recorded = record("responses", &[say("hello", 0)]);
    let parts = recorded.files.path("home/requests/parts");
    let files: Vec<PathBuf> = fs::read_dir(parts)
        .unwrap()
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    let tools = files.iter().find(|path| fs::read_to_string(path).unwrap().starts_with("\"tools\"")).unwrap();
    let text = fs::read_to_string(tools).unwrap();
    fs::write(tools, text.replacen("update_plan", "update_plot", 1)).unwrap();
    let replay = recorded.replay();
    let Verdict::Differs(difference) = &replay.requests[0].verdict else { panic!("{replay:?}") };
    assert_eq!(difference.part, "tools");
    fs::write(tools, text.replacen("update_plan", "[redacted:key]", 1)).unwrap();
    let replay = recorded.replay();
    assert!(matches!(&replay.requests[0].verdict, Verdict::NotProvable { why } if why.contains("was redacted")));
    assert!(!is_refuted(&replay) && !is_proved(&replay));
}

#[test]
fn a_session_without_a_record_is_not_provable() {
    let recorded = record("responses", &[say("hello", 1)]);
    fs::remove_dir_all(recorded.files.path("home/requests")).unwrap();
    let gone = recorded.replay();
    assert!(is_refuted(&gone) && gone.counts() == (0, 2, 0), "the last hashes know of a record: {gone:?}");
    fs::remove_file(recorded.files.path("home/anchors.jsonl")).unwrap();
    let replay = recorded.replay();
    assert_eq!(replay.counts(), (0, 0, 2));
    let Verdict::NotProvable { why } = &replay.requests[1].verdict else { panic!("{replay:?}") };
    assert!(why.starts_with("no record of it; the file gives 7 items of "), "{why}");
    assert_eq!(replay.anchor, None);
}

#[test]
fn an_anchor_shows_that_the_end_is_missing() {
    let recorded = record("responses", &[say("hello", 0), say("again", 0)]);
    let home = recorded.files.path("home");
    let file = read::open(&recorded.path).unwrap();
    let anchor = recorded.replay().anchor.unwrap();
    replay::replay(&home, &file, Some(&anchor)).unwrap();
    let record = name::requests_path(&home, recorded.path.file_name().unwrap().to_str().unwrap()).unwrap();
    let text = fs::read_to_string(&record).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&record, format!("{}\n", lines[..lines.len() - 1].join("\n"))).unwrap();
    let error = replay::replay(&home, &file, Some(&anchor)).unwrap_err().to_string();
    assert!(error.contains("the end of the record is missing"), "{error}");
    fs::write(&record, text.replacen("\"items\":4", "\"items\":5", 1)).unwrap();
    let broken = recorded.replay();
    assert!(is_refuted(&broken), "{broken:?}");
}

#[test]
fn a_copy_of_a_session_with_lost_origins_keeps_those_that_are_known() {
    let recorded = record("responses", &[say("one", 1)]);
    // Another program adds a message, and this one continues behind it.
    let mut text = fs::read_to_string(&recorded.path).unwrap();
    let foreign =
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "foreign" }] });
    text += &(json!({ "timestamp": "2026-01-02T03:04:05.000Z", "type": "response_item", "payload": foreign })
        .to_string()
        + "\n");
    fs::write(&recorded.path, text).unwrap();
    let recorded = recorded.go_on("two");
    let origins = |report: &Report| -> Vec<String> {
        let told = report.rows.iter().filter(|row| row.item.is_some());
        told.map(|row| format!("{} {}", row.part, row.origin.kind())).collect()
    };
    let parent = origins(&recorded.next_report());
    assert_eq!(parent.iter().filter(|it| it.ends_with(" session")).count(), 1, "{parent:#?}");

    let file = read::open(&recorded.path).unwrap();
    let next = setup(&recorded.files, |provider| Model::http(Transport::default(), provider, None, &|_| None));
    let path = recorded.path.with_file_name(format!("rollout-2026-01-02T03-04-05-{}.jsonl", next.session_id));
    let end = MessageOffsets::read(&file).unwrap().end;
    drop(Session::open(next, Recorder::new(RealDisk::shared(), path.clone()), Beginning::Forked(&file, end)).unwrap());
    let copy = Recorded { path, ..recorded };
    let of_copy = origins(&copy.next_report());
    assert_eq!(of_copy[..parent.len() - 3], parent[..parent.len() - 3], "{of_copy:#?}");
    assert_eq!(of_copy.iter().filter(|it| it.ends_with(" session")).count(), 1, "{of_copy:#?}");
}

#[test]
fn a_copy_that_sent_nothing_says_where_its_instructions_were_given() {
    let settings = "model_instructions_file = \"own.md\"";
    let recorded =
        record_with(settings, replies("responses", &[say("one", 0)]), "responses", &[say("one", 0), Step::Fork(0)]);
    let config = recorded.files.read("home/config.toml").replace(settings, "");
    recorded.files.write("home/config.toml", config);
    let report = recorded.next_report();
    let base = report.rows.iter().find(|row| *row.part == *"base" && row.origin.kind() == "provided");
    let place = base.map(|row| row.origin.detail().to_owned()).unwrap_or_default();
    assert!(place.ends_with("home/own.md"), "{place:?} in {:#?}", report.rows);
}

#[test]
fn a_turn_without_a_key_sent_nothing_and_leaves_nothing_to_prove() {
    let recorded = record("responses", &[say("one", 0)]);
    let keyless = recorded
        .files
        .read("home/config.toml")
        .replace("name = \"Mock\"", "name = \"Mock\"\nenv_key = \"NO_SUCH_KEY\"");
    recorded.files.write("home/config.toml", keyless);
    let session = recorded.resumed(Recorder::resume(RealDisk::shared(), recorded.path.clone()).unwrap());
    let say = Operation::UserInput { items: vec![UserInput::text("two".to_owned())], final_output_json_schema: None };
    let (_, events) = run(session, vec![say]);
    assert!(events.iter().any(|event| event.contains("NO_SUCH_KEY")), "{events:?}");
    let text = fs::read_to_string(&recorded.path).unwrap();
    assert_eq!(text.matches("\"type\":\"turn_context\"").count(), 2, "the turn is in the file: {text}");
    let replay = recorded.replay();
    assert_eq!((replay.requests.len(), is_proved(&replay)), (1, true), "{replay:#?}");
}

#[test]
fn a_hundred_resumes_without_input_add_nothing() {
    let recorded = record("responses", &[say("hello", 1), Step::Compact, say("again", 0)]);
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let before = (size(&recorded.path), size(&recorded.record_path()));
    for _ in 0..100 {
        drop(recorded.resumed(Recorder::resume(RealDisk::shared(), recorded.path.clone()).unwrap()));
    }
    let after = (size(&recorded.path), size(&recorded.record_path()));
    let added = (after.0 - before.0) + (after.1 - before.1);
    assert!(added * 100 < before.0 + before.1, "{added} bytes were added to {before:?}");
    assert!(is_proved(&recorded.replay()));
}
