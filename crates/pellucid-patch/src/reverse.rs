//! The text of a file before its chunks, from the text after them: for sessions that kept patches but no files.
//!
//! A patch has the old and the new lines of each chunk. The old lines take the place of the new ones if there is exactly
//! one way to place all chunks in their order; with several ways the lines that the patch wrote are unknown.

use crate::parse::PatchChunk;

/// Why chunks cannot be reversed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Irreversible {
    /// New lines of a chunk are not in the file.
    #[error("the lines that the session wrote are not in the file any more")]
    Missing,
    /// There are several places where the chunks could be.
    #[error("the lines that the session wrote are in the file more than once")]
    Ambiguous,
}

/// The text before the chunks.
///
/// # Errors
/// See [`Irreversible`].
pub fn reverse(text: &str, chunks: &[PatchChunk<'_>]) -> Result<String, Irreversible> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare: Vec<&str> = lines.iter().map(|line| line.trim_end_matches(['\n', '\r'])).collect();
    let candidates: Vec<Vec<usize>> = chunks.iter().map(|chunk| places(&bare, chunk)).collect();
    let first = in_order(candidates.iter().zip(chunks)).ok_or(Irreversible::Missing)?;
    if first != in_order_from_end(&candidates, chunks) {
        return Err(Irreversible::Ambiguous);
    }
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for (place, chunk) in first.iter().zip(chunks) {
        result.extend(lines[at..*place].iter().copied());
        at = place + chunk.new.len();
        let ends = if lines[*place..at].first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
        for line in &chunk.old {
            result.push_str(line);
            result.push_str(ends);
        }
    }
    result.extend(lines[at..].iter().copied());
    Ok(result)
}

/// Every line at which the new lines of a chunk are. A chunk that left no line could be anywhere.
fn places(lines: &[&str], chunk: &PatchChunk<'_>) -> Vec<usize> {
    let n = chunk.new.len();
    let Some(last) = lines.len().checked_sub(n) else { return Vec::new() };
    let is_here = |at: &usize| lines[*at..*at + n] == chunk.new;
    if chunk.is_at_end || chunk.old.is_empty() {
        return Some(last).filter(is_here).into_iter().collect();
    }
    // The chunk was below its heading; a heading that is there once excludes what is above it.
    let headings: Vec<usize> = chunk.context.map_or(Vec::new(), |context| {
        lines.iter().enumerate().filter(|(_, line)| line.trim() == context.trim()).map(|(at, _)| at).collect()
    });
    let from = if let [heading] = headings[..] { heading + 1 } else { 0 };
    (from..=last).filter(is_here).collect()
}

/// The first place of each chunk, each below the chunk before.
fn in_order<'a, 'b: 'a>(chunks: impl Iterator<Item = (&'a Vec<usize>, &'a PatchChunk<'b>)>) -> Option<Vec<usize>> {
    let mut from = 0;
    chunks
        .map(|(places, chunk)| {
            let place = *places.iter().find(|place| **place >= from)?;
            from = place + chunk.new.len();
            Some(place)
        })
        .collect()
}

/// The last place of each chunk, each above the chunk after. If every chunk's last place is its first, there is one way.
fn in_order_from_end(candidates: &[Vec<usize>], chunks: &[PatchChunk<'_>]) -> Vec<usize> {
    let mut end = usize::MAX;
    let mut found: Vec<usize> = Vec::new();
    for (places, chunk) in candidates.iter().zip(chunks).rev() {
        let place = places.iter().rev().find(|place| **place + chunk.new.len() <= end);
        found.extend(place);
        end = place.copied().unwrap_or_default();
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::edit;
    use crate::parse;
    use crate::parse::Hunk;

    /// The chunks of an update of one file, as a patch writes them.
    #[track_caller]
    fn check_reversed(after: &str, body: &str, expected: Result<&str, Irreversible>) {
        let patch = format!("*** Begin Patch\n*** Update File: a\n{body}*** End Patch");
        let patch = parse(&patch).unwrap();
        let Hunk::Update { chunks, .. } = &patch.hunks[0] else { panic!("{patch:?}") };
        assert_eq!(reverse(after, chunks).as_deref(), expected.as_deref());
    }

    #[test]
    fn old_lines_take_the_place_of_new_ones() {
        check_reversed("1\ntwo\n3\n", "@@\n 1\n-2\n+two\n 3\n", Ok("1\n2\n3\n"));
        check_reversed("own\n1\ntwo\n3\nown\n", "@@\n 1\n-2\n+two\n", Ok("own\n1\n2\n3\nown\n"));
        check_reversed("1\n3\n", "@@\n 1\n-2\n 3\n", Ok("1\n2\n3\n"));
        check_reversed("1\r\ntwo\r\n", "@@\n-2\n+two\n", Ok("1\r\n2\r\n"));
        check_reversed("1\nend\n", "@@\n+end\n", Ok("1\n"));
        check_reversed("a\nx\nb\nx\n", "@@\n a\n-1\n+x\n@@\n b\n-2\n+x\n", Ok("a\n1\nb\n2\n"));
    }

    #[test]
    fn what_could_be_in_several_places_is_refused() {
        check_reversed("x\ny\nx\n", "@@\n-1\n+x\n", Err(Irreversible::Ambiguous));
        check_reversed("x\ny\n", "@@\n-1\n", Err(Irreversible::Ambiguous));
        check_reversed("x\nfn f\ny\nx\n", "@@ fn f\n-1\n+x\n", Ok("x\nfn f\ny\n1\n"));
        check_reversed("x\ny\nx\n", "@@\n-1\n+x\n*** End of File\n", Ok("x\ny\n1\n"));
    }

    #[test]
    fn lines_that_are_gone_are_missed() {
        check_reversed("1\n2\n", "@@\n-1\n+one\n", Err(Irreversible::Missing));
        check_reversed("b\na\n", "@@\n-1\n+a\n@@\n-2\n+b\n", Err(Irreversible::Missing));
    }

    proptest! {
        /// Whatever was edited is what it was, or is refused.
        #[test]
        fn an_edit_is_reversed_or_refused(
            text in prop::collection::vec("[abc]", 1..12),
            at in 0..12_usize,
            new in prop::collection::vec("[abcx]", 0..3),
        ) {
            let at = at.min(text.len() - 1);
            let before = text.iter().map(|line| format!("{line}\n")).collect::<String>();
            let mut chunk = PatchChunk::default();
            let (from, to) = (at.saturating_sub(1), (at + 2).min(text.len()));
            chunk.old = text[from..to].iter().map(String::as_str).collect();
            chunk.new = text[from..at].iter().chain(&new).chain(&text[at + 1..to]).map(String::as_str).collect();
            let after = edit(&before, std::slice::from_ref(&chunk)).unwrap();
            // The lines may have been found above the place that was meant.
            if let Ok(reversed) = reverse(&after, &[chunk]) {
                prop_assert_eq!(reversed, before);
            }
        }
    }
}
