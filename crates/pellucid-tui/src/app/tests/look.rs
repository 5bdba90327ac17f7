//! What the model will see: when the client asks for it, and what it shows.

use expect_test::Expect;
use expect_test::expect;
use pellucid_protocol::cache::CacheVerdict;
use pellucid_protocol::price::Money;
use pellucid_protocol::usage::UsageSplit;

use std::collections::BTreeMap;

use super::*;
use crate::host::HostAnswer;
use crate::keymap::table::ACTIONS;
use crate::keymap::table::Place;
use crate::look::dock::dock;
use crate::look::report::CacheDivergence;
use crate::look::report::CacheOutlook;
use crate::look::report::LeftOut;
use crate::look::report::LookAnswer;
use crate::look::report::LookCall;
use crate::look::report::LookDraft;
use crate::look::report::LookGroup;
use crate::look::report::LookReport;
use crate::look::report::LookRow;
use crate::look::report::LookSize;
use crate::look::report::RequestPreview;
use crate::look::report::Whose;
use crate::text::palette::Palette;

fn size(bytes: usize, tokens_kept: usize) -> LookSize {
    let cost = Money::parse(&format!("0.{:06}", bytes * 7), "USD");
    LookSize { bytes, tokens: bytes / 4, tokens_kept, cost }
}

fn row(part: &str, origin: &str, start: usize, bytes: usize, kept: usize) -> LookRow {
    let (part, origin, status) = (part.to_owned(), origin.to_owned(), "full".to_owned());
    LookRow { part, origin, whose: Whose::Yours, size: size(bytes, kept), start, status }
}

fn report(outlook: CacheOutlook) -> LookReport {
    let group = |name: &str, bytes, kept, rows| LookGroup { name: name.to_owned(), size: size(bytes, kept), rows };
    let tools = vec![
        row("exec_command", "pack exec_command.toml", 4000, 3200, 800),
        row("find", "provided mcp_servers.wiki", 7200, 800, 200),
    ];
    LookReport {
        model: "gpt-x".to_owned(),
        pack: "codex".to_owned(),
        size: size(8000, 1990),
        window: Some(100_000),
        fresh: size(7000, 0),
        groups: vec![
            group("tools", 4000, 1000, tools),
            group(
                "your files",
                3960,
                990,
                vec![row("0 user_instructions (user)", "docs/AGENTS.md:1-12", 0, 3960, 990)],
            ),
            group("conversation", 40, 0, vec![row("1 user", "user", 3960, 40, 0)]),
        ],
        left_out: vec![LeftOut { what: "~/AGENTS.md".to_owned(), why: "missing".to_owned(), is_loss: false }],
        outlook,
        ..LookReport::default()
    }
}

fn broken() -> CacheOutlook {
    CacheOutlook::Breaks(Box::new(CacheDivergence {
        byte: 9,
        part: "model".to_owned(),
        cause: "model".to_owned(),
        what: "model changed, from fact model".to_owned(),
        changes: vec!["changed: model, from fact model".to_owned()],
        tokens: 1990,
        cost: Money::parse("0.0051", "USD"),
        advice: "keep one model for a session".to_owned(),
    }))
}

impl Desk {
    fn looked(&mut self, answer: LookAnswer) {
        let now = self.now();
        self.effects.extend(self.app.answered(HostAnswer::Looked(Box::new(answer)), now));
    }

    /// The questions about the next request since the last call.
    fn questions(&mut self) -> Vec<LookCall> {
        let question = |effect| match effect {
            Effect::Ask(HostCall::Look(call)) => Some(call),
            _ => None,
        };
        std::mem::take(&mut self.effects).into_iter().filter_map(question).collect()
    }

    /// The texts of the drafts that are asked about.
    fn drafts(&mut self) -> Vec<String> {
        let text = |call| match call {
            LookCall::Report { draft, .. } => Some(draft_text(&draft)),
            _ => None,
        };
        self.questions().into_iter().filter_map(text).collect()
    }

    /// The screen with the styles of its lines, so that a mark that moves counts.
    fn screen_with_marks(&mut self) -> String {
        let now = self.now();
        format!("{:?}", self.app.view(now).lines)
    }

    /// The questions that a key asked, without those for a newer report.
    fn asked(&mut self) -> Vec<LookCall> {
        self.questions().into_iter().filter(|call| !matches!(call, LookCall::Report { .. })).collect()
    }

    fn pause(&mut self) {
        let now = self.now();
        self.effects.extend(self.app.tick(now));
    }
}

fn draft_text(draft: &LookDraft) -> String {
    match draft.inputs.as_slice() {
        [UserInput::Text { text, .. }] => text.clone(),
        [] => String::new(),
        other => format!("{other:?}"),
    }
}

#[track_caller]
fn check_rows(desk: &mut Desk, columns: u16, expected: &Expect) {
    desk.app.resize(ScreenSize { columns, rows: 24 });
    let now = desk.now();
    let lines: Vec<String> =
        desk.app.view(now).lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect();
    for line in &lines {
        assert!(crate::text::width::columns(line) <= usize::from(columns), "{line:?}");
    }
    expected.assert_eq(&format!("{}\n", lines.join("\n")));
}

#[test]
fn nothing_is_asked_while_nobody_looks_but_once_in_a_pause() {
    let mut desk = Desk::new();
    assert_eq!(desk.app.next_tick(Duration::from_secs(100)), None, "an idle client does not wake up");
    desk.write("hello");
    assert_eq!(desk.drafts(), Vec::<String>::new(), "no key asks");
    assert!(desk.app.next_tick(Duration::from_secs(100)).is_some());
    desk.pause();
    assert_eq!(desk.drafts(), ["hello"]);
    assert_eq!(desk.app.next_tick(Duration::from_secs(100)), None, "an answer is on its way");
    desk.looked(LookAnswer::Report(Ok(Box::new(report(CacheOutlook::Extends)))));
    assert_eq!(desk.app.next_tick(Duration::from_secs(100)), None, "nothing changed since");
    desk.press("left");
    desk.pause();
    assert_eq!(desk.drafts(), Vec::<String>::new(), "the same message is not asked about twice");
    desk.write("!");
    desk.pause();
    assert_eq!(desk.drafts(), ["hell!o"]);
}

#[test]
fn an_open_panel_follows_what_is_typed_one_question_at_a_time() {
    let mut desk = Desk::new();
    desk.press("ctrl-o");
    assert_eq!(desk.drafts(), [""], "the panel works before the first message");
    desk.write("ab");
    assert_eq!(desk.drafts(), Vec::<String>::new());
    desk.looked(LookAnswer::Report(Ok(Box::new(report(CacheOutlook::First)))));
    assert_eq!(desk.drafts(), ["ab"], "what was typed meanwhile is asked about together");
    desk.looked(LookAnswer::Report(Ok(Box::new(report(CacheOutlook::First)))));
    assert_eq!(desk.drafts(), Vec::<String>::new());
    desk.event(aborted());
    assert_eq!(desk.drafts(), ["ab"], "another state of the session is another request");
}

#[test]
fn the_change_of_settings_before_the_first_message_is_part_of_the_question() {
    let mut desk = Desk::new();
    desk.press("ctrl-o");
    let Some(LookCall::Report { draft, .. }) = desk.questions().pop() else { panic!("no question") };
    desk.write("x");
    desk.press("enter");
    let sent = desk.effects.iter().find_map(|effect| match effect {
        Effect::Submit(Operation::OverrideTurnContext(change)) => Some(change.clone()),
        _ => None,
    });
    assert_eq!(draft.change.map(|change| *change), sent);
    assert!(sent.is_some());
}

#[test]
fn the_panel_shows_groups_and_how_the_request_continues_the_last_one() {
    let mut desk = Desk::new();
    desk.press("ctrl-o");
    desk.looked(LookAnswer::Report(Ok(Box::new(report(CacheOutlook::Extends)))));
    check_rows(
        &mut desk,
        80,
        &expect![[r#"
            ── next request ── gpt-x ── pack codex ─────────────────────────────────────────
             8,000 bytes, about 2,000 tokens, 2.0 % of 100,000, $0.056 without the answer
             in a fresh session: about 1,750 tokens, $0.049
             █▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
             tools        ████████████████     1,000   50 %    $0.028  cached
             your files   ████████████████       990   50 %    $0.028  cached
             conversation █                       10  0.5 %   $0.0003  new
             extends the last request: up to 1,990 tokens cached, 10 new
             1 left out on purpose · ctrl-o every row · alt-o bytes

            › Ask anything; / lists commands, @ finds files

              ? for keys                                                 100% context left
        "#]],
    );
    desk.looked(LookAnswer::Report(Ok(Box::new(report(broken())))));
    check_rows(
        &mut desk,
        50,
        &expect![[r#"
            ── next request ── gpt-x ── pack codex ───────────
             8,000 bytes, about 2,000 tokens, 2.0 % of 100,00…
             in a fresh session: about 1,750 tokens, $0.049
             █░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
             tools             1,000   50 %    $0.028  cached
             your files          990   50 %    $0.028  cached
             conversation         10  0.5 %   $0.0003  new
             breaks the cache (model): 1,990 tokens paid agai…
               changed: model, from fact model
             1 left out on purpose · ctrl-o every row · alt-o…

            › Ask anything; / lists commands, @ finds files

              ? for keys                   100% context left
        "#]],
    );
    desk.looked(LookAnswer::Report(Err("the rules of the project refuse the message".to_owned())));
    check_rows(
        &mut desk,
        50,
        &expect![[r#"
        ── next request
         the rules of the project refuse the message

        › Ask anything; / lists commands, @ finds files

          ? for keys                   100% context left
    "#]],
    );
}

#[test]
fn the_page_lists_every_row_and_its_keys_ask() {
    let mut desk = Desk::new();
    desk.write("/context");
    desk.press("enter");
    assert_eq!(desk.drafts(), [""]);
    desk.looked(LookAnswer::Report(Ok(Box::new(report(broken())))));
    check_rows(
        &mut desk,
        80,
        &expect![[r#"
            ── next request ── gpt-x ── pack codex ─────────────────────────────────────────
             8,000 bytes, about 2,000 tokens, 2.0 % of 100,000, $0.056 without the answer
             █▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
             breaks the cache (model): 1,990 tokens paid again, $0.0051 more, from byte 9 on
               changed: model, from fact model
               to avoid it: keep one model for a session
             in a fresh session: about 1,750 tokens, $0.049
              part and origin                               bytes  tokens    price
            ▾ tools (2)                                     4,000   1,000   $0.028 50 %
                exec_command       pack …ec_command.toml    3,200     800   $0.022 cached
                find               provided …ervers.wiki      800     200  $0.0056 cached
            ▾ your files                                    3,960     990   $0.028 50 %
                0 user_instructio… docs/AGENTS.md:1-12      3,960     990   $0.028 cached
            ▾ conversation                                     40      10  $0.0003 0.5 %
                1 user             user                        40      10  $0.0003 new
            not seen by the model
                ~/AGENTS.md: missing






            ── enter opens · w why · p bytes · e exact · c cache · x packs · q leaves
        "#]],
    );
    check_rows(
        &mut desk,
        120,
        &expect![[r#"
        ── next request ── gpt-x ── pack codex ─────────────────────────────────────────────────────────────────────────────────
         8,000 bytes, about 2,000 tokens, 2.0 % of 100,000, $0.056 without the answer
         ██▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
         breaks the cache (model): 1,990 tokens paid again, $0.0051 more, from byte 9 on
           changed: model, from fact model
           to avoid it: keep one model for a session
         in a fresh session: about 1,750 tokens, $0.049
          part and origin                                                                       bytes  tokens    price
        ▾ tools (2)                                                                             4,000   1,000   $0.028 50 %
            exec_command               pack exec_command.toml                                   3,200     800   $0.022 cached
            find                       provided mcp_servers.wiki                                  800     200  $0.0056 cached
        ▾ your files                                                                            3,960     990   $0.028 50 %
            0 user_instructions (user) docs/AGENTS.md:1-12                                      3,960     990   $0.028 cached
        ▾ conversation                                                                             40      10  $0.0003 0.5 %
            1 user                     user                                                        40      10  $0.0003 new
        not seen by the model
            ~/AGENTS.md: missing






        ── enter opens · w why · p bytes · e exact · c cache · x packs · q leaves
    "#]],
    );
    for (keys, expected) in [
        ("w", LookCall::Why(4000)),
        ("down down w", LookCall::Why(7200)),
        ("down w", LookCall::Why(0)),
        ("end w", LookCall::WhyNot(0)),
        ("c", LookCall::Cache),
        ("x", LookCall::Packs),
    ] {
        for key in keys.split(' ') {
            desk.press(key);
        }
        assert_eq!(desk.asked(), [expected], "{keys}");
    }
    desk.press("home");
    desk.press("enter");
    check_rows(
        &mut desk,
        80,
        &expect![[r#"
        ── next request ── gpt-x ── pack codex ─────────────────────────────────────────
         8,000 bytes, about 2,000 tokens, 2.0 % of 100,000, $0.056 without the answer
         █▓░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░
         breaks the cache (model): 1,990 tokens paid again, $0.0051 more, from byte 9 on
           changed: model, from fact model
           to avoid it: keep one model for a session
         in a fresh session: about 1,750 tokens, $0.049
          part and origin                               bytes  tokens    price
        ▸ tools (2)                                     4,000   1,000   $0.028 50 %
        ▾ your files                                    3,960     990   $0.028 50 %
            0 user_instructio… docs/AGENTS.md:1-12      3,960     990   $0.028 cached
        ▾ conversation                                     40      10  $0.0003 0.5 %
            1 user             user                        40      10  $0.0003 new
        not seen by the model
            ~/AGENTS.md: missing








        ── enter opens · w why · p bytes · e exact · c cache · x packs · q leaves
    "#]],
    );
    desk.looked(LookAnswer::Report(Ok(Box::new(report(broken())))));
    desk.questions();
    desk.press("e");
    assert!(matches!(desk.questions().as_slice(), [LookCall::Report { is_exact: true, .. }]));
    desk.press("p");
    assert!(matches!(desk.asked().as_slice(), [LookCall::Preview(_)]));
    let preview = RequestPreview { heading: "bytes".to_owned(), body: "{\"a\":1}".to_owned(), last: None };
    desk.looked(LookAnswer::Preview(Ok(Box::new(preview))));
    check_rows(
        &mut desk,
        40,
        &expect![[r#"
            ── bytes
              {
                "a":1
              }
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ~
            ── 100 % · / searches · q leaves
        "#]],
    );
    desk.press("w");
    assert_eq!(desk.asked(), [LookCall::Why(0)]);
    desk.looked(LookAnswer::Page { title: "Why".to_owned(), lines: vec!["because".to_owned()] });
    for page in ["why", "preview", "rows"] {
        assert!(desk.app.has_page(), "{page}");
        desk.press("q");
    }
    assert!(!desk.app.has_page());
}

#[test]
fn every_key_of_the_pages_does_something() {
    let keys_of = |place: Place| ACTIONS.iter().filter(move |row| row.place == place).flat_map(|row| row.keys.iter());
    for key in keys_of(Place::Look) {
        let mut desk = Desk::new();
        desk.write("/context");
        desk.press("enter");
        desk.looked(LookAnswer::Report(Ok(Box::new(report(broken())))));
        desk.screen();
        desk.press("down");
        let (before, _) = (desk.screen_with_marks(), desk.questions());
        desk.press(key);
        assert!(desk.screen_with_marks() != before || !desk.questions().is_empty(), "{key}");
    }
    for key in keys_of(Place::Bytes) {
        let mut desk = Desk::new();
        desk.press("alt-o");
        let preview = RequestPreview {
            heading: "bytes".to_owned(),
            body: "{\"a\":[1,2]}".to_owned(),
            last: Some("{}".to_owned()),
        };
        desk.looked(LookAnswer::Preview(Ok(Box::new(preview))));
        let (before, _) = (desk.screen_with_marks(), desk.questions());
        desk.press(key);
        assert!(desk.screen_with_marks() != before || !desk.questions().is_empty(), "{key}");
    }
}

#[test]
fn the_last_row_says_what_the_next_request_costs_and_warns() {
    let mut desk = Desk::new();
    desk.write("hi");
    desk.looked(LookAnswer::Report(Ok(Box::new(report(CacheOutlook::Extends)))));
    check_rows(
        &mut desk,
        80,
        &expect![[r#"

        › hi

          ? for keys               next: 2K tokens $0.056, extends · 100% context left
    "#]],
    );
    check_rows(
        &mut desk,
        50,
        &expect![[r#"

        › hi

          ? for keys                   100% context left
    "#]],
    );
    desk.looked(LookAnswer::Report(Ok(Box::new(report(broken())))));
    check_rows(
        &mut desk,
        100,
        &expect![[r#"

        › hi

          breaks the cache: 1,990 tokens paid again, $0.0051, from byte 9 on: model changed, from fact model
    "#]],
    );
    desk.press("enter");
    desk.event(started());
    check_rows(
        &mut desk,
        80,
        &expect![[r#"

        • Working (1s • esc to interrupt)

        › Ask anything; / lists commands, @ finds files

          ? for keys                                                 100% context left
    "#]],
    );
}

#[test]
fn the_last_row_shows_what_was_paid() {
    let mut desk = Desk::new();
    let items = ["cost", "cost-turn", "cached", "context"];
    desk.app.settings.status_line = Some(items.iter().map(|item| (*item).to_owned()).collect());
    desk.event(started());
    desk.questions();
    let request = UsageSplit { uncached: 200, cached_read: 800, output: 10, ..UsageSplit::default() };
    desk.event(EventMessage::ContextUsage { request, session: request, cache: CacheVerdict::unknown() });
    let Some(LookCall::Charge(_, asked)) = desk.questions().pop() else { panic!("no question") };
    assert_eq!(asked, request);
    desk.looked(LookAnswer::Spent(Money::parse("0.5", "USD")));
    desk.looked(LookAnswer::Charge(Money::parse("0.25", "USD")));
    desk.event(aborted());
    check_rows(
        &mut desk,
        80,
        &expect![[r#"

        › Ask anything; / lists commands, @ finds files

          $0.750 · $0.250 this turn · 80% cached
    "#]],
    );
    desk.looked(LookAnswer::Charge(None));
    check_rows(
        &mut desk,
        80,
        &expect![[r#"

        › Ask anything; / lists commands, @ finds files

          more than $0.750 · more than $0.250 this turn · 80% cached
    "#]],
    );
}

#[test]
fn the_list_of_files_says_what_the_model_was_shown() {
    let mut desk = Desk::new();
    desk.write("@a");
    desk.questions();
    let found = |desk: &mut Desk, query: &str| {
        let now = desk.now();
        let answer = HostAnswer::Files(query.to_owned(), vec!["a.rs".to_owned(), "b.rs".to_owned()]);
        let effects = desk.app.answered(answer, now);
        desk.effects.extend(effects);
    };
    found(&mut desk, "a");
    let asked = |desk: &mut Desk| desk.questions().into_iter().filter(|call| *call == LookCall::SeenFiles).count();
    assert_eq!(asked(&mut desk), 1);
    desk.looked(LookAnswer::SeenFiles(BTreeMap::from([("a.rs".to_owned(), "seen: lines 1-3".to_owned())])));
    let rows = |desk: &mut Desk| -> Vec<String> {
        desk.screen().lines().filter(|line| line.contains(".rs")).map(|line| line.trim().to_owned()).collect()
    };
    assert_eq!(rows(&mut desk), ["a.rs  seen: lines 1-3", "b.rs"]);
    desk.write(".");
    found(&mut desk, "a.");
    assert_eq!(asked(&mut desk), 0, "the answer holds as long as the list is open");
    assert_eq!(rows(&mut desk), ["a.rs  seen: lines 1-3", "b.rs"]);
    desk.press("esc");
    desk.write(" @b");
    found(&mut desk, "b");
    assert_eq!(asked(&mut desk), 1, "a list that is opened later asks again");
}

#[test]
fn a_narrow_panel_leaves_columns_out_and_cuts_no_number() {
    let mut rows = Vec::new();
    for width in [40, 48, 60] {
        let lines = dock(&report(CacheOutlook::Extends), width, 20, "", &Palette::plain());
        rows.extend(lines.iter().map(ToString::to_string).filter(|line| line.starts_with(" tools")));
    }
    expect![[r#"
        [
            " tools             1,000   50 %  cached",
            " tools             1,000   50 %    $0.028",
            " tools             1,000   50 %    $0.028  cached",
        ]"#]]
    .assert_eq(&format!("{rows:#?}"));
}
