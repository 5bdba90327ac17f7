//! The blocks of a Markdown source as styled lines: indents, marks of lists and quotes, and the blank lines between blocks.

use std::ops::Range;

use pulldown_cmark::CodeBlockKind;
use pulldown_cmark::Event;
use pulldown_cmark::HeadingLevel;
use pulldown_cmark::Options;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;
use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use super::code::Highlighter;
use super::inline::Inline;
use super::inline::is_line_break;
use super::palette::Palette;
use super::table::Table;
use super::wrap::Breaking;
use super::wrap::Indent;
use super::wrap::wrap;

/// Deeper containers are not indented further, so that a short text cannot become very wide.
const DEPTH_MAX: usize = 16;

/// A table with more columns is shown as it is written.
const COLUMNS_MAX: usize = 64;

/// What is read beside CommonMark.
const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// A parser with the options that all readers of a source have in common.
pub(super) fn parser(source: &str) -> Parser<'_> {
    Parser::new_ext(source, OPTIONS)
}

/// How the first block of a source continues what was drawn before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Continued {
    #[default]
    Nothing,
    /// A list of which earlier items were drawn: its first item has this number.
    List(u64),
    /// Code of which earlier lines were drawn.
    Code,
    /// A table of which earlier rows were drawn.
    Table,
    /// A paragraph of which earlier lines were drawn: another line is in their place.
    Paragraph,
}

/// What was drawn last, which decides whether a blank line follows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Before {
    kind: Option<Kind>,
    /// Whether the source had a blank line since then.
    is_blank: bool,
    /// The reader of the code that was drawn last, for the lines of it that follow.
    code: Option<Highlighter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Heading,
    Code,
    Table,
    Rule,
}

/// Draws a source that begins and ends with whole blocks.
pub(super) fn draw(
    source: &str,
    continued: Continued,
    before: &mut Before,
    columns: usize,
    palette: &Palette,
) -> Vec<Line<'static>> {
    let mut drawer = Drawer {
        source,
        columns,
        palette,
        continued,
        before: *before,
        end: 0,
        containers: Vec::new(),
        deep: 0,
        deep_marks: String::new(),
        lists: Vec::new(),
        text: None,
        verbatim: None,
        table: None,
        out: Vec::new(),
    };
    for (event, range) in parser(source).into_offset_iter() {
        drawer.event(event, range);
    }
    drawer.note_blank_line(source.len());
    *before = drawer.before;
    drawer.out
}

#[derive(Debug)]
enum Container {
    Quote,
    Item {
        /// What the first line of the item begins with; taken by that line.
        mark: Option<String>,
        columns: usize,
    },
}

/// A paragraph, a heading, a cell, or the text of an item.
struct Text<'a> {
    inline: Inline<'a>,
    kind: Kind,
    range: Range<usize>,
}

struct Drawer<'a> {
    source: &'a str,
    columns: usize,
    palette: &'a Palette,
    continued: Continued,
    before: Before,
    /// Where the block that was drawn last ends in the source.
    end: usize,
    containers: Vec<Container>,
    /// How many open containers are beyond [`DEPTH_MAX`], and their marks that no line has yet.
    deep: usize,
    deep_marks: String,
    /// The number of the next item of each open list.
    lists: Vec<Option<u64>>,
    text: Option<Text<'a>>,
    /// The text of the open block of code or HTML.
    verbatim: Option<String>,
    table: Option<Table>,
    out: Vec<Line<'static>>,
}

impl<'a> Drawer<'a> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.finish(tag, range),
            Event::Rule => {
                self.flush();
                self.begin(Kind::Rule, range.start);
                self.wrapped(&[Span::styled("───", self.palette.dim())]);
                self.end = range.end;
            }
            Event::Text(text) | Event::Html(text) if self.verbatim.is_some() => {
                self.verbatim.get_or_insert_default().push_str(&text);
            }
            inline => self.inline(inline, range),
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph => self.open(Style::new(), Kind::Text, range),
            Tag::Heading { level, .. } => self.open(self.heading(level), Kind::Heading, range),
            Tag::BlockQuote(_) => self.contain(Container::Quote),
            Tag::List(number) => {
                self.flush();
                let number = match std::mem::take(&mut self.continued) {
                    Continued::List(next) => number.map(|_| next),
                    _ => number,
                };
                self.lists.push(number);
            }
            Tag::Item => self.item(&range),
            Tag::CodeBlock(kind) => {
                self.flush();
                self.verbatim = Some(String::new());
                if self.continued != Continued::Code {
                    self.before.code = match kind {
                        CodeBlockKind::Fenced(language) => Highlighter::of(&language),
                        CodeBlockKind::Indented => None,
                    };
                }
            }
            Tag::HtmlBlock => {
                self.flush();
                self.verbatim = Some(String::new());
            }
            Tag::Table(sides) => {
                self.flush();
                self.table = Some(Table::new(sides));
            }
            Tag::TableHead | Tag::TableRow => {
                self.table.iter_mut().for_each(Table::begin_row);
            }
            Tag::TableCell => {
                let is_in_head = self.table.as_ref().is_some_and(Table::is_in_head);
                let style = if is_in_head { self.palette.bold() } else { Style::new() };
                self.open(style, Kind::Table, range);
            }
            inline => self.inline(Event::Start(inline), range),
        }
    }

    fn finish(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) => self.flush(),
            TagEnd::BlockQuote(_) => self.leave(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::Item => self.item_end(&range),
            TagEnd::CodeBlock => self.code(&range),
            TagEnd::HtmlBlock => self.html(&range),
            TagEnd::Table => self.table(&range),
            TagEnd::TableCell => {
                if let (Some(table), Some(text)) = (&mut self.table, self.text.take()) {
                    table.push(text.inline.on_one_line());
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            inline => self.inline(Event::End(inline), range),
        }
    }

    fn open(&mut self, base: Style, kind: Kind, range: Range<usize>) {
        self.flush();
        self.text = Some(Text { inline: Inline::new(base, self.palette), kind, range: range.start..range.start });
    }

    fn inline(&mut self, event: Event<'_>, range: Range<usize>) {
        if self.text.is_none() {
            // The items of a list without blank lines have text without a paragraph.
            self.open(Style::new(), Kind::Text, range.clone());
        }
        if let Some(text) = &mut self.text {
            text.range.end = text.range.end.max(range.end);
            text.inline.add(event, &self.source[range]);
        }
    }

    /// Draws the open text.
    fn flush(&mut self) {
        let Some(Text { inline, kind, range }) = self.text.take() else {
            return;
        };
        if self.continued == Continued::Paragraph {
            self.continued = Continued::Nothing;
            self.begin_without_gap(kind);
            inline.into_lines().iter().skip(1).for_each(|spans| self.wrapped(spans));
            return self.end_at(range.end);
        }
        self.begin(kind, range.start);
        if kind == Kind::Heading {
            self.wrapped(&inline.on_one_line());
        } else {
            inline.into_lines().iter().for_each(|spans| self.wrapped(spans));
        }
        self.end_at(range.end);
    }

    fn heading(&self, level: HeadingLevel) -> Style {
        match level {
            HeadingLevel::H1 => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            HeadingLevel::H2 => self.palette.bold(),
            HeadingLevel::H3 => Style::new().add_modifier(Modifier::BOLD | Modifier::ITALIC),
            _ => Style::new().add_modifier(Modifier::ITALIC),
        }
    }

    fn contain(&mut self, container: Container) {
        self.flush();
        if self.containers.len() < DEPTH_MAX {
            self.containers.push(container);
            return;
        }
        self.deep += 1;
        if let Container::Item { mark: Some(mark), .. } = container {
            self.deep_marks.push_str(&mark);
        }
    }

    fn leave(&mut self) {
        self.flush();
        if self.deep > 0 {
            self.deep -= 1;
        } else {
            self.containers.pop();
        }
    }

    fn item(&mut self, range: &Range<usize>) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                // The parser does not say which of the two signs follows the number.
                let sign = self.source[range.start..]
                    .trim_start_matches([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
                let mark = format!("{number}{} ", if sign.starts_with(')') { ')' } else { '.' });
                *number = number.saturating_add(1);
                mark
            }
            _ => "- ".to_owned(),
        };
        self.contain(Container::Item { columns: mark.len(), mark: Some(mark) });
    }

    fn item_end(&mut self, range: &Range<usize>) {
        self.flush();
        let is_shown = if self.deep > 0 {
            self.deep_marks.is_empty()
        } else {
            !matches!(self.containers.last(), Some(Container::Item { mark: Some(_), .. }))
        };
        if !is_shown {
            // An item without content is still an item.
            self.begin(Kind::Text, range.start);
            let marks = std::mem::take(&mut self.deep_marks);
            let mut line = self.indent().first;
            line.extend((!marks.is_empty()).then(|| Span::styled(marks, self.palette.dim())));
            self.out.push(Line::from(line));
            self.end_at(range.end);
        }
        self.leave();
    }

    fn code(&mut self, range: &Range<usize>) {
        let code = self.verbatim.take().unwrap_or_default();
        let mut highlighter = self.before.code;
        if std::mem::take(&mut self.continued) == Continued::Code {
            self.begin_without_gap(Kind::Code);
        } else {
            self.begin(Kind::Code, range.start);
        }
        for line in code.lines() {
            let mut indent = self.indent();
            indent.first.push(Span::raw("  "));
            indent.rest.push(Span::raw("  "));
            let spans = match &mut highlighter {
                Some(highlighter) => highlighter.line(line, self.palette),
                None => vec![Span::raw(line.to_owned())],
            };
            self.out.extend(wrap(&spans, self.columns, &indent, Breaking::Anywhere));
        }
        self.before.code = highlighter;
        self.end = range.end;
    }

    fn html(&mut self, range: &Range<usize>) {
        let html = self.verbatim.take().unwrap_or_default();
        self.begin(Kind::Text, range.start);
        self.as_written(&html);
        self.end_at(range.end);
    }

    fn table(&mut self, range: &Range<usize>) {
        let Some(table) = self.table.take() else {
            return;
        };
        if std::mem::take(&mut self.continued) == Continued::Table {
            if !table.has_rows() {
                return;
            }
            self.begin_without_gap(Kind::Table);
        } else {
            self.begin(Kind::Table, range.start);
        }
        if table.width() > COLUMNS_MAX {
            self.as_written(&self.source[range.clone()]);
        } else {
            let indent = self.indent();
            self.out.extend(table.draw(self.columns, &indent, self.palette));
        }
        self.end = range.end;
    }

    fn as_written(&mut self, text: &str) {
        for line in text.lines() {
            let line = if is_line_break(line) { "" } else { line.trim_end() };
            self.wrapped(&[Span::raw(line.to_owned())]);
        }
    }

    fn wrapped(&mut self, spans: &[Span<'static>]) {
        let indent = self.indent();
        let lines = if self.deep_marks.is_empty() {
            wrap(spans, self.columns, &indent, Breaking::Words)
        } else {
            let marks = Span::styled(std::mem::take(&mut self.deep_marks), self.palette.dim());
            let spans: Vec<Span<'static>> = std::iter::once(marks).chain(spans.iter().cloned()).collect();
            wrap(&spans, self.columns, &indent, Breaking::Words)
        };
        self.out.extend(lines);
    }

    /// Puts a blank line before a block if the source has one, or if a block of this kind needs one.
    fn begin(&mut self, kind: Kind, start: usize) {
        self.note_blank_line(start);
        let needs_gap =
            self.before.kind.is_some_and(|last| self.before.is_blank || last != Kind::Text || kind != Kind::Text);
        if needs_gap {
            self.out.push(Line::default());
        }
        self.begin_without_gap(kind);
    }

    fn begin_without_gap(&mut self, kind: Kind) {
        self.before = Before { kind: Some(kind), is_blank: false, code: None };
    }

    fn end_at(&mut self, end: usize) {
        self.end = self.source[..end].trim_end_matches([' ', '\n']).len();
    }

    /// Looks for a blank line between the block that was drawn last and `start`.
    fn note_blank_line(&mut self, start: usize) {
        let mut lines = self.source.get(self.end..start).unwrap_or_default().split('\n');
        lines.next_back();
        if self.end > 0 {
            lines.next();
        }
        self.before.is_blank |= lines.any(|line| line.bytes().all(|byte| b" >".contains(&byte)));
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
                Container::Item { mark, columns } => {
                    let blanks = " ".repeat(*columns);
                    indent.rest.push(Span::raw(blanks.clone()));
                    indent.first.push(mark.take().map_or(Span::raw(blanks), |mark| Span::styled(mark, dim)));
                }
            }
        }
        indent
    }
}
