//! Code in colours: comments, texts, numbers and the words of a language set off, line by line.
//!
//! A small reader of tokens and a table of languages, both part of the program's text: nothing is loaded, and a line costs
//! microseconds. What is unknown or too long stays plain. Characters are never changed, added or left out.
//!
//! - `languages`: the languages with their words and signs

mod languages;

use ratatui_core::style::Style;
use ratatui_core::text::Span;

use self::languages::Form;
use self::languages::LANGUAGES;
use self::languages::Language;
use self::languages::Quote;
use super::palette::Palette;

/// A longer line stays plain.
const LINE_MAX: usize = 2 * 1024;

/// From here on a block stays plain.
const BLOCK_MAX: usize = 256 * 1024;

/// Where a reader is when a line ends.
#[derive(Debug, Clone, Copy)]
enum Inside {
    /// Between two tokens.
    Nothing,
    /// In a comment that this ends.
    Comment(&'static str),
    /// In a text of this kind.
    Text(&'static Quote),
    /// Between the signs of a tag.
    Tag,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Plain,
    Comment,
    Text,
    Number,
    Keyword,
    /// The name of a value, a variable or an attribute.
    Name,
    Added,
    Removed,
}

/// Reads the lines of a block of code in their order.
#[derive(Debug, Clone, Copy)]
pub struct Highlighter {
    language: &'static Language,
    inside: Inside,
    /// How many bytes of the block were read.
    n_read: usize,
}

impl Highlighter {
    /// A reader for the language that a block names, such as `rust` or `ts,ignore`; absent if the name is not known.
    pub fn of(named: &str) -> Option<Self> {
        let name = named.trim().trim_start_matches(['{', '.']);
        let name = name.split(|it: char| it.is_whitespace() || ",{}:".contains(it)).next().unwrap_or_default();
        let name = name.to_lowercase();
        let language = LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()))?;
        Some(Self { language, inside: Inside::Nothing, n_read: 0 })
    }

    /// A reader for commands of a shell.
    pub fn of_commands() -> Option<Self> {
        Self::of("sh")
    }

    /// The next line in its colours; together the spans have exactly its text.
    pub fn line(&mut self, line: &str, palette: &Palette) -> Vec<Span<'static>> {
        self.n_read = self.n_read.saturating_add(line.len());
        if line.len() > LINE_MAX || self.n_read > BLOCK_MAX {
            self.inside = Inside::Nothing;
            return vec![Span::raw(line.to_owned())];
        }
        let mut tokens = Tokens { line, out: Vec::new() };
        match self.language.form {
            Form::Diff => tokens.push(line.len(), changed(line)),
            Form::Session => match line.strip_prefix("$ ") {
                Some(_) => {
                    tokens.push(2, Token::Comment);
                    self.code(&mut tokens);
                    self.inside = Inside::Nothing;
                }
                None => tokens.push(line.len(), Token::Plain),
            },
            Form::Code | Form::Markup => self.code(&mut tokens),
        }
        if let Inside::Text(quote) = self.inside
            && !quote.has_lines
        {
            self.inside = Inside::Nothing;
        }
        tokens.into_spans(palette)
    }

    fn code(&mut self, tokens: &mut Tokens<'_>) {
        if let (Inside::Nothing, Some(sign)) = (self.inside, self.language.key_sign)
            && let Some(name) = key(tokens.rest(), sign)
        {
            tokens.push(name.start, Token::Plain);
            tokens.push(name.len(), Token::Name);
        }
        while !tokens.rest().is_empty() {
            let (length, token) = match self.inside {
                Inside::Comment(end) => self.until(tokens.rest(), 0, end, Token::Comment),
                Inside::Text(quote) => self.text(tokens.rest(), 0, quote),
                Inside::Tag => self.in_tag(tokens.rest()),
                Inside::Nothing if self.language.form == Form::Markup => self.in_markup(tokens.rest()),
                Inside::Nothing => self.between(tokens),
            };
            // A token has at least one character, so that every line ends.
            tokens.push(length.max(1), token);
        }
    }

    /// The token at a place that is in no comment and no text.
    fn between(&mut self, tokens: &Tokens<'_>) -> (usize, Token) {
        let (rest, language) = (tokens.rest(), self.language);
        if let Some((begin, end)) = language.blocks.iter().find(|(begin, _)| rest.starts_with(begin)) {
            self.inside = Inside::Comment(end);
            return self.until(rest, begin.len(), end, Token::Comment);
        }
        let is_first = tokens.is_after_blank();
        let is_comment = |sign: &&str| rest.starts_with(*sign) && (is_first || !language.comments_after_blank);
        if language.comments.iter().any(is_comment) {
            return (rest.len(), Token::Comment);
        }
        if let Some(quote) = language.quotes.iter().find(|quote| rest.starts_with(quote.begin)) {
            self.inside = Inside::Text(quote);
            let (length, token) = self.text(rest, quote.begin.len(), quote);
            let is_key = language.key_sign == Some(':') && rest.get(length..).is_some_and(begins_with_colon);
            return (length, if is_key { Token::Name } else { token });
        }
        if language.has_characters
            && let Some(length) = character(rest)
        {
            return (length, Token::Text);
        }
        let Some(first) = rest.chars().next() else { return (0, Token::Plain) };
        if first.is_ascii_digit() {
            return (number(rest), Token::Number);
        }
        if Some(first) == language.sigil {
            let length = 1 + word(&rest[1..]);
            return (length, if length > 1 { Token::Name } else { Token::Plain });
        }
        if first.is_alphabetic() || first == '_' {
            let length = word(rest);
            return (length, if language.has_word(&rest[..length]) { Token::Keyword } else { Token::Plain });
        }
        (first.len_utf8(), Token::Plain)
    }

    fn in_markup(&mut self, rest: &str) -> (usize, Token) {
        if rest.starts_with("<!--") {
            self.inside = Inside::Comment("-->");
            return self.until(rest, 4, "-->", Token::Comment);
        }
        let signs = rest.len() - rest.trim_start_matches(['<', '/', '!', '?']).len();
        let name = word(&rest[signs..]);
        if rest.starts_with('<') && name > 0 {
            self.inside = Inside::Tag;
            return (signs + name, Token::Keyword);
        }
        let from = rest.chars().next().map_or(0, char::len_utf8);
        (rest[from..].find('<').map_or(rest.len(), |at| from + at), Token::Plain)
    }

    fn in_tag(&mut self, rest: &str) -> (usize, Token) {
        if let Some(quote) = self.language.quotes.iter().find(|quote| rest.starts_with(quote.begin)) {
            let (length, token) = self.text(rest, quote.begin.len(), quote);
            self.inside = Inside::Tag;
            return (length, token);
        }
        if rest.starts_with('>') {
            self.inside = Inside::Nothing;
            return (1, Token::Keyword);
        }
        let name = word(rest);
        if name > 0 { (name, Token::Name) } else { (rest.chars().next().map_or(0, char::len_utf8), Token::Plain) }
    }

    /// Reads to the end sign of what is open, or to the end of the line.
    fn until(&mut self, rest: &str, from: usize, end: &str, token: Token) -> (usize, Token) {
        match rest[from..].find(end) {
            Some(at) => {
                self.inside = Inside::Nothing;
                (from + at + end.len(), token)
            }
            None => (rest.len(), token),
        }
    }

    fn text(&mut self, rest: &str, from: usize, quote: &'static Quote) -> (usize, Token) {
        let mut at = from;
        while at < rest.len() {
            if rest[at..].starts_with(quote.end) {
                self.inside = Inside::Nothing;
                return (at + quote.end.len(), Token::Text);
            }
            let mut characters = rest[at..].chars();
            let first = characters.next().map_or(1, char::len_utf8);
            let is_escape = quote.has_escapes && rest[at..].starts_with('\\');
            at += first + if is_escape { characters.next().map_or(0, char::len_utf8) } else { 0 };
        }
        (rest.len(), Token::Text)
    }
}

/// The tokens of one line so far.
struct Tokens<'a> {
    line: &'a str,
    /// Where each token ends, and what it is; neighbours of one kind are one.
    out: Vec<(usize, Token)>,
}

impl<'a> Tokens<'a> {
    fn at(&self) -> usize {
        self.out.last().map_or(0, |(end, _)| *end)
    }

    fn rest(&self) -> &'a str {
        &self.line[self.at()..]
    }

    fn is_after_blank(&self) -> bool {
        self.line[..self.at()].chars().next_back().is_none_or(char::is_whitespace)
    }

    fn push(&mut self, length: usize, token: Token) {
        let begin = self.at();
        let end = self.line.ceil_char_boundary(begin + length);
        match self.out.last_mut() {
            Some(last) if last.1 == token => last.0 = end,
            _ if end > begin => self.out.push((end, token)),
            _ => {}
        }
    }

    fn into_spans(self, palette: &Palette) -> Vec<Span<'static>> {
        let mut begin = 0;
        let mut spans = Vec::with_capacity(self.out.len());
        for (end, token) in self.out {
            spans.push(Span::styled(self.line[begin..end].to_owned(), token.style(palette)));
            begin = end;
        }
        spans
    }
}

impl Token {
    fn style(self, palette: &Palette) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Comment => palette.dim(),
            Self::Text | Self::Added => palette.added(),
            Self::Number | Self::Name => palette.accent(),
            Self::Keyword => palette.mode(),
            Self::Removed => palette.removed(),
        }
    }
}

fn changed(line: &str) -> Token {
    match line.as_bytes().first() {
        _ if line.starts_with("+++") || line.starts_with("---") => Token::Keyword,
        Some(b'+') => Token::Added,
        Some(b'-') => Token::Removed,
        Some(b'@') => Token::Name,
        _ => Token::Plain,
    }
}

/// The bytes of the word that a text begins with.
fn word(text: &str) -> usize {
    text.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(text.len())
}

fn number(text: &str) -> usize {
    let mut at = word(text);
    if let Some(fraction) = text[at..].strip_prefix('.')
        && fraction.starts_with(|it: char| it.is_ascii_digit())
    {
        at += 1 + word(fraction);
    }
    at
}

/// The bytes of a character between single quotes; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    let mut characters = inner.chars();
    let first = characters.next()?;
    if first != '\\' {
        return characters.as_str().starts_with('\'').then_some(2 + first.len_utf8());
    }
    let end = characters.as_str().char_indices().skip(1).find(|(_, it)| *it == '\'')?.0;
    (end <= 12).then_some(3 + end)
}

fn begins_with_colon(text: &str) -> bool {
    text.trim_start().starts_with(':')
}

/// The name of the value that a line of settings sets.
fn key(line: &str, sign: char) -> Option<std::ops::Range<usize>> {
    let begin = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
    let is_name = |it: char| it.is_alphanumeric() || "_.-/\"' ".contains(it);
    let end = begin + line[begin..].find(|it: char| !is_name(it))?;
    let name = line[begin..end].trim_end();
    let follows = line[end..].strip_prefix(sign).filter(|_| !name.is_empty())?;
    // An address such as `http://x` is no name.
    (sign != ':' || follows.is_empty() || follows.starts_with([' ', '\t'])).then(|| begin..begin + name.len())
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use proptest::proptest;

    use super::*;
    use crate::text::palette::ColourDepth;

    /// Tokens between `{` and `}` behind a letter: comment, text, number or name, keyword, removed.
    #[track_caller]
    fn check_code(language: &str, code: &str, expected: &Expect) {
        let palette = Palette::new(ColourDepth::Named, None);
        let letter = |style: Style| {
            let kinds = [
                ('c', palette.dim()),
                ('t', palette.added()),
                ('n', palette.accent()),
                ('k', palette.mode()),
                ('r', palette.removed()),
            ];
            kinds.into_iter().find(|(_, known)| *known == style).map(|(letter, _)| letter)
        };
        let mut highlighter = Highlighter::of(language).unwrap();
        let mut shown = String::new();
        for line in code.lines() {
            let spans = highlighter.line(line, &palette);
            assert_eq!(spans.iter().map(|span| span.content.as_ref()).collect::<String>(), line);
            for span in spans {
                match letter(span.style) {
                    Some(letter) => shown += &format!("{letter}{{{}}}", span.content),
                    None => shown += &span.content,
                }
            }
            shown += "\n";
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn code_of_usual_languages() {
        check_code(
            "rust,ignore",
            "fn a<'b>(c: &'b str) -> char { // d\n    let x = 1.5e3 + 0..2; /* e\n f */ '\\n'; r#\"g\n\"h\"#; \"i\\\"j\" }",
            &expect![[r##"
                k{fn} a<'b>(c: &'b k{str}) -> k{char} { c{// d}
                    k{let} x = n{1.5e3} + n{0}..n{2}; c{/* e}
                c{ f */} t{'\n'}; t{r#"g}
                t{"h"#}; t{"i\"j"} }
            "##]],
        );
        check_code(
            "py",
            "def a(b): # c\n    \"\"\"d\n    e\"\"\"\n    return f'{b}' if True else None",
            &expect![[r#"
                k{def} a(b): c{# c}
                    t{"""d}
                t{    e"""}
                    k{return} ft{'{b}'} k{if} k{True} k{else} k{None}
            "#]],
        );
        check_code(
            "tsx",
            "const a = `b\n${c}`; // d\nimport x from 'y'",
            &expect![[r#"
            k{const} a = t{`b}
            t{${c}`}; c{// d}
            k{import} x k{from} t{'y'}
        "#]],
        );
        check_code(
            "sh",
            "# a\nfor x in *; do echo \"$x\" $HOME '$y' a#b; done",
            &expect![[r#"
            c{# a}
            k{for} x k{in} *; k{do} echo t{"$x"} n{$HOME} t{'$y'} a#b; k{done}
        "#]],
        );
        check_code(
            "sql",
            "select a from b where c = 'd' -- e",
            &expect![[r#"
            k{select} a k{from} b k{where} c = t{'d'} c{-- e}
        "#]],
        );
    }

    #[test]
    fn settings_markup_and_diffs() {
        check_code(
            "json",
            "{ \"a\": \"b\", \"c\": [1, true] }",
            &expect![[r#"
            { n{"a"}: t{"b"}, n{"c"}: [n{1}, k{true}] }
        "#]],
        );
        check_code(
            "yaml",
            "a: b # c\n- d e: http://x\n  \"f\": 'g'\nh#i: 1",
            &expect![[r#"
            n{a}: b c{# c}
            - n{d e}: http://x
              n{"f"}: t{'g'}
            h#i: n{1}
        "#]],
        );
        check_code(
            "toml",
            "[a.b]\nc = \"d\" # e\nf-g = 1",
            &expect![[r#"
            [a.b]
            n{c} = t{"d"} c{# e}
            n{f-g} = n{1}
        "#]],
        );
        check_code(
            "html",
            "<!-- a\nb --><p class=\"c\">it's d &amp; 1 < 2</p>\n<br/>",
            &expect![[r#"
            c{<!-- a}
            c{b -->}k{<p} n{class}=t{"c"}k{>}it's d &amp; 1 < 2k{</p>}
            k{<br}/k{>}
        "#]],
        );
        check_code(
            "diff",
            "--- a\n+++ b\n@@ -1 +1 @@\n-c\n+d\n e",
            &expect![[r#"
            k{--- a}
            k{+++ b}
            n{@@ -1 +1 @@}
            r{-c}
            t{+d}
             e
        "#]],
        );
        check_code(
            "console",
            "$ ls 'a\nb 'c",
            &expect![[r#"
            c{$ }ls t{'a}
            b 'c
        "#]],
        );
    }

    #[test]
    fn a_language_is_known_by_its_names() {
        for known in ["Rust", " python3 ", "{.js}", "c++", "C#", "ts,no_run", "bash title=x", "sh:a.sh"] {
            assert!(Highlighter::of(known).is_some(), "{known}");
        }
        for unknown in ["", "text", "klingon", "rusty"] {
            assert!(Highlighter::of(unknown).is_none(), "{unknown}");
        }
        let mut names = std::collections::BTreeSet::new();
        for language in LANGUAGES {
            for name in language.names {
                assert!(names.insert(name) && name.to_lowercase() == *name, "{name}");
            }
        }
    }

    #[test]
    fn what_is_too_long_stays_plain() {
        let palette = Palette::new(ColourDepth::Named, None);
        let mut highlighter = Highlighter::of("c").unwrap();
        let is_plain = |spans: Vec<Span<'static>>| spans.iter().all(|span| span.style == Style::new());
        assert!(is_plain(highlighter.line(&"int ".repeat(LINE_MAX), &palette)));
        assert!(!is_plain(highlighter.line("int", &palette)));
        for _ in 0..BLOCK_MAX / 1000 {
            highlighter.line(&"x".repeat(1000), &palette);
        }
        assert!(is_plain(highlighter.line("int", &palette)));
    }

    #[test]
    fn without_colours_no_token_has_one() {
        let mut highlighter = Highlighter::of("c").unwrap();
        for span in highlighter.line("int a = 1; /* b */ \"c\"", &Palette::plain()) {
            assert_eq!((span.style.fg, span.style.bg), (None, None));
        }
    }

    proptest! {
        #[test]
        fn no_character_is_changed(
            at in 0..LANGUAGES.len(),
            lines in proptest::collection::vec("([ \\\\'\"`#/*<>!$:=@+-]|[a-z0-9_.é漢\u{301}]|\"\"\"|'''|<!--|-->|\\[\\[){0,30}", 0..8),
        ) {
            let mut highlighter = Highlighter::of(LANGUAGES[at].names[0]).unwrap();
            for line in lines {
                let spans = highlighter.line(&line, &Palette::plain());
                assert_eq!(spans.iter().map(|span| span.content.as_ref()).collect::<String>(), line);
            }
        }
    }
}
