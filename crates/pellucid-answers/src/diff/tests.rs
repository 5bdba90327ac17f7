//! Fixtures and properties of diffs.

use std::ops::Range;
use std::sync::Arc;

use expect_test::Expect;
use expect_test::expect;
use pellucid_engine::fragment::Origin;
use pellucid_protocol::provider::WireApi;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::inspected::InspectedRow;
use crate::inspected::RowContent;

/// A row `part|source|origin|text`, whose text is sent as it is.
fn row(line: &str) -> InspectedRow {
    let [part, source, origin, text] = line.splitn(4, '|').collect::<Vec<_>>().try_into().unwrap();
    let text = text.replace("\\n", "\n");
    let file_range: Option<Range<u64>> = (source == "file").then_some(0..text.len() as u64);
    InspectedRow {
        part: part.into(),
        item: None,
        role: None,
        source: source.into(),
        origin: origin.into(),
        file_range,
        bytes: text.len(),
        tokens: text.len().div_ceil(4),
        content: Some(RowContent {
            wire: text.clone().into(),
            text: text.as_str().into(),
            whence: Origin::Provided { place: Arc::from(origin) },
        }),
    }
}

fn request(name: &str, rows: Vec<InspectedRow>) -> Inspected {
    let model = "m".to_owned();
    Inspected { name: name.to_owned(), model, pack: None, wire: Some(WireApi::Responses), rows }
}

/// Writes the second body from the first and the diff, as its documentation says.
fn applied(a: &[u8], diff: &Value) -> Vec<u8> {
    let mut body = Vec::new();
    for step in diff["steps"].as_array().unwrap() {
        if step["b"].is_null() {
            continue;
        }
        if let Some(text) = step["wire"].as_str() {
            body.extend_from_slice(text.as_bytes());
        } else {
            let bytes = |n: usize| usize::try_from(step["a"]["bytes"][n].as_u64().unwrap()).unwrap();
            body.extend_from_slice(&a[bytes(0)..bytes(1)]);
        }
    }
    body
}

/// Checks the signs, parts and sizes of a diff of rows.
#[track_caller]
fn check_diff(a: &[&str], b: &[&str], expected: &Expect) {
    let a = request("a", a.iter().map(|line| row(line)).collect());
    let b = request("b", b.iter().map(|line| row(line)).collect());
    let diff = RequestDiff::of(&a, &b);
    assert_eq!(applied(&a.body().unwrap(), &diff.to_json()), b.body().unwrap());
    let summary = diff.summary();
    let mut text = String::new();
    for change in &summary.changes {
        let lines = change.lines.as_ref().map_or_else(String::new, |lines| {
            let range =
                lines.lines().map_or_else(String::new, |lines| format!(" at {}-{}", lines.start, lines.end - 1));
            format!(" +{} -{}{range}", lines.added, lines.removed)
        });
        let usual = if change.is_usual { " (usual)" } else { "" };
        let (sign, part, origin, bytes) = (change.kind.sign(), &change.part, &change.origin, change.bytes);
        text += &format!("{sign} {part} {origin}{lines} {bytes:+} bytes{usual}\n");
    }
    text += &format!("= {}, notation {:+}\n", summary.n_unchanged, summary.notation_bytes);
    expected.assert_eq(&text);
}

#[test]
fn a_changed_file_has_its_lines() {
    let base = "base|pack|base.md|Work well.";
    check_diff(
        &[base, "rules|file|AGENTS.md|one\\ntwo\\nthree\\n"],
        &[base, "rules|file|AGENTS.md|one\\n2\\nthree\\nfour\\n"],
        &expect![[r#"
            ~ rules AGENTS.md +2 -1 at 2-4 +3 bytes
            = 1, notation +0
        "#]],
    );
}

#[test]
fn added_removed_and_moved_parts_have_their_signs() {
    check_diff(
        &["t/a|pack|a|AAAA", "t|wire||,", "t/b|pack|b|BBBB", "t|wire||,", "t/c|pack|c|CCCC"],
        &["t/c|pack|c|CCCC", "t|wire||,", "t/a|pack|a|AAAA", "t|wire||,", "t/d|pack|d|DDDDD"],
        &expect![[r#"
            > t/c c +0 bytes
            - t/b b -4 bytes
            + t/d d +5 bytes
            = 1, notation +0
        "#]],
    );
}

#[test]
fn a_part_that_is_partly_kept_is_changed() {
    check_diff(
        &["env|layout||<cwd>", "env|fact|cwd|/a", "env|layout||</cwd>"],
        &["env|layout||<cwd>", "env|fact|cwd|/b", "env|layout||</cwd>"],
        &expect![[r#"
            ~ env cwd +1 -1 at 1-1 +0 bytes (usual)
            = 0, notation +0
        "#]],
    );
    check_diff(
        &["env|layout||<cwd>", "env|layout||</cwd>"],
        &["env|layout||<cwd>", "env|fact|shell|bash", "env|layout||</cwd>"],
        &expect![[r#"
            ~ env shell +1 -1 at 1-1 +4 bytes
            = 0, notation +0
        "#]],
    );
}

#[test]
fn each_file_of_a_part_is_a_change_with_its_own_lines() {
    let (head, between) = ("rules|layout||<rules>\\n", "rules|layout||\\n--\\n");
    check_diff(
        &[head, "rules|fact|cwd|/a", "rules|file|A.md|one\\ntwo\\n", between, "rules|file|sub/A.md|three\\nfour\\n"],
        &[
            head,
            "rules|fact|cwd|/b",
            "rules|file|A.md|one\\n2\\n",
            between,
            "rules|file|sub/A.md|three\\nfour\\nfive\\n",
        ],
        &expect![[r#"
            ~ rules cwd +1 -1 at 1-1 +0 bytes (usual)
            ~ rules A.md +1 -1 at 2-2 -2 bytes
            ~ rules sub/A.md +1 -0 at 3-3 +5 bytes
            = 0, notation +0
        "#]],
    );
}

#[test]
fn a_part_that_comes_or_goes_is_one_change_and_settings_are_not_one_text() {
    let settings = ["set|wire||{", "set|fact|effort|low", "set|wire||,", "set|fact|store|false", "set|wire||}"];
    let other = ["set|wire||{", "set|fact|effort|high", "set|wire||,", "set|fact|store|false", "set|wire||}"];
    let rules = ["rules|pack|rules.md|<rules>", "rules|fact|cwd|/a", "rules|file|A.md|one\\n"];
    check_diff(
        &settings,
        &[&other[..], &rules].concat(),
        &expect![[r#"
            ~ set effort +1 -1 at 1-1 +1 bytes
            + rules rules.md +13 bytes
            = 0, notation +0
        "#]],
    );
}

#[test]
fn a_file_that_moves_into_another_part_is_moved() {
    check_diff(
        &["base|pack|b.md|Work well.", "env|fact|shell|bash", "rules|file|A.md|one\\n"],
        &["base|pack|b.md|Work well.", "base|file|A.md|one\\n", "base|pack|c.md|Or not.", "env|fact|shell|bash"],
        &expect![[r#"
            > base A.md +0 bytes
            ~ base c.md +1 -1 at 1-1 +7 bytes
            = 1, notation +0
        "#]],
    );
}

#[test]
fn the_lines_of_a_changed_text_are_those_that_the_model_reads() {
    let rows = |lines: &[&str]| lines.iter().map(|line| row(line)).collect::<Vec<_>>();
    let a = rows(&[
        "p|pack|write.md|You may write. Network: ",
        "p|fact|network|off",
        "p|pack|roots.md|. Roots: ",
        "p|fact|cwd|/a",
        "p|layout||.\\nEnd.\\n",
    ]);
    let b = rows(&["p|pack|read.md|You may read. Network: ", "p|fact|network|off", "p|layout||.\\nEnd.\\n"]);
    let (a, b) = (request("a", a), request("b", b));
    let summary = RequestDiff::of(&a, &b).summary();
    let shown = summary.changes.iter().filter(|change| !change.is_usual).flat_map(|change| &change.lines);
    let lines: Vec<String> = shown
        .flat_map(|lines| &lines.hunks)
        .flat_map(|hunk| &hunk.text)
        .map(|(sign, line)| format!("{sign}{line}"))
        .collect();
    assert_eq!(lines, ["-You may write. Network: off. Roots: ….", "+You may read. Network: off.", " End."]);
}

#[test]
fn the_same_text_under_another_name_is_unchanged() {
    check_diff(
        &["user_instructions|file|AGENTS.md|Be kind.", "x|fact|model|m"],
        &["project|file|/other/AGENTS.md|Be kind.", "x|fact|model|m"],
        &expect![[r#"
            = 2, notation +0
        "#]],
    );
}

#[test]
fn rows_of_a_saved_report_are_compared_by_size() {
    let saved = serde_json::json!({ "model": "m", "rows": [
        { "part": "base", "source": "pack", "origin": "b.md", "bytes": 10, "tokens": 3 },
        { "part": "rules", "source": "file", "origin": "AGENTS.md", "bytes": 20, "tokens": 5, "file_range": [0, 20] },
    ] });
    let a = Inspected::of_saved("file:a", &saved).unwrap();
    let mut longer = saved.clone();
    longer["rows"][1]["bytes"] = 25.into();
    let b = Inspected::of_saved("file:b", &longer).unwrap();
    let diff = RequestDiff::of(&a, &b);
    let kinds: Vec<_> = diff.steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds, [DiffKind::Same, DiffKind::Changed]);
    assert_eq!(diff.continuity, None);
    let c = request("now", vec![row("base|pack|b.md|ten bytes."), row("rules|file|AGENTS.md|shorter")]);
    let kinds: Vec<_> = RequestDiff::of(&a, &c).steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds, [DiffKind::Same, DiffKind::Changed]);
    assert!(Inspected::of_saved("file:c", &serde_json::json!({ "rows": [{ "part": 1 }] })).is_err());
}

fn rows() -> impl Strategy<Value = Vec<InspectedRow>> {
    let part = prop::sample::select(vec!["a", "b", "tools/x"]);
    let source = prop::sample::select(vec!["pack", "file", "wire"]);
    let text = prop::sample::select(vec!["x", "yy\n", "z\nz\n", "äö", "", "long text of a part\nwith lines\n"]);
    let one = (part, source, text).prop_map(|(part, source, text)| row(&format!("{part}|{source}|o|{text}")));
    prop::collection::vec(one, 0..12)
}

proptest! {
    /// The steps account for every row once, and turn the first body into the second.
    #[test]
    fn applying_a_diff_gives_the_second_request(a in rows(), b in rows()) {
        let (a, b) = (request("a", a), request("b", b));
        let diff = RequestDiff::of(&a, &b);
        let mut seen_a: Vec<usize> = diff.steps.iter().flat_map(|step| step.a.clone()).collect();
        seen_a.sort_unstable();
        prop_assert_eq!(seen_a, (0..a.rows.len()).collect::<Vec<_>>());
        let seen_b: Vec<usize> = diff.steps.iter().flat_map(|step| step.b.clone()).collect();
        prop_assert_eq!(seen_b, (0..b.rows.len()).collect::<Vec<_>>());
        prop_assert_eq!(applied(&a.body().unwrap(), &diff.to_json()), b.body().unwrap());
        let summary = diff.summary();
        let grown: isize = summary.changes.iter().map(|change| change.bytes).sum::<isize>() + summary.notation_bytes;
        prop_assert_eq!(grown, b.bytes() as isize - a.bytes() as isize);
    }

    #[test]
    fn a_request_does_not_differ_from_itself(a in rows()) {
        let a = request("a", a);
        let diff = RequestDiff::of(&a, &a);
        prop_assert!(diff.steps.iter().all(|step| step.kind == DiffKind::Same));
        prop_assert!(diff.is_usual());
    }
}
