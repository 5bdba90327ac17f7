//! Texts in UTF-16 units: lengths, white space and the halves that blind cuts leave.
//!
//! Some systems count and cut texts in these units, even within a character. Such a cut leaves half of a surrogate
//! pair, which counts as one unit, and is left out before anything is sent.

/// How many units a text has.
pub fn len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The units of a text.
pub fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// Units as text, halves as U+FFFD, so that the number of units stays.
pub fn shown(units: &[u16]) -> String {
    String::from_utf16_lossy(units)
}

/// Units as text, without halves.
pub fn sent(units: &[u16]) -> String {
    char::decode_utf16(units.iter().copied()).filter_map(Result::ok).collect()
}

/// The number of unpaired surrogates.
pub fn n_halves(units: &[u16]) -> usize {
    char::decode_utf16(units.iter().copied()).filter(Result::is_err).count()
}

/// Whether a cut before `at` falls between the two halves of a pair.
pub fn splits_pair(units: &[u16], at: usize) -> bool {
    let is_high = |unit: &u16| matches!(unit, 0xD800..=0xDBFF);
    let is_low = |unit: &u16| matches!(unit, 0xDC00..=0xDFFF);
    at > 0 && units.get(at - 1).is_some_and(is_high) && units.get(at).is_some_and(is_low)
}

/// Whether the character is white space to JavaScript's `trim`.
pub fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

/// Without white space at both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Without white space at the end.
pub fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Whether a text is only white space.
pub fn is_blank(text: &str) -> bool {
    trim(text).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_counts_and_is_not_sent() {
        let smile = units("a😀b");
        assert_eq!(smile.len(), 4);
        assert!(splits_pair(&smile, 2));
        assert!(!splits_pair(&smile, 1));
        assert_eq!(shown(&smile[..2]), "a\u{fffd}");
        assert_eq!(sent(&smile[..2]), "a");
        assert_eq!(n_halves(&smile[..2]), 1);
        assert_eq!(n_halves(&smile), 0);
    }

    #[test]
    fn the_byte_order_mark_is_space_and_next_line_is_not() {
        assert_eq!(trim("\u{feff}a\u{3000}"), "a");
        assert_eq!(trim("\u{85}a\u{200b}"), "\u{85}a\u{200b}");
    }

    proptest::proptest! {
        #[test]
        fn any_cut_loses_at_most_one_character(text in "\\PC{0,20}", at in 0_usize..40) {
            let all = units(&text);
            proptest::prop_assert_eq!(len(&text), all.len());
            proptest::prop_assert_eq!((shown(&all), sent(&all), n_halves(&all)), (text.clone(), text.clone(), 0));
            let at = at.min(all.len());
            let (first, second) = all.split_at(at);
            let n = usize::from(splits_pair(&all, at));
            proptest::prop_assert_eq!((n_halves(first), n_halves(second)), (n, n));
            proptest::prop_assert_eq!(units(&shown(first)).len(), first.len());
            proptest::prop_assert!(text.starts_with(&sent(first)) && text.ends_with(&sent(second)));
        }

        #[test]
        fn what_is_trimmed_has_no_space_at_its_ends(text in any_space()) {
            let trimmed = trim(&text);
            proptest::prop_assert!(!trimmed.starts_with(is_space) && !trimmed.ends_with(is_space));
            proptest::prop_assert_eq!(is_blank(&text), trimmed.is_empty());
            proptest::prop_assert!(trim_end(&text).ends_with(trimmed));
        }
    }

    fn any_space() -> impl proptest::strategy::Strategy<Value = String> {
        proptest::string::string_regex("[ \t\n\u{a0}\u{3000}\u{feff}\u{200b}aé]{0,12}").unwrap()
    }
}
