//! Blanks what looks like a secret before a session leaves the machine.
//!
//! Found are keys by the marks that their makers give them, private keys, bearer tokens, passwords
//! in addresses, values behind names such as `api_key=`, and texts that the caller knows to be
//! secret. What is blanked says so ([`MARK`]), so that nobody takes it for what was there.
//!
//! This is a sieve, not a proof: a password in plain prose looks like any other word.

use memchr::memmem;
use serde_json::Value;

/// What stands at the beginning of a blank.
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

/// Names whose values are secret, as they end.
const NAMES: [&str; 8] = ["api_key", "apikey", "api-key", "secret", "password", "passwd", "access_token", "auth_token"];

/// The least length of a value behind such a name.
const VALUE_CHARS_MIN: usize = 8;

const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";

/// Blanks secrets.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: Vec<String>,
}

/// How many blanks were made.
pub type Count = usize;

impl Redactor {
    /// Knows these secrets besides those that show by themselves. Short ones are words.
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        let mut known: Vec<String> = known.into_iter().filter(|it| it.chars().count() >= VALUE_CHARS_MIN).collect();
        // The longest first: one may begin with another.
        known.sort_by_key(|it| std::cmp::Reverse(it.len()));
        Self { known }
    }

    /// Blanks secrets in every text of a value, and in its keys.
    pub fn value(&self, value: &mut Value) -> Count {
        match value {
            Value::String(text) => {
                let (blanked, n) = self.text(text);
                if n > 0 {
                    *text = blanked;
                }
                n
            }
            Value::Array(list) => list.iter_mut().map(|value| self.value(value)).sum(),
            Value::Object(table) => table.values_mut().map(|value| self.value(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Blanks secrets in a text.
    pub fn text(&self, text: &str) -> (String, Count) {
        let mut out = String::with_capacity(text.len());
        let mut n = 0;
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            if let Some((len, kind)) = self.secret_at(text, at) {
                out.push_str(&format!("{MARK}{kind}]"));
                n += 1;
                at += len;
                continue;
            }
            let len = rest.chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[..len]);
            at += len;
        }
        (out, n)
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
    let first = rest.lines().next()?;
    if !first.contains("PRIVATE KEY") {
        return None;
    }
    let end = rest.find(KEY_END)?;
    let close = rest[end + KEY_END.len()..].find("-----")? + 5;
    Some(end + KEY_END.len() + close)
}

/// Three pieces with dots between them, the first two of which are JSON in base64.
fn web_token(rest: &str) -> Option<usize> {
    if !rest.starts_with("eyJ") {
        return None;
    }
    let len = rest.chars().take_while(|c| is_key(*c) || *c == '.').count();
    let pieces: Vec<&str> = rest[..len].split('.').collect();
    (pieces.len() == 3 && pieces[1].starts_with("eyJ") && pieces.iter().all(|it| it.len() >= 8)).then_some(len)
}

/// The password of `scheme://user:password@host`, if one begins here.
fn password_in_address(text: &str, at: usize) -> Option<usize> {
    let user = text[..at].strip_suffix(':')?;
    let is_part = |c: char| !c.is_whitespace() && !matches!(c, '/' | '@' | '"' | '\'' | ':');
    let start = user.rfind(|c: char| !is_part(c)).map_or(0, |at| at + 1);
    if start == user.len() || !user[..start].ends_with("://") {
        return None;
    }
    let len = text[at..].find(|c: char| !is_part(c))?;
    (len > 0 && text[at + len..].starts_with('@')).then_some(len)
}

/// The value behind a name that ends like one of a secret and `=` or `:`, or behind `Bearer`.
fn value_behind_name(text: &str, at: usize) -> Option<usize> {
    let before = &text[..at];
    if before.chars().next_back().is_some_and(|c| is_key(c) || c == '.') {
        return None;
    }
    let len = text[at..].chars().take_while(|c| is_key(*c) || matches!(c, '.' | '/' | '+' | '=')).count();
    if len < VALUE_CHARS_MIN {
        return None;
    }
    let has_digit = text[at..at + len].bytes().any(|byte| byte.is_ascii_digit());
    let is_bearer =
        before.len() >= 7 && before[before.floor_char_boundary(before.len() - 7)..].eq_ignore_ascii_case("bearer ");
    if is_bearer && has_digit {
        return Some(len);
    }
    let name = before.trim_end_matches(['"', '\'', '\\', ' ']);
    let name = name.strip_suffix(['=', ':'])?.trim_end_matches(['"', '\'', '\\', ' ']);
    let start = name.floor_char_boundary(name.len().saturating_sub(16));
    let name = name[start..].to_ascii_lowercase();
    (has_digit && NAMES.iter().any(|it| name.ends_with(it))).then_some(len)
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

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
            "OPENAI_API_KEY=abcdef1234 password: \"correct1horse\" {\"secret\":\"a1b2c3d4e5\"}",
            &expect![[r#"OPENAI_API_KEY=[redacted:value] password: "[redacted:value]" {"secret":"[redacted:value]"}"#]],
        );
        check_redaction(
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb",
            &expect!["a\n[redacted:private key]\nb"],
        );
        check_redaction(
            "eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM and hunter2hunter2é",
            &expect!["[redacted:token] and [redacted:secret]é"],
        );
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
    }
}
