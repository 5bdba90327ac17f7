//! The pen: writes text, styles and moves of the cursor with as few bytes as possible.
//!
//! The pen knows the style and the place that the terminal's cursor has, so that it writes only what changes. A place that
//! terminals disagree about (after the last column) counts as unknown.

use std::fmt::Write as _;

use ratatui_core::buffer::Cell;
use ratatui_core::style::Color;
use ratatui_core::style::Modifier;
use ratatui_core::style::Style;

/// A style with every part decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    fg: Color,
    pub(super) bg: Color,
    modifier: Modifier,
}

impl Look {
    /// The style of a terminal that was just reset.
    pub(super) const PLAIN: Self = Self { fg: Color::Reset, bg: Color::Reset, modifier: Modifier::empty() };

    /// The style of a cell.
    pub(super) fn of(cell: &Cell) -> Self {
        Self { fg: cell.fg, bg: cell.bg, modifier: cell.modifier }
    }

    /// The style of text, over that of a reset terminal.
    pub(super) fn of_style(style: Style) -> Self {
        Self {
            fg: style.fg.unwrap_or(Color::Reset),
            bg: style.bg.unwrap_or(Color::Reset),
            modifier: style.add_modifier.difference(style.sub_modifier),
        }
    }

    /// Only the background.
    pub(super) fn ground(bg: Color) -> Self {
        Self { bg, ..Self::PLAIN }
    }
}

/// The modifiers that are written, with the number that switches each on and the number that switches it off.
const MODIFIERS: [(Modifier, u8, u8); 8] = [
    (Modifier::BOLD, 1, 22),
    (Modifier::DIM, 2, 22),
    (Modifier::ITALIC, 3, 23),
    (Modifier::UNDERLINED, 4, 24),
    (Modifier::SLOW_BLINK, 5, 25),
    (Modifier::REVERSED, 7, 27),
    (Modifier::HIDDEN, 8, 28),
    (Modifier::CROSSED_OUT, 9, 29),
];

/// The modifiers that show on a blank too.
const SHOWN_ON_BLANKS: Modifier = Modifier::UNDERLINED
    .union(Modifier::SLOW_BLINK)
    .union(Modifier::REVERSED)
    .union(Modifier::HIDDEN)
    .union(Modifier::CROSSED_OUT);

/// Collects bytes for the terminal.
#[derive(Debug)]
pub(super) struct Pen {
    out: String,
    look: Look,
    /// Column and row of the cursor; absent if unknown.
    at: Option<(u16, u16)>,
    is_visible: bool,
}

impl Pen {
    /// A pen for a terminal whose cursor is visible and whose style is reset.
    pub(super) fn new() -> Self {
        Self { out: String::new(), look: Look::PLAIN, at: None, is_visible: true }
    }

    /// Writes a sequence that changes neither style nor place.
    pub(super) fn raw(&mut self, sequence: &str) {
        self.out.push_str(sequence);
    }

    /// Writes a sequence after which the place is unknown.
    pub(super) fn raw_move(&mut self, sequence: &str) {
        self.out.push_str(sequence);
        self.at = None;
    }

    /// Takes the cursor to be at the beginning of a row that counts as the first one.
    pub(super) fn assume_row_start(&mut self) {
        self.at = Some((0, 0));
    }

    /// What was written since the last call.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out).into_bytes()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Column and row of the cursor; absent if unknown.
    pub(super) fn place(&self) -> Option<(u16, u16)> {
        self.at
    }

    /// Whether a cell looks as it should when it is written in the present style. The foreground of a blank does not show.
    pub(super) fn can_write(&self, cell: &Cell) -> bool {
        let look = Look::of(cell);
        look == self.look
            || (cell.symbol() == " "
                && look.bg == self.look.bg
                && look.modifier.is_empty()
                && !self.look.modifier.intersects(SHOWN_ON_BLANKS))
    }

    /// Writes a character of one column in the present style. The cursor must be before the last column.
    pub(super) fn more(&mut self, symbol: &str) {
        self.out.push_str(symbol);
        self.at = self.at.map(|(x, y)| (x + 1, y));
    }

    /// Moves the cursor.
    pub(super) fn go(&mut self, x: u16, y: u16) {
        match self.at {
            Some((cx, cy)) if (cx, cy) == (x, y) => return,
            Some((_, cy)) if cy == y && x == 0 => self.out.push('\r'),
            Some((cx, cy)) if cy == y && cx < x => self.number(x - cx, 'C'),
            Some((cx, cy)) if cy == y => self.number(cx - x, 'D'),
            Some((cx, cy)) if cx == x && cy < y => self.number(y - cy, 'B'),
            Some((cx, cy)) if cx == x => self.number(cy - y, 'A'),
            _ if x == 0 => self.number(y + 1, 'H'),
            _ => write(&mut self.out, format_args!("\x1b[{};{}H", y + 1, x + 1)),
        }
        self.at = Some((x, y));
    }

    /// `CSI n final`, without the number where it is 1.
    fn number(&mut self, n: u16, end: char) {
        match n {
            1 => write(&mut self.out, format_args!("\x1b[{end}")),
            _ => write(&mut self.out, format_args!("\x1b[{n}{end}")),
        }
    }

    /// Shows or hides the cursor.
    pub(super) fn show_cursor(&mut self, is_visible: bool) {
        if self.is_visible != is_visible {
            self.raw(if is_visible { "\x1b[?25h" } else { "\x1b[?25l" });
            self.is_visible = is_visible;
        }
    }

    /// Writes text that is `width` columns wide, in the current row of a terminal that is `columns` wide.
    pub(super) fn text(&mut self, text: &str, look: Look, width: u16, columns: u16) {
        self.look(look);
        self.out.push_str(text);
        self.at = match self.at {
            Some((x, y)) if x.saturating_add(width) < columns => Some((x + width, y)),
            _ => None,
        };
    }

    /// A line feed at the start of the row, inside a scroll region whose last row is `bottom`.
    pub(super) fn next_row(&mut self, bottom: u16) {
        self.out.push_str("\r\n");
        self.at = self.at.map(|(_, y)| (0, y.saturating_add(1).min(bottom)));
    }

    /// Erases from the cursor to the end of the row, in a background.
    pub(super) fn erase_row(&mut self, bg: Color) {
        if self.look.bg != bg {
            self.look(Look::ground(bg));
        }
        self.out.push_str("\x1b[K");
    }

    /// Inserts blank rows at the cursor; the rows below move down.
    pub(super) fn insert_rows(&mut self, n: u16) {
        self.number(n, 'L');
    }

    /// Removes rows at the cursor; the rows below move up.
    pub(super) fn delete_rows(&mut self, n: u16) {
        self.number(n, 'M');
    }

    /// Limits scrolling to rows, or frees it.
    pub(super) fn region(&mut self, rows: Option<(u16, u16)>) {
        // Rows that appear by scrolling take the background of the pen in many terminals.
        self.look(Look::PLAIN);
        match rows {
            Some((top, bottom)) => write(&mut self.out, format_args!("\x1b[{};{}r", top + 1, bottom + 1)),
            None => self.out.push_str("\x1b[r"),
        }
        self.at = None;
    }

    /// Changes the style.
    pub(super) fn look(&mut self, look: Look) {
        if self.look == look {
            return;
        }
        if look == Look::PLAIN {
            self.out.push_str("\x1b[m");
        } else {
            let mut codes = String::new();
            self.modifier_codes(look, &mut codes);
            if self.look.fg != look.fg {
                color_codes(&mut codes, look.fg, 30);
            }
            if self.look.bg != look.bg {
                color_codes(&mut codes, look.bg, 40);
            }
            write(&mut self.out, format_args!("\x1b[{}m", codes.trim_start_matches(';')));
        }
        self.look = look;
    }

    fn modifier_codes(&self, look: Look, codes: &mut String) {
        let removed = self.look.modifier.difference(look.modifier);
        let mut kept = self.look.modifier;
        let mut off_before = 0;
        for (modifier, _, off) in MODIFIERS {
            if removed.contains(modifier) {
                if off != off_before {
                    write(codes, format_args!(";{off}"));
                    off_before = off;
                }
                kept.remove(modifier);
                if off == 22 {
                    kept.remove(Modifier::BOLD | Modifier::DIM);
                }
            }
        }
        let added = look.modifier.difference(kept);
        for (modifier, on, _) in MODIFIERS {
            if added.contains(modifier) {
                write(codes, format_args!(";{on}"));
            }
        }
    }
}

/// Writes into a string, which cannot fail.
fn write(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(arguments);
}

/// The numbers of a colour; `base` is 30 for text and 40 for the background.
fn color_codes(codes: &mut String, color: Color, base: u8) {
    let named = |n: u8| if n < 8 { base + n } else { base + 52 + n };
    match color {
        Color::Reset => write(codes, format_args!(";{}", base + 9)),
        Color::Rgb(r, g, b) => write(codes, format_args!(";{};2;{r};{g};{b}", base + 8)),
        Color::Indexed(n) => write(codes, format_args!(";{};5;{n}", base + 8)),
        Color::Black => write(codes, format_args!(";{}", named(0))),
        Color::Red => write(codes, format_args!(";{}", named(1))),
        Color::Green => write(codes, format_args!(";{}", named(2))),
        Color::Yellow => write(codes, format_args!(";{}", named(3))),
        Color::Blue => write(codes, format_args!(";{}", named(4))),
        Color::Magenta => write(codes, format_args!(";{}", named(5))),
        Color::Cyan => write(codes, format_args!(";{}", named(6))),
        Color::Gray => write(codes, format_args!(";{}", named(7))),
        Color::DarkGray => write(codes, format_args!(";{}", named(8))),
        Color::LightRed => write(codes, format_args!(";{}", named(9))),
        Color::LightGreen => write(codes, format_args!(";{}", named(10))),
        Color::LightYellow => write(codes, format_args!(";{}", named(11))),
        Color::LightBlue => write(codes, format_args!(";{}", named(12))),
        Color::LightMagenta => write(codes, format_args!(";{}", named(13))),
        Color::LightCyan => write(codes, format_args!(";{}", named(14))),
        Color::White => write(codes, format_args!(";{}", named(15))),
    }
}
