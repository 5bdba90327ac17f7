//! Properties of the searches, and fixtures of questions and parts.

use std::collections::BTreeSet;
use std::convert::Infallible;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::fragment::Origin;
use pellucid_engine::report::Report;
use pellucid_protocol::provider::WireApi;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::diff::RequestDiff;
use crate::inspected::Inspected;
use crate::inspected::InspectedRow;
use crate::inspected::RowContent;

/// A row `part|item|source|origin|wire`; without an item its field is empty.
fn row(line: &str) -> InspectedRow {
    let [part, item, source, origin, wire] = line.splitn(5, '|').collect::<Vec<_>>().try_into().unwrap();
    let text: String = serde_json::from_str(&format!("\"{wire}\"")).unwrap_or_else(|_| wire.to_owned());
    InspectedRow {
        part: part.into(),
        item: item.parse().ok(),
        role: None,
        source: source.into(),
        origin: origin.into(),
        file_range: None,
        bytes: wire.len(),
        tokens: wire.len().div_ceil(4),
        content: Some(RowContent { wire: wire.to_owned().into(), text: text.as_str().into(), whence: Origin::Wire }),
    }
}

fn request(rows: &str) -> Inspected {
    let rows = rows.lines().map(str::trim).filter(|line| !line.is_empty()).map(row).collect();
    Inspected { name: "now".to_owned(), model: "m".to_owned(), pack: None, wire: Some(WireApi::Responses), rows }
}

fn log2_ceil(n: usize) -> usize {
    n.next_power_of_two().trailing_zeros() as usize
}

proptest! {
    #[test]
    fn the_first_bad_commit_is_found_within_the_bound(n in 1_usize..3_000, at in any::<prop::sample::Index>()) {
        let first = at.index(n) + 1;
        let mut judged = BTreeSet::new();
        let end = first_bad(n, &mut |commit| {
            assert!(judged.insert(commit), "{commit} is judged twice");
            Ok::<_, Infallible>(if commit < first { BisectJudgement::Good } else { BisectJudgement::Bad })
        });
        prop_assert_eq!(end, Ok(BisectEnd::Found(first)));
        prop_assert!(judged.len() <= log2_ceil(n) + 2, "{} judgements for {} commits", judged.len(), n);
        prop_assert!(judged.contains(&first) && judged.contains(&(first - 1)));
    }

    #[test]
    fn skipped_commits_never_make_a_wrong_answer(
        n in 1_usize..60,
        at in any::<prop::sample::Index>(),
        skips in prop::collection::btree_set(1_usize..60, 0..50),
    ) {
        let first = at.index(n) + 1;
        let mut n_judged = 0;
        let judge = |commit: usize| match commit {
            commit if skips.contains(&commit) && commit != n => BisectJudgement::Skip,
            commit if commit < first => BisectJudgement::Good,
            _ => BisectJudgement::Bad,
        };
        let end = first_bad(n, &mut |commit| {
            n_judged += 1;
            Ok::<_, Infallible>(judge(commit))
        });
        match end.unwrap() {
            BisectEnd::Found(found) => prop_assert_eq!(found, first),
            BisectEnd::OnlySkipped { good, bad } => {
                prop_assert!(bad - good > 1 && good < first && first <= bad);
                prop_assert!((good + 1..bad).all(|commit| judge(commit) == BisectJudgement::Skip));
            }
            BisectEnd::EndsAgree { .. } => prop_assert!(false, "the ends differ"),
        }
        // A skipped commit costs its judgement, and one more because the commits around it are not halved evenly.
        prop_assert!(n_judged <= log2_ceil(n) + 2 + 2 * skips.len());
    }

    #[test]
    fn exactly_the_parts_that_an_outcome_needs_are_found(n in 1_usize..40, needed in prop::collection::btree_set(0_usize..40, 1..4)) {
        let needed: Vec<usize> = needed.into_iter().map(|part| part % n).collect::<BTreeSet<_>>().into_iter().collect();
        let mut asked = BTreeSet::new();
        let found = minimise(n, &mut |set| {
            assert!(asked.insert(set.to_vec()), "{set:?} is asked about twice");
            Ok::<_, Infallible>(needed.iter().all(|part| set.contains(part)))
        });
        prop_assert_eq!(found, MinimisedSet { kept: needed, stopped: None });
    }

    #[test]
    fn no_part_of_the_found_set_can_be_removed(n in 1_usize..14, seed in any::<u64>()) {
        // Any set may keep the outcome, whatever its subsets do.
        let keeps = |set: &[usize]| {
            let hash = set.iter().fold(seed, |hash, part| (hash ^ *part as u64).wrapping_mul(0x0100_0000_01b3));
            set.len() == n || !set.is_empty() && (hash >> 20).is_multiple_of(3)
        };
        let found = minimise(n, &mut |set| Ok::<_, Infallible>(keeps(set)));
        prop_assert!(keeps(&found.kept));
        for part in &found.kept {
            let rest: Vec<usize> = found.kept.iter().copied().filter(|it| it != part).collect();
            prop_assert!(!keeps(&rest), "{part} can be removed from {:?}", found.kept);
        }
    }
}

#[test]
fn ends_that_do_not_differ_are_reported() {
    use BisectJudgement::{Bad, Good, Skip};
    let check = |n: usize, good: BisectJudgement, bad: BisectJudgement| {
        let end = first_bad(n, &mut |commit| Ok::<_, Infallible>(if commit == 0 { good } else { bad }));
        assert_eq!(end, Ok(BisectEnd::EndsAgree { good, bad }));
    };
    check(5, Good, Good);
    check(5, Bad, Bad);
    check(5, Bad, Good);
    check(5, Skip, Bad);
    check(5, Good, Skip);
    check(0, Good, Good);
}

#[test]
fn a_search_that_is_stopped_keeps_the_smallest_set_so_far() {
    let mut left = 2;
    let found = minimise(8, &mut |set| {
        left -= 1;
        if left < 0 { Err("the limit is reached") } else { Ok(set.contains(&1)) }
    });
    assert_eq!(found, MinimisedSet { kept: vec![0, 1], stopped: Some("the limit is reached") });
}

#[test]
fn the_status_of_a_command_is_a_judgement() {
    for (status, judgement) in [
        (Some(0), BisectJudgement::Good),
        (Some(125), BisectJudgement::Skip),
        (Some(1), BisectJudgement::Bad),
        (Some(127), BisectJudgement::Bad),
        (None, BisectJudgement::Bad),
    ] {
        assert_eq!(BisectJudgement::of_status(status), judgement, "{status:?}");
    }
}

#[test]
fn a_text_is_found_across_rows_and_behind_escapes() {
    let request = request(
        r#"input||wire||{"input":["
           a|0|pack|x.md|Never
           a|0|file|/p/AGENTS.md| push \"main\".\n
           a|0|wire||","
           b|1|user||Go on"#,
    );
    let report = Report::default();
    let is_bad = |question: BisectQuestion| question.is_bad(&request, &report);
    for text in ["Never push \"main\".", "push \"main\".\n"] {
        assert!(is_bad(BisectQuestion::Contains(text.to_owned())), "{text}");
        assert!(!is_bad(BisectQuestion::Lacks(text.to_owned())), "{text}");
    }
    // Notation is no text, and two texts are not one.
    for text in ["input", ".\nGo on"] {
        assert!(is_bad(BisectQuestion::Lacks(text.to_owned())), "{text}");
    }
    assert!(is_bad(BisectQuestion::TokensOver(request.tokens() - 1)));
    assert!(!is_bad(BisectQuestion::TokensOver(request.tokens())));
    let good = PartState::of(&request, "AGENTS.md");
    assert_ne!(good, PartState::Absent);
    assert!(!is_bad(BisectQuestion::PartChanged { name: "AGENTS.md".to_owned(), good }));
    assert_eq!(PartState::of(&request, "GENTS.md"), PartState::Absent);
    assert_eq!(part_names(&request), BTreeSet::from(["a", "b"]));
}

#[test]
fn the_first_row_is_neither_notation_nor_a_usual_fact() {
    let a = request("x||fact|session|1\nx||wire||,\nb|0|file|/p/A.md|one\nc|1|user||hi");
    let b = request("x||fact|session|2\nx||wire||,,\nb|0|file|/p/A.md|two\nc|1|user||ho");
    let diff = RequestDiff::of(&a, &b);
    let row = first_row(&diff).unwrap();
    assert_eq!((&*row.a.unwrap().part, &*row.b.unwrap().part), ("b", "b"));
    let usual = request("x||fact|session|2\nx||wire||,\nb|0|file|/p/A.md|one\nc|1|user||hi");
    assert_eq!(first_row(&RequestDiff::of(&a, &usual)), None);
}

const REQUEST: &str = r##"
    base||wire||{"instructions":"
    base||pack|base.md|Be useful.
    base||wire||","input":[
    user_instructions|0|wire||{"text":"
    user_instructions|0|pack|u.md|Rules: 
    user_instructions|0|file|/p/AGENTS.md|First.\n# Rules\nBe \"kind\".\n```\n# no heading\n```\n## Tests\nTest.\n# Rules\nAgain.\n
    user_instructions|0|file|/p/sub/AGENTS.md|# One\nOnly.
    user_instructions|0|wire||"}
    input||wire||,
    user|1|wire||{"text":"
    user|1|user||hello there
    user|1|wire||"}
    input||wire||,
    model|2|model||{"said":"hi"}
    input||wire||,
    memory|3|wire||{"text":"
    memory|3|provided|the memory of this session|A cat.\n\nA dog\nand a bird.
    memory|3|wire||"}
    input||wire||,
    user|4|wire||{"text":"
    user|4|user||now
    user|4|wire||"}
    input||wire||],
    tools||wire||"tools":[
    tools/one||pack|tools/one.toml|{"name":"one"}
    tools||wire||,
    tools/two||pack|tools/two.toml|{"name":
    tools/two||fact|f|"two"}
    tools||wire||]}
"##;

fn check_without(kept: &[&str], expected: &Expect) {
    let request = request(REQUEST);
    let parts = removable_parts(&request);
    let number = |name: &&str| parts.iter().position(|part| part.name == *name).unwrap();
    let kept: Vec<usize> = kept.iter().map(number).collect();
    let body = without(&request, &parts, &kept).unwrap();
    let _: Value = serde_json::from_slice(&body).unwrap();
    expected.assert_eq(std::str::from_utf8(&body).unwrap());
}

#[test]
fn files_sections_tools_memories_and_older_turns_are_parts() {
    let request = request(REQUEST);
    let parts = removable_parts(&request);
    let names: String = parts.iter().map(|part| format!("{} {}\n", part.kind, part.name)).collect();
    expect![[r"
        section /p/AGENTS.md § (before the first heading)
        section /p/AGENTS.md § Rules
        section /p/AGENTS.md § Tests
        section /p/AGENTS.md § Rules (2)
        file /p/sub/AGENTS.md
        turn 1 hello there
        memory A cat.
        memory A dog and a bird.
        tool one
        tool two
    "]]
    .assert_eq(&names);
    let all: Vec<usize> = (0..parts.len()).collect();
    assert_eq!(without(&request, &parts, &all), request.body());
}

#[test]
fn a_request_without_parts_is_still_json() {
    check_without(
        &[],
        &expect![[
            r#"{"instructions":"Be useful.","input":[{"text":"Rules:"},{"text":""},{"text":"now"}],"tools":[]}"#
        ]],
    );
    check_without(
        &["/p/AGENTS.md § Tests", "two", "A cat."],
        &expect![[
            r#"{"instructions":"Be useful.","input":[{"text":"Rules:## Tests\nTest.\n"},{"text":"A cat.\n\n"},{"text":"now"}],"tools":[{"name":"two"}]}"#
        ]],
    );
    check_without(
        &["1 hello there", "one"],
        &expect![[
            r#"{"instructions":"Be useful.","input":[{"text":"Rules:"},{"text":"hello there"},{"said":"hi"},{"text":""},{"text":"now"}],"tools":[{"name":"one"}]}"#
        ]],
    );
}

#[test]
fn apis_that_refuse_an_empty_list_of_tools_get_none() {
    let request = Inspected { wire: Some(WireApi::Chat), ..request(REQUEST) };
    let parts = removable_parts(&request);
    let body: Value = serde_json::from_slice(&without(&request, &parts, &[]).unwrap()).unwrap();
    assert!(body.get("tools").is_none(), "{body}");
}
