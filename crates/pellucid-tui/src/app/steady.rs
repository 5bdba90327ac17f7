//! A client and a terminal together: what streams, waits and typing cost, where every line goes, where the cursor is, and
//! whether every text can be read.

use std::time::Duration;

use pellucid_protocol::event::Event;
use ratatui_core::style::Color;
use serde_json::Value;
use serde_json::json;

use super::App;
use super::properties::event;
use super::properties::events;
use super::settings::AppSettings;
use super::tests::configured;
use super::tests::settings;
use crate::input::TerminalAnswer;
use crate::keymap::spelling::parse_key;
use crate::screen::Insertion;
use crate::screen::Screen;
use crate::screen::ScreenSize;
use crate::screen::model::Terminal;
use crate::text::palette::ColourDepth;
use crate::text::palette::Rgb;
use crate::text::palette::contrast;
use crate::text::width;

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

/// A client at a terminal.
struct Room {
    app: App,
    screen: Screen,
    terminal: Terminal,
    now: Duration,
}

impl Room {
    fn new(insertion: Insertion, saves_from_regions: bool) -> Self {
        let size = ScreenSize { columns: COLUMNS, rows: ROWS };
        let mut terminal = Terminal::new(usize::from(COLUMNS), usize::from(ROWS));
        terminal.saves_from_regions = saves_from_regions;
        let mut room = Self {
            app: App::new(AppSettings { insertion, ..settings() }),
            screen: Screen::new(size, 0, insertion),
            terminal,
            now: Duration::from_secs(1),
        };
        room.app.resize(size);
        room.app.event(&Event { id: String::new(), msg: configured() }, room.now);
        room.draw();
        room
    }

    fn event(&mut self, value: &Value) {
        self.app.event(&Event { id: String::new(), msg: event(value) }, self.now);
    }

    fn starts(&mut self) {
        self.event(&json!({ "type": "task_started", "turn_id": "t", "model_context_window": null }));
        self.event(&json!({ "type": "item_started", "thread_id": "s", "turn_id": "t", "item": { "type": "AgentMessage", "id": "i", "content": [] } }));
    }

    fn says(&mut self, piece: &str) {
        self.event(&json!({ "type": "agent_message_content_delta", "thread_id": "s", "turn_id": "t", "item_id": "i", "delta": piece }));
    }

    fn has_said(&mut self, text: &str) {
        let item = json!({ "type": "AgentMessage", "id": "i", "content": [{ "type": "Text", "text": text }] });
        self.event(&json!({ "type": "item_completed", "thread_id": "s", "turn_id": "t", "item": item }));
        self.event(&json!({ "type": "task_complete", "turn_id": "t", "last_agent_message": text }));
    }

    /// Presses keys, a second after each other.
    fn press(&mut self, keys: &str) {
        for key in keys.split(' ') {
            self.now += Duration::from_secs(1);
            self.app.key(parse_key(key).unwrap(), self.now);
        }
    }

    /// Draws as the driver does. Returns the bytes, which the terminal has shown.
    fn draw(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.app.has_page() != self.screen.has_page() {
            bytes.extend(self.screen.set_page(self.app.has_page()));
        }
        let history = self.app.take_history();
        let view = self.app.view(self.now);
        bytes.extend(self.screen.frame(history, &view));
        self.terminal.feed(&bytes);
        bytes
    }

    /// The row of the cursor up to the cursor.
    #[track_caller]
    fn before_cursor(&self) -> String {
        assert!(self.terminal.modes.contains(&25), "the cursor is hidden");
        let row: Vec<char> = self.terminal.rows()[self.terminal.y].chars().collect();
        let shown: String = row.into_iter().take(self.terminal.x).collect();
        shown
    }
}

/// A reply of 2,000 short words with something behind each of them.
fn words(behind: impl Fn(usize) -> &'static str) -> Vec<String> {
    (0..2000).map(|n| format!("word{n}{}", behind(n))).collect()
}

/// The bytes that are written for each byte of a reply that arrives four words at a time, in hundredths.
#[track_caller]
fn cost(insertion: Insertion, words: &[String]) -> usize {
    let mut room = Room::new(insertion, insertion == Insertion::Region);
    room.starts();
    let mut n_bytes = 0;
    for piece in words.chunks(4) {
        for word in piece {
            room.says(word);
        }
        room.now += Duration::from_millis(17);
        let frame = String::from_utf8(room.draw()).unwrap();
        n_bytes += frame.len();
        for command in ["\x1b[2J", "\x1b[3J", "\x1b[S", "\x1b[T", "\x1b[?1049"] {
            assert!(!frame.contains(command), "{command:?} in {frame:?}");
        }
        if !frame.is_empty() {
            assert!(frame.starts_with("\x1b[?2026h") && frame.ends_with("\x1b[?2026l"), "{frame:?}");
            assert_eq!((frame.matches("?2026h").count(), frame.matches("?2026l").count()), (1, 1));
        }
    }
    let text = words.concat();
    room.has_said(&text);
    n_bytes += room.draw().len();
    // The lines are what the whole reply is, once each.
    let mut whole = Room::new(insertion, insertion == Insertion::Region);
    whole.starts();
    whole.has_said(&text);
    whole.draw();
    assert_eq!(room.terminal.everything(), whole.terminal.everything());
    n_bytes * 100 / text.len()
}

#[test]
fn a_long_reply_is_written_once_in_whole_frames_and_moves_no_view() {
    let lines = |n: usize| if n % 12 == 11 { "\n" } else { " " };
    // A block that is open until it ends is written a second time then.
    let replies = [
        ("paragraphs", 300, words(|n| if n % 60 == 59 { "\n\n" } else { " " })),
        ("lines", 300, words(lines)),
        ("one line", 300, words(|_| " ")),
        ("open mark", 400, [vec!["an **open ".to_owned()], words(lines)].concat()),
        ("items", 300, words(|n| if n % 12 == 11 { "\n- " } else { " " })),
        ("one item", 400, [vec!["- ".to_owned()], words(|n| if n % 12 == 11 { "\n  " } else { " " })].concat()),
        ("quote", 400, [vec!["> ".to_owned()], words(|n| if n % 12 == 11 { "\n> " } else { " " })].concat()),
        ("code", 300, [vec!["```\n".to_owned()], words(lines)].concat()),
        ("marks", 300, words(|n| if n % 9 == 8 { " **b** `c` [d](e) " } else { " " })),
    ];
    for (name, most, words) in replies {
        for insertion in [Insertion::Region, Insertion::WholeScreen] {
            let cost = cost(insertion, &words);
            assert!(cost <= most, "{name}, {insertion:?}: {cost} bytes for 100");
        }
    }
}

#[test]
fn five_hundred_lines_are_in_the_scrollback_of_every_kind_of_terminal() {
    for (insertion, saves_from_regions) in
        [(Insertion::Region, true), (Insertion::WholeScreen, false), (Insertion::WholeScreen, true)]
    {
        let mut room = Room::new(insertion, saves_from_regions);
        room.starts();
        let lines: Vec<String> = (0..500).map(|n| format!("line{n}.")).collect();
        for line in &lines {
            room.says(&format!("{line}\n\n"));
            room.now += Duration::from_millis(17);
            room.draw();
        }
        room.has_said(&lines.join("\n\n"));
        room.draw();
        let everything = room.terminal.everything();
        let seen = everything.iter().filter_map(|row| row.trim_start_matches(['•', ' ']).strip_prefix("line"));
        let expected: Vec<String> = (0..500).map(|n| format!("{n}.")).collect();
        assert_eq!(seen.collect::<Vec<_>>(), expected, "{insertion:?}, {saves_from_regions}");
    }
}

#[test]
fn typing_costs_the_same_behind_five_thousand_cells() {
    let mut rooms = [Room::new(Insertion::Region, true), Room::new(Insertion::Region, true)];
    for n in 0..5000 {
        rooms[1].event(&json!({ "type": "warning", "message": format!("cell {n}") }));
    }
    let costs = rooms.map(|mut room| {
        room.draw();
        // The viewport is at the bottom in both.
        for n in 0..ROWS {
            room.event(&json!({ "type": "warning", "message": format!("last {n}") }));
        }
        room.draw();
        "a b c"
            .split(' ')
            .map(|key| {
                room.press(key);
                (room.app.view(room.now).lines.len(), room.draw().len())
            })
            .collect::<Vec<_>>()
    });
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0].iter().all(|(_, n_bytes)| *n_bytes <= 60), "{costs:?}");
}

#[test]
fn an_idle_client_writes_nothing_and_asks_for_no_frame() {
    let mut room = Room::new(Insertion::Region, true);
    room.starts();
    room.says("Hello.");
    room.has_said("Hello.");
    room.draw();
    for _ in 0..10 {
        room.now += Duration::from_secs(1);
        room.app.tick(room.now);
        assert_eq!(room.app.next_tick(room.now), None);
        assert_eq!(String::from_utf8(room.draw()).unwrap(), "");
    }
}

#[test]
fn the_cursor_is_behind_what_was_typed_wherever_text_is_typed() {
    let mut room = Room::new(Insertion::Region, true);
    for (key, text) in [("a", "› a"), ("b", "› ab"), ("left", "› a"), ("alt-enter", "  "), ("c", "  c")] {
        room.press(key);
        room.draw();
        assert_eq!(room.before_cursor().trim_end(), text.trim_end(), "after {key}");
    }
    room.press("ctrl-c / r e n a m e enter");
    room.draw();
    for (key, text) in [("x", "x"), ("y", "xy"), ("backspace", "x")] {
        room.press(key);
        room.draw();
        assert!(room.before_cursor().ends_with(text), "field: {:?}", room.before_cursor());
    }
    room.press("esc");
    room.starts();
    room.event(&json!({ "type": "request_user_input", "call_id": "c", "turn_id": "t", "questions": [{ "id": "q", "header": "H", "question": "Which?", "isOther": true, "options": [{ "label": "A", "description": "a" }] }] }));
    room.press("tab n o");
    room.draw();
    assert!(room.before_cursor().ends_with("note: no"), "note: {:?}", room.before_cursor());
    room.press("tab 1");
    room.press("ctrl-t /");
    room.draw();
    for (key, text) in [("W", "W"), ("h", "Wh")] {
        room.press(key);
        room.draw();
        assert!(room.before_cursor().ends_with(text), "search: {:?}", room.before_cursor());
    }
}

/// The same strings in every run: letters, wide characters, marks that join, emoji, hyphens and blanks.
fn strings() -> impl Iterator<Item = String> {
    const PIECES: [&str; 15] = ["a", "B", " ", "-", "é", "e\u{301}", "漢", "字", "か", "ｱ", "한", "😀", "ß", "…", "ไ"];
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 40).unwrap()
    };
    (0..3000).map(move |_| (0..1 + next() % 12).map(|_| PIECES[next() % PIECES.len()]).collect())
}

#[test]
fn three_thousand_strings_are_as_wide_in_the_composer_as_on_the_terminal() {
    let mut room = Room::new(Insertion::Region, true);
    for text in strings() {
        room.app.paste(&text, room.now);
        room.draw();
        assert_eq!(room.terminal.x, 2 + width::columns(&text), "{text:?}");
        assert_eq!(room.terminal.rows()[room.terminal.y].trim_end(), format!("› {text}").trim_end(), "{text:?}");
        room.press("ctrl-c");
    }
}

/// Every colour of every cell, of lists, of pages and of code can be read on the background that the terminal has.
#[test]
fn every_text_can_be_read_on_light_dark_and_solarized_grounds() {
    const GROUNDS: [Rgb; 4] = [Rgb(255, 255, 255), Rgb(0, 0, 0), Rgb(0xfd, 0xf6, 0xe3), Rgb(0x00, 0x2b, 0x36)];
    for ground in GROUNDS {
        let settings = AppSettings { depth: ColourDepth::Exact, ..settings() };
        let mut app = App::new(settings);
        app.resize(ScreenSize { columns: COLUMNS, rows: ROWS });
        app.terminal_answered(TerminalAnswer::Background(ground.0, ground.1, ground.2));
        let (now, mut n_coloured) = (Duration::from_secs(1), 0);
        for value in events("fn a() { \"text\" } // **b** `c` [d](e)\n") {
            app.event(&Event { id: String::new(), msg: event(&value) }, now);
            let lines = app.take_history().into_iter().chain(app.view(now).lines);
            for line in lines {
                for span in &line.spans {
                    let style = line.style.patch(span.style);
                    let behind = match style.bg {
                        Some(Color::Rgb(red, green, blue)) => Rgb(red, green, blue),
                        _ => ground,
                    };
                    let Some(colour) = style.fg.filter(|it| *it != Color::Reset) else { continue };
                    let Color::Rgb(red, green, blue) = colour else { panic!("{colour:?} of {span:?}") };
                    let seen = contrast(Rgb(red, green, blue), behind);
                    assert!(seen >= 4.5, "{seen:.2} of {span:?} on {behind:?}, {}", value["type"]);
                    n_coloured += 1;
                }
            }
        }
        assert!(n_coloured > 100, "{n_coloured}");
    }
}
