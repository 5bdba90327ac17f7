//! The stage on which a cell is played: a home folder, a project, a server that keeps every body, and the output of
//! the program before, during and after.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::thread;

use pellucid_files::RealDisk;
use pellucid_store::recorder::Recorder;
use pellucid_testkit::McpScript;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use super::cell::Cell;
use crate::Ran;
use crate::World;
use crate::context_events::Client;

/// The session that a play begins with.
pub const SESSION: &str = "019a0000-0000-7000-8000-000000000001";

/// The project of every play.
const FIXTURE: &str = "
//- home/AGENTS.md
Answer briefly.
//- work/AGENTS.md
Use \"tabs\", café.
//- work/SOUL.md
Calm and dry.

//- work/.ads/rules.md
Name tests after what they show.
//- work/notes.txt
one
two
";

/// A price of every model since long ago, so that no play depends on the day.
const PRICES: &str =
    "[[price]]\nmodel = \"*\"\nfrom = 2020-01-01\ncurrency = \"USD\"\ninput = 2\ncached_read = 0.5\noutput = 10\n";

/// What happens next in a play.
#[derive(Debug)]
pub enum Step {
    /// A turn of the current session, which the first turn begins.
    Turn(Turn),
    /// Turns of the current session in one process of the app-server, which unloads the session after each of them.
    Served(Vec<Turn>),
    /// The current session is summarised by hand, with these options; the model answers so.
    Compact(&'static [&'static str], MockReply),
    /// The current session is copied, and the copy is the current one.
    Fork,
    /// A copy of the current session that keeps so many messages of the person runs a turn at once.
    ForkAt(usize, Turn),
    /// A review begins a session, which is then the current one.
    Review(Vec<MockReply>),
    /// The session of the agent that was started last is the current one.
    ToChild,
    /// The server of tools has these from now on.
    Tools(&'static [&'static str]),
    /// A file of the project or the home folder changes.
    Write(&'static str, String),
}

/// One turn that a situation plays.
#[derive(Debug)]
pub struct Turn {
    pub prompt: String,
    pub options: Vec<&'static str>,
    pub replies: Vec<MockReply>,
    pub foresight: Foresight,
}

/// What `prompt` can know of a turn's first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foresight {
    /// All of it: what is shown must be promised and sent.
    Whole,
    /// All of it with these options; without them what is shown need not be promised.
    With(&'static [&'static str]),
    /// Perhaps not all of it, as a model has to be asked first. What is promised must still be sent.
    Open,
}

impl Turn {
    pub fn new(prompt: impl Into<String>, replies: impl IntoIterator<Item = MockReply>) -> Self {
        Self {
            prompt: prompt.into(),
            options: Vec::new(),
            replies: replies.into_iter().collect(),
            foresight: Foresight::Whole,
        }
    }

    /// With further options of the command line.
    pub fn with(mut self, options: &[&'static str]) -> Self {
        self.options.extend(options);
        self
    }

    pub fn foreseen(mut self, foresight: Foresight) -> Self {
        self.foresight = foresight;
        self
    }

    pub fn step(self) -> Step {
        Step::Turn(self)
    }
}

/// What `prompt` and `context` showed before a turn, and promised.
#[derive(Debug)]
pub struct Shown {
    /// The place of the request among all that the server got.
    pub request: usize,
    pub body: Vec<u8>,
    pub report: Value,
    pub is_promised: bool,
    /// Whether it had to be promised.
    pub is_due: bool,
}

/// The events of one process that drove a session.
#[derive(Debug)]
pub struct Told {
    pub session: String,
    pub events: Vec<Value>,
}

/// A play and everything that is known of it.
#[derive(Debug)]
pub struct Stage {
    pub cell: Cell,
    pub world: World,
    pub server: MockServer,
    /// A server of tools, for plays that have one.
    pub tools: McpScript,
    /// The id of the current session, once a turn ran.
    pub session: Option<String>,
    /// The session of an agent.
    pub child: Option<String>,
    pub shown: Vec<Shown>,
    pub told: Vec<Told>,
    /// How many replies were put into the script.
    pub n_replies: usize,
    /// What files had in them before they changed, by path.
    earlier: Vec<(PathBuf, Vec<u8>)>,
    problems: RefCell<Vec<String>>,
}

impl Stage {
    pub fn new(cell: Cell) -> Self {
        let stage = Self {
            cell,
            world: World::new(FIXTURE),
            server: MockServer::start([]),
            tools: McpScript::new(&["echo", "count"]),
            session: None,
            child: None,
            shown: Vec::new(),
            told: Vec::new(),
            n_replies: 0,
            earlier: Vec::new(),
            problems: RefCell::default(),
        };
        let config = (cell.situation.config)(&stage);
        let pack = config.pack.unwrap_or_else(|| cell.pack.name().to_owned());
        let (top, tables, wire, url) = (config.top, config.tables, cell.wire.name(), stage.server.base_url());
        let provider =
            format!("[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{url}\"\nwire_api = \"{wire}\"\n");
        let text = format!("pack = {pack:?}\nmodel_provider = \"mock\"\n{top}\n{provider}\n{tables}\n");
        stage.world.files.write("home/config.toml", text);
        stage.world.files.write("home/prices.toml", PRICES);
        stage
    }

    /// Notes that something is not as it must be.
    pub fn fault(&self, problem: impl Into<String>) {
        self.problems.borrow_mut().push(problem.into());
    }

    /// What is not as it must be.
    pub fn problems(&self) -> Vec<String> {
        self.problems.borrow().clone()
    }

    /// Plays one step of the situation.
    pub fn play(&mut self, step: Step) {
        self.play_step(step);
        let n_requests = self.server.requests().len();
        if n_requests != self.n_replies {
            self.fault(format!("play: {n_requests} requests so far, where {} belong to it", self.n_replies));
        }
    }

    fn play_step(&mut self, step: Step) {
        match step {
            Step::Turn(turn) => self.turn(turn),
            Step::Served(turns) => self.serve(turns),
            Step::Compact(options, reply) => {
                self.script(vec![reply]);
                let session = self.current();
                self.run(&[&["compact"], options, &[&session]].concat());
            }
            Step::Fork => {
                let session = self.current();
                let ran = self.run(&["fork", &session]);
                self.session = Some(ran.out().trim().to_owned());
            }
            Step::ForkAt(n_messages, turn) => {
                let (session, at) = (self.current(), n_messages.to_string());
                self.script(turn.replies);
                self.drive(&["fork", "--json", "--context-events", "--at", &at, &session, &turn.prompt]);
            }
            Step::Review(replies) => {
                self.script(replies);
                self.drive(&["review", "--json", "--context-events", "Look at notes.txt."]);
            }
            Step::ToChild => {
                let is_spawn = |event: &&Value| event["item"]["tool"] == "spawn_agent";
                let ids = |event: &Value| Some(event["item"]["receiver_thread_ids"][0].as_str()?.to_owned());
                let child = self.events().filter(is_spawn).filter_map(ids).last();
                if child.is_none() {
                    self.fault("no agent was started");
                }
                self.child.clone_from(&child);
                self.session = child.or(self.session.take());
            }
            Step::Tools(names) => self.tools.lists(names),
            Step::Write(path, text) => {
                let written = self.world.files.path(path);
                self.earlier.extend(fs::read(&written).ok().map(|before| (written, before)));
                self.world.files.write(path, text);
            }
        }
    }

    fn turn(&mut self, turn: Turn) {
        let Turn { prompt, options, replies, foresight } = turn;
        match foresight {
            Foresight::Whole => self.look_ahead(&prompt, &options, true),
            Foresight::Open => self.look_ahead(&prompt, &options, false),
            Foresight::With(more) => {
                self.look_ahead(&prompt, &options, false);
                self.look_ahead(&prompt, &[&options, more].concat(), true);
            }
        }
        self.script(replies);
        let mut args = vec!["exec", "--json", "--context-events"];
        args.extend(options);
        let session = self.session.clone();
        match &session {
            None => args.extend(["--session-id", SESSION, &prompt]),
            Some(session) => args.extend(["resume", session, &prompt]),
        }
        self.drive(&args);
    }

    /// Runs turns in one process of the app-server. Each turn waits until the session of the turn before is unloaded.
    fn serve(&mut self, turns: Vec<Turn>) {
        let mut client = Client::of(&self.world, &[]);
        client.introduce(&json!({ "experimentalApi": true, "contextEvents": true }));
        let permissions = json!({ "approvalPolicy": "never", "sandbox": "read-only" });
        let opened = match &self.session {
            None => client.ask("thread/start", &permissions),
            Some(session) => client.ask("thread/resume", &json!({ "threadId": session })),
        };
        let thread = &opened["result"]["thread"];
        let session = thread["id"].as_str().unwrap_or_default().to_owned();
        let path = PathBuf::from(thread["path"].as_str().unwrap_or_default());
        for Turn { prompt, replies, .. } in turns {
            self.script(replies);
            let input = json!([{ "type": "text", "text": prompt }]);
            let began = client.ask("turn/start", &json!({ "threadId": session, "input": input }));
            let turn = began["result"]["turn"]["id"].clone();
            client.until(|it| it["method"] == "turn/completed" && it["params"]["turn"]["id"] == turn);
            // The server holds the lock of a session's file as long as the session is loaded.
            while Recorder::hold(RealDisk::shared(), path.clone()).is_err() {
                thread::yield_now();
            }
        }
        let told = client.notified.iter().filter(|it| it["method"] == "context/event");
        let events = told.map(|it| it["params"]["event"].clone()).collect();
        client.leave();
        self.told.push(Told { session: session.clone(), events });
        self.session = Some(session);
    }

    /// Asks what the next turn would send.
    fn look_ahead(&mut self, prompt: &str, options: &[&str], is_due: bool) {
        let which = match &self.session {
            None => ["--session-id", SESSION],
            Some(session) => ["--session", session],
        };
        let ask = |command: &[&str]| self.run(&[command, options, &which, &["--", prompt]].concat());
        let report = ask(&["context", "--json"]);
        let body = ask(&["prompt", "--format", "body"]).stdout;
        let report: Value = serde_json::from_slice(&report.stdout).unwrap_or_default();
        // Without a word about it, what is shown is a promise.
        let is_promised = report["certain"].as_bool().unwrap_or(true);
        if is_due && !is_promised {
            self.fault(format!("`context` does not promise the next request: {}", report["uncertain"]));
        }
        self.shown.push(Shown { request: self.server.requests().len(), body, report, is_promised, is_due });
    }

    /// Runs a command that talks to the model, and keeps its events. The session is the one that it names.
    fn drive(&mut self, args: &[&str]) {
        let ran = self.run(args);
        let events: Vec<Value> = ran.out().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let started = events.iter().find(|event| event["type"] == "thread.started");
        let session = started.and_then(|event| event["thread_id"].as_str()).unwrap_or_default().to_owned();
        if session.is_empty() {
            self.fault(format!("`{}` named no session", args[0]));
        }
        self.told.push(Told { session: session.clone(), events });
        self.session = Some(session);
    }

    fn script(&mut self, replies: Vec<MockReply>) {
        self.n_replies += replies.len();
        self.server.add(replies.into_iter().map(MockReply::charged).collect::<Vec<_>>());
    }

    /// Runs the program; anything but status 0 is a fault.
    pub fn run(&self, args: &[&str]) -> Ran {
        let ran = self.world.run(args);
        if ran.status != 0 {
            let said = ran.stderr.lines().rev().take(3).chain(ran.out().lines().last());
            let said: String = said.collect::<Vec<_>>().join(" | ");
            self.fault(format!("`{}` ended with {}: {said}", args.join(" "), ran.status));
        }
        ran
    }

    fn current(&self) -> String {
        self.session.clone().unwrap_or_default()
    }

    /// What a file has in it, and what it had before. An image has the name that the person gave.
    pub fn texts(&self, path: &str) -> Vec<Vec<u8>> {
        let path = &self.world.files.path("work").join(path);
        let earlier = self.earlier.iter().filter(|(it, _)| it == path).map(|(_, text)| text.clone());
        fs::read(path).into_iter().chain(earlier).collect()
    }

    /// Every event so far.
    pub fn events(&self) -> impl Iterator<Item = &Value> {
        self.told.iter().flat_map(|told| &told.events)
    }

    /// The events of a type.
    pub fn n_events(&self, kind: &str) -> usize {
        self.events().filter(|event| event["type"] == kind).count()
    }

    /// The bodies that the server got, as text.
    pub fn bodies(&self) -> Vec<String> {
        let bodies = self.server.requests().into_iter().map(|request| request.body);
        bodies.map(|body| String::from_utf8_lossy(&body).into_owned()).collect()
    }
}
