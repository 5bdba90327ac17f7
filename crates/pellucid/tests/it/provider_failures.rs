//! Failures between the program and a provider: the exit status, the messages to programs and people, the number of
//! requests, and the stored files.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::net::TcpStream;
use std::process::Command;
use std::process::Stdio;

use expect_test::expect;
use pellucid_testkit::MockReply;
use pellucid_testkit::MockServer;
use serde_json::Value;
use serde_json::json;

use crate::Ran;
use crate::World;
use crate::steady::after_settings;

const WIRES: [&str; 3] = ["responses", "chat", "messages"];

const PACKS: [&str; 5] = ["codex", "openclaw", "risuai", "agentcore", "ads"];

const KEY: &str = "sk-secret-0123456789";

/// A provider at an address, with a key and so many retries of both kinds.
fn configure(world: &World, base_url: &str, wire: &str, retries: u64, more: &str) {
    world.files.write(
        "home/config.toml",
        format!(
            "{more}\nmodel_provider = \"mock\"\n[model_providers.mock]\nname = \"Mock\"\nbase_url = \"{base_url}\"\n\
             wire_api = \"{wire}\"\nenv_key = \"MOCK_KEY\"\nrequest_max_retries = {retries}\n\
             stream_max_retries = {retries}\n"
        ),
    );
}

fn run(world: &World, args: &[&str]) -> Ran {
    world.run_in(args, &[("MOCK_KEY", KEY)])
}

/// A complete answer of a wire.
fn said(wire: &str, text: &str) -> MockReply {
    let message =
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    match wire {
        "chat" => MockReply::chat([message]),
        "messages" => MockReply::messages([message]),
        _ => MockReply::say(text),
    }
}

/// An answer whose stream ends in the middle of its message.
fn cut(wire: &str) -> MockReply {
    let reply = match wire {
        "responses" => MockReply::events([
            json!({ "type": "response.created", "response": { "id": "r" } }),
            json!({ "type": "response.output_item.added", "item": {
                "type": "message", "id": "m", "role": "assistant", "content": [],
            } }),
            json!({ "type": "response.output_text.delta", "delta": "half an answer" }),
            json!({ "type": "response.output_text.delta", "delta": ", rest" }),
        ]),
        _ => said(wire, "half an answer, rest"),
    };
    let body = reply.body();
    let (mark, after) = match wire {
        "responses" => (&b", rest"[..], 0),
        // Pieces have five letters: `half ` `an an` `swer,`, and so on.
        _ => (&b"swer,"[..], 0),
    };
    let at = body.windows(mark.len()).position(|window| window == mark).unwrap() + after;
    let start = body[..at].windows(2).rposition(|window| window == b"\n\n").unwrap() + 2;
    reply.cut_after(start)
}

/// One row: what the server answers, the exit status, the word for it, how many requests there are with no retries, and
/// what a person reads.
struct Row {
    name: &'static str,
    reply: fn(&str) -> MockReply,
    status: i32,
    word: &'static str,
}

fn error(status: u16, message: &str, kind: &str) -> MockReply {
    let body = json!({ "error": { "message": message, "type": kind, "code": kind } });
    MockReply::status(status, &body.to_string())
}

const ROWS: [Row; 12] = [
    Row { name: "401", reply: |_| error(401, "Incorrect API key", "invalid_api_key"), status: 10, word: "auth" },
    Row { name: "403", reply: |_| error(403, "Not for you", "permission_error"), status: 10, word: "auth" },
    Row {
        name: "quota",
        reply: |_| error(429, "You exceeded your current quota", "insufficient_quota"),
        status: 11,
        word: "quota",
    },
    Row { name: "payment", reply: |_| error(402, "Insufficient Balance", "unknown_error"), status: 11, word: "quota" },
    Row {
        name: "overflow",
        reply: |_| error(400, "prompt is too long: 9 tokens > 8 maximum", "context_length_exceeded"),
        status: 12,
        word: "overflow",
    },
    Row {
        name: "rate limit",
        reply: |_| error(429, "Slow down, please", "rate_limit_error").header("retry-after", "7"),
        status: 16,
        word: "provider",
    },
    Row { name: "500", reply: |_| error(500, "The server had an error", "server_error"), status: 16, word: "provider" },
    Row {
        name: "503",
        reply: |_| MockReply::status(503, "<html>down for repair</html>"),
        status: 16,
        word: "provider",
    },
    Row {
        name: "web page",
        reply: |_| MockReply::frames(["<html>log in</html>"]).content_type("text/html"),
        status: 16,
        word: "provider",
    },
    Row { name: "cut", reply: cut, status: 16, word: "provider" },
    Row { name: "hang up", reply: |_| MockReply::hang_up(), status: 16, word: "provider" },
    Row { name: "400", reply: |_| error(400, "bad request here", "invalid_request_error"), status: 1, word: "other" },
];

/// Checks that the last event says with this word why the turn failed.
#[track_caller]
fn check_word(ran: &Ran, word: &str) {
    let last: Value = serde_json::from_str(ran.out().lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["code"]), (&json!("turn.failed"), &json!(word)), "{last}");
}

#[track_caller]
fn check_row(row: &Row, wire: &str) -> String {
    let name = format!("{} on {wire}", row.name);
    let world = World::new("//- work/x\n");
    let server = MockServer::start((0..6).map(|_| (row.reply)(wire)));
    configure(&world, &server.base_url(), wire, 0, "");
    let ran = run(&world, &["exec", "--typed-exit-codes", "hi"]);
    assert_eq!(ran.status, row.status, "{name}: {}", ran.stderr);
    assert!(!ran.stderr.contains(KEY), "{name}: {}", ran.stderr);
    assert_eq!(server.requests().len(), 1, "{name}");
    let failure = ran.stderr;
    let plain = run(&world, &["exec", "hi"]);
    assert_eq!(plain.status, 1, "{name}: without typed codes every failure is 1");
    check_word(&run(&world, &["exec", "--json", "--context-events", "hi"]), row.word);
    let ran = run(&world, &["exec", "--json", "hi"]);
    let last: Value = serde_json::from_str(ran.out().lines().last().unwrap()).unwrap();
    assert_eq!(last["code"], Value::Null, "{name}: the code is an event of our own");
    // What the system reports of a closed connection depends on how much of the request was read.
    let known = |line: &str| match line.split_once(": client error ") {
        Some((known, _)) => format!("{known}: CAUSE\n"),
        None => line.to_owned(),
    };
    world.steady(after_settings(&failure)).split_inclusive('\n').map(known).collect()
}

#[test]
fn every_answer_of_a_provider_has_its_status_word_and_reason() {
    let mut shown = String::new();
    for row in &ROWS {
        let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
        for wire in WIRES {
            let text = check_row(row, wire);
            match texts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, wires)) => wires.push(wire),
                None => texts.push((text, vec![wire])),
            }
        }
        for (text, wires) in texts {
            shown.push_str(&format!("== {} on {}\n{text}", row.name, wires.join(", ")));
        }
    }
    expect![[r#"
        == 401 on responses
        hi
        error: the provider refused the key (401 Unauthorized): Incorrect API key, url: http://HOST/v1/responses; the key comes from the variable `MOCK_KEY`: set it to a valid key
        == 401 on chat
        hi
        error: the provider refused the key (401 Unauthorized): Incorrect API key, url: http://HOST/v1/chat/completions; the key comes from the variable `MOCK_KEY`: set it to a valid key
        == 401 on messages
        hi
        error: the provider refused the key (401 Unauthorized): Incorrect API key, url: http://HOST/v1/messages; the key comes from the variable `MOCK_KEY`: set it to a valid key
        == 403 on responses
        hi
        error: the provider does not allow this (403 Forbidden): Not for you, url: http://HOST/v1/responses; the key comes from the variable `MOCK_KEY`: set it to a valid key
        == 403 on chat
        hi
        error: the provider does not allow this (403 Forbidden): Not for you, url: http://HOST/v1/chat/completions; the key comes from the variable `MOCK_KEY`: set it to a valid key
        == 403 on messages
        hi
        error: the provider does not allow this (403 Forbidden): Not for you, url: http://HOST/v1/messages; the key comes from the variable `MOCK_KEY`: set it to a valid key
        == quota on responses
        hi
        error: the account's quota is used up (429 Too Many Requests): You exceeded your current quota, url: http://HOST/v1/responses; check the plan and the billing details of the account that the key belongs to
        == quota on chat
        hi
        error: the account's quota is used up (429 Too Many Requests): You exceeded your current quota, url: http://HOST/v1/chat/completions; check the plan and the billing details of the account that the key belongs to
        == quota on messages
        hi
        error: the account's quota is used up (429 Too Many Requests): You exceeded your current quota, url: http://HOST/v1/messages; check the plan and the billing details of the account that the key belongs to
        == payment on responses
        hi
        error: the account's quota is used up (402 Payment Required): Insufficient Balance, url: http://HOST/v1/responses; check the plan and the billing details of the account that the key belongs to
        == payment on chat
        hi
        error: the account's quota is used up (402 Payment Required): Insufficient Balance, url: http://HOST/v1/chat/completions; check the plan and the billing details of the account that the key belongs to
        == payment on messages
        hi
        error: the account's quota is used up (402 Payment Required): Insufficient Balance, url: http://HOST/v1/messages; check the plan and the billing details of the account that the key belongs to
        == overflow on responses
        hi
        error: the request does not fit into the model's context window (400 Bad Request): prompt is too long: 9 tokens > 8 maximum, url: http://HOST/v1/responses; start a new session, or make this one shorter with `pellucid compact` or a smaller prompt
        == overflow on chat
        hi
        error: the request does not fit into the model's context window (400 Bad Request): prompt is too long: 9 tokens > 8 maximum, url: http://HOST/v1/chat/completions; start a new session, or make this one shorter with `pellucid compact` or a smaller prompt
        tokens used
        0
        == overflow on messages
        hi
        error: the request does not fit into the model's context window (400 Bad Request): prompt is too long: 9 tokens > 8 maximum, url: http://HOST/v1/messages; start a new session, or make this one shorter with `pellucid compact` or a smaller prompt
        tokens used
        0
        == rate limit on responses
        hi
        error: the provider's rate limit is reached (429 Too Many Requests): Slow down, please, url: http://HOST/v1/responses; the provider asks to wait 7 s before the next request
        == rate limit on chat
        hi
        error: the provider's rate limit is reached (429 Too Many Requests): Slow down, please, url: http://HOST/v1/chat/completions; the provider asks to wait 7 s before the next request
        == rate limit on messages
        hi
        error: the provider's rate limit is reached (429 Too Many Requests): Slow down, please, url: http://HOST/v1/messages; the provider asks to wait 7 s before the next request
        == 500 on responses
        hi
        error: the provider's server failed (500 Internal Server Error): The server had an error, url: http://HOST/v1/responses
        == 500 on chat
        hi
        error: the provider's server failed (500 Internal Server Error): The server had an error, url: http://HOST/v1/chat/completions
        == 500 on messages
        hi
        error: the provider's server failed (500 Internal Server Error): The server had an error, url: http://HOST/v1/messages
        == 503 on responses
        hi
        error: the provider's server failed (503 Service Unavailable): it answered with a web page, url: http://HOST/v1/responses
        == 503 on chat
        hi
        error: the provider's server failed (503 Service Unavailable): it answered with a web page, url: http://HOST/v1/chat/completions
        == 503 on messages
        hi
        error: the provider's server failed (503 Service Unavailable): it answered with a web page, url: http://HOST/v1/messages
        == web page on responses, chat, messages
        hi
        error: the server answered with a web page in place of a reply; check the provider's base_url
        == cut on responses
        hi
        pellucid (interrupted)
        half an answer
        error: stream disconnected before completion: stream closed before response.completed
        to continue: pellucid exec resume ID
        == cut on chat
        hi
        pellucid (interrupted)
        half an an
        error: stream disconnected before completion: stream closed before finish_reason
        to continue: pellucid exec resume ID
        == cut on messages
        hi
        pellucid (interrupted)
        half an an
        error: stream disconnected before completion: stream closed before message_stop
        to continue: pellucid exec resume ID
        == hang up on responses
        hi
        error: stream disconnected before completion: error sending request for url (http://HOST/v1/responses): CAUSE
        == hang up on chat
        hi
        error: stream disconnected before completion: error sending request for url (http://HOST/v1/chat/completions): CAUSE
        == hang up on messages
        hi
        error: stream disconnected before completion: error sending request for url (http://HOST/v1/messages): CAUSE
        == 400 on responses
        hi
        error: the provider refused the request (400 Bad Request): bad request here, url: http://HOST/v1/responses
        == 400 on chat
        hi
        error: the provider refused the request (400 Bad Request): bad request here, url: http://HOST/v1/chat/completions
        == 400 on messages
        hi
        error: the provider refused the request (400 Bad Request): bad request here, url: http://HOST/v1/messages
    "#]].assert_eq(&shown);
}

#[test]
fn a_retry_says_why() {
    let mut shown = BTreeSet::new();
    for wire in WIRES {
        let world = World::new("//- work/x\n");
        let server = MockServer::start([error(401, "Incorrect API key", "invalid_api_key"), said(wire, "here I am")]);
        configure(&world, &server.base_url(), wire, 1, "");
        let ran = run(&world, &["exec", "--typed-exit-codes", "hi"]);
        assert_eq!((ran.status, ran.out()), (0, "here I am\n"), "{}", ran.stderr);
        shown.insert(world.steady(after_settings(&ran.stderr)));
    }
    expect![[r#"
        hi
        Reconnecting... 1/1 (the provider refused the key (401 Unauthorized): Incorrect API key, url: http://HOST/v1/chat/completions; the key comes from the variable `MOCK_KEY`: set it to a valid key)
        pellucid
        here I am
        tokens used
        50
        ==
        hi
        Reconnecting... 1/1 (the provider refused the key (401 Unauthorized): Incorrect API key, url: http://HOST/v1/messages; the key comes from the variable `MOCK_KEY`: set it to a valid key)
        pellucid
        here I am
        tokens used
        50
        ==
        hi
        Reconnecting... 1/1 (the provider refused the key (401 Unauthorized): Incorrect API key, url: http://HOST/v1/responses; the key comes from the variable `MOCK_KEY`: set it to a valid key)
        pellucid
        here I am
        tokens used
        110
    "#]].assert_eq(&Vec::from_iter(shown).join("==\n"));
}

/// Takes the whole greeting of TLS, so that what is answered arrives, and answers in plain HTTP.
fn answer_without_tls(mut stream: TcpStream) {
    let mut head = [0; 5];
    stream.read_exact(&mut head).unwrap();
    let mut greeting = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
    stream.read_exact(&mut greeting).unwrap();
    // A client that has had enough may be gone.
    let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
}

/// A port that was free a moment ago, at which nothing listens.
fn closed_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

#[test]
fn where_no_request_can_go_out_it_stops_at_once() {
    let plain = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let behind_tls = format!("https://{}/v1", plain.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in plain.incoming().map_while(Result::ok) {
            answer_without_tls(stream);
        }
    });
    let refused = format!("http://127.0.0.1:{}/v1", closed_port());
    let rows = [
        (refused.as_str(), "nothing listens at 127.0.0.1:"),
        (&behind_tls, "does not speak TLS; if the server has none, write http://"),
        ("http://no-such-host.invalid/v1", "the name no-such-host.invalid cannot be resolved"),
    ];
    for (base_url, told) in rows {
        for wire in WIRES {
            let world = World::new("//- work/x\n");
            configure(&world, base_url, wire, 9, "");
            let ran = run(&world, &["exec", "--typed-exit-codes", "hi"]);
            assert_eq!(ran.status, 16, "{base_url}: {}", ran.stderr);
            assert!(ran.stderr.contains(told), "{base_url}: {}", ran.stderr);
            assert!(!ran.stderr.contains("Reconnecting"), "{base_url}: {}", ran.stderr);
            check_word(&run(&world, &["exec", "--json", "--context-events", "hi"]), "provider");
        }
    }
}

#[test]
fn without_a_key_nothing_is_sent_to_a_public_provider() {
    let rows = [
        "\n",
        "model_provider = \"a\"\n[model_providers.a]\nname = \"A\"\nwire_api = \"messages\"\n",
        "model_provider = \"a\"\n[model_providers.a]\nname = \"A\"\nwire_api = \"chat\"\n",
    ];
    let mut shown = String::new();
    for config in rows {
        let world = World::new("//- work/x\n");
        world.files.write("home/config.toml", config);
        let ran = world.run(&["exec", "--typed-exit-codes", "hi"]);
        assert_eq!(ran.status, 10, "{}", ran.stderr);
        shown.push_str(&format!("== {config}{}", world.steady(after_settings(&ran.stderr))));
        check_word(&world.run(&["exec", "--json", "--context-events", "hi"]), "auth");
        // What was not sent is not recorded as sent.
        let name = session_id(&ran.stderr);
        let replay = world.run(&["replay", "--json", &name]);
        let replay: Value = serde_json::from_slice(&replay.stdout).unwrap_or_default();
        assert!(replay["requests"].as_array().is_none_or(Vec::is_empty), "{replay}");
    }
    expect![[r#"
        == 
        hi
        error: there is no key for the provider `OpenAI`, so nothing was sent: pipe a key into `pellucid login --with-api-key`, or set the variable CODEX_API_KEY
        == model_provider = "a"
        [model_providers.a]
        name = "A"
        wire_api = "messages"
        hi
        error: there is no key for the provider `A`, so nothing was sent: write the name of a variable as `env_key` of the provider in config.toml, and set it
        == model_provider = "a"
        [model_providers.a]
        name = "A"
        wire_api = "chat"
        hi
        error: there is no key for the provider `A`, so nothing was sent: pipe a key into `pellucid login --with-api-key`, or set the variable CODEX_API_KEY
    "#]].assert_eq(&shown);
    // A server at a configured address may need none.
    let world = World::new("//- work/x\n");
    let server = MockServer::start([MockReply::say("hello")]);
    let ran = world.run_in(&["exec", "hi"], &[("OPENAI_BASE_URL", &server.base_url())]);
    assert_eq!((ran.status, ran.out()), (0, "hello\n"), "{}", ran.stderr);
}

/// The id of the session in the lines for people.
fn session_id(stderr: &str) -> String {
    stderr.lines().find_map(|line| line.strip_prefix("session id: ")).unwrap().to_owned()
}

#[test]
fn a_variable_that_is_not_set_is_a_missing_key() {
    let world = World::new("//- work/x\n");
    configure(&world, "http://127.0.0.1:1/v1", "responses", 0, "");
    let ran = world.run(&["exec", "--typed-exit-codes", "hi"]);
    assert_eq!(ran.status, 10, "{}", ran.stderr);
    expect![[r#"
        hi
        error: Missing environment variable: `MOCK_KEY`.
    "#]]
    .assert_eq(after_settings(&ran.stderr));
}

#[test]
fn text_that_broke_off_is_shown_and_kept_beside_the_session() {
    for wire in WIRES {
        let world = World::new("//- work/x\n");
        let server = MockServer::start([cut(wire), said(wire, "the rest")]);
        configure(&world, &server.base_url(), wire, 0, "");
        let ran = run(&world, &["exec", "hi"]);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        let id = session_id(&ran.stderr);
        assert!(ran.stderr.ends_with(&format!("to continue: pellucid exec resume {id}\n")), "{}", ran.stderr);
        let kept = std::fs::read_to_string(world.files.path(format!("home/session_state/{id}.json"))).unwrap();
        let kept: Value = serde_json::from_str(&kept).unwrap();
        let text = kept["cut_off"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("half an an"), "{wire}: {text}");
        assert!(ran.stderr.contains(&format!("(interrupted)\n{text}\n")), "{wire}: {}", ran.stderr);
        let ran = run(&world, &["exec", "resume", &id, "go on"]);
        assert_eq!((ran.status, ran.out()), (0, "the rest\n"), "{}", ran.stderr);
        let shown = run(&world, &["sessions", "show", &id]);
        let (before, after) = shown.out().split_once(&format!("\n── agent, interrupted ──\n{text}\n")).unwrap();
        assert!(before.contains("── user ──\nhi\n") && after.contains("── user ──\ngo on\n"), "{}", shown.out());
        let shown = run(&world, &["sessions", "show", "--json", &id]);
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown["cut_off"], kept["cut_off"], "{wire}");
        // The model is not shown it, as the Codex CLI does not.
        assert!(!String::from_utf8_lossy(&server.requests()[1].body).contains("half an an"));
    }
}

/// The command that interrupts follows the text in the stream, so the text has arrived by then.
#[cfg(unix)]
#[test]
fn an_interrupted_turn_keeps_its_text_and_says_how_to_continue() {
    let call = json!({ "type": "function_call", "call_id": "c", "name": "update_plan",
        "arguments": json!({ "plan": [{ "step": "one", "status": "pending" }] }).to_string() });
    let reply = MockReply::events([
        json!({ "type": "response.created", "response": { "id": "r" } }),
        json!({ "type": "response.output_item.added", "item": {
            "type": "message", "id": "m", "role": "assistant", "content": [],
        } }),
        json!({ "type": "response.output_text.delta", "delta": "what I found is" }),
        json!({ "type": "response.output_item.done", "item": call }),
    ]);
    let length = reply.body_len();
    let server = MockServer::start([reply.hang_after(length)]);
    let world = World::new("//- work/x\n");
    configure(&world, &server.base_url(), "responses", 0, "");
    let mut command = world.command(&["exec", "--json", "--context-events", "--typed-exit-codes", "hi"]);
    let mut child = command.env("MOCK_KEY", KEY).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut thread_id = String::new();
    for line in lines.by_ref() {
        let event: Value = serde_json::from_str(&line).unwrap();
        if let Some(id) = event["thread_id"].as_str() {
            thread_id = id.to_owned();
        }
        if event["item"]["type"] == "todo_list" {
            break;
        }
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let events: Vec<Value> = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
    let cut_off = events.iter().find(|event| event["type"] == "context.cut_off").unwrap();
    assert_eq!(cut_off["text"], "what I found is");
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{stderr}");
    assert!(stderr.contains(&format!("to continue: pellucid exec resume {thread_id}\n")), "{stderr}");
}

#[test]
fn calls_that_nobody_could_approve_and_sandboxes_that_fail_have_a_status() {
    let script = |command: &str| {
        format!(
            "[[reply]]\ncall = [{{ name = \"shell_command\", args = {{ command = \"{command}\" }} }}]\n\
             [[reply]]\nsay = \"I could not.\"\n"
        )
    };
    let check = |command: &str, variables: &[(&str, &str)], status: i32, word: &str| {
        let world = World::new(&format!("//- work/script.toml\n{}", script(command)));
        world.files.write("home/config.toml", "sandbox_backend = \"bubblewrap\"\n");
        let base = ["exec", "--script", "script.toml"];
        let run = |more: &[&str]| world.run_in(&[&base[..], more, &["hi"]].concat(), variables);
        let typed = run(&["--typed-exit-codes"]);
        assert_eq!((typed.status, typed.out()), (status, "I could not.\n"), "{}", typed.stderr);
        let plain = run(&[]);
        assert_eq!(plain.status, 0, "{}", plain.stderr);
        let json = run(&["--json", "--context-events"]);
        // A command that failed and a sandbox that failed are told apart, with what to do.
        for ran in [&typed, &plain, &json] {
            let warned = ran.stderr.matches("warning: the sandbox failed, so a command did not run: ").count();
            assert_eq!(warned, usize::from(word == "sandbox"), "{}", ran.stderr);
            assert_eq!(ran.stderr.contains("hint: `pellucid doctor`"), word == "sandbox", "{}", ran.stderr);
        }
        let has = json.out().lines().any(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["type"] == "context.refusal" && event["code"] == word
        });
        assert!(has, "{}", json.out());
    };
    check("rm -rf build", &[], 13, "approval");
    if cfg!(target_os = "linux") {
        // Bubblewrap is tried with a program that is found nowhere, so it does not work where it is installed either.
        check("echo hi", &[("PATH", "/nonexistent")], 14, "sandbox");
    }
}

#[test]
fn limits_stop_before_a_request_is_sent() {
    let rows: [(&[&str], usize); 5] = [
        (&["--max-requests", "0"], 0),
        (&["--max-tokens", "0"], 0),
        (&["--max-tokens", "50"], 0),
        (&["-c", "limits.max_requests=0"], 0),
        (&["--max-requests", "2"], 2),
    ];
    let mut shown = BTreeSet::new();
    for wire in WIRES {
        for (args, n_requests) in rows {
            let world = World::new("//- work/x\n");
            let server = MockServer::start((0..6).map(|_| error(500, "trouble", "server_error")));
            configure(&world, &server.base_url(), wire, 3, "");
            let ran = run(&world, &[&["exec", "--typed-exit-codes"], args, &["hi"]].concat());
            assert_eq!(ran.status, 15, "{args:?}: {}", ran.stderr);
            let error = ran.stderr.lines().find(|line| line.starts_with("error: ")).unwrap();
            shown.insert(format!("{args:?}\n{}\n", without_estimate(error)));
            assert_eq!(server.requests().len(), n_requests, "{args:?}");
            check_word(&run(&world, &[&["exec", "--json", "--context-events"], args, &["hi"]].concat()), "budget");
        }
        let world = World::new("//- work/x\n");
        let server = MockServer::start([said(wire, "hello")]);
        configure(&world, &server.base_url(), wire, 0, "");
        let ran = run(&world, &["exec", "--max-requests", "1", "--max-tokens", "100000", "hi"]);
        assert_eq!((ran.status, ran.out()), (0, "hello\n"), "{}", ran.stderr);
    }
    // The three API formats have the same words.
    expect![[r#"
        ["--max-requests", "0"]
        error: the limit of 0 requests is reached, so no other was sent; allow more with --max-requests, or max_requests under [limits]
        ["--max-requests", "2"]
        error: the limit of 2 requests is reached, so no other was sent; allow more with --max-requests, or max_requests under [limits]
        ["--max-tokens", "0"]
        error: the limit of 0 tokens is reached: 0 are spent, and this request costs at least N, so it was not sent; allow more with --max-tokens, or max_tokens under [limits]
        ["--max-tokens", "50"]
        error: the limit of 50 tokens is reached: 0 are spent, and this request costs at least N, so it was not sent; allow more with --max-tokens, or max_tokens under [limits]
        ["-c", "limits.max_requests=0"]
        error: the limit of 0 requests is reached, so no other was sent; allow more with --max-requests, or max_requests under [limits]
    "#]].assert_eq(&Vec::from_iter(shown).concat());
}

/// An error without what a request is estimated to cost, which depends on the length of folder names.
fn without_estimate(text: &str) -> String {
    const BEFORE: &str = "this request costs at least ";
    match text.split_once(BEFORE) {
        Some((known, rest)) => format!("{known}{BEFORE}N{}", rest.trim_start_matches(|it: char| it.is_ascii_digit())),
        None => text.to_owned(),
    }
}

#[test]
fn what_a_reply_cost_counts_for_the_next_request() {
    let script = "[[reply]]\ncall = [{ name = \"update_plan\", args = { plan = [] } }]\n\
                  usage = { input = 19990, output = 9 }\n[[reply]]\nsay = \"never\"\n";
    let world = World::new(&format!("//- work/script.toml\n{script}"));
    let ran = world.run(&["exec", "--script", "script.toml", "--max-tokens", "20000", "--typed-exit-codes", "hi"]);
    assert_eq!((ran.status, ran.out()), (15, ""), "{}", ran.stderr);
    expect![[r#"
        hi
        Plan update
        error: the limit of 20000 tokens is reached: 19999 are spent, and this request costs at least N, so it was not sent; allow more with --max-tokens, or max_tokens under [limits]
        tokens used
        19,999
    "#]].assert_eq(&without_estimate(after_settings(&ran.stderr)));
}

#[test]
fn reviews_summaries_and_agents_count_for_their_session() {
    // A review has no request of its session's own.
    let world = World::new("//- work/x\n");
    let server = MockServer::start((0..3).map(|_| MockReply::say("fine")));
    configure(&world, &server.base_url(), "responses", 0, "");
    let review = ["exec", "--typed-exit-codes", "--max-requests", "0", "review", "look at it"];
    let ran = run(&world, &review);
    assert_eq!((ran.status, server.requests().len()), (15, 0), "{}", ran.stderr);

    // The second request would ask for a summary.
    let script = "[[reply]]\ncall = [{ name = \"update_plan\", args = { plan = [] } }]\n\
                  usage = { input = 90000, output = 9 }\n[[reply]]\nsay = \"a summary\"\n[[reply]]\nsay = \"never\"\n";
    let world = World::new(&format!("//- work/script.toml\n{script}"));
    let limit = ["-c", "model_auto_compact_token_limit=50000"];
    let args = [&["exec", "--script", "script.toml", "--typed-exit-codes", "--max-requests", "1"], &limit[..], &["hi"]];
    let ran = world.run(&args.concat());
    assert_eq!((ran.status, ran.out()), (15, ""), "{}", ran.stderr);

    // Whatever comes second, the agent's request or its parent's, does not go out.
    let world = World::new("//- work/x\n");
    let spawn = json!({ "type": "function_call", "call_id": "c", "name": "spawn_agent",
        "arguments": json!({ "message": "do it" }).to_string() });
    let server = MockServer::start([MockReply::items([spawn]), MockReply::say("one"), MockReply::say("two")]);
    configure(&world, &server.base_url(), "responses", 0, "");
    let args = ["exec", "--enable", "multi_agent", "--typed-exit-codes", "--max-requests", "1", "hi"];
    let ran = run(&world, &args);
    assert_eq!((ran.status, server.requests().len()), (15, 1), "{}", ran.stderr);
}

#[test]
fn a_prompt_that_cannot_fit_the_window_is_not_sent() {
    let prompt = "word ".repeat(40_000);
    for pack in PACKS {
        for wire in WIRES {
            let world = World::new("//- work/x\n");
            let server = MockServer::start([said(wire, "hello"), said(wire, "hello")]);
            configure(&world, &server.base_url(), wire, 0, "model = \"gpt-5.1\"\nmodel_context_window = 30000\n");
            let mut command = world.command(&["exec", "--pack", pack, "--typed-exit-codes", "-"]);
            command.env("MOCK_KEY", KEY);
            let ran = world.finish(command, Some(prompt.as_bytes()));
            assert_eq!(
                (ran.status, server.requests().len()),
                (12, 0),
                "{pack} on {wire}: {}",
                ran.stderr.trim_start_matches(&prompt)
            );
            let error = ran.stderr.lines().find(|line| line.starts_with("error:")).unwrap();
            assert!(error.contains("30000") || matches!(pack, "risuai" | "agentcore"), "{pack} on {wire}: {error}");
            let ran = run(&world, &["exec", "--pack", pack, "--typed-exit-codes", "short"]);
            assert_eq!((ran.status, ran.out()), (0, "hello\n"), "{pack} on {wire}: {}", ran.stderr);
        }
    }
}

#[test]
fn the_window_of_the_catalogue_counts_unless_the_history_may_grow_beyond_it() {
    let prompt = "word ".repeat(280_000);
    for wire in WIRES {
        for (limit, expected) in [("", (12, 0)), ("model_auto_compact_token_limit = 100000000\n", (0, 1))] {
            let world = World::new("//- work/x\n");
            let server = MockServer::start([said(wire, "hello")]);
            configure(&world, &server.base_url(), wire, 0, &format!("model = \"gpt-5.1\"\n{limit}"));
            let mut command = world.command(&["exec", "--typed-exit-codes", "-"]);
            command.env("MOCK_KEY", KEY);
            let ran = world.finish(command, Some(prompt.as_bytes()));
            let error = ran.stderr.lines().find(|line| line.starts_with("error:"));
            assert_eq!((ran.status, server.requests().len()), expected, "{wire} {limit}: {error:?}");
        }
    }
}
