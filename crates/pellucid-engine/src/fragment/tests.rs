//! Every origin and every reason for an omission has its word, its detail and its figures.

use expect_test::expect;

use super::*;
use crate::injection::FileText;

/// One origin of each kind. A new kind does not compile until it is in the list.
fn origins() -> Vec<Origin> {
    let place = |origin: &Origin| match origin {
        Origin::Pack { .. } => 0,
        Origin::File { .. } => 1,
        Origin::Skill { .. } => 2,
        Origin::Provided { .. } => 3,
        Origin::Fact { .. } => 4,
        Origin::Layout => 5,
        Origin::Catalogue => 6,
        Origin::User => 7,
        Origin::Model => 8,
        Origin::Tool { .. } => 9,
        Origin::Recorded { .. } => 10,
        Origin::Repair => 11,
        Origin::Wire => 12,
        Origin::Program { .. } => 13,
        Origin::Likely(_) => 14,
        Origin::Unknown => 15,
    };
    let all = vec![
        Origin::Pack { file: FileVersion::of("/packs/mine/base.md", b"x") },
        Origin::File { path: FileVersion::of("/w/AGENTS.md", b"x"), range: 0..1, size: 9 },
        Origin::Skill { path: "/s/SKILL.md".into() },
        Origin::Provided { place: "config".into() },
        Origin::fact("cwd"),
        Origin::Layout,
        Origin::Catalogue,
        Origin::User,
        Origin::Model,
        Origin::Tool { name: "shell".into() },
        Origin::Recorded { path: "/s.jsonl".into() },
        Origin::Repair,
        Origin::Wire,
        Origin::Program { name: "codex".into() },
        Origin::Likely(Arc::new(Origin::File { path: FileVersion::of("/w/CLAUDE.md", b"x"), range: 0..1, size: 9 })),
        Origin::Unknown,
    ];
    assert_eq!(all.iter().map(place).collect::<Vec<_>>(), (0..16).collect::<Vec<_>>());
    all
}

/// One reason of each kind.
fn reasons() -> Vec<Why> {
    let place = |why: &Why| match why {
        Why::Cut { .. } => 0,
        Why::OverBudget { .. } => 1,
        Why::LeftWindow { .. } => 2,
        Why::Blank => 3,
        Why::Missing => 4,
        Why::Duplicate => 5,
        Why::SwitchedOff => 6,
        Why::OnlyOnMention => 7,
        Why::Shadowed { .. } => 8,
        Why::Replaced { .. } => 9,
        Why::Outside { .. } => 10,
        Why::Untrusted => 11,
        Why::NotAccepted { .. } => 12,
        Why::Unusable { .. } => 13,
        Why::NotUtf8(_) => 14,
        Why::ByPack { .. } => 15,
    };
    let all = vec![
        Why::Cut { kept: 3, of: 10 },
        Why::OverBudget { of: 11 },
        Why::LeftWindow { of: 12, kept_as: "a summary".to_owned() },
        Why::Blank,
        Why::Missing,
        Why::Duplicate,
        Why::SwitchedOff,
        Why::OnlyOnMention,
        Why::Shadowed { by: "x".to_owned() },
        Why::Replaced { by: "x".to_owned() },
        Why::Outside { target: "/etc".to_owned() },
        Why::Untrusted,
        Why::NotAccepted { is_changed: true },
        Why::Unusable { error: "x".to_owned() },
        Why::NotUtf8(NotUtf8 { first: 4, count: 2 }),
        Why::ByPack { reason: "x".to_owned() },
    ];
    assert_eq!(all.iter().map(place).collect::<Vec<_>>(), (0..16).collect::<Vec<_>>());
    all
}

#[test]
fn every_origin_has_a_word_and_a_detail() {
    let line = |origin: &Origin| {
        let hash = origin.file_sha256().map_or_else(|| "-".to_owned(), Digest::short);
        format!("{} {:?} {hash}", origin.kind(), origin.detail())
    };
    let lines: Vec<String> = origins().iter().map(line).collect();
    expect![[r#"
        pack "/packs/mine/base.md" 2d711642b726b04401627ca9fbac32f5
        file "/w/AGENTS.md" 2d711642b726b04401627ca9fbac32f5
        skill "/s/SKILL.md" -
        provided "config" -
        fact "cwd" -
        layout "" -
        catalogue "" -
        user "" -
        model "" -
        tool "shell" -
        session "/s.jsonl" -
        repair "" -
        wire "" -
        program "codex" -
        file "/w/CLAUDE.md" 2d711642b726b04401627ca9fbac32f5
        unknown "" -"#]]
    .assert_eq(&lines.join("\n"));
    // A likely origin has the word of what it claims.
    let exact: Vec<Origin> = origins().into_iter().filter(|it| it.certainty() != "likely").collect();
    let kinds: std::collections::BTreeSet<&str> = exact.iter().map(Origin::kind).collect();
    assert_eq!(kinds.len(), exact.len(), "no two kinds have the same word");
}

#[test]
fn every_reason_has_a_word_and_says_what_is_lost() {
    let line = |why: &Why| format!("{} {} {}", why.kind(), why.bytes(), if why.is_loss() { "lost" } else { "-" });
    let lines: Vec<String> = reasons().iter().map(line).collect();
    expect![[r#"
        cut 7 lost
        over_budget 11 lost
        left_window 12 -
        blank 0 -
        missing 0 lost
        duplicate 0 -
        switched_off 0 -
        on_mention 0 -
        shadowed 0 -
        replaced 0 -
        outside 0 lost
        untrusted 0 -
        not_accepted 0 lost
        unusable 0 lost
        not_utf8 2 lost
        by_pack 0 -"#]]
    .assert_eq(&lines.join("\n"));
    let kinds: std::collections::BTreeSet<&str> = reasons().iter().map(Why::kind).collect();
    assert_eq!(kinds.len(), reasons().len(), "no two reasons have the same word");
}

#[test]
fn fragments_are_put_together_as_they_are() {
    assert_eq!(concat(&[]), "");
    let file: FileVersion = "/p".into();
    let fragments =
        [Fragment::pack(&file, "a\n"), Fragment::fact("f", ""), Fragment::provided("p", "é"), Fragment::layout(" b")];
    assert_eq!(concat(&fragments), "a\né b");
    let origins: Vec<&str> = fragments.iter().map(|it| it.origin.kind()).collect();
    assert_eq!(origins, ["pack", "fact", "provided", "layout"]);
}

#[test]
fn a_file_that_was_read_whole_names_its_hash_in_every_fragment() {
    let text = FileText::whole("/w/a.md", b"a\xffb".as_slice());
    let hashes: Vec<Option<&Digest>> = text.path().sha256().into_iter().map(Some).collect();
    let fragments = text.fragments();
    let of_file: Vec<Option<&Digest>> =
        fragments.iter().filter(|it| it.origin.kind() == "file").map(|it| it.origin.file_sha256()).collect();
    assert_eq!(of_file, [hashes[0], hashes[0]]);
    assert_eq!(concat(&fragments), "a\u{fffd}b");
}
