//! The table of `sessions list`: the title first, the time of the last use as a person says it, a short id.

use std::path::Path;

use pellucid_store::query::Page;
use pellucid_store::summary::SessionSummary;

use crate::fit;
use crate::stored::short_id;
use crate::style;
use crate::style::Paint;
use crate::style::counted;

/// The longest folder that is shown beside a title.
const FOLDER_CELLS_MAX: usize = 30;

/// The headings behind the title.
const HEADINGS: [&str; 3] = ["USED", "TOKENS", "ID"];

/// How a list is drawn.
#[derive(Debug)]
pub struct ListDrawing<'a> {
    /// How many cells a line has.
    pub columns: usize,
    pub paint: Paint,
    /// The present time, in seconds of Unix time.
    pub now: i64,
    /// The folder that others are relative to; absent for a list of one folder, which has no column for it.
    pub folder: Option<&'a Path>,
    /// The ids of all stored sessions, which short ids distinguish.
    pub ids: &'a [String],
}

/// The table, and how to see the next page.
pub fn text(page: &Page, drawing: &ListDrawing<'_>) -> String {
    if page.sessions.is_empty() {
        return "no sessions\n".to_owned();
    }
    let cells_of = |it: &SessionSummary| {
        let tokens = style::thousands(it.usage.blended_total());
        [ago(drawing.now, it.updated_at), tokens, short_id(&it.id, drawing.ids).to_owned()]
    };
    let rows: Vec<[String; 3]> = page.sessions.iter().map(cells_of).collect();
    let width = |n: usize| rows.iter().map(|row| fit::width(&row[n])).chain([HEADINGS[n].len()]).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let user = fit::user_folder();
    let folder_of = |it: &SessionSummary| match drawing.folder {
        Some(folder) => {
            fit::middle(&fit::relative(&it.cwd, folder, user.as_deref()), FOLDER_CELLS_MAX.min(drawing.columns / 4))
        }
        None => String::new(),
    };
    let folders: Vec<String> = page.sessions.iter().map(folder_of).collect();
    let folder_cells = folders.iter().map(|it| fit::width(it)).max().unwrap_or(0);
    let folder_cells = if drawing.folder.is_some() { folder_cells.max("FOLDER".len()) } else { 0 };
    let behind =
        widths.iter().map(|cells| cells + 2).sum::<usize>() + if folder_cells > 0 { folder_cells + 2 } else { 0 };
    let title_cells = drawing.columns.saturating_sub(behind).max(12);
    let titles: Vec<String> = page.sessions.iter().map(|it| fit::end(&title(it), title_cells)).collect();
    let title_cells = titles.iter().map(|it| fit::width(it)).max().unwrap_or(0).max("SESSION".len());
    let line = |title: &str, [used, tokens, id]: [&str; 3], folder: &str| {
        let folder = if folder_cells > 0 { format!("  {}", fit::padded(folder, folder_cells)) } else { String::new() };
        let title = fit::padded(title, title_cells);
        let (used, tokens) = (fit::padded(used, widths[0]), format!("{tokens:>0$}", widths[1]));
        format!("{title}  {used}  {tokens}{folder}  {id}\n")
    };
    let mut text = drawing.paint.dim(line("SESSION", HEADINGS, "FOLDER").trim_end()) + "\n";
    for ((title, row), folder) in titles.iter().zip(&rows).zip(&folders) {
        text += &line(title, [&row[0], &row[1], &row[2]], folder);
    }
    if let Some(next) = &page.next {
        let all = if drawing.folder.is_some() { "--all " } else { "" };
        text += &format!("more: pellucid sessions list {all}--cursor '{next}'\n");
    }
    text
}

/// A session's title: its name, or its first message.
fn title(summary: &SessionSummary) -> String {
    match &summary.name {
        Some(name) => name.clone(),
        None => summary.first_message.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// How long ago a time was: `just now`, `5 min ago`, `2 h ago`, `3 days ago`, then the date.
fn ago(now: i64, then: i64) -> String {
    let seconds = now - then;
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..2_592_000 => format!("{} ago", counted(usize::try_from(seconds / 86_400).unwrap_or(0), "day")),
        _ => {
            let time = jiff::Timestamp::from_second(then).unwrap_or_default();
            time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d").to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use pellucid_protocol::usage::TokenUsage;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn session(id: &str, name: Option<&str>, message: &str, ago: i64, cwd: &str) -> SessionSummary {
        let usage = TokenUsage { input_tokens: 123 * ago, ..TokenUsage::default() };
        let (name, cwd) = (name.map(str::to_owned), cwd.to_owned());
        let (updated_at, first_message) = (NOW - ago, message.to_owned());
        SessionSummary { id: id.to_owned(), name, cwd, updated_at, first_message, usage, ..SessionSummary::default() }
    }

    #[track_caller]
    fn check_list(columns: usize, folder: Option<&str>, expected: &Expect) {
        let sessions = vec![
            session("019a0000-aaaa-7000-8000-000000000001", Some("fix-login"), "x", 5, "/p/app"),
            session(
                "019a0000-aaab-7000-8000-000000000001",
                None,
                "explain this\nrepository, and every module of it",
                300,
                "/p",
            ),
            session(
                "019b0000-0000-7000-8000-000000000001",
                None,
                "日本語の長い長い長い長い長い長い題名",
                7_300,
                "/p/app/crates/inner/deep/folder",
            ),
            session("019c0000-0000-7000-8000-000000000001", None, "one", 86_400, "/elsewhere"),
        ];
        let ids: Vec<String> = sessions.iter().map(|it| it.id.clone()).collect();
        let page = Page { sessions, next: None };
        let drawing =
            ListDrawing { columns, paint: Paint::plain(), now: NOW, folder: folder.map(Path::new), ids: &ids };
        let text = text(&page, &drawing);
        assert!(text.lines().all(|line| fit::width(line) <= columns), "{text}");
        expected.assert_eq(&text);
    }

    #[test]
    fn a_list_fits_the_terminal() {
        check_list(
            80,
            None,
            &expect![[r#"
            SESSION                                     USED           TOKENS  ID
            fix-login                                   just now          615  019a0000-aaaa
            explain this repository, and every module…  5 min ago      36,900  019a0000-aaab
            日本語の長い長い長い長い長い長い題名        2 h ago       897,900  019b0000
            one                                         1 day ago  10,627,200  019c0000
        "#]],
        );
        check_list(
            70,
            Some("/p/app"),
            &expect![[r#"
            SESSION          USED           TOKENS  FOLDER           ID
            fix-login        just now          615  .                019a0000-aaaa
            explain this…    5 min ago      36,900  ..               019a0000-aaab
            日本語の長い長…  2 h ago       897,900  crates/…/folder  019b0000
            one              1 day ago  10,627,200  /elsewhere       019c0000
        "#]],
        );
    }
}
