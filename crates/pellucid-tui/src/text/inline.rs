//! The text inside of a Markdown block: emphasis, code, links, and addresses that are written without a mark.
//!
//! A link is shown as its text with the target in parentheses. HTML is shown as it is written, except for `<br>`. A line end
//! of the source is a line end of the result.

use pulldown_cmark::Event;
use pulldown_cmark::LinkType;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;
use ratatui_core::style::Modifier;
use ratatui_core::style::Style;
use ratatui_core::text::Span;

use super::clean;
use super::palette::Palette;

const MODIFIERS: [Modifier; 3] = [Modifier::BOLD, Modifier::ITALIC, Modifier::CROSSED_OUT];

/// Text with its styles, made of the events of a parser.
#[derive(Debug)]
pub struct Inline<'a> {
    palette: &'a Palette,
    /// The style of the block.
    base: Style,
    /// The spans of each line; at least one line.
    lines: Vec<Vec<Span<'static>>>,
    /// How many bytes the spans of the last line have.
    in_spans: usize,
    /// Text of one style that is not in `lines` yet: the parser gives a word in several events.
    text: String,
    /// How many pairs of each modifier are open.
    on: [u32; 3],
    links: Vec<OpenLink>,
}

#[derive(Debug)]
struct OpenLink {
    target: String,
    /// The text of the link so far.
    shown: String,
    /// Whether the text is the target, in angle brackets.
    is_address: bool,
}

impl<'a> Inline<'a> {
    /// An empty text. `base` is the style of the block.
    pub fn new(base: Style, palette: &'a Palette) -> Self {
        Self { palette, base, lines: vec![Vec::new()], in_spans: 0, text: String::new(), on: [0; 3], links: Vec::new() }
    }

    /// Adds what an event of the parser says. `source` is the text that the event comes from.
    pub fn add(&mut self, event: Event<'_>, source: &str) {
        match event {
            Event::Start(tag) => self.start(tag, source),
            Event::End(tag) => self.end(tag, source),
            Event::Code(code) => {
                self.flush();
                self.shown(&code);
                self.span(&code, self.palette.accent());
            }
            Event::SoftBreak | Event::HardBreak => self.line_end(),
            Event::InlineHtml(html) if is_line_break(&html) => self.line_end(),
            Event::TaskListMarker(is_done) => self.text(if is_done { "[x] " } else { "[ ] " }),
            Event::Text(text) => self.text(harmless(&text, source)),
            _ => self.text(source),
        }
    }

    /// How many bytes the last line has.
    pub fn written(&self) -> usize {
        self.in_spans + self.text.len()
    }

    /// The spans of each line.
    pub fn into_lines(mut self) -> Vec<Vec<Span<'static>>> {
        self.flush();
        self.lines
    }

    /// All spans on one line, for a heading or a cell of a table.
    pub fn on_one_line(self) -> Vec<Span<'static>> {
        let mut lines = self.into_lines().into_iter();
        let mut out = lines.next().unwrap_or_default();
        for line in lines {
            out.push(Span::raw(" "));
            out.extend(line);
        }
        out
    }

    fn start(&mut self, tag: Tag<'_>, source: &str) {
        self.flush();
        match tag {
            Tag::Strong => self.on[0] += 1,
            Tag::Emphasis => self.on[1] += 1,
            Tag::Strikethrough if is_struck(source) => self.on[2] += 1,
            Tag::Strikethrough => self.text("~"),
            Tag::Link { link_type, dest_url, .. } => {
                let is_address = matches!(link_type, LinkType::Autolink | LinkType::Email);
                self.link(&dest_url, is_address);
            }
            Tag::Image { dest_url, .. } => self.link(&dest_url, false),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, source: &str) {
        match tag {
            TagEnd::Strikethrough if !is_struck(source) => self.text("~"),
            TagEnd::Link | TagEnd::Image => return self.link_end(),
            _ => {}
        }
        self.flush();
        match tag {
            TagEnd::Strong => self.on[0] = self.on[0].saturating_sub(1),
            TagEnd::Emphasis => self.on[1] = self.on[1].saturating_sub(1),
            TagEnd::Strikethrough if is_struck(source) => self.on[2] = self.on[2].saturating_sub(1),
            _ => {}
        }
    }

    fn link(&mut self, target: &str, is_address: bool) {
        let target = clean::visible_line(target).into_owned();
        self.links.push(OpenLink { target, shown: String::new(), is_address });
    }

    fn link_end(&mut self) {
        let Some(link) = self.links.last() else {
            return;
        };
        if link.is_address {
            let text = std::mem::take(&mut self.text);
            self.span(&text, self.address());
        }
        self.flush();
        let Some(OpenLink { target, shown, is_address }) = self.links.pop() else {
            return;
        };
        if !target.is_empty() && !is_address && shown != target {
            self.span(" (", Style::new());
            self.span(&target, self.address());
            self.span(")", Style::new());
        }
    }

    fn address(&self) -> Style {
        self.palette.accent().add_modifier(Modifier::UNDERLINED)
    }

    fn text(&mut self, text: &str) {
        let is_beginning = self.text.is_empty() && self.lines.last().is_none_or(Vec::is_empty);
        let text = if is_beginning { text.trim_start_matches(' ') } else { text };
        self.shown(text);
        self.text.push_str(text);
    }

    /// Notes the text of a link.
    fn shown(&mut self, text: &str) {
        if let Some(link) = self.links.last_mut() {
            link.shown.push_str(text);
        }
    }

    fn line_end(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.flush();
        self.lines.push(Vec::new());
        self.in_spans = 0;
    }

    /// Moves the text into the lines, with the addresses in it.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let mut done = 0;
        for (at, _) in text.match_indices("http") {
            let is_beginning = at >= done && !text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
            if let Some(url) = is_beginning.then(|| url(&text[at..])).flatten() {
                self.span(&text[done..at], Style::new());
                self.span(url, self.address());
                done = at + url.len();
            }
        }
        self.span(&text[done..], Style::new());
    }

    fn span(&mut self, text: &str, style: Style) {
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
        self.in_spans += text.len();
        match line.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            _ => line.push(Span::styled(text.to_owned(), style)),
        }
    }
}

/// One tilde is "about" more often than a mark.
fn is_struck(source: &str) -> bool {
    source.starts_with("~~")
}

/// Whether a piece of HTML is `<br>`.
pub fn is_line_break(html: &str) -> bool {
    let inside = html.trim().strip_prefix("<br").and_then(|it| it.strip_suffix('>'));
    inside.is_some_and(|it| matches!(it.trim(), "" | "/"))
}

/// The source was made harmless, so only an entity such as `&#x1b;` can bring a hidden character: it is shown as written.
fn harmless<'t>(text: &'t str, source: &'t str) -> &'t str {
    if clean::visible_line(text) == text { text } else { source }
}

/// The address that a text begins with, without the punctuation of the sentence around it.
fn url(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    if inside.is_empty() {
        return None;
    }
    let end = text.find(|it: char| it.is_whitespace() || "<>`\"|]".contains(it)).unwrap_or(text.len());
    let mut url = &text[..end];
    let mut unpaired = url.matches(')').count().saturating_sub(url.matches('(').count());
    loop {
        url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_', '~', '\'']);
        match url.strip_suffix(')').filter(|_| unpaired > 0) {
            Some(cut) => (url, unpaired) = (cut, unpaired - 1),
            None => return Some(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::blocks::parser;
    use crate::text::palette::ColourDepth;

    /// Writes styles as marks: `<b>`, `<i>`, `<s>`, `<c>` for code, `<u>` for an address.
    fn shown(lines: &[Vec<Span<'static>>]) -> String {
        let mut out = Vec::new();
        for line in lines {
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
        out.join("⏎")
    }

    fn read(text: &str, palette: &Palette) -> Vec<Vec<Span<'static>>> {
        let mut inline = Inline::new(Style::new(), palette);
        for (event, range) in parser(text).into_offset_iter() {
            if !matches!(event, Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph)) {
                inline.add(event, &text[range]);
            }
        }
        inline.into_lines()
    }

    #[track_caller]
    fn check_inline(text: &str, expected: &str) {
        let palette = Palette::new(ColourDepth::Named, None);
        assert_eq!(shown(&read(text, &palette)), expected, "{text:?}");
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
        check_inline("**open", "**open");
        check_inline("*a **b*", "*a *<i:b>");
        check_inline("**重要**です", "<b:重要>です");
        check_inline("\\*not\\* \\q", "*not* \\q");
    }

    #[test]
    fn code() {
        check_inline("use `a*b*c` here", "use <c:a*b*c> here");
        check_inline("`` a`b ``", "<c:a`b>");
        check_inline("`never closed", "`never closed");
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
            assert!(!read(&text, &Palette::plain()).is_empty());
        }
    }
}
