//! A draft as a file keeps it: JSON that a later client reads.
//!
//! What is read is checked, because a file may be cut or changed: a piece that does not fit its text is dropped, and its
//! label stays as ordinary text.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::composer::draft::Clip;
use crate::composer::draft::Piece;
use crate::composer::draft::PieceContent;

/// A draft that an earlier client left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptDraft {
    /// The text with its pieces.
    pub clip: Clip,
    /// When the draft was kept, in seconds since 1970.
    pub at: i64,
    /// Whether the draft was too long, and only its beginning was kept.
    pub is_cut: bool,
}

/// The JSON of a draft.
pub fn to_json(clip: &Clip) -> Value {
    let piece = |piece: &Piece| {
        let (kind, value) = match &piece.stands_for {
            PieceContent::Paste(text) => ("paste", text.clone()),
            PieceContent::Image(path) => ("image", path.display().to_string()),
            PieceContent::Skill { path } => ("skill", path.display().to_string()),
        };
        json!({ "start": piece.range.start, "end": piece.range.end, "kind": kind, "value": value })
    };
    json!({ "text": clip.text, "pieces": clip.pieces.iter().map(piece).collect::<Vec<_>>() })
}

/// The draft of a JSON text; absent if there is none in it.
pub fn from_json(value: &Value) -> Option<Clip> {
    let text = value.get("text")?.as_str()?.to_owned();
    let mut pieces: Vec<Piece> = Vec::new();
    for piece in value.get("pieces").and_then(Value::as_array).into_iter().flatten() {
        let Some(piece) = piece_of(piece) else { continue };
        let end = pieces.last().map_or(0, |last| last.range.end);
        let is_fitting = end <= piece.range.start && piece.range.start < piece.range.end;
        if is_fitting && text.is_char_boundary(piece.range.start) && text.is_char_boundary(piece.range.end) {
            pieces.push(piece);
        }
    }
    Some(Clip { text, pieces })
}

fn piece_of(value: &Value) -> Option<Piece> {
    let place = |key: &str| value.get(key)?.as_u64().and_then(|place| usize::try_from(place).ok());
    let text = value.get("value")?.as_str()?.to_owned();
    let stands_for = match value.get("kind")?.as_str()? {
        "paste" => PieceContent::Paste(text),
        "image" => PieceContent::Image(PathBuf::from(text)),
        "skill" => PieceContent::Skill { path: PathBuf::from(text) },
        _ => return None,
    };
    Some(Piece { range: place("start")?..place("end")?, stands_for })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_with_pieces_is_read_as_it_was_written() {
        let piece = |range, stands_for| Piece { range, stands_for };
        let clip = Clip {
            text: "a [Pasted] [Image #1] $skill\nb".to_owned(),
            pieces: vec![
                piece(2..10, PieceContent::Paste("long\ntext".to_owned())),
                piece(11..21, PieceContent::Image(PathBuf::from("/w/a.png"))),
                piece(22..28, PieceContent::Skill { path: PathBuf::from("/s/SKILL.md") }),
            ],
        };
        assert_eq!(from_json(&to_json(&clip)), Some(clip));
    }

    #[test]
    fn pieces_that_do_not_fit_their_text_are_dropped() {
        let piece = |start: usize, end: usize| json!({ "start": start, "end": end, "kind": "paste", "value": "x" });
        for pieces in [
            json!([piece(2, 2)]),
            json!([piece(3, 2)]),
            json!([piece(1, 2)]),
            json!([piece(0, 99)]),
            json!([{ "start": 0, "end": 1, "kind": "other", "value": "x" }]),
            json!("none"),
        ] {
            let read = from_json(&json!({ "text": "é and", "pieces": pieces }));
            assert_eq!(read, Some(Clip::plain("é and")), "{pieces}");
        }
        let both = from_json(&json!({ "text": "abcdef", "pieces": [piece(0, 3), piece(2, 5)] })).unwrap();
        assert_eq!(both.pieces.len(), 1, "pieces do not overlap");
        assert_eq!(from_json(&json!({ "pieces": [] })), None);
    }
}
