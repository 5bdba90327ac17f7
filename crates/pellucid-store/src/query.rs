//! A query for a list of sessions: filters, order, pages.
//!
//! The rules are here in Rust and in the index in SQL; a test compares the two.

use std::path::PathBuf;

use serde::Serialize;

use crate::summary::SessionSummary;

/// The conditions, order and size of a page of sessions.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Whether archived sessions are listed instead of the others.
    pub archived: bool,
    /// Only sessions of these clients; all if the list is empty.
    pub sources: Vec<String>,
    /// Only sessions of these providers; all if the list is empty.
    pub providers: Vec<String>,
    /// The provider of sessions that name none.
    pub default_provider: Option<String>,
    /// Only sessions that worked in this folder.
    pub cwd: Option<PathBuf>,
    /// Only those whose first message or name has this text, in any case.
    pub search: Option<String>,
    /// The sort key; the newest sessions come first.
    pub sort: Sort,
    /// Only sessions after this one.
    pub cursor: Option<Cursor>,
    /// How many at most.
    pub limit: usize,
}

/// By what sessions are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// By the time of creation.
    #[default]
    Created,
    /// By the time of the last line.
    Updated,
}

/// The last session of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The time of that session, in seconds of Unix time.
    pub seconds: i64,
    /// The id of that session.
    pub id: String,
}

/// This is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid cursor")]
pub struct BadCursor;

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = jiff::Timestamp::from_second(self.seconds).unwrap_or_default();
        write!(f, "{}|{}", time.strftime("%Y-%m-%dT%H:%M:%SZ"), self.id)
    }
}

impl std::str::FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let (time, id) = text.split_once('|').ok_or(BadCursor)?;
        let stamp = || {
            let stamp = jiff::civil::DateTime::strptime("%Y-%m-%dT%H-%M-%S", time).ok()?;
            Some(stamp.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
        };
        let seconds = time.parse::<jiff::Timestamp>().ok().or_else(stamp).ok_or(BadCursor)?.as_second();
        let id = uuid::Uuid::parse_str(id).map_err(|_| BadCursor)?.to_string();
        Ok(Self { seconds, id })
    }
}

impl Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page {
    /// The sessions of the page, in order.
    pub sessions: Vec<SessionSummary>,
    /// The cursor of the next page; absent on the last page.
    pub next: Option<Cursor>,
}

impl Sort {
    /// The time that a session is ordered by, in seconds of Unix time.
    pub fn key(self, summary: &SessionSummary) -> i64 {
        match self {
            Self::Created => summary.created_at,
            Self::Updated => summary.updated_at,
        }
    }
}

impl Query {
    /// Whether a session is asked for, wherever in the list it is.
    pub fn takes(&self, summary: &SessionSummary) -> bool {
        let provider = summary.model_provider.as_deref().or(self.default_provider.as_deref());
        summary.is_listed
            && !summary.first_message.is_empty()
            && summary.is_archived == self.archived
            && (self.sources.is_empty() || self.sources.contains(&summary.source))
            && (self.providers.is_empty() || self.providers.iter().any(|it| Some(it.as_str()) == provider))
            && self.cwd.as_ref().is_none_or(|cwd| folder_key(&summary.cwd) == folder_key(&cwd.to_string_lossy()))
            && self.takes_text(summary)
    }

    /// Whether the texts of a session have what is looked for.
    pub(crate) fn takes_text(&self, summary: &SessionSummary) -> bool {
        let Some(wanted) = self.search.as_ref().map(|search| search.to_lowercase()) else {
            return true;
        };
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        has(&summary.first_message) || summary.name.as_deref().is_some_and(has)
    }

    /// The page of these sessions.
    pub fn page(&self, sessions: impl IntoIterator<Item = SessionSummary>) -> Page {
        let place = |summary: &SessionSummary| (self.sort.key(summary), summary.id.clone());
        let is_behind = |summary: &SessionSummary| {
            self.cursor.as_ref().is_none_or(|cursor| place(summary) < (cursor.seconds, cursor.id.clone()))
        };
        let mut sessions: Vec<SessionSummary> =
            sessions.into_iter().filter(|summary| self.takes(summary) && is_behind(summary)).collect();
        sessions.sort_by_cached_key(|summary| std::cmp::Reverse(place(summary)));
        self.cut(sessions)
    }

    /// Ends a page; one session more than the limit shows that there is another.
    pub(crate) fn cut(&self, mut sessions: Vec<SessionSummary>) -> Page {
        let has_more = sessions.len() > self.limit;
        sessions.truncate(self.limit);
        let last = sessions.last().filter(|_| has_more);
        let next = last.map(|last| Cursor { seconds: self.sort.key(last), id: last.id.clone() });
        Page { sessions, next }
    }
}

/// A key that is equal for two paths of one folder: the real path, or the text if the folder does not exist.
pub(crate) fn folder_key(path: &str) -> String {
    std::fs::canonicalize(path).map_or_else(|_| path.to_owned(), |real| real.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_read_in_both_forms() {
        let id = "019a0000-0000-7000-8000-000000000001";
        let cursor: Cursor = format!("2026-11-15T07:25:54Z|{id}").parse().unwrap();
        assert_eq!(cursor.to_string(), format!("2026-11-15T07:25:54Z|{id}"));
        assert_eq!(format!("2026-11-15T07-25-54|{id}").parse(), Ok(cursor));
        for bad in ["", "2026-11-15T07:25:54Z", "yesterday|x", "2026-11-15T07:25:54Z|x"] {
            assert_eq!(bad.parse::<Cursor>(), Err(BadCursor), "{bad}");
        }
    }

    /// A session of which no file says anything, but for what lists are filtered and ordered by.
    fn summary(n: i64) -> SessionSummary {
        let id = format!("019a0000-0000-7000-8000-{n:012}");
        let relative = format!("sessions/1970/01/01/rollout-1970-01-01T00-00-00-{id}.jsonl");
        let found = crate::walk::FoundSession {
            relative,
            place: crate::walk::SessionPlace::Live,
            modified: (100 - n) * 1_000_000_000,
            size: 0,
        };
        let mut summary = crate::summary::summarise(std::path::Path::new("/nowhere"), &found);
        summary.created_at = n;
        summary.cwd = "/gone/a".to_owned();
        summary.first_message = format!("Message {n}");
        summary.source = "cli".to_owned();
        summary.model_provider = Some("openai".to_owned());
        summary.is_listed = true;
        summary
    }

    fn with(mut summary: SessionSummary, change: impl FnOnce(&mut SessionSummary)) -> SessionSummary {
        change(&mut summary);
        summary
    }

    fn all() -> Query {
        Query { limit: 10, ..Query::default() }
    }

    #[test]
    fn each_filter_takes_what_it_says_and_nothing_else() {
        let plain = summary(1);
        assert!(all().takes(&plain));
        let hidden = [
            with(plain.clone(), |it| it.is_listed = false),
            with(plain.clone(), |it| it.first_message = String::new()),
            with(plain.clone(), |it| it.is_archived = true),
        ];
        assert!(hidden.iter().all(|it| !all().takes(it)));
        assert!(Query { archived: true, ..all() }.takes(&hidden[2]));
        let words = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let sources = |list: &[&str]| Query { sources: words(list), ..all() };
        assert_eq!(
            [&["cli"][..], &["exec", "cli"], &["exec"], &["CLI"]].map(|it| sources(it).takes(&plain)),
            [true, true, false, false]
        );
        let folder = |path: &str| Query { cwd: Some(path.into()), ..all() };
        assert_eq!(
            ["/gone/a", "/gone", "/gone/a/b", ""].map(|it| folder(it).takes(&plain)),
            [true, false, false, false]
        );
    }

    #[test]
    fn a_session_without_a_provider_has_the_default_one() {
        let named = summary(1);
        let unnamed = with(summary(2), |it| it.model_provider = None);
        let query = |default: Option<&str>| Query {
            providers: vec!["openai".to_owned()],
            default_provider: default.map(str::to_owned),
            ..all()
        };
        let taken = |default| (query(default).takes(&named), query(default).takes(&unnamed));
        assert_eq!(taken(None), (true, false));
        assert_eq!(taken(Some("openai")), (true, true));
        assert_eq!(taken(Some("other")), (true, false));
    }

    #[test]
    fn a_search_looks_at_the_first_message_and_the_name_in_any_case() {
        let session = with(summary(1), |it| {
            it.name = Some("Straße".to_owned());
            it.first_message = "ÉCOLE % _".to_owned();
        });
        let finds = |text: &str| Query { search: Some(text.to_owned()), ..all() }.takes(&session);
        assert_eq!(["école", "É", "STRA", "straße", "%", "_", ""].map(finds), [true; 7]);
        assert_eq!(["ecole", "STRASSE", "colex", "*"].map(finds), [false; 4]);
    }

    #[test]
    fn pages_of_any_size_are_the_whole_list_in_order() {
        // Two sessions of each second, so that a page can end between them.
        let sessions: Vec<SessionSummary> = (0..9).map(|n| with(summary(n), |it| it.created_at = n / 2)).collect();
        for sort in [Sort::Created, Sort::Updated] {
            let whole = Query { sort, limit: 100, ..all() }.page(sessions.clone());
            assert_eq!((whole.sessions.len(), whole.next), (9, None));
            assert!(whole.sessions.is_sorted_by_key(|it| std::cmp::Reverse((sort.key(it), it.id.clone()))));
            for limit in 1..=10 {
                let mut query = Query { sort, limit, ..all() };
                let mut ids = Vec::new();
                loop {
                    let page = query.page(sessions.clone());
                    assert!(page.sessions.len() <= limit && !page.sessions.is_empty());
                    ids.extend(page.sessions.into_iter().map(|it| it.id));
                    let Some(next) = page.next else { break };
                    query.cursor = Some(next.to_string().parse().unwrap());
                }
                assert_eq!(ids, whole.sessions.iter().map(|it| it.id.clone()).collect::<Vec<_>>(), "{sort:?} {limit}");
            }
        }
        assert_eq!(Query { limit: 0, ..all() }.page(sessions), Page { sessions: Vec::new(), next: None });
    }

    #[test]
    fn a_cursor_is_given_to_programs_as_one_text() {
        let page = Query { limit: 1, ..all() }.page([summary(1), summary(2)]);
        let json = serde_json::to_value(&page).unwrap();
        assert_eq!(json["next"], "1970-01-01T00:00:02Z|019a0000-0000-7000-8000-000000000002");
        assert_eq!(json["sessions"][0]["id"], "019a0000-0000-7000-8000-000000000002");
        assert_eq!(serde_json::to_value(Query::default().page([])).unwrap()["next"], serde_json::Value::Null);
    }
}
