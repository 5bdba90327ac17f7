//! How many bytes of each instruction file are used, when all of them are more than the budget.
//!
//! A file that is blank costs nothing and is passed over. What a cut at the end of a line leaves of a share is left for
//! the files that come after, where files are served one after the other.

use pellucid_protocol::project_docs::Allocation;
use pellucid_protocol::project_docs::Cut;

/// Less than this of a line is not worth having: a cut within a line keeps at least so many bytes of it.
const LINE_MIN: usize = 1024;

/// A file that wants a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want<'a> {
    /// The bytes that were read.
    pub bytes: &'a [u8],
    /// The number of bytes of the file.
    pub size: u64,
    /// The index of the file in the chain; an import has that of the file that imports it.
    pub group: usize,
}

/// The share of the budget that a file gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// The number of its first bytes that are kept.
    Kept(usize),
    /// Nothing, as there is nothing to see in what it would get.
    Blank,
}

/// Shares a budget out.
pub fn shares(wants: &[Want<'_>], budget: usize, allocation: Allocation, cut: Cut) -> Vec<Share> {
    let mut order: Vec<usize> = (0..wants.len()).collect();
    match allocation {
        Allocation::RootFirst => {}
        // The sort is stable: a file comes before what it imports.
        Allocation::NearestFirst => order.sort_by_key(|n| std::cmp::Reverse(wants[*n].group)),
        Allocation::Proportional => {
            let quotas = quotas(wants, budget);
            return wants.iter().zip(quotas).map(|(want, quota)| share(want, quota, cut)).collect();
        }
    }
    let mut shares = vec![Share::Kept(0); wants.len()];
    let mut left = budget;
    for n in order {
        if left == 0 {
            break;
        }
        shares[n] = share(&wants[n], left, cut);
        if let Share::Kept(kept) = shares[n] {
            left -= kept;
        }
    }
    shares
}

fn share(want: &Want<'_>, limit: usize, cut: Cut) -> Share {
    let kept = cut_at(want, limit, cut);
    let is_blank = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().is_empty();
    // A file of which nothing is kept is not the same as a blank file.
    let is_passed_over = if kept == 0 { is_blank(want.bytes) } else { is_blank(&want.bytes[..kept]) };
    if is_passed_over { Share::Blank } else { Share::Kept(kept) }
}

/// The offset at which a file is cut that may have at most `limit` bytes.
fn cut_at(want: &Want<'_>, limit: usize, cut: Cut) -> usize {
    let n_read = want.bytes.len();
    if n_read <= limit && n_read as u64 >= want.size {
        return n_read;
    }
    let most = n_read.min(limit);
    match cut {
        Cut::Bytes => most,
        Cut::Lines => match want.bytes[..most].iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => newline + 1,
            None if most < LINE_MIN => 0,
            None => char_boundary(want.bytes, most),
        },
    }
}

/// The last place up to `at` that is not within a character.
fn char_boundary(bytes: &[u8], at: usize) -> usize {
    let is_inside = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    if at < bytes.len() {
        // A character has at most four bytes; a longer run of continuation bytes is not a character.
        return (at.saturating_sub(3)..=at).rev().find(|at| !is_inside(*at)).unwrap_or(at);
    }
    // The rest of the file was not read.
    (at.saturating_sub(3)..at).find(|n| starts_unfinished(&bytes[*n..at])).unwrap_or(at)
}

fn starts_unfinished(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

/// A part of the budget for each file, by its size.
fn quotas(wants: &[Want<'_>], budget: usize) -> Vec<usize> {
    let is_blank = |want: &Want<'_>| String::from_utf8_lossy(want.bytes).trim().is_empty();
    let sizes: Vec<u64> = wants.iter().map(|want| if is_blank(want) { 0 } else { want.size }).collect();
    let total: u128 = sizes.iter().map(|size| u128::from(*size)).sum();
    if total <= budget as u128 {
        return wants.iter().map(|want| want.bytes.len()).collect();
    }
    let part = |size: &u64| usize::try_from(u128::from(*size) * budget as u128 / total).unwrap_or(budget);
    let mut quotas: Vec<usize> = sizes.iter().map(part).collect();
    let mut left = budget - quotas.iter().sum::<usize>();
    // The remainder of rounding goes to the nearest files.
    for (quota, size) in quotas.iter_mut().zip(&sizes).rev() {
        if left > 0 && (*quota as u64) < *size {
            *quota += 1;
            left -= 1;
        }
    }
    quotas
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_shares(texts: &[&str], budget: usize, allocation: Allocation, cut: Cut, expected: &[Share]) {
        let wants: Vec<Want<'_>> = wants(texts);
        assert_eq!(shares(&wants, budget, allocation, cut), expected);
    }

    fn wants<'a>(texts: &[&'a str]) -> Vec<Want<'a>> {
        let want = |(group, text): (usize, &&'a str)| Want { bytes: text.as_bytes(), size: text.len() as u64, group };
        texts.iter().enumerate().map(want).collect()
    }

    use Share::Blank;
    use Share::Kept;

    #[test]
    fn the_root_or_the_nearest_file_is_served_first() {
        let texts = ["aaaa", " \n", "bbbb", "cc"];
        check_shares(&texts, 5, Allocation::RootFirst, Cut::Bytes, &[Kept(4), Blank, Kept(1), Kept(0)]);
        check_shares(&texts, 5, Allocation::NearestFirst, Cut::Bytes, &[Kept(0), Kept(0), Kept(3), Kept(2)]);
        check_shares(&texts, 5, Allocation::Proportional, Cut::Bytes, &[Kept(2), Blank, Kept(2), Kept(1)]);
        check_shares(&texts, 99, Allocation::Proportional, Cut::Bytes, &[Kept(4), Blank, Kept(4), Kept(2)]);
    }

    #[test]
    fn a_file_comes_before_what_it_imports() {
        let texts = ["aaaa", "bbbb", "cccc"];
        let mut wants = wants(&texts);
        (wants[1].group, wants[2].group) = (1, 1);
        let shares = shares(&wants, 6, Allocation::NearestFirst, Cut::Bytes);
        assert_eq!(shares, [Kept(0), Kept(4), Kept(2)]);
    }

    #[test]
    fn lines_and_characters_are_not_cut_in_two() {
        let cut = |text: &str, budget, expected| {
            check_shares(&[text], budget, Allocation::RootFirst, Cut::Lines, &[Kept(expected)]);
        };
        cut("one\ntwo\n", 8, 8);
        cut("one\ntwo\n", 7, 4);
        cut("one\ntwo\n", 3, 0);
        let long = "日".repeat(400);
        cut(&long, 1023, 0);
        cut(&long, 1100, 1098);
        for (n_read, expected) in [(1026, 1026), (1025, 1023), (1024, 1023)] {
            let want = Want { bytes: &long.as_bytes()[..n_read], size: 9000, group: 0 };
            assert_eq!(shares(&[want], 2000, Allocation::RootFirst, Cut::Lines), [Kept(expected)], "{n_read}");
        }
    }

    fn any_allocation() -> impl Strategy<Value = Allocation> {
        prop::sample::select(Allocation::ALL)
    }

    proptest! {
        #[test]
        fn no_more_than_the_budget_is_used(
            texts in prop::collection::vec("[a-z日 \n]{0,60}", 0..6),
            budget in 0_usize..200,
            allocation in any_allocation(),
            cut in prop::sample::select(Cut::ALL),
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let shares = shares(&wants(&texts), budget, allocation, cut);
            let mut used = 0;
            for (text, share) in texts.iter().zip(&shares) {
                let Kept(kept) = share else { continue };
                prop_assert!(*kept <= text.len());
                if cut == Cut::Lines {
                    prop_assert!(text.is_char_boundary(*kept));
                    let is_line = *kept == text.len() || *kept == 0 || text[..*kept].ends_with('\n');
                    prop_assert!(is_line);
                }
                used += kept;
            }
            prop_assert!(used <= budget);
        }

        #[test]
        fn what_lies_above_never_costs_the_nearest_file_a_byte(
            above in prop::collection::vec("[a-z\n]{0,400}", 0..5),
            leaf in "[a-z]{1,60}",
            budget in 60_usize..200,
            cut in prop::sample::select(Cut::ALL),
        ) {
            let mut texts: Vec<&str> = above.iter().map(String::as_str).collect();
            texts.push(&leaf);
            let shares = shares(&wants(&texts), budget, Allocation::NearestFirst, cut);
            prop_assert_eq!(shares.last(), Some(&Kept(leaf.len())));
        }
    }
}
