//! The text that is being written: characters and pieces that stand for more than they show.
//!
//! A piece (a large paste, an image, a skill) is one step for the cursor and is deleted as a whole. Positions are bytes
//! of the shown text and always on the boundary of a grapheme, never inside of a piece.

use std::ops::Range;
use std::path::PathBuf;

use unicode_segmentation::GraphemeCursor;
use unicode_segmentation::UnicodeSegmentation;

use crate::composer::words;

/// The text, its pieces and the cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    text: String,
    cursor: usize,
    /// In the order of the text, none overlapping another.
    pieces: Vec<Piece>,
}

/// A part of the text that represents something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The bytes of the shown text that it takes.
    pub range: Range<usize>,
    /// The thing that it represents.
    pub stands_for: PieceContent,
}

/// The thing that a piece represents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PieceContent {
    /// A long text that was pasted.
    Paste(String),
    /// An image that goes with the message.
    Image(PathBuf),
    /// A skill that was chosen from a list.
    Skill {
        /// The file that describes the skill.
        path: PathBuf,
    },
}

/// Text with its pieces, cut out of a draft or about to be inserted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clip {
    /// The text as it is shown.
    pub text: String,
    /// The pieces, by bytes of this text.
    pub pieces: Vec<Piece>,
}

impl Clip {
    /// Text without pieces.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), pieces: Vec::new() }
    }

    /// The text with pastes in place of their labels. Images and skills keep their label.
    pub fn expanded(&self) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut end = 0;
        for piece in &self.pieces {
            if let PieceContent::Paste(paste) = &piece.stands_for {
                text += &self.text[end..piece.range.start];
                text += paste;
                end = piece.range.end;
            }
        }
        text + &self.text[end..]
    }
}

impl Draft {
    /// A draft with the cursor at its end.
    pub fn of(clip: Clip) -> Self {
        Self { cursor: clip.text.len(), text: clip.text, pieces: clip.pieces }
    }

    /// The text as it is shown.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The pieces of the text.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Where the next character goes.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// All of it, with its pieces.
    pub fn clip(&self) -> Clip {
        Clip { text: self.text.clone(), pieces: self.pieces.clone() }
    }

    /// Puts the cursor to a position, or to the nearest place where it may be.
    pub fn move_to(&mut self, position: usize) {
        let mut position = position.min(self.text.len());
        while !self.is_boundary(position) {
            position -= 1;
        }
        let inside = self.pieces.iter().find(|piece| piece.range.start < position && position < piece.range.end);
        self.cursor = match inside {
            Some(piece) if position - piece.range.start < piece.range.end - position => piece.range.start,
            Some(piece) => piece.range.end,
            None => position,
        };
    }

    fn is_boundary(&self, position: usize) -> bool {
        self.text.is_char_boundary(position)
            && GraphemeCursor::new(position, self.text.len(), true).is_boundary(&self.text, 0).unwrap_or(true)
    }

    /// The position one step before another.
    pub fn before(&self, position: usize) -> usize {
        let piece = self.pieces.iter().find(|piece| piece.range.start < position && position <= piece.range.end);
        if let Some(piece) = piece {
            return piece.range.start;
        }
        let last = self.text[..position].graphemes(true).next_back();
        last.map_or(position, |last| position - last.len())
    }

    /// The position one step after another.
    pub fn after(&self, position: usize) -> usize {
        let piece = self.pieces.iter().find(|piece| piece.range.start <= position && position < piece.range.end);
        if let Some(piece) = piece {
            return piece.range.end;
        }
        let next = self.text[position..].graphemes(true).next();
        next.map_or(position, |next| position + next.len())
    }

    /// The start of the word before the cursor.
    pub fn word_start(&self) -> usize {
        self.outside(words::start_before(&self.text, self.cursor), false)
    }

    /// The end of the word after the cursor.
    pub fn word_end(&self) -> usize {
        self.outside(words::end_after(&self.text, self.cursor), true)
    }

    /// The position itself, or the edge of the piece that it is inside of.
    fn outside(&self, position: usize, is_end: bool) -> usize {
        let piece = self.pieces.iter().find(|piece| piece.range.start < position && position < piece.range.end);
        piece.map_or(position, |piece| if is_end { piece.range.end } else { piece.range.start })
    }

    /// The start of the line that a position is in.
    pub fn line_start(&self, position: usize) -> usize {
        self.text[..position].rfind('\n').map_or(0, |at| at + 1)
    }

    /// The end of the line that a position is in.
    pub fn line_end(&self, position: usize) -> usize {
        self.text[position..].find('\n').map_or(self.text.len(), |at| position + at)
    }

    /// Inserts at the cursor, which ends up behind what was inserted.
    pub fn insert(&mut self, clip: &Clip) {
        let at = self.cursor;
        let n_bytes = clip.text.len();
        self.text.insert_str(at, &clip.text);
        for piece in self.pieces.iter_mut().filter(|piece| piece.range.start >= at) {
            piece.range = piece.range.start + n_bytes..piece.range.end + n_bytes;
        }
        let index = self.pieces.partition_point(|piece| piece.range.start < at);
        let moved = clip.pieces.iter().map(|piece| Piece {
            range: piece.range.start + at..piece.range.end + at,
            stands_for: piece.stands_for.clone(),
        });
        self.pieces.splice(index..index, moved);
        // A combining character joins what is before it, so the end of the insertion may be no boundary.
        let mut cursor = at + n_bytes;
        while !self.is_boundary(cursor) {
            cursor += 1;
        }
        self.cursor = cursor;
    }

    /// Inserts text without pieces at the cursor.
    pub fn insert_text(&mut self, text: &str) {
        self.insert(&Clip::plain(text));
    }

    /// Removes a range, widened to whole pieces, and returns it. The cursor ends up where the range was.
    pub fn cut(&mut self, range: Range<usize>) -> Clip {
        let mut range = range;
        for piece in &self.pieces {
            if piece.range.start < range.end && range.start < piece.range.end {
                range = range.start.min(piece.range.start)..range.end.max(piece.range.end);
            }
        }
        let text = self.text[range.clone()].to_owned();
        let mut cut = Vec::new();
        let mut kept = Vec::new();
        for mut piece in self.pieces.drain(..) {
            if piece.range.start >= range.start && piece.range.end <= range.end {
                piece.range = piece.range.start - range.start..piece.range.end - range.start;
                cut.push(piece);
            } else {
                if piece.range.start >= range.end {
                    piece.range = piece.range.start - range.len()..piece.range.end - range.len();
                }
                kept.push(piece);
            }
        }
        self.pieces = kept;
        self.text.replace_range(range.clone(), "");
        // What stood on both sides may join to one grapheme.
        self.cursor = range.start;
        while !self.is_boundary(self.cursor) {
            self.cursor += 1;
        }
        Clip { text, pieces: cut }
    }

    /// Replaces a range by text; the cursor ends up behind it.
    pub fn replace(&mut self, range: Range<usize>, clip: &Clip) {
        self.cut(range);
        self.insert(clip);
    }

    /// Makes the piece at the cursor, or just before it, ordinary text. Only a paste can be shown so.
    pub fn unfold(&mut self) -> bool {
        let cursor = self.cursor;
        let found = self.pieces.iter().find_map(|piece| match &piece.stands_for {
            PieceContent::Paste(paste) if piece.range.start <= cursor && cursor <= piece.range.end => {
                Some((piece.range.clone(), paste.clone()))
            }
            _ => None,
        });
        let Some((range, paste)) = found else {
            return false;
        };
        self.replace(range, &Clip::plain(paste));
        true
    }

    /// The word under the cursor, delimited by white space, outside of pieces.
    pub fn word_at_cursor(&self) -> Range<usize> {
        let is_cut = |range: &Range<usize>| {
            self.pieces.iter().any(|piece| piece.range.start < range.end && range.start < piece.range.end)
        };
        let start = self.text[..self.cursor].rfind(char::is_whitespace);
        let start = start.map_or(0, |at| at + self.text[at..].chars().next().map_or(1, char::len_utf8));
        let end = self.text[self.cursor..].find(char::is_whitespace).map_or(self.text.len(), |at| self.cursor + at);
        let range = start..end;
        if is_cut(&range) { self.cursor..self.cursor } else { range }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft_with_paste() -> Draft {
        let mut draft = Draft::default();
        draft.insert_text("a ");
        let label = "[Pasted]";
        let piece = Piece { range: 0..label.len(), stands_for: PieceContent::Paste("long\ntext".to_owned()) };
        draft.insert(&Clip { text: label.to_owned(), pieces: vec![piece] });
        draft.insert_text(" z");
        draft
    }

    #[test]
    fn a_piece_is_one_step_and_is_deleted_whole() {
        let mut draft = draft_with_paste();
        let end = draft.text().len() - 2;
        assert_eq!(draft.before(end), 2);
        assert_eq!(draft.after(2), end);
        draft.move_to(end);
        let cut = draft.cut(draft.before(end)..end);
        assert_eq!((draft.text(), draft.cursor(), cut.expanded()), ("a  z", 2, "long\ntext".to_owned()));
        draft.insert(&cut);
        assert_eq!(draft.clip().expanded(), "a long\ntext z");
    }

    #[test]
    fn a_cut_through_a_piece_takes_all_of_it() {
        let mut draft = draft_with_paste();
        assert_eq!(draft.cut(1..4).text, " [Pasted]");
        assert_eq!((draft.text(), draft.pieces()), ("a z", &[][..]));
    }

    #[test]
    fn an_unfolded_paste_is_ordinary_text() {
        let mut draft = draft_with_paste();
        draft.move_to(2);
        assert!(draft.unfold());
        assert_eq!((draft.text(), draft.pieces().len()), ("a long\ntext z", 0));
        assert!(!draft.unfold());
    }

    #[test]
    fn a_combining_mark_joins_the_character_before_it() {
        let mut draft = Draft::default();
        draft.insert_text("e");
        draft.insert_text("\u{301}");
        assert_eq!(draft.cursor(), 3);
        assert_eq!(draft.before(3), 0);
    }

    #[test]
    fn the_cursor_never_stops_inside_of_a_piece() {
        let mut draft = draft_with_paste();
        draft.move_to(4);
        assert_eq!(draft.cursor(), 2);
        draft.move_to(8);
        assert_eq!(draft.cursor(), 10);
    }
}
