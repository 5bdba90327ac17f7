//! The text of one file before and after its chunks.
//!
//! Chunks are sought in order, each below the one before. What they replace is replaced together
//! afterwards, so a chunk never finds what another has written.
//!
//! Not here: names of files. A chunk that does not fit says which lines are missing, not where.

use std::ops::Range;

use crate::matching::Haystack;
use crate::matching::SearchFrom;
use crate::parse::PatchChunk;
use crate::text::TextParts;

/// Why a chunk does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// The line after its `@@` was not found.
    Context(String),
    /// The old lines were not found; here joined by newlines.
    Lines(String),
}

/// Old lines, by their bytes, and what takes their place.
#[derive(Debug)]
pub(crate) struct Replacement<'c, 'a> {
    pub old: Range<usize>,
    pub new: &'c [&'a str],
}

/// The text after the chunks.
///
/// The result ends with a newline, unless it is empty. One empty line at its very end is lost, as in the reference:
/// an empty line there counts as the end of the line before.
///
/// # Errors
///
/// See [`Misfit`].
pub fn edit(text: &str, chunks: &[PatchChunk<'_>]) -> Result<String, Misfit> {
    edit_parts(text, chunks).map(|parts| parts.slices(text).collect())
}

/// The same in parts.
pub(crate) fn edit_parts(text: &str, chunks: &[PatchChunk<'_>]) -> Result<TextParts, Misfit> {
    let mut haystack = Haystack::new(text);
    let mut replacements = locate(&mut haystack, chunks)?;
    // Stable: of two additions at one place the first comes first.
    replacements.sort_by_key(|it| it.old.start);
    let has_overlap = replacements.windows(2).any(|pair| pair[1].old.start < pair[0].old.end);
    let mut result = if has_overlap {
        replace_one_by_one(text, &replacements)
    } else {
        replace(text.len(), haystack.end(), &replacements)
    };
    result.drop_empty_last_line(|at| text.as_bytes().get(at).copied());
    Ok(result)
}

fn locate<'c, 'a>(
    haystack: &mut Haystack<'_>,
    chunks: &'c [PatchChunk<'a>],
) -> Result<Vec<Replacement<'c, 'a>>, Misfit> {
    let mut replacements = Vec::with_capacity(chunks.len());
    let mut cursor = 0;
    for chunk in chunks {
        if let Some(context) = chunk.context {
            let found = haystack.find(&[context], SearchFrom::Place(cursor));
            cursor = found.ok_or_else(|| Misfit::Context(context.to_owned()))?.end;
        }
        if chunk.old.is_empty() {
            // Pure additions go to the end, wherever the cursor is.
            let end = haystack.end() - usize::from(haystack.ends_with_empty_line());
            replacements.push(Replacement { old: end..end, new: &chunk.new });
            continue;
        }
        let replacement = locate_block(haystack, chunk, cursor);
        let replacement = replacement.ok_or_else(|| Misfit::Lines(chunk.old.join("\n")))?;
        cursor = replacement.old.end;
        replacements.push(replacement);
    }
    Ok(replacements)
}

/// The position of the old lines. A last empty line may be missing: it was the distance to the next chunk.
fn locate_block<'c, 'a>(
    haystack: &mut Haystack<'_>,
    chunk: &'c PatchChunk<'a>,
    cursor: usize,
) -> Option<Replacement<'c, 'a>> {
    let from = if chunk.is_at_end { SearchFrom::End } else { SearchFrom::Place(cursor) };
    if let Some(old) = haystack.find(&chunk.old, from) {
        return Some(Replacement { old, new: &chunk.new });
    }
    let [old @ .., ""] = chunk.old.as_slice() else {
        return None;
    };
    let new = match chunk.new.as_slice() {
        [new @ .., ""] => new,
        new => new,
    };
    let from = if old.is_empty() { SearchFrom::Place(cursor) } else { from };
    haystack.find(old, from).map(|old| Replacement { old, new })
}

/// Applies sorted replacements that do not overlap, in one pass over the text.
pub(crate) fn replace(n_bytes: usize, end: usize, replacements: &[Replacement<'_, '_>]) -> TextParts {
    let mut result = TextParts::default();
    let mut at = 0;
    for replacement in replacements {
        copy(n_bytes, at..replacement.old.start, &mut result);
        replacement.new.iter().for_each(|line| result.push_fresh_line(line));
        at = replacement.old.end;
    }
    copy(n_bytes, at..end, &mut result);
    result
}

/// Copies whole lines; the last of the text gets a newline if it has none.
fn copy(n_bytes: usize, range: Range<usize>, result: &mut TextParts) {
    if range.is_empty() {
        return;
    }
    result.push_base(range.start..range.end.min(n_bytes));
    if range.end > n_bytes {
        result.close_line();
    }
}

/// Overlapping chunks are replaced as the reference does it: from the last position to the first, by line numbers. So
/// two chunks may share context, which happens when the second is tied to the end.
fn replace_one_by_one(text: &str, replacements: &[Replacement<'_, '_>]) -> TextParts {
    let line_number = |place: usize| lines(&text[..place.min(text.len())]).count();
    let mut result: Vec<&str> = lines(text).collect();
    for replacement in replacements.iter().rev() {
        let (first, end) = (line_number(replacement.old.start), line_number(replacement.old.end));
        result.splice(first..end.min(result.len()), replacement.new.iter().copied());
    }
    let mut parts = TextParts::default();
    result.iter().for_each(|line| parts.push_fresh_line(line));
    parts
}

/// Lines by newlines alone; a carriage return belongs to its line.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let is_empty = text.is_empty();
    text.strip_suffix('\n').unwrap_or(text).split('\n').filter(move |_| !is_empty)
}

#[cfg(test)]
mod tests;
