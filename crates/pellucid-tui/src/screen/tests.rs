use proptest::prelude::*;
use ratatui_core::style::Color;
use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::model::Terminal;
use super::*;

const SIZE: ScreenSize = ScreenSize { columns: 20, rows: 8 };

fn view(lines: &[&str]) -> View {
    View { lines: lines.iter().map(|it| Line::from((*it).to_owned())).collect(), cursor: Some((2, 0)) }
}

fn lines(texts: &[&str]) -> Vec<Line<'static>> {
    texts.iter().map(|it| Line::from((*it).to_owned())).collect()
}

#[test]
fn the_viewport_begins_at_the_row_of_the_cursor_and_moves_down_with_history() {
    let mut terminal = Terminal::new(20, 8);
    terminal.feed(b"$ pellucid\r\n");
    let mut screen = Screen::new(SIZE, 1, Insertion::Region);
    terminal.feed(&screen.frame(Vec::new(), &view(&["> draft", "footer"])));
    assert_eq!(terminal.rows()[..3], ["$ pellucid", "> draft", "footer"]);
    terminal.feed(&screen.frame(lines(&["one", "two"]), &view(&["> draft", "footer"])));
    assert_eq!(terminal.rows()[..5], ["$ pellucid", "one", "two", "> draft", "footer"]);
    assert_eq!((terminal.x, terminal.y), (2, 3));
    assert!(terminal.has_whole_region());
}

#[test]
fn characters_of_uncertain_width_lose_nothing_when_more_follows() {
    // This terminal draws each code point of an emoji, so that the family takes six columns instead of two.
    let mut terminal = Terminal::new(40, 8);
    let mut screen = Screen::new(ScreenSize { columns: 40, rows: 8 }, 0, Insertion::Region);
    let text = "A family 👨‍👩‍👧 of three lives here.";
    for end in text.char_indices().map(|(at, _)| at).skip(1) {
        terminal.feed(&screen.frame(Vec::new(), &view(&[&text[..end], "> draft"])));
    }
    terminal.feed(&screen.frame(lines(&[text]), &view(&["> draft", "footer"])));
    assert_eq!(terminal.everything(), [text, "> draft", "footer"]);
}

#[test]
fn a_narrower_window_leaves_nothing_of_the_viewport() {
    let mut terminal = Terminal::new(20, 12);
    let mut screen = Screen::new(ScreenSize { columns: 20, rows: 12 }, 0, Insertion::Region);
    let drawn = View { cursor: Some((7, 2)), ..view(&["a tail of 19 column", "", "> draft", "footer"]) };
    terminal.feed(&screen.frame(lines(&["one"]), &drawn));
    // The terminal wraps what is too wide, so the cursor moves down with the draft.
    let mut narrow = Terminal::new(8, 12);
    narrow.feed(terminal.everything().join("\r\n").as_bytes());
    let row = narrow.rows().iter().position(|row| row == "> draft").unwrap();
    screen.resize(ScreenSize { columns: 8, rows: 12 }, Some(u16::try_from(row).unwrap()));
    narrow.feed(&screen.frame(lines(&["two"]), &view(&["> draft", "footer"])));
    assert_eq!(narrow.everything(), ["one", "two", "> draft", "footer"]);
}

#[test]
fn a_row_that_gets_short_is_erased_whole() {
    let mut screen = Screen::new(SIZE, 0, Insertion::Region);
    screen.frame(Vec::new(), &view(&["> a hint of words", "footer"]));
    let bytes = String::from_utf8(screen.frame(Vec::new(), &view(&["> x", "footer"]))).unwrap();
    let (erased, written) = (bytes.find("\x1b[K").unwrap(), bytes.find("> x").unwrap());
    assert!(erased < written && bytes.matches("\x1b[K").count() == 1, "{bytes:?}");
}

#[test]
fn one_typed_letter_costs_few_bytes() {
    let mut screen = Screen::new(ScreenSize { columns: 100, rows: 30 }, 20, Insertion::Region);
    let ground = Style::new().bg(Color::Rgb(57, 57, 57));
    let draw = |screen: &mut Screen, text: &str| {
        let line = Line::from(vec![Span::styled("› ", Modifier::BOLD), Span::raw(text.to_owned())]).style(ground);
        let cursor = Some((2 + u16::try_from(text.len()).unwrap(), 1));
        let blank = Line::default().style(ground);
        screen.frame(Vec::new(), &View { lines: vec![blank.clone(), line, blank, Line::from("  footer")], cursor })
    };
    draw(&mut screen, "hell");
    draw(&mut screen, "hello");
    let bytes = draw(&mut screen, "hello ");
    assert!(bytes.len() <= 40, "{}", String::from_utf8_lossy(&bytes));
    assert_eq!(draw(&mut screen, "hello "), b"", "an unchanged frame writes nothing");
}

#[test]
fn a_line_of_history_costs_little_more_than_its_text() {
    let mut screen = Screen::new(ScreenSize { columns: 100, rows: 30 }, 0, Insertion::Region);
    let frame = view(&["status", "", "> ", "", "footer"]);
    screen.frame(Vec::new(), &frame);
    let text = "x".repeat(80);
    let (mut bytes, mut n) = (0, 0);
    for _ in 0..200 {
        bytes += screen.frame(lines(&[&text]), &frame).len();
        n += text.len();
    }
    assert!(bytes <= 2 * n, "{bytes} bytes for {n}");
}

#[test]
fn a_page_hides_the_viewport_and_history_waits_for_its_end() {
    let mut terminal = Terminal::new(20, 8);
    let mut screen = Screen::new(SIZE, 0, Insertion::Region);
    terminal.feed(&screen.frame(lines(&["one"]), &view(&["> draft"])));
    terminal.feed(&screen.set_page(true));
    terminal.feed(&screen.frame(lines(&["two"]), &View { lines: lines(&["a page"]), cursor: None }));
    assert_eq!(terminal.rows()[0], "a page");
    assert!(!terminal.modes.contains(&25));
    terminal.feed(&screen.set_page(false));
    terminal.feed(&screen.frame(Vec::new(), &view(&["> draft"])));
    assert_eq!(terminal.everything(), ["one", "two", "> draft"]);
    assert!(terminal.modes.contains(&25));
}

#[test]
fn the_end_leaves_history_and_no_mode() {
    let mut terminal = Terminal::new(20, 8);
    terminal.feed(modes::ON.as_bytes());
    let mut screen = Screen::new(SIZE, 0, Insertion::Region);
    terminal.feed(&screen.frame(lines(&["said"]), &View { lines: lines(&["1. list"]), cursor: None }));
    terminal.feed(&screen.set_page(true));
    terminal.feed(&screen.leave());
    terminal.feed(modes::OFF.as_bytes());
    assert_eq!(terminal.everything(), ["said"]);
    assert_eq!((terminal.x, terminal.y, terminal.keyboard_levels), (0, 1, 0));
    assert_eq!(terminal.modes.iter().copied().collect::<Vec<_>>(), [25]);
}

#[test]
fn styles_change_with_the_fewest_numbers() {
    let mut screen = Screen::new(SIZE, 0, Insertion::Region);
    let spans = vec![
        Span::styled("a", Style::new().fg(Color::Red).add_modifier(Modifier::BOLD)),
        Span::styled("b", Style::new().fg(Color::Red)),
        Span::raw("c"),
    ];
    let bytes = screen.frame(Vec::new(), &View { lines: vec![Line::from(spans)], cursor: None });
    assert_eq!(String::from_utf8(bytes).unwrap(), "\x1b[?2026h\x1b[H\x1b[1;31ma\x1b[22mb\x1b[mc\r\x1b[?25l\x1b[?2026l");
}

/// One thing that happens to a screen.
#[derive(Debug, Clone)]
enum Step {
    Frame { history: usize, height: usize },
    Page,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0_usize..12, 1_usize..10).prop_map(|(history, height)| Step::Frame { history, height }),
        1 => Just(Step::Page),
    ]
}

/// Texts of several widths: empty, full to the last column, wider than the screen, of wide characters.
fn text(n: usize, columns: usize) -> String {
    let text = match n % 7 {
        0 => format!("{n}:{}", "x".repeat(columns)),
        1 => format!("{n:0columns$}"),
        2 => format!("{n} 漢字かな"),
        _ => format!("line {n}"),
    };
    text.replace(' ', "_")
}

fn check_steps(columns: usize, rows: usize, top: usize, steps: &[Step], insertion: Insertion) {
    let mut terminal = Terminal::new(columns, rows);
    terminal.saves_from_regions = insertion == Insertion::Region;
    for at in 0..top {
        terminal.feed(format!("shell {at}\r\n").as_bytes());
    }
    let top = terminal.y;
    let before = terminal.everything();
    let size = ScreenSize { columns: u16::try_from(columns).unwrap(), rows: u16::try_from(rows).unwrap() };
    let mut screen = Screen::new(size, u16::try_from(top).unwrap(), insertion);
    let (mut n, mut expected, mut height_now) = (0, String::new(), 0);
    let mut view = View::default();
    for step in steps {
        let mut history = Vec::new();
        match step {
            Step::Frame { history: n_lines, height } => {
                for _ in 0..*n_lines {
                    n += 1;
                    let text = text(n, columns);
                    expected.push_str(&text);
                    history.push(Line::from(text));
                }
                height_now = (*height).min(rows.saturating_sub(1).max(1));
                view.lines = (0..*height).map(|at| Line::from(format!("v{at}"))).collect();
                view.cursor = (height % 2 == 0).then_some((0, 0));
            }
            Step::Page => {
                terminal.feed(&screen.set_page(true));
                terminal.feed(&screen.frame(Vec::new(), &View { lines: lines(&["page"]), cursor: None }));
                terminal.feed(&screen.set_page(false));
            }
        }
        terminal.feed(&screen.frame(history, &view));
        assert!(terminal.has_whole_region());
        assert_eq!(terminal.modes.contains(&25), view.cursor.is_some());
    }
    let shown = terminal.everything().concat();
    let viewport: String = (0..height_now).map(|at| cut(&format!("v{at}"), columns)).collect();
    let before: String = before.concat();
    assert_eq!(shown.replace(' ', ""), (before + &expected + &viewport).replace(' ', ""));
}

fn cut(text: &str, columns: usize) -> String {
    text.chars().take(columns).collect()
}

#[test]
fn a_wide_character_that_does_not_fit_into_a_row_takes_another_row() {
    for (text, columns, n_rows) in
        [("", 5, 1), ("abcde", 5, 1), ("abcdef", 5, 2), ("漢字かな", 4, 2), ("漢字かな", 5, 2), ("2_漢字かな", 5, 3)]
    {
        assert_eq!(rows::rows_taken(&Line::from(text), columns), n_rows, "{text} at {columns}");
    }
    let steps = [Step::Frame { history: 2, height: 1 }, Step::Frame { history: 3, height: 3 }];
    for columns in 4..12 {
        check_steps(columns, 4, 0, &steps, Insertion::Region);
        check_steps(columns, 4, 0, &steps, Insertion::WholeScreen);
    }
}

/// Streams words: the unfinished line is the first row of the viewport, and becomes history when it is complete.
fn check_stream(rows: usize, top: usize, words_per_frame: usize, n_words: usize) -> (usize, usize) {
    let columns = 80;
    let mut terminal = Terminal::new(columns, rows);
    let size = ScreenSize { columns: u16::try_from(columns).unwrap(), rows: u16::try_from(rows).unwrap() };
    let mut screen = Screen::new(size, u16::try_from(top.min(rows - 1)).unwrap(), Insertion::Region);
    let (mut lines, mut line, mut history) = (Vec::new(), String::new(), Vec::new());
    let (mut n_bytes, mut n_text) = (0, 0);
    for n in 0..n_words {
        let word = format!("w{n} ");
        n_text += word.len();
        line.push_str(&word);
        if n % 8 == 7 {
            let done = std::mem::take(&mut line);
            history.push(Line::from(done.clone()));
            lines.push(done.trim_end().to_owned());
        }
        if n % words_per_frame == words_per_frame - 1 || n + 1 == n_words {
            let mut view = view(&["", "working", "", "> draft", "footer"]);
            if !line.is_empty() {
                view.lines.insert(0, Line::from(line.clone()));
            }
            view.cursor = Some((2, 3));
            let bytes = screen.frame(std::mem::take(&mut history), &view);
            n_bytes += bytes.len();
            terminal.feed(&bytes);
        }
    }
    let everything = terminal.everything();
    let shown: Vec<&String> = everything.iter().filter(|row| row.starts_with("w") && *row != "working").collect();
    let expected: Vec<String> =
        lines.into_iter().chain((!line.is_empty()).then(|| line.trim_end().to_owned())).collect();
    assert_eq!(shown, expected.iter().collect::<Vec<_>>());
    assert_eq!(&everything[everything.len() - 4..], ["working", "", "> draft", "footer"]);
    (n_bytes, n_text)
}

/// Streams a paragraph of many lines, which are in the viewport until the paragraph ends.
fn check_paragraphs(rows: u16, top: u16, n_lines: usize, n_paragraphs: usize) -> (usize, usize) {
    let mut terminal = Terminal::new(80, usize::from(rows));
    let mut screen = Screen::new(ScreenSize { columns: 80, rows }, top.min(rows - 1), Insertion::Region);
    let (mut n_bytes, mut n_text, mut said) = (0, 0, Vec::new());
    for paragraph in 0..n_paragraphs {
        let mut open = vec![String::new()];
        for n in 0..n_lines * 8 {
            let word = format!("{paragraph}w{n} ");
            n_text += word.len();
            if n % 8 == 0 {
                open.push("  ".to_owned());
            }
            open.last_mut().unwrap().push_str(&word);
            if n % 4 == 3 {
                let mut view = view(&["", "working", "", "> draft", "footer"]);
                view.lines.splice(0..0, open.iter().map(|line| Line::from(line.clone())));
                view.cursor = Some((2, u16::try_from(view.lines.len()).unwrap() - 2));
                let bytes = screen.frame(Vec::new(), &view);
                n_bytes += bytes.len();
                terminal.feed(&bytes);
            }
        }
        said.extend(open.iter().map(|line| line.trim_end().to_owned()));
        let history = open.into_iter().map(Line::from).collect();
        let mut view = view(&["", "working", "", "> draft", "footer"]);
        view.cursor = Some((2, 3));
        let bytes = screen.frame(history, &view);
        n_bytes += bytes.len();
        terminal.feed(&bytes);
    }
    said.extend(["", "working", "", "> draft", "footer"].map(str::to_owned));
    // The rows above the first row of the viewport are blank from the beginning.
    assert_eq!(terminal.everything()[usize::from(top.min(rows - 1))..], said);
    (n_bytes, n_text)
}

#[test]
fn the_lines_of_a_paragraph_are_written_once() {
    for top in [0, 3, 29] {
        let (n_bytes, n_text) = check_paragraphs(30, top, 5, 40);
        assert!(n_bytes <= 3 * n_text, "{n_bytes} bytes for {n_text} from row {top}");
    }
}

#[test]
fn a_streamed_line_is_written_once() {
    for top in [0, 3, 29] {
        let (n_bytes, n_text) = check_stream(30, top, 4, 2000);
        assert!(n_bytes <= 3 * n_text, "{n_bytes} bytes for {n_text} from row {top}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn streams_of_any_pace_are_complete(
        rows in 7_usize..14,
        top in 0_usize..14,
        words_per_frame in 1_usize..30,
        n_words in 1_usize..120,
    ) {
        check_stream(rows, top, words_per_frame, n_words);
    }

    #[test]
    fn paragraphs_of_any_length_are_complete(
        rows in 8_u16..20,
        top in 0_u16..20,
        n_lines in 1_usize..3,
        n_paragraphs in 1_usize..8,
    ) {
        check_paragraphs(rows, top, n_lines, n_paragraphs);
    }

    #[test]
    fn every_line_of_history_is_there_once_and_in_order(
        columns in 4_usize..30,
        rows in 1_usize..12,
        top in 0_usize..14,
        steps in prop::collection::vec(step(), 1..12),
        is_whole in any::<bool>(),
    ) {
        let insertion = if is_whole { Insertion::WholeScreen } else { Insertion::Region };
        check_steps(columns, rows, top, &steps, insertion);
    }

    #[test]
    fn after_any_frames_the_cells_are_those_of_the_last(
        frames in prop::collection::vec(prop::collection::vec("[ab 漢e\u{301}]{0,14}", 1..5), 1..8),
    ) {
        let mut terminal = Terminal::new(12, 8);
        let mut screen = Screen::new(ScreenSize { columns: 12, rows: 8 }, 0, Insertion::Region);
        for frame in &frames {
            let texts: Vec<&str> = frame.iter().map(String::as_str).collect();
            terminal.feed(&screen.frame(Vec::new(), &view(&texts)));
        }
        let mut fresh = Terminal::new(12, 8);
        let mut first = Screen::new(ScreenSize { columns: 12, rows: 8 }, 0, Insertion::Region);
        let texts: Vec<&str> = frames.last().unwrap().iter().map(String::as_str).collect();
        fresh.feed(&first.frame(Vec::new(), &view(&texts)));
        let end = usize::from(screen.top());
        prop_assert_eq!(&terminal.rows()[end..], &fresh.rows()[usize::from(first.top())..][..8 - end]);
    }
}
