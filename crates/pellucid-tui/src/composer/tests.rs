use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use expect_test::Expect;
use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::commands::COMMANDS;
use crate::composer::drawing::PartStyles;
use crate::key::KeyCode;
use crate::key::KeyMods;
use crate::keymap::spelling::parse_key;
use crate::keymap::table::ACTIONS;

/// A composer at the keyboard of a test.
struct Desk {
    composer: Composer,
    keymap: Keymap,
    prompts: Vec<PromptEntry>,
    skills: Vec<SkillEntry>,
    is_working: bool,
    now: Duration,
    effects: Vec<ComposerEffect>,
}

impl Desk {
    fn new() -> Self {
        let skill = |name: &str| SkillEntry {
            name: name.to_owned(),
            description: format!("Does {name}."),
            path: PathBuf::from(format!("/skills/{name}/SKILL.md")),
        };
        let prompt =
            |command: &str| PromptEntry { command: command.to_owned(), description: String::new(), inserted: None };
        Self {
            composer: Composer::new(0),
            keymap: Keymap::standard(),
            prompts: ["prompts:fix", "mcp:depot:tidy"].map(prompt).into(),
            skills: vec![skill("alpha-skill"), skill("beta-skill")],
            is_working: false,
            now: Duration::ZERO,
            effects: Vec::new(),
        }
    }

    fn press(&mut self, key: Key) {
        self.now += Duration::from_millis(50);
        self.press_now(key);
    }

    fn press_now(&mut self, key: Key) {
        let context = ComposerContext {
            keymap: &self.keymap,
            commands: COMMANDS,
            prompts: &self.prompts,
            skills: &self.skills,
            is_working: self.is_working,
            finds_bursts: true,
        };
        self.effects.extend(self.composer.press(key, self.now, &context));
    }

    fn paste(&mut self, text: &str) {
        let context = ComposerContext {
            keymap: &self.keymap,
            commands: COMMANDS,
            prompts: &self.prompts,
            skills: &self.skills,
            is_working: self.is_working,
            finds_bursts: true,
        };
        self.effects.extend(self.composer.paste(text, &context));
    }

    /// Types a text in which `<name>` is a key.
    fn type_keys(&mut self, keys: &str) {
        let mut rest = keys;
        while let Some(char) = rest.chars().next() {
            if let Some((name, after)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
                self.press(parse_key(name).unwrap());
                rest = after;
            } else {
                self.press(Key::char(char));
                rest = &rest[char.len_utf8()..];
            }
        }
    }

    /// The text with `|` at the cursor, the open list, then the effects.
    fn state(&self) -> String {
        let draft = self.composer.draft();
        let (before, after) = draft.text().split_at(draft.cursor());
        let mut state = format!("{before}|{after}");
        if let Some(popup) = self.composer.popup() {
            let rows = popup.shown();
            let rows: Vec<_> =
                rows.iter().map(|(row, mark)| format!("{}{}", if *mark { ">" } else { "" }, row.label)).collect();
            state += &format!("\nlist: {}", rows.join(" "));
        }
        for effect in &self.effects {
            state += &match effect {
                ComposerEffect::Send(message) => format!("\nsend {:?}", message.text),
                ComposerEffect::Queue(message) => format!("\nqueue {:?}", message.text),
                other => format!("\n{other:?}"),
            };
        }
        state
    }
}

#[track_caller]
fn check_keys(keys: &str, expected: &Expect) {
    let mut desk = Desk::new();
    desk.type_keys(keys);
    expected.assert_eq(&desk.state());
}

#[test]
fn characters_and_words_are_walked_over() {
    check_keys("alpha beta<ctrl-a>", &expect!["|alpha beta"]);
    check_keys("alpha beta<ctrl-a><ctrl-f><right>", &expect!["al|pha beta"]);
    check_keys("alpha beta<home><end><ctrl-b><left>", &expect!["alpha be|ta"]);
    check_keys("alpha beta<home><alt-f>", &expect!["alpha| beta"]);
    check_keys("alpha beta<home><ctrl-right><alt-right>", &expect!["alpha beta|"]);
    check_keys("one two/three<alt-b><ctrl-left>", &expect!["one two|/three"]);
    check_keys("one two/three<alt-left>", &expect!["one two/|three"]);
    check_keys("日本<left>", &expect!["日|本"]);
}

#[test]
fn what_is_cut_can_be_put_back() {
    check_keys("alpha beta gamma<alt-b><ctrl-k><ctrl-w><ctrl-y>", &expect!["alpha beta |"]);
    check_keys("alpha beta<ctrl-u><ctrl-y><ctrl-y>", &expect!["alpha betaalpha beta|"]);
    check_keys("one two/three four<alt-backspace><ctrl-left><alt-delete>", &expect!["one two/| "]);
    check_keys("one two<home><alt-d>", &expect!["| two"]);
    check_keys("one two<ctrl-alt-h>", &expect!["one |"]);
    check_keys("one two three<ctrl-backspace><ctrl-left><ctrl-delete>", &expect!["one | "]);
    check_keys("a<ctrl-j>b<home><ctrl-u>", &expect!["a|b"]);
    check_keys("a<ctrl-j>b<up><ctrl-k>", &expect!["a|b"]);
}

#[test]
fn characters_are_deleted() {
    check_keys("abc<backspace><ctrl-h>", &expect!["a|"]);
    check_keys("abc<home><delete><ctrl-d>", &expect!["|c"]);
    check_keys("e\u{301}<backspace>", &expect!["|"]);
}

#[test]
fn lines_are_walked_over_with_the_wished_column() {
    check_keys(
        "aaaa<ctrl-j>bb<ctrl-j>cccc<up><up><up><down>",
        &expect![[r"
            aaaa
            |bb
            cccc"]],
    );
    check_keys(
        "aaa<ctrl-j>bb<shift-enter>cccc<up><up>",
        &expect![[r#"
        aaa|
        bb
        cccc"#]],
    );
    check_keys(
        "aaa<ctrl-j>bb<alt-enter>cccc<up><ctrl-a><ctrl-a>",
        &expect![[r#"
        |aaa
        bb
        cccc"#]],
    );
    check_keys(
        "aaa<ctrl-m>bb<ctrl-j>cccc<up><ctrl-p><ctrl-a><ctrl-e><ctrl-e>",
        &expect![[r#"
        aaa
        bb|
        cccc"#]],
    );
    check_keys(
        "aaaa<ctrl-j>b<ctrl-j>cccc<up><up><ctrl-n><down>",
        &expect![[r#"
        aaaa
        b
        cccc|"#]],
    );
}

#[test]
fn changes_are_undone_and_done_again() {
    check_keys("one two<ctrl-w><ctrl-_>", &expect!["one two|"]);
    check_keys("one two<ctrl-w><ctrl-/><alt-_>", &expect!["one |"]);
    check_keys("one<ctrl-c><ctrl-_>", &expect!["one|"]);
    check_keys("one two<ctrl-w><ctrl-_><ctrl-_><ctrl-_><alt-/><alt-_><alt-_>", &expect!["one |"]);
}

#[test]
fn enter_sends_the_trimmed_text_and_tab_keeps_it_for_later() {
    check_keys(
        "  hello <enter>",
        &expect![[r#"
        |
        send "hello""#]],
    );
    check_keys("   <enter>", &expect!["   |"]);
    check_keys(
        "hello<tab>",
        &expect![[r#"
        |
        send "hello""#]],
    );
    let mut desk = Desk::new();
    desk.is_working = true;
    desk.type_keys("later<tab>!ls<tab>");
    expect![[r#"
        !ls|
        queue "later""#]]
    .assert_eq(&desk.state());
}

#[test]
fn sent_messages_are_recalled() {
    check_keys(
        "one<enter>two<enter><up>",
        &expect![[r#"
        two|
        send "one"
        send "two""#]],
    );
    check_keys(
        "one<enter>two<enter><up><up><up>",
        &expect![[r#"
        |one
        send "one"
        send "two""#]],
    );
    check_keys(
        "one<enter>two<enter><ctrl-p><up><ctrl-n><down>",
        &expect![[r#"
        |
        send "one"
        send "two""#]],
    );
    check_keys(
        "one<enter><up>x<up>",
        &expect![[r#"
        |onex
        send "one""#]],
    );
    check_keys("draft<ctrl-c><up>", &expect!["draft|"]);
}

#[test]
fn a_line_that_begins_with_a_mark_is_not_a_message() {
    check_keys(
        "!ls -l<enter>",
        &expect![[r#"
        |
        Shell("ls -l")"#]],
    );
    check_keys(
        "!<enter>",
        &expect![[r#"
        |
        ExplainShell"#]],
    );
    check_keys(
        "/rename a b<enter>",
        &expect![[r#"
        |
        Command { name: "rename", words: "a b" }"#]],
    );
    check_keys(
        "/prompts:fix A=1<enter>",
        &expect![[r#"
        |
        Prompt { name: "fix", words: "A=1" }"#]],
    );
    check_keys(
        "/fly<enter>",
        &expect![[r#"
        /fly|
        UnknownCommand("fly")"#]],
    );
    check_keys(
        " /model<enter>",
        &expect![[r#"
        |
        send "/model""#]],
    );
    let mut desk = Desk::new();
    desk.is_working = true;
    desk.type_keys("/model<enter>");
    expect![[r#"
        /model|
        NotWhileWorking("model")"#]]
    .assert_eq(&desk.state());
}

#[test]
fn commands_are_listed_narrowed_completed_and_run() {
    check_keys(
        "/re",
        &expect![[r#"
            /re|
            list: >/review /rename /resume /redo"#]],
    );
    check_keys("/re<down><tab>", &expect!["/rename |"]);
    check_keys(
        "/re<up>",
        &expect![[r#"
            /re|
            list: /review /rename /resume >/redo"#]],
    );
    check_keys(
        "/dif<enter>",
        &expect![[r#"
        |
        Command { name: "diff", words: "" }"#]],
    );
    check_keys("/re<esc>", &expect!["/re|"]);
    check_keys(
        "/re<esc>n",
        &expect![[r#"
        /ren|
        list: >/rename"#]],
    );
    check_keys("/usr/bin", &expect!["/usr/bin|"]);
    check_keys("/prompts:f<tab>", &expect!["/prompts:fix |"]);
    check_keys("/mcp:<tab>", &expect!["/mcp:depot:tidy |"]);
    check_keys(
        "/tid<tab>x<enter>",
        &expect![[r#"
        |
        send "/mcp:depot:tidy x""#]],
    );
}

#[test]
fn skills_are_listed_and_bound_to_their_file() {
    check_keys(
        "use $al",
        &expect![[r#"
        use $al|
        list: >alpha-skill beta-skill"#]],
    );
    let mut desk = Desk::new();
    desk.type_keys("use $al<enter>now<enter>");
    let Some(ComposerEffect::Send(message)) = desk.effects.last() else { panic!("{:?}", desk.effects) };
    assert_eq!(message.text, "use $alpha-skill now");
    assert_eq!(message.skills, [("alpha-skill".to_owned(), PathBuf::from("/skills/alpha-skill/SKILL.md"))]);
    assert_eq!(message.labels, [(4..16, "$alpha-skill".to_owned())]);
}

#[test]
fn files_are_searched_and_named_in_the_text() {
    let mut desk = Desk::new();
    desk.type_keys("see @no");
    assert_eq!(
        desk.effects,
        [
            ComposerEffect::SearchFiles(String::new()),
            ComposerEffect::SearchFiles("n".to_owned()),
            ComposerEffect::SearchFiles("no".to_owned())
        ]
    );
    desk.effects.clear();
    let files = ["notes_two.txt", "my notes.txt"].map(|path| FoundFile { path: path.to_owned(), seen: String::new() });
    desk.composer.files_found("n", vec![]);
    desk.composer.files_found("no", files.to_vec());
    desk.type_keys("<down><enter>");
    expect![[r#"see "my notes.txt" |"#]].assert_eq(&desk.state());
}

#[test]
fn large_pastes_are_one_piece_that_can_be_shown() {
    let mut desk = Desk::new();
    let long = "line\r\n".repeat(300);
    desk.paste(&long);
    desk.type_keys("<backspace>");
    expect!["|"].assert_eq(&desk.state());
    desk.paste(&long);
    expect!["[Pasted Content 1500 chars] #2|"].assert_eq(&desk.state());
    desk.type_keys("<enter>");
    let Some(ComposerEffect::Send(message)) = desk.effects.last() else { panic!("{:?}", desk.effects) };
    assert_eq!(message.text, "line\n".repeat(300).trim());
    desk.type_keys("<up>");
    assert_eq!(desk.composer.draft().text(), "line\n".repeat(300).trim());
    let mut desk = Desk::new();
    desk.paste(&long);
    desk.type_keys("<alt-p>");
    assert_eq!(desk.composer.draft().text(), "line\n".repeat(300));
}

#[test]
fn images_are_numbered_by_their_order() {
    let mut desk = Desk::new();
    desk.type_keys("see ");
    desk.paste("/tmp/a.png");
    assert_eq!(desk.effects, [ComposerEffect::CheckPath("/tmp/a.png".to_owned())]);
    desk.effects.clear();
    desk.composer.attach_image(PathBuf::from("/tmp/a.png"));
    desk.composer.attach_image(PathBuf::from("/tmp/b.png"));
    expect!["see [Image #1] [Image #2] |"].assert_eq(&desk.state());
    desk.type_keys("<home><alt-f><alt-delete>");
    expect!["see| [Image #1] "].assert_eq(&desk.state());
    desk.type_keys("<enter>");
    let Some(ComposerEffect::Send(message)) = desk.effects.last() else { panic!("{:?}", desk.effects) };
    assert_eq!(
        (message.text.as_str(), message.images.as_slice()),
        ("see [Image #1]", &[PathBuf::from("/tmp/b.png")][..])
    );
    assert_eq!(message.labels, [(4..14, "[Image #1]".to_owned())]);
}

#[test]
fn keys_of_one_read_are_a_paste() {
    let mut desk = Desk::new();
    desk.now = Duration::from_secs(1);
    for char in "alpha one\rbeta two\rgamma".chars() {
        desk.press_now(if char == '\r' { Key::plain(KeyCode::Enter) } else { Key::char(char) });
    }
    expect![[r#"
        alpha one
        beta two
        gamma|"#]]
    .assert_eq(&desk.state());
    desk.now += Duration::from_millis(500);
    desk.type_keys("!<enter>");
    assert!(matches!(desk.effects.as_slice(), [ComposerEffect::Send(_)]));
}

#[test]
fn keys_that_are_not_about_the_text_become_effects() {
    check_keys(
        "<esc><ctrl-c><ctrl-d><ctrl-t><ctrl-o><alt-o><ctrl-v><alt-v><shift-tab><alt-up><alt-q><ctrl-z>",
        &expect![[r#"
            |
            Escape
            Cancel
            End
            Open(Transcript)
            Open(Context)
            Open(Preview)
            PasteImage
            PasteImage
            NextMode
            EditQueued
            Open(Waiting)
            Suspend"#]],
    );
    check_keys(
        "draft<ctrl-g>",
        &expect![[r#"
        draft|
        Editor("draft")"#]],
    );
}

#[test]
fn enter_behind_a_backslash_begins_a_new_line() {
    check_keys("one\\<enter>two", &expect!["one\ntwo|"]);
    let mut desk = Desk::new();
    desk.type_keys("C:\\\\<enter>");
    assert_eq!(desk.composer.draft().text(), "", "two backslashes are text");
    check_keys("one\\ two<home><right><right><right><right><enter>", &expect!["one\n| two"]);
}

#[test]
fn a_question_mark_in_an_empty_text_opens_the_sheet_of_keys() {
    let mut desk = Desk::new();
    desk.type_keys("?");
    assert!(desk.composer.is_sheet_open());
    desk.type_keys("?");
    assert!(!desk.composer.is_sheet_open());
    desk.type_keys("?a?");
    assert!(!desk.composer.is_sheet_open());
    assert_eq!(desk.composer.draft().text(), "a?");
}

#[test]
fn a_message_of_the_file_is_fetched() {
    let mut desk = Desk::new();
    desk.composer = Composer::new(2);
    desk.type_keys("<up>");
    assert_eq!(desk.effects, [ComposerEffect::FetchHistory(1)]);
    assert_eq!(desk.composer.history_fetched(1, Some("newest".to_owned())), []);
    assert_eq!(desk.composer.draft().text(), "newest");
}

/// Fails for an action of the composer or of its lists whose keys no test of this file presses.
#[test]
fn every_key_of_the_table_is_pressed_in_a_test() {
    let source = include_str!("tests.rs");
    let mut missing: BTreeSet<&str> = BTreeSet::new();
    for row in ACTIONS.iter().filter(|row| matches!(row.place, Place::Composer | Place::Popup)) {
        missing.extend(row.keys.iter().filter(|key| !source.contains(&format!("<{key}>"))));
    }
    assert_eq!(missing, BTreeSet::new());
}

#[derive(Debug, Clone)]
enum Stroke {
    Key(Key),
    Paste(String),
    Image,
    Files(usize),
    Draw(u16, u16),
}

fn strokes() -> impl Strategy<Value = Vec<Stroke>> {
    let mods =
        (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(ctrl, alt, shift)| KeyMods { ctrl, alt, shift });
    let code = prop_oneof![
        6 => prop_oneof![Just('a'), Just(' '), Just('/'), Just('@'), Just('$'), Just('!'), Just('日'), Just('\u{301}'), Just('?'), Just('\u{200d}'), any::<char>()].prop_map(KeyCode::Char),
        3 => proptest::sample::select(ACTIONS).prop_map(|row| row.keys.first().map_or(KeyCode::Esc, |key| parse_key(key).unwrap().code)),
    ];
    let table = proptest::sample::select(ACTIONS)
        .prop_map(|row| row.keys.first().map_or(Key::char('x'), |key| parse_key(key).unwrap()));
    let stroke = prop_oneof![
        4 => code.clone().prop_map(|code| Stroke::Key(Key::plain(code))),
        1 => (code, mods).prop_map(|(code, mods)| Stroke::Key(Key { code, mods })),
        4 => table.prop_map(Stroke::Key),
        1 => ".{0,40}".prop_map(Stroke::Paste),
        1 => Just(Stroke::Paste("x".repeat(1100))),
        1 => Just(Stroke::Image),
        1 => (0usize..20).prop_map(Stroke::Files),
        1 => (0u16..120, 0u16..40).prop_map(|(width, height)| Stroke::Draw(width, height)),
    ];
    proptest::collection::vec(stroke, 0..120)
}

proptest! {
    #[test]
    fn any_keys_leave_a_state_that_can_be_drawn(strokes in strokes(), width in 0u16..100, height in 0u16..30) {
        let mut desk = Desk::new();
        for stroke in strokes {
            match stroke {
                Stroke::Key(key) => desk.press(key),
                Stroke::Paste(text) => desk.paste(&text),
                Stroke::Image => desk.composer.attach_image(PathBuf::from("/tmp/a.png")),
                Stroke::Files(n) => {
                    let files = (0..n).map(|n| FoundFile { path: format!("file {n}"), seen: String::new() }).collect();
                    desk.composer.files_found("", files);
                }
                Stroke::Draw(width, height) => drop(desk.composer.draw(width, height, "hint", &PartStyles::default())),
            }
            let draft = desk.composer.draft();
            prop_assert!(draft.text().is_char_boundary(draft.cursor()));
            for piece in draft.pieces() {
                prop_assert!(draft.text().get(piece.range.clone()).is_some());
                prop_assert!(draft.cursor() <= piece.range.start || draft.cursor() >= piece.range.end);
            }
        }
        let drawn = desk.composer.draw(width, height, "hint", &PartStyles::default());
        let (x, y) = drawn.cursor.unwrap();
        prop_assert!(usize::from(y) < drawn.lines.len().max(1));
        prop_assert!(x < width.max(1));
        prop_assert!(drawn.lines.len() <= usize::from(height).max(1));
    }

    #[test]
    fn what_is_typed_is_in_the_draft_or_in_a_message(words in proptest::collection::vec("[a-z]{1,8}", 1..20), keys in proptest::collection::vec(0usize..5, 1..20)) {
        let mut desk = Desk::new();
        let mut typed = Vec::new();
        for (word, key) in words.iter().zip(keys) {
            desk.type_keys(word);
            typed.push(word.clone());
            desk.type_keys(["<enter>", "<ctrl-c>", "<ctrl-j>", " ", "<tab>"][key]);
        }
        let mut kept = desk.composer.draft().clip().expanded();
        for effect in &desk.effects {
            if let ComposerEffect::Send(message) = effect {
                kept += &message.text;
            }
        }
        for clip in desk.composer.everything_kept() {
            kept += &clip.expanded();
        }
        for word in typed {
            prop_assert!(kept.contains(&word), "{word} is lost");
        }
    }
}
