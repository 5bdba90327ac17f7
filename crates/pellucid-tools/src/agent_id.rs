//! Parses the id of an agent as a model wrote it, and describes an invalid one.
//!
//! The errors are those of other programs of this kind, whatever the library for ids would say.

use pellucid_protocol::id::SessionId;
use uuid::Uuid;

/// The offsets of the five groups of an id.
const GROUPS: [usize; 5] = [0, 9, 14, 19, 24];

/// The ways in which an id can be invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Wrong {
    /// A character that does not belong there, counted from 1.
    #[error("ParseChar {{ character: {character:?}, index: {index} }}")]
    Character { character: char, index: usize },
    /// No hyphens, and not 32 characters.
    #[error("ParseSimpleLength {{ len: {len} }}")]
    Length { len: usize },
    /// The id has not five groups.
    #[error("ParseGroupCount {{ count: {count} }}")]
    GroupCount { count: usize },
    /// A group that is too short or too long.
    #[error("ParseGroupLength {{ group: {group}, len: {len}, index: {index} }}")]
    GroupLength { group: usize, len: usize, index: usize },
}

/// An invalid id with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid agent id {text}: Error({wrong})")]
pub(crate) struct WrongId {
    text: String,
    wrong: Wrong,
}

/// Reads an id in any form that a UUID has.
///
/// # Errors
/// If the text is not an id.
pub(crate) fn parse(text: &str) -> Result<SessionId, WrongId> {
    match Uuid::parse_str(text) {
        Ok(id) => Ok(SessionId::new(id.to_string())),
        Err(_) => Err(WrongId { text: text.to_owned(), wrong: wrong(text) }),
    }
}

fn wrong(text: &str) -> Wrong {
    let braced = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).map(|inner| (inner, 1));
    let urn = || text.strip_prefix("urn:uuid:").map(|inner| (inner, "urn:uuid:".len()));
    let (inner, offset) = braced.or_else(urn).unwrap_or((text, 0));
    let strange = inner.char_indices().find(|(_, character)| *character != '-' && !character.is_ascii_hexdigit());
    if let Some((at, character)) = strange {
        return Wrong::Character { character, index: offset + at + 1 };
    }
    let hyphens: Vec<usize> = inner.match_indices('-').map(|(at, _)| at).collect();
    if hyphens.is_empty() && offset == 0 {
        return Wrong::Length { len: text.len() };
    }
    if hyphens.len() != GROUPS.len() - 1 {
        return Wrong::GroupCount { count: hyphens.len() + 1 };
    }
    let ends = GROUPS.iter().skip(1).map(|start| start - 1);
    let group = hyphens.iter().zip(ends).position(|(hyphen, end)| *hyphen != end).unwrap_or(GROUPS.len() - 1);
    let start = GROUPS[group];
    let end = hyphens.get(group).copied().unwrap_or(text.len());
    Wrong::GroupLength { group, len: end - start, index: offset + start + 1 }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn what_is_wrong_with_an_id_is_told_exactly() {
        let ids = [
            "00000000-0000-7000-8000-000000000001",
            "00000000000070008000000000000001",
            "{00000000-0000-7000-8000-000000000001}",
            "urn:uuid:00000000-0000-7000-8000-000000000001",
            "",
            "a",
            "nonsense",
            "00000000-0000-7000-8000-00000000000g",
            "{00000000-0000-7000-8000-000000000001",
            "{z}",
            "é",
            "0-0",
            "00000000-0000-7000-8000-0000-0001",
            "0000000-0000-7000-8000-000000000001",
            "00000000-00000-7000-8000-000000000001",
            "00000000-0000-7000-8000-0000000000011",
            "----",
        ];
        let shown = ids.map(|id| match parse(id) {
            Ok(id) => format!("{id}\n"),
            Err(error) => format!("{error}\n"),
        });
        expect![[r#"
            00000000-0000-7000-8000-000000000001
            00000000-0000-7000-8000-000000000001
            00000000-0000-7000-8000-000000000001
            00000000-0000-7000-8000-000000000001
            invalid agent id : Error(ParseSimpleLength { len: 0 })
            invalid agent id a: Error(ParseSimpleLength { len: 1 })
            invalid agent id nonsense: Error(ParseChar { character: 'n', index: 1 })
            invalid agent id 00000000-0000-7000-8000-00000000000g: Error(ParseChar { character: 'g', index: 36 })
            invalid agent id {00000000-0000-7000-8000-000000000001: Error(ParseChar { character: '{', index: 1 })
            invalid agent id {z}: Error(ParseChar { character: 'z', index: 2 })
            invalid agent id é: Error(ParseChar { character: 'é', index: 1 })
            invalid agent id 0-0: Error(ParseGroupCount { count: 2 })
            invalid agent id 00000000-0000-7000-8000-0000-0001: Error(ParseGroupCount { count: 6 })
            invalid agent id 0000000-0000-7000-8000-000000000001: Error(ParseGroupLength { group: 0, len: 7, index: 1 })
            invalid agent id 00000000-00000-7000-8000-000000000001: Error(ParseGroupLength { group: 1, len: 5, index: 10 })
            invalid agent id 00000000-0000-7000-8000-0000000000011: Error(ParseGroupLength { group: 4, len: 13, index: 25 })
            invalid agent id ----: Error(ParseGroupLength { group: 0, len: 0, index: 1 })
        "#]]
        .assert_eq(&shown.concat());
    }
}
