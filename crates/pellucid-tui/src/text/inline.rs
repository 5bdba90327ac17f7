//! The text inside of a Markdown block: emphasis, code, links, escapes.
//!
//! A link is shown as its text with the target in parentheses. HTML is shown as it is written, except for `<br>`. A line end
//! of the source is a line end of the result.

use std::collections::HashSet;

use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Span;

use super::palette::Palette;

/// Text with its styles.
#[derive(Debug, Clone, PartialEq)]
pub struct Inline {
    /// The spans of each line; at least one line.
    pub lines: Vec<Vec<Span<'static>>>,
    /// Whether a mark was opened and not closed, so that more text could change how this text looks.
    pub is_open: bool,
}

impl Inline {
    /// Reads the text of a block. `base` is the style of the block.
    pub fn read(text: &str, base: Style, palette: &Palette) -> Self {
        let mut scanner = Scanner { text, at: 0, nodes: Vec::new(), brackets: Vec::new(), unclosed: HashSet::new() };
        scanner.scan();
        let Scanner { mut nodes, unclosed, .. } = scanner;
        match_marks(&mut nodes);
        let is_open = !unclosed.is_empty()
            || nodes.iter().any(|node| matches!(node, Node::Marks(it) if it.count > 0 && it.opens && !it.closes));
        Self { lines: drawn(&nodes, base, palette), is_open }
    }

    /// All spans on one line, for a heading or a cell of a table.
    pub fn on_one_line(self) -> Vec<Span<'static>> {
        let mut lines = self.lines.into_iter();
        let mut out = lines.next().unwrap_or_default();
        for line in lines {
            out.push(Span::raw(" "));
            out.extend(line);
        }
        out
    }
}

#[derive(Debug)]
enum Node {
    Text(String),
    Code(String),
    /// An address that is shown as it is.
    Url(String),
    LineEnd,
    Marks(Marks),
    /// Where a link begins, if its end was found.
    LinkStart {
        is_link: bool,
        literal: &'static str,
    },
    LinkEnd {
        target: String,
        start: usize,
    },
}

/// A run of `*`, `_` or `~`.
#[derive(Debug)]
struct Marks {
    character: char,
    /// How many are left that belong to no pair.
    count: usize,
    /// How long the run was.
    length: usize,
    opens: bool,
    closes: bool,
    /// The pairs that end and begin here.
    ends: Vec<Modifier>,
    begins: Vec<Modifier>,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    nodes: Vec<Node>,
    /// The nodes that may begin a link.
    brackets: Vec<usize>,
    /// Lengths of runs of backticks for which no closing run follows.
    unclosed: HashSet<usize>,
}

impl<'a> Scanner<'a> {
    fn scan(&mut self) {
        while let Some(character) = self.rest().chars().next() {
            match character {
                '\\' => self.escape(),
                '`' => self.code(),
                '*' | '_' | '~' => self.marks(character),
                '\n' => self.line_end(1),
                '!' if self.rest().starts_with("![") => self.bracket("!["),
                '[' => self.bracket("["),
                ']' => self.link_end(),
                '<' => self.angle(),
                '&' => self.entity(),
                'h' if self.is_url_start() => self.url(),
                _ => self.plain(),
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn push(&mut self, text: &str) {
        match self.nodes.last_mut() {
            Some(Node::Text(last)) => last.push_str(text),
            _ => self.nodes.push(Node::Text(text.to_owned())),
        }
    }

    /// Text up to the next character that may mean something.
    fn plain(&mut self) {
        let rest = self.rest();
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let special = |it: char| matches!(it, '\\' | '`' | '*' | '_' | '~' | '\n' | '!' | '[' | ']' | '<' | '&' | 'h');
        let end = rest[first..].find(special).map_or(rest.len(), |at| first + at);
        self.push(&rest[..end]);
        self.at += end;
    }

    fn escape(&mut self) {
        match self.rest()[1..].chars().next() {
            Some('\n') => {
                self.at += 1;
                self.line_end(1);
            }
            Some(next) if next.is_ascii_punctuation() => {
                self.push(next.encode_utf8(&mut [0; 4]));
                self.at += 2;
            }
            _ => {
                self.push("\\");
                self.at += 1;
            }
        }
    }

    fn line_end(&mut self, length: usize) {
        if let Some(Node::Text(text)) = self.nodes.last_mut() {
            text.truncate(text.trim_end_matches(' ').len());
        }
        self.nodes.push(Node::LineEnd);
        self.at += length;
        let blanks = self.rest().len() - self.rest().trim_start_matches(' ').len();
        self.at += blanks;
    }

    fn code(&mut self) {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| *byte == b'`').count();
        let end = if self.unclosed.contains(&length) { None } else { closing_run(&rest[length..], length) };
        let Some(end) = end else {
            self.unclosed.insert(length);
            self.push(&rest[..length]);
            self.at += length;
            return;
        };
        let inside = rest[length..length + end].replace('\n', " ");
        let trimmed = match inside.strip_prefix(' ').and_then(|it| it.strip_suffix(' ')) {
            Some(trimmed) if !trimmed.trim().is_empty() => trimmed,
            _ => inside.as_str(),
        };
        self.nodes.push(Node::Code(trimmed.to_owned()));
        self.at += 2 * length + end;
    }

    fn marks(&mut self, character: char) {
        let length = self.rest().chars().take_while(|it| *it == character).count();
        let before = self.text[..self.at].chars().next_back();
        let after = self.rest()[length..].chars().next();
        let is_blank = |it: Option<char>| it.is_none_or(char::is_whitespace);
        let is_sign = |it: Option<char>| it.is_some_and(|it| it.is_ascii_punctuation() || is_wide_sign(it));
        let left = !is_blank(after) && (!is_sign(after) || is_blank(before) || is_sign(before));
        let right = !is_blank(before) && (!is_sign(before) || is_blank(after) || is_sign(after));
        let (opens, closes) = match character {
            '_' => (left && (!right || is_sign(before)), right && (!left || is_sign(after))),
            // One tilde is "about" more often than a mark.
            '~' => (left && length == 2, right && length == 2),
            _ => (left, right),
        };
        let (ends, begins) = (Vec::new(), Vec::new());
        self.nodes.push(Node::Marks(Marks { character, count: length, length, opens, closes, ends, begins }));
        self.at += length;
    }

    fn bracket(&mut self, literal: &'static str) {
        self.brackets.push(self.nodes.len());
        self.nodes.push(Node::LinkStart { is_link: false, literal });
        self.at += literal.len();
    }

    fn link_end(&mut self) {
        let start = self.brackets.pop();
        let target = self.rest()[1..].strip_prefix('(').and_then(link_target);
        match (start, target) {
            (Some(start), Some((target, length))) => {
                if let Some(Node::LinkStart { is_link, .. }) = self.nodes.get_mut(start) {
                    *is_link = true;
                }
                self.nodes.push(Node::LinkEnd { target, start });
                self.at += 2 + length;
            }
            _ => {
                self.push("]");
                self.at += 1;
            }
        }
    }

    fn angle(&mut self) {
        let rest = self.rest();
        for tag in ["<br>", "<br/>", "<br />"] {
            if rest.starts_with(tag) {
                return self.line_end(tag.len());
            }
        }
        let inside = rest[1..].find(['>', '<', ' ', '\n']).map(|end| &rest[1..=end]);
        match inside.filter(|it| rest[1 + it.len()..].starts_with('>') && is_address(it)) {
            Some(inside) => {
                self.nodes.push(Node::Url(inside.to_owned()));
                self.at += inside.len() + 2;
            }
            None => {
                self.push("<");
                self.at += 1;
            }
        }
    }

    fn entity(&mut self) {
        let rest = self.rest();
        let near = &rest[..rest.floor_char_boundary(12)];
        let decoded = near.find(';').and_then(|end| Some((entity(&near[1..end])?, end + 1)));
        match decoded {
            Some((character, length)) => {
                self.push(character.encode_utf8(&mut [0; 4]));
                self.at += length;
            }
            None => {
                self.push("&");
                self.at += 1;
            }
        }
    }

    fn is_url_start(&self) -> bool {
        let rest = self.rest();
        (rest.starts_with("https://") || rest.starts_with("http://"))
            && !self.text[..self.at].chars().next_back().is_some_and(char::is_alphanumeric)
    }

    fn url(&mut self) {
        let rest = self.rest();
        let end = rest.find(|it: char| it.is_whitespace() || "<>`\"|]".contains(it)).unwrap_or(rest.len());
        let mut url = &rest[..end];
        loop {
            let cut = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '~', '\'']);
            let cut = match cut.strip_suffix(')') {
                Some(inside) if cut.matches('(').count() < cut.matches(')').count() => inside,
                _ => cut,
            };
            if cut.len() == url.len() {
                break;
            }
            url = cut;
        }
        self.nodes.push(Node::Url(url.to_owned()));
        self.at += url.len();
    }
}

/// The place of the next run of exactly `length` backticks.
fn closing_run(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let begin = at + found;
        let run = text[begin..].bytes().take_while(|byte| *byte == b'`').count();
        if run == length {
            return Some(begin);
        }
        at = begin + run;
    }
    None
}

/// The target of a link after its opening parenthesis, and how many bytes it takes with the closing one.
fn link_target(text: &str) -> Option<(String, usize)> {
    // Targets are short; the bound keeps a text of open brackets from being searched again for each of them.
    let near = &text[..text.floor_char_boundary(1024)];
    let (target, rest) = match near.strip_prefix('<') {
        Some(inside) => inside.split_once('>').filter(|(target, _)| !target.contains('\n'))?,
        None => {
            let mut depth = 0usize;
            let end = near.find(|it: char| match it {
                '(' => {
                    depth += 1;
                    false
                }
                ')' if depth > 0 => {
                    depth -= 1;
                    false
                }
                _ => it == ')' || it.is_whitespace(),
            })?;
            near.split_at(end)
        }
    };
    let after = rest.trim_start_matches([' ', '\n']);
    let after = match after.chars().next() {
        Some(quote @ ('"' | '\'')) => after[1..].split_once(quote)?.1.trim_start_matches([' ', '\n']),
        _ => after,
    };
    let closed = after.strip_prefix(')')?;
    Some((target.to_owned(), near.len() - closed.len()))
}

fn is_address(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|it| {
        it.len() >= 2 && it.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    }) && text.starts_with(|it: char| it.is_ascii_alphabetic())
}

fn entity(name: &str) -> Option<char> {
    let number = name.strip_prefix('#').and_then(|digits| match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    });
    if let Some(number) = number {
        // A control character must not come back this way.
        return char::from_u32(number).filter(|it| !it.is_control() && *it >= ' ' && !is_format(*it));
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "copy" => '©',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "rarr" => '→',
        "larr" => '←',
        _ => return None,
    })
}

/// Whether a character is invisible or turns text around.
fn is_format(character: char) -> bool {
    let text: String = [character].into_iter().collect();
    pellucid_engine::visible::visible(&text) != text
}

/// Signs that end words in texts without spaces.
fn is_wide_sign(character: char) -> bool {
    matches!(character, '\u{3001}'..='\u{303f}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{2010}'..='\u{2027}')
}

/// Finds the pairs of marks, as CommonMark does it: each closing run looks back for the nearest run that can open.
fn match_marks(nodes: &mut [Node]) {
    let runs: Vec<usize> = (0..nodes.len()).filter(|at| matches!(nodes[*at], Node::Marks(_))).collect();
    let mut open: Vec<usize> = Vec::new();
    // Below this height of `open` there is nothing for a run of this kind, so that no search is repeated.
    let mut floors: Vec<((char, usize, bool), usize)> = Vec::new();
    for at in runs {
        while let Some(closer) = marks(nodes, at).filter(|it| it.closes && it.count > 0) {
            let kind = (closer.character, closer.length % 3, closer.opens);
            let floor = floors.iter().find(|(it, _)| *it == kind).map_or(0, |(_, floor)| *floor);
            let found = (floor.min(open.len())..open.len()).rev().find(|place| can_pair(nodes, open[*place], at));
            let Some(place) = found else {
                match floors.iter_mut().find(|(it, _)| *it == kind) {
                    Some((_, floor)) => *floor = open.len(),
                    None => floors.push((kind, open.len())),
                }
                break;
            };
            let opener = open[place];
            open.truncate(place + 1);
            floors.iter_mut().for_each(|(_, floor)| *floor = (*floor).min(place + 1));
            if pair(nodes, opener, at) == 0 {
                open.pop();
                floors.iter_mut().for_each(|(_, floor)| *floor = (*floor).min(place));
            }
        }
        if marks(nodes, at).is_some_and(|it| it.opens && it.count > 0) {
            open.push(at);
        }
    }
}

fn marks(nodes: &[Node], at: usize) -> Option<&Marks> {
    match &nodes[at] {
        Node::Marks(marks) => Some(marks),
        _ => None,
    }
}

fn can_pair(nodes: &[Node], opener: usize, closer: usize) -> bool {
    let (Some(opener), Some(closer)) = (marks(nodes, opener), marks(nodes, closer)) else {
        return false;
    };
    let is_odd = (opener.closes || closer.opens)
        && (opener.length + closer.length).is_multiple_of(3)
        && !(opener.length.is_multiple_of(3) && closer.length.is_multiple_of(3));
    opener.character == closer.character && !is_odd && (opener.character != '~' || opener.count == closer.count)
}

/// Makes a pair of two runs and returns how many marks of the opening one are left.
fn pair(nodes: &mut [Node], opener: usize, closer: usize) -> usize {
    let both = |nodes: &[Node]| Some((marks(nodes, opener)?.count, marks(nodes, closer)?.count));
    let is_double = both(nodes).is_some_and(|(one, other)| one >= 2 && other >= 2);
    let used = if is_double { 2 } else { 1 };
    let mut left = 0;
    if let Node::Marks(marks) = &mut nodes[opener] {
        marks.count -= used;
        marks.begins.push(modifier(marks.character, is_double));
        left = marks.count;
    }
    if let Node::Marks(marks) = &mut nodes[closer] {
        marks.count -= used;
        marks.ends.push(modifier(marks.character, is_double));
    }
    left
}

fn modifier(character: char, is_double: bool) -> Modifier {
    match (character, is_double) {
        ('~', _) => Modifier::CROSSED_OUT,
        (_, true) => Modifier::BOLD,
        (_, false) => Modifier::ITALIC,
    }
}

/// The nodes as lines of spans.
fn drawn(nodes: &[Node], base: Style, palette: &Palette) -> Vec<Vec<Span<'static>>> {
    let mut canvas = Canvas { lines: vec![Vec::new()], base, on: [0; 3] };
    let address = palette.accent().add_modifier(Modifier::UNDERLINED);
    for node in nodes {
        match node {
            Node::Text(text) => canvas.push(text, Style::new()),
            Node::Code(text) => canvas.push(text, palette.accent()),
            Node::Url(text) => canvas.push(text, address),
            Node::LineEnd => canvas.lines.push(Vec::new()),
            Node::LinkStart { is_link: true, .. } => {}
            Node::LinkStart { literal, .. } => canvas.push(literal, Style::new()),
            Node::LinkEnd { target, start } => {
                let is_shown = nodes[*start..].iter().find_map(|it| match it {
                    Node::Text(text) | Node::Url(text) => Some(text == target),
                    _ => None,
                });
                if !target.is_empty() && is_shown != Some(true) {
                    canvas.push(" (", Style::new());
                    canvas.push(target, address);
                    canvas.push(")", Style::new());
                }
            }
            Node::Marks(marks) => {
                marks.ends.iter().for_each(|it| canvas.count(*it, -1));
                if marks.count > 0 {
                    canvas.push(&marks.character.to_string().repeat(marks.count), Style::new());
                }
                marks.begins.iter().for_each(|it| canvas.count(*it, 1));
            }
        }
    }
    canvas.lines
}

struct Canvas {
    lines: Vec<Vec<Span<'static>>>,
    base: Style,
    /// How many pairs of each modifier are open.
    on: [i32; 3],
}

const MODIFIERS: [Modifier; 3] = [Modifier::BOLD, Modifier::ITALIC, Modifier::CROSSED_OUT];

impl Canvas {
    fn count(&mut self, modifier: Modifier, by: i32) {
        for (known, on) in MODIFIERS.iter().zip(&mut self.on) {
            *on += if *known == modifier { by } else { 0 };
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        let mut style = self.base.patch(style);
        for (modifier, on) in MODIFIERS.iter().zip(self.on) {
            if on > 0 {
                style = style.add_modifier(*modifier);
            }
        }
        let Some(line) = self.lines.last_mut() else {
            return;
        };
        match line.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            _ => line.push(Span::styled(text.to_owned(), style)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::palette::ColourDepth;

    /// Writes styles as marks: `<b>`, `<i>`, `<s>`, `<c>` for code, `<u>` for an address.
    fn shown(inline: &Inline) -> String {
        let mut out = Vec::new();
        for line in &inline.lines {
            let mut text = String::new();
            for span in line {
                let has = |it| span.style.add_modifier.contains(it);
                let mut marks = String::new();
                for (modifier, mark) in [(Modifier::BOLD, 'b'), (Modifier::ITALIC, 'i'), (Modifier::CROSSED_OUT, 's')] {
                    marks.extend(has(modifier).then_some(mark));
                }
                marks.extend(has(Modifier::UNDERLINED).then_some('u'));
                marks.extend((span.style.fg.is_some() && !has(Modifier::UNDERLINED)).then_some('c'));
                text +=
                    &if marks.is_empty() { span.content.to_string() } else { format!("<{marks}:{}>", span.content) };
            }
            out.push(text);
        }
        out.join("⏎") + if inline.is_open { " (open)" } else { "" }
    }

    #[track_caller]
    fn check_inline(text: &str, expected: &str) {
        let palette = Palette::new(ColourDepth::Named, None);
        assert_eq!(shown(&Inline::read(text, Style::new(), &palette)), expected, "{text:?}");
    }

    #[test]
    fn emphasis() {
        check_inline("some **strong** and *emphatic* words", "some <b:strong> and <i:emphatic> words");
        check_inline("***both***", "<bi:both>");
        check_inline("**bold *and italic***", "<b:bold ><bi:and italic>");
        check_inline("_one_ and __two__", "<i:one> and <b:two>");
        check_inline("snake_case_name", "snake_case_name");
        check_inline("2 * 3 * 4", "2 * 3 * 4");
        check_inline("a*b*c", "a<i:b>c");
        check_inline("~~gone~~ and ~5", "<s:gone> and ~5");
        check_inline("**open", "**open (open)");
        check_inline("*a **b*", "*a *<i:b> (open)");
        check_inline("**重要**です", "<b:重要>です");
        check_inline("\\*not\\* \\q", "*not* \\q");
    }

    #[test]
    fn code() {
        check_inline("use `a*b*c` here", "use <c:a*b*c> here");
        check_inline("`` a`b ``", "<c:a`b>");
        check_inline("`never closed", "`never closed (open)");
        check_inline("**`bold code`**", "<bc:bold code>");
    }

    #[test]
    fn links() {
        check_inline("See [the page](https://a.test/p).", "See the page (<u:https://a.test/p>).");
        check_inline("[a](<b c> \"title\")", "a (<u:b c>)");
        check_inline("[x](f(1))", "x (<u:f(1)>)");
        check_inline("![alt](pic.png)", "alt (<u:pic.png>)");
        check_inline("[https://a.test](https://a.test)", "<u:https://a.test>");
        check_inline("<https://a.test> <b>", "<u:https://a.test> <b>");
        check_inline(
            "at https://a.test/x_y_z, or (http://b.test).",
            "at <u:https://a.test/x_y_z>, or (<u:http://b.test>).",
        );
        check_inline("**https://a.test**", "<bu:https://a.test>");
        check_inline("[not a link] [x][1]", "[not a link] [x][1]");
        check_inline("the host", "the host");
    }

    #[test]
    fn line_ends_and_entities() {
        check_inline("one  \ntwo\\\nthree<br>four", "one⏎two⏎three⏎four");
        check_inline("**over\ntwo**", "<b:over>⏎<b:two>");
        check_inline("a &lt; b &amp; c &#65; &#x1b; &#x202e; &x; &", "a < b & c A &#x1b; &#x202e; &x; &");
    }

    /// Texts on which a naive reader takes time that grows with the square of their length.
    #[test]
    fn hostile_text_is_read_in_one_pass() {
        for piece in ["*a ", "**a *b ", "[", "`", "a`b``c```", "](", "<", "![[", "_a*", "&#", "[a](", "~~a "] {
            let text = piece.repeat((1 << 16) / piece.len());
            let inline = Inline::read(&text, Style::new(), &Palette::plain());
            assert!(!inline.lines.is_empty());
        }
    }
}
