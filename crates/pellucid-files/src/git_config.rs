//! Git's configuration format: what a file says, without what it includes.
//!
//! No program is run and no other file is read, so parsing is safe for repositories of strangers.
//!
//! Not here: what keys mean.

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitConfigEntry {
    /// The section's name, in lower case.
    pub section: String,
    /// The name in quotes after the section, as written.
    pub subsection: Option<String>,
    /// The key, in lower case.
    pub key: String,
    /// The value; absent for a key without `=`.
    pub value: Option<String>,
}

/// The entries of a configuration, in their order.
///
/// Returns nothing if the text is no configuration: git refuses such a repository altogether.
pub fn parse(text: &str) -> Option<Vec<GitConfigEntry>> {
    let mut entries = Vec::new();
    let mut section: Option<(String, Option<String>)> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return Some(entries);
        };
        match first {
            '#' | ';' => rest = rest.split_once('\n').map_or("", |(_, rest)| rest),
            '[' => {
                let (header, after) = parse_header(&rest[1..])?;
                section = Some(header);
                rest = after;
            }
            _ => {
                let (key, value, after) = parse_entry(rest)?;
                let (section, subsection) = section.clone()?;
                entries.push(GitConfigEntry { section, subsection, key, value });
                rest = after;
            }
        }
    }
}

/// `name]`, `name "sub"]` or the older `name.sub]`.
fn parse_header(text: &str) -> Option<((String, Option<String>), &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))?;
    let name = text[..end].to_ascii_lowercase();
    let rest = text[end..].trim_start_matches([' ', '\t']);
    if let Some(rest) = rest.strip_prefix(']') {
        let (name, sub) = match name.split_once('.') {
            Some((name, sub)) => (name.to_owned(), Some(sub.to_owned())),
            None => (name, None),
        };
        return Some(((name, sub), rest));
    }
    let rest = rest.strip_prefix('"')?;
    let mut sub = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some(((name, Some(sub)), rest[at + 1..].strip_prefix(']')?)),
            '\\' => sub.push(chars.next()?.1),
            '\n' => return None,
            _ => sub.push(c),
        }
    }
    None
}

/// `key`, or `key = value` with quotes, escapes, comments and continued lines.
fn parse_entry(text: &str) -> Option<(String, Option<String>, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(text.len());
    let key = text[..end].to_ascii_lowercase();
    if key.is_empty() {
        return None;
    }
    let rest = text[end..].trim_start_matches([' ', '\t', '\r']);
    let Some(rest) = rest.strip_prefix('=') else {
        let ends = rest.is_empty() || rest.starts_with(['\n', '#', ';']);
        let after = rest.split_once('\n').map_or("", |(_, after)| after);
        return ends.then_some((key, None, after));
    };
    let (value, after) = parse_value(rest.trim_start_matches([' ', '\t']))?;
    Some((key, Some(value), after))
}

fn parse_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    // Blanks at the end do not count, unless they are quoted.
    let mut kept = 0;
    let mut quoted = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\n' if quoted => return None,
            '\n' => {
                value.truncate(kept);
                return Some((value, &text[at + 1..]));
            }
            '#' | ';' if !quoted => {
                value.truncate(kept);
                return Some((value, text[at..].split_once('\n').map_or("", |(_, after)| after)));
            }
            '"' => quoted = !quoted,
            '\\' => {
                match chars.next()?.1 {
                    '\n' => {}
                    '\r' => {
                        chars.next().filter(|(_, c)| *c == '\n')?;
                    }
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    'b' => value.push('\u{8}'),
                    c @ ('"' | '\\') => value.push(c),
                    _ => return None,
                }
                kept = value.len();
            }
            _ => {
                value.push(c);
                if quoted || !c.is_whitespace() {
                    kept = value.len();
                }
            }
        }
    }
    value.truncate(kept);
    (!quoted).then_some((value, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let entries = parse(text).expect("a configuration");
        let shown = |entry: &GitConfigEntry| {
            let GitConfigEntry { section, subsection, key, value } = entry;
            let subsection = subsection.as_ref().map(|it| format!(".{it}")).unwrap_or_default();
            let value = value.as_ref().map(|it| format!("={it}")).unwrap_or_default();
            format!("{section}{subsection}.{key}{value}")
        };
        assert_eq!(entries.iter().map(shown).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn keys_and_values() {
        check("[Core]\n\tBare = false\n[Remote \"Up\"] URL=u # c\n", &["core.bare=false", "remote.Up.url=u"]);
        check("[remote.Old] url = u\n", &["remote.old.url=u"]);
        check("[a] b = \"x # y\" z ; c\n", &["a.b=x # y z"]);
        check("[a] b = \"x  \"\n", &["a.b=x  "]);
        check("[a] b = x \\\n  y\n", &["a.b=x   y"]);
        check("[a]\r\n\tb = C:\\\\dir\r\n\tbare\r\n", &["a.b=C:\\dir", "a.bare"]);
        check("[a \"q\\\"\\\\\"] b = x", &["a.q\"\\.b=x"]);
        check("; c\n# c\n[a] # c\n b = x", &["a.b=x"]);
        check("", &[]);
    }

    #[test]
    fn broken_texts_are_no_configuration() {
        for text in [
            "[a \"b\n\"] c = x",
            "[a \"b\" c = x",
            "c = x\n",
            "[a]\nkey value\n",
            "[a]\nkey = \"open\n",
            "[a]\nkey = \\q\n",
            "[a]\n= x\n",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
