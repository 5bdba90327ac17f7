//! Keys as in vim: in normal mode letters move and change, in insert mode they are text.
//!
//! Motions: `h l j k w b e 0 ^ $ gg G`. Operators: `d c y` with a motion, or doubled for the line; `x D C s p P u`. Counts
//! before operators and motions. `i a I A o O` begin to insert; Esc, or two letters that are configured, ends it.

use crate::composer::Composer;
use crate::composer::draft::Draft;
use crate::key::Key;
use crate::key::KeyCode;

/// What was cut is inserted at most so many times at once.
const PUTS_MAX: usize = 100;

/// The mode and what was typed of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vim {
    is_normal: bool,
    /// What was typed of a command that is not complete.
    typed: String,
    /// Two letters that end inserting when they are typed one after the other.
    escape: Option<(char, char)>,
    /// Whether the first of these letters was just typed.
    is_escaping: bool,
}

/// What a letter in normal mode does to the draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VimStep {
    /// More letters belong to the command, or the letters are no command.
    Nothing,
    /// The cursor goes to a position.
    Go(usize),
    /// The cursor goes by rows, as the arrow keys do; negative is up.
    Rows(isize),
    /// A range is cut, and inserting begins if that is said.
    Cut {
        /// The bytes that are cut.
        range: std::ops::Range<usize>,
        /// Whether letters are text afterwards.
        inserts: bool,
    },
    /// A range is copied.
    Copy(std::ops::Range<usize>),
    /// What was cut or copied is inserted at a position, so many times.
    Put(usize, usize),
    /// Letters are text from now on, at a position, behind a new line there if that is said.
    Insert {
        /// Where the cursor goes.
        at: usize,
        /// Whether a line end is inserted first.
        has_new_line: bool,
    },
    /// So many changes are undone.
    Undo(usize),
}

impl Vim {
    /// Insert mode, with two letters that end it, if there are any.
    pub fn new(escape: Option<&str>) -> Self {
        let mut letters = escape.unwrap_or_default().chars();
        let escape = letters.next().zip(letters.next()).filter(|_| letters.next().is_none());
        Self { escape, ..Self::default() }
    }

    /// Whether letters are commands.
    pub fn is_normal(&self) -> bool {
        self.is_normal
    }

    /// Changes the mode.
    pub fn set_normal(&mut self, is_normal: bool) {
        self.is_normal = is_normal;
        self.is_escaping = false;
        self.typed.clear();
    }

    /// Takes a letter of insert mode. True if it is the second one that ends inserting; the first is in the text then.
    pub fn ends_with(&mut self, letter: char) -> bool {
        let Some((first, second)) = self.escape else { return false };
        if std::mem::take(&mut self.is_escaping) && letter == second {
            return true;
        }
        self.is_escaping = letter == first;
        false
    }

    /// Another key than a letter was pressed, so that two letters around it are text.
    pub fn interrupted(&mut self) {
        self.is_escaping = false;
    }

    /// Takes a letter of normal mode.
    pub fn letter(&mut self, letter: char, draft: &Draft) -> VimStep {
        self.typed.push(letter);
        let step = read(&self.typed, draft);
        if step != Some(VimStep::Nothing) {
            self.typed.clear();
        }
        let step = step.unwrap_or(VimStep::Nothing);
        if matches!(step, VimStep::Insert { .. } | VimStep::Cut { inserts: true, .. }) {
            self.set_normal(false);
        }
        step
    }
}

/// Takes a count from the beginning of a text. A zero is a motion, not a count.
fn count(text: &str) -> (Option<usize>, &str) {
    if text.starts_with('0') {
        return (None, text);
    }
    let rest = text.trim_start_matches(|it: char| it.is_ascii_digit());
    (text[..text.len() - rest.len()].parse().ok().map(|n: usize| n.min(10_000)), rest)
}

/// What the letters of a command do; absent if they are none, and nothing if more letters are needed.
fn read(typed: &str, draft: &Draft) -> Option<VimStep> {
    let (n, rest) = count(typed);
    let cursor = draft.cursor();
    let Some(first) = rest.chars().next() else { return Some(VimStep::Nothing) };
    let times = n.unwrap_or(1);
    let (start, end) = (draft.line_start(cursor), draft.line_end(cursor));
    let insert = |at: usize| VimStep::Insert { at, has_new_line: false };
    Some(match first {
        'd' | 'c' | 'y' => return operator(first, times, &rest[1..], draft),
        'i' => insert(cursor),
        'a' => insert(if cursor < end { draft.after(cursor) } else { cursor }),
        'I' => insert(first_word(draft, start)),
        'A' => insert(end),
        'o' => VimStep::Insert { at: end, has_new_line: true },
        'O' if start == 0 => VimStep::Insert { at: 0, has_new_line: true },
        'O' => VimStep::Insert { at: start - 1, has_new_line: true },
        'x' => VimStep::Cut { range: cursor..repeated(cursor, times, |at| draft.after(at)).min(end), inserts: false },
        's' => VimStep::Cut { range: cursor..repeated(cursor, times, |at| draft.after(at)).min(end), inserts: true },
        'D' => VimStep::Cut { range: cursor..end, inserts: false },
        'C' => VimStep::Cut { range: cursor..end, inserts: true },
        'p' => VimStep::Put(if cursor < end { draft.after(cursor) } else { cursor }, times),
        'P' => VimStep::Put(cursor, times),
        'u' => VimStep::Undo(times),
        'j' => VimStep::Rows(isize::try_from(times).unwrap_or(isize::MAX)),
        'k' => VimStep::Rows(-isize::try_from(times).unwrap_or(isize::MAX)),
        _ => return motion(rest, n, draft).map(|to| to.map_or(VimStep::Nothing, VimStep::Go)),
    })
}

/// An operator with what follows it: a count and a motion, or the operator again for whole lines.
fn operator(operator: char, times: usize, rest: &str, draft: &Draft) -> Option<VimStep> {
    let (n, rest) = count(rest);
    let times = times * n.unwrap_or(1);
    let Some(first) = rest.chars().next() else { return Some(VimStep::Nothing) };
    let cursor = draft.cursor();
    let range = if first == operator {
        let start = draft.line_start(cursor);
        let last = repeated(draft.line_end(cursor), times - 1, |at| match at < draft.text().len() {
            true => draft.line_end(at + 1),
            false => at,
        });
        match operator {
            // A deleted line takes the line end behind it, or the one before if it is the last.
            'd' if last < draft.text().len() => start..last + 1,
            'd' => start.saturating_sub(1)..last,
            _ => start..last,
        }
    } else {
        let Some(to) = motion(rest, Some(times).filter(|_| n.is_some() || times > 1), draft)? else {
            return Some(VimStep::Nothing);
        };
        // `e` includes the letter that it goes to, and `cw` leaves the blanks behind the word.
        let to = match first {
            'e' => draft.after(to),
            'w' if operator == 'c' => {
                draft.after(repeated(last_of_word(draft, cursor), times - 1, |at| word_end(draft, at)))
            }
            'w' => to.min(draft.line_end(cursor)).max(cursor),
            _ => to,
        };
        cursor.min(to)..cursor.max(to)
    };
    Some(match operator {
        'y' => VimStep::Copy(range),
        _ => VimStep::Cut { range, inserts: operator == 'c' },
    })
}

/// Where a motion leads; the inner value is absent if more letters are needed, the outer if the letters are no motion.
fn motion(text: &str, n: Option<usize>, draft: &Draft) -> Option<Option<usize>> {
    let cursor = draft.cursor();
    let (start, end) = (draft.line_start(cursor), draft.line_end(cursor));
    let times = n.unwrap_or(1);
    Some(Some(match text {
        "h" => repeated(cursor, times, |at| draft.before(at)).max(start),
        "l" => repeated(cursor, times, |at| draft.after(at)).min(end),
        "w" => repeated(cursor, times, |at| next_word(draft, at)),
        "b" => repeated(cursor, times, |at| word_start(draft, at)),
        "e" => repeated(cursor, times, |at| word_end(draft, at)),
        "0" => start,
        "^" => first_word(draft, start),
        "$" => end,
        "gg" => line(draft, n.unwrap_or(1)),
        "G" => line(draft, n.unwrap_or(usize::MAX)),
        "g" => return Some(None),
        _ => return None,
    }))
}

fn repeated(from: usize, times: usize, step: impl Fn(usize) -> usize) -> usize {
    let mut at = from;
    for _ in 0..times {
        let next = step(at);
        if next == at {
            break;
        }
        at = next;
    }
    at
}

/// The start of a line, counted from 1.
fn line(draft: &Draft, number: usize) -> usize {
    let text = draft.text();
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    starts.take(number.max(1)).last().unwrap_or(0)
}

/// The first letter of a line that is no blank.
fn first_word(draft: &Draft, start: usize) -> usize {
    let line = &draft.text()[start..draft.line_end(start)];
    start + line.len() - line.trim_start().len()
}

/// The kind of the letter at a position: letters of one kind are a word. Absent at the end.
fn kind(draft: &Draft, at: usize) -> Option<u8> {
    let letter = draft.text()[at..].chars().next()?;
    Some(match letter {
        _ if letter.is_whitespace() => 0,
        _ if letter.is_alphanumeric() || letter == '_' => 1,
        _ => 2,
    })
}

fn next_word(draft: &Draft, at: usize) -> usize {
    let mut at = at;
    let begun = kind(draft, at);
    while begun != Some(0) && kind(draft, at).is_some() && kind(draft, at) == begun {
        at = draft.after(at);
    }
    while kind(draft, at) == Some(0) {
        at = draft.after(at);
    }
    at
}

fn word_start(draft: &Draft, at: usize) -> usize {
    let mut at = at;
    while at > 0 && kind(draft, draft.before(at)) == Some(0) {
        at = draft.before(at);
    }
    let of = if at > 0 { kind(draft, draft.before(at)) } else { None };
    while at > 0 && kind(draft, draft.before(at)) == of {
        at = draft.before(at);
    }
    at
}

/// The last letter of the word that a position is in.
fn last_of_word(draft: &Draft, at: usize) -> usize {
    let (mut at, of) = (at, kind(draft, at));
    while of.is_some() && kind(draft, draft.after(at)) == of {
        at = draft.after(at);
    }
    at
}

/// The last letter of the word at or behind a position.
fn word_end(draft: &Draft, at: usize) -> usize {
    let mut at = draft.after(at);
    while kind(draft, at) == Some(0) {
        at = draft.after(at);
    }
    let of = kind(draft, at);
    while of.is_some() && kind(draft, draft.after(at)) == of {
        at = draft.after(at);
    }
    at.min(draft.before(draft.text().len()))
}

impl Composer {
    /// Switches the keys of vim on, with two letters that end inserting, or off.
    pub fn set_vim(&mut self, vim: Option<Vim>) {
        self.vim = vim;
    }

    /// Whether the keys are those of vim.
    pub fn has_vim(&self) -> bool {
        self.vim.is_some()
    }

    /// Whether letters are commands of vim.
    pub fn is_vim_normal(&self) -> bool {
        self.vim.as_ref().is_some_and(Vim::is_normal)
    }

    /// Takes a key that vim has a meaning for. False if the key is as in any composer.
    pub(super) fn press_in_vim(&mut self, key: Key) -> bool {
        let Some(vim) = &mut self.vim else { return false };
        if !vim.is_normal() {
            let is_end = match key.typed() {
                Some(letter) => vim.ends_with(letter),
                None => {
                    vim.interrupted();
                    false
                }
            };
            if is_end {
                let cursor = self.draft.cursor();
                self.draft.cut(self.draft.before(cursor)..cursor);
            }
            if !is_end && (key != Key::plain(KeyCode::Esc) || self.popup.is_some()) {
                return false;
            }
            self.leave_insert();
            return true;
        }
        let Some(letter) = key.typed() else { return false };
        // These begin a command, a shell line or a search, for which nothing else has to be typed first.
        if self.draft.is_empty() && "/!?@$".contains(letter) {
            vim.set_normal(false);
            return false;
        }
        let step = vim.letter(letter, &self.draft);
        self.undo.end_typing();
        self.take_vim_step(step);
        true
    }

    fn leave_insert(&mut self) {
        if let Some(vim) = &mut self.vim {
            vim.set_normal(true);
        }
        let cursor = self.draft.cursor();
        self.undo.end_typing();
        self.draft.move_to(self.draft.before(cursor).max(self.draft.line_start(cursor)));
    }

    fn take_vim_step(&mut self, step: VimStep) {
        match step {
            VimStep::Nothing => {}
            VimStep::Go(position) => self.draft.move_to(position),
            VimStep::Rows(by) => {
                for _ in 0..by.unsigned_abs() {
                    if !self.step_row(by.signum()) {
                        break;
                    }
                }
            }
            VimStep::Cut { range, .. } if range.is_empty() => {}
            VimStep::Cut { range, .. } => {
                self.undo.remember(&self.draft, false);
                self.killed = self.draft.cut(range);
                self.number_images();
            }
            VimStep::Copy(range) => {
                let cursor = self.draft.cursor();
                // Cutting a copy of the draft gives the range with its pieces.
                self.killed = self.draft.clone().cut(range.clone());
                self.draft.move_to(cursor.min(range.start));
            }
            VimStep::Put(position, times) => {
                self.undo.remember(&self.draft, false);
                self.draft.move_to(position);
                let killed = self.killed.clone();
                (0..times.min(PUTS_MAX)).for_each(|_| self.draft.insert(&killed));
                self.number_images();
            }
            VimStep::Insert { at, has_new_line } => {
                self.undo.remember(&self.draft, false);
                self.draft.move_to(at);
                if has_new_line {
                    self.draft.insert_text("\n");
                    // A line above the first one: the new line is before the line end.
                    if at == 0 && self.draft.text().len() > 1 {
                        self.draft.move_to(0);
                    }
                }
            }
            VimStep::Undo(times) => {
                for _ in 0..times {
                    match self.step_back() {
                        Some(draft) => self.draft = draft,
                        None => break,
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::Expect;
    use expect_test::expect;

    use super::*;
    use crate::composer::ComposerContext;
    use crate::composer::ComposerEffect;
    use crate::keymap::Keymap;
    use crate::keymap::spelling::parse_key;

    /// Types letters, with names of keys between angles, and returns the text with the cursor, and what the client has to do.
    fn typed(keys: &str) -> (String, Vec<ComposerEffect>) {
        let keymap = Keymap::standard();
        let context = ComposerContext {
            keymap: &keymap,
            commands: &[],
            prompts: &[],
            skills: &[],
            is_working: false,
            finds_bursts: false,
        };
        let mut composer = Composer::new(0);
        composer.set_vim(Some(Vim::new(Some("jj"))));
        let mut effects = Vec::new();
        let mut rest = keys;
        while let Some(letter) = rest.chars().next() {
            let (key, after) = match rest.strip_prefix('<').and_then(|named| named.split_once('>')) {
                Some((name, after)) => (parse_key(name).unwrap(), after),
                None => (Key::char(letter), &rest[letter.len_utf8()..]),
            };
            effects.extend(composer.press(key, Duration::ZERO, &context));
            rest = after;
        }
        let (before, after) = composer.draft().text().split_at(composer.draft().cursor());
        let mode = if composer.is_vim_normal() { "normal" } else { "insert" };
        (format!("{before}|{after} {mode}"), effects)
    }

    #[track_caller]
    fn check_vim(keys: &str, expected: &Expect) {
        expected.assert_eq(&typed(keys).0);
    }

    #[test]
    fn motions_move() {
        check_vim("one two, three<esc>", &expect!["one two, thre|e normal"]);
        check_vim("one two, three<esc>0w", &expect!["one |two, three normal"]);
        check_vim("one two, three<esc>02w", &expect!["one two|, three normal"]);
        check_vim("one two, three<esc>0e", &expect!["on|e two, three normal"]);
        check_vim("one two, three<esc>bb", &expect!["one two|, three normal"]);
        check_vim("one two<esc>0lllhh$", &expect!["one two| normal"]);
        check_vim("  one<esc>0^", &expect!["  |one normal"]);
        check_vim("a<ctrl-j>b<ctrl-j>c<esc>gg", &expect!["|a\nb\nc normal"]);
        check_vim("a<ctrl-j>b<ctrl-j>c<esc>gg2G", &expect!["a\n|b\nc normal"]);
        check_vim("ab<ctrl-j>cd<esc>k", &expect!["a|b\ncd normal"]);
    }

    #[test]
    fn operators_take_motions_and_counts() {
        check_vim("one two three<esc>0dw", &expect!["|two three normal"]);
        check_vim("one two three<esc>0d2w", &expect!["|three normal"]);
        check_vim("one two three<esc>02dw", &expect!["|three normal"]);
        check_vim("one two three<esc>0wcwbig<esc>", &expect!["one bi|g three normal"]);
        check_vim("a b<esc>0cwx", &expect!["x| b insert"]);
        check_vim("one two<esc>0de", &expect!["| two normal"]);
        check_vim("one two<esc>db", &expect!["one |o normal"]);
        check_vim("one two<esc>0d$", &expect!["| normal"]);
        check_vim("one two<esc>0wD", &expect!["one | normal"]);
        check_vim("a<ctrl-j>b<ctrl-j>c<esc>ggdd", &expect!["|b\nc normal"]);
        check_vim("a<ctrl-j>b<ctrl-j>c<esc>dd", &expect!["a\nb| normal"]);
        check_vim("a<ctrl-j>b<ctrl-j>c<esc>gg2dd", &expect!["|c normal"]);
        check_vim("one<ctrl-j>two<esc>ccnew", &expect!["one\nnew| insert"]);
        check_vim("abc<esc>02x", &expect!["|c normal"]);
        check_vim("one two<esc>0ywP", &expect!["one |one two normal"]);
        check_vim("ab<esc>0x3p", &expect!["baaa| normal"]);
        check_vim("one two<esc>0dwu", &expect!["|one two normal"]);
    }

    #[test]
    fn inserting_begins_where_it_is_said_and_ends_with_two_letters() {
        check_vim("bc<esc>0iA", &expect!["A|bc insert"]);
        check_vim("bc<esc>0aA", &expect!["bA|c insert"]);
        check_vim("  bc<esc>IA", &expect!["  A|bc insert"]);
        check_vim("bc<esc>0AA", &expect!["bcA| insert"]);
        check_vim("b<ctrl-j>c<esc>ggoA", &expect!["b\nA|\nc insert"]);
        check_vim("b<ctrl-j>c<esc>OA", &expect!["b\nA|\nc insert"]);
        check_vim("b<esc>OA", &expect!["A|\nb insert"]);
        check_vim("abjj", &expect!["a|b normal"]);
        check_vim("aj<left><right>j", &expect!["ajj| insert"]);
    }

    #[test]
    fn other_keys_are_those_of_the_composer() {
        let (text, effects) = typed("hello<esc><enter>");
        assert_eq!(text, "| normal");
        assert!(matches!(&effects[..], [ComposerEffect::Send(message)] if message.text == "hello"), "{effects:?}");
        assert_eq!(typed("<esc><esc>").1, [ComposerEffect::Escape], "the second one interrupts");
        assert_eq!(typed("<esc>/").0, "/| insert", "a command can be begun at once");
    }
}
