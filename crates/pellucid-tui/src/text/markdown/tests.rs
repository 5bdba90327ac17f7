//! What Markdown looks like.

use expect_test::Expect;
use expect_test::expect;

use super::*;

#[track_caller]
fn check_markdown(text: &str, columns: usize, expected: &Expect) {
    let shown: Vec<String> = lines(text, columns, &Palette::plain()).iter().map(|line| format!("{line}|\n")).collect();
    expected.assert_eq(&shown.concat());
}

#[test]
fn blocks_of_a_usual_reply() {
    check_markdown(
        "## Heading Two\n\nSome **strong** and *emphatic* and `coded` words.\n\n- first item\n- second item\n\n1. number one\n2. number two\n\n> quoted words\n\n```rust\nlet x = 1;\n```\n\nSee [the page](https://example.test/page).\n\nlast line",
        60,
        &expect![[r#"
            Heading Two|
            |
            Some strong and emphatic and coded words.|
            |
            - first item|
            - second item|
            |
            1. number one|
            2. number two|
            |
            > quoted words|
            |
              let x = 1;|
            |
            See the page (https://example.test/page).|
            |
            last line|
        "#]],
    );
}

#[test]
fn lists_hang_and_nest() {
    check_markdown(
        "Steps:\n1. first of them is long enough to wrap\n   - inner item that is long as well\n   - second inner\n     still second\n2. second\n\n   a paragraph of it\n3. third\n  - lenient\n- other list\n-\n- end",
        24,
        &expect![[r#"
            Steps:|
            1. first of them is long|
               enough to wrap|
               - inner item that is|
                 long as well|
               - second inner|
                 still second|
            2. second|
            |
               a paragraph of it|
            3. third|
               - lenient|
            - other list|
            - |
            - end|
        "#]],
    );
    check_markdown(
        "1. a\n1. b\n1. c\n\n7) x\n8) y\n",
        24,
        &expect![[r#"
        1. a|
        2. b|
        3. c|
        |
        7) x|
        8) y|
    "#]],
    );
    check_markdown(
        "- a\n\n  ```\n  code\n    more\n  ```\n- b",
        24,
        &expect![[r#"
        - a|
        |
            code|
              more|
        |
        - b|
    "#]],
    );
    check_markdown(
        "1986. A year.\nis\n2. no list",
        24,
        &expect![[r#"
        1986. A year.|
              is|
        1987. no list|
    "#]],
    );
}

#[test]
fn quotes() {
    check_markdown(
        "> one\n> two\nlazy\n\nafter\n> - item\n> - item two\n>\n> > deep",
        24,
        &expect![[r#"
        > one|
        > two|
        > lazy|
        |
        after|
        > - item|
        > - item two|
        |
        > > deep|
    "#]],
    );
}

#[test]
fn code_is_kept_as_it_is() {
    check_markdown(
        "text\n```\n\n  # no heading\n- no *list*\n0123456789012345678901234\n```\nafter\n\n    indented code\n\n~~~~ js\n```\n~~~~",
        20,
        &expect![[r#"
            text|
            |
            |
                # no heading|
              - no *list*|
              012345678901234567|
              8901234|
            |
            after|
            |
              indented code|
            |
              ```|
        "#]],
    );
    check_markdown(
        "text\n\n```\nnever closed\n",
        20,
        &expect![[r#"
            text|
            |
              never closed|
        "#]],
    );
}

#[test]
fn headings_and_rules() {
    check_markdown(
        "# One\ntext\n### Three ###\n#no\nUnder\n=====\nTwo\n---\n\n---\n***\n",
        20,
        &expect![[r#"
        One|
        |
        text|
        |
        Three|
        |
        #no|
        |
        Under|
        |
        Two|
        |
        ───|
        |
        ───|
    "#]],
    );
}

#[test]
fn tables_fit_the_width() {
    check_markdown(
        "| 名前 | 値段 |\n|---|---:|\n| りんご | 120 |\n| `a|b` | **9** |\n\nend of it",
        40,
        &expect![[r#"
        名前   │ 値段|
        ───────┼─────|
        りんご │  120|
        a|b    │    9|
        |
        end of it|
    "#]],
    );
    let wide = "| key | what it does |\n|:-:|---|\n| one | a long text that has to wrap in its column |\n| two \\| 2 | short |\n";
    check_markdown(
        wide,
        30,
        &expect![[r#"
          key   │ what it does|
        ────────┼─────────────────────|
          one   │ a long text that has|
                │ to wrap in its|
                │ column|
        two | 2 │ short|
    "#]],
    );
    check_markdown(
        wide,
        9,
        &expect![[r#"
        - key:|
          one|
          what it|
          does: a|
          long|
          text|
          that|
          has to|
          wrap in|
          its|
          column|
        - key:|
          two | 2|
          what it|
          does:|
          short|
    "#]],
    );
    check_markdown(
        "a | b\nno table",
        30,
        &expect![[r#"
        a | b|
        no table|
    "#]],
    );
    check_markdown(
        "- | a | b |\n  |---|---|\n  | 1 | 2 |\n",
        30,
        &expect![[r#"
        - a │ b|
          ──┼──|
          1 │ 2|
    "#]],
    );
}

#[test]
fn emphasis_over_lines_is_closed_or_shown() {
    check_markdown(
        "one **two\nthree** four\nfive",
        30,
        &expect![[r#"
        one two|
        three four|
        five|
    "#]],
    );
    check_markdown(
        &format!("**open\n{}", "line\n".repeat(12)),
        30,
        &expect![[r#"
        **open|
        line|
        line|
        line|
        line|
        line|
        line|
        line|
        line|
        line|
        line|
        line|
        line|
    "#]],
    );
}

#[test]
fn hostile_text_is_harmless() {
    check_markdown(
        "a\u{1b}[2J\tb\0 \u{202e}c\r\n# \u{7}h\r\n`\u{9b}`",
        60,
        &expect![[r#"
        a\u{1b}[2J  b\u{0} \u{202e}c|
        |
        \u{7}h|
        |
        \u{9b}|
    "#]],
    );
    check_markdown(
        &">".repeat(40),
        60,
        &expect![[r#"
        > > > > > > > > > > > > > > > > >>>>>>>>>>>>>>>>>>>>>>>>|
    "#]],
    );
    check_markdown(
        &"- ".repeat(40),
        60,
        &expect![[r#"
        ───|
    "#]],
    );
}

#[test]
fn headings_code_and_links_have_their_styles() {
    use crate::text::palette::ColourDepth;

    let palette = Palette::new(ColourDepth::Named, None);
    let lines = lines("# H\n`c` [l](http://a.test)", 40, &palette);
    assert_eq!(lines[0].spans[0].style, Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED));
    let spans: Vec<(&str, Style)> = lines[2].spans.iter().map(|span| (span.content.as_ref(), span.style)).collect();
    let link = palette.accent().add_modifier(Modifier::UNDERLINED);
    assert_eq!(spans, [("c", palette.accent()), (" l (", Style::new()), ("http://a.test", link), (")", Style::new())]);
}
