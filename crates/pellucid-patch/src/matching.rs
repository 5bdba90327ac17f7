//! Finds a block of lines in a text.
//!
//! A block is sought four times, each time more loosely: exactly, without trailing white space, without white space
//! at both ends, and with typographic characters as their plain cousins. The first place of the strictest search that
//! finds one wins. Each search accepts whatever the one before it accepts, so the four are one search for loose
//! places, of which the best is taken.
//!
//! Exact blocks are found by a search for bytes, which costs about one pass over the text for all chunks of a file.
//! The first block without an exact match builds an index of loose lines, and from then on only places that share the
//! block's rarest line are looked at.
//!
//! Not here: what happens with the place (`edit`).

use std::borrow::Cow;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;
use std::ops::Range;

use memchr::memchr;
use memchr::memchr_iter;
use memchr::memmem;
use memchr::memrchr;

/// A text whose lines can be sought. Places are byte offsets of the beginnings of lines.
#[derive(Debug)]
pub struct Haystack<'a> {
    text: &'a str,
    /// The end of the text including a final newline, which every result has.
    end: usize,
    index: Option<Index>,
}

/// The place at which a search begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchFrom {
    /// At this place of the text.
    Place(usize),
    /// At the line where the block would be the last of the text.
    End,
}

impl<'a> Haystack<'a> {
    pub fn new(text: &'a str) -> Self {
        let is_closed = text.is_empty() || text.ends_with('\n');
        Self { text, end: text.len() + usize::from(!is_closed), index: None }
    }

    /// The place behind the last line.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Whether the last line is empty.
    pub fn ends_with_empty_line(&self) -> bool {
        self.text == "\n" || self.text.ends_with("\n\n")
    }

    /// The first of the best places of `block`, from the beginning of its first line to the end of its last.
    ///
    /// An empty block is wherever one looks.
    pub fn find(&mut self, block: &[&str], from: SearchFrom) -> Option<Range<usize>> {
        match (block, from) {
            ([], SearchFrom::Place(place)) => Some(place..place),
            (_, SearchFrom::Place(place)) if self.index.is_some() => self.find_with_index(block, place),
            (_, SearchFrom::Place(place)) => self.find_exactly(block, place).or_else(|| {
                self.index = Some(Index::new(self.text, self.end));
                self.find_with_index(block, place)
            }),
            (_, SearchFrom::End) => {
                let place = self.place_from_end(block.len())?;
                let (_, end) = self.compare(place, block)?;
                Some(place..end)
            }
        }
    }

    /// The bytes of the block as they are, at the beginning of a line and up to the end of one.
    fn find_exactly(&self, block: &[&str], from: usize) -> Option<Range<usize>> {
        let text = self.text.as_bytes();
        if from >= self.end {
            return None;
        }
        let n_bytes = block.iter().map(|line| line.len() + 1).sum::<usize>();
        let mut needle = Vec::with_capacity(n_bytes + 1);
        for line in block {
            needle.push(b'\n');
            needle.extend_from_slice(line.as_bytes());
        }
        // At the beginning and at the end there may be no newline to search for.
        let lines = &needle[1..];
        let has_end = |at: usize| matches!(text.get(at), None | Some(b'\n')) && at < self.end;
        if text[from..].starts_with(lines) && has_end(from + lines.len()) {
            return Some(from..from + n_bytes);
        }
        if text.last() != Some(&b'\n') && text[from..].ends_with(&needle) {
            let last = text.len() + 1 - n_bytes;
            needle.push(b'\n');
            return Some(memmem::find(&text[from..], &needle).map_or(last..self.end, |at| {
                let place = from + at + 1;
                place..place + n_bytes
            }));
        }
        needle.push(b'\n');
        let place = from + memmem::find(&text[from..], &needle)? + 1;
        Some(place..place + n_bytes)
    }

    fn find_with_index(&self, block: &[&str], from: usize) -> Option<Range<usize>> {
        let index = self.index.as_ref()?;
        let first_line = index.starts.partition_point(|start| *start < from);
        let mut best: Option<(Looseness, Range<usize>)> = None;
        for line in index.candidates(block, first_line) {
            let place = index.starts[line];
            let Some((looseness, end)) = self.compare(place, block) else {
                continue;
            };
            if best.as_ref().is_none_or(|(least, _)| looseness < *least) {
                best = Some((looseness, place..end));
            }
            if looseness == Looseness::Exact {
                break;
            }
        }
        best.map(|(_, range)| range)
    }

    /// How loosely the block matches at this place, and its end there.
    fn compare(&self, place: usize, block: &[&str]) -> Option<(Looseness, usize)> {
        let mut at = place;
        let mut looseness = Looseness::Exact;
        for wanted in block {
            if at >= self.end {
                return None;
            }
            let line = line_at(self.text, at);
            looseness = looseness.max(compare_lines(line, wanted)?);
            at += line.len() + 1;
        }
        Some((looseness, at))
    }

    /// The place of the last `n_lines` lines.
    fn place_from_end(&self, n_lines: usize) -> Option<usize> {
        let text = self.text.as_bytes();
        let mut place = self.end;
        for _ in 0..n_lines {
            // The newline before the place belongs to the line that is stepped over.
            let line_end = place.checked_sub(1)?;
            place = memrchr(b'\n', &text[..line_end]).map_or(0, |newline| newline + 1);
        }
        Some(place)
    }
}

/// How two lines are alike, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Looseness {
    Exact,
    TrailingSpace,
    Space,
    Typography,
}

fn compare_lines(line: &str, wanted: &str) -> Option<Looseness> {
    if line == wanted {
        Some(Looseness::Exact)
    } else if line.trim_end() == wanted.trim_end() {
        Some(Looseness::TrailingSpace)
    } else if line.trim() == wanted.trim() {
        Some(Looseness::Space)
    } else if plain(line) == plain(wanted) {
        Some(Looseness::Typography)
    } else {
        None
    }
}

/// A line at its loosest: what is left of it when white space at its ends and typography are gone.
fn plain(line: &str) -> Cow<'_, str> {
    let line = line.trim();
    if line.is_ascii() {
        return Cow::Borrowed(line);
    }
    Cow::Owned(line.chars().map(plain_character).collect())
}

fn plain_character(character: char) -> char {
    match character {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{00A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// The line that begins at `place`, without its newline.
fn line_at(text: &str, place: usize) -> &str {
    let rest = &text[place..];
    &rest[..memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())]
}

/// The lines of a text by what they are at their loosest.
#[derive(Debug)]
struct Index {
    /// The offset of each line.
    starts: Vec<usize>,
    /// Lines by hash, then by number. Two lines may share a hash by accident.
    by_hash: Vec<(u64, usize)>,
}

impl Index {
    fn new(text: &str, end: usize) -> Self {
        let after_newlines = memchr_iter(b'\n', text.as_bytes()).map(|newline| newline + 1);
        let starts: Vec<usize> = std::iter::once(0).chain(after_newlines).filter(|start| *start < end).collect();
        let lines = starts.iter().enumerate();
        let mut by_hash: Vec<_> = lines.map(|(number, start)| (hash(line_at(text, *start)), number)).collect();
        by_hash.sort_unstable();
        Self { starts, by_hash }
    }

    /// Numbers of lines, from `first_line` on, at which the block may begin, because its rarest line
    /// is where it would have to be.
    fn candidates(&self, block: &[&str], first_line: usize) -> impl Iterator<Item = usize> {
        let rarest = block
            .iter()
            .enumerate()
            .map(|(offset, line)| (offset, self.lines_like(hash(line), first_line + offset)))
            .min_by_key(|(_, lines)| lines.len());
        let (offset, lines) = rarest.unwrap_or_default();
        lines.iter().map(move |(_, line)| line - offset)
    }

    fn lines_like(&self, hash: u64, first_line: usize) -> &[(u64, usize)] {
        let begin = self.by_hash.partition_point(|entry| *entry < (hash, first_line));
        let n_lines = self.by_hash[begin..].partition_point(|(other, _)| *other == hash);
        &self.by_hash[begin..begin + n_lines]
    }
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    plain(line).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, block: &[&str], from: SearchFrom, expected: impl Into<Option<Range<usize>>>) {
        let expected = expected.into();
        assert_eq!(Haystack::new(text).find(block, from), expected);
        let mut indexed = Haystack::new(text);
        indexed.index = Some(Index::new(text, indexed.end));
        assert_eq!(indexed.find(block, from), expected, "with an index");
    }

    #[test]
    fn whole_lines_are_found_from_a_place_on() {
        let text = "ab\nb\nab\nb\n";
        check(text, &["b"], SearchFrom::Place(0), 3..5);
        check(text, &["b"], SearchFrom::Place(3), 3..5);
        check(text, &["b"], SearchFrom::Place(5), 8..10);
        check(text, &["ab", "b"], SearchFrom::Place(3), 5..10);
        check(text, &["b"], SearchFrom::Place(10), None);
        check(text, &["a"], SearchFrom::Place(0), None);
    }

    #[test]
    fn a_last_line_needs_no_newline() {
        check("a\nb", &["b"], SearchFrom::Place(0), 2..4);
        check("a\nb", &["a", "b"], SearchFrom::Place(0), 0..4);
        check("b\nb", &["b"], SearchFrom::Place(0), 0..2);
        check("x\nb\nb", &["b"], SearchFrom::Place(0), 2..4);
        check("a\nb", &["b", ""], SearchFrom::Place(0), None);
    }

    #[test]
    fn empty_lines_are_lines_and_the_end_is_none() {
        check("", &[""], SearchFrom::Place(0), None);
        check("\n", &[""], SearchFrom::Place(0), 0..1);
        check("a\n", &[""], SearchFrom::Place(0), None);
        check("a\n\nb\n", &[""], SearchFrom::Place(0), 2..3);
        check("a\n\n", &["", ""], SearchFrom::Place(0), None);
        check("a\n", &[], SearchFrom::Place(2), 2..2);
    }

    #[test]
    fn at_the_end_there_is_one_place() {
        check("a\nb\na\n", &["a"], SearchFrom::End, 4..6);
        check("a\nb\na", &["a"], SearchFrom::End, 4..6);
        check("a\nb\n", &["a"], SearchFrom::End, None);
        check("a\n", &["a", "a"], SearchFrom::End, None);
        check("\n\n", &["", ""], SearchFrom::End, 0..2);
        check("a  \n", &["a"], SearchFrom::End, 0..4);
        check("", &[""], SearchFrom::End, None);
    }

    #[test]
    fn the_strictest_search_wins_wherever_its_place_is() {
        let text = "\u{2013}x\n  -x\n-x  \n-x\n";
        check(text, &["-x"], SearchFrom::Place(0), 15..18);
        check(&text[..15], &["-x"], SearchFrom::Place(0), 10..15);
        check(&text[..10], &["-x"], SearchFrom::Place(0), 5..10);
        check(&text[..5], &["-x"], SearchFrom::Place(0), 0..5);
    }

    #[test]
    fn a_block_is_as_loose_as_its_loosest_line() {
        check("a \n b\na\nb \n", &["a", "b"], SearchFrom::Place(0), 6..11);
    }

    #[test]
    fn typography_is_plain() {
        check("\u{201C}it\u{2019}s\u{201D}\u{00A0}\u{2212}1\n", &["\"it's\" -1"], SearchFrom::Place(0), 0..19);
        check("\"it's\" -1\n", &["\u{201F}it\u{201B}s\u{201C}\u{3000}\u{2010}1"], SearchFrom::Place(0), 0..10);
    }
}
