//! The corpus of the fuzz target, and a search that is compared with the plain one.

#[cfg(unix)]
#[path = "../../../../fuzz/checks/apply.rs"]
mod apply;
#[path = "../../../../fuzz/checks/patch.rs"]
mod patch;

use pellucid_patch::parse::PatchChunk;
use pellucid_testkit::check_corpus;
use proptest::prelude::*;

#[test]
fn patches_are_read_or_refused() {
    check_corpus("patch", patch::check);
}

#[cfg(unix)]
#[test]
fn patches_change_nothing_outside_of_their_folder() {
    check_corpus("apply", apply::check);
}

/// Few different lines, so that they repeat and are alike.
fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "a", "b", "a ", " a", "\ta\t", "- a", "\u{2013} a", "\u{2014}\u{A0}a", "ab", "\r"])
}

fn text() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..12), prop::sample::select(vec!["", "\n"]))
        .prop_map(|(lines, end)| lines.join("\n") + end)
}

fn chunk() -> impl Strategy<Value = PatchChunk<'static>> {
    let lines = || prop::collection::vec(line(), 0..4);
    (prop::option::weighted(0.3, line()), lines(), lines(), prop::bool::weighted(0.3))
        .prop_map(|(context, old, new, is_at_end)| PatchChunk { context, old, new, is_at_end })
}

/// Text that has most of what a patch is made of.
fn patch_like() -> impl Strategy<Value = String> {
    let words = vec![
        "*** Begin Patch\n",
        "*** End Patch",
        "*** Add File: a\n",
        "*** Add File: a/b\n",
        "*** Delete File: a\n",
        "*** Update File: a\n",
        "*** Update File: b\n",
        "*** Move to: c\n",
        "@@\n",
        "@@ 1\n",
        "+x\n",
        "-1\n",
        " 1\n",
        " 2\n",
        "\n",
        "*** End of File\n",
        "<<EOF\n",
        "EOF",
        "\n%%\n",
        "1\n2\n",
        "2\n1\n\n",
        "..",
        "\u{2013}",
    ];
    prop::collection::vec(prop::sample::select(words), 0..14)
        .prop_map(|words| format!("*** Begin Patch\n{}\n*** End Patch\n%%\n1\n2\n%%\n2\n\n1", words.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_fast_search_finds_what_the_plain_one_finds(
        text in text(),
        chunks in prop::collection::vec(chunk(), 0..4),
    ) {
        patch::check_edit(&text, &chunks);
    }

    #[test]
    fn a_chunk_that_was_cut_from_the_text_is_found(
        text in text(),
        cut in (any::<prop::sample::Index>(), 1..4usize),
        new in prop::collection::vec(line(), 0..3),
        is_at_end in any::<bool>(),
    ) {
        let lines: Vec<&str> = text.split('\n').collect();
        let old = lines[cut.0.index(lines.len())..].iter().take(cut.1).copied().collect();
        patch::check_edit(&text, &[PatchChunk { context: None, old, new, is_at_end }]);
    }

    #[test]
    fn what_looks_like_a_patch_is_read_or_refused(text in patch_like()) {
        patch::check(text.as_bytes());
    }
}
