//! Every part of a request, with its origins.

use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Report;
use pellucid_engine::report::Row;

use crate::context::below::below_rows;
use crate::context::head::Head;
use crate::context::head::continuity_line;
use crate::context::head::request_line;
use crate::context::head::usage_text;
use crate::style::Paint;
use crate::style::number;

/// Rows that belong together: one part of one item.
pub struct Group<'a> {
    pub rows: Vec<&'a Row>,
}

impl Group<'_> {
    pub fn bytes(&self) -> usize {
        self.rows.iter().map(|row| row.bytes).sum()
    }

    pub fn tokens(&self) -> usize {
        self.rows.iter().map(|row| row.tokens).sum()
    }
}

/// Every part of a request in the order of its bytes.
pub fn table(head: &Head, report: &Report, paint: Paint) -> String {
    let mut text = head.first.as_ref().map_or_else(String::new, |first| format!("{first}\n"));
    text += &format!("{}\n", request_line(head, report));
    if let Some(continuity) = &report.continuity {
        text += &continuity_line(continuity);
    }
    if !head.usage.is_empty() {
        text += &format!("spent: {}\n", usage_text(&head.usage));
    }
    if let Some(sandbox) = &head.sandbox {
        text += &format!("sandbox: {}: {}\n", sandbox.mode, sandbox.why);
    }
    for note in &head.notes {
        text += &format!("note: {note}\n");
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
    text + &below_rows(report, paint)
}

pub fn groups(rows: &[Row]) -> Vec<Group<'_>> {
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
        if let Origin::File { range, size, .. } = row.origin.claim()
            && range.end < *size
        {
            name += &format!(" (cut at byte {} of {size})", range.end);
        }
        if matches!(row.origin, Origin::Likely(_)) {
            name += " (likely)";
        }
        let name = crate::screen::name(&name).into_owned();
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
