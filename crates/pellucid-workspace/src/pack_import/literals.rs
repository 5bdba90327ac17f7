//! Finds a string in Rust source by the items around it.
//!
//! Placeholders of `format!` become those of the slot, and its doubled braces single ones.

use pellucid_engine::pack::slots::Literal;
use pellucid_engine::pack::slots::Pick;

use super::tokens::Token;

/// Finds the string, or says what was looked for.
pub(super) fn find(tokens: &[Token], literal: &Literal) -> Result<String, String> {
    let mut inside = tokens;
    for item in literal.items {
        inside = item_body(inside, item).ok_or_else(|| format!("there is no `{item}`"))?;
    }
    let mut strings = Vec::new();
    collect(inside, Place::default(), &mut strings);
    pick(&strings, literal)
}

/// The tokens inside of an item: a body, or the value of a constant.
pub(super) fn item_body<'t>(tokens: &'t [Token], item: &str) -> Option<&'t [Token]> {
    let (kind, name) = item.split_once(' ')?;
    for at in 0..tokens.len() {
        let found = tokens[at].is_word(kind) && tokens.get(at + 1).is_some_and(|next| next.is_word(name));
        if found && let Some(body) = body_after(&tokens[at + 2..], kind) {
            return Some(body);
        }
    }
    let groups = tokens.iter().filter_map(|token| match token {
        Token::Group(_, inside) => Some(inside.as_slice()),
        _ => None,
    });
    groups.into_iter().find_map(|inside| item_body(inside, item))
}

fn body_after<'t>(tokens: &'t [Token], kind: &str) -> Option<&'t [Token]> {
    match kind {
        "const" | "static" => {
            let end = tokens.iter().position(|token| token.is_mark(';'))?;
            let start = tokens[..end].iter().position(|token| token.is_mark('='))?;
            Some(&tokens[start + 1..end])
        }
        "fn" => {
            let end = tokens.iter().position(|token| token.is_mark(';')).unwrap_or(tokens.len());
            tokens[..end].iter().find_map(|token| token.group('{'))
        }
        // `impl X` and not `impl X for Y`.
        _ => tokens.first()?.group('{'),
    }
}

/// The position of a string.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    in_format: bool,
    in_if: bool,
}

struct Found<'t> {
    text: std::borrow::Cow<'t, str>,
    place: Place,
}

fn collect<'t>(tokens: &'t [Token], place: Place, strings: &mut Vec<Found<'t>>) {
    let mut after_if = false;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at..] {
            // Attributes.
            [Token::Mark('#'), Token::Group('[', _), ..] => at += 1,
            [Token::Word(word), Token::Mark('!'), Token::Group(_, inside), ..] if word == "concat" => {
                let texts = inside.iter().filter_map(|token| match token {
                    Token::Text(text) => Some(text.as_str()),
                    _ => None,
                });
                strings.push(Found { text: texts.collect::<String>().into(), place });
                at += 2;
            }
            [Token::Word(word), Token::Mark('!'), Token::Group(_, inside), ..] if word == "format" => {
                let place = Place { in_format: true, ..place };
                if let [Token::Text(text), rest @ ..] = inside.as_slice() {
                    strings.push(Found { text: text.into(), place });
                    collect(rest, Place { in_format: false, ..place }, strings);
                } else {
                    collect(inside, place, strings);
                }
                at += 2;
            }
            [Token::Word(word), ..] if word == "if" => after_if = true,
            [Token::Group('{', inside), rest @ ..] if after_if => {
                collect(inside, Place { in_if: true, ..place }, strings);
                // A block after `else` is conditional as well.
                after_if = rest.first().is_some_and(|next| next.is_word("else"));
            }
            [Token::Group(_, inside), ..] => collect(inside, place, strings),
            [Token::Text(text), ..] => strings.push(Found { text: text.into(), place }),
            _ => {}
        }
        at += 1;
    }
}

fn pick(strings: &[Found<'_>], literal: &Literal) -> Result<String, String> {
    let nth = |n: usize, what: &str, fits: &dyn Fn(&Found<'_>) -> bool| {
        let found = strings.iter().filter(|it| fits(it)).nth(n);
        found.ok_or_else(|| format!("there is no {what} number {}", n + 1))
    };
    let read = |found: &Found<'_>| decoded(&found.text, found.place, literal.renames);
    match literal.pick {
        Pick::Nth(n) => read(nth(n, "string", &|_| true)?),
        Pick::Format(n) => read(nth(n, "`format!`", &|it| it.place.in_format)?),
        Pick::Beginning(start, n) => {
            read(nth(n, &format!("string that begins with {start:?}"), &|it| it.text.starts_with(start))?)
        }
        Pick::Having(mark) => {
            let has = |it: &&Found<'_>| it.place.in_format && it.text.contains(mark);
            read(strings.iter().find(has).ok_or_else(|| format!("there is no `format!` with {mark}"))?)
        }
        Pick::After(before) => {
            let at = strings.iter().position(|it| it.text == before);
            let found = at.and_then(|at| strings.get(at + 1));
            read(found.ok_or_else(|| format!("there is no string after {before:?}"))?)
        }
        Pick::Between(before, after) => {
            let part = |it: &Found<'_>| {
                let start = it.text.find(before)? + before.len();
                let end = start + it.text[start..].find(after)?;
                Some((it.text[start..end].to_owned(), it.place))
            };
            let (text, place) = strings
                .iter()
                .find_map(part)
                .ok_or_else(|| format!("there is no string with {before:?} and then {after:?}"))?;
            decoded(&text, place, literal.renames)
        }
        Pick::Nested { outer, place, inner } => {
            let is_format = |it: &Found<'_>| it.place.in_format;
            let outer = nth(outer, "`format!`", &is_format)?;
            let inner = read(nth(inner, "`format!`", &is_format)?)?;
            decoded(&outer.text, outer.place, &[(place, &inner)])
        }
        Pick::Unconditional => joined(strings, false),
        Pick::Conditional => joined(strings, true),
    }
}

fn joined(strings: &[Found<'_>], in_if: bool) -> Result<String, String> {
    let text: String = strings.iter().filter(|it| it.place.in_if == in_if).map(|it| it.text.as_ref()).collect();
    if text.is_empty() {
        return Err(format!("there are no strings {} an `if`", if in_if { "inside of" } else { "outside of" }));
    }
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

fn decoded(text: &str, place: Place, renames: &[(&str, &str)]) -> Result<String, String> {
    if place.in_format {
        format_string(text, |mark, n| renamed(renames, mark, n))
    } else {
        // A string that is filled by other means keeps its placeholders, but for those with another name.
        Ok(renames.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to)))
    }
}

/// The name of a placeholder in the slot; placeholders without a name are taken in their order.
pub(super) fn renamed(renames: &[(&str, &str)], mark: &str, n_unnamed: usize) -> Option<String> {
    let mut same = renames.iter().filter(|(from, _)| *from == mark);
    let found = if mark == "{}" { same.nth(n_unnamed) } else { same.next() };
    found.map(|(_, to)| (*to).to_owned())
}

/// Decodes a format string. `rename` is asked for each placeholder, with how many without a name came before.
pub(super) fn format_string(text: &str, rename: impl Fn(&str, usize) -> Option<String>) -> Result<String, String> {
    let mut decoded = String::new();
    let mut n_unnamed = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        decoded.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at..];
        if rest[1..].starts_with(brace) {
            decoded.push_str(brace);
            rest = &rest[2..];
            continue;
        }
        let end = rest.find('}').ok_or("a brace of a `format!` is not closed")?;
        let mark = &rest[..=end];
        decoded
            .push_str(&rename(mark, n_unnamed).ok_or_else(|| format!("nothing is known of its placeholder `{mark}`"))?);
        n_unnamed += usize::from(mark == "{}");
        rest = &rest[end + 1..];
    }
    decoded.push_str(rest);
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack_import::tokens;

    const SOURCE: &str = r####"
        const GREETING: &str = "Hello, {name}.";
        impl Other for Talk { fn say(&self) { "not this" } }
        impl Talk {
            /// Says "something else".
            fn say(&self) -> String {
                #[cfg(any(feature = "loud"))]
                let start = "start";
                let quoted = list.iter().map(|it| format!("`{}`", it.name())).collect();
                if quoted.len() == 1 {
                    format!(" One {} and {{braces}}.", quoted[0])
                } else {
                    format!(
                        " Many {} of {kind}.",
                        quoted.join(", "),
                    )
                }
            }
            fn wrap(spec: String) -> Self { new(format!("<tag> Be so: \n{spec} </tag>")) }
        }
        mod lines {
            pub(super) fn section(on: bool) -> Option<String> {
                if !on { return None; }
                let mut s = String::from("# Head\n");
                s.push_str(concat!("- one", " more\n"));
                if only {
                    s.push_str("- alone\n");
                    s.push_str(r#"- "quoted""#);
                    s.push_str("\n");
                }
                s.push_str("- last");
                Some(s)
            }
        }
        fn question() {
            let need = d.map_or_else(|| format!("{} needs {}.", a, b), |d| format!("{} needs {} ({}).", a, b, d));
            Question { text: format!("{need} Kept here.") }
        }
    "####;

    #[track_caller]
    fn check_find(
        items: &'static [&'static str],
        pick: Pick,
        renames: &'static [(&'static str, &'static str)],
        expected: &str,
    ) {
        let tokens = tokens::read(SOURCE).unwrap();
        let actual = find(&tokens, &Literal { file: "x.rs", items, pick, renames });
        assert_eq!(actual.unwrap_or_else(|error| format!("error: {error}")), expected);
    }

    #[test]
    fn a_constant_is_found_as_it_is() {
        check_find(&["const GREETING"], Pick::Nth(0), &[], "Hello, {name}.");
    }

    #[test]
    fn strings_of_a_function_are_found_by_how_they_begin() {
        let items = &["impl Talk", "fn say"];
        check_find(items, Pick::Beginning(" ", 0), &[("{}", "{one}")], " One {one} and {braces}.");
        check_find(items, Pick::Beginning(" ", 1), &[("{}", "{all}"), ("{kind}", "things")], " Many {all} of things.");
        check_find(items, Pick::Format(1), &[("{}", "{one}")], " One {one} and {braces}.");
        check_find(items, Pick::After("start"), &[("{}", "x")], "`x`");
        check_find(items, Pick::Having("{kind}"), &[("{}", "a"), ("{kind}", "b")], " Many a of b.");
    }

    #[test]
    fn a_part_of_a_string_is_found_by_what_is_around_it() {
        check_find(&["fn wrap"], Pick::Between("<tag> ", " \n{spec}"), &[], "Be so:");
    }

    #[test]
    fn conditional_strings_are_kept_apart() {
        check_find(&["fn section"], Pick::Unconditional, &[], "# Head\n- one more\n- last");
        check_find(&["mod lines", "fn section"], Pick::Conditional, &[], "- alone\n- \"quoted\"");
    }

    #[test]
    fn one_string_goes_into_another() {
        let nested = Pick::Nested { outer: 2, place: "{need}", inner: 1 };
        let renames = &[("{}", "{a}"), ("{}", "{b}"), ("{}", "{c}")];
        check_find(&["fn question"], nested, renames, "{a} needs {b} ({c}). Kept here.");
    }

    #[test]
    fn what_is_not_there_is_said() {
        check_find(&["fn nobody"], Pick::Nth(0), &[], "error: there is no `fn nobody`");
        check_find(&["fn wrap"], Pick::Format(1), &[], "error: there is no `format!` number 2");
        check_find(&["fn wrap"], Pick::After("x"), &[], "error: there is no string after \"x\"");
        check_find(&["fn wrap"], Pick::Having("{x}"), &[], "error: there is no `format!` with {x}");
        check_find(
            &["fn wrap"],
            Pick::Beginning("x", 0),
            &[],
            "error: there is no string that begins with \"x\" number 1",
        );
        check_find(&["fn wrap"], Pick::Between("a", "z"), &[], "error: there is no string with \"a\" and then \"z\"");
        check_find(&["fn wrap"], Pick::Format(0), &[], "error: nothing is known of its placeholder `{spec}`");
        check_find(&["fn wrap"], Pick::Conditional, &[], "error: there are no strings inside of an `if`");
    }
}
