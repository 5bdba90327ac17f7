//! Budgets of a layout: how much of a text is used, where it is cut, and the omission for the rest.
//!
//! A text that is too long keeps its first bytes, up to the end of a character, and [`MARK`] takes the place of the rest. The
//! mark counts. What cannot even keep one character beside the mark is left out. Either way every file that lost
//! bytes is an omission, and so is the text itself where other bytes were lost.
//!
//! Not here: how sources with several entries share a budget out among them (`source`).

use std::sync::Arc;

use crate::cut::ends::head_of;
use crate::cut::first;
use crate::fragment::Fragment;
use crate::fragment::Omission;
use crate::fragment::Origin;
use crate::fragment::Why;
use crate::pack::SourceBudget;

/// The text in place of bytes that were cut.
pub const MARK: &str = "…";

/// How many bytes of a text are kept beside the mark: as many whole characters as the budget has room for.
pub(crate) fn kept_beside_mark(text: &str, bytes: usize) -> usize {
    first(text, bytes.saturating_sub(MARK.len())).len()
}

/// A budget that texts draw on one after the other.
#[derive(Debug)]
pub(crate) struct Purse<'a> {
    budget: Option<SourceBudget>,
    /// The slot in which omissions are listed.
    slot: &'a Arc<str>,
    /// The name of the text in omissions, for bytes that are of no file.
    name: &'a str,
    spent: usize,
}

impl<'a> Purse<'a> {
    pub(crate) fn new(budget: Option<SourceBudget>, slot: &'a Arc<str>, name: &'a str) -> Self {
        Self { budget, slot, name, spent: 0 }
    }

    /// The part of a text that fits the budget. The cut is added to the omissions and replaces an omission about the
    /// same file.
    pub(crate) fn cut(&mut self, fragments: Vec<Fragment>, omissions: &mut Vec<Omission>) -> Vec<Fragment> {
        let Some(budget) = self.budget else {
            return fragments;
        };
        let given: usize = fragments.iter().map(|fragment| fragment.text.len()).sum();
        let left = budget.bytes.saturating_sub(self.spent);
        if given <= left {
            self.spent += given;
            return fragments;
        }
        // Whatever comes after a text that was cut is left out.
        self.spent = budget.bytes;
        let kept = head(&fragments, left);
        for mut lost in losses(&fragments, &kept) {
            let what = lost.path.unwrap_or(self.name);
            let of_same = |it: &&mut Omission| it.slot == *self.slot && it.what == what && of_budget(&it.why).is_some();
            let Some(older) = omissions.iter_mut().find(of_same) else {
                omissions.push(Omission { slot: self.slot.clone(), what: what.to_owned(), why: lost.why() });
                continue;
            };
            // A file was counted whole; of anything else these are further bytes.
            if let (None, Some((kept, of))) = (lost.path, of_budget(&older.why)) {
                lost.kept += kept;
                lost.of += of;
            }
            older.why = lost.why();
        }
        kept
    }
}

/// The first bytes of a text with the mark behind them; nothing if no character fits beside the mark.
fn head(fragments: &[Fragment], bytes: usize) -> Vec<Fragment> {
    let mut kept = head_of(fragments, bytes.saturating_sub(MARK.len()));
    if !kept.is_empty() {
        kept.push(Fragment::layout(MARK));
    }
    kept
}

/// How many bytes a budget kept, and of how many; absent where no budget was the reason.
fn of_budget(why: &Why) -> Option<(u64, u64)> {
    match why {
        Why::Cut { kept, of } => Some((*kept, *of)),
        Why::OverBudget { of } => Some((0, *of)),
        _ => None,
    }
}

/// How much of one thing was given and kept.
struct Tally<'a> {
    /// The file; absent for bytes that are of none.
    path: Option<&'a str>,
    given: u64,
    kept: u64,
    /// How many bytes the whole thing has.
    of: u64,
    /// How many of the bytes that were lost are more than what a layout puts around texts.
    lost_words: u64,
}

impl Tally<'_> {
    fn why(&self) -> Why {
        let Self { kept, of, .. } = *self;
        if kept == 0 { Why::OverBudget { of } } else { Why::Cut { kept, of } }
    }
}

/// The origins that a cut took bytes from.
fn losses<'a>(given: &'a [Fragment], kept: &[Fragment]) -> Vec<Tally<'a>> {
    let mut tallies: Vec<Tally<'_>> = Vec::new();
    for fragment in given {
        let (path, size) = file(&fragment.origin);
        let n = tallies.iter().position(|tally| tally.path == path).unwrap_or_else(|| {
            tallies.push(Tally { path, given: 0, kept: 0, of: 0, lost_words: 0 });
            tallies.len() - 1
        });
        let tally = &mut tallies[n];
        tally.given += fragment.text.len() as u64;
        tally.of = size.unwrap_or(0).max(tally.given);
        if fragment.origin != Origin::Layout {
            tally.lost_words += fragment.text.len() as u64;
        }
    }
    // The mark at the end is not part of the given text.
    for fragment in kept.split_last().map_or(kept, |(_, kept)| kept) {
        let (path, _) = file(&fragment.origin);
        if let Some(tally) = tallies.iter_mut().find(|tally| tally.path == path) {
            tally.kept += fragment.text.len() as u64;
            if fragment.origin != Origin::Layout {
                tally.lost_words -= fragment.text.len() as u64;
            }
        }
    }
    tallies.retain(|tally| tally.kept < tally.given);
    let are_words_lost = tallies.iter().any(|tally| tally.lost_words > 0);
    tallies.retain(|tally| tally.lost_words > 0 || !are_words_lost);
    tallies
}

/// The file that bytes are of, and its size.
fn file(origin: &Origin) -> (Option<&str>, Option<u64>) {
    match origin {
        Origin::File { path, size, .. } => (Some(path), Some(*size)),
        Origin::Skill { path } => (Some(path), None),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file_chunks::of_file;
    use crate::fragment::concat;
    use crate::pack::BudgetKeep;

    fn cut(fragments: &[Fragment], bytes: usize) -> (Vec<Fragment>, Vec<Omission>) {
        let (slot, mut omissions) = ("s".into(), Vec::new());
        let budget = Some(SourceBudget { bytes, keep: BudgetKeep::Head });
        let kept = Purse::new(budget, &slot, "words").cut(fragments.to_vec(), &mut omissions);
        (kept, omissions)
    }

    #[track_caller]
    fn check_cut(fragments: &[Fragment], bytes: usize, kept: &str, omissions: &[(&str, Why)]) {
        let (text, found) = cut(fragments, bytes);
        assert_eq!(concat(&text), kept);
        let found: Vec<(&str, Why)> = found.iter().map(|it| (it.what.as_str(), it.why.clone())).collect();
        assert_eq!(found, omissions);
    }

    #[test]
    fn a_text_keeps_its_beginning_and_the_mark_counts() {
        let text = [Fragment::provided("p", "abcdefgh")];
        check_cut(&text, 8, "abcdefgh", &[]);
        check_cut(&text, 7, "abcd…", &[("words", Why::Cut { kept: 4, of: 8 })]);
        check_cut(&text, 4, "a…", &[("words", Why::Cut { kept: 1, of: 8 })]);
        for too_little in [3, 2, 0] {
            check_cut(&text, too_little, "", &[("words", Why::OverBudget { of: 8 })]);
        }
    }

    #[test]
    fn files_are_told_by_their_paths_and_the_text_by_its_name() {
        let mut text = vec![Fragment::layout("<t>"), Fragment::provided("p", "ab")];
        text.extend(of_file(&"/f".into(), "cd日本".as_bytes(), 10, 40));
        text.push(Fragment::layout("</t>"));
        check_cut(&text, 14, "<t>abcd日…", &[("/f", Why::Cut { kept: 5, of: 40 })]);
        check_cut(&text, 12, "<t>abcd…", &[("/f", Why::Cut { kept: 2, of: 40 })]);
        let words = ("words", Why::Cut { kept: 4, of: 9 });
        check_cut(&text, 7, "<t>a…", &[words, ("/f", Why::OverBudget { of: 40 })]);
    }

    #[test]
    fn what_comes_behind_a_cut_is_left_out() {
        let (slot, mut omissions) = ("s".into(), Vec::new());
        let mut purse = Purse::new(Some(SourceBudget { bytes: 9, keep: BudgetKeep::Head }), &slot, "words");
        let mut cut = |text: &str| concat(&purse.cut(vec![Fragment::provided("p", text)], &mut omissions));
        assert_eq!([cut("four"), cut("sixsix"), cut("x")], ["four", "si…", ""]);
        assert_eq!(omissions.len(), 1, "the text is listed once: {omissions:?}");
        assert_eq!(omissions[0].why, Why::Cut { kept: 2, of: 7 });
    }

    proptest! {
        #[test]
        fn kept_bytes_are_those_of_the_file(text in "[a-zé日\u{1f600}]{0,40}", before in "[a-z日]{0,6}", bytes in 0_usize..120) {
            let mut fragments = vec![Fragment::provided("p", before.as_str())];
            fragments.extend(of_file(&"/f".into(), text.as_bytes(), 0, text.len() as u64));
            let (kept, omissions) = cut(&fragments, bytes);
            let (whole, shown) = (concat(&fragments), concat(&kept));
            prop_assert!(shown.len() <= bytes);
            prop_assert_eq!(whole.len() > bytes, !omissions.is_empty());
            for fragment in &kept {
                if let Origin::File { range, .. } = &fragment.origin {
                    let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
                    prop_assert_eq!(fragment.text.as_bytes(), &text.as_bytes()[range]);
                }
            }
            if whole.len() > bytes {
                let is_marked = kept.last().is_none_or(|last| *last == Fragment::layout(MARK));
                prop_assert!(is_marked);
                prop_assert!(whole.starts_with(shown.trim_end_matches(MARK)));
            }
        }
    }
}
