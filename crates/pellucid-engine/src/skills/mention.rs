//! Mentions in what a person says: `$name`, and `[$name](path)` for one skill among namesakes.
//!
//! A name ends at the first character that cannot be in one; the character before the `$` does not matter. Names of
//! common environment variables are not mentions.

use std::ops::Range;

/// Environment variables that people write about.
const VARIABLES: [&str; 11] =
    ["PATH", "HOME", "USER", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "LANG", "TERM", "XDG_CONFIG_HOME"];

/// A mention of a skill or connector in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention<'t> {
    /// The name, without `$`.
    pub name: &'t str,
    /// The target, if the mention is a link.
    pub link: Option<MentionLink<'t>>,
    /// The bytes of the mention in the text.
    pub span: Range<usize>,
}

/// The target of a linked mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MentionLink<'t> {
    /// The path as written, trimmed.
    pub path: &'t str,
    /// The kind of the target.
    pub kind: LinkKind,
}

/// The kinds of targets of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    /// `app://...`, the address of a connector.
    App,
    /// `mcp://...`: an MCP server.
    Mcp,
    /// `skill://...`, or a path that ends in `SKILL.md`.
    Skill,
    /// Anything else. It is matched like a skill's path.
    Other,
}

impl<'t> MentionLink<'t> {
    fn new(path: &'t str) -> Self {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let kind = if path.starts_with("app://") {
            LinkKind::App
        } else if path.starts_with("mcp://") {
            LinkKind::Mcp
        } else if path.starts_with("skill://") || file.eq_ignore_ascii_case("SKILL.md") {
            LinkKind::Skill
        } else {
            LinkKind::Other
        };
        Self { path, kind }
    }

    /// The path of a skill that it may point to.
    pub fn skill_path(&self) -> Option<&'t str> {
        match self.kind {
            LinkKind::App | LinkKind::Mcp => None,
            LinkKind::Skill | LinkKind::Other => Some(self.path.strip_prefix("skill://").unwrap_or(self.path)),
        }
    }
}

/// The mentions in a text, in order.
pub fn mentions(text: &str) -> Vec<Mention<'_>> {
    let bytes = text.as_bytes();
    // Without a `)` further on no link can end, and looking for one again and again would take long.
    let last_close = text.rfind(')');
    let mut mentions = Vec::new();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| matches!(byte, b'[' | b'$')) {
        at += found;
        let mention = if bytes[at] == b'[' { link(text, at, last_close) } else { plain(text, at) };
        match mention {
            Some(mention) => {
                at = mention.span.end;
                if !is_variable(mention.name) {
                    mentions.push(mention);
                }
            }
            None => at += 1,
        }
    }
    mentions
}

/// A mention that starts with the `$` at this byte.
fn plain(text: &str, at: usize) -> Option<Mention<'_>> {
    let start = at + 1;
    let len = text.as_bytes()[start..].iter().take_while(|byte| is_name_byte(**byte)).count();
    let name = &text[start..start + len];
    (len > 0).then_some(Mention { name, link: None, span: at..start + len })
}

/// A link that starts with the `[` at this byte.
fn link(text: &str, at: usize, last_close: Option<usize>) -> Option<Mention<'_>> {
    let bytes = text.as_bytes();
    let Mention { name, span, .. } =
        bytes.get(at + 1).filter(|byte| **byte == b'$').and_then(|_| plain(text, at + 1))?;
    if bytes.get(span.end) != Some(&b']') {
        return None;
    }
    let blanks = bytes[span.end + 1..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let open = span.end + 1 + blanks;
    if bytes.get(open) != Some(&b'(') || last_close.is_none_or(|close| close < open) {
        return None;
    }
    let close = open + text[open..].find(')')?;
    let path = text[open + 1..close].trim();
    (!path.is_empty()).then(|| Mention { name, link: Some(MentionLink::new(path)), span: at..close + 1 })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_variable(name: &str) -> bool {
    VARIABLES.iter().any(|variable| variable.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_mentions(text: &str, expected: &Expect) {
        let show = |mention: Mention<'_>| {
            let link = mention.link.map(|link| format!(" -> {:?} {}", link.kind, link.path)).unwrap_or_default();
            format!("{}{link}", mention.name)
        };
        expected.assert_eq(&mentions(text).into_iter().map(show).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn a_name_ends_where_no_name_goes_on() {
        check_mentions(
            "Run ($lint), $lint_fix; $a-b. $c:d $é $",
            &expect![[r#"
            lint
            lint_fix
            a-b
            c"#]],
        );
    }

    #[test]
    fn what_stands_before_does_not_matter() {
        check_mentions(
            "cost$lint $$twice",
            &expect![[r#"
            lint
            twice"#]],
        );
    }

    #[test]
    fn common_variables_are_not_mentions() {
        check_mentions("$PATH $home $Xdg_Config_Home [$TMP](/a/SKILL.md) $PATHS", &expect!["PATHS"]);
    }

    #[test]
    fn links_say_what_they_point_to() {
        check_mentions(
            "[$a](/x/a/SKILL.md) [$b] \n( skill:///x/b )\n[$c](app://c) [$d](mcp://d) [$e](C:\\e\\skill.MD) [$f](/x y)",
            &expect![[r#"
                a -> Skill /x/a/SKILL.md
                b -> Skill skill:///x/b
                c -> App app://c
                d -> Mcp mcp://d
                e -> Skill C:\e\skill.MD
                f -> Other /x y"#]],
        );
    }

    #[test]
    fn a_broken_link_is_a_plain_mention() {
        check_mentions(
            "[$a]() [$b]( ) [$c (x) [$d]-(x) [$e] [a](b) [$](x) [$f](x",
            &expect![[r#"
            a
            b
            c
            d
            e
            f"#]],
        );
    }

    #[test]
    fn a_link_goes_to_the_first_closing_bracket() {
        check_mentions(
            "[$a](/x(1)/SKILL.md) $b",
            &expect![[r#"
            a -> Other /x(1
            b"#]],
        );
    }

    #[test]
    fn a_long_text_without_an_end_is_read_once() {
        let text = "[$a](".repeat(200_000);
        assert_eq!(mentions(&text).len(), 200_000);
    }

    proptest! {
        #[test]
        fn spans_are_in_range_and_in_order(text in prop_oneof!["[$a-c\\[\\]() é)]{0,40}", any::<String>()]) {
            let mut end = 0;
            for mention in mentions(&text) {
                prop_assert!(end <= mention.span.start && mention.span.start < mention.span.end);
                end = mention.span.end;
                let shown = text.get(mention.span.clone());
                prop_assert!(shown.is_some_and(|shown| shown.contains(mention.name)));
                prop_assert!(mention.name.bytes().all(is_name_byte) && !mention.name.is_empty());
            }
            prop_assert!(end <= text.len());
        }
    }
}
