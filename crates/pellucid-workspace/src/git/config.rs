//! Git's configuration format, as far as remotes need it.

use std::collections::BTreeMap;

/// The address each remote is fetched from, rewritten by the rules of the same file.
///
/// Returns nothing if the text is no configuration: git refuses such a repository altogether.
pub fn remote_urls(text: &str) -> Option<BTreeMap<String, String>> {
    let mut urls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut rewrites: Vec<(String, String)> = Vec::new();
    for entry in parse(text)? {
        let (Some(name), Some(value)) = (entry.subsection, entry.value) else {
            continue;
        };
        match (entry.section.as_str(), entry.key.as_str()) {
            // An empty value takes back what was said before.
            ("remote", "url") if value.is_empty() => urls.entry(name).or_default().clear(),
            ("remote", "url") => urls.entry(name).or_default().push(value),
            ("url", "insteadof") => rewrites.push((value, name)),
            _ => {}
        }
    }
    let first = urls.into_iter().filter_map(|(name, urls)| Some((name, urls.into_iter().next()?)));
    Some(first.map(|(name, url)| (name, rewritten(url, &rewrites))).collect())
}

/// The longest rule that fits is applied.
fn rewritten(url: String, rewrites: &[(String, String)]) -> String {
    let fitting = rewrites.iter().filter(|(prefix, _)| !prefix.is_empty() && url.starts_with(prefix));
    match fitting.max_by_key(|(prefix, _)| prefix.len()) {
        Some((prefix, base)) => format!("{base}{}", &url[prefix.len()..]),
        None => url,
    }
}

struct Entry {
    section: String,
    subsection: Option<String>,
    key: String,
    /// Absent for a key that stands alone.
    value: Option<String>,
}

fn parse(text: &str) -> Option<Vec<Entry>> {
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
                entries.push(Entry { section, subsection, key, value });
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

    fn check(text: &str, expected: &[(&str, &str)]) {
        let urls = remote_urls(text).expect("a configuration");
        let urls: Vec<_> = urls.iter().map(|(name, url)| (name.as_str(), url.as_str())).collect();
        assert_eq!(urls, expected, "{text}");
    }

    fn check_refused(text: &str) {
        assert_eq!(remote_urls(text), None, "{text}");
    }

    #[test]
    fn remotes() {
        check(
            "[core]\n\tbare = false\n[remote \"up\"]\n\turl = git@x.test:a/b.git\n\tfetch = +refs/*:refs/*\n\
             [remote \"origin\"]\n\tURL=https://x.test/a.git # main\n\turl = second\n[branch \"m\"]\n\tremote = origin\n",
            &[("origin", "https://x.test/a.git"), ("up", "git@x.test:a/b.git")],
        );
        check("[remote.Old] url = u\n", &[("old", "u")]);
        check("[remote \"none\"]\n\tpushurl = u\n[remote \"gone\"]\n\turl = u\n\turl =\n", &[]);
        check("", &[]);
    }

    #[test]
    fn values() {
        check("[remote \"a\"] url = \"x # y\" z ; c\n", &[("a", "x # y z")]);
        check("[remote \"a\"] url = \"x  \"\n", &[("a", "x  ")]);
        check("[remote \"a\"] url = x \\\n  y\n", &[("a", "x   y")]);
        check("[remote \"a\"]\r\n\turl = C:\\\\dir\r\n\tbare\r\n", &[("a", "C:\\dir")]);
        check("[remote \"q\\\"\\\\\"] url = x", &[("q\"\\", "x")]);
        check("; c\n# c\n[remote \"a\"] # c\n url = x", &[("a", "x")]);
    }

    #[test]
    fn the_longest_rewriting_rule_applies() {
        check(
            "[url \"ssh://y/\"]\n\tinsteadOf = https://x/\n[url \"z:\"]\n\tinsteadOf = https://x/deep/\n\
             [remote \"a\"]\n\turl = https://x/p\n[remote \"b\"]\n\turl = https://x/deep/p\n",
            &[("a", "ssh://y/p"), ("b", "z:p")],
        );
    }

    #[test]
    fn broken_texts() {
        check_refused("[remote \"a\n\"] url = x");
        check_refused("[remote \"a\" url = x");
        check_refused("url = x\n");
        check_refused("[core]\nkey value\n");
        check_refused("[core]\nkey = \"open\n");
        check_refused("[core]\nkey = \\q\n");
        check_refused("[core]\n= x\n");
    }
}
