//! Names for requests, the same wherever a request is asked for.
//!
//! | name | request |
//! |---|---|
//! | `SESSION` | the last one of a session: its id, the beginning of its id, or its name |
//! | `SESSION#N` | its request number N, from 1 |
//! | `SESSION#next` | the one that would be sent next |
//! | `now` | the first one of a new session here |
//! | `now@REV` | the same with the project's files of a git revision |
//! | `lock` | the one that the lock file says |
//! | `file:PATH` | the one of a saved report |
//! | `file:PATH.html`, `file:PATH.html#N` | one of the session in a capsule, as for a stored session |
//!
//! Not here: which session, revision or file that is.

use std::fmt;

/// The name of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestName {
    /// A request that a session sent.
    Sent {
        /// The session, by its id, the beginning of its id, or its name.
        session: String,
        /// The number of the request, from 1; absent for the last one.
        number: Option<u64>,
    },
    /// The one that a session would send next.
    Next {
        /// The session, by its id, the beginning of its id, or its name.
        session: String,
    },
    /// The first request of a new session.
    Now {
        /// The git revision whose files the project has; those on disk if absent.
        revision: Option<String>,
    },
    /// The one that the lock file says.
    Lock,
    /// The request of a saved report.
    File {
        /// The path of the file, as typed.
        path: String,
    },
}

/// Why a text is no name of a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestNameError {
    /// The name is incomplete.
    #[error("`{name}`: {missing} is missing")]
    Missing {
        /// The text that is no name of a request.
        name: String,
        /// The part that is missing.
        missing: &'static str,
    },
    /// The text after the session is neither a number nor `next`.
    #[error("`{name}`: after `#` comes the number of a request, from 1, or `next`")]
    Number {
        /// The text that is no name of a request.
        name: String,
    },
    /// A git revision cannot be called that.
    #[error("`{name}`: a git revision has no spaces and does not begin with `-`")]
    Revision {
        /// The text that is no name of a request.
        name: String,
    },
}

/// The kinds of a word on the command line, where a message is accepted too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameForm {
    /// A name, whether the request exists or not.
    Name,
    /// A name if there is a session that is called so.
    MaybeSession,
    /// Only a message: the text cannot be a session's name.
    Message,
}

impl RequestName {
    /// Parses the name of a request.
    ///
    /// # Errors
    /// If the text is not a name.
    pub fn parse(text: &str) -> Result<Self, RequestNameError> {
        let missing = |missing| RequestNameError::Missing { name: text.to_owned(), missing };
        match text {
            "" => return Err(missing("the name of a request")),
            "now" => return Ok(Self::Now { revision: None }),
            "lock" => return Ok(Self::Lock),
            _ => {}
        }
        if let Some(path) = text.strip_prefix("file:") {
            return match path {
                "" => Err(missing("the path")),
                path if is_capsule(path) => Self::of_session(text),
                path => Ok(Self::File { path: path.to_owned() }),
            };
        }
        if let Some(revision) = text.strip_prefix("now@") {
            let is_odd = |it: char| it.is_whitespace() || it.is_control();
            return match revision {
                "" => Err(missing("the git revision")),
                odd if odd.starts_with('-') || odd.contains(is_odd) => {
                    Err(RequestNameError::Revision { name: text.to_owned() })
                }
                revision => Ok(Self::Now { revision: Some(revision.to_owned()) }),
            };
        }
        Self::of_session(text)
    }

    /// Parses a session, with `#N` or `#next` behind it.
    fn of_session(text: &str) -> Result<Self, RequestNameError> {
        let Some((session, which)) = text.rsplit_once('#') else {
            return Ok(Self::Sent { session: text.to_owned(), number: None });
        };
        if session.is_empty() {
            let (name, missing) = (text.to_owned(), "the session before `#`");
            return Err(RequestNameError::Missing { name, missing });
        }
        let session = session.to_owned();
        match which {
            "next" => Ok(Self::Next { session }),
            digits if !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()) => {
                let number = digits.parse().ok().filter(|number| *number > 0);
                let number = number.ok_or_else(|| RequestNameError::Number { name: text.to_owned() })?;
                Ok(Self::Sent { session, number: Some(number) })
            }
            _ => Err(RequestNameError::Number { name: text.to_owned() }),
        }
    }

    /// The kind of a word where a message is accepted too. A word with the form of a name is a name, whether the
    /// request exists or not; any other text without line ends is a name if a session has that name.
    pub fn form(text: &str) -> NameForm {
        let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
        let has_kind = matches!(text, "now" | "lock") || text.starts_with("now@") || text.starts_with("file:");
        let has_number = matches!(
            Self::parse(text),
            Ok(Self::Next { .. } | Self::Sent { number: Some(_), .. }) | Err(RequestNameError::Number { .. })
        ) && text.rsplit_once('#').is_some_and(|(_, which)| which == "next" || is_number(which));
        if is_word && (has_kind || has_number || is_uuid(text)) {
            NameForm::Name
        } else if text.is_empty() || text.contains(char::is_control) {
            NameForm::Message
        } else {
            NameForm::MaybeSession
        }
    }

    /// The session that it is about, if it is about one.
    pub fn session(&self) -> Option<&str> {
        match self {
            Self::Sent { session, .. } | Self::Next { session } => Some(session),
            Self::Now { .. } | Self::Lock | Self::File { .. } => None,
        }
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent { session, number: None } => f.write_str(session),
            Self::Sent { session, number: Some(number) } => write!(f, "{session}#{number}"),
            Self::Next { session } => write!(f, "{session}#next"),
            Self::Now { revision: None } => f.write_str("now"),
            Self::Now { revision: Some(revision) } => write!(f, "now@{revision}"),
            Self::Lock => f.write_str("lock"),
            Self::File { path } => write!(f, "file:{path}"),
        }
    }
}

/// Whether a path, perhaps with `#` and a number behind it, is the path of a capsule.
fn is_capsule(path: &str) -> bool {
    let is_html = |path: &str| path.len() > ".html".len() && path.ends_with(".html");
    is_html(path) || path.rsplit_once('#').is_some_and(|(path, _)| is_html(path))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

/// Whether a text is written as ids of sessions are.
fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|it| it == b'-' || it.is_ascii_hexdigit())
}

/// The names that are most like a text, the nearest first: those that have it in them or differ in a few letters.
pub fn near<'a>(text: &str, names: impl IntoIterator<Item = &'a str>, n_max: usize) -> Vec<&'a str> {
    let text = text.to_lowercase();
    let allowed = text.chars().count() / 3 + 1;
    let mut found: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let lower = name.to_lowercase();
        let distance =
            if lower.contains(&text) || (lower.len() > 2 && text.contains(&lower)) { 0 } else { edits(&text, &lower) };
        if distance <= allowed && !found.iter().any(|(_, known)| *known == name) {
            found.push((distance, name));
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().take(n_max).map(|(_, name)| name).collect()
}

/// How many letters have to be added, removed or replaced to get from one text to the other. Long texts count as far apart.
fn edits(a: &str, b: &str) -> usize {
    const LONG: usize = 200;
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(LONG).collect(), b.chars().take(LONG).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    const ID: &str = "019a0000-0000-7000-8000-000000000001";

    /// Checks what texts are: what they may be where a message is accepted, and what they name.
    #[track_caller]
    fn check(texts: &[&str], expected: &Expect) {
        let line = |text: &&str| {
            let named = match RequestName::parse(text) {
                Ok(name) => {
                    assert_eq!(name.to_string(), **text, "a name is written as it is read");
                    format!("{name:?}")
                }
                Err(error) => error.to_string(),
            };
            format!("{:?} {text:?}: {named}\n", RequestName::form(text))
        };
        expected.assert_eq(&texts.iter().map(line).collect::<String>());
    }

    #[test]
    fn a_capsule_is_named_like_a_session() {
        check(
            &[
                "file:a b.html",
                "file:a.html#3",
                "file:a.html#next",
                "file:.html",
                "file:a.html.json",
                "file:a#3",
                "file:a.html#x",
            ],
            &expect![[r#"
                MaybeSession "file:a b.html": Sent { session: "file:a b.html", number: None }
                Name "file:a.html#3": Sent { session: "file:a.html", number: Some(3) }
                Name "file:a.html#next": Next { session: "file:a.html" }
                Name "file:.html": File { path: ".html" }
                Name "file:a.html.json": File { path: "a.html.json" }
                Name "file:a#3": File { path: "a#3" }
                Name "file:a.html#x": `file:a.html#x`: after `#` comes the number of a request, from 1, or `next`
            "#]],
        );
    }

    #[test]
    fn names_are_read() {
        check(
            &["now", "now@HEAD~1", "lock", "file:a b.json", ID, &format!("{ID}#3"), "019a#next", "fix-login#12"],
            &expect![[r#"
                Name "now": Now { revision: None }
                Name "now@HEAD~1": Now { revision: Some("HEAD~1") }
                Name "lock": Lock
                MaybeSession "file:a b.json": File { path: "a b.json" }
                Name "019a0000-0000-7000-8000-000000000001": Sent { session: "019a0000-0000-7000-8000-000000000001", number: None }
                Name "019a0000-0000-7000-8000-000000000001#3": Sent { session: "019a0000-0000-7000-8000-000000000001", number: Some(3) }
                Name "019a#next": Next { session: "019a" }
                Name "fix-login#12": Sent { session: "fix-login", number: Some(12) }
            "#]],
        );
    }

    #[test]
    fn what_is_no_name_says_why() {
        check(
            &["", "now@", "now@-x", "file:", "#3", "a#0", "a#", "a#two", "a#99999999999999999999"],
            &expect![[r##"
                Message "": ``: the name of a request is missing
                Name "now@": `now@`: the git revision is missing
                Name "now@-x": `now@-x`: a git revision has no spaces and does not begin with `-`
                Name "file:": `file:`: the path is missing
                MaybeSession "#3": `#3`: the session before `#` is missing
                Name "a#0": `a#0`: after `#` comes the number of a request, from 1, or `next`
                MaybeSession "a#": `a#`: after `#` comes the number of a request, from 1, or `next`
                MaybeSession "a#two": `a#two`: after `#` comes the number of a request, from 1, or `next`
                Name "a#99999999999999999999": `a#99999999999999999999`: after `#` comes the number of a request, from 1, or `next`
            "##]],
        );
    }

    #[test]
    fn messages_are_told_apart() {
        let form = |text| RequestName::form(text);
        assert_eq!([form("hi"), form("fix issue #3"), form("why now")], [NameForm::MaybeSession; 3]);
        assert_eq!([form("first\nsecond"), form("")], [NameForm::Message; 2]);
    }

    #[track_caller]
    fn check_near(text: &str, names: &[&str], expected: &[&str]) {
        assert_eq!(near(text, names.iter().copied(), 3), expected);
    }

    #[test]
    fn near_names_come_first() {
        check_near("fix-logn", &["other", "fix-logout", "fix-login"], &["fix-login", "fix-logout"]);
        check_near("FIX", &["prefix", "fix-login", "x"], &["prefix", "fix-login", "x"]);
        check_near("zebra", &["a", "b"], &[]);
        check_near("q", &["alpha", "beta"], &[]);
    }
}
