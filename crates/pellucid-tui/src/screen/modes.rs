//! The modes of the terminal that the client switches on, and off again.

/// The questions to the terminal, at the start. Every terminal answers the last one, and answers come in order, so its
/// answer means that questions before it without an answer have none.
pub const QUESTIONS: &str = "\x1b[6n\x1b[?u\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b[c";

/// Asks for the place of the cursor.
pub const ASK_CURSOR: &str = "\x1b[6n";

/// Asks for the background and the foreground.
pub const ASK_COLORS: &str = "\x1b]10;?\x1b\\\x1b]11;?\x1b\\";

/// Bracketed paste, the keyboard protocol with flags 7, and focus reports.
pub const ON: &str = "\x1b[?2004h\x1b[>7u\x1b[?1004h";

/// Switches off what [`ON`] switches on, shows the cursor, frees scrolling and resets the style.
pub const OFF: &str = "\x1b[m\x1b[<1u\x1b[?2004l\x1b[?1004l\x1b[?25h";

/// Has the terminal report keys with modifiers that it would otherwise not distinguish, where the keyboard protocol is not
/// known: Shift-Enter, for one. The second switches it off.
pub const OTHER_KEYS: (&str, &str) = ("\x1b[>4;1m", "\x1b[>4m");

/// Reports of the mouse: buttons and the wheel, in a form without limits. The second switches them off.
pub const MOUSE: (&str, &str) = ("\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l");

/// Keeps the title of the window, and restores it.
pub const TITLE: (&str, &str) = ("\x1b[22;0t", "\x1b[23;0t");

/// Enters the alternate screen, where the wheel sends arrow keys.
pub const PAGE_ON: &str = "\x1b[?1049h\x1b[?1007h\x1b[2J";

/// Leaves the alternate screen.
pub const PAGE_OFF: &str = "\x1b[?1007l\x1b[?1049l";
