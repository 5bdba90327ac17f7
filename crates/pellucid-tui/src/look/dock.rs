//! The panel above the composer: how full the window is and what fills it, and the words of the last row.

use pellucid_protocol::price::Money;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use ratatui_core::text::Span;

use crate::app::status::short;
use crate::look::report::CacheOutlook;
use crate::look::report::LookGroup;
use crate::look::report::LookReport;
use crate::look::report::LookSize;
use crate::look::report::Whose;
use crate::text::palette::Palette;
use crate::text::width::columns;
use crate::text::width::shortened;
use crate::text::wrap::spans_columns;

/// How many columns the name of a group takes.
const NAME_COLUMNS: usize = 13;

/// A panel that is narrower than this has no bars beside its groups.
const BAR_COLUMNS_MIN: usize = 64;

/// A number with a comma between thousands.
pub fn number(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in per cent, with one digit below 10.
pub fn percent(part: usize, whole: usize) -> String {
    let thousandths = (part * 1000 + whole.max(1) / 2) / whole.max(1);
    if thousandths < 100 && part > 0 {
        format!("{}.{} %", thousandths / 10, thousandths % 10)
    } else {
        format!("{} %", (thousandths + 5) / 10)
    }
}

/// The colour of words.
pub fn whose_style(whose: Whose, palette: &Palette) -> Style {
    match whose {
        Whose::Yours => palette.added(),
        Whose::Pack | Whose::Tool => palette.accent(),
        Whose::Model => palette.mode(),
        Whose::Session => palette.dim(),
    }
}

/// Whether the provider may have it: `cached`, `new`, or how much of it is new.
pub fn freshness(size: &LookSize) -> String {
    match size.tokens_kept {
        0 => "new".to_owned(),
        kept if kept >= size.tokens => "cached".to_owned(),
        kept => format!("{} new", number(size.tokens - kept)),
    }
}

/// The sizes of a request on one line.
pub fn size_line(report: &LookReport) -> String {
    let about = if report.counted_by.is_some() { "" } else { "about " };
    let mut line = format!("{} bytes, {about}{} tokens", number(report.size.bytes), number(report.size.tokens));
    if let Some(window) = report.window.and_then(|window| usize::try_from(window).ok()).filter(|window| *window > 0) {
        line += &format!(", {} of {}", percent(report.size.tokens, window), number(window));
    }
    match &report.size.cost {
        Some(cost) => line += &format!(", {cost} without the answer"),
        None if report.outlook == CacheOutlook::Sent => {}
        None => line += ", price unknown",
    }
    line
}

/// What an average turn costs that begins with the request, and what the request would cost in a fresh session.
pub fn price_line(report: &LookReport) -> Option<String> {
    let sized = |tokens: usize, cost: &Option<Money>| match cost {
        Some(cost) => format!("about {} tokens, {cost}", number(tokens)),
        None => format!("about {} tokens", number(tokens)),
    };
    let turn = report.turn.as_ref().map(|turn| {
        let turns =
            if turn.n_turns == 1 { "the last turn".to_owned() } else { format!("{} turns", number(turn.n_turns)) };
        format!("whole turn: {}, as {turns} so far", sized(turn.tokens, &turn.cost))
    });
    let is_longer = report.fresh.tokens > 0 && report.fresh.tokens < report.size.tokens;
    let fresh = is_longer.then(|| format!("in a fresh session: {}", sized(report.fresh.tokens, &report.fresh.cost)));
    let words: Vec<String> = turn.into_iter().chain(fresh).collect();
    (!words.is_empty()).then(|| words.join(" · "))
}

/// The title of a panel.
pub fn title_line(report: &LookReport, title: &str, width: usize, palette: &Palette) -> Line<'static> {
    let pack = if report.pack.is_empty() { String::new() } else { format!("── pack {} ", report.pack) };
    let words = format!("── {title} ── {} {pack}", report.model);
    let words = shortened(&words, width);
    let rest = "─".repeat(width.saturating_sub(columns(&words)));
    Line::styled(format!("{words}{rest}"), palette.dim())
}

/// The bar of the window: what may be cached, what is new, what is free.
pub fn bar_line(report: &LookReport, width: usize, palette: &Palette) -> Line<'static> {
    let used = report.size.tokens.max(1);
    let window = report.window.and_then(|window| usize::try_from(window).ok()).unwrap_or(0);
    let whole = window.max(used);
    let n_cells = width.saturating_sub(2).max(1);
    let n_used = (used * n_cells).div_ceil(whole).min(n_cells);
    let kept = report.size.tokens_kept.min(used);
    let n_kept = (n_used * kept + used / 2) / used;
    // New tokens are visible beside cached ones.
    let n_kept = if kept < used && n_used > 1 { n_kept.min(n_used - 1) } else { n_kept };
    Line::from(vec![
        Span::raw(" "),
        Span::styled("█".repeat(n_kept), palette.accent()),
        Span::styled("▓".repeat(n_used - n_kept), palette.added()),
        Span::styled("░".repeat(n_cells - n_used), palette.dim()),
    ])
}

/// How the request continues the last one, on one line or more.
pub fn outlook_lines(report: &LookReport, width: usize, palette: &Palette) -> Vec<Line<'static>> {
    let size = &report.size;
    let new = size.tokens.saturating_sub(size.tokens_kept);
    let kept = format!("up to {} tokens cached, {} new", number(size.tokens_kept), number(new));
    let line = |text: String, style: Style| Line::from(Span::styled(shortened(&format!(" {text}"), width), style));
    match &report.outlook {
        CacheOutlook::Sent => Vec::new(),
        CacheOutlook::First => vec![line("the first request: nothing of it is cached".to_owned(), palette.dim())],
        CacheOutlook::Extends => vec![line(format!("extends the last request: {kept}"), palette.added())],
        CacheOutlook::Shortens => vec![line(format!("shortens the last request: {kept}"), palette.added())],
        CacheOutlook::Breaks(broken) => {
            let cost = broken.cost.as_ref().map_or_else(String::new, |cost| format!(", {cost} more"));
            let first = format!(
                "breaks the cache ({}): {} tokens paid again{cost}, from byte {} on",
                broken.cause,
                number(broken.tokens),
                number(broken.byte),
            );
            let changes = broken.changes.iter().take(3).map(|it| line(format!("  {it}"), palette.removed()));
            let more = broken.changes.len().saturating_sub(3);
            let more = (more > 0).then(|| line(format!("  and {} more", number(more)), palette.removed()));
            std::iter::once(line(first, palette.removed())).chain(changes).chain(more).collect()
        }
    }
}

/// The rows of the panel above the composer, at most so many.
pub fn dock(report: &LookReport, width: usize, rows_max: usize, keys: &str, palette: &Palette) -> Vec<Line<'static>> {
    let mut lines = vec![title_line(report, "next request", width, palette)];
    if let Some(purpose) = &report.purpose {
        lines.push(Line::from(Span::styled(
            format!(" {}", shortened(purpose, width.saturating_sub(1))),
            palette.bold(),
        )));
    }
    lines.push(Line::from(format!(" {}", shortened(&size_line(report), width.saturating_sub(1)))));
    if let Some(words) = price_line(report) {
        lines.push(Line::from(Span::styled(format!(" {}", shortened(&words, width.saturating_sub(1))), palette.dim())));
    }
    lines.push(bar_line(report, width, palette));
    let outlook = outlook_lines(report, width, palette);
    let last = Line::from(Span::styled(
        format!(" {}", shortened(&summary(report, keys), width.saturating_sub(1))),
        palette.dim(),
    ));
    let room = rows_max.saturating_sub(lines.len() + outlook.len() + 1);
    let largest = report.groups.iter().map(|group| group.size.tokens).max().unwrap_or(0);
    lines.extend(report.groups.iter().take(room).map(|group| group_line(group, report, largest, width, palette)));
    lines.extend(outlook);
    lines.push(last);
    lines.truncate(rows_max);
    lines
}

/// A group with a bar, its tokens, its share, its price and whether it is new.
fn group_line(
    group: &LookGroup,
    report: &LookReport,
    largest: usize,
    width: usize,
    palette: &Palette,
) -> Line<'static> {
    let mut spans = vec![Span::raw(format!(" {:<NAME_COLUMNS$}", shortened(&group.name, NAME_COLUMNS)))];
    if width >= BAR_COLUMNS_MIN {
        let cells = (width - BAR_COLUMNS_MIN) / 2 + 8;
        let n = if largest == 0 { 0 } else { (group.size.tokens * cells).div_ceil(largest) };
        let whose = group.rows.iter().max_by_key(|row| row.size.bytes).map_or(Whose::Session, |row| row.whose);
        spans.push(Span::styled("█".repeat(n), whose_style(whose, palette)));
        spans.push(Span::raw(" ".repeat(cells.saturating_sub(n))));
    }
    let share = percent(group.size.tokens, report.size.tokens);
    spans.push(Span::raw(format!(" {:>9} {share:>6}", number(group.size.tokens))));
    let is_cached = group.size.tokens_kept >= group.size.tokens;
    let style = if is_cached { palette.dim() } else { palette.added() };
    let cost = group.size.cost.as_ref().map(|cost| Span::raw(format!(" {:>9}", cost.to_string())));
    let fresh = Span::styled(format!("  {}", freshness(&group.size)), style);
    // A number that is cut is another number: a column that does not fit is left out.
    for span in cost.into_iter().chain([fresh]) {
        if spans_columns(&spans) + columns(&span.content) <= width {
            spans.push(span);
        }
    }
    Line::from(spans)
}

/// What is not seen, and which key shows more.
fn summary(report: &LookReport, keys: &str) -> String {
    let mut words = Vec::new();
    let n_lost = report.left_out.iter().filter(|it| it.is_loss).count();
    match (n_lost, report.left_out.len()) {
        (0, 0) => {}
        (0, n) => words.push(format!("{} left out on purpose", number(n))),
        (lost, _) => words.push(format!("{} not seen by the model", number(lost))),
    }
    words.extend(report.notes.first().cloned());
    words.push(keys.to_owned());
    words.join(" · ")
}

/// The words of the last row about the next request.
pub fn meter(report: &LookReport) -> String {
    let word = match report.outlook {
        CacheOutlook::First => "new",
        CacheOutlook::Extends => "extends",
        CacheOutlook::Shortens => "shortens",
        CacheOutlook::Breaks(_) => "breaks",
        CacheOutlook::Sent => "sent",
    };
    let cost = report.size.cost.as_ref().map_or_else(String::new, |cost| format!(" {cost}"));
    format!("next: {} tokens{cost}, {word}", short(i64::try_from(report.size.tokens).unwrap_or(i64::MAX)))
}
