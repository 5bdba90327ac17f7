mod amending;
mod copying;
mod frugal;
mod keeping;
mod look;
mod mouse;
mod past;
mod servers;
mod spoken;
mod time;
mod title;
mod waiting;

use std::path::PathBuf;

use pellucid_protocol::approval::ApplyPatchApprovalRequest;
use pellucid_protocol::approval::ExecApprovalRequest;
use pellucid_protocol::approval::ReviewDecision;
use pellucid_protocol::change::FileChange;
use pellucid_protocol::event::AbortReason;
use pellucid_protocol::event::Event;
use pellucid_protocol::event::EventMessage;
use pellucid_protocol::event::SessionConfigured;
use pellucid_protocol::id::SessionId;
use pellucid_protocol::id::TurnId;
use pellucid_protocol::input::UserInput;
use pellucid_protocol::question::RequestUserInput;
use pellucid_protocol::question::UserQuestion;
use pellucid_protocol::settings::ApprovalPolicy;
use pellucid_protocol::settings::SandboxPolicy;
use serde_json::json;

use super::manner::Manner;
use super::settings::Notifying;
use super::settings::Surroundings;
use super::*;
use crate::cells::transcript::TranscriptOptions;
use crate::commands::COMMANDS;
use crate::host::OpenedSession;
use crate::host::StoredRecord;
use crate::keymap::Keymap;
use crate::keymap::changes::KeyChange;
use crate::keymap::spelling::parse_key;
use crate::screen::Insertion;
use crate::text::palette::ColourDepth;

pub(super) fn settings() -> AppSettings {
    AppSettings {
        version: "0".to_owned(),
        transcript: TranscriptOptions::default(),
        around: Surroundings {
            provider: "Mock".to_owned(),
            instructions: "AGENTS.md".to_owned(),
            project_root: None,
            branch: None,
            has_guide: false,
            personality: None,
            workspace_write: SandboxPolicy::ReadOnly,
        },
        began: 0,
        keymap: Keymap::standard(),
        depth: ColourDepth::None,
        commands: COMMANDS.to_vec(),
        prompts: Vec::new(),
        skills: Vec::new(),
        n_stored: 0,
        finds_bursts: false,
        has_alternate_screen: true,
        has_modes: true,
        status_line: None,
        skips_full_access_warning: false,
        insertion: Insertion::Region,
        notifying: Notifying { of_turns: true, of_questions: true, has_text: true },
        manner: Manner::default(),
        kept: None,
        first: None,
    }
}

/// A client with a clock that moves a second with each key and event.
struct Desk {
    app: App,
    seconds: u64,
    effects: Vec<Effect>,
}

impl Desk {
    fn new() -> Self {
        let mut desk = Self { app: App::new(settings()), seconds: 0, effects: Vec::new() };
        desk.event(configured());
        desk.effects.clear();
        desk
    }

    fn now(&mut self) -> Duration {
        self.seconds += 1;
        Duration::from_secs(self.seconds)
    }

    fn event(&mut self, msg: EventMessage) {
        let now = self.now();
        self.effects.extend(self.app.event(&Event { id: String::new(), msg }, now));
    }

    fn press(&mut self, key: &str) {
        let now = self.now();
        self.effects.extend(self.app.key(parse_key(key).unwrap(), now));
    }

    fn write(&mut self, text: &str) {
        for char in text.chars() {
            let now = self.now();
            self.effects.extend(self.app.key(Key::char(char), now));
        }
    }

    /// The operations that were submitted since the last call, in short.
    fn submitted(&mut self) -> Vec<String> {
        let short = |effect: &Effect| match effect {
            Effect::Submit(Operation::UserInput { items, .. }) => {
                let text = items.iter().map(|item| match item {
                    UserInput::Text { text, .. } => text.clone(),
                    other => format!("{other:?}"),
                });
                Some(format!("say {}", text.collect::<Vec<_>>().join(" ")))
            }
            Effect::Submit(Operation::ExecApproval { decision, .. }) => Some(format!("{decision:?}")),
            Effect::Submit(Operation::Interrupt) => Some("interrupt".to_owned()),
            Effect::Submit(Operation::OverrideTurnContext(_)) => Some("settings".to_owned()),
            Effect::Submit(other) => Some(format!("{other:?}")),
            Effect::Quit => Some("quit".to_owned()),
            _ => None,
        };
        let all = self.effects.iter().filter_map(short).collect();
        self.effects.clear();
        all
    }

    fn screen(&mut self) -> String {
        let now = self.now();
        self.app.view(now).lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect()
    }

    fn draft(&self) -> &str {
        self.app.composer.draft().text()
    }
}

pub(super) fn configured() -> EventMessage {
    EventMessage::SessionConfigured(SessionConfigured {
        session_id: SessionId::new("s"),
        model: "m".to_owned(),
        model_provider_id: "p".to_owned(),
        approval_policy: ApprovalPolicy::OnRequest,
        sandbox_policy: SandboxPolicy::ReadOnly,
        cwd: PathBuf::from("/w"),
        reasoning_effort: None,
    })
}

fn started() -> EventMessage {
    EventMessage::TaskStarted {
        turn_id: TurnId::new("t"),
        model_context_window: Some(100_000),
        collaboration_mode_kind: CollaborationModeKind::Default,
    }
}

fn complete() -> EventMessage {
    EventMessage::TaskComplete { turn_id: TurnId::new("t"), last_agent_message: Some("done".to_owned()) }
}

fn aborted() -> EventMessage {
    EventMessage::TurnAborted { turn_id: TurnId::new("t"), reason: AbortReason::Interrupted }
}

fn asked(id: &str) -> EventMessage {
    EventMessage::ExecApprovalRequest(ExecApprovalRequest {
        call_id: id.to_owned(),
        approval_id: None,
        turn_id: TurnId::new("t"),
        command: vec!["touch".to_owned(), id.to_owned()],
        cwd: PathBuf::from("/w"),
        reason: None,
        network_approval_context: None,
        proposed_execpolicy_amendment: None,
        parsed_cmd: Vec::new(),
        explanation: Vec::new(),
    })
}

#[test]
fn the_first_message_selects_the_mode_and_later_ones_do_not() {
    let mut desk = Desk::new();
    desk.write("one");
    desk.press("enter");
    assert_eq!(desk.submitted(), ["settings", "say one"]);
    desk.event(started());
    desk.write("two");
    desk.press("enter");
    assert_eq!(desk.submitted(), ["say two"], "a message during a turn is given to it");
    desk.event(complete());
    desk.press("shift-tab");
    desk.write("three");
    desk.press("enter");
    assert_eq!(desk.submitted(), ["settings", "say three"]);
}

#[test]
fn a_message_before_the_session_is_ready_waits_for_it() {
    let mut desk = Desk { app: App::new(settings()), seconds: 0, effects: Vec::new() };
    desk.write("early");
    desk.press("enter");
    assert_eq!(desk.submitted(), Vec::<String>::new());
    desk.event(configured());
    assert_eq!(desk.submitted(), ["settings", "say early"]);
}

#[test]
fn kept_messages_are_sent_one_for_each_turn_and_come_back_when_it_is_interrupted() {
    let mut desk = Desk::new();
    desk.event(started());
    for text in ["one", "two", "three"] {
        desk.write(text);
        desk.press("tab");
    }
    assert!(desk.screen().contains("  ↳ one\n  ↳ two\n  ↳ three\n"));
    desk.event(complete());
    assert_eq!(desk.submitted(), ["settings", "say one"]);
    desk.event(started());
    desk.press("esc");
    assert_eq!(desk.submitted(), ["interrupt"]);
    desk.write("draft");
    desk.event(aborted());
    assert_eq!(desk.draft(), "two\nthree\ndraft");
}

#[test]
fn letters_of_a_sentence_decide_nothing_and_stay_in_the_draft() {
    let mut desk = Desk::new();
    desk.event(started());
    desk.write("tr");
    let now = Duration::from_secs(desk.seconds);
    let event = Event { id: String::new(), msg: asked("a") };
    desk.app.event(&event, now);
    for (at, char) in "y it\u{6e}".chars().enumerate() {
        let later = now + Duration::from_millis(50 * u64::try_from(at).unwrap());
        desk.effects.extend(desk.app.key(Key::char(char), later));
    }
    assert_eq!((desk.submitted(), desk.draft()), (Vec::new(), "try itn"));
    desk.press("y");
    assert_eq!(desk.submitted(), [format!("{:?}", ReviewDecision::Approved)]);
}

#[test]
fn approvals_are_asked_in_their_order_and_ctrl_c_forgets_the_rest() {
    let mut desk = Desk::new();
    desk.event(started());
    desk.event(asked("first"));
    desk.event(asked("second"));
    assert!(desk.screen().contains("touch first"));
    desk.press("y");
    assert!(desk.screen().contains("touch second"));
    desk.event(asked("third"));
    desk.press("ctrl-c");
    assert_eq!(desk.submitted(), ["Approved", "Abort"]);
    assert!(!desk.app.asking.is_open());
}

#[test]
fn a_question_explains_itself_and_stays_open() {
    let mut desk = Desk::new();
    desk.event(started());
    let EventMessage::ExecApprovalRequest(mut request) = asked("first") else { panic!() };
    request.explanation = vec!["Why you are asked".to_owned(), "  no rule matches".to_owned()];
    desk.event(EventMessage::ExecApprovalRequest(request));
    desk.press("?");
    assert!(desk.screen().contains("  no rule matches\n"), "{}", desk.screen());
    desk.press("q");
    assert!(desk.screen().contains("touch first") && desk.app.asking.is_open());
    assert_eq!(desk.submitted(), [""; 0]);
}

#[test]
fn ctrl_c_clears_the_draft_then_interrupts_then_ends() {
    let mut desk = Desk::new();
    desk.event(started());
    desk.write("draft");
    desk.press("ctrl-c");
    assert_eq!((desk.submitted(), desk.draft()), (Vec::new(), ""));
    desk.press("ctrl-c");
    assert_eq!(desk.submitted(), ["interrupt"]);
    desk.event(aborted());
    desk.press("ctrl-c");
    assert_eq!(desk.submitted(), ["quit"]);
}

#[test]
fn notifications_come_only_without_the_focus() {
    let mut desk = Desk::new();
    desk.event(complete());
    assert!(!desk.effects.iter().any(|effect| matches!(effect, Effect::Write(_))));
    desk.app.focus(false);
    desk.event(complete());
    assert!(desk.effects.contains(&Effect::Write(b"\x1b]9;done\x07".to_vec())));
    desk.effects.clear();
    desk.event(asked("a"));
    let written: Vec<_> = desk.effects.iter().filter(|effect| matches!(effect, Effect::Write(_))).collect();
    assert_eq!(written, [&Effect::Write(b"\x1b]9;Approval requested in w: touch a\x07".to_vec())], "once, with what");
}

#[test]
fn the_clock_of_a_turn_asks_for_one_frame_a_second_and_its_mark_for_two() {
    let mut desk = Desk::new();
    let now = desk.now();
    assert_eq!(desk.app.next_tick(now), None, "an idle client sleeps");
    desk.event(started());
    let second = Duration::from_secs(desk.seconds);
    let after = |millis| second + Duration::from_millis(millis);
    let mark = |desk: &mut Desk, now| {
        let lines = desk.app.view(now).lines;
        lines.iter().find_map(|line| {
            line.to_string().split(' ').next().filter(|it| "•◦".contains(*it) && !it.is_empty()).map(str::to_owned)
        })
    };
    assert_eq!(desk.app.next_tick(after(300)), Some(after(500)));
    assert_eq!(desk.app.next_tick(after(500)), Some(after(1000)));
    assert_eq!(mark(&mut desk, after(300)).as_deref(), Some("•"));
    assert_eq!(mark(&mut desk, after(500)).as_deref(), Some("◦"));
    desk.app.settings.manner.has_animations = false;
    assert_eq!(desk.app.next_tick(after(300)), Some(after(1000)));
    assert_eq!(mark(&mut desk, after(500)).as_deref(), Some("•"));
}

#[test]
fn every_command_of_the_table_does_something() {
    for row in COMMANDS {
        let mut desk = Desk::new();
        let before = desk.screen();
        desk.app.command(row.name, "", &mut desk.effects);
        let is_seen = desk.screen() != before || !desk.effects.is_empty() || !desk.app.take_history().is_empty();
        assert!(is_seen || row.name == "copy", "/{}", row.name);
    }
}

fn asked_to_patch(unified: &str) -> EventMessage {
    let change = FileChange::Update { unified_diff: unified.to_owned(), move_path: None };
    EventMessage::ApplyPatchApprovalRequest(ApplyPatchApprovalRequest {
        call_id: "c".to_owned(),
        turn_id: TurnId::new("t"),
        changes: [(PathBuf::from("/w/a.txt"), change)].into(),
        reason: None,
        grant_root: None,
        explanation: Vec::new(),
    })
}

#[test]
fn changes_of_blanks_can_be_hidden_before_a_decision() {
    let mut desk = Desk::new();
    desk.event(started());
    desk.event(asked_to_patch("@@ -1,3 +1,3 @@\n-  a b\n+a  b\n same\n-c\n+d\n"));
    let all = desk.screen();
    assert!(all.contains("-  a b") && all.contains("w hides changes of blanks"), "{all}");
    desk.press("w");
    let hidden = desk.screen();
    assert!(!hidden.contains("-  a b") && hidden.contains("2 changed lines differ only in blanks"), "{hidden}");
    desk.press("ctrl-a");
    assert!(!desk.screen().contains("-  a b"));
    desk.press("w");
    assert!(desk.screen().contains("-  a b"), "the page has the same key");
    desk.press("q");
    assert!(desk.screen().contains("-  a b"));
    assert_eq!(desk.submitted(), [""; 0]);
}

#[test]
fn a_menu_names_the_entry_in_use() {
    let mut desk = Desk::new();
    desk.write("/permissions");
    desk.press("enter");
    let rows: Vec<String> = desk.app.view(Duration::ZERO).lines.iter().map(ToString::to_string).collect();
    let options: Vec<&String> = rows.iter().filter(|row| row.contains(". ")).collect();
    assert_eq!(options.iter().filter(|row| row.ends_with(" (current)")).count(), 1, "{rows:?}");
}

#[test]
fn a_continued_session_says_what_is_left_of_its_context() {
    let usage = json!({
        "input_tokens": 141_000, "cached_input_tokens": 0, "output_tokens": 1_000, "reasoning_output_tokens": 0,
        "total_tokens": 142_000,
    });
    let info = json!({ "total_token_usage": usage, "last_token_usage": usage, "model_context_window": 272_000 });
    let count = |info| json!({ "type": "token_count", "info": info, "rate_limits": null });
    let history = [count(info), count(json!(null))];
    let history = history.map(|event| StoredRecord::Event(serde_json::from_value(event).unwrap()));
    let mut desk = Desk::new();
    desk.app.begin_with(OpenedSession { history: history.to_vec(), notes: Vec::new(), name: None });
    let view = desk.app.view(Duration::ZERO);
    assert!(view.lines.last().unwrap().to_string().ends_with("50% context left"));
}

#[test]
fn a_diff_that_does_not_fit_says_so_and_is_wide_on_a_wide_terminal() {
    let body: String = (0..60).map(|n| format!("-old {n}\n")).chain((0..60).map(|n| format!("+new {n}\n"))).collect();
    let mut desk = Desk::new();
    desk.event(asked_to_patch(&format!("@@ -1,60 +1,60 @@\n{body}")));
    let narrow = desk.screen();
    assert!(narrow.contains(" rows, ctrl-a shows all"), "{narrow}");
    desk.app.resize(ScreenSize { columns: 160, rows: 40 });
    assert!(desk.screen().lines().any(|row| row.contains("-old 3 ") && row.contains("+new 3")));
    desk.press("ctrl-a");
    assert!(desk.screen().lines().any(|row| row.contains("-old 3 ") && row.contains("+new 3")));
    desk.app.resize(ScreenSize { columns: 80, rows: 150 });
    let rows = desk.screen();
    assert!(rows.lines().all(|row| !(row.contains("-old 3") && row.contains("+new 3"))), "the page is laid out again");
    assert_eq!(rows.lines().filter(|row| row.contains("old ") || row.contains("new ")).count(), 120);
}

/// A client whose configuration gives actions these keys.
fn with_keys(changes: &[(&str, &[&str])]) -> Desk {
    let change = |(name, keys): &(&str, &[&str])| KeyChange {
        name: (*name).to_owned(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        location: "config.toml:7".to_owned(),
    };
    let keymap = Keymap::with(&changes.iter().map(change).collect::<Vec<_>>());
    let mut desk = Desk { app: App::new(AppSettings { keymap, ..settings() }), seconds: 0, effects: Vec::new() };
    desk.app.begin_with(OpenedSession { history: Vec::new(), notes: Vec::new(), name: None });
    desk.event(configured());
    desk
}

#[test]
fn keys_of_the_configuration_are_pressed_shown_and_checked() {
    let mut desk = with_keys(&[("composer.escape", &["f9"]), ("composer.fly", &["f2"])]);
    let said: String = desk.app.take_history().iter().map(|line| format!("{line}\n")).collect();
    assert!(said.contains("config.toml:7: `tui.keymap.composer.fly`"), "{said}");
    desk.event(started());
    assert!(desk.screen().contains("f9 to interrupt"), "{}", desk.screen());
    desk.press("esc");
    assert_eq!(desk.submitted(), [""; 0]);
    desk.press("f9");
    assert_eq!(desk.submitted(), ["interrupt"]);
    desk.app.command("keymap", "", &mut desk.effects);
    desk.app.resize(ScreenSize { columns: 140, rows: 90 });
    let page = desk.screen();
    assert!(page.contains("`tui.keymap.composer.fly`"), "{page}");
    let row = page.lines().find(|line| line.contains("composer.escape")).unwrap();
    assert!(row.starts_with("f9 ") && row.ends_with("(changed)"), "{row}");
}

fn asked_freely() -> EventMessage {
    let question = UserQuestion {
        id: "q".to_owned(),
        header: "h".to_owned(),
        question: "Why?".to_owned(),
        is_other: false,
        is_secret: false,
        options: None,
    };
    EventMessage::RequestUserInput(RequestUserInput {
        call_id: "c".to_owned(),
        turn_id: TurnId::new("t"),
        questions: vec![question],
    })
}

#[test]
fn a_question_without_options_takes_no_word_of_a_sentence_that_is_being_typed() {
    let mut desk = Desk::new();
    desk.event(started());
    desk.write("tr");
    let now = Duration::from_secs(desk.seconds);
    desk.app.event(&Event { id: String::new(), msg: asked_freely() }, now);
    for (at, key) in [Key::char('y'), Key::plain(crate::key::KeyCode::Enter)].into_iter().enumerate() {
        let later = now + Duration::from_millis(50 * u64::try_from(at).unwrap());
        desk.effects.extend(desk.app.key(key, later));
    }
    assert_eq!(desk.submitted(), ["settings", "say try"], "Enter sent the draft");
    desk.write("because");
    desk.press("enter");
    let answered = desk.submitted();
    assert!(matches!(&answered[..], [one] if one.contains("because")), "{answered:?}");
}

#[test]
fn pasted_text_and_half_written_answers_are_never_dropped() {
    let mut desk = Desk::new();
    desk.event(started());
    desk.event(asked_freely());
    desk.write("half an answer");
    let now = desk.now();
    desk.app.paste(" and more", now);
    desk.event(aborted());
    assert_eq!(desk.draft(), "half an answer and more", "the turn ended before the answer was sent");
    desk.press("ctrl-t");
    let now = desk.now();
    desk.app.paste("!", now);
    desk.press("q");
    assert_eq!(desk.draft(), "half an answer and more!", "a page has no place for a paste");
}

#[test]
fn a_narrow_window_shortens_words_and_says_so() {
    let mut desk = Desk::new();
    desk.app.resize(ScreenSize { columns: 30, rows: 20 });
    assert!(desk.screen().contains("\n› Ask anything\n"), "{}", desk.screen());
    desk.app.resize(ScreenSize { columns: 40, rows: 20 });
    assert!(desk.screen().contains("\n› Ask anything; / lists commands\n"), "{}", desk.screen());
    desk.press("?");
    assert!(desk.screen().contains("\n  tab             keep the message for …\n"), "{}", desk.screen());
    desk.press("?");
    desk.press("/");
    assert!(desk.screen().contains("\n  /model         choose the model and h…\n"), "{}", desk.screen());
}
