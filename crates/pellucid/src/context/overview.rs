//! The first screen of `context`: how full the window is and what fills it, on at most 24 lines.
//!
//! `-v` opens the groups and lists what the table of `-vv` has below its rows. The groups are made by
//! `pellucid_answers::overview`.

use std::path::Path;
use std::path::PathBuf;

use pellucid_answers::cost::UsedPrice;
use pellucid_answers::overview::ContextOverview;
use pellucid_answers::overview::OverviewGroup;
use pellucid_answers::overview::OverviewKind;
use pellucid_answers::overview::OverviewOrigin;
use pellucid_answers::overview::OverviewSource;
use pellucid_engine::fragment::Omission;
use pellucid_engine::fragment::Origin;
use pellucid_engine::fragment::Why;
use pellucid_engine::prices::PriceEntry;
use pellucid_engine::report::Report;
use pellucid_engine::report::why_text;
use pellucid_protocol::usage::UsageSplit;

use crate::context::head::Head;
use crate::context::head::continuity_line;
use crate::context::head::request_line;
use crate::fit;
use crate::screen;
use crate::style::Paint;
use crate::style::counted;
use crate::style::number;

/// How many lines the first screen has at most.
const LINES_MAX: usize = 24;

/// How many cells the name of a group takes.
const NAME_CELLS: usize = 13;

/// A terminal that leaves fewer cells than this for sources gets no column of them, and a narrow one no prices.
const SOURCE_CELLS_MIN: usize = 14;
const PRICE_COLUMNS_MIN: usize = 60;

/// How a report is drawn.
#[derive(Debug)]
pub struct Drawing {
    /// How many cells a line has.
    pub columns: usize,
    pub paint: Paint,
    /// The folder that paths are relative to.
    pub folder: PathBuf,
    /// The user's home folder.
    pub user: Option<PathBuf>,
    /// Whether groups are opened.
    pub is_open: bool,
}

/// How full the window is, and what its tokens cost.
#[derive(Debug, Default)]
pub struct WindowFacts {
    /// How many tokens the model's window has, if that is known.
    pub size: Option<i64>,
    /// The tokens that the provider read from its cache, or may read.
    pub cached: CachedPart,
    pub price: Option<PriceEntry>,
}

/// What the provider reads from its cache.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum CachedPart {
    /// Nothing was sent before, so nothing is cached.
    #[default]
    Nothing,
    /// At most so many tokens, as the request before has them too.
    UpTo(usize),
    /// So many tokens, as the provider reported.
    Reported(usize),
}

impl CachedPart {
    fn tokens(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::UpTo(tokens) | Self::Reported(tokens) => tokens,
        }
    }
}

impl Drawing {
    fn path(&self, path: &str) -> String {
        fit::relative(path, &self.folder, self.user.as_deref())
    }

    fn line(&self, text: &str) -> String {
        if self.is_open { text.to_owned() } else { fit::end(text, self.columns) }
    }

    fn in_colour(&self, origin: OverviewOrigin, text: &str) -> String {
        match origin {
            OverviewOrigin::Yours => self.paint.green(text),
            OverviewOrigin::Pack => self.paint.cyan(text),
            OverviewOrigin::Model => self.paint.magenta(text),
            OverviewOrigin::Tool => self.paint.blue(text),
            OverviewOrigin::Session => self.paint.dim(text),
        }
    }
}

/// The first screen of a report, and with `-v` the opened groups.
pub fn text(head: &Head, report: &Report, window: &WindowFacts, plan: Option<&str>, drawing: &Drawing) -> String {
    let overview = ContextOverview::of(report);
    let mut above = vec![request_line(head, report)];
    above.splice(0..0, head.first.clone());
    let mut below = window_lines(&overview, window, drawing);
    let line = |text: &str| drawing.line(text);
    if let Some(continuity) = &report.continuity {
        let text = continuity_line(continuity);
        below.extend(text.lines().take(if drawing.is_open { usize::MAX } else { 1 }).map(line));
    }
    if !head.usage.is_empty() {
        below.push(line(&format!("spent: {}", crate::context::head::usage_text(&head.usage))));
    }
    if let Some(sandbox) = &head.sandbox {
        below.push(line(&format!("sandbox: {}: {}", sandbox.mode, sandbox.why)));
    }
    if drawing.is_open {
        below.extend(head.notes.iter().map(|note| format!("note: {note}")));
    } else if !head.notes.is_empty() {
        below.push(line(&format!("note: {}", head.notes.join("; "))));
    }
    below.extend(plan.map(line));
    below.push(String::new());
    let price = window.price.as_ref().filter(|_| drawing.columns >= PRICE_COLUMNS_MIN);
    below.extend(group_lines(&overview, price, drawing));
    if let Some(PriceEntry { from, source, .. }) = price.cloned() {
        let used = UsedPrice { model: head.model.clone(), from: Some(from), source };
        below.push(line(&UsedPrice::line(&[used])));
    }
    let warnings = warnings(report, drawing);
    let left_for_warnings = LINES_MAX.saturating_sub(above.len() + below.len() + 2);
    below.push(origin_line(&overview, drawing));
    below.push(hint(report, drawing));
    let warnings = shown_warnings(&warnings, left_for_warnings, drawing);
    let lines = above.iter().map(|it| line(it)).chain(warnings).chain(below);
    let mut text: String = lines.map(|it| format!("{it}\n")).collect();
    if drawing.is_open {
        text += &crate::context::below::below_rows(report, drawing.paint);
    }
    text
}

/// Warnings in yellow, and how many more there are.
fn shown_warnings(warnings: &[String], max: usize, drawing: &Drawing) -> Vec<String> {
    let fitting = if drawing.is_open || warnings.len() <= max { warnings.len() } else { max.saturating_sub(1) };
    let mut lines: Vec<String> = warnings[..fitting].iter().map(|it| drawing.paint.yellow(&drawing.line(it))).collect();
    if let n @ 1.. = warnings.len() - fitting {
        lines.push(drawing.paint.yellow(&format!("and {}; -v lists them", counted(n, "more warning"))));
    }
    lines
}

/// What the model does not get as its author wrote it, or gets otherwise than before.
fn warnings(report: &Report, drawing: &Drawing) -> Vec<String> {
    let mut warnings = Vec::new();
    for omission in report.omissions.iter().filter(|it| is_warning(it)) {
        let word =
            if matches!(omission.why, Why::Cut { .. } | Why::NotUtf8(_)) { "" } else { "not seen by the model, " };
        let (what, why) = (drawing.path(&omission.what), why_text(&omission.why));
        warnings.push(format!("{what}: {word}{why}"));
    }
    let is_named = |path: &str| report.omissions.iter().any(|it| it.what == path);
    for row in &report.rows {
        if let Origin::File { path, range, size } = &row.origin
            && range.end < *size
            && !is_named(path)
        {
            warnings.push(format!("{}: cut after {} of {size} bytes", drawing.path(path), range.end));
        }
    }
    for file in report.files.iter().filter(|file| !file.hidden.is_empty()) {
        let (path, first) = (drawing.path(&file.path), &file.hidden[0]);
        let more = match file.hidden.len() - 1 {
            0 => String::new(),
            n => format!(", and {}", counted(n, "more place")),
        };
        warnings.push(format!("{path}:{first}{more}: seen by the model and not by you"));
    }
    for file in &report.changed_files {
        warnings.push(drawing.path(&file.to_string()));
    }
    warnings
}

/// Whether something is missing that its author would expect the model to see.
fn is_warning(omission: &Omission) -> bool {
    omission.why.is_loss() || matches!(omission.why, Why::Untrusted)
}

/// The bar of the window, and what its signs mean.
fn window_lines(overview: &ContextOverview, window: &WindowFacts, drawing: &Drawing) -> Vec<String> {
    let used = overview.tokens;
    let cached = window.cached.tokens().min(used);
    let size = window.size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0);
    let cells = drawing.columns.saturating_sub(10);
    let whole = size.unwrap_or(used).max(used).max(1);
    let n_used = (used * cells).div_ceil(whole).min(cells);
    let n_cached = (n_used * cached + used / 2) / used.max(1);
    // New tokens are visible beside cached ones.
    let n_cached = if cached < used && n_used > 1 { n_cached.min(n_used - 1) } else { n_cached };
    let bar = format!("{}{}", "█".repeat(n_cached), "▓".repeat(n_used - n_cached));
    let free = drawing.paint.dim(&"░".repeat(cells - n_used));
    let share = size.map_or_else(String::new, |size| format!(" {:>8}", fit::percent(used, size)));
    let up_to = if matches!(window.cached, CachedPart::UpTo(_)) { "up to " } else { "" };
    let mut words = format!("used {}: █ cached {up_to}{}", number(used), number(cached));
    words += &format!(", ▓ new {}", number(used - cached));
    words += &match size {
        Some(size) if used > size => format!("; {} tokens do not fit in {}", number(used - size), number(size)),
        Some(size) => format!("; ░ free {} of {} tokens", number(size - used), number(size)),
        None => "; the size of the model's window is not known".to_owned(),
    };
    vec![format!("{bar}{free}{share}"), fit::end(&words, drawing.columns)]
}

/// The groups, the largest first and notation last, each with its bar.
fn group_lines(overview: &ContextOverview, price: Option<&PriceEntry>, drawing: &Drawing) -> Vec<String> {
    let mut groups: Vec<&OverviewGroup> = overview.groups.iter().collect();
    groups.sort_by_key(|group| (group.kind == OverviewKind::Notation, std::cmp::Reverse(group.tokens)));
    let largest = groups.iter().map(|group| group.tokens).max().unwrap_or(0);
    let cells = (drawing.columns.saturating_sub(48) / 2).clamp(6, 40);
    let cost = |tokens: usize| match price {
        Some(price) => format!(" {:>8}", cost_text(price, tokens)),
        None => String::new(),
    };
    let heading = if price.is_some() { "    price" } else { "" };
    let for_source = drawing.columns.saturating_sub(NAME_CELLS + cells + 20 + heading.len());
    let has_source = !drawing.is_open && for_source >= SOURCE_CELLS_MIN;
    let largest_heading = if has_source { "  largest source" } else { "" };
    let headings =
        format!("{:NAME_CELLS$} {:cells$} {:>7} {:>8}{heading}{largest_heading}", "group", "", "share", "tokens");
    let mut lines = vec![drawing.paint.bold(&headings)];
    for group in groups {
        let mut line =
            format!("{} {}", fit::padded(group.kind.name(), NAME_CELLS), bar(group, largest, cells, drawing));
        let share = fit::percent(group.tokens, overview.tokens);
        line += &format!(" {share:>7} {:>8}{}", number(group.tokens), cost(group.tokens));
        if has_source {
            line += &format!("  {}", largest_source(group, for_source, drawing));
        }
        lines.push(line.trim_end().to_owned());
        if drawing.is_open {
            lines.extend(source_lines(group, overview.tokens, cells, &cost, drawing));
        }
    }
    lines
}

/// What the tokens cost if the provider reads none of them from its cache.
fn cost_text(price: &PriceEntry, tokens: usize) -> String {
    let uncached = i64::try_from(tokens).unwrap_or(i64::MAX);
    price.cost(&UsageSplit { uncached, ..UsageSplit::default() }).to_string()
}

/// The bar of a group: a cell for each share of the largest group, in the colours of the origins.
fn bar(group: &OverviewGroup, largest: usize, cells: usize, drawing: &Drawing) -> String {
    let blocks: Vec<char> = fit::bar(group.tokens, largest, cells).chars().collect();
    let mut text = String::new();
    let (mut done, mut before) = (0, 0);
    for (n, (origin, tokens)) in group.origins.iter().enumerate() {
        before += tokens;
        let is_last = n + 1 == group.origins.len();
        let end = if is_last { blocks.len() } else { blocks.len() * before / group.tokens.max(1) };
        if end > done {
            let piece: String = blocks[done..end].iter().collect();
            text += &drawing.in_colour(*origin, &piece);
            done = end;
        }
    }
    text + &" ".repeat(cells - blocks.len())
}

/// The name of the largest source of a group, with its origin and its tokens if others are in the group too.
fn largest_source(group: &OverviewGroup, cells: usize, drawing: &Drawing) -> String {
    let Some(source) = group.sources.first() else { return String::new() };
    if group.kind == OverviewKind::Notation {
        return drawing.paint.dim(&fit::end("braces, separators, tags", cells));
    }
    let more = if group.sources.len() > 1 { format!(" {}", number(source.tokens)) } else { String::new() };
    let name = source_name(source, cells.saturating_sub(more.len()), drawing);
    format!("{name}{}", drawing.paint.dim(&more))
}

/// The name of a source in the colour of its origin, with a link if it is a file.
fn source_name(source: &OverviewSource, cells: usize, drawing: &Drawing) -> String {
    let name = if source.is_file { drawing.path(&source.name) } else { source.name.to_string() };
    let name = drawing.in_colour(source.origin, &fit::middle(&name, cells));
    if source.is_file { screen::linked(Path::new(&*source.name), &name) } else { name }
}

/// The sources of an opened group, as branches of a tree.
fn source_lines(
    group: &OverviewGroup,
    whole: usize,
    cells: usize,
    cost: &dyn Fn(usize) -> String,
    drawing: &Drawing,
) -> Vec<String> {
    let name_cells = NAME_CELLS + 1 + cells - 3;
    let n = group.sources.len();
    let line = |(at, source): (usize, &OverviewSource)| {
        let branch = drawing.paint.dim(if at + 1 == n { "└─ " } else { "├─ " });
        let shown = if source.is_file { drawing.path(&source.name) } else { source.name.to_string() };
        let pad = name_cells.saturating_sub(fit::width(&fit::middle(&shown, name_cells)));
        let name = source_name(source, name_cells, drawing) + &" ".repeat(pad);
        let share = fit::percent(source.tokens, whole);
        let origin = drawing.in_colour(source.origin, source.origin.name());
        format!("{branch}{name} {share:>7} {:>8}{}  {origin}", number(source.tokens), cost(source.tokens))
    };
    group.sources.iter().enumerate().map(line).collect()
}

/// Whose words the tokens are: the legend of the colours, with figures.
fn origin_line(overview: &ContextOverview, drawing: &Drawing) -> String {
    let origins = overview.origins();
    let tokens_of = |wanted| origins.iter().find(|(origin, _)| *origin == wanted).map_or(0, |(_, tokens)| *tokens);
    let plain = OverviewOrigin::ALL.map(|origin| format!("{} {}", origin.name(), number(tokens_of(origin))));
    let plain = format!("tokens by origin: {}", plain.join(", "));
    if fit::width(&plain) > drawing.columns {
        return fit::end(&plain, drawing.columns);
    }
    let named = OverviewOrigin::ALL
        .map(|origin| drawing.in_colour(origin, &format!("{} {}", origin.name(), number(tokens_of(origin)))));
    format!("tokens by origin: {}", named.join(", "))
}

/// What to type to see more.
fn hint(report: &Report, drawing: &Drawing) -> String {
    if drawing.is_open {
        return drawing.paint.dim("-vv lists every part of the request in the order of its bytes");
    }
    let n_left_out = report.omissions.iter().filter(|it| !is_warning(it)).count();
    let left_out = match n_left_out {
        0 => String::new(),
        n => format!(" and {} left out on purpose", counted(n, "source")),
    };
    drawing.paint.dim(&fit::end(&format!("-v opens the groups{left_out}; -vv lists every part"), drawing.columns))
}
