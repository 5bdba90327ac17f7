//! Blanks what looks like a secret before a session leaves the machine.
//!
//! Detected are keys by the prefixes that their makers give them, private keys, bearer tokens, passwords in
//! addresses, values behind names such as `api_key=`, and texts that the caller knows to be secret. A redacted value
//! begins with [`MARK`], so that a reader does not take it for the original.
//!
//! This is a sieve, not a proof: a password in plain prose looks like any other word.

use std::ops::Range;

use memchr::memmem;
use serde_json::Value;

/// The beginning of a redacted value.
pub const MARK: &str = "[redacted:";

/// The marks of keys, and how many characters follow at least.
const PREFIXES: [(&str, usize, &str); 17] = [
    ("sk-", 20, "key"),
    ("sk_live_", 16, "key"),
    ("sk_test_", 16, "key"),
    ("rk_live_", 16, "key"),
    ("ghp_", 30, "token"),
    ("gho_", 30, "token"),
    ("ghs_", 30, "token"),
    ("ghu_", 30, "token"),
    ("github_pat_", 30, "token"),
    ("glpat-", 16, "token"),
    ("npm_", 30, "token"),
    ("xoxb-", 16, "token"),
    ("xoxp-", 16, "token"),
    ("xoxa-", 16, "token"),
    ("AKIA", 16, "key"),
    ("ASIA", 16, "key"),
    ("AIza", 30, "key"),
];

/// Endings of names whose values are secret.
const NAMES: [&str; 7] = ["api_key", "apikey", "api-key", "secret", "password", "passwd", "token"];

/// The least length of a value behind such a name.
const VALUE_CHARS_MIN: usize = 8;

/// At most this many bytes before a value are searched for its name.
const NAME_BYTES_MAX: usize = 64;

/// At most this many characters of a value are checked, so that the time for a long text stays linear.
const VALUE_CHARS_SEEN: usize = 4096;

/// The longest first piece of a token and the longest private key that are looked for.
const TOKEN_HEAD_CHARS_MAX: usize = 1 << 10;
const PRIVATE_KEY_BYTES_MAX: usize = 64 << 10;

const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";

/// Replaces secrets in texts and counts the replacements.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Vec<String>,
}

/// How many blanks were made.
pub type BlankCount = usize;

impl Redactor {
    /// Knows these secrets besides those that show by themselves. Short ones are words.
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        let mut known: Vec<String> = known.into_iter().filter(|it| it.chars().count() >= VALUE_CHARS_MIN).collect();
        // The longest first: one may begin with another.
        known.sort_by_key(|it| std::cmp::Reverse(it.len()));
        Self { known }
    }

    /// Blanks secrets in every text of a value, and in its keys.
    pub fn value(&self, value: &mut Value) -> BlankCount {
        match value {
            Value::String(text) => {
                let (blanked, n) = self.text(text);
                if n > 0 {
                    *text = blanked;
                }
                n
            }
            Value::Array(list) => list.iter_mut().map(|value| self.value(value)).sum(),
            Value::Object(table) => {
                let n_in_values: BlankCount = table.values_mut().map(|value| self.value(value)).sum();
                let n_in_keys = table.keys().map(|key| self.text(key).1).sum::<BlankCount>();
                if n_in_keys > 0 {
                    let blanked = |(key, value): (String, Value)| (self.text(&key).0, value);
                    *table = std::mem::take(table).into_iter().map(blanked).collect();
                }
                n_in_values + n_in_keys
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Blanks secrets in a text.
    pub fn text(&self, text: &str) -> (String, BlankCount) {
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        let mut n = 0;
        for (span, kind) in self.found(text) {
            out.push_str(&text[end..span.start]);
            out.push_str(&format!("{MARK}{kind}]"));
            end = span.end;
            n += 1;
        }
        out.push_str(&text[end..]);
        (out, n)
    }

    /// Where the secrets of a text are, in order.
    pub fn spans(&self, text: &str) -> Vec<Range<usize>> {
        self.found(text).map(|(span, _)| span).collect()
    }

    fn found<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (Range<usize>, &'static str)> + 't {
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < text.len() {
                if let Some((len, kind)) = self.secret_at(text, at) {
                    let span = at..at + len;
                    at = span.end;
                    return Some((span, kind));
                }
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
            None
        })
    }

    /// The length and kind of the secret that begins here.
    fn secret_at(&self, text: &str, at: usize) -> Option<(usize, &'static str)> {
        let rest = &text[at..];
        if let Some(known) = self.known.iter().find(|known| rest.starts_with(known.as_str())) {
            return Some((known.len(), "secret"));
        }
        let before = text[..at].chars().next_back();
        if rest.starts_with(KEY_BEGIN) {
            return private_key(rest).map(|len| (len, "private key"));
        }
        if !before.is_some_and(is_word) {
            let found = PREFIXES.iter().find_map(|(prefix, min, kind)| {
                let len = rest.strip_prefix(prefix)?.chars().take_while(|c| is_key(*c)).count();
                (len >= *min).then_some((prefix.len() + len, *kind))
            });
            if found.is_some() {
                return found;
            }
            if let Some(len) = web_token(rest) {
                return Some((len, "token"));
            }
        }
        if let Some(len) = password_in_address(text, at) {
            return Some((len, "password"));
        }
        value_behind_name(text, at).map(|len| (len, "value"))
    }
}

/// Whether something is blanked in these bytes.
pub fn has_blank(bytes: &[u8]) -> bool {
    memmem::find(bytes, MARK.as_bytes()).is_some()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn private_key(rest: &str) -> Option<usize> {
    let first = &rest[..rest.floor_char_boundary(NAME_BYTES_MAX)];
    if !first.lines().next()?.contains("PRIVATE KEY") {
        return None;
    }
    let rest = &rest[..rest.floor_char_boundary(PRIVATE_KEY_BYTES_MAX)];
    let (before, after) = rest.split_once(KEY_END)?;
    let (name, _) = after.split_once("-----")?;
    Some(before.len() + KEY_END.len() + name.len() + "-----".len())
}

/// Three pieces with dots between them, the first two of which are JSON in base64.
fn web_token(rest: &str) -> Option<usize> {
    // All of these are one byte long.
    let piece = |text: &str, max: usize| text.chars().take(max).take_while(|c| is_key(*c)).count();
    if !rest.starts_with("eyJ") {
        return None;
    }
    let head = piece(rest, TOKEN_HEAD_CHARS_MAX);
    let after = rest[head..].strip_prefix('.').filter(|after| after.starts_with("eyJ"))?;
    let body = piece(after, usize::MAX);
    let seal = piece(after[body..].strip_prefix('.')?, usize::MAX);
    [head, body, seal].iter().all(|len| *len >= 8).then_some(head + 1 + body + 1 + seal)
}

/// The password of `scheme://user:password@host`, if one begins here.
fn password_in_address(text: &str, at: usize) -> Option<usize> {
    let before = text[..at].strip_suffix(':')?;
    let is_part = |c: char| !c.is_whitespace() && !matches!(c, '/' | '@' | '"' | '\'' | ':');
    let user = before.rsplit(|c| !is_part(c)).next()?;
    if user.is_empty() || !before.strip_suffix(user)?.ends_with("://") {
        return None;
    }
    let password = text[at..].split(|c| !is_part(c)).next()?;
    let is_one = !password.is_empty() && text[at..].strip_prefix(password)?.starts_with('@');
    is_one.then_some(password.len())
}

/// The value behind a name that ends like one of a secret and `=` or `:`, or behind `Bearer`.
fn value_behind_name(text: &str, at: usize) -> Option<usize> {
    let before = &text[..at];
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(NAME_BYTES_MAX))..];
    if before.ends_with(|c| is_key(c) || c == '.') || !is_named(before) {
        return None;
    }
    // All of these are one byte long.
    let is_value = |c: &char| is_key(*c) || matches!(c, '.' | '/' | '+' | '=');
    let n_seen = text[at..].chars().take(VALUE_CHARS_SEEN).take_while(is_value).count();
    let has_digit = text[at..at + n_seen].bytes().any(|byte| byte.is_ascii_digit());
    (n_seen >= VALUE_CHARS_MIN && has_digit).then(|| text[at..].chars().take_while(is_value).count())
}

/// Whether what follows is said to be secret.
fn is_named(before: &str) -> bool {
    let ends_with = |text: &str, end: &str| {
        let tail = text.len().checked_sub(end.len()).and_then(|start| text.get(start..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    };
    let name = before.trim_end_matches(['"', '\'', '\\', ' ']);
    let name = name.strip_suffix(['=', ':']).map(|name| name.trim_end_matches(['"', '\'', '\\', ' ']));
    ends_with(before, "bearer ") || name.is_some_and(|name| NAMES.iter().any(|it| ends_with(name, it)))
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_redaction(text: &str, expected: &Expect) {
        let redactor = Redactor::new(["hunter2hunter2".to_owned(), "none".to_owned()]);
        expected.assert_eq(&redactor.text(text).0);
    }

    #[test]
    fn what_looks_like_a_secret_is_blanked() {
        check_redaction(
            "key sk-abcdefghij0123456789ABCD, AWS AKIAIOSFODNN7EXAMPLE.",
            &expect!["key [redacted:key], AWS [redacted:key]."],
        );
        check_redaction(
            "Authorization: Bearer abc123def456 and https://ada:s3cret@example.com/x",
            &expect!["Authorization: Bearer [redacted:value] and https://ada:[redacted:password]@example.com/x"],
        );
        check_redaction(
            "OPENAI_API_KEY=abcdef1234 password: \"correct1horse\" {\"secret\":\"a1b2c3d4e5\"} token = a1b2c3d4e5",
            &expect![[
                r#"OPENAI_API_KEY=[redacted:value] password: "[redacted:value]" {"secret":"[redacted:value]"} token = [redacted:value]"#
            ]],
        );
        check_redaction(
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb",
            &expect!["a\n[redacted:private key]\nb"],
        );
        check_redaction(
            "eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM and hunter2hunter2é, eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM.",
            &expect!["[redacted:token] and [redacted:secret]é, [redacted:token]."],
        );
    }

    #[test]
    fn wide_blanks_and_letters_are_no_trouble() {
        check_redaction("Remarque\u{a0}: voir plus bas", &expect!["Remarque\u{a0}: voir plus bas"]);
        check_redaction("\u{3000}名前:値", &expect!["\u{3000}名前:値"]);
        check_redaction(
            "x://\u{e9}\u{3000}:a1b2c3d4@ x://\u{e9}:g\u{e9}heim@h",
            &expect!["x://\u{e9}\u{3000}:a1b2c3d4@ x://\u{e9}:[redacted:password]@h"],
        );
        check_redaction("ébearer a1b2c3d4é", &expect!["ébearer [redacted:value]é"]);
    }

    /// Text made of what the sieve looks for, in any order, with any characters between.
    fn text() -> impl Strategy<Value = String> {
        let mark = prop::sample::select(vec![
            "sk-",
            "AKIA",
            "eyJ",
            ".",
            "://",
            ":",
            "@",
            "=",
            "\"",
            "\\",
            " ",
            "\n",
            "api_key",
            "password",
            "Bearer ",
            "a1b2c3d4",
            KEY_BEGIN,
            KEY_END,
            "RSA PRIVATE KEY-----",
            "hunter2hunter2",
            "\u{a0}",
            "\u{3000}",
            "é",
            "名",
            "\u{10ffff}",
        ]);
        let piece = prop_oneof![4 => mark.prop_map(str::to_owned), 1 => "\\PC{0,3}", 1 => any::<String>()];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_text_is_gone_through_whole(text in text()) {
            let (blanked, n) = Redactor::new(["hunter2hunter2".to_owned()]).text(&text);
            prop_assert_eq!(n == 0, blanked == text);
            prop_assert!(!blanked.contains("hunter2hunter2"));
            prop_assert_eq!(blanked.matches(MARK).count(), n + text.matches(MARK).count());
        }
    }

    #[test]
    fn what_does_not_is_left() {
        for text in [
            "risk-abcdefghij0123456789ABCD is a word",
            "the password is long, secret: nothing",
            "sk-short none",
            "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----",
            "see https://example.com:8080/a@b and C:\\x@y",
            "日本 password:",
        ] {
            assert_eq!(Redactor::new(["none".to_owned()]).text(text), (text.to_owned(), 0));
        }
    }

    #[test]
    fn values_are_blanked_wherever_texts_are() {
        let mut value =
            serde_json::json!({ "a": ["x", { "b": "token ghp_0123456789abcdefghijABCDEFGHIJ012345" }], "n": 1 });
        assert_eq!(Redactor::default().value(&mut value), 1);
        assert_eq!(value.to_string(), r#"{"a":["x",{"b":"token [redacted:token]"}],"n":1}"#);
        let mut value = serde_json::json!({ "k ghp_0123456789abcdefghijABCDEFGHIJ012345": 1, "b": 2 });
        assert_eq!(Redactor::default().value(&mut value), 1);
        assert_eq!(value.to_string(), r#"{"k [redacted:token]":1,"b":2}"#);
    }
}
