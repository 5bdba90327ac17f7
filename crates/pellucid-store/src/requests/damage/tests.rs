//! What people read of damage, for every change, number of lines and detail.

use expect_test::Expect;
use expect_test::expect;

use super::*;

fn damage(change: DamageKind) -> Damage {
    Damage {
        file: "sessions/a.jsonl".to_owned(),
        line: Some(3),
        n_lines: 1,
        byte: 120,
        kind: "response_item message".to_owned(),
        part: String::new(),
        turn: None,
        change,
    }
}

#[track_caller]
fn check(damage: &Damage, expected: &Expect) {
    assert_eq!(damage.to_string(), format!("{}: {}", damage.file, damage.what()));
    expected.assert_eq(&damage.what().to_string());
}

#[test]
fn each_change_has_its_words_for_one_line_and_for_several() {
    check(&damage(DamageKind::Changed), &expect!["line 3 (byte 120, response_item message) was changed"]);
    check(&damage(DamageKind::Missing), &expect!["line 3 (byte 120, response_item message) is missing"]);
    check(&damage(DamageKind::New), &expect!["line 3 (byte 120, response_item message) is new"]);
    check(&damage(DamageKind::Moved), &expect!["line 3 (byte 120, response_item message) was moved"]);
    let several = |change| Damage { n_lines: 4, ..damage(change) };
    check(&several(DamageKind::Changed), &expect!["lines 3 to 6 (byte 120, first response_item message) were changed"]);
    check(&several(DamageKind::Missing), &expect!["lines 3 to 6 (byte 120, first response_item message) are missing"]);
    check(&several(DamageKind::New), &expect!["lines 3 to 6 (byte 120, first response_item message) are new"]);
    check(&several(DamageKind::Moved), &expect!["lines 3 to 6 (byte 120, first response_item message) were moved"]);
}

#[test]
fn the_part_and_the_turn_are_named_where_they_are_known() {
    let known = Damage { part: "permissions".to_owned(), turn: Some("t2".to_owned()), ..damage(DamageKind::Changed) };
    check(&known, &expect!["line 3 (byte 120, response_item message, sent as permissions, turn t2) was changed"]);
    check(
        &Damage { n_lines: 2, ..known.clone() },
        &expect!["lines 3 to 4 (byte 120, first response_item message, sent as permissions, turn t2) were changed"],
    );
    check(
        &Damage { turn: None, ..known.clone() },
        &expect!["line 3 (byte 120, response_item message, sent as permissions) was changed"],
    );
    // A file that is no list of lines has no place to name.
    check(&Damage { line: None, kind: "the part abc".to_owned(), ..known }, &expect!["the part abc was changed"]);
}

#[test]
fn numbers_without_end_are_no_trouble() {
    let huge = Damage { line: Some(u64::MAX), n_lines: u64::MAX, byte: u64::MAX, ..damage(DamageKind::Missing) };
    check(
        &huge,
        &expect![
            "lines 18446744073709551615 to 18446744073709551615 (byte 18446744073709551615, first response_item message) are missing"
        ],
    );
    check(
        &Damage { n_lines: 0, ..damage(DamageKind::Missing) },
        &expect!["line 3 (byte 120, response_item message) is missing"],
    );
}

#[test]
fn programs_get_only_what_is_known() {
    let known = Damage { part: "permissions".to_owned(), turn: Some("t2".to_owned()), ..damage(DamageKind::Moved) };
    let json = |damage: &Damage| serde_json::to_string(damage).unwrap();
    expect![[r#"{"file":"sessions/a.jsonl","line":3,"n_lines":1,"byte":120,"kind":"response_item message","part":"permissions","turn":"t2","change":"moved"}"#]].assert_eq(&json(&known));
    expect![[r#"{"file":"sessions/a.jsonl","n_lines":1,"byte":120,"kind":"response_item message","change":"new"}"#]]
        .assert_eq(&json(&Damage { line: None, ..damage(DamageKind::New) }));
}
