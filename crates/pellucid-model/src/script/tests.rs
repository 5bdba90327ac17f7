use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::reply::ReplyEvent;

use super::*;
use crate::model::Ask;
use crate::model::Model;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(future)
}

/// Plays every reply of a script, and one request more.
#[track_caller]
fn check_play(name: &str, text: &str, expected: Expect) {
    let script = Script::parse(name, text).unwrap();
    let n_replies = script.n_replies();
    let model = Model::scripted(script);
    let mut lines = String::new();
    run(async {
        for number in 1..=n_replies + 1 {
            lines.push_str(&format!("# {number}\n"));
            let mut reply = match model.ask(Ask::default()).await {
                Ok(reply) => reply,
                Err(error) => {
                    lines.push_str(&format!("{:?}: {error}\n", error.kind));
                    continue;
                }
            };
            while let Some(event) = reply.next().await {
                match event {
                    Ok(ReplyEvent::RateLimits(limits)) => {
                        lines.push_str(&format!("RateLimits({:?})\n", limits.limit_id));
                    }
                    Ok(event) => lines.push_str(&format!("{event:?}\n")),
                    Err(error) => lines.push_str(&format!("{:?}: {error}\n", error.kind)),
                }
            }
        }
    });
    expected.assert_eq(&lines);
}

#[test]
fn a_reply_comes_as_a_stream_would() {
    check_play(
        "demo.toml",
        r#"
[[reply]]
think = ["Looking at the folder first.", "Then on."]
sealed = "E1"
say = "I will make a plan that is longer than one piece."
call = [
  { name = "update_plan", args = { plan = [{ step = "Look", status = "pending" }] } },
  { name = "apply_patch", input = "*** Begin Patch" },
]
usage = { input = 1200, cached = 800, output = 40, reasoning = 10 }
"#,
        expect![[r##"
            # 1
            RateLimits(Some("codex"))
            Created
            ItemAdded(Reasoning { id: Some("rs_1_1"), summary: [], content: None, encrypted_content: None })
            SummaryPartAdded { summary_index: 0 }
            SummaryDelta { delta: "Looking at the folder fi", summary_index: 0 }
            SummaryDelta { delta: "rst.", summary_index: 0 }
            SummaryPartAdded { summary_index: 1 }
            SummaryDelta { delta: "Then on.", summary_index: 1 }
            ItemDone(Reasoning { id: Some("rs_1_1"), summary: [SummaryText { text: "Looking at the folder first." }, SummaryText { text: "Then on." }], content: None, encrypted_content: Some("E1") })
            ItemAdded(Message { id: Some("msg_1_2"), role: "assistant", content: [], end_turn: None, phase: None })
            TextDelta("I will make a plan that ")
            TextDelta("is longer than one piece")
            TextDelta(".")
            ItemDone(Message { id: Some("msg_1_2"), role: "assistant", content: [OutputText { text: "I will make a plan that is longer than one piece." }], end_turn: None, phase: None })
            ItemAdded(FunctionCall { id: Some("fc_1_3"), name: "update_plan", arguments: "{\"plan\":[{\"step\":\"Look\",\"status\":\"pending\"}]}", call_id: "call_1_3" })
            ItemDone(FunctionCall { id: Some("fc_1_3"), name: "update_plan", arguments: "{\"plan\":[{\"step\":\"Look\",\"status\":\"pending\"}]}", call_id: "call_1_3" })
            ItemAdded(CustomToolCall { id: Some("ctc_1_4"), status: Some("completed"), call_id: "call_1_4", name: "apply_patch", input: "*** Begin Patch" })
            ItemDone(CustomToolCall { id: Some("ctc_1_4"), status: Some("completed"), call_id: "call_1_4", name: "apply_patch", input: "*** Begin Patch" })
            Completed { response_id: "resp_1", usage: Some(TokenUsage { input_tokens: 1200, cached_input_tokens: 800, output_tokens: 40, reasoning_output_tokens: 10, total_tokens: 1240 }) }
            # 2
            Local: the script demo.toml has no reply for request 2, it has 1 reply
        "##]],
    );
}

#[test]
fn items_come_in_any_order() {
    check_play(
        "demo.toml",
        r#"
[[reply]]
deltas = false
items = [
  { call = { name = "shell", args = "{ not json", id = "mine" } },
  { say = "On the way.", phase = "commentary" },
  { think = "Hm." },
  { call = { name = "list" } },
  { type = "web_search_call", status = "completed", action = { type = "search", query = "q" } },
  { type = "function_call", name = "raw", arguments = "{}" },
]
"#,
        expect![[r##"
            # 1
            RateLimits(Some("codex"))
            Created
            ItemAdded(FunctionCall { id: Some("fc_1_1"), name: "shell", arguments: "{ not json", call_id: "mine" })
            ItemDone(FunctionCall { id: Some("fc_1_1"), name: "shell", arguments: "{ not json", call_id: "mine" })
            ItemAdded(Message { id: Some("msg_1_2"), role: "assistant", content: [], end_turn: None, phase: Some(Commentary) })
            ItemDone(Message { id: Some("msg_1_2"), role: "assistant", content: [OutputText { text: "On the way." }], end_turn: None, phase: Some(Commentary) })
            ItemAdded(Reasoning { id: Some("rs_1_3"), summary: [], content: None, encrypted_content: None })
            ItemDone(Reasoning { id: Some("rs_1_3"), summary: [SummaryText { text: "Hm." }], content: None, encrypted_content: None })
            ItemAdded(FunctionCall { id: Some("fc_1_4"), name: "list", arguments: "{}", call_id: "call_1_4" })
            ItemDone(FunctionCall { id: Some("fc_1_4"), name: "list", arguments: "{}", call_id: "call_1_4" })
            ItemAdded(WebSearchCall { id: Some("ws_1_5"), status: Some("completed"), action: Some(Search { query: Some("q"), queries: None }) })
            ItemDone(WebSearchCall { id: Some("ws_1_5"), status: Some("completed"), action: Some(Search { query: Some("q"), queries: None }) })
            ItemAdded(FunctionCall { id: Some("fc_1_6"), name: "raw", arguments: "{}", call_id: "call_1_6" })
            ItemDone(FunctionCall { id: Some("fc_1_6"), name: "raw", arguments: "{}", call_id: "call_1_6" })
            Completed { response_id: "resp_1", usage: None }
            # 2
            Local: the script demo.toml has no reply for request 2, it has 1 reply
        "##]],
    );
}

#[test]
fn trouble_can_be_played() {
    check_play(
        "demo.jsonl",
        r#"
{"error":{"status":500}}
{"error":{"status":429,"body":{"error":{"type":"usage_not_included"}}}}
{"error":{"status":400,"body":"bad"}}

{"error":{"failed":"context_length_exceeded","message":"m"}}
{"error":{"message":"just so"}}
{"say":"Part.","deltas":false,"error":{"incomplete":"max_output_tokens"}}
{"say":"Part.","deltas":false,"error":{"cut":true}}
"#,
        expect![[r##"
            # 1
            InternalServer: The provider's server failed; trying again may help.
            # 2
            UsageNotIncluded: This plan does not include the model's use. Upgrade the plan to continue.
            # 3
            InvalidRequest: bad
            # 4
            RateLimits(Some("codex"))
            Created
            ContextWindowExceeded: The conversation has outgrown the model's context window. Start a new session or clear earlier history.
            # 5
            RateLimits(Some("codex"))
            Created
            Stream: stream disconnected before completion: just so
            # 6
            RateLimits(Some("codex"))
            Created
            ItemAdded(Message { id: Some("msg_6_1"), role: "assistant", content: [], end_turn: None, phase: None })
            ItemDone(Message { id: Some("msg_6_1"), role: "assistant", content: [OutputText { text: "Part." }], end_turn: None, phase: None })
            Stream: stream disconnected before completion: Incomplete response returned, reason: max_output_tokens
            # 7
            RateLimits(Some("codex"))
            Created
            ItemAdded(Message { id: Some("msg_7_1"), role: "assistant", content: [], end_turn: None, phase: None })
            ItemDone(Message { id: Some("msg_7_1"), role: "assistant", content: [OutputText { text: "Part." }], end_turn: None, phase: None })
            Stream: stream disconnected before completion: stream closed before response.completed
            # 8
            Local: the script demo.jsonl has no reply for request 8, it has 7 replies
        "##]],
    );
}

#[test]
fn delays_are_waited_for() {
    let model = Model::scripted(Script::parse("x", "[[reply]]\ndelay_ms = 60000\nsay = \"Late.\"\n").unwrap());
    run(async {
        let start = tokio::time::Instant::now();
        model.ask(Ask::default()).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(60));
    });
}

#[test]
fn clones_share_their_place_in_the_script() {
    let model = Model::scripted(Script::parse("x", "{\"say\":\"One.\"}").unwrap());
    run(async {
        model.clone().ask(Ask::default()).await.unwrap();
        let error = model.ask(Ask::default()).await.unwrap_err();
        assert_eq!(error.message, "the script x has no reply for request 2, it has 1 reply");
    });
}

#[test]
fn the_format_is_told_by_name_or_text() {
    let n_replies = |name: &str, text: &str| Script::parse(name, text).map(|script| script.n_replies()).ok();
    assert_eq!(n_replies("a.toml", "[[reply]]\n[[reply]]\n"), Some(2));
    assert_eq!(n_replies("a.jsonl", "{}\n\n{}\n"), Some(2));
    assert_eq!(n_replies("a", "\n {}\n"), Some(1));
    assert_eq!(n_replies("a.txt", "# nothing\n"), Some(0));
    assert_eq!(n_replies("a.toml", "{}"), None);
    assert_eq!(n_replies("a.jsonl", "[[reply]]"), None);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Script::load(Path::new("/no/such/script.toml")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not read the script /no/such/script.toml: No such file or directory (os error 2)"
    );
}

#[track_caller]
fn check_refused(name: &str, text: &str, expected: Expect) {
    expected.assert_eq(&Script::parse(name, text).unwrap_err().to_string());
}

#[test]
fn mistakes_in_toml_are_told_with_their_place() {
    check_refused(
        "s.toml",
        "[[reply]]\nsay = \"a\"\nsey = \"b\"\n",
        expect![
            "s.toml:3:1: unknown field `sey`, expected one of `think`, `sealed`, `say`, `call`, `items`, `events`, `compact`, `usage`, `error`, `contains`, `delay_ms`, `deltas`"
        ],
    );
    check_refused(
        "s.toml",
        "[[replies]]\n",
        expect!["s.toml:1:3: unknown field `replies`, expected `provider` or `reply`"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nsay = 5\n",
        expect!["s.toml:2:7: invalid type: integer `5`, expected a string"],
    );
    check_refused("s.toml", "[[reply]]\nsay = \"a\n", expect![[r#"s.toml:2:9: invalid basic string, expected `"`"#]]);
    check_refused(
        "s.toml",
        "[[reply]]\nthink = 5\n",
        expect!["s.toml:2:9: invalid type: integer `5`, expected one value or a list of them"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nthink = [5]\n",
        expect!["s.toml:2:10: invalid type: integer `5`, expected a string"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\ncall = \"shell\"\n",
        expect![[
            r#"s.toml:2:8: invalid type: string "shell", expected a table with `name` and either `args` or `input`"#
        ]],
    );
    check_refused("s.toml", "[[reply]]\ncall = { args = {} }\n", expect!["s.toml:2:8: missing field `name`"]);
    check_refused(
        "s.toml",
        "[[reply]]\ncall = { name = \"x\", args = 5 }\n",
        expect!["s.toml:2:8: the `args` of `x` must be a table or a string"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\ncall = [{ name = \"x\", args = {}, input = \"\" }]\n",
        expect!["s.toml:2:8: the call of `x` has `args` or `input`, not both"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nusage = { in = 5 }\n",
        expect!["s.toml:2:11: unknown field `in`, expected one of `input`, `cached`, `output`, `reasoning`, `total`"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\n\n[[reply]]\ndelay_ms = -1\n",
        expect!["s.toml:4:12: invalid value: integer `-1`, expected u64"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nsay = \"a\"\nitems = []\n",
        expect!["s.toml:1:1: `items` cannot be combined with `think`, `say` and `call`: put those into it"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nitems = [{ sey = \"a\" }]\n",
        expect!["s.toml:2:9: unknown field `sey`, expected one of `say`, `phase`, `think`, `sealed`, `call`"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nitems = [{ say = \"a\", call = { name = \"x\" } }]\n",
        expect!["s.toml:2:9: an item has one of `say` (with `phase`), `think` (with `sealed`), `call`, `type`"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nitems = [{}]\n",
        expect!["s.toml:2:9: an item has one of `say` (with `phase`), `think` (with `sealed`), `call`, `type`"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nitems = [{ type = \"hologram\" }]\n",
        expect![[r#"s.toml:2:9: an item of type "hologram" is not known"#]],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nitems = [{ type = \"message\", role = \"assistant\" }]\n",
        expect![[r#"s.toml:2:9: an item of type "message" is not valid: missing field `content`"#]],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nerror = {}\n",
        expect![
            "s.toml:2:9: an `error` has one of `status` (with `body`), `failed` (with `message`), `incomplete`, `cut = true`, `kind` (with `message`)"
        ],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nerror = { status = 200 }\n",
        expect!["s.toml:2:9: 200 is not the status of an error: 300 to 999 are"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nerror = { status = 500, cut = true }\n",
        expect![
            "s.toml:2:9: an `error` has one of `status` (with `body`), `failed` (with `message`), `incomplete`, `cut = true`, `kind` (with `message`)"
        ],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nsay = \"a\"\nerror = { status = 500 }\n",
        expect!["s.toml:1:1: a reply whose `error` has a `status` has no items"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nusage = {}\nerror = { cut = true }\n",
        expect!["s.toml:1:1: a reply with an `error` has no `usage`"],
    );
}

#[test]
fn mistakes_in_recordings_are_told() {
    check_refused(
        "s.toml",
        "[[reply]]\nsay = \"a\"\nevents = [\"created\"]\n",
        expect!["s.toml:1:1: `events` and `compact` cannot be combined with other keys: they contain the whole reply"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nevents = [{ tekst = \"a\" }]\n",
        expect![
            "s.toml:2:13: unknown variant `tekst`, expected one of `created`, `added`, `done`, `text`, `summary_part`, `summary`, `thought`, `server_model`, `rate_limits`, `reasoning_included`, `turn_state`, `cache_written`, `cache_read_unknown`, `completed`"
        ],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nerror = { kind = \"stream\" }\n",
        expect!["s.toml:2:9: an `error` with a `kind` needs its `message`"],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nerror = { kind = \"stream\", message = \"m\", cut = true }\n",
        expect![
            "s.toml:2:9: an `error` with a `kind` has `message`, `status`, `retry_after_ms`, `rate_limits`, `via`, `code`, `plain`"
        ],
    );
    check_refused(
        "s.toml",
        "[[reply]]\nerror = { cut = true, retry_after_ms = 5 }\n",
        expect![
            "s.toml:2:9: `retry_after_ms`, `rate_limits`, `code` and `plain` go with the `kind` of a recorded error"
        ],
    );
    check_refused(
        "s.jsonl",
        "{\"provider\":{\"nome\":\"x\"}}\n",
        expect![
            "s.jsonl:1:19: unknown field `nome`, expected one of `name`, `stream_max_retries`, `azure`, `supports_websockets`"
        ],
    );
}

#[test]
fn mistakes_in_json_lines_are_told_with_their_place() {
    check_refused(
        "s.jsonl",
        "{\"say\":\"a\"}\n{\"sey\":\"b\"}\n",
        expect![
            "s.jsonl:2:6: unknown field `sey`, expected one of `think`, `sealed`, `say`, `call`, `items`, `events`, `compact`, `usage`, `error`, `contains`, `delay_ms`, `deltas`"
        ],
    );
    check_refused("s.jsonl", "{\"say\":\"a\"\n", expect!["s.jsonl:1:10: EOF while parsing an object"]);
    check_refused(
        "s.jsonl",
        "\n[]\n",
        expect!["s.jsonl:2:2: invalid length 0, expected a table with the keys of a reply"],
    );
    check_refused(
        "s.jsonl",
        "{\"call\":{\"name\":\"x\",\"args\":[]}}\n",
        expect!["s.jsonl:1:30: the `args` of `x` must be a table or a string"],
    );
    check_refused(
        "s.jsonl",
        "{\"deltas\":\"yes\"}\n",
        expect![[r#"s.jsonl:1:15: invalid type: string "yes", expected a boolean"#]],
    );
}

#[test]
fn a_reply_may_depend_on_the_texts_of_the_request() {
    let script = Script::parse(
        "s.toml",
        "[[reply]]\nsay = \"one\"\n[[reply]]\ncontains = [\"a \\\"b\\\"\", \"c\"]\nsay = \"both\"\n\
         [[reply]]\ncontains = \"c\"\nsay = \"c\"\n[[reply]]\nsay = \"two\"\n",
    );
    let model = Model::scripted(script.unwrap());
    let said = |body: Value| {
        run(async {
            let ask = Ask { body: vec![body.to_string().into()], ..Ask::default() };
            let mut reply = model.ask(ask).await.map_err(|error| error.to_string())?;
            let mut said = String::new();
            while let Some(event) = reply.next().await {
                if let ReplyEvent::TextDelta(text) = event.unwrap() {
                    said += &text;
                }
            }
            Ok::<_, String>(said)
        })
    };
    // A key and two texts together are no text of the request.
    for (body, expected) in [
        (json!({ "x": ["a \"b\"!", { "y": "c" }] }), "both"),
        (json!({ "c": "a" }), "one"),
        (json!({ "x": "c" }), "c"),
        (json!({ "x": ["a ", "\"b\""] }), "two"),
        (json!({ "x": "c, a \"b\"" }), "both"),
    ] {
        assert_eq!(said(body.clone()).unwrap(), expected, "{body}");
    }
    assert_eq!(said(json!({})).unwrap_err(), "the script s.toml has no reply for request 3, it has 2 replies");
}
