//! Whatever a person, the session, the program and the terminal do: the state can be drawn, and no text is lost.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use super::tests::configured;
use super::tests::settings;
use super::*;
use crate::composer::popup::PromptEntry;
use crate::host::HostAnswer;
use crate::host::Menu;
use crate::host::MenuEntry;
use crate::host::OpenedSession;
use crate::host::StoredRecord;
use crate::host::Topic;
use crate::input::Input;
use crate::input::InputReader;
use crate::key::KeyCode;
use crate::key::KeyMods;
use crate::screen::Screen;
use crate::screen::View;
use crate::text::palette::ColourDepth;

/// So many cases unless `PROPTEST_CASES` asks for more.
fn cases(usual: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(usual),
    }
}

/// Every kind of event, with this text wherever a text can be.
pub(super) fn events(text: &str) -> Vec<Value> {
    let in_turn = |kind: &str, more: Value| {
        let mut event = json!({ "type": kind, "thread_id": "s", "turn_id": "t", "call_id": text, "item_id": "i" });
        if let (Value::Object(event), Value::Object(more)) = (&mut event, more) {
            event.extend(more);
        }
        event
    };
    let diff = format!("@@ -1,2 +1,2 @@\n-{text}\n+{text} \n \\ No newline at end of file\n");
    let changes = json!({ text: { "type": "update", "unified_diff": diff, "move_path": text }, "/w/b": { "type": "add", "content": text } });
    let invocation = json!({ "server": text, "tool": text, "arguments": { "a": text } });
    let question =
        |options: Value| json!({ "id": "q", "header": text, "question": text, "isOther": true, "options": options });
    let usage = json!({ "input_tokens": 5, "cached_input_tokens": 9, "output_tokens": i64::MAX / 4, "reasoning_output_tokens": 0, "total_tokens": i64::MAX / 4 });
    let split = json!({ "cached_read": 1, "uncached": 2, "output": 3 });
    let cache_break =
        json!({ "first_byte": 7, "part": text, "tokens_rebilled": 5, "span": [1, 9], "source": text, "cause": text });
    let command = json!({
        "process_id": "7", "command": ["bash", "-lc", text], "cwd": "/w", "source": "agent",
        "parsed_cmd": [{ "type": "unknown", "cmd": text }], "stdout": text, "stderr": text, "aggregated_output": text,
        "exit_code": 1, "formatted_output": text, "duration": { "secs": 99, "nanos": 0 }, "status": "failed",
    });
    let items = [
        json!({ "type": "UserMessage", "id": "i", "content": [{ "type": "text", "text": text }, { "type": "local_image", "path": text }] }),
        json!({ "type": "AgentMessage", "id": "i", "content": [{ "type": "Text", "text": text }] }),
        json!({ "type": "Plan", "id": "i", "text": text }),
        json!({ "type": "Reasoning", "id": "i", "summary_text": [text], "raw_content": [text] }),
        json!({ "type": "WebSearch", "id": "i", "query": text, "action": { "type": "open_page", "url": text } }),
        json!({ "type": "ContextCompaction", "id": "i" }),
    ];
    let review = json!({ "overall_correctness": text, "overall_explanation": text, "overall_confidence_score": 1.0, "findings": [
        { "title": text, "body": text, "confidence_score": 0.5, "priority": 1, "code_location": { "absolute_file_path": text, "line_range": { "start": 1, "end": 2 } } },
    ] });
    let agents = json!({ "sender_thread_id": "s", "receiver_thread_id": text, "new_thread_id": text, "prompt": text, "status": { "completed": text } });
    let mut all = vec![
        json!({ "type": "session_configured", "session_id": "s", "model": text, "model_provider_id": text, "approval_policy": "on-request", "sandbox_policy": { "type": "read-only" }, "cwd": "/w" }),
        json!({ "type": "token_count", "info": { "total_token_usage": usage, "last_token_usage": usage, "model_context_window": 20_000 }, "rate_limits": null }),
        json!({ "type": "error", "message": text, "codex_error_info": "other" }),
        json!({ "type": "stream_error", "message": text, "additional_details": text }),
        json!({ "type": "warning", "message": text }),
        json!({ "type": "mcp_startup_update", "server": text, "status": { "state": "failed", "error": text } }),
        json!({ "type": "mcp_startup_complete", "ready": [text], "failed": [{ "server": text, "error": text }], "cancelled": [text] }),
        json!({ "type": "model_reroute", "from_model": text, "to_model": text, "reason": "high_risk_cyber_activity" }),
        json!({ "type": "context_report", "bytes": 1, "tokens": 1, "kept_bytes": 1, "parts": [] }),
        json!({ "type": "context_request_sent", "n": 1, "sha256": text, "bytes": 1, "purpose": text }),
        in_turn("context_cache_break", cache_break.clone()),
        in_turn("context_resume_cost", cache_break),
        json!({ "type": "context_file_changed", "message": text }),
        json!({ "type": "context_cut_off", "text": text }),
        json!({ "type": "context_refusal", "call_id": text, "code": "budget", "why": text }),
        json!({ "type": "context_usage", "request": split, "session": split, "cache": { "verdict": "expired", "cause": text } }),
        json!({ "type": "context_omission", "part": text, "what": text, "why": text, "bytes": 5 }),
        json!({ "type": "tool_call_failed", "call_id": text, "name": text, "why": text }),
        json!({ "type": "context_injection", "account": { "a": text } }),
        json!({ "type": "context_injections", "account": { "a": text } }),
        json!({ "type": "context_memory_dropped", "account": { "count": 1 } }),
        json!({ "type": "context_mcp_server", "name": text, "state": "failed", "error": text, "seconds": 0.5 }),
        json!({ "type": "context_document", "path": text, "sha256": text, "bytes": 1, "tokens": 1 }),
        json!({ "type": "context_compaction", "account": {} }),
        json!({ "type": "context_reinjection", "part": text, "reason": text, "sha256": text, "tokens": 1 }),
        json!({ "type": "context_elsewhere", "thread_id": text, "event": { "type": "warning", "message": text } }),
        json!({ "type": "deprecation_notice", "summary": text, "details": text }),
        json!({ "type": "plan_update", "explanation": text, "plan": [{ "step": text, "status": "in_progress" }] }),
        json!({ "type": "exec_command_output_delta", "call_id": text, "stream": "stdout", "chunk": "YQpi" }),
        json!({ "type": "terminal_interaction", "call_id": text, "process_id": "7", "stdin": text }),
        json!({ "type": "view_image_tool_call", "call_id": text, "path": text }),
        json!({ "type": "dynamic_tool_call_request", "callId": text, "turnId": "t", "tool": text, "arguments": {} }),
        json!({ "type": "elicitation_request", "server_name": text, "id": text, "message": text }),
        json!({ "type": "turn_diff", "unified_diff": diff }),
        json!({ "type": "raw_response_item", "item": { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] } }),
        json!({ "type": "agent_message", "message": text }),
        json!({ "type": "agent_message_delta", "delta": text }),
        json!({ "type": "agent_reasoning", "text": text }),
        json!({ "type": "agent_reasoning_delta", "delta": text }),
        json!({ "type": "agent_reasoning_raw_content", "text": text }),
        json!({ "type": "agent_reasoning_raw_content_delta", "delta": text }),
        json!({ "type": "user_message", "message": text, "images": [text] }),
        json!({ "type": "web_search_begin", "call_id": text }),
        json!({ "type": "web_search_end", "call_id": text, "query": text, "action": { "type": "search", "query": text } }),
        json!({ "type": "entered_review_mode", "target": { "type": "custom", "instructions": text }, "user_facing_hint": text }),
        json!({ "type": "exited_review_mode", "review_output": review }),
        json!({ "type": "thread_rolled_back", "num_turns": 1 }),
        json!({ "type": "context_compacted" }),
        json!({ "type": "undo_started", "message": text }),
        json!({ "type": "undo_completed", "success": false, "message": text }),
        json!({ "type": "background_event", "message": text }),
        json!({ "type": "agent_reasoning_section_break", "item_id": "i", "summary_index": 1 }),
        json!({ "type": "shutdown_complete" }),
        json!({ "type": "collab_waiting_begin", "sender_thread_id": "s", "receiver_thread_ids": [text], "call_id": text }),
        json!({ "type": "collab_waiting_end", "sender_thread_id": "s", "call_id": text, "statuses": { text: { "errored": text } } }),
        in_turn("task_started", json!({ "model_context_window": 9 })),
        in_turn("task_complete", json!({ "last_agent_message": text })),
        in_turn("turn_aborted", json!({ "reason": "interrupted" })),
        in_turn("thread_name_updated", json!({ "thread_name": text })),
        in_turn("exec_command_begin", command.clone()),
        in_turn("exec_command_end", command),
        in_turn(
            "exec_approval_request",
            json!({ "command": ["touch", text], "cwd": "/w", "reason": text, "proposed_execpolicy_amendment": [text], "parsed_cmd": [] }),
        ),
        in_turn("apply_patch_approval_request", json!({ "changes": changes, "reason": text, "grant_root": text })),
        in_turn(
            "request_user_input",
            json!({ "questions": [question(json!([{ "label": text, "description": text }])), question(Value::Null)] }),
        ),
        in_turn("mcp_tool_call_begin", json!({ "invocation": invocation })),
        in_turn(
            "mcp_tool_call_end",
            json!({ "invocation": invocation, "duration": { "secs": 0, "nanos": 0 }, "result": { "Err": text } }),
        ),
        in_turn("patch_apply_begin", json!({ "auto_approved": false, "changes": changes })),
        in_turn(
            "patch_apply_end",
            json!({ "stdout": text, "stderr": text, "success": false, "changes": changes, "status": "failed" }),
        ),
        in_turn("agent_message_content_delta", json!({ "delta": text })),
        in_turn("agent_message_content_delta", json!({ "delta": "```rust\nfn a() {\n/* b\n" })),
        in_turn("plan_delta", json!({ "delta": text })),
        in_turn("reasoning_content_delta", json!({ "delta": text, "summary_index": 0 })),
        in_turn("reasoning_raw_content_delta", json!({ "delta": text, "content_index": 0 })),
    ];
    for kind in ["spawn", "interaction", "close", "resume"] {
        let agent = if matches!(kind, "spawn" | "interaction") { format!("agent_{kind}") } else { kind.to_owned() };
        all.push(in_turn(&format!("collab_{agent}_begin"), agents.clone()));
        all.push(in_turn(&format!("collab_{agent}_end"), agents.clone()));
    }
    for item in items {
        all.push(in_turn("item_started", json!({ "item": item })));
        all.push(in_turn("item_completed", json!({ "item": item })));
    }
    all
}

pub(super) fn event(value: &Value) -> EventMessage {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{value}: {error}"))
}

/// The names that the protocol accepts are in its error about a name that it does not know.
#[test]
fn the_properties_know_every_kind_of_event() {
    let error = serde_json::from_value::<EventMessage>(json!({ "type": "?" })).unwrap_err().to_string();
    let known: BTreeSet<&str> = error.split('`').skip(3).step_by(2).collect();
    let used: Vec<Value> = events("x");
    let errors: Vec<String> = used
        .iter()
        .filter_map(|value| serde_json::from_value::<EventMessage>(value.clone()).err())
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, [""; 0]);
    let used: BTreeSet<&str> = used.iter().filter_map(|event| event["type"].as_str()).collect();
    // The second name of the same event.
    let missing: Vec<_> =
        known.difference(&used).filter(|it| !matches!(**it, "turn_started" | "turn_complete")).collect();
    assert!(known.len() > 50, "{error}");
    assert!(missing.is_empty(), "{missing:?}");
}

fn answers(text: &str) -> Vec<HostAnswer> {
    let entry = |id: &str| MenuEntry {
        id: id.to_owned(),
        label: text.to_owned(),
        about: text.to_owned(),
        is_on: true,
        detail: json!({ "created": 5, "updated": i64::MAX, "branch": text, "folder": text, "efforts": [text] }),
    };
    let menus = [
        Menu::Models,
        Menu::Features,
        Menu::Skills,
        Menu::Branches,
        Menu::Commits,
        Menu::Sessions { everywhere: true },
    ];
    let history = events(text).iter().map(|value| StoredRecord::Event(event(value))).collect();
    let opened = OpenedSession { history, notes: vec![text.to_owned()], name: Some(text.to_owned()) };
    let mut all = vec![
        HostAnswer::Done,
        HostAnswer::Failed(text.to_owned()),
        HostAnswer::History(0, Some(text.to_owned())),
        HostAnswer::History(1, None),
        HostAnswer::Files(text.to_owned(), vec![text.to_owned()]),
        HostAnswer::Image(text.to_owned(), Some(PathBuf::from(text))),
        HostAnswer::Image(text.to_owned(), None),
        HostAnswer::Prompt(text.to_owned()),
        HostAnswer::Diff(Some(format!("diff --git a/{text} b/{text}\n@@ -1 +1 @@\n-{text}\n+ {text}\n"))),
        HostAnswer::Diff(None),
        HostAnswer::Opened(Box::new(opened)),
        HostAnswer::Text(Topic::McpServers, vec![text.to_owned()]),
        HostAnswer::Text(Topic::Apps, vec![text.to_owned()]),
        HostAnswer::Text(Topic::Phases, vec![text.to_owned()]),
        HostAnswer::Renamed(text.to_owned()),
        HostAnswer::Skills(vec![(text.to_owned(), text.to_owned(), PathBuf::from(text))]),
        HostAnswer::ServerPrompts(vec![PromptEntry {
            command: format!("mcp:{text}"),
            description: text.to_owned(),
            inserted: None,
        }]),
        HostAnswer::LoggedOut,
    ];
    all.extend(menus.map(|menu| HostAnswer::Entries(menu, vec![entry("a"), entry("b")])));
    all
}

#[derive(Debug, Clone)]
enum Happening {
    Key(Key),
    Paste(String),
    Event(usize, String),
    Answer(usize, String),
    Edited(bool, String),
    Resize(u16, u16),
    Focus(bool),
    Tick,
    Background(u8),
}

/// Texts that break drawing: wide, combined, hidden and directing characters, line ends, Markdown.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "\\PC{0,12}",
        2 => Just("a\nb\r\nc\td\u{1b}[2J\u{7}".to_owned()),
        1 => Just("漢字 e\u{301} 👩‍👩‍👧 \u{202e}x\u{200b}".to_owned()),
        1 => Just("# a\n\n| b | c |\n|---|---|\n| `d` | **e** |\n\n- f\n  1. g\n> h\n```rust\nfn i() {}\n".to_owned()),
        1 => Just("x".repeat(500)),
        1 => Just(String::new()),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    let code = prop_oneof![
        2 => any::<char>().prop_filter("control characters are no keys", |it| !it.is_control()).prop_map(KeyCode::Char),
        6 => prop::sample::select("a/@$!?yn12qwctdugGNjk pobrvz_".chars().collect::<Vec<_>>()).prop_map(KeyCode::Char),
        8 => prop::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::Backspace, KeyCode::Delete, KeyCode::Left,
            KeyCode::Right, KeyCode::Up, KeyCode::Down, KeyCode::Home, KeyCode::End, KeyCode::PageUp,
            KeyCode::PageDown, KeyCode::F(1), KeyCode::Insert,
        ]),
    ];
    (code, prop::bool::weighted(0.25), prop::bool::weighted(0.1), prop::bool::weighted(0.1))
        .prop_map(|(code, ctrl, alt, shift)| Key { code, mods: KeyMods { ctrl, alt, shift } })
}

/// Keys that write, so that commands are run and menus opened.
fn command() -> impl Strategy<Value = Vec<Happening>> {
    let rows = crate::commands::COMMANDS.iter().map(|row| format!("/{}", row.name)).collect::<Vec<_>>();
    prop::sample::select(rows).prop_map(|line| {
        let typed = line.chars().map(Key::char).chain([Key::plain(KeyCode::Enter)]);
        typed.map(Happening::Key).collect()
    })
}

fn happening() -> impl Strategy<Value = Vec<Happening>> {
    let (n_events, n_answers) = (events("").len(), answers("").len());
    prop_oneof![
        12 => key().prop_map(|key| vec![Happening::Key(key)]),
        2 => command(),
        2 => text().prop_map(|text| vec![Happening::Paste(text)]),
        8 => (0..n_events, text()).prop_map(|(at, text)| vec![Happening::Event(at, text)]),
        3 => (0..n_answers, text()).prop_map(|(at, text)| vec![Happening::Answer(at, text)]),
        1 => (any::<bool>(), text()).prop_map(|(is_good, text)| vec![Happening::Edited(is_good, text)]),
        2 => (1..140_u16, 1..40_u16).prop_map(|(columns, rows)| vec![Happening::Resize(columns, rows)]),
        1 => (1..4_u16, 1..4_u16).prop_map(|(columns, rows)| vec![Happening::Resize(columns, rows)]),
        1 => any::<bool>().prop_map(|has_focus| vec![Happening::Focus(has_focus)]),
        1 => Just(vec![Happening::Tick]),
        1 => any::<u8>().prop_map(|grey| vec![Happening::Background(grey)]),
    ]
}

/// A client with its screen.
struct Scene {
    app: App,
    screen: Screen,
    effects: Vec<Effect>,
    now: Duration,
}

impl Scene {
    fn new(size: ScreenSize, has_alternate_screen: bool) -> Self {
        let settings =
            AppSettings { depth: ColourDepth::Exact, has_alternate_screen, finds_bursts: true, ..settings() };
        let mut scene = Self {
            app: App::new(settings),
            screen: Screen::new(size, 0, Insertion::Region),
            effects: Vec::new(),
            now: Duration::ZERO,
        };
        scene.app.resize(size);
        scene.event(configured());
        scene.draw();
        scene
    }

    fn event(&mut self, msg: EventMessage) {
        self.effects.extend(self.app.event(&Event { id: String::new(), msg }, self.now));
    }

    fn happens(&mut self, happening: Happening) {
        let now = self.now;
        let effects = match happening {
            Happening::Key(key) => self.app.key(key, now),
            Happening::Paste(text) => self.app.paste(&text, now),
            Happening::Event(at, text) => {
                let all = events(&text);
                self.app.event(&Event { id: String::new(), msg: event(&all[at % all.len()]) }, now)
            }
            Happening::Answer(at, text) => {
                let all = answers(&text);
                self.app.answered(all[at % all.len()].clone(), now)
            }
            Happening::Edited(true, text) => self.app.edited(Ok(text)),
            Happening::Edited(false, text) => self.app.edited(Err(text)),
            Happening::Focus(has_focus) => self.app.focus(has_focus),
            Happening::Tick => self.app.tick(now),
            Happening::Background(grey) => {
                self.app.terminal_answered(TerminalAnswer::Background(grey, grey, grey));
                Vec::new()
            }
            Happening::Resize(columns, rows) => {
                let size = ScreenSize { columns, rows };
                self.app.resize(size);
                self.screen.resize(size, None);
                Vec::new()
            }
        };
        self.effects.extend(effects);
    }

    /// Draws the state as the driver does, and checks that it fits.
    fn draw(&mut self) -> View {
        if self.app.has_page() != self.screen.has_page() {
            self.screen.set_page(self.app.has_page());
        }
        let history = self.app.take_history();
        let view = self.app.view(self.now);
        let size = self.app.size;
        assert!(view.lines.len() <= usize::from(size.rows), "{} rows in {size:?}", view.lines.len());
        if let Some((x, y)) = view.cursor {
            assert!(x < size.columns.max(1) && usize::from(y) < view.lines.len().max(1), "{x}, {y} in {size:?}");
        }
        let bytes = self.screen.frame(history, &view);
        let is_command = |byte: &u8| byte.is_ascii_control() && !b"\r\n\x1b\x07\x08\t".contains(byte);
        assert!(!bytes.iter().any(is_command), "a text commands the terminal");
        view
    }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn anything_leaves_a_state_that_can_be_drawn(
        happenings in prop::collection::vec((happening(), 0..700_u64), 0..50),
        (columns, rows) in (1..120_u16, 1..40_u16),
        has_alternate_screen in prop::bool::weighted(0.8),
    ) {
        let mut scene = Scene::new(ScreenSize { columns, rows }, has_alternate_screen);
        for (happenings, later) in happenings {
            for happening in happenings {
                scene.now += Duration::from_millis(later);
                scene.happens(happening);
                scene.draw();
            }
        }
        scene.screen.leave();
    }

    /// A text that was typed or pasted for the model is in the draft, waits, was sent, or can be brought back.
    #[test]
    fn no_text_is_lost(happenings in prop::collection::vec((happening(), 0..700_u64), 0..50)) {
        let mut scene = Scene::new(ScreenSize { columns: 80, rows: 24 }, true);
        let (mut written, mut next) = (Vec::new(), '一');
        for (happenings, later) in happenings {
            for happening in happenings {
                scene.now += Duration::from_millis(later);
                match happening {
                    // What deletes text on purpose, and what another session or the editor replaces.
                    Happening::Key(key) if is_deleting(&scene.app, key) => {}
                    Happening::Edited(true, _) => {}
                    // The text of the answer is no text of the person.
                    Happening::Key(key) if key.typed().is_some() => {
                        let takes_text = scene.app.page.is_none() && !scene.app.asking.is_open() && scene.app.menu.is_none();
                        let key = if takes_text && key.typed() == Some('a') { Key::char(next) } else { key };
                        scene.happens(Happening::Key(key));
                        if key == Key::char(next) {
                            written.push(next.to_string());
                            next = char::from_u32(u32::from(next) + 1).unwrap();
                        }
                    }
                    Happening::Paste(_) => {
                        // On a page the text is searched for, and the next search replaces it.
                        let takes_text = scene.app.page.is_none();
                        let text = next.to_string();
                        scene.happens(Happening::Paste(text.clone()));
                        if takes_text {
                            written.push(text);
                        }
                        next = char::from_u32(u32::from(next) + 1).unwrap();
                    }
                    happening => scene.happens(happening),
                }
                scene.draw();
            }
        }
        let kept = format!("{:?} {:?}", scene.app, scene.effects);
        for text in written {
            prop_assert!(kept.contains(&text), "{text} is lost");
        }
    }

    #[test]
    fn any_bytes_of_a_terminal_leave_a_state_that_can_be_drawn(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..20),
                "\u{1b}\\[[<?>=]?[0-9;:]{0,6}[a-zA-Z~]".prop_map(String::into_bytes),
                "\u{1b}[\\]P_^X][0-9a-z;:/?]{0,9}(\u{7}|\u{1b}\\\\)?".prop_map(String::into_bytes),
            ],
            0..30,
        ),
    ) {
        let mut scene = Scene::new(ScreenSize { columns: 40, rows: 12 }, true);
        let mut reader = InputReader::default();
        for (at, piece) in pieces.iter().enumerate() {
            let mut inputs = Vec::new();
            reader.feed(piece, &mut inputs);
            if at % 4 == 3 {
                reader.time_out(&mut inputs);
            }
            for input in inputs {
                scene.now += Duration::from_millis(30);
                match input {
                    Input::Key(key) => scene.happens(Happening::Key(key)),
                    Input::Paste(text) => scene.happens(Happening::Paste(text)),
                    Input::Focus(has_focus) => scene.happens(Happening::Focus(has_focus)),
                    Input::Mouse(mouse) => {
                        let effects = scene.app.mouse(mouse, scene.now);
                        scene.effects.extend(effects);
                    }
                    Input::Answer(answer) => drop(scene.app.terminal_answered(answer)),
                }
            }
            scene.draw();
        }
    }
}

/// Whether a key removes text of the person, or would in the state of the client.
fn is_deleting(app: &App, key: Key) -> bool {
    use crate::keymap::table::Action as A;
    use crate::keymap::table::Place;
    const DELETING: [A; 11] = [
        A::DeleteBefore,
        A::DeleteAfter,
        A::KillWordBefore,
        A::KillWordAfter,
        A::KillToStart,
        A::KillToEnd,
        A::Undo,
        A::Redo,
        A::Cancel,
        A::End,
        A::Yank,
    ];
    let action = app.settings.keymap.action(Place::Composer, key);
    // Fields and answers have their own keys: Esc closes them, and Backspace deletes with every modifier.
    let closes = matches!(key.code, KeyCode::Esc | KeyCode::Backspace) && (app.field.is_some() || app.asking.is_open());
    // In vim's normal mode letters are commands, many of which delete.
    let is_vim = app.composer.is_vim_normal() && key.typed().is_some_and(|letter| letter != 'i');
    action.is_some_and(|action| DELETING.contains(&action)) || closes || is_vim
}

#[test]
fn a_paste_of_ten_megabytes_is_kept_whole() {
    let mut scene = Scene::new(ScreenSize { columns: 80, rows: 24 }, true);
    let text = "0123456789 abcdefghi\n".repeat(500_000);
    scene.happens(Happening::Paste(text.clone()));
    for key in ["left", "right", "alt-b", "home", "end"] {
        scene.happens(Happening::Key(crate::keymap::spelling::parse_key(key).unwrap()));
        scene.draw();
    }
    assert!(scene.app.composer.draft().clip().expanded() == text);
}

#[test]
fn a_storm_of_sizes_while_a_reply_arrives_leaves_every_line_once() {
    let mut scene = Scene::new(ScreenSize { columns: 80, rows: 24 }, true);
    scene.event(event(&json!({ "type": "task_started", "turn_id": "t", "model_context_window": null })));
    let mut said = Vec::new();
    for at in 0..300_u16 {
        let piece = json!({ "type": "agent_message_content_delta", "thread_id": "s", "turn_id": "t", "item_id": "i", "delta": format!("n{at}\n") });
        scene.event(event(&piece));
        let size = ScreenSize { columns: 1 + at * 37 % 150, rows: 1 + at * 11 % 50 };
        scene.app.resize(size);
        scene.screen.resize(size, None);
        let lines = scene.app.take_history();
        said.extend(lines.iter().map(|line| line.to_string().replace(['•', ' '], "")));
        let view = scene.app.view(scene.now);
        scene.screen.frame(lines, &view);
    }
    let item = json!({ "type": "item_completed", "thread_id": "s", "turn_id": "t", "item": { "type": "AgentMessage", "id": "i", "content": [{ "type": "Text", "text": (0..300).map(|at| format!("n{at}\n")).collect::<String>() }] } });
    scene.event(event(&item));
    said.extend(scene.app.take_history().iter().map(|line| line.to_string().replace(['•', ' '], "")));
    // On a narrow terminal a word takes several lines.
    let expected: String = (0..300).map(|at| format!("n{at}")).collect();
    assert!(said.concat().contains(&expected), "{}", said.concat());
}
