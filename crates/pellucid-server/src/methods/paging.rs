//! Pages of lists: a cursor is the index of the first entry of a page.

use crate::rpc::RpcError;

/// The entries of a page, and the cursor of the next one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page<T> {
    pub entries: Vec<T>,
    pub next_cursor: Option<String>,
}

/// Cuts a page out of a list; without a limit it extends to the end. `what` names the entries in the error.
pub(crate) fn page<T>(
    entries: Vec<T>,
    cursor: Option<&str>,
    limit: Option<u32>,
    what: &str,
) -> Result<Page<T>, RpcError> {
    let n_entries = entries.len();
    let start = match cursor {
        Some(cursor) => cursor.parse().map_err(|_| RpcError::invalid(format!("invalid cursor: {cursor}")))?,
        None => 0,
    };
    if start > n_entries {
        return Err(RpcError::invalid(format!("cursor {start} exceeds total {what} {n_entries}")));
    }
    // An empty page would make a client ask for the same cursor for ever.
    let n_wanted = limit.map_or(n_entries, |limit| limit.max(1) as usize);
    let end = start.saturating_add(n_wanted).min(n_entries);
    let next_cursor = (end < n_entries).then(|| end.to_string());
    Ok(Page { entries: entries.into_iter().skip(start).take(end - start).collect(), next_cursor })
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;

    use super::*;

    #[track_caller]
    fn check_page(cursor: Option<&str>, limit: Option<u32>, expected: &Expect) {
        let found = match page(vec!['a', 'b', 'c'], cursor, limit, "letters") {
            Ok(page) => format!("{:?} then {:?}", page.entries, page.next_cursor),
            Err(error) => error.message,
        };
        expected.assert_eq(&found);
    }

    #[test]
    fn pieces_follow_each_other() {
        check_page(None, None, &expect!["['a', 'b', 'c'] then None"]);
        check_page(None, Some(2), &expect![[r#"['a', 'b'] then Some("2")"#]]);
        check_page(Some("2"), Some(2), &expect!["['c'] then None"]);
        check_page(Some("3"), None, &expect!["[] then None"]);
        check_page(None, Some(0), &expect![[r#"['a'] then Some("1")"#]]);
    }

    #[test]
    fn a_cursor_is_one_that_we_gave() {
        check_page(Some("x"), None, &expect!["invalid cursor: x"]);
        check_page(Some("-1"), None, &expect!["invalid cursor: -1"]);
        check_page(Some("4"), None, &expect!["cursor 4 exceeds total letters 3"]);
    }
}
