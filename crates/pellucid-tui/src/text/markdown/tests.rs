//! What Markdown looks like.

use expect_test::Expect;
use expect_test::expect;
use ratatui_core::style::Modifier;
use ratatui_core::style::Style;

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
        "Steps:\n1. first of them is long enough to wrap\n   - inner item that is long as well\n   - second inner\n     still second\n2. second\n\n   a paragraph of it\n3. third\n  - outside\n- other list\n-\n- end",
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
            - outside|
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
            Under|
            =====|
            Two|
            |
            ───|
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
        "| 名前 | 値段 |\n|---|---:|\n| りんご | 120 |\n| `a\\|b` | **9** |\n\nend of it",
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
    // A column is as wide as its cells on a terminal that draws each code point of an emoji.
    check_markdown(
        "| who | n |\n|---|---|\n| we 👩‍👩‍👧 | 1 |\n",
        40,
        &expect![[r#"
            who       │ n|
            ──────────┼──|
            we 👩‍👩‍👧     │ 1|
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
        &(">".repeat(40) + "deep\n- " + &"+ ".repeat(30) + "deep"),
        60,
        &expect![[r#"
            > > > > > > > > > > > > > > > > deep|
            - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -|
                                            - deep|
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

#[test]
fn task_lists_and_struck_text() {
    check_markdown(
        "- [x] ~~old~~ done\n- [ ] about ~5 to ~6~ open\n- [a] no task",
        30,
        &expect![[r#"
        - [x] old done|
        - [ ] about ~5 to ~6~ open|
        - [a] no task|
    "#]],
    );
}

#[test]
fn html_and_definitions_are_shown_as_they_are_written() {
    check_markdown(
        "<details>\n<summary>*a*</summary>\n\ntext<br>and <b>b</b>\n\n<!-- note -->\n[a]: https://a.test\n\n> [b]: x 'title'\n> [b]: y\n\n[b] and [c][b]\n\n    [d]: code\n",
        40,
        &expect![[r#"
            <details>|
            <summary>*a*</summary>|
            |
            text|
            and <b>b</b>|
            |
            <!-- note -->|
            [a]: https://a.test|
            |
            > [b]: x 'title'|
            > [b]: y|
            |
            [b] and [c][b]|
            |
              [d]: code|
        "#]],
    );
}

#[test]
fn every_definition_of_a_name_is_shown_and_code_is_not_changed() {
    let definitions = "> [a]: b\n>\n".repeat(6);
    let source = format!("{definitions}> `[a]: c`\n>\n> ```\n> [a]: d\n> ```\n> [x](e]:f)\n");
    let shown: String = lines(&source, 40, &Palette::plain()).iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(shown, "> [a]: b\n\n".repeat(6) + "> [a]: c\n\n>   [a]: d\n\n> x (e]:f)\n");
}

/// What is given out after each line of the source.
#[track_caller]
fn check_given_out(source: &str, expected: &Expect) {
    let mut reader = MarkdownReader::new(40, Palette::plain());
    let mut shown = String::new();
    for line in source.lines() {
        reader.line(line);
        shown += &format!("{line:12}=>");
        reader.take().iter().for_each(|line| shown += &format!(" {line}|"));
        shown += "\n";
    }
    reader.finish();
    shown += "=>";
    reader.take().iter().for_each(|line| shown += &format!(" {line}|"));
    expected.assert_eq(&shown);
}

#[test]
fn lines_of_a_paragraph_are_given_out_when_nothing_in_them_is_open() {
    check_given_out(
        "one\ntwo\n**three\nfour** five\nsix [link\nseven](a) `code\neight` \\\nnine\n|a|b|\n|-|-|\n\nten|\neleven\n---\ntwelve\nthirteen\n===\nend",
        &expect![[r#"
            one         =>
            two         => one| two|
            **three     =>
            four** five => three| four five|
            six [link   =>
            seven](a) `code=>
            eight` \    =>
            nine        => six link| seven (a) code eight| nine|
            |a|b|       =>
            |-|-|       =>
                        => | a │ b| ──┼──|
            ten|        =>
            eleven      => | ten|| eleven|
            ---         => | ───|
            twelve      =>
            thirteen    => | twelve| thirteen|
            ===         => ===|
            end         => end|
            =>"#]],
    );
}

#[test]
fn lines_are_given_out_when_they_are_final() {
    check_given_out(
        "# head\none\ntwo\n\nthree\n===\n> a\nlazy\n\n***\nend",
        &expect![[r#"
            # head      => head|
            one         =>
            two         => | one| two|
                        =>
            three       =>
            ===         => | three|
            > a         =>
            lazy        =>
                        => | > a| > lazy|
            ***         => | ───|
            end         =>
            => | end|"#]],
    );
    check_given_out(
        "3. a\n7. b\n\n   more\n1. c\nlazy\n- d\n- e\n\nend",
        &expect![[r#"
        3. a        =>
        7. b        => 3. a|
                    =>
           more     =>
        1. c        => 4. b| |    more|
        lazy        =>
        - d         => 5. c|    lazy|
        - e         => - d|
                    =>
        end         => - e|
        => | end|"#]],
    );
    check_given_out(
        "text\n  ~~~ js\n  a\n\n    b\n~~~\n\n```\nc\n```\nend",
        &expect![[r#"
        text        =>
          ~~~ js    => text| |
          a         =>   a|
                    => |
            b       =>     b|
        ~~~         =>
                    =>
        ```         => |
        c           =>   c|
        ```         =>
        end         =>
        => | end|"#]],
    );
    check_given_out(
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n| c |\n|---|\n| 5 |\n- end",
        &expect![[r#"
        | a | b |   =>
        |---|---|   =>
        | 1 | 2 |   =>
        | 3 | 4 |   =>
                    => a │ b| ──┼──| 1 │ 2| 3 │ 4|
        | c |       =>
        |---|       =>
        | 5 |       =>
        - end       => | c| ─| 5|
        => | - end|"#]],
    );
}

#[test]
fn a_block_that_is_too_long_is_given_out_in_parts() {
    let row = "| some words | and a few more |\n";
    let source = "| a | b |\n|---|---|\n".to_owned() + &row.repeat(3 * BLOCK_MAX / row.len()) + "\nend";
    let shown: Vec<String> = lines(&source, 40, &Palette::plain()).iter().map(ToString::to_string).collect();
    let count = |text: &str| shown.iter().filter(|line| line.trim_end() == text).count();
    assert_eq!(count("some words │ and a few more"), source.matches("words").count());
    assert_eq!(count("a          │ b"), 3);
    assert_eq!(shown[shown.len() - 2..], ["", "end"]);

    let source = "word\n".repeat(BLOCK_MAX);
    assert_eq!(lines(&source, 40, &Palette::plain()).len(), BLOCK_MAX);
}
