//! `context`: what a request is made of, as a table or as JSON.

use std::io::Write;
use std::process::ExitCode;

use pellucid_agent::session::Session;
use pellucid_engine::continuity::Continuity;
use pellucid_engine::facts::Fate;
use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;
use pellucid_engine::report::fate_text;
use pellucid_engine::report::why_text;

use crate::args::ContextArgs;
use crate::args::Shared;
use crate::prompt;
use crate::start::Failure;
use crate::style::Paint;
use crate::style::thousands;

pub fn run(shared: &Shared, args: &ContextArgs) -> Result<ExitCode, Failure> {
    let (session, _) = prompt::next_request(shared, &args.turn, args.input.clone())?;
    print(&session, args.json, Paint::plain())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the report of the session's last request.
pub fn print(session: &Session, as_json: bool, paint: Paint) -> Result<(), Failure> {
    let Some(report) = session.report() else {
        return Err(Failure::new("Error: no request was made, so there is nothing to report"));
    };
    let text = if as_json { json(session, &report) } else { table(session, &report, paint) };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::new(format!("Error: {error}")))
}

fn json(session: &Session, report: &Report) -> String {
    let mut value = report.to_json();
    value["model"] = session.facts().model.slug.as_str().into();
    value["pack"] = session.pack().name.as_str().into();
    format!("{value}\n")
}

/// Rows that belong together: one part of one item.
struct Group<'a> {
    rows: Vec<&'a Row>,
}

impl Group<'_> {
    fn bytes(&self) -> usize {
        self.rows.iter().map(|row| row.bytes).sum()
    }

    fn tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens).sum()
    }
}

fn table(session: &Session, report: &Report, paint: Paint) -> String {
    let (bytes, tokens) = (number(report.bytes()), number(report.tokens()));
    let model = &session.facts().model.slug;
    let pack = &session.pack().name;
    let mut text = format!("request: {bytes} bytes, about {tokens} tokens; model {model}, pack {pack}\n");
    if let Some(continuity) = &report.continuity {
        text += &continuity_line(continuity);
    }
    text.push('\n');
    text += &paint.bold(&format!("{:>8} {:>7}  {:<36} {}", "bytes", "tokens", "part", "from"));
    text.push('\n');
    for group in groups(&report.rows) {
        let first = group.rows[0];
        let name = match &first.role {
            Some(role) if role.as_ref() != first.part.as_ref() => format!("{} ({role})", first.part),
            _ => first.part.to_string(),
        };
        let origins = origins(&group.rows);
        let one_line = if let [(origin, ..)] = origins.as_slice() { origin.as_str() } else { "" };
        let line = format!("{:>8} {:>7}  {name:<36} {one_line}", number(group.bytes()), number(group.tokens()));
        text += &paint.cyan(line.trim_end());
        text.push('\n');
        if origins.len() > 1 {
            for (origin, bytes, tokens) in origins {
                text += &paint.dim(&format!("{:>8} {:>7}      {:<32} {origin}", number(bytes), number(tokens), ""));
                text.push('\n');
            }
        }
    }
    text += &left_out(report, paint);
    text
}

/// How the request continues the one before, which is what providers cache.
fn continuity_line(continuity: &Continuity) -> String {
    let (kept, of) = (number(continuity.kept_bytes), number(continuity.previous_bytes));
    match &continuity.broken {
        None => format!("extends the request before: all {of} bytes kept\n"),
        Some(broken) => format!(
            "parts from the request before at byte {kept} of {of}, in {}; about {} tokens are paid for anew\n",
            broken.part,
            number(broken.tokens_rebilled)
        ),
    }
}

/// What the model does not see, and every file that was looked for.
fn left_out(report: &Report, paint: Paint) -> String {
    let mut text = String::new();
    if !report.omissions.is_empty() {
        text += &format!("\n{}\n", paint.bold("not seen by the model"));
        for omission in &report.omissions {
            let line = format!("  {} ({}): {}", omission.what, omission.slot, why_text(&omission.why));
            text += &paint.yellow(&line);
            text.push('\n');
        }
    }
    let (read, others): (Vec<_>, Vec<_>) = report.candidates.iter().partition(|it| it.fate == Fate::Read);
    text += &format!("\n{}\n", paint.bold("instruction files looked for"));
    for candidate in read {
        text += &format!("  {}: read\n", candidate.path);
    }
    for candidate in others {
        text += &paint.dim(&format!("  {}: {}", candidate.path, fate_text(&candidate.fate)));
        text.push('\n');
    }
    text
}

fn groups(rows: &[Row]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows {
        // Notation between items is counted with the item it follows.
        let continues = |group: &Group<'_>| {
            let first = group.rows[0];
            let is_notation = row.bytes == 1 || (first.item.is_some() && &*row.part == "messages");
            (first.part == row.part && first.item == row.item) || (row.origin == Origin::Wire && is_notation)
        };
        match groups.last_mut() {
            Some(group) if continues(group) => group.rows.push(row),
            _ => groups.push(Group { rows: vec![row] }),
        }
    }
    groups
}

/// The origins of a group, each once, with its bytes and tokens.
fn origins(rows: &[&Row]) -> Vec<(String, usize, usize)> {
    let mut origins: Vec<(String, usize, usize)> = Vec::new();
    for row in rows {
        let mut name = format!("{} {}", row.origin.kind(), row.origin.detail()).trim_end().to_owned();
        if let Origin::File { range, size, .. } = &row.origin
            && range.end < *size
        {
            name += &format!(" (cut at byte {} of {size})", range.end);
        }
        match origins.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, bytes, tokens)) => {
                *bytes += row.bytes;
                *tokens += row.tokens;
            }
            None => origins.push((name, row.bytes, row.tokens)),
        }
    }
    origins
}

fn number(number: usize) -> String {
    thousands(i64::try_from(number).unwrap_or(i64::MAX))
}
