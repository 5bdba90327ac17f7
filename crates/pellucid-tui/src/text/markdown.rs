//! Markdown as styled lines, one source line after the other.
//!
//! The reader holds back only what a later line could change: the last line of a paragraph (the next one may make it a
//! heading or a table), lines with an emphasis that is still open, and the rows of a table, whose columns fit the widest
//! cell. What it has given out it never looks at again, so the cost is linear and each line is final.
//!
//! Every line end of a paragraph is kept. HTML is shown as it is written; link definitions and footnotes are not known.

use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::inline::Inline;
use super::palette::Palette;
use super::stream::MarkdownStream;
use super::table::Table;
use super::wrap::Breaking;
use super::wrap::Indent;
use super::wrap::wrap;

/// An emphasis that is not closed after this many lines is shown as it is written.
const OPEN_LINES: usize = 8;

/// A deeper structure is shown as text.
const DEPTH_MAX: usize = 16;

/// The whole text as lines of at most `columns`.
pub fn lines(text: &str, columns: usize, palette: &Palette) -> Vec<Line<'static>> {
    let mut stream = MarkdownStream::new(columns, *palette);
    let mut out = stream.push(text);
    out.extend(stream.finish());
    out
}

/// Reads Markdown line by line.
#[derive(Debug, Clone)]
pub struct MarkdownReader {
    columns: usize,
    palette: Palette,
    containers: Vec<Container>,
    leaf: Leaf,
    /// The kind of the block that was given out last.
    last: Option<Kind>,
    /// Whether the source had a blank line since then.
    is_blank: bool,
    out: Vec<Line<'static>>,
    #[cfg(test)]
    pub(super) bytes_read: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Container {
    Quote,
    Item {
        /// The columns by which the content of the item is indented in the source.
        indent: usize,
        /// `-`, `*`, `+`, `.` or `)`: an item with another sign begins another list.
        sign: char,
        number: u64,
        /// What the first line of the item begins with; taken by that line.
        mark: Option<String>,
        /// The columns of the mark.
        columns: usize,
    },
}

#[derive(Debug, Clone)]
enum Leaf {
    None,
    Paragraph(Vec<String>),
    Code { fence: char, length: usize, indent: usize },
    Table(Table),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Heading,
    Code,
    Table,
    Rule,
}

/// What a line begins after its containers.
enum Start<'a> {
    Heading { level: usize, text: &'a str },
    Fence { fence: char, length: usize },
    Rule,
    Quote(&'a str),
    Item { sign: char, number: u64, width: usize, rest: &'a str },
}

impl MarkdownReader {
    /// A reader that makes lines of at most `columns`.
    pub fn new(columns: usize, palette: Palette) -> Self {
        Self {
            columns,
            palette,
            containers: Vec::new(),
            leaf: Leaf::None,
            last: None,
            is_blank: false,
            out: Vec::new(),
            #[cfg(test)]
            bytes_read: 0,
        }
    }

    /// Changes the width of the lines that follow.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Takes the lines that are finished.
    pub fn take(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.out)
    }

    /// Reads the next line of the source, which has no control characters.
    pub fn line(&mut self, line: &str) {
        #[cfg(test)]
        {
            self.bytes_read += line.len();
        }
        let (matched, rest) = self.inside(line);
        let is_inside = matched == self.containers.len();
        if let Leaf::Code { fence, length, indent } = self.leaf {
            if is_inside {
                return self.code_line(rest, fence, length, indent);
            }
            self.leaf = Leaf::None;
        }
        if rest.trim().is_empty() {
            return self.blank_line(matched, line);
        }
        if !is_inside {
            let is_lazy = matches!(self.leaf, Leaf::Paragraph(_)) && self.start(rest).is_none();
            if is_lazy {
                return self.paragraph_line(rest.trim_start());
            }
            self.flush();
        }
        let closed = self.close(matched);
        self.content(rest, closed.as_ref());
    }

    /// Ends the text.
    pub fn finish(&mut self) {
        self.flush();
        self.close(0);
    }

    /// Removes the beginnings of the open containers from a line; says how many continue.
    fn inside<'a>(&self, line: &'a str) -> (usize, &'a str) {
        let mut rest = line;
        for (number, container) in self.containers.iter().enumerate() {
            let blanks = rest.len() - rest.trim_start_matches(' ').len();
            let trimmed = &rest[blanks..];
            rest = match container {
                Container::Quote if blanks < 4 && trimmed.starts_with('>') => without_sign(trimmed),
                Container::Item { .. } if trimmed.is_empty() => trimmed,
                Container::Item { indent, .. } if blanks >= *indent => &rest[*indent..],
                // Many texts indent a list inside of a numbered one by two columns only.
                Container::Item { indent, .. } if blanks >= 2 && *indent > 2 && item(trimmed).is_some() => trimmed,
                _ => return (number, rest),
            };
        }
        (self.containers.len(), rest)
    }

    /// Closes containers from `keep` on and returns the first of them.
    fn close(&mut self, keep: usize) -> Option<Container> {
        let has_mark = |it: &Container| matches!(it, Container::Item { mark: Some(_), .. });
        if self.containers[keep.min(self.containers.len())..].iter().any(has_mark) {
            // An item without content is still an item.
            self.begin(Kind::Text);
            let indent = self.indent();
            self.out.push(Line::from(indent.first));
        }
        self.containers.drain(keep.min(self.containers.len())..).next()
    }

    fn blank_line(&mut self, matched: usize, line: &str) {
        self.flush();
        self.is_blank = true;
        // A blank line ends a quote unless the line has the sign of the quote; items go on.
        let ended = self.containers.iter().skip(matched).position(|it| *it == Container::Quote);
        if let Some(at) = ended.filter(|_| !line.trim_start().starts_with('>')) {
            self.close(matched + at);
        }
    }

    fn start<'a>(&self, rest: &'a str) -> Option<Start<'a>> {
        let trimmed = rest.trim_start_matches(' ');
        if rest.len() - trimmed.len() >= 4 {
            return None;
        }
        let is_deep = self.containers.len() >= DEPTH_MAX;
        let first = trimmed.chars().next()?;
        match first {
            '#' => heading(trimmed),
            '`' | '~' => fence(trimmed),
            '>' if !is_deep => Some(Start::Quote(without_sign(trimmed))),
            _ if is_rule(trimmed) => Some(Start::Rule),
            '-' | '*' | '+' | '0'..='9' if !is_deep => item(trimmed),
            _ => None,
        }
    }

    /// Reads what is left of a line after its containers. `closed` is the container that the line has ended.
    fn content(&mut self, rest: &str, closed: Option<&Container>) {
        if matches!(self.leaf, Leaf::Paragraph(_)) && self.underline(rest) {
            return;
        }
        match self.start(rest) {
            Some(Start::Heading { level, text }) => {
                self.flush();
                self.heading(level, text);
            }
            Some(Start::Fence { fence, length }) => {
                self.flush();
                self.begin(Kind::Code);
                let indent = rest.len() - rest.trim_start_matches(' ').len();
                self.leaf = Leaf::Code { fence, length, indent };
            }
            Some(Start::Rule) => {
                self.flush();
                self.begin(Kind::Rule);
                self.text("───", self.palette.dim());
            }
            Some(Start::Quote(inside)) => {
                self.flush();
                self.containers.push(Container::Quote);
                self.nested(inside);
            }
            // A number in the middle of a paragraph is a list only if it is 1.
            Some(Start::Item { number, sign, .. })
                if matches!(self.leaf, Leaf::Paragraph(_)) && number != 1 && !"-*+".contains(sign) =>
            {
                self.paragraph_line(rest.trim_start());
            }
            Some(Start::Item { sign, number, width, rest: inside }) => {
                self.flush();
                let outer = rest.len() - rest.trim_start_matches(' ').len();
                self.item(sign, number, outer + width, closed);
                self.nested(inside);
            }
            None => self.plain(rest),
        }
    }

    /// Reads the rest of a line behind the sign of a container.
    fn nested(&mut self, rest: &str) {
        if !rest.trim().is_empty() {
            self.content(rest, None);
        }
    }

    fn item(&mut self, sign: char, number: u64, indent: usize, closed: Option<&Container>) {
        let number = match closed {
            Some(Container::Item { sign: before, number, .. }) if *before == sign => number.saturating_add(1),
            _ => number,
        };
        let mark = if sign == '.' || sign == ')' { format!("{number}{sign} ") } else { "- ".to_owned() };
        let columns = mark.len();
        self.containers.push(Container::Item { indent, sign, number, mark: Some(mark), columns });
    }

    /// A line that begins nothing: text, code by its indent, or a row of a table.
    fn plain(&mut self, rest: &str) {
        if let Leaf::Table(table) = &mut self.leaf {
            if table.push(rest.trim()) {
                if table.is_full() {
                    self.table_rows();
                }
                return;
            }
            self.flush();
        }
        let is_code = rest.starts_with("    ") && matches!(self.leaf, Leaf::None);
        if is_code {
            self.begin(Kind::Code);
            return self.code_text(&rest[4..]);
        }
        self.paragraph_line(rest.trim_start());
    }

    fn paragraph_line(&mut self, text: &str) {
        if let Leaf::Paragraph(held) = &mut self.leaf {
            held.push(text.to_owned());
            self.settle();
        } else {
            self.flush();
            self.leaf = Leaf::Paragraph(vec![text.to_owned()]);
        }
    }

    /// Gives out the lines of a paragraph that the next line cannot change.
    fn settle(&mut self) {
        let Leaf::Paragraph(held) = &mut self.leaf else {
            return;
        };
        let Some(last) = held.pop() else {
            return;
        };
        let text = held.join("\n");
        let inline = self.read(&text, Style::new());
        let Leaf::Paragraph(held) = &mut self.leaf else {
            return;
        };
        if inline.is_open && held.len() < OPEN_LINES {
            held.push(last);
            return;
        }
        *held = vec![last];
        self.text_lines(inline);
    }

    fn read(&mut self, text: &str, base: Style) -> Inline {
        #[cfg(test)]
        {
            self.bytes_read += text.len();
        }
        Inline::read(text, base, &self.palette)
    }

    /// Whether a line makes the line before it a heading or the head of a table.
    fn underline(&mut self, rest: &str) -> bool {
        let Leaf::Paragraph(held) = &mut self.leaf else {
            return false;
        };
        let trimmed = rest.trim();
        let level = match trimmed.as_bytes() {
            [b'=', ..] if trimmed.bytes().all(|byte| byte == b'=') => 1,
            [b'-', ..] if trimmed.bytes().all(|byte| byte == b'-') => 2,
            _ => 0,
        };
        let table = held.last().and_then(|head| Table::begin(head, trimmed));
        if level == 0 && table.is_none() {
            return false;
        }
        let Some(head) = held.pop() else {
            return false;
        };
        self.flush();
        match table {
            Some(table) => self.leaf = Leaf::Table(table),
            None => self.heading(level, &head),
        }
        true
    }

    /// Gives out what is held back.
    fn flush(&mut self) {
        match std::mem::replace(&mut self.leaf, Leaf::None) {
            Leaf::None | Leaf::Code { .. } => {}
            Leaf::Paragraph(held) if held.is_empty() => {}
            Leaf::Paragraph(held) => {
                let inline = self.read(&held.join("\n"), Style::new());
                self.text_lines(inline);
            }
            Leaf::Table(table) => {
                self.leaf = Leaf::Table(table);
                self.table_rows();
                self.leaf = Leaf::None;
            }
        }
    }

    fn table_rows(&mut self) {
        let Leaf::Table(mut table) = std::mem::replace(&mut self.leaf, Leaf::None) else {
            return;
        };
        if table.is_begun() {
            self.begin_without_gap(Kind::Table);
        } else {
            self.begin(Kind::Table);
        }
        let indent = self.indent();
        #[cfg(test)]
        {
            self.bytes_read += table.bytes();
        }
        self.out.extend(table.draw(self.columns, &indent, &self.palette));
        self.leaf = Leaf::Table(table);
    }

    fn heading(&mut self, level: usize, text: &str) {
        self.begin(Kind::Heading);
        let style = match level {
            1 => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            2 => self.palette.bold(),
            3 => Style::new().add_modifier(Modifier::BOLD | Modifier::ITALIC),
            _ => Style::new().add_modifier(Modifier::ITALIC),
        };
        let spans = self.read(text, style).on_one_line();
        self.wrapped(&spans, Breaking::Words);
    }

    fn code_line(&mut self, rest: &str, fence: char, length: usize, indent: usize) {
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let closing = rest.trim();
        if blanks < 4 && closing.len() >= length && closing.chars().all(|it| it == fence) {
            self.leaf = Leaf::None;
            return;
        }
        self.code_text(&rest[blanks.min(indent)..]);
    }

    fn code_text(&mut self, text: &str) {
        self.last = Some(Kind::Code);
        let mut indent = self.indent();
        indent.first.push(Span::raw("  "));
        indent.rest.push(Span::raw("  "));
        self.out.extend(wrap(&[Span::raw(text.to_owned())], self.columns, &indent, Breaking::Anywhere));
    }

    fn text(&mut self, text: &str, style: Style) {
        self.wrapped(&[Span::styled(text.to_owned(), style)], Breaking::Words);
    }

    fn text_lines(&mut self, inline: Inline) {
        self.begin(Kind::Text);
        for spans in inline.lines {
            self.wrapped(&spans, Breaking::Words);
        }
    }

    fn wrapped(&mut self, spans: &[Span<'static>], breaking: Breaking) {
        let indent = self.indent();
        self.out.extend(wrap(spans, self.columns, &indent, breaking));
    }

    /// Puts a blank line before a block if the source has one, or if a block of this kind needs one.
    fn begin(&mut self, kind: Kind) {
        let is_apart = |kind: Kind| kind != Kind::Text;
        let needs_gap = match self.last {
            None => false,
            Some(last) => {
                self.is_blank || (is_apart(last) || is_apart(kind)) && !(last == Kind::Code && kind == Kind::Code)
            }
        };
        if needs_gap {
            self.out.push(Line::default());
        }
        self.begin_without_gap(kind);
    }

    fn begin_without_gap(&mut self, kind: Kind) {
        self.last = Some(kind);
        self.is_blank = false;
    }

    /// What the next lines begin with. Marks of items are taken: they are shown once.
    fn indent(&mut self) -> Indent {
        let mut indent = Indent::default();
        let dim = self.palette.dim();
        for container in &mut self.containers {
            match container {
                Container::Quote => {
                    indent.first.push(Span::styled("> ", dim));
                    indent.rest.push(Span::styled("> ", dim));
                }
                Container::Item { mark, columns, .. } => {
                    let blanks = " ".repeat(*columns);
                    indent.rest.push(Span::raw(blanks.clone()));
                    indent.first.push(mark.take().map_or(Span::raw(blanks), |mark| Span::styled(mark, dim)));
                }
            }
        }
        indent
    }
}

/// The text after the sign of a quote and one blank.
fn without_sign(text: &str) -> &str {
    let text = text.strip_prefix('>').unwrap_or(text);
    text.strip_prefix(' ').unwrap_or(text)
}

fn heading(text: &str) -> Option<Start<'_>> {
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &text[level..];
    if level > 6 || !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let rest = rest.trim();
    let open = rest.trim_end_matches('#');
    let text = if open.is_empty() || open.ends_with(' ') { open.trim_end() } else { rest };
    Some(Start::Heading { level, text })
}

fn fence(text: &str) -> Option<Start<'_>> {
    let fence = text.chars().next()?;
    let length = text.chars().take_while(|it| *it == fence).count();
    let is_code = length >= 3 && !(fence == '`' && text[length..].contains('`'));
    is_code.then_some(Start::Fence { fence, length })
}

fn is_rule(text: &str) -> bool {
    let Some(sign) = text.chars().next().filter(|it| "-*_".contains(*it)) else {
        return false;
    };
    text.chars().all(|it| it == sign || it == ' ') && text.chars().filter(|it| *it == sign).count() >= 3
}

fn item(text: &str) -> Option<Start<'_>> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = text[digits..].chars().next()?;
    let is_item = if digits == 0 { "-*+".contains(sign) } else { digits <= 9 && ".)".contains(sign) };
    let rest = &text[digits + sign.len_utf8()..];
    if !is_item || !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    // After five blanks the item begins with code; one of them belongs to the sign.
    let blanks = if blanks > 4 || rest.trim().is_empty() { blanks.min(1) } else { blanks };
    let number = text[..digits].parse().unwrap_or(0);
    Some(Start::Item { sign, number, width: digits + 1 + blanks.max(1), rest: &rest[blanks..] })
}

#[cfg(test)]
mod tests;
